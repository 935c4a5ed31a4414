//! The loop for most consumers: receive, handle, extend the lease, then delete or retry.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{Delivery, Message, Queue};
use crate::error::{Error, Failed};
use crate::limits::{RECEIVE_MAX, TROUBLE_PAUSE};

impl Queue {
    /// Passes every message to `handler`, up to `concurrency` at a time, until shutdown. The lease
    /// is extended as long as the handler runs. A handled message is deleted; after a failure the
    /// message is retried as [`Failed`] says. A message may be handled more than once.
    pub fn work<H, F>(&self, concurrency: usize, handler: H)
    where
        H: Fn(Message) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Failed>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.work_deliveries(concurrency, move |delivery| {
            let handler = Arc::clone(&handler);
            async move {
                let done = delivery.hold_while(handler(delivery.message().clone())).await?;
                match done {
                    Ok(()) => delivery.delete().await,
                    Err(failed) => delivery.fail(&failed).await,
                }
            }
        });
    }

    /// Passes every message to `handle`, which also ends it.
    pub(crate) fn work_deliveries<H, F>(&self, concurrency: usize, handle: H)
    where
        H: Fn(Delivery) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let (queue, handle) = (self.clone(), Arc::new(handle));
        let slots = Arc::new(Semaphore::new(concurrency.max(1)));
        let tasks = self.inner.core.tasks.clone();
        tasks.clone().spawn("queue worker", async move {
            if !queue.inner.core.wait_until_running().await {
                return;
            }
            loop {
                let Ok(first) = Arc::clone(&slots).acquire_owned().await else { return };
                let max = (1 + slots.available_permits()).min(RECEIVE_MAX);
                let deliveries = match queue.receive(max).await {
                    Ok(deliveries) => deliveries,
                    Err(Error::Closing) => return,
                    Err(error) => {
                        if !error.is_outage() {
                            tracing::warn!(queue = queue.name(), %error, "cannot receive");
                        }
                        queue.inner.core.clock.sleep(TROUBLE_PAUSE).await;
                        continue;
                    }
                };
                let mut first = Some(first);
                for delivery in deliveries {
                    let slot = match first.take() {
                        Some(slot) => Ok(slot),
                        None => Arc::clone(&slots).acquire_owned().await,
                    };
                    let (name, handled) = (queue.clone(), handle(delivery));
                    tasks.spawn("queue handler", async move {
                        if let Err(error) = handled.await
                            && !error.is_outage()
                        {
                            // It is delivered again after its lease.
                            tracing::warn!(queue = name.name(), %error, "cannot delete or retry a handled message");
                        }
                        drop(slot);
                    });
                }
            }
        });
    }
}

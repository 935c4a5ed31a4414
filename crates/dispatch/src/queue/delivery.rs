//! A received message, and the ways to end it.

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use table::TransactItem;

use super::{Message, Prepared, Queue, QueueInner};
use crate::batcher::{WriteGroup, WriteOutcome};
use crate::error::{Error, Failed, Verdict};

/// A received message. The consumer holds it until it deletes, retries or buries it, or until the
/// visibility timeout; a dropped one is delivered again after that timeout.
#[derive(Clone)]
pub struct Delivery {
    queue: Queue,
    message: Message,
}

impl Delivery {
    pub(super) fn new(queue: Queue, message: Message) -> Delivery {
        Delivery { queue, message }
    }

    /// The message.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Deletes the handled message.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease ended; the message may be handled again in that case.
    pub async fn delete(self) -> Result<(), Error> {
        let queue = self.queue.clone();
        queue.delete_all([self]).await
    }

    /// The write that deletes the message, for a transaction of the consumer: effect and deletion
    /// are one. Call [`deleted`](Delivery::deleted) after the commit.
    pub fn delete_write(&self) -> TransactItem {
        self.message.delete(self.queue.name()).into()
    }

    /// Confirms that the transaction with [`delete_write`](Delivery::delete_write) was committed.
    pub fn deleted(self) {
        self.queue.inner.meters.done.increment(1);
        self.queue.inner.ready_list.lock().forget(self.message.id);
    }

    /// Extends the lease for another visibility timeout from now.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease ended.
    pub async fn extend(&self) -> Result<(), Error> {
        let (inner, message) = (self.inner(), self.message.clone());
        let now = inner.core.clock.now();
        let until = now.checked_add(inner.options.visibility).unwrap_or(now);
        self.write(1, move |writes| writes.push(message.extend(&inner.name, until).into())).await?;
        let mut ready_list = self.queue.inner.ready_list.lock();
        ready_list.extended(self.message.id, self.message.receives, until);
        Ok(())
    }

    /// Retries the message after a pause that grows with each receive. A message at the receive
    /// limit of its queue becomes a dead letter.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease ended.
    pub async fn retry(self, reason: &str) -> Result<(), Error> {
        let inner = &self.queue.inner;
        let pause = inner.options.pause(self.message.receives, &inner.core.random);
        self.retry_after(pause, reason).await
    }

    /// Retries the message after `pause`. A message at the receive limit of its queue becomes a
    /// dead letter.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease ended.
    pub async fn retry_after(self, pause: Duration, reason: &str) -> Result<(), Error> {
        let inner = self.inner();
        if self.message.receives >= inner.options.max_receives {
            return self.bury(reason).await;
        }
        let now = inner.core.clock.now();
        let again = now.checked_add(pause).unwrap_or(Timestamp::from_millis(u64::MAX));
        // The new time must differ: one transaction cannot delete and write the same row.
        let later = Timestamp::from_millis(self.message.due().millis() + 1);
        let moved = self.message.moved_to(again.max(later))?;
        let (old, new) = (self.message.clone(), moved.clone());
        self.write(2, move |writes| {
            writes.push(old.delete(&inner.name).into());
            writes.push(new.put(&inner.name).into());
        })
        .await?;
        let inner = &self.queue.inner;
        inner.meters.retried.increment(1);
        inner.ready_list.lock().forget(self.message.id);
        inner.admit(moved, Timestamp::EPOCH);
        Ok(())
    }

    /// Gives the message up: it becomes a dead letter.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease ended.
    pub async fn bury(self, reason: &str) -> Result<(), Error> {
        let inner = &self.queue.inner;
        let delete = self.message.delete(&inner.name);
        let buried = inner.bury(&self.message, delete, reason).await;
        buried.map_err(|refused| refused.into_error(inner, &self.message))?;
        inner.ready_list.lock().forget(self.message.id);
        Ok(())
    }

    /// Starts to replace this message by others, in one transaction.
    pub(crate) fn hand_on(&self, others: &[Prepared]) -> WriteOutcome {
        let (delete, puts) = (self.delete_write(), others.iter().map(Prepared::write));
        let writes: Vec<TransactItem> = std::iter::once(delete).chain(puts).collect();
        let work = WriteGroup {
            subject: self.message.id.uuid(),
            count: writes.len(),
            weight: self.message.weight() * writes.len(),
            render: Box::new(move |all| all.extend(writes.iter().cloned())),
        };
        self.queue.inner.core.batcher.submit_one(work)
    }

    /// Ends the message as the failure of its handler says.
    pub(crate) async fn fail(self, failed: &Failed) -> Result<(), Error> {
        match failed.verdict {
            Verdict::Retry => self.retry(&failed.reason).await,
            Verdict::RetryAfter(pause) => self.retry_after(pause, &failed.reason).await,
            Verdict::Bury => self.bury(&failed.reason).await,
        }
    }

    /// Runs `work` and extends the lease meanwhile.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease was lost. The work is dropped in that case, because another
    /// consumer may have started it.
    pub(crate) async fn hold_while<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let beat = self.queue.inner.options.visibility / 3;
        let clock = &self.queue.inner.core.clock;
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = clock.sleep(beat) => {}
            }
            match self.extend().await {
                Ok(()) => {}
                Err(error @ Error::Lost(_)) => return Err(error),
                // The lease has not ended yet; the store may recover before it does.
                Err(error) if error.is_outage() => {}
                Err(error) => {
                    tracing::warn!(queue = self.queue.name(), %error, "cannot extend the lease of a message");
                }
            }
        }
    }

    fn inner(&self) -> Arc<QueueInner> {
        Arc::clone(&self.queue.inner)
    }

    pub(super) fn delete_group(&self) -> WriteGroup {
        let (inner, message) = (self.inner(), self.message.clone());
        self.work(1, move |writes| writes.push(message.delete(&inner.name).into()))
    }

    async fn write(
        &self,
        count: usize,
        render: impl Fn(&mut Vec<TransactItem>) + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let inner = &self.queue.inner;
        let written = inner.core.batcher.write(self.work(count, render)).await;
        written.map_err(|refused| refused.into_error(inner, &self.message))
    }

    fn work(
        &self,
        count: usize,
        render: impl Fn(&mut Vec<TransactItem>) + Send + Sync + 'static,
    ) -> WriteGroup {
        let (subject, weight) = (self.message.id.uuid(), self.message.weight());
        WriteGroup { subject, count, weight, render: Box::new(render) }
    }
}

//! A message in a consumer's hands, and what can become of it.

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use table::TransactItem;

use super::{Inner, Message, Prepared, Queue};
use crate::error::{Error, Failed, Verdict};
use crate::gather::{Outcome, Work};

/// A received message. It is held until it is deleted, tried again or buried, or until the
/// visibility timeout; dropped, it comes back after that.
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

    /// The message is done.
    ///
    /// # Errors
    /// [`Error::Lost`] when it was not held any more; it may be done again then.
    pub async fn delete(self) -> Result<(), Error> {
        let queue = self.queue.clone();
        queue.delete_all([self]).await
    }

    /// The write by which the message is done, for a transaction of the consumer's own: effect
    /// and end are one. Call [`deleted`](Delivery::deleted) when it has happened.
    pub fn delete_write(&self) -> TransactItem {
        self.message.delete(self.queue.name()).into()
    }

    /// The transaction with [`delete_write`](Delivery::delete_write) has happened.
    pub fn deleted(self) {
        self.queue.inner.meters.done.increment(1);
        self.queue.inner.known.lock().forget(self.message.id);
    }

    /// Holds the message for another visibility timeout from now.
    ///
    /// # Errors
    /// [`Error::Lost`] when it was not held any more.
    pub async fn extend(&self) -> Result<(), Error> {
        let (inner, message) = (self.inner(), self.message.clone());
        let now = inner.shared.clock.now();
        let until = now.checked_add(inner.options.visibility).unwrap_or(now);
        self.write(1, move |writes| writes.push(message.extend(&inner.name, until).into())).await?;
        let mut known = self.queue.inner.known.lock();
        known.extended(self.message.id, self.message.receives, until);
        Ok(())
    }

    /// Tries the message again later: after a pause that grows with each receive, or never, if it
    /// was received as often as the queue allows.
    ///
    /// # Errors
    /// [`Error::Lost`] when it was not held any more.
    pub async fn retry(self, reason: &str) -> Result<(), Error> {
        let inner = &self.queue.inner;
        let pause = inner.options.pause(self.message.receives, &inner.shared.random);
        self.retry_after(pause, reason).await
    }

    /// Tries the message again after `pause`, or never, if it was received as often as the queue
    /// allows.
    ///
    /// # Errors
    /// [`Error::Lost`] when it was not held any more.
    pub async fn retry_after(self, pause: Duration, reason: &str) -> Result<(), Error> {
        let inner = self.inner();
        if self.message.receives >= inner.options.max_receives {
            return self.bury(reason).await;
        }
        let now = inner.shared.clock.now();
        let again = now.checked_add(pause).unwrap_or(Timestamp::from_millis(u64::MAX));
        // Its time must move on: the same row cannot be removed and written at once.
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
        inner.known.lock().forget(self.message.id);
        inner.admit(moved, Timestamp::EPOCH);
        Ok(())
    }

    /// Gives the message up: it becomes a dead letter.
    ///
    /// # Errors
    /// [`Error::Lost`] when it was not held any more.
    pub async fn bury(self, reason: &str) -> Result<(), Error> {
        let inner = &self.queue.inner;
        let delete = self.message.delete(&inner.name);
        let buried = inner.bury(&self.message, delete, reason).await;
        buried.map_err(|refused| refused.into_error(inner, &self.message))?;
        inner.known.lock().forget(self.message.id);
        Ok(())
    }

    /// Begins to send others in this message's place, all in one transaction.
    pub(crate) fn hand_on(&self, others: &[Prepared]) -> Outcome {
        let (delete, puts) = (self.delete_write(), others.iter().map(Prepared::write));
        let writes: Vec<TransactItem> = std::iter::once(delete).chain(puts).collect();
        let work = Work {
            subject: self.message.id.uuid(),
            count: writes.len(),
            weight: self.message.weight() * writes.len(),
            render: Box::new(move |all| all.extend(writes.iter().cloned())),
        };
        self.queue.inner.shared.gather.submit_one(work)
    }

    /// Does what a handler's failure asks for.
    pub(crate) async fn fail(self, failed: &Failed) -> Result<(), Error> {
        match failed.verdict {
            Verdict::Retry => self.retry(&failed.reason).await,
            Verdict::RetryAfter(pause) => self.retry_after(pause, &failed.reason).await,
            Verdict::Bury => self.bury(&failed.reason).await,
        }
    }

    /// Runs `work` and keeps the message held meanwhile.
    ///
    /// # Errors
    /// [`Error::Lost`] when it was lost; the work is dropped then, because somebody else may have
    /// begun it.
    pub(crate) async fn hold_while<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let beat = self.queue.inner.options.visibility / 3;
        let clock = &self.queue.inner.shared.clock;
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
                // The lease is not over yet; maybe the store is well again before it is.
                Err(error) if error.is_outage() => {}
                Err(error) => {
                    tracing::warn!(queue = self.queue.name(), %error, "cannot hold a message");
                }
            }
        }
    }

    fn inner(&self) -> Arc<Inner> {
        Arc::clone(&self.queue.inner)
    }

    pub(super) fn delete_work(&self) -> Work {
        let (inner, message) = (self.inner(), self.message.clone());
        self.work(1, move |writes| writes.push(message.delete(&inner.name).into()))
    }

    async fn write(
        &self,
        count: usize,
        render: impl Fn(&mut Vec<TransactItem>) + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let inner = &self.queue.inner;
        let written = inner.shared.gather.write(self.work(count, render)).await;
        written.map_err(|refused| refused.into_error(inner, &self.message))
    }

    fn work(
        &self,
        count: usize,
        render: impl Fn(&mut Vec<TransactItem>) + Send + Sync + 'static,
    ) -> Work {
        let (subject, weight) = (self.message.id.uuid(), self.message.weight());
        Work { subject, count, weight, render: Box::new(render) }
    }
}

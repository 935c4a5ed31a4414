//! The consumer's side: the effect, the mark and the deletion are one transaction.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use base::Cause;
use table::{CancelReason, Put, TransactItem, TransactWrite, attr};

use super::Fact;
use crate::Core;
use crate::error::{Error, Failed};
use crate::items::{GONE, TABLE, key};
use crate::limits::{EFFECT_WRITES_MAX, MARK_DAYS};
use crate::queue::{Delivery, Queue};

/// A consumer's subscription, from [`Bus::subscribe`](super::Bus::subscribe).
#[derive(Clone)]
pub struct Subscription {
    core: Arc<Core>,
    consumer: String,
    queue: Queue,
}

/// A fact held by a consumer. When dropped, it is delivered again after the visibility timeout.
pub struct FactDelivery {
    subscription: Subscription,
    delivery: Delivery,
    fact: Fact,
}

/// The writes that a handler commits together with the mark of its fact, and an action to run after
/// that commit.
#[derive(Default)]
pub struct Effect {
    /// The writes.
    pub writes: Vec<TransactItem>,
    then: Option<Box<dyn FnOnce() + Send>>,
}

impl Effect {
    /// Adds an action to run after the commit. The action is best effort: a shutdown in between
    /// skips it.
    #[must_use]
    pub fn then(self, announce: impl FnOnce() + Send + 'static) -> Effect {
        Effect { then: Some(Box::new(announce)), ..self }
    }
}

impl From<Vec<TransactItem>> for Effect {
    fn from(writes: Vec<TransactItem>) -> Effect {
        Effect { writes, then: None }
    }
}

/// The result of applying an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The effect was committed now.
    Now,
    /// The effect had been committed before; nothing was written.
    Before,
}

impl Subscription {
    pub(super) fn new(core: Arc<Core>, consumer: &str, queue: Queue) -> Subscription {
        Subscription { core, consumer: consumer.to_owned(), queue }
    }

    /// The consumer's queue, which shows its depth and its dead letters.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Waits for facts and takes up to `max` of them, roughly in the order in which they were sent.
    ///
    /// # Errors
    /// The store failed, or the server is shutting down.
    pub async fn receive(&self, max: usize) -> Result<Vec<FactDelivery>, Error> {
        let mut facts = Vec::new();
        for delivery in self.queue.receive(max).await? {
            facts.extend(self.read(delivery).await?);
        }
        Ok(facts)
    }

    /// Passes every fact to `handler`, up to `concurrency` at a time, until shutdown. The handler
    /// returns the effect. The effect is committed together with the mark of the fact, so it
    /// happens once, however often the fact is delivered. A failed condition of the effect and a
    /// failed handler lead to a retry.
    pub fn work<H, F, E>(&self, concurrency: usize, handler: H)
    where
        H: Fn(Fact) -> F + Send + Sync + 'static,
        F: Future<Output = Result<E, Failed>> + Send + 'static,
        E: Into<Effect> + Send,
    {
        let (subscription, handler) = (self.clone(), Arc::new(handler));
        self.queue.work_deliveries(concurrency, move |delivery| {
            let (subscription, handler) = (subscription.clone(), Arc::clone(&handler));
            async move {
                let Some(held) = subscription.read(delivery).await? else { return Ok(()) };
                // Facts sent by the handler get the same cause.
                let handled = Cause::during(held.fact.cause.clone(), handler(held.fact.clone()));
                let done = held.delivery.hold_while(handled).await?;
                let failed = match done.map(Into::into) {
                    Ok(Effect { writes, then }) => match held.try_apply(writes).await {
                        Ok(Applied::Now) => {
                            then.into_iter().for_each(|announce| announce());
                            return Ok(());
                        }
                        Ok(Applied::Before) => return Ok(()),
                        Err(error @ (Error::Lost(_) | Error::Closing)) => return Err(error),
                        Err(error) => Failed::from(error),
                    },
                    Err(failed) => failed,
                };
                held.delivery.fail(&failed).await
            }
        });
    }

    /// Reads the fact of a message. A message without a valid fact becomes a dead letter.
    async fn read(&self, delivery: Delivery) -> Result<Option<FactDelivery>, Error> {
        match Fact::from_json(&delivery.message().body) {
            Ok(fact) => Ok(Some(FactDelivery { subscription: self.clone(), delivery, fact })),
            Err(error) => {
                delivery.bury(&error.to_string()).await?;
                Ok(None)
            }
        }
    }
}

impl FactDelivery {
    /// The fact.
    pub fn fact(&self) -> &Fact {
        &self.fact
    }

    /// The message of the fact, to extend its lease or to retry it.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// Commits the effect, the consumer's mark for this fact, and the deletion of the message: all
    /// or nothing.
    ///
    /// # Errors
    /// [`Error::Lost`] if the lease of the message ended; [`Error::Table`] if a condition of the
    /// effect failed (with the reasons of the effect's own writes only) or the store failed.
    /// Nothing was written in these cases.
    pub async fn apply(self, effect: Vec<TransactItem>) -> Result<Applied, Error> {
        self.try_apply(effect).await
    }

    async fn try_apply(&self, effect: Vec<TransactItem>) -> Result<Applied, Error> {
        if effect.len() > EFFECT_WRITES_MAX {
            return Err(Error::EffectTooLarge(effect.len()));
        }
        let mut writes = vec![self.mark(), self.delivery.delete_write()];
        writes.extend(effect);
        let tables = &self.subscription.core.tables;
        match tables.transact_write(TransactWrite::new(writes)).await {
            Ok(()) => {
                self.delivery.clone().deleted();
                Ok(Applied::Now)
            }
            Err(table::Error::TransactionCanceled { reasons }) => self.refused(reasons).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the outcome from the order of the writes: the mark first, then the deletion of the
    /// message, then the effect.
    async fn refused(&self, reasons: Vec<CancelReason>) -> Result<Applied, Error> {
        let mut reasons = reasons.into_iter();
        let fails = |reason: Option<CancelReason>| {
            matches!(reason, Some(CancelReason::ConditionFailed { .. }))
        };
        let (marked, lost) = (fails(reasons.next()), fails(reasons.next()));
        let delivery = self.delivery.clone();
        match (marked, lost) {
            (true, true) => Ok(Applied::Before),
            (true, false) => {
                delivery.delete().await?;
                Ok(Applied::Before)
            }
            (false, true) => Err(Error::Lost(format!("fact {}", self.fact.id))),
            (false, false) => {
                Err(table::Error::TransactionCanceled { reasons: reasons.collect() }.into())
            }
        }
    }

    fn mark(&self) -> TransactItem {
        let Subscription { consumer, core, .. } = &self.subscription;
        let now = core.clock.now();
        let kept = Duration::from_secs(MARK_DAYS * 24 * 3600);
        let item = key(format!("M#{consumer}"), self.fact.id.as_str())
            .with(GONE, now.checked_add(kept).unwrap_or(now).seconds());
        Put::new(TABLE, item).when(attr("sk").not_exists()).into()
    }
}

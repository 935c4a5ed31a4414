//! How a consumer takes facts: mark, effect and end in one transaction.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use base::Cause;
use table::{CancelReason, Put, TransactItem, TransactWrite, attr};

use super::Fact;
use crate::Shared;
use crate::error::{Error, Failed};
use crate::items::{GONE, TABLE, key};
use crate::limits::{EFFECT_WRITES_MAX, MARK_DAYS};
use crate::queue::{Delivery, Queue};

/// A consumer's subscription, from [`Bus::subscribe`](super::Bus::subscribe).
#[derive(Clone)]
pub struct Subscription {
    shared: Arc<Shared>,
    consumer: String,
    queue: Queue,
}

/// A fact in a consumer's hands. Dropped, it comes back after the visibility timeout.
pub struct FactDelivery {
    subscription: Subscription,
    delivery: Delivery,
    fact: Fact,
}

/// What a handler wants written together with the mark that its fact is done, and what it does
/// when that is so.
#[derive(Default)]
pub struct Effect {
    /// What is written.
    pub writes: Vec<TransactItem>,
    then: Option<Box<dyn FnOnce() + Send>>,
}

impl Effect {
    /// Then does this, unless the house stops in between: nothing may rely on it.
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

/// What became of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It has happened.
    Now,
    /// It had happened before; nothing was written.
    Before,
}

impl Subscription {
    pub(super) fn new(shared: Arc<Shared>, consumer: &str, queue: Queue) -> Subscription {
        Subscription { shared, consumer: consumer.to_owned(), queue }
    }

    /// The consumer's queue, for its depth and its dead letters.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Waits for facts and takes up to `max` of them, about in the order in which they were told.
    ///
    /// # Errors
    /// The store refused, or the house is closing.
    pub async fn receive(&self, max: usize) -> Result<Vec<FactDelivery>, Error> {
        let mut facts = Vec::new();
        for delivery in self.queue.receive(max).await? {
            facts.extend(self.read(delivery).await?);
        }
        Ok(facts)
    }

    /// Hands every fact to `handler`, up to `concurrency` at a time, until the house closes. What
    /// the handler answers is the effect: it is written together with the mark that this fact is
    /// done, so that it happens once, however often the fact comes. An effect whose condition
    /// fails, and a handler that fails, are tried again.
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
                // What it tells on came of the same request.
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

    /// The fact of a message; one that is none is given up.
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

    /// The message that carries it, to hold it longer or to try it again.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// Writes the effect, the mark that this consumer has done this fact, and the end of the
    /// message: all or none.
    ///
    /// # Errors
    /// [`Error::Lost`] when the fact was not held any more; [`Error::Table`] when a condition of
    /// the effect failed (with the reasons of its writes alone) or the store refused. Nothing was
    /// written then.
    pub async fn apply(self, effect: Vec<TransactItem>) -> Result<Applied, Error> {
        self.try_apply(effect).await
    }

    async fn try_apply(&self, effect: Vec<TransactItem>) -> Result<Applied, Error> {
        if effect.len() > EFFECT_WRITES_MAX {
            return Err(Error::EffectTooLarge(effect.len()));
        }
        let mut writes = vec![self.mark(), self.delivery.delete_write()];
        writes.extend(effect);
        let tables = &self.subscription.shared.tables;
        match tables.transact_write(TransactWrite::new(writes)).await {
            Ok(()) => {
                self.delivery.clone().deleted();
                Ok(Applied::Now)
            }
            Err(table::Error::TransactionCanceled { reasons }) => self.refused(reasons).await,
            Err(error) => Err(error.into()),
        }
    }

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
        let Subscription { consumer, shared, .. } = &self.subscription;
        let now = shared.clock.now();
        let kept = Duration::from_secs(MARK_DAYS * 24 * 3600);
        let item = key(format!("M#{consumer}"), self.fact.id.as_str())
            .with(GONE, now.checked_add(kept).unwrap_or(now).seconds());
        Put::new(TABLE, item).when(attr("sk").not_exists()).into()
    }
}

//! The fact bus: what has happened, told to everybody who asked to know.
//!
//! A fact is a message in the outbox, sent by the transaction of the change that it tells: there
//! is no change without its fact and no fact without its change. The relay takes facts from the
//! outbox and hands each to the queue of every subscribed consumer, in one transaction with its
//! leaving the outbox. A consumer's effect, the mark that it has done this fact, and the
//! message's end are one transaction too. So a fact may travel twice, and has one effect.
//!
//! `fact.rs` is what a fact says, `consumer.rs` how it is taken.
//!
//! Invariants:
//! - A fact keeps its id whoever carries it, however often.
//! - A consumer that subscribed before a fact was told gets it, on or off.
//! - Subscriptions are read for every handful of facts, never remembered.

mod consumer;
mod fact;
mod step;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use table::{Delete, Item, Put, Query, Value};

pub use self::consumer::{Applied, Effect, FactDelivery, Subscription};
pub use self::fact::{Fact, NewFact};
pub use self::step::{FactStep, FactStepKind};
use crate::Shared;
use crate::error::{Error, check_name};
use crate::gather::Refused;
use crate::items::{TABLE, key, misfit, text};
use crate::limits::{CONSUMERS_MAX, TROUBLE_PAUSE};
use crate::queue::{Delivery, NewMessage, Prepared, Queue, QueueOptions};

/// Facts that are relayed together.
const RELAYED_MAX: usize = 50;

/// The fact bus. Cheap to clone; from [`Dispatch::bus`](crate::Dispatch::bus).
#[derive(Clone)]
pub struct Bus {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    outbox: Queue,
    /// The consumers' queues that were used here, so that they stay open.
    queues: Mutex<HashMap<String, Queue>>,
}

/// A consumer and what it wants to know.
struct Consumer {
    name: String,
    kinds: Vec<String>,
}

impl Bus {
    /// Opens the bus of an instance and starts its relay, which ends with the instance's tasks.
    pub(crate) fn open(shared: &Arc<Shared>) -> Result<Bus, Error> {
        // A fact is never given up: what fails here is the store, not the fact.
        let options = QueueOptions { max_receives: u32::MAX, ..QueueOptions::default() };
        let outbox = shared.open_queue("bus.outbox", options)?;
        let shared = Arc::clone(shared);
        let bus = Bus { inner: Arc::new(Inner { shared, outbox, queues: Mutex::default() }) };
        bus.inner.shared.tasks.spawn("fact relay", bus.clone().relay());
        Ok(bus)
    }

    /// A fact that is told by the transaction of the change it tells.
    ///
    /// # Errors
    /// The fact lacks something, or is too large.
    pub fn prepare(&self, fact: NewFact) -> Result<Prepared, Error> {
        let Shared { clock, ids, .. } = &*self.inner.shared;
        let fact = fact.tell(clock.now(), || ids.ordered().to_string())?;
        self.inner.outbox.prepare(NewMessage::new(fact.to_json()))
    }

    /// Tells a fact that is part of no other change.
    ///
    /// # Errors
    /// The fact lacks something, is too large, or the store refused.
    pub async fn tell(&self, fact: NewFact) -> Result<(), Error> {
        let Shared { clock, ids, .. } = &*self.inner.shared;
        let fact = fact.tell(clock.now(), || ids.ordered().to_string())?;
        self.inner.outbox.enqueue(NewMessage::new(fact.to_json())).await.map(drop)
    }

    /// Subscribes `consumer`, for ever, to facts of these kinds: `sns.post.made`, or `sns.*` for
    /// all that begin so. Subscribing again changes the kinds; everything told from now on comes.
    ///
    /// # Errors
    /// It is not a name, there are too many consumers, or the store refused.
    pub async fn subscribe(&self, consumer: &str, kinds: &[&str]) -> Result<Subscription, Error> {
        check_name(consumer)?;
        let consumers = self.inner.consumers().await?;
        let known = consumers.iter().any(|other| other.name == consumer);
        if !known && consumers.len() >= CONSUMERS_MAX {
            return Err(Error::TooManyConsumers);
        }
        let kinds = kinds.iter().map(|kind| Value::from(*kind)).collect::<Vec<_>>();
        let item = key("C", consumer).with("kinds", kinds);
        self.inner.shared.tables.put(Put::new(TABLE, item)).await?;
        let queue = self.inner.queue_of(consumer)?;
        Ok(Subscription::new(Arc::clone(&self.inner.shared), consumer, queue))
    }

    /// Ends a subscription. What the consumer has not taken yet stays in its queue.
    ///
    /// # Errors
    /// The store refused.
    pub async fn unsubscribe(&self, consumer: &str) -> Result<(), Error> {
        let delete = Delete::new(TABLE, key("C", consumer));
        self.inner.shared.tables.delete(delete).await?;
        Ok(())
    }

    async fn relay(self) {
        let Inner { shared, outbox, .. } = &*self.inner;
        loop {
            let relayed = match outbox.receive(RELAYED_MAX).await {
                Ok(deliveries) => self.inner.hand_on(deliveries).await,
                Err(error) => Err(error),
            };
            match relayed {
                Ok(()) => {}
                Err(Error::Closing) => return,
                Err(error) => {
                    if !error.is_outage() {
                        tracing::warn!(%error, "cannot relay facts");
                    }
                    shared.clock.sleep(TROUBLE_PAUSE).await;
                }
            }
        }
    }
}

impl Inner {
    /// Hands facts to the queues of those who want them.
    async fn hand_on(&self, deliveries: Vec<Delivery>) -> Result<(), Error> {
        let consumers = self.consumers().await?;
        let mut under_way = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            let fact = match Fact::from_json(&delivery.message().body) {
                Ok(fact) => fact,
                Err(error) => {
                    delivery.bury(&error.to_string()).await?;
                    continue;
                }
            };
            let mut copies = Vec::new();
            for consumer in consumers.iter().filter(|consumer| consumer.wants(&fact)) {
                let message = NewMessage::new(delivery.message().body.clone());
                copies.push(self.queue_of(&consumer.name)?.prepare(message)?);
            }
            let outcome = delivery.hand_on(&copies);
            under_way.push((delivery, copies, outcome));
        }
        let mut trouble = Ok(());
        for (delivery, copies, outcome) in under_way {
            match outcome.wait().await {
                Ok(()) => {
                    delivery.deleted();
                    copies.into_iter().for_each(Prepared::committed);
                }
                // Another instance did it.
                Err(Refused::Condition(_)) => {}
                Err(Refused::Other(error)) => trouble = Err(error),
            }
        }
        trouble
    }

    async fn consumers(&self) -> Result<Vec<Consumer>, Error> {
        let page = self.shared.tables.query(Query::new(TABLE, "pk", "C").consistent()).await?;
        page.items.iter().map(Consumer::read).collect()
    }

    fn queue_of(&self, consumer: &str) -> Result<Queue, Error> {
        let mut queues = self.queues.lock();
        if let Some(queue) = queues.get(consumer) {
            return Ok(queue.clone());
        }
        let name = format!("bus.to.{consumer}");
        let queue = self.shared.open_queue(&name, QueueOptions::default())?;
        queues.insert(consumer.to_owned(), queue.clone());
        Ok(queue)
    }
}

impl Consumer {
    fn read(item: &Item) -> Result<Consumer, Error> {
        let Some(Value::L(kinds)) = item.get("kinds") else { return Err(misfit(item, "kinds")) };
        let kinds = kinds.iter().filter_map(|kind| Some(kind.as_s()?.to_owned())).collect();
        Ok(Consumer { name: text(item, "sk")?.to_owned(), kinds })
    }

    fn wants(&self, fact: &Fact) -> bool {
        self.kinds.iter().any(|kind| match kind.strip_suffix('*') {
            Some(beginning) => fact.kind.starts_with(beginning),
            None => fact.kind == *kind,
        })
    }
}

//! The fact bus: it delivers facts to their consumers.
//!
//! A fact is a message in the outbox. The transaction that makes a change also sends the fact about
//! it, so a change and its fact are committed together or not at all. The relay takes facts from
//! the outbox and puts a copy into the queue of each subscribed consumer; the copies and the
//! deletion from the outbox are one transaction. A consumer commits its effect, a mark that it has
//! handled the fact, and the deletion of the message in one transaction too. So a fact may be
//! delivered twice, and takes effect once.
//!
//! `fact.rs` defines a fact and its JSON, `consumer.rs` the consumer's side, `step.rs` the steps of
//! a fact.
//!
//! Invariants:
//! - A fact keeps its id in every copy.
//! - A consumer gets each matching fact that was sent after it subscribed, whether it runs or not.
//! - Subscriptions are read again for every batch of facts and never cached.

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
use crate::Core;
use crate::batcher::WriteError;
use crate::error::{Error, check_name};
use crate::items::{TABLE, key, misfit, text};
use crate::limits::{CONSUMERS_MAX, TROUBLE_PAUSE};
use crate::queue::{Delivery, NewMessage, Prepared, Queue, QueueOptions};

/// Facts that are relayed together.
const RELAYED_MAX: usize = 50;

/// The fact bus. Cheap to clone; from [`Dispatch::bus`](crate::Dispatch::bus).
#[derive(Clone)]
pub struct Bus {
    inner: Arc<BusInner>,
}

struct BusInner {
    core: Arc<Core>,
    outbox: Queue,
    /// Consumer queues used by this instance. The map keeps them open.
    queues: Mutex<HashMap<String, Queue>>,
}

/// A subscribed consumer and the kinds of facts that it gets.
struct Consumer {
    name: String,
    kinds: Vec<String>,
}

impl Bus {
    /// Opens the bus of an instance and starts its relay, which ends with the instance's tasks.
    pub(crate) fn open(core: &Arc<Core>) -> Result<Bus, Error> {
        // The bus never gives up a fact: only the store can fail here, not the fact.
        let options = QueueOptions { max_receives: u32::MAX, ..QueueOptions::default() };
        let outbox = core.open_queue("bus.outbox", options)?;
        let core = Arc::clone(core);
        let bus = Bus { inner: Arc::new(BusInner { core, outbox, queues: Mutex::default() }) };
        bus.inner.core.tasks.spawn("fact relay", bus.clone().relay());
        Ok(bus)
    }

    /// Prepares a fact, which the caller sends in the transaction of its change.
    ///
    /// # Errors
    /// The fact is incomplete or too large.
    pub fn prepare(&self, fact: NewFact) -> Result<Prepared, Error> {
        let Core { clock, ids, .. } = &*self.inner.core;
        let fact = fact.complete(clock.now(), || ids.ordered().to_string())?;
        self.inner.outbox.prepare(NewMessage::new(fact.to_json()))
    }

    /// Sends a fact that belongs to no transaction of the caller.
    ///
    /// # Errors
    /// The fact is incomplete or too large, or the store failed.
    pub async fn tell(&self, fact: NewFact) -> Result<(), Error> {
        let Core { clock, ids, .. } = &*self.inner.core;
        let fact = fact.complete(clock.now(), || ids.ordered().to_string())?;
        self.inner.outbox.enqueue(NewMessage::new(fact.to_json())).await.map(drop)
    }

    /// Subscribes `consumer` to facts of these kinds: `sns.post.made`, or `sns.*` for every kind
    /// with that prefix. The subscription lasts until [`unsubscribe`](Bus::unsubscribe).
    /// Subscribing again replaces the kinds; the consumer gets every matching fact sent from now
    /// on.
    ///
    /// # Errors
    /// The name is invalid, there are too many consumers, or the store failed.
    pub async fn subscribe(&self, consumer: &str, kinds: &[&str]) -> Result<Subscription, Error> {
        check_name(consumer)?;
        let consumers = self.inner.consumers().await?;
        let subscribed = consumers.iter().any(|other| other.name == consumer);
        if !subscribed && consumers.len() >= CONSUMERS_MAX {
            return Err(Error::TooManyConsumers);
        }
        let kinds = kinds.iter().map(|kind| Value::from(*kind)).collect::<Vec<_>>();
        let item = key("C", consumer).with("kinds", kinds);
        self.inner.core.tables.put(Put::new(TABLE, item)).await?;
        let queue = self.inner.queue_of(consumer)?;
        Ok(Subscription::new(Arc::clone(&self.inner.core), consumer, queue))
    }

    /// Ends a subscription. Facts that the consumer has not handled yet stay in its queue.
    ///
    /// # Errors
    /// The store failed.
    pub async fn unsubscribe(&self, consumer: &str) -> Result<(), Error> {
        let delete = Delete::new(TABLE, key("C", consumer));
        self.inner.core.tables.delete(delete).await?;
        Ok(())
    }

    async fn relay(self) {
        let BusInner { core, outbox, .. } = &*self.inner;
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
                    core.clock.sleep(TROUBLE_PAUSE).await;
                }
            }
        }
    }
}

impl BusInner {
    /// Copies facts into the queues of the consumers that subscribed to them.
    async fn hand_on(&self, deliveries: Vec<Delivery>) -> Result<(), Error> {
        let consumers = self.consumers().await?;
        // All hand-overs are submitted before the first is awaited, so that they share
        // transactions.
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
                // Another instance relayed this fact.
                Err(WriteError::Condition(_)) => {}
                Err(WriteError::Peer(error)) => trouble = Err(error),
            }
        }
        trouble
    }

    async fn consumers(&self) -> Result<Vec<Consumer>, Error> {
        let page = self.core.tables.query(Query::new(TABLE, "pk", "C").consistent()).await?;
        page.items.iter().map(Consumer::read).collect()
    }

    fn queue_of(&self, consumer: &str) -> Result<Queue, Error> {
        let mut queues = self.queues.lock();
        if let Some(queue) = queues.get(consumer) {
            return Ok(queue.clone());
        }
        let name = format!("bus.to.{consumer}");
        let queue = self.core.open_queue(&name, QueueOptions::default())?;
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

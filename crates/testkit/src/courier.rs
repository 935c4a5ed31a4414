//! A dispatcher under load, to be killed: what it sends, and what must come of it.
//!
//! Senders put messages into a queue, and others make changes with their facts. A worker counts
//! every message that it handles; two consumers count every fact, in the transaction that ends it.
//! The program is `src/bin/courier.rs`, the trial `tests/delivery.rs`.
//!
//!   table       id                   written
//!   delivered   message              by the worker, each time it handles the message
//!   changes     change               with its fact
//!   effects     consumer/change      by a consumer, with its mark: once

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks};
use dispatch::{Dispatch, Error, Fact, Failed, NewFact, NewMessage, Queue, QueueOptions};
use table::{
    Embedded, Item, KeyAttribute, KeySpec, Options, Put, TableSpec, Tables, TransactItem,
    TransactWrite, Update,
};

/// The consumers of facts.
pub const CONSUMERS: [&str; 2] = ["ledger", "mailer"];

/// A process that works on a store.
pub struct Courier {
    /// The store.
    pub house: Embedded,
    /// The queue of messages.
    pub queue: Queue,
    dispatch: Dispatch,
    tables: Arc<dyn Tables>,
}

impl Courier {
    /// Opens the store in `path` and starts to deliver its messages.
    ///
    /// # Errors
    /// The store failed.
    pub async fn open(
        path: &Path,
        clock: Clock,
        random: Random,
        tasks: &Tasks,
    ) -> Result<Courier, Error> {
        let options =
            Options { path: path.to_owned(), memory_mib: 1, segment_mib: 1, ..Options::default() };
        let house = Embedded::open(options, clock.clone(), tasks).await?;
        for name in ["delivered", "changes", "effects"] {
            let key = KeySpec::simple(KeyAttribute::s("id"));
            house.ensure_table(TableSpec::new(name, key)).await?;
        }
        let tables: Arc<dyn Tables> = Arc::new(house.clone());
        let dispatch = Dispatch::open(Arc::clone(&tables), clock, random, tasks).await?;
        let options = QueueOptions {
            visibility: Duration::from_secs(1),
            max_receives: 1_000,
            ..QueueOptions::default()
        };
        let queue = dispatch.queue("load", options)?;
        let worker = Arc::clone(&tables);
        queue.work(16, move |message| {
            let tables = Arc::clone(&worker);
            async move {
                let id = String::from_utf8(message.body.to_vec())?;
                tables.update(count("delivered", &id)).await?;
                Ok(())
            }
        });
        for consumer in CONSUMERS {
            let subscription = dispatch.bus().subscribe(consumer, &["change.*"]).await?;
            subscription.work(8, move |fact| effect(consumer, fact));
        }
        Ok(Courier { house, queue, dispatch, tables })
    }

    /// Sends message `id`, due after `delay`. Returns when it is acknowledged.
    ///
    /// # Errors
    /// The store failed.
    pub async fn send(&self, id: &str, delay: Duration) -> Result<(), Error> {
        self.queue.enqueue(NewMessage::new(id.to_owned()).delay(delay)).await.map(drop)
    }

    /// Makes change `id` with its fact. Returns when both are acknowledged.
    ///
    /// # Errors
    /// The store failed.
    pub async fn change(&self, id: &str) -> Result<(), Error> {
        let fact = NewFact::new("/courier", "change.made", &())?.subject(id).id(id);
        let message = self.dispatch.bus().prepare(fact)?;
        let change = Put::new("changes", Item::new().with("id", id));
        let both = TransactWrite::new(vec![change.into(), message.write()]);
        self.tables.transact_write(both).await?;
        message.committed();
        Ok(())
    }

    /// The number of messages, facts and dead letters that are still in any queue.
    ///
    /// # Errors
    /// The store failed.
    pub async fn left(&self) -> Result<u64, Error> {
        let mut left = 0;
        for consumer in CONSUMERS {
            let subscription = self.dispatch.bus().subscribe(consumer, &["change.*"]).await?;
            let depth = subscription.queue().depth().await?;
            left += depth.messages + depth.dead;
        }
        let depth = self.queue.depth().await?;
        Ok(left + depth.messages + depth.dead)
    }
}

async fn effect(consumer: &str, fact: Fact) -> Result<Vec<TransactItem>, Failed> {
    let change = fact.subject.ok_or_else(|| Failed::for_good("a fact without its change"))?;
    Ok(vec![count("effects", &format!("{consumer}/{change}")).into()])
}

fn count(table: &str, id: &str) -> Update {
    Update::new(table, Item::new().with("id", id)).add("count", 1)
}

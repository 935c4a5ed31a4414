//! A store with a virtual clock, and instances that come and go on it.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use dispatch::{Delivery, Dispatch, Queue, QueueOptions};
use table::{Embedded, Tables};

/// When stories begin: a Sunday morning in spring.
pub(crate) const START: &str = "2026-03-01T00:00:00Z";

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// The store and its time.
pub(crate) struct House {
    pub(crate) tables: Arc<dyn Tables>,
    pub(crate) clock: Clock,
    pub(crate) time: VirtualTime,
    store_tasks: Tasks,
}

/// A process that works on the store.
pub(crate) struct Instance {
    pub(crate) dispatch: Dispatch,
    pub(crate) tasks: Tasks,
    clock: Clock,
}

impl House {
    pub(crate) async fn new() -> House {
        let (clock, time) = Clock::virtual_at(START.parse().unwrap());
        let store_tasks = Tasks::new();
        let store = Embedded::in_memory(clock.clone(), &store_tasks).await.unwrap();
        House { tables: Arc::new(store), clock, time, store_tasks }
    }

    /// Opens an instance; different numbers draw different luck.
    pub(crate) async fn instance(&self, number: u64) -> Instance {
        let tasks = Tasks::new();
        let (tables, clock) = (Arc::clone(&self.tables), self.clock.clone());
        let opened = Dispatch::open(tables, clock, Random::seeded(number), &tasks).await;
        Instance { dispatch: opened.unwrap(), tasks, clock: self.clock.clone() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The time so long from now.
    pub(crate) fn later(&self, duration: Duration) -> Timestamp {
        self.now().checked_add(duration).unwrap()
    }

    /// Lets everything run that needs no time to pass.
    pub(crate) async fn settle(&self) {
        self.time.settle().await;
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let panicked = self.store_tasks.panicked();
        assert!(std::thread::panicking() || panicked.is_empty(), "{panicked:?}");
    }
}

impl Instance {
    pub(crate) fn queue(&self) -> Queue {
        self.dispatch.queue("things", QueueOptions::default()).unwrap()
    }

    /// Ends as a process that is told to.
    pub(crate) async fn close(self, house: &House) {
        let clock = self.clock.clone();
        let closing = self.tasks.finish(&clock, SECOND);
        let (closed, ()) = tokio::join!(closing, house.time.advance(Duration::ZERO));
        assert_eq!(closed, Ok(()));
        assert!(self.tasks.panicked().is_empty(), "{:?}", self.tasks.panicked());
    }
}

/// What deliveries say, in their order.
pub(crate) fn bodies(deliveries: &[Delivery]) -> Vec<String> {
    let body = |delivery: &Delivery| String::from_utf8(delivery.message().body.to_vec()).unwrap();
    deliveries.iter().map(body).collect()
}

/// What can be received right now.
pub(crate) async fn received(house: &House, queue: &Queue) -> Vec<Delivery> {
    house.settle().await;
    queue.try_receive(100).await.unwrap()
}

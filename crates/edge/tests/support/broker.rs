//! Instances of a room that hear each other. Rooms include this file.

use std::sync::Arc;

use base::{Clock, Random, Tasks};
use edge::{Ground, StreamOptions};
use hub::{Carrier, Hub, Text, TopicName};
use parking_lot::Mutex;
use table::Tables;

/// Carries pushes between the hubs of one process, as a broker would between processes.
#[derive(Default)]
pub(crate) struct Broker {
    /// The number of the last push, and who hears the next.
    pub(crate) hubs: Mutex<(u64, Vec<Hub>)>,
}

impl Carrier for Broker {
    fn epoch(&self) -> u64 {
        1
    }

    fn head(&self) -> u64 {
        self.hubs.lock().0
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn carry(&self, _: &Hub, topic: TopicName<'_>, text: Text) {
        let mut hubs = self.hubs.lock();
        hubs.0 += 1;
        let number = hubs.0;
        hubs.1.iter().for_each(|hub| hub.deliver(topic, || number, text.clone()));
    }
}

impl Broker {
    /// What one more instance stands on: tasks and chance of its own, and a hub that hears what
    /// all others hear.
    pub(crate) fn ground(
        self: &Arc<Self>,
        tables: Arc<dyn Tables>,
        clock: &Clock,
        seed: u64,
    ) -> Ground {
        let (random, tasks) = (Random::seeded(seed), Tasks::new());
        let hub = Hub::with_carrier(clock, &random, &tasks, Arc::clone(self) as _);
        self.hubs.lock().1.push(hub.clone());
        Ground::with_hub(tables, hub, &StreamOptions::default(), clock, &random, &tasks)
    }
}

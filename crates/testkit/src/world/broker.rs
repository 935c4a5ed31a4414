//! Instances that hear each other within one process, as a broker lets processes do.

use std::sync::Arc;

use base::{Clock, Random, Tasks};
use hub::{Carrier, Hub, Text, TopicName};
use parking_lot::Mutex;

/// Carries pushes between the hubs of one process.
#[derive(Default)]
pub struct Broker {
    /// The number of the last push, and the hubs that get the next.
    hubs: Mutex<(u64, Vec<Hub>)>,
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
    /// A hub of one more instance, which gets every push of all others.
    pub(super) fn hub(self: &Arc<Self>, clock: &Clock, random: &Random, tasks: &Tasks) -> Hub {
        let hub = Hub::with_carrier(clock, random, tasks, Arc::clone(self) as _);
        self.hubs.lock().1.push(hub.clone());
        hub
    }

    /// Cuts off all instances but the first `count`: from now on no push arrives at them.
    pub fn keep(&self, count: usize) {
        self.hubs.lock().1.truncate(count);
    }
}

//! A carrier for instances in one process, in the role of a broker.

use std::sync::Arc;

use base::{Clock, Random, Tasks};
use hub::{Carrier, Hub, Text, TopicName};
use parking_lot::Mutex;

/// Carries pushes between the hubs of one process.
#[derive(Default)]
pub struct Broker {
    /// The number of the last push, and the hubs that get the next one.
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
    /// The hub of one more instance, which gets every push of all others.
    pub(super) fn hub(self: &Arc<Self>, clock: &Clock, random: &Random, tasks: &Tasks) -> Hub {
        let hub = Hub::with_carrier(clock, random, tasks, Arc::clone(self) as _);
        self.hubs.lock().1.push(hub.clone());
        hub
    }

    /// Disconnects all instances but the first `count`: from now on they get no push.
    pub fn keep(&self, count: usize) {
        self.hubs.lock().1.truncate(count);
    }
}

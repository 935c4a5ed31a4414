//! The carrier: it numbers pushes and brings them to every instance.
//!
//! A carrier owns one numbering (see `position.rs`). It must deliver every push to the hub of every
//! instance, once and in one order per topic, with the same epoch and offset everywhere. A carrier
//! may repeat deliveries, because [`Hub::deliver`] ignores late and repeated pushes. An instance
//! that joins later passes [`Carrier::head`] as of the moment when it began to receive; its
//! histories report everything below as a gap.
//!
//! A carrier reports lost pushes with [`Hub::lose`] and a restarted numbering with
//! [`Hub::renumber`], so that readers always learn about a gap.
//!
//! [`InProcessCarrier`] is the carrier of a single instance. A carrier over a stream uses the
//! identity of the stream as epoch and its sequence number as offset; both are the same for all
//! readers of the stream.

use std::sync::atomic::{AtomicU64, Ordering};

use base::Random;

use crate::{Hub, Text, TopicName};

/// Numbers pushes and carries them to every instance.
pub trait Carrier: Send + Sync + 'static {
    /// The id of the numbering, the same on all instances.
    fn epoch(&self) -> u64;

    /// The highest number that has arrived at this instance.
    fn head(&self) -> u64;

    /// Whether other instances may exist. A single instance sends no news.
    fn is_shared(&self) -> bool;

    /// Takes a push from the hub of this instance and brings it to all instances, this one
    /// included, through [`Hub::deliver`].
    fn carry(&self, hub: &Hub, topic: TopicName<'_>, text: Text);
}

/// The carrier of a single instance: a counter.
#[derive(Debug)]
pub(crate) struct InProcessCarrier {
    epoch: u64,
    head: AtomicU64,
}

impl InProcessCarrier {
    pub(crate) fn new(random: &Random) -> InProcessCarrier {
        InProcessCarrier { epoch: random.next_u64(), head: AtomicU64::new(0) }
    }
}

impl Carrier for InProcessCarrier {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn head(&self) -> u64 {
        self.head.load(Ordering::Relaxed)
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn carry(&self, hub: &Hub, topic: TopicName<'_>, text: Text) {
        // The number is drawn under the topic's lock, so that numbers grow in the order of the
        // history.
        hub.deliver(topic, || self.head.fetch_add(1, Ordering::Relaxed) + 1, text);
    }
}

//! How a push gets its number and reaches every instance.
//!
//! A carrier is the authority over one numbering (see `position.rs`). It must hand every push to
//! every instance's hub, once and in one order per topic, with the same epoch and offset
//! everywhere; [`Hub::deliver`] refuses what comes late or twice, so that a carrier may repeat.
//! An instance that joins later passes [`Carrier::head`] as it was when it began to listen: below
//! it, its histories have holes and say so.
//!
//! What a carrier cannot hand over it confesses by [`Hub::lose`], and that its numbering began anew
//! by [`Hub::renumber`]: readers are told, never left to guess.
//!
//! [`InProcess`] is the carrier of one instance. A carrier over a stream takes the stream's
//! identity as epoch and its sequence number as offset; both are the same for all who read it.

use std::sync::atomic::{AtomicU64, Ordering};

use base::Random;

use crate::{Hub, Text, TopicName};

/// Numbers pushes and carries them to every instance.
pub trait Carrier: Send + Sync + 'static {
    /// The name of the numbering, the same on all instances.
    fn epoch(&self) -> u64;

    /// The newest number that was given out and has come to this instance.
    fn head(&self) -> u64;

    /// Whether there may be other instances. Who stands alone need not say what only they must
    /// hear.
    fn is_shared(&self) -> bool;

    /// Takes a push from this instance's hub and brings it to all, this one included, by
    /// [`Hub::deliver`].
    fn carry(&self, hub: &Hub, topic: TopicName<'_>, text: Text);
}

/// The carrier of a single instance: a counter.
#[derive(Debug)]
pub(crate) struct InProcess {
    epoch: u64,
    head: AtomicU64,
}

impl InProcess {
    pub(crate) fn new(random: &Random) -> InProcess {
        InProcess { epoch: random.next_u64(), head: AtomicU64::new(0) }
    }
}

impl Carrier for InProcess {
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
        // Drawn under the topic's lock, so that numbers grow in the order of the history.
        hub.deliver(topic, || self.head.fetch_add(1, Ordering::Relaxed) + 1, text);
    }
}

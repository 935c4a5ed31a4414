//! The hub itself: channels, the carrier, and the sweeper.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base::{Clock, Random, Tasks};
use parking_lot::RwLock;

use crate::carrier::{Carrier, InProcess};
use crate::channel::{Channel, ChannelSpec, ChannelState, TopicName};
use crate::limits;
use crate::push::Text;
use crate::queue::QueueLimits;
use crate::subscriber::{Deliveries, Subscriber};

/// Realtime of one instance. Clones share it.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    tasks: Tasks,
    carrier: Arc<dyn Carrier>,
    /// Written when rooms open, read by every push.
    channels: RwLock<BTreeMap<&'static str, Arc<ChannelState>>>,
}

impl Hub {
    /// The hub of a house that stands alone.
    pub fn in_process(clock: &Clock, random: &Random, tasks: &Tasks) -> Hub {
        Hub::with_carrier(clock, tasks, Arc::new(InProcess::new(random)))
    }

    /// The hub of one instance among several.
    pub fn with_carrier(clock: &Clock, tasks: &Tasks, carrier: Arc<dyn Carrier>) -> Hub {
        let (clock, tasks) = (clock.clone(), tasks.clone());
        let hub =
            Hub { shared: Arc::new(Shared { clock, tasks, carrier, channels: RwLock::default() }) };
        hub.start_sweeper();
        hub
    }

    /// Opens a channel.
    ///
    /// # Panics
    /// If there is one of that name: two rooms would hear each other.
    pub fn channel(&self, spec: ChannelSpec) -> Channel {
        let name = spec.name;
        let state = Arc::new(ChannelState::new(spec, self.shared.carrier.head()));
        let taken = self.shared.channels.write().insert(name, state.clone());
        assert!(taken.is_none(), "there is already a channel `{name}`");
        Channel { hub: self.clone(), state }
    }

    /// A new subscriber: the room's handle, and the reading end for whoever runs its connection.
    pub fn subscriber(&self, limits: QueueLimits) -> (Subscriber, Deliveries) {
        Subscriber::new(limits, self.shared.carrier.epoch())
    }

    /// The carrier's door: a push with its number, which is asked for in the moment in which the
    /// push gets its place. What comes late or twice, or for a channel that is not here, is
    /// ignored. Called within the runtime, because a large audience is served by a task.
    pub fn deliver(&self, topic: TopicName<'_>, number: impl FnOnce() -> u64, text: Text) {
        let Some(channel) = self.shared.channels.read().get(topic.channel).cloned() else { return };
        let now = self.shared.clock.instant();
        if let Some(topic) = channel.append(topic.topic, number, now, text) {
            topic.serve(&channel, &self.shared.tasks);
        }
    }

    pub(crate) fn carrier(&self) -> &dyn Carrier {
        self.shared.carrier.as_ref()
    }

    fn start_sweeper(&self) {
        let (hub, shutdown) = (Arc::downgrade(&self.shared), self.shared.tasks.shutdown().begun());
        let mut interval = self.shared.clock.interval(limits::SWEEP);
        self.shared.tasks.spawn("hub sweeper", async move {
            tokio::pin!(shutdown);
            loop {
                tokio::select! {
                    biased;
                    () = &mut shutdown => return,
                    () = interval.tick() => {}
                }
                let Some(shared) = hub.upgrade() else { return };
                shared.sweep();
            }
        });
    }
}

impl Shared {
    fn sweep(&self) {
        let channels: Vec<Arc<ChannelState>> = self.channels.read().values().cloned().collect();
        for channel in channels {
            channel.sweep(self.clock.instant());
            let topics = channel.topic_count() as f64;
            metrics::gauge!("nagaya_hub_topics", "channel" => channel.name).set(topics);
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

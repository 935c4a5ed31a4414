//! The hub itself: channels, the carrier, and the sweeper.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Clock, Random, Tasks};
use parking_lot::RwLock;

use crate::carrier::{Carrier, InProcess};
use crate::channel::{Channel, ChannelSpec, ChannelState, TopicName};
use crate::ears::{Ears, Listening};
use crate::limits;
use crate::push::Text;
use crate::queue::QueueLimits;
use crate::subscriber::{Deliveries, Subscriber};

/// A push, as somebody hears who only looks at the house.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overheard {
    /// The channel that it went through.
    pub channel: String,
    /// The topic that it went to.
    pub topic: String,
    /// Its length.
    pub bytes: usize,
}

/// Realtime of one instance. Clones share it.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    /// Tells this instance's words from those of others.
    instance: u64,
    clock: Clock,
    tasks: Tasks,
    carrier: Arc<dyn Carrier>,
    /// Written when rooms open, read by every push.
    channels: RwLock<BTreeMap<&'static str, Arc<ChannelState>>>,
    /// The newest number that came for a channel that was not here yet.
    unheard: AtomicU64,
    ears: Ears<Overheard>,
}

impl Hub {
    /// The hub of a house that stands alone.
    pub fn in_process(clock: &Clock, random: &Random, tasks: &Tasks) -> Hub {
        let carrier = InProcess::new(random);
        Hub::new(carrier.epoch(), clock, tasks, Arc::new(carrier))
    }

    /// The hub of one instance among several.
    pub fn with_carrier(
        clock: &Clock,
        random: &Random,
        tasks: &Tasks,
        carrier: Arc<dyn Carrier>,
    ) -> Hub {
        Hub::new(random.next_u64(), clock, tasks, carrier)
    }

    fn new(instance: u64, clock: &Clock, tasks: &Tasks, carrier: Arc<dyn Carrier>) -> Hub {
        let (clock, tasks) = (clock.clone(), tasks.clone());
        let (channels, unheard) = (RwLock::default(), AtomicU64::new(0));
        let shared =
            Shared { instance, clock, tasks, carrier, channels, unheard, ears: Ears::default() };
        let hub = Hub { shared: Arc::new(shared) };
        hub.start_sweeper();
        hub
    }

    /// Opens a channel.
    ///
    /// # Panics
    /// If there is one of that name: two rooms would hear each other.
    pub fn channel(&self, spec: ChannelSpec) -> Channel {
        let name = spec.name;
        // Under the lock, so that every push comes either to this channel or below its floor.
        let mut channels = self.shared.channels.write();
        let floor = self.shared.unheard.load(Ordering::Relaxed).max(self.shared.carrier.head());
        let state = Arc::new(ChannelState::new(spec, floor));
        let taken = channels.insert(name, state.clone());
        drop(channels);
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
        let channels = self.shared.channels.read();
        let Some(channel) = channels.get(topic.channel).cloned() else {
            self.shared.unheard.fetch_max(number(), Ordering::Relaxed);
            return;
        };
        drop(channels);
        let (channel_name, topic_name, bytes) = (topic.channel, topic.topic, text.as_bytes().len());
        self.shared.ears.tell(|| Overheard {
            channel: channel_name.to_owned(),
            topic: topic_name.to_owned(),
            bytes,
        });
        if let Some(observe) = &channel.observe {
            observe(topic_name, &text);
        }
        let now = self.shared.clock.instant();
        if let Some(topic) = channel.append(topic.topic, number, now, text) {
            topic.serve(&channel, &self.shared.tasks);
        }
    }

    /// The carrier's confession: of the pushes up to this number some may be missing, of any topic.
    /// Who follows one is told of a gap.
    pub fn lose(&self, offset: u64) {
        for channel in self.shared.channels() {
            channel.lose(offset);
        }
    }

    /// The carrier's other confession: it has another epoch than it had, and another head, which
    /// it says already. Every reader is cut off; who comes back where it was is told of a gap.
    pub fn renumber(&self) {
        self.shared.unheard.store(0, Ordering::Relaxed);
        for channel in self.shared.channels() {
            channel.renumber(self.shared.carrier.head());
        }
    }

    /// Listens along to every push that comes to this instance.
    pub fn listen(&self) -> Listening<Overheard> {
        self.shared.ears.listen()
    }

    /// How many subscriptions are open on this instance, over all topics.
    pub fn subscriptions(&self) -> usize {
        self.shared.channels().iter().map(|channel| channel.subscription_count()).sum()
    }

    /// Whether other instances may hear what is published here.
    pub fn is_shared(&self) -> bool {
        self.shared.carrier.is_shared()
    }

    pub(crate) fn instance(&self) -> u64 {
        self.shared.instance
    }

    pub(crate) fn carrier(&self) -> &dyn Carrier {
        self.shared.carrier.as_ref()
    }

    fn start_sweeper(&self) {
        let hub = Arc::downgrade(&self.shared);
        let mut ticks = self.shared.tasks.ticks(&self.shared.clock, limits::SWEEP);
        self.shared.tasks.spawn("hub sweeper", async move {
            while ticks.next().await {
                let Some(shared) = hub.upgrade() else { return };
                shared.sweep();
            }
        });
    }
}

impl Shared {
    fn channels(&self) -> Vec<Arc<ChannelState>> {
        self.channels.read().values().cloned().collect()
    }

    fn sweep(&self) {
        for channel in self.channels() {
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

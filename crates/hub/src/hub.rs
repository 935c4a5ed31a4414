//! The hub: its channels, the carrier, and the sweeper.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Clock, Random, Tasks};
use parking_lot::RwLock;

use crate::carrier::{Carrier, InProcessCarrier};
use crate::channel::{Channel, ChannelSpec, ChannelState, TopicName};
use crate::ears::{Ears, Listening};
use crate::limits;
use crate::push::Text;
use crate::queue::QueueLimits;
use crate::subscriber::{Deliveries, Subscriber};

/// A push, as a listener sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overheard {
    /// The channel of the push.
    pub channel: String,
    /// The topic of the push.
    pub topic: String,
    /// The length of its text.
    pub bytes: usize,
}

/// The realtime hub of one instance. Clones share it.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<HubInner>,
}

struct HubInner {
    /// Distinguishes the news of this instance from that of others.
    instance: u64,
    clock: Clock,
    tasks: Tasks,
    carrier: Arc<dyn Carrier>,
    /// Written when a room opens a channel, read for every push.
    channels: RwLock<BTreeMap<&'static str, Arc<ChannelState>>>,
    /// The highest number of a push for a channel that was not open yet.
    unknown_head: AtomicU64,
    ears: Ears<Overheard>,
}

impl Hub {
    /// The hub of a server with a single instance.
    pub fn in_process(clock: &Clock, random: &Random, tasks: &Tasks) -> Hub {
        let carrier = InProcessCarrier::new(random);
        Hub::new(carrier.epoch(), clock, tasks, Arc::new(carrier))
    }

    /// The hub of one of several instances.
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
        let (channels, unknown_head) = (RwLock::default(), AtomicU64::new(0));
        let inner = HubInner {
            instance,
            clock,
            tasks,
            carrier,
            channels,
            unknown_head,
            ears: Ears::default(),
        };
        let hub = Hub { inner: Arc::new(inner) };
        hub.start_sweeper();
        hub
    }

    /// Opens a channel.
    ///
    /// # Panics
    /// If a channel of that name exists: two rooms would receive each other's pushes.
    pub fn channel(&self, spec: ChannelSpec) -> Channel {
        let name = spec.name;
        // Under the lock, so that every push either reaches this channel or is below its floor.
        let mut channels = self.inner.channels.write();
        let floor = self.inner.unknown_head.load(Ordering::Relaxed).max(self.inner.carrier.head());
        let state = Arc::new(ChannelState::new(spec, floor));
        let taken = channels.insert(name, state.clone());
        drop(channels);
        assert!(taken.is_none(), "there is already a channel `{name}`");
        Channel { hub: self.clone(), state }
    }

    /// A new subscriber: the room keeps the handle, and the connection reads the other end.
    pub fn subscriber(&self, limits: QueueLimits) -> (Subscriber, Deliveries) {
        Subscriber::new(limits, self.inner.carrier.epoch())
    }

    /// Takes a push from the carrier. `number` is called at the moment at which the push gets its
    /// place. Late pushes, repeated pushes and pushes for a closed channel are ignored. Must run
    /// inside the runtime, because a task delivers to a large audience.
    pub fn deliver(&self, topic: TopicName<'_>, number: impl FnOnce() -> u64, text: Text) {
        let channels = self.inner.channels.read();
        let Some(channel) = channels.get(topic.channel).cloned() else {
            self.inner.unknown_head.fetch_max(number(), Ordering::Relaxed);
            return;
        };
        drop(channels);
        let (channel_name, topic_name, bytes) = (topic.channel, topic.topic, text.as_bytes().len());
        self.inner.ears.tell(|| Overheard {
            channel: channel_name.to_owned(),
            topic: topic_name.to_owned(),
            bytes,
        });
        if let Some(observe) = &channel.observe {
            observe(topic_name, &text);
        }
        let now = self.inner.clock.instant();
        if let Some(topic) = channel.append(topic.topic, number, now, text) {
            topic.deliver(&channel, &self.inner.tasks);
        }
    }

    /// Called by the carrier: any pushes up to this number may be lost, in any topic. All
    /// subscribers get a gap.
    pub fn lose(&self, offset: u64) {
        for channel in self.inner.channels() {
            channel.lose(offset);
        }
    }

    /// Called by the carrier after its epoch has changed; its head already belongs to the new
    /// epoch. All subscribers are disconnected, and get a gap when they resume.
    pub fn renumber(&self) {
        self.inner.unknown_head.store(0, Ordering::Relaxed);
        for channel in self.inner.channels() {
            channel.renumber(self.inner.carrier.head());
        }
    }

    /// Listens to every push that arrives at this instance.
    pub fn listen(&self) -> Listening<Overheard> {
        self.inner.ears.listen()
    }

    /// The number of open subscriptions of this instance, over all topics.
    pub fn subscriptions(&self) -> usize {
        self.inner.channels().iter().map(|channel| channel.subscription_count()).sum()
    }

    /// Whether other instances may receive the pushes of this one.
    pub fn is_shared(&self) -> bool {
        self.inner.carrier.is_shared()
    }

    pub(crate) fn instance(&self) -> u64 {
        self.inner.instance
    }

    pub(crate) fn carrier(&self) -> &dyn Carrier {
        self.inner.carrier.as_ref()
    }

    fn start_sweeper(&self) {
        let hub = Arc::downgrade(&self.inner);
        let mut ticks = self.inner.tasks.ticks(&self.inner.clock, limits::SWEEP);
        self.inner.tasks.spawn("hub sweeper", async move {
            while ticks.next().await {
                let Some(inner) = hub.upgrade() else { return };
                inner.sweep();
            }
        });
    }
}

impl HubInner {
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

//! A channel: the topics of one room, with common settings for history and rendering.
//!
//! A topic is created by its first subscriber or its first stored push, and removed when it has no
//! subscriber and no stored push. Each shard keeps the highest offset of its removed topics. A
//! topic that is created again starts there, and reports older positions as gaps.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use base::Monotonic;
use metrics::Counter;
use parking_lot::Mutex;

use crate::hub::Hub;
use crate::limits;
use crate::position::Position;
use crate::push::{Renderer, Text, View};
use crate::queue::OfferResult;
use crate::ring::{History, Ring};
use crate::topic::{RefillResult, Topic, TopicState};

/// The full name of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicName<'a> {
    /// The channel's name.
    pub channel: &'a str,
    /// The name within the channel.
    pub topic: &'a str,
}

/// The settings with which a room opens a channel.
#[derive(Clone)]
pub struct ChannelSpec {
    pub(crate) name: &'static str,
    pub(crate) history: History,
    pub(crate) render: Option<Arc<Renderer>>,
    pub(crate) observe: Option<Arc<Observer>>,
    pub(crate) followed_only: bool,
}

/// An observer of all pushes of a channel on this instance. It gets the topic and the text.
pub(crate) type Observer = dyn Fn(&str, &Text) + Send + Sync;

impl ChannelSpec {
    /// A channel of this name, such as `live.room`, with this history for each topic.
    pub fn new(name: &'static str, history: History) -> ChannelSpec {
        ChannelSpec { name, history, render: None, observe: None, followed_only: false }
    }

    /// Adds an observer. It sees every push that arrives at this instance before any subscriber,
    /// and may see a push twice. It must not call the hub.
    #[must_use]
    pub fn observed(self, observe: impl Fn(&str, &Text) + Send + Sync + 'static) -> ChannelSpec {
        ChannelSpec { observe: Some(Arc::new(observe)), ..self }
    }

    /// Renders pushes once for each view that a subscriber uses. The renderer runs on every
    /// instance, on the published text.
    #[must_use]
    pub fn rendered(
        self,
        render: impl Fn(&Text, View) -> Option<Text> + Send + Sync + 'static,
    ) -> ChannelSpec {
        ChannelSpec { render: Some(Arc::new(render)), ..self }
    }

    /// Creates topics only for subscribers: a push to a topic that is not in memory is not stored,
    /// and a reader that resumes before it gets a gap. For channels with far more topics than
    /// readers.
    #[must_use]
    pub fn followed_only(self) -> ChannelSpec {
        ChannelSpec { followed_only: true, ..self }
    }
}

/// An open channel. Clones refer to the same channel.
#[derive(Clone, Debug)]
pub struct Channel {
    pub(crate) hub: Hub,
    pub(crate) state: Arc<ChannelState>,
}

impl Channel {
    /// Sends a text to all subscribers of the topic, on every instance. The texts of one caller
    /// keep their order. In process, the push has its place in the topic when this returns; over a
    /// broker, it is under way. Publishing never waits for readers.
    pub fn publish(&self, topic: &str, text: impl Into<Text>) {
        self.state.counters.pushes.increment(1);
        let topic = TopicName { channel: self.state.name, topic };
        self.hub.carrier().carry(&self.hub, topic, text.into());
    }

    /// The number of subscribers of the topic on this instance.
    pub fn audience(&self, topic: &str) -> usize {
        let found = self.state.shard(topic).lock().topics.get(topic).cloned();
        found.map_or(0, |topic| topic.state.lock().members.len())
    }

    /// The position after the newest push of the topic's history for which `is_it` is true. `is_it`
    /// gets the published text.
    pub fn find(&self, topic: &str, is_it: impl Fn(&Text) -> bool) -> Option<Position> {
        let found = self.state.shard(topic).lock().topics.get(topic).cloned()?;
        let pushes: Vec<_> = found.state.lock().ring.since_serial(0).cloned().collect();
        let push = pushes.iter().rev().find(|push| is_it(&push.text))?;
        Some(Position { epoch: self.hub.carrier().epoch(), offset: push.offset })
    }

    /// The newest push of the topic's history up to and including a position, as published.
    pub fn push_at(&self, topic: &str, position: Position) -> Option<Text> {
        if position.epoch != self.hub.carrier().epoch() {
            return None;
        }
        let found = self.state.shard(topic).lock().topics.get(topic).cloned()?;
        let state = found.state.lock();
        let pushes = state.ring.since_serial(0).take_while(|push| push.offset <= position.offset);
        pushes.last().map(|push| push.text.clone())
    }

    /// The number of topics in memory.
    pub fn topics(&self) -> usize {
        self.state.topic_count()
    }
}

pub(crate) struct ChannelState {
    pub(crate) name: &'static str,
    pub(crate) render: Option<Arc<Renderer>>,
    pub(crate) observe: Option<Arc<Observer>>,
    pub(crate) counters: Counters,
    history: History,
    /// Whether only subscribers create topics.
    followed_only: bool,
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Shard {
    topics: HashMap<Box<str>, Arc<Topic>>,
    /// The highest offset of any removed topic of this shard.
    forgotten: u64,
}

impl ChannelState {
    /// `floor` is the highest number that was given out before the channel was opened here.
    pub(crate) fn new(spec: ChannelSpec, floor: u64) -> ChannelState {
        let shard = || Mutex::new(Shard { forgotten: floor, ..Shard::default() });
        ChannelState {
            name: spec.name,
            render: spec.render,
            observe: spec.observe,
            counters: Counters::new(spec.name),
            history: spec.history,
            followed_only: spec.followed_only,
            shards: (0..limits::SHARDS).map(|_| shard()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Gives a push its number and its place. Returns the topic if the caller must deliver to its
    /// members.
    pub(crate) fn append(
        &self,
        name: &str,
        number: impl FnOnce() -> u64,
        now: Monotonic,
        text: Text,
    ) -> Option<Arc<Topic>> {
        loop {
            let mut shard = self.shard(name).lock();
            let topic = match shard.topics.get(name) {
                Some(topic) => topic.clone(),
                None if self.followed_only || self.history.is_none() => {
                    shard.forgotten = shard.forgotten.max(number());
                    return None;
                }
                None => shard.make(name, self.history),
            };
            drop(shard);
            let mut state = topic.state.lock();
            if state.removed {
                // The topic was removed between the two locks: look it up again.
                continue;
            }
            let push = state.ring.append(number(), now, text)?;
            let must_deliver = state.enqueue(push);
            drop(state);
            return must_deliver.then_some(topic);
        }
    }

    /// Marks pushes up to this number as possibly lost in every topic, and reports a gap to the
    /// subscribers.
    pub(crate) fn lose(&self, offset: u64) {
        self.each_topic(
            |forgotten| *forgotten = (*forgotten).max(offset),
            |state| {
                if state.ring.lose(offset) {
                    state.mark_lagging();
                }
            },
        );
    }

    /// Restarts the offsets of every topic after `offset` and disconnects all subscribers.
    pub(crate) fn renumber(&self, offset: u64) {
        self.each_topic(
            |forgotten| *forgotten = offset,
            |state| {
                state.ring.renumber(offset);
                state.disconnect_all();
            },
        );
    }

    /// Changes the offset of removed topics first, then every topic. A topic that is created in
    /// between starts with the changed offset.
    fn each_topic(
        &self,
        mut forgotten: impl FnMut(&mut u64),
        mut topic: impl FnMut(&mut TopicState),
    ) {
        for shard in &self.shards {
            let topics: Vec<Arc<Topic>> = {
                let mut shard = shard.lock();
                forgotten(&mut shard.forgotten);
                shard.topics.values().cloned().collect()
            };
            topics.iter().for_each(|each| topic(&mut each.state.lock()));
        }
    }

    /// Calls `join` with the topic, locked; creates the topic if necessary.
    pub(crate) fn join<T>(
        &self,
        name: &str,
        join: impl FnOnce(&Arc<Topic>, &mut TopicState) -> T,
    ) -> T {
        loop {
            let mut shard = self.shard(name).lock();
            let topic = match shard.topics.get(name) {
                Some(topic) => topic.clone(),
                None => shard.make(name, self.history),
            };
            drop(shard);
            let mut state = topic.state.lock();
            if !state.removed {
                return join(&topic, &mut state);
            }
        }
    }

    /// Removes a member from its topic, and the topic too if nothing else needs it.
    pub(crate) fn leave(&self, topic: &Arc<Topic>, key: u64) {
        let mut state = topic.state.lock();
        state.remove(key);
        let idle = state.is_idle();
        drop(state);
        if idle {
            self.shard(&topic.name).lock().forget_if_idle(topic);
        }
    }

    /// Removes history that is too old, and topics that nothing needs.
    pub(crate) fn sweep(&self, now: Monotonic) {
        for shard in &self.shards {
            let topics: Vec<Arc<Topic>> = shard.lock().topics.values().cloned().collect();
            for topic in topics {
                let mut state = topic.state.lock();
                state.ring.trim(now);
                let idle = state.is_idle();
                drop(state);
                if idle {
                    shard.lock().forget_if_idle(&topic);
                }
            }
        }
    }

    pub(crate) fn topic_count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().topics.len()).sum()
    }

    pub(crate) fn subscription_count(&self) -> usize {
        let count = |shard: &Mutex<Shard>| -> usize {
            // No topic lock is taken under a shard lock except to remove the topic, so copy the
            // list first.
            let topics: Vec<Arc<Topic>> = shard.lock().topics.values().cloned().collect();
            topics.iter().map(|topic| topic.state.lock().members.len()).sum()
        };
        self.shards.iter().map(count).sum()
    }

    fn shard(&self, name: &str) -> &Mutex<Shard> {
        let index = self.hasher.hash_one(name) as usize % self.shards.len();
        self.shards.get(index).expect("a remainder is below its divisor")
    }
}

impl Shard {
    fn make(&mut self, name: &str, history: History) -> Arc<Topic> {
        let topic = Arc::new(Topic::new(name, Ring::new(history, self.forgotten)));
        self.topics.insert(name.into(), topic.clone());
        topic
    }

    // The topic is checked again under both locks: a subscriber may have joined meanwhile.
    fn forget_if_idle(&mut self, topic: &Arc<Topic>) {
        let mut state = topic.state.lock();
        if state.is_idle() && !state.removed {
            state.removed = true;
            self.forgotten = self.forgotten.max(state.ring.head());
            self.topics.remove(&topic.name);
        }
    }
}

impl fmt::Debug for ChannelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The metrics of a channel.
pub(crate) struct Counters {
    pub(crate) pushes: Counter,
    delivered: Counter,
    deferred: Counter,
    missed: Counter,
}

impl Counters {
    fn new(channel: &'static str) -> Counters {
        Counters {
            pushes: metrics::counter!("nagaya_hub_pushes_total", "channel" => channel),
            delivered: metrics::counter!("nagaya_hub_deliveries_total", "channel" => channel),
            deferred: metrics::counter!("nagaya_hub_deferred_total", "channel" => channel),
            missed: metrics::counter!("nagaya_hub_missed_total", "channel" => channel),
        }
    }

    /// Counts one slice of a delivery.
    pub(crate) fn count(&self, offered: OfferResult) {
        self.delivered.increment(offered.delivered);
        self.deferred.increment(offered.refused);
        self.missed.increment(offered.dropped);
    }

    /// Counts the pushes that one reader got from history, and those that history no longer has.
    pub(crate) fn count_refill(&self, refill: RefillResult) {
        self.delivered.increment(refill.delivered);
        self.missed.increment(refill.missed);
    }
}

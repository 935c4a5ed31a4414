//! A channel: a family of topics that one room owns, with the same history and the same forms.
//!
//! Topics are made by their first subscriber or their first kept push, and are gone when nobody
//! follows them and nothing is kept. Where the numbers of forgotten topics ended is remembered for
//! each shard, so that a topic that comes back knows below which offset it cannot vouch for
//! anything.

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
use crate::push::{Render, Text, View};
use crate::queue::Offered;
use crate::ring::{History, Ring};
use crate::topic::{Refill, State, Topic};

/// One topic's full name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicName<'a> {
    /// The channel's name.
    pub channel: &'a str,
    /// The name within the channel.
    pub topic: &'a str,
}

/// What a room says about a channel when it opens it.
#[derive(Clone)]
pub struct ChannelSpec {
    pub(crate) name: &'static str,
    pub(crate) history: History,
    pub(crate) render: Option<Arc<Render>>,
    pub(crate) observe: Option<Arc<Observe>>,
    pub(crate) followed_only: bool,
}

/// Sees every push of a channel that comes to this instance: its topic and its text.
pub(crate) type Observe = dyn Fn(&str, &Text) + Send + Sync;

impl ChannelSpec {
    /// A channel of this name, such as `live.room`, that keeps this much of each topic.
    pub fn new(name: &'static str, history: History) -> ChannelSpec {
        ChannelSpec { name, history, render: None, observe: None, followed_only: false }
    }

    /// With an observer: it sees every push of every instance that comes to this one, before any
    /// subscriber can have it, maybe twice. It must not come back to the hub.
    #[must_use]
    pub fn observed(self, observe: impl Fn(&str, &Text) + Send + Sync + 'static) -> ChannelSpec {
        ChannelSpec { observe: Some(Arc::new(observe)), ..self }
    }

    /// With pushes that are rendered once for each view that somebody asks for. It runs in every
    /// instance, on the text as it was published.
    #[must_use]
    pub fn rendered(
        self,
        render: impl Fn(&Text, View) -> Option<Text> + Send + Sync + 'static,
    ) -> ChannelSpec {
        ChannelSpec { render: Some(Arc::new(render)), ..self }
    }

    /// With topics that followers alone make: a push to a topic that is not in memory is kept
    /// nowhere, and who resumes behind it is told of a gap. For channels whose topics are far more
    /// than their readers.
    #[must_use]
    pub fn followed_only(self) -> ChannelSpec {
        ChannelSpec { followed_only: true, ..self }
    }
}

/// A room's own channel. Clones share it.
#[derive(Clone, Debug)]
pub struct Channel {
    pub(crate) hub: Hub,
    pub(crate) state: Arc<ChannelState>,
}

impl Channel {
    /// Pushes a text to everyone who follows the topic, on every instance. Texts of one caller keep
    /// their order. In process the push has its place when this returns; over a broker it is on its
    /// way there. Who reads is never waited for.
    pub fn publish(&self, topic: &str, text: impl Into<Text>) {
        self.state.counters.pushes.increment(1);
        let topic = TopicName { channel: self.state.name, topic };
        self.hub.carrier().carry(&self.hub, topic, text.into());
    }

    /// How many follow the topic on this instance.
    pub fn audience(&self, topic: &str) -> usize {
        let found = self.state.shard(topic).lock().topics.get(topic).cloned();
        found.map_or(0, |topic| topic.state.lock().members.len())
    }

    /// Behind the newest push of the topic's history, as it was published, that `is_it` knows.
    pub fn find(&self, topic: &str, is_it: impl Fn(&Text) -> bool) -> Option<Position> {
        let found = self.state.shard(topic).lock().topics.get(topic).cloned()?;
        let pushes: Vec<_> = found.state.lock().ring.since_serial(0).cloned().collect();
        let push = pushes.iter().rev().find(|push| is_it(&push.text))?;
        Some(Position { epoch: self.hub.carrier().epoch(), offset: push.offset })
    }

    /// The newest push of the topic's history that is not behind a position, as it was published.
    pub fn push_at(&self, topic: &str, position: Position) -> Option<Text> {
        if position.epoch != self.hub.carrier().epoch() {
            return None;
        }
        let found = self.state.shard(topic).lock().topics.get(topic).cloned()?;
        let state = found.state.lock();
        let pushes = state.ring.since_serial(0).take_while(|push| push.offset <= position.offset);
        pushes.last().map(|push| push.text.clone())
    }

    /// How many topics are held in memory.
    pub fn topics(&self) -> usize {
        self.state.topic_count()
    }
}

pub(crate) struct ChannelState {
    pub(crate) name: &'static str,
    pub(crate) render: Option<Arc<Render>>,
    pub(crate) observe: Option<Arc<Observe>>,
    pub(crate) counters: Counters,
    history: History,
    /// Whether pushes make no topics.
    followed_only: bool,
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Shard {
    topics: HashMap<Box<str>, Arc<Topic>>,
    /// The newest offset of any topic that was here and is forgotten.
    forgotten: u64,
}

impl ChannelState {
    /// `floor` is the newest number given out before the channel was here to listen.
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

    /// Gives a push its number and its place; the topic, if its members must be served.
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
                continue;
            }
            let push = state.ring.append(number(), now, text)?;
            let must_serve = state.enqueue(push);
            drop(state);
            return must_serve.then_some(topic);
        }
    }

    /// Notes that every topic may miss pushes up to this number, and tells who follows.
    pub(crate) fn lose(&self, offset: u64) {
        self.each_topic(
            |forgotten| *forgotten = (*forgotten).max(offset),
            |state| {
                if state.ring.lose(offset) {
                    state.tell_behind();
                }
            },
        );
    }

    /// Begins anew behind this number of another numbering, and cuts off who follows.
    pub(crate) fn renumber(&self, offset: u64) {
        self.each_topic(
            |forgotten| *forgotten = offset,
            |state| {
                state.ring.renumber(offset);
                state.cut_off();
            },
        );
    }

    /// Changes where the numbers of forgotten topics end, then every topic: one that is made
    /// meanwhile begins with the changed end.
    fn each_topic(&self, mut forgotten: impl FnMut(&mut u64), mut topic: impl FnMut(&mut State)) {
        for shard in &self.shards {
            let topics: Vec<Arc<Topic>> = {
                let mut shard = shard.lock();
                forgotten(&mut shard.forgotten);
                shard.topics.values().cloned().collect()
            };
            topics.iter().for_each(|each| topic(&mut each.state.lock()));
        }
    }

    /// Lets `join` see the topic under its lock, making the topic if there is none.
    pub(crate) fn join<T>(&self, name: &str, join: impl FnOnce(&Arc<Topic>, &mut State) -> T) -> T {
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

    /// Takes a member off its topic, and the topic away when that was the last reason for it.
    pub(crate) fn leave(&self, topic: &Arc<Topic>, key: u64) {
        let mut state = topic.state.lock();
        state.remove(key);
        let idle = state.is_idle();
        drop(state);
        if idle {
            self.shard(&topic.name).lock().forget_if_idle(topic);
        }
    }

    /// Lets go of history past its age and of topics that nobody needs.
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
            // A topic is locked under its shard nowhere else, so not here either.
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

/// What a channel has done, for `/metrics`.
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

    /// One slice of a walk.
    pub(crate) fn count(&self, offered: Offered) {
        self.delivered.increment(offered.delivered);
        self.deferred.increment(offered.refused);
        self.missed.increment(offered.dropped);
    }

    /// What one reader got from history, or not any more.
    pub(crate) fn count_refill(&self, refill: Refill) {
        self.delivered.increment(refill.delivered);
        self.missed.increment(refill.missed);
    }
}

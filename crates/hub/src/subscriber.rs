//! One subscriber: many topics, one queue. The room holds [`Subscriber`], whoever runs the
//! connection reads [`Deliveries`]; when that is dropped, every topic is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use crate::channel::{Channel, ChannelState};
use crate::limits::TOPIC_BYTES_MAX;
use crate::push::{Envelope, Text, View};
use crate::queue::{
    Closed, Policy, Queue, QueueLimits, Queued, Slot, State, Subscription, Waiting,
};
use crate::ring::Ring;
use crate::topic::{Member, Topic};
use crate::{Error, Position};

/// Keys of subscriptions, each drawn under its topic's lock, so that members are sorted by them.
static KEYS: AtomicU64 = AtomicU64::new(1);

/// The room's handle on a subscriber. Clones share it.
#[derive(Clone, Debug)]
pub struct Subscriber {
    queue: Arc<Queue>,
    epoch: u64,
}

/// How to follow a topic. `Follow::default()` is: from now on, as it is published, catching up
/// when slow.
#[derive(Clone, Debug, Default)]
pub struct Follow {
    /// Where to begin.
    pub since: Since,
    /// What happens when the reader is slow.
    pub policy: Policy,
    /// Which form of the pushes.
    pub view: View,
    /// What stands around each push.
    pub envelope: Option<Envelope>,
}

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// With what is published from now on.
    #[default]
    Now,
    /// With the oldest push that history has.
    Oldest,
    /// Behind a position. If history does not reach there, from now on, and the gap is told.
    After(Position),
}

/// How a subscription began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Names it.
    pub subscription: Subscription,
    /// Behind the newest push of the topic in that moment: everything later will come.
    pub position: Position,
    /// Whether pushes between the asked position and the beginning are lost.
    pub gap: bool,
}

/// What a reader gets.
#[derive(Clone, Debug)]
pub enum Item {
    /// A push.
    Push {
        /// Of which subscription.
        subscription: Subscription,
        /// Behind it: where to resume once it has arrived.
        position: Position,
        /// The push.
        text: Text,
        /// What stands around it.
        envelope: Option<Arc<Envelope>>,
    },
    /// Some pushes of a subscription are lost.
    Gap(Gap),
    /// What the room sent to this subscriber alone.
    Reply(Text),
}

/// Pushes that a reader will not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Of which subscription.
    pub subscription: Subscription,
    /// Behind the last push before the gap.
    pub after: Position,
    /// Behind the last push in the gap: where the rest goes on.
    pub until: Position,
    /// How many there were.
    pub missed: u64,
}

impl Subscriber {
    pub(crate) fn new(limits: QueueLimits, epoch: u64) -> (Subscriber, Deliveries) {
        let queue = Arc::new(Queue::new(limits));
        metrics::gauge!("nagaya_hub_subscribers").increment(1.0);
        (Subscriber { queue: queue.clone(), epoch }, Deliveries { queue, epoch })
    }

    /// Follows a topic. `greet` makes a reply that stands before the first push of the topic; it
    /// runs under locks and must not come back to the hub.
    ///
    /// # Errors
    /// It follows too many topics, the name is too long, or nobody reads any more.
    pub fn follow(
        &self,
        channel: &Channel,
        topic: &str,
        follow: Follow,
        greet: impl FnOnce(&Joined) -> Option<Text>,
    ) -> Result<Joined, Error> {
        if topic.len() > TOPIC_BYTES_MAX {
            return Err(Error::TopicTooLong { bytes: topic.len(), max: TOPIC_BYTES_MAX });
        }
        channel.state.join(topic, |topic, state| {
            // A subscriber of an earlier numbering must come back as one of this.
            if self.epoch != channel.hub.carrier().epoch() {
                self.queue.with(|state| state.close(Closed::Renumbered));
                return Err(Error::Closed);
            }
            let newest = channel.hub.carrier().head();
            let begin = Begin::new(&state.ring, follow.since, self.epoch, newest);
            let view = follow.view;
            // Under the topic's lock, so that members are sorted by their keys.
            let key = KEYS.fetch_add(1, Ordering::Relaxed);
            let slot = Slot {
                key,
                channel: channel.state.clone(),
                topic: topic.clone(),
                policy: follow.policy,
                view,
                envelope: follow.envelope.filter(|e| !e.is_empty()).map(Arc::new),
                next: begin.next,
                refused_until: state.ring.next_serial(),
                taken: begin.taken,
                dropped: 0,
                dropped_until: 0,
            };
            let position = Position { epoch: self.epoch, offset: state.ring.head() };
            let joined = self.queue.enter(slot, |subscription| {
                let joined = Joined { subscription, position, gap: begin.gap };
                (greet(&joined), joined)
            })?;
            let subscription = joined.subscription;
            state.add(Member { subscription, view, queue: self.queue.clone() });
            Ok(joined)
        })
    }

    /// Stops following. Nothing of it is read after this returns; one that is not followed any
    /// more is left alone.
    pub fn leave(&self, subscription: Subscription) {
        if let Some(slot) = self.queue.with(|state| state.remove(subscription)) {
            slot.channel.leave(&slot.topic, slot.key);
        }
    }

    /// Sends a text to this subscriber alone, in its place among the pushes.
    ///
    /// # Errors
    /// Nobody reads any more, or what waits is too much: then the reader is cut off.
    pub fn send(&self, text: impl Into<Text>) -> Result<(), Error> {
        self.queue.reply(text.into()).map_err(|_| Error::Closed)
    }

    /// Ends the reading once what waits is read.
    pub fn close(&self) {
        self.queue.with(|state| state.close(Closed::Asked));
    }
}

/// Where a subscription begins in its topic's history.
struct Begin {
    next: u64,
    taken: u64,
    gap: bool,
}

impl Begin {
    fn new(ring: &Ring, since: Since, epoch: u64, newest: u64) -> Begin {
        let now = Begin { next: ring.next_serial(), taken: ring.head(), gap: false };
        match since {
            Since::Now => now,
            Since::Oldest => Begin { next: ring.first_serial(), taken: ring.floor(), gap: false },
            Since::After(position) => {
                let found = ring.find_serial_after(position.offset, newest);
                match found.filter(|_| position.epoch == epoch) {
                    Some(next) => Begin { next, taken: position.offset, gap: false },
                    None => Begin { gap: true, ..now },
                }
            }
        }
    }
}

/// The reading end of a subscriber.
#[derive(Debug)]
pub struct Deliveries {
    queue: Arc<Queue>,
    epoch: u64,
}

impl Deliveries {
    /// Takes what waits into `items`, about `bytes_max` of it, and at least one item.
    ///
    /// # Errors
    /// The subscriber is closed and everything read.
    pub fn poll_take(
        &mut self,
        context: &mut Context<'_>,
        bytes_max: usize,
        items: &mut Vec<Item>,
    ) -> Poll<Result<(), Closed>> {
        loop {
            let behind = self.queue.with_reader(|state| {
                if take(state, self.epoch, bytes_max, items) {
                    return Poll::Ready(Ok(Vec::new()));
                }
                if let Some(closed) = state.closed {
                    return Poll::Ready(Err(closed));
                }
                let behind = list_behind(state);
                if behind.is_empty() {
                    state.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(Ok(behind))
            });
            match behind {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(closed)) => return Poll::Ready(Err(closed)),
                Poll::Ready(Ok(behind)) if behind.is_empty() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(behind)) => self.catch_up(behind),
            }
        }
    }

    /// Ready when [`Deliveries::poll_take`] would be; how much there is to take.
    pub fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<Waiting> {
        self.queue.poll_waiting(context)
    }

    /// Waits for [`Deliveries::poll_take`].
    ///
    /// # Errors
    /// The subscriber is closed and everything read.
    pub async fn take(&mut self, bytes_max: usize) -> Result<Vec<Item>, Closed> {
        let mut items = Vec::new();
        let taken = std::future::poll_fn(|cx| self.poll_take(cx, bytes_max, &mut items)).await;
        taken.map(|()| items)
    }

    /// Where each subscription stands after what was taken, in the order in which they began.
    pub fn positions(&self) -> Vec<Standing> {
        self.queue.with(|state| {
            let mut list: Vec<(u64, Standing)> = Vec::new();
            for (index, slot) in state.slots.iter().enumerate() {
                let Some(slot) = slot else { continue };
                let standing = Standing {
                    subscription: Subscription { slot: index, key: slot.key },
                    channel: slot.channel.name,
                    topic: slot.topic.name.to_string(),
                    position: Position { epoch: self.epoch, offset: slot.taken },
                };
                list.push((slot.key, standing));
            }
            list.sort_by_key(|(key, _)| *key);
            list.into_iter().map(|(_, standing)| standing).collect()
        })
    }

    fn catch_up(&self, behind: Vec<Behind>) {
        for Behind { subscription, next, channel, topic } in behind {
            let refill = topic.refill(&self.queue, subscription, next);
            channel.counters.count_refill(refill);
        }
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        let slots = self.queue.with(|state| {
            state.close(Closed::Gone);
            std::mem::take(&mut state.slots)
        });
        for slot in slots.into_iter().flatten() {
            slot.channel.leave(&slot.topic, slot.key);
        }
        metrics::gauge!("nagaya_hub_subscribers").decrement(1.0);
    }
}

/// Where one subscription stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Names it.
    pub subscription: Subscription,
    /// The channel's name.
    pub channel: &'static str,
    /// The topic's name.
    pub topic: String,
    /// Where to resume.
    pub position: Position,
}

/// A subscription that must catch up.
struct Behind {
    subscription: Subscription,
    next: u64,
    channel: Arc<ChannelState>,
    topic: Arc<Topic>,
}

fn list_behind(state: &State) -> Vec<Behind> {
    let slots = state.slots.iter().enumerate();
    let slots = slots.filter_map(|(index, slot)| Some((index, slot.as_ref()?)));
    slots
        .filter(|(_, slot)| slot.is_behind())
        .map(|(index, slot)| Behind {
            subscription: Subscription { slot: index, key: slot.key },
            next: slot.next,
            channel: slot.channel.clone(),
            topic: slot.topic.clone(),
        })
        .collect()
}

/// Moves what waits into `items`; whether there was anything.
fn take(state: &mut State, epoch: u64, bytes_max: usize, items: &mut Vec<Item>) -> bool {
    let (mut bytes, mut any) = (0, false);
    while bytes < bytes_max {
        let Some(queued) = state.pop() else { break };
        any = true;
        match queued {
            Queued::Reply(text) => {
                bytes += text.len();
                items.push(Item::Reply(text));
            }
            Queued::Gap { slot: index, missed, until } => {
                let Some(Some(slot)) = state.slots.get_mut(index) else { continue };
                slot.dropped += missed;
                slot.dropped_until = until;
                items.push(Item::Gap(slot.take_gap(index, epoch)));
            }
            Queued::Push { slot: index, offset, text } => {
                let Some(Some(slot)) = state.slots.get_mut(index) else { continue };
                if slot.dropped > 0 {
                    items.push(Item::Gap(slot.take_gap(index, epoch)));
                }
                slot.taken = offset;
                bytes += text.len();
                items.push(Item::Push {
                    subscription: Subscription { slot: index, key: slot.key },
                    position: Position { epoch, offset },
                    text,
                    envelope: slot.envelope.clone(),
                });
            }
        }
    }
    any
}

impl Slot {
    fn take_gap(&mut self, index: usize, epoch: u64) -> Gap {
        let after = std::mem::replace(&mut self.taken, self.dropped_until);
        Gap {
            subscription: Subscription { slot: index, key: self.key },
            after: Position { epoch, offset: after },
            until: Position { epoch, offset: self.dropped_until },
            missed: std::mem::take(&mut self.dropped),
        }
    }
}

//! A subscriber: many topics, one queue. The room holds [`Subscriber`], and the connection reads
//! [`Deliveries`]; dropping the latter leaves every topic.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use crate::channel::{Channel, ChannelState};
use crate::limits::TOPIC_BYTES_MAX;
use crate::push::{Envelope, Text, View};
use crate::queue::{
    Closed, Policy, Queue, QueueItem, QueueLimits, QueueSlot, QueueState, Subscription, Waiting,
};
use crate::ring::Ring;
use crate::topic::{Member, Topic};
use crate::{Error, Position};

/// Keys of subscriptions. Each is drawn under its topic's lock, so that the members of a topic are
/// sorted by key.
static KEYS: AtomicU64 = AtomicU64::new(1);

/// The room's handle of a subscriber. Clones share the queue.
#[derive(Clone, Debug)]
pub struct Subscriber {
    queue: Arc<Queue>,
    epoch: u64,
}

/// How to follow a topic. `Follow::default()` follows from now on, gets pushes as published, and
/// catches up when slow.
#[derive(Clone, Debug, Default)]
pub struct Follow {
    /// Where to start.
    pub since: Since,
    /// What happens when the reader is slow.
    pub policy: Policy,
    /// The form of the pushes.
    pub view: View,
    /// The text around each push.
    pub envelope: Option<Envelope>,
}

/// Where a subscription starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// With the next published push.
    #[default]
    Now,
    /// With the oldest push of the history.
    Oldest,
    /// After a position. If history does not reach back that far, from now on, with a gap.
    After(Position),
}

/// The start of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The subscription.
    pub subscription: Subscription,
    /// The position after the newest push of the topic at that moment: all later pushes will
    /// follow.
    pub position: Position,
    /// Whether pushes between the requested position and the start are lost.
    pub gap: bool,
}

/// What a reader gets.
#[derive(Clone, Debug)]
pub enum Item {
    /// A push.
    Push {
        /// Its subscription.
        subscription: Subscription,
        /// The position after it: resume here once it has arrived.
        position: Position,
        /// The text.
        text: Text,
        /// The text around it.
        envelope: Option<Arc<Envelope>>,
    },
    /// Some pushes of a subscription are lost.
    Gap(Gap),
    /// A text that the room sent to this subscriber alone.
    Reply(Text),
}

/// Pushes that a reader will not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The subscription.
    pub subscription: Subscription,
    /// The position after the last push before the gap.
    pub after: Position,
    /// The position after the last push in the gap: the next push follows here.
    pub until: Position,
    /// The number of lost pushes.
    pub missed: u64,
}

impl Subscriber {
    pub(crate) fn new(limits: QueueLimits, epoch: u64) -> (Subscriber, Deliveries) {
        let queue = Arc::new(Queue::new(limits));
        metrics::gauge!("nagaya_hub_subscribers").increment(1.0);
        (Subscriber { queue: queue.clone(), epoch }, Deliveries { queue, epoch })
    }

    /// Follows a topic. `greet` returns a reply that comes before the first push of the topic. It
    /// runs under locks and must not call the hub.
    ///
    /// # Errors
    /// The subscriber follows too many topics, the name is too long, or the reading end is closed.
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
            // A subscriber of an earlier numbering must be replaced by a new one.
            if self.epoch != channel.hub.carrier().epoch() {
                self.queue.with(|state| state.close(Closed::Renumbered));
                return Err(Error::Closed);
            }
            let newest = channel.hub.carrier().head();
            let start = StartPoint::new(&state.ring, follow.since, self.epoch, newest);
            let view = follow.view;
            // Under the topic's lock, so that members are sorted by key.
            let key = KEYS.fetch_add(1, Ordering::Relaxed);
            let slot = QueueSlot {
                key,
                channel: channel.state.clone(),
                topic: topic.clone(),
                policy: follow.policy,
                view,
                envelope: follow.envelope.filter(|e| !e.is_empty()).map(Arc::new),
                next: start.next,
                refused_until: state.ring.next_serial(),
                taken: start.taken,
                dropped: 0,
                dropped_until: 0,
            };
            let position = Position { epoch: self.epoch, offset: state.ring.head() };
            let joined = self.queue.enter(slot, |subscription| {
                let joined = Joined { subscription, position, gap: start.gap };
                (greet(&joined), joined)
            })?;
            let subscription = joined.subscription;
            state.add(Member { subscription, view, queue: self.queue.clone() });
            Ok(joined)
        })
    }

    /// Stops following. The reader gets nothing of it after this returns. Does nothing for a
    /// subscription that has ended.
    pub fn leave(&self, subscription: Subscription) {
        if let Some(slot) = self.queue.with(|state| state.remove(subscription)) {
            slot.channel.leave(&slot.topic, slot.key);
        }
    }

    /// Sends a text to this subscriber alone, in its place among the pushes.
    ///
    /// # Errors
    /// The reading end is closed, or the queue is full; a full queue disconnects the reader.
    pub fn send(&self, text: impl Into<Text>) -> Result<(), Error> {
        self.queue.reply(text.into()).map_err(|_| Error::Closed)
    }

    /// Closes the queue. The reader still gets the waiting items.
    pub fn close(&self) {
        self.queue.with(|state| state.close(Closed::Asked));
    }
}

/// Where a subscription starts in the history of its topic.
struct StartPoint {
    next: u64,
    taken: u64,
    gap: bool,
}

impl StartPoint {
    fn new(ring: &Ring, since: Since, epoch: u64, newest: u64) -> StartPoint {
        let now = StartPoint { next: ring.next_serial(), taken: ring.head(), gap: false };
        match since {
            Since::Now => now,
            Since::Oldest => {
                StartPoint { next: ring.first_serial(), taken: ring.floor(), gap: false }
            }
            Since::After(position) => {
                let found = ring.find_serial_after(position.offset, newest);
                match found.filter(|_| position.epoch == epoch) {
                    Some(next) => StartPoint { next, taken: position.offset, gap: false },
                    None => StartPoint { gap: true, ..now },
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
    /// Takes the waiting items into `items`, about `bytes_max` of them, and at least one item.
    ///
    /// # Errors
    /// The queue is closed and empty.
    pub fn poll_take(
        &mut self,
        context: &mut Context<'_>,
        bytes_max: usize,
        items: &mut Vec<Item>,
    ) -> Poll<Result<(), Closed>> {
        // Catching up takes the topic's lock, so it runs outside the queue's lock.
        loop {
            let lagging = self.queue.with_reader(|state| {
                if take(state, self.epoch, bytes_max, items) {
                    return Poll::Ready(Ok(Vec::new()));
                }
                if let Some(closed) = state.closed {
                    return Poll::Ready(Err(closed));
                }
                let lagging = list_lagging(state);
                if lagging.is_empty() {
                    state.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(Ok(lagging))
            });
            match lagging {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(closed)) => return Poll::Ready(Err(closed)),
                Poll::Ready(Ok(lagging)) if lagging.is_empty() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(lagging)) => self.catch_up(lagging),
            }
        }
    }

    /// Ready when [`Deliveries::poll_take`] would be; returns how full the queue is.
    pub fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<Waiting> {
        self.queue.poll_waiting(context)
    }

    /// Waits for [`Deliveries::poll_take`].
    ///
    /// # Errors
    /// The queue is closed and empty.
    pub async fn take(&mut self, bytes_max: usize) -> Result<Vec<Item>, Closed> {
        let mut items = Vec::new();
        let taken = std::future::poll_fn(|cx| self.poll_take(cx, bytes_max, &mut items)).await;
        taken.map(|()| items)
    }

    /// The position of each subscription after the taken items, in the order in which they started.
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

    fn catch_up(&self, lagging: Vec<LaggingSubscription>) {
        for LaggingSubscription { subscription, next, channel, topic } in lagging {
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

/// The position of one subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The subscription.
    pub subscription: Subscription,
    /// The channel's name.
    pub channel: &'static str,
    /// The topic's name.
    pub topic: String,
    /// The position to resume from.
    pub position: Position,
}

/// A subscription that must catch up.
struct LaggingSubscription {
    subscription: Subscription,
    next: u64,
    channel: Arc<ChannelState>,
    topic: Arc<Topic>,
}

fn list_lagging(state: &QueueState) -> Vec<LaggingSubscription> {
    let slots = state.slots.iter().enumerate();
    let slots = slots.filter_map(|(index, slot)| Some((index, slot.as_ref()?)));
    slots
        .filter(|(_, slot)| slot.is_lagging())
        .map(|(index, slot)| LaggingSubscription {
            subscription: Subscription { slot: index, key: slot.key },
            next: slot.next,
            channel: slot.channel.clone(),
            topic: slot.topic.clone(),
        })
        .collect()
}

/// Moves the waiting items into `items`; returns whether there were any.
fn take(state: &mut QueueState, epoch: u64, bytes_max: usize, items: &mut Vec<Item>) -> bool {
    let (mut bytes, mut any) = (0, false);
    while bytes < bytes_max {
        let Some(queued) = state.pop() else { break };
        any = true;
        match queued {
            QueueItem::Reply(text) => {
                bytes += text.len();
                items.push(Item::Reply(text));
            }
            QueueItem::Gap { slot: index, missed, until } => {
                let Some(Some(slot)) = state.slots.get_mut(index) else { continue };
                slot.dropped += missed;
                slot.dropped_until = until;
                items.push(Item::Gap(slot.take_gap(index, epoch)));
            }
            QueueItem::Push { slot: index, offset, text } => {
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

impl QueueSlot {
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

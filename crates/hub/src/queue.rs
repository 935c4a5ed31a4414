//! What waits for one reader: bounded by count and bytes, whatever the topics do.
//!
//! Invariants, for each subscription:
//! - pushes enter in the order of their serials, without a hole: one that does not follow the last
//!   is refused, and its subscription is *behind* until the reader has caught up from history;
//! - what cannot be had any more is told as a gap, in its place among the pushes;
//! - a reply is never dropped: if it does not fit, the reader is cut off.
//!
//! A reader *drains* while it looks at its queue: one that waits for its socket does not look. What a
//! reader that drains has been refused, history holds for a moment (`topic.rs`), so that it does not
//! miss what it had no turn to take.
//!
//! A queue that is empty takes anything, so that a push above the bound does not wait for ever.
//! Locks: a queue's may be taken while a topic's is held, never the other way round.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use base::Monotonic;
use parking_lot::Mutex;

use crate::Error;
use crate::channel::ChannelState;
use crate::limits::{GRACE, SUBSCRIPTIONS_MAX};
use crate::push::{Envelope, Push, Text, View};
use crate::topic::Topic;

/// What may wait for one reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Pushes and replies.
    pub pushes: usize,
    /// Their bytes, each counted as if it were not shared.
    pub bytes: usize,
}

/// What happens to a push when its reader's queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// It is left to history. When the reader has read what waits, it catches up from there; what
    /// history has lost by then is told as a gap, with the position to resume from by other means.
    #[default]
    CatchUp,
    /// The subscription's oldest waiting push makes room and is told as a gap. For values of which
    /// the newest matters.
    DropOldest,
    /// The reader is cut off, and may come back and resume.
    Disconnect,
}

/// How much waits for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Something. A moment later there may be more, and one write takes it all.
    Some,
    /// Half of what its queue holds, or more than that: a reader that goes on now has room for what
    /// comes, and one that waits for more may miss it.
    Much,
}

/// Why a queue is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The room asked for it.
    #[error("the room closed it")]
    Asked,
    /// The reader was too slow.
    #[error("the reader was too slow")]
    TooSlow,
    /// The carrier's numbering began anew: the reader may come back, and is told of the gap.
    #[error("pushes are numbered anew")]
    Renumbered,
    /// The reader is gone.
    #[error("the reader is gone")]
    Gone,
}

/// Names a subscription within its subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subscription {
    pub(crate) slot: usize,
    pub(crate) key: u64,
}

#[derive(Debug)]
pub(crate) struct Queue {
    limits: QueueLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) items: VecDeque<Queued>,
    pub(crate) bytes: usize,
    pub(crate) slots: Vec<Option<Slot>>,
    pub(crate) waker: Option<Waker>,
    pub(crate) closed: Option<Closed>,
    /// Whether the reader has looked since a push was refused last.
    pub(crate) has_looked: bool,
    /// The time of the refused push that found that it had.
    looked_at: Option<Monotonic>,
}

/// One subscription as its reader knows it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) key: u64,
    pub(crate) channel: Arc<ChannelState>,
    pub(crate) topic: Arc<Topic>,
    pub(crate) policy: Policy,
    pub(crate) view: View,
    pub(crate) envelope: Option<Arc<Envelope>>,
    /// The serial that comes next.
    pub(crate) next: u64,
    /// Behind the newest serial that was refused: the subscription is behind while `next` is less.
    pub(crate) refused_until: u64,
    /// The offset of what the reader has taken last.
    pub(crate) taken: u64,
    /// Pushes that made room since the last one taken.
    pub(crate) dropped: u64,
    /// The offset of the last of them.
    pub(crate) dropped_until: u64,
}

impl Slot {
    pub(crate) fn is_behind(&self) -> bool {
        self.next < self.refused_until
    }
}

#[derive(Debug)]
pub(crate) enum Queued {
    Push { slot: usize, offset: u64, text: Text },
    Gap { slot: usize, missed: u64, until: u64 },
    Reply(Text),
}

/// What became of a batch at one member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offered {
    pub(crate) delivered: u64,
    pub(crate) refused: u64,
    pub(crate) dropped: u64,
    /// The first serial that a reader that drains was refused.
    pub(crate) needed: Option<u64>,
}

impl Offered {
    pub(crate) fn add(&mut self, other: Offered) {
        self.delivered += other.delivered;
        self.refused += other.refused;
        self.dropped += other.dropped;
        self.needed = first_of(self.needed, other.needed);
    }
}

/// The lesser of two serials, where there are two.
pub(crate) fn first_of(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

impl Queue {
    pub(crate) fn new(limits: QueueLimits) -> Queue {
        Queue { limits, state: Mutex::default() }
    }

    /// For callers that hold their topic's lock or none.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let result = change(&mut state);
        let waker = state.take_waker_if_due();
        drop(state);
        // A waker may run what locks this queue.
        if let Some(waker) = waker {
            waker.wake();
        }
        result
    }

    /// For the reader itself, which is not woken by what it does.
    pub(crate) fn with_reader<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        state.has_looked = true;
        change(&mut state)
    }

    /// What waits, if anything does; else the reader is woken when it does.
    pub(crate) fn poll_waiting(&self, context: &mut Context<'_>) -> Poll<Waiting> {
        self.with_reader(|state| {
            if !state.is_due() {
                state.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(if state.is_crowded(&self.limits) { Waiting::Much } else { Waiting::Some })
        })
    }

    /// Lets a subscription in, behind the greeting that `greet` makes for it.
    pub(crate) fn enter<T>(
        &self,
        slot: Slot,
        greet: impl FnOnce(Subscription) -> (Option<Text>, T),
    ) -> Result<T, Error> {
        self.with(|state| {
            if state.closed.is_some() {
                return Err(Error::Closed);
            }
            let free = state.slots.iter().position(Option::is_none);
            let index = free.unwrap_or(state.slots.len());
            if index >= SUBSCRIPTIONS_MAX {
                return Err(Error::TooManySubscriptions { max: SUBSCRIPTIONS_MAX });
            }
            let (greeting, result) = greet(Subscription { slot: index, key: slot.key });
            if let Some(greeting) = greeting {
                state.reply(&self.limits, greeting).map_err(|_| Error::Closed)?;
            }
            match state.slots.get_mut(index) {
                Some(place) => *place = Some(slot),
                None => state.slots.push(Some(slot)),
            }
            Ok(result)
        })
    }

    /// Takes what follows of `batch` for one subscription, by its policy.
    pub(crate) fn offer(&self, to: Subscription, batch: &[Arc<Push>]) -> Offered {
        self.offer_all(to, batch, None)
    }

    /// The same for what comes from history: what does not fit can stay there.
    pub(crate) fn offer_again(&self, to: Subscription, batch: &[Arc<Push>]) -> Offered {
        self.offer_all(to, batch, Some(Policy::CatchUp))
    }

    fn offer_all(&self, to: Subscription, batch: &[Arc<Push>], by: Option<Policy>) -> Offered {
        self.with(|state| {
            let mut offered = Offered::default();
            for push in batch {
                state.offer(&self.limits, to, push, by, &mut offered);
            }
            offered
        })
    }

    /// Adds a reply, in its place among the pushes.
    pub(crate) fn reply(&self, text: Text) -> Result<(), Closed> {
        self.with(|state| state.reply(&self.limits, text))
    }
}

impl State {
    pub(crate) fn find(&mut self, subscription: Subscription) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(subscription.slot)?.as_mut()?;
        (slot.key == subscription.key).then_some(slot)
    }

    fn offer(
        &mut self,
        limits: &QueueLimits,
        to: Subscription,
        push: &Push,
        by: Option<Policy>,
        told: &mut Offered,
    ) {
        if self.closed.is_some() {
            return;
        }
        let Some(slot) = self.find(to) else { return };
        if push.serial < slot.next {
            return;
        }
        if push.serial > slot.next {
            return self.refuse(to, push, by, told);
        }
        let Some(text) = push.form(slot.view, slot.channel.render.as_ref()) else {
            slot.next += 1;
            return;
        };
        let (policy, weight) = (by.unwrap_or(slot.policy), weight(&text, slot));
        if !self.has_room(limits, weight) && !self.make_room(limits, to, policy, weight, told) {
            return self.refuse(to, push, by, told);
        }
        let Some(slot) = self.find(to) else { return };
        slot.next += 1;
        self.bytes += weight;
        self.items.push_back(Queued::Push { slot: to.slot, offset: push.offset, text });
        told.delivered += 1;
    }

    /// Leaves a push to history.
    fn refuse(&mut self, to: Subscription, push: &Push, by: Option<Policy>, told: &mut Offered) {
        told.refused += 1;
        // What comes from history has a time of long ago.
        if by.is_none() && std::mem::take(&mut self.has_looked) {
            self.looked_at = Some(push.at);
        }
        let drains = self.looked_at.is_some_and(|at| push.at.since(at) < GRACE);
        let Some(slot) = self.find(to) else { return };
        slot.refused_until = slot.refused_until.max(push.serial + 1);
        if drains {
            told.needed = first_of(told.needed, Some(slot.next));
        }
    }

    fn has_room(&self, limits: &QueueLimits, weight: usize) -> bool {
        self.items.is_empty()
            || (self.items.len() < limits.pushes && self.bytes + weight <= limits.bytes)
    }

    fn make_room(
        &mut self,
        limits: &QueueLimits,
        to: Subscription,
        policy: Policy,
        weight: usize,
        told: &mut Offered,
    ) -> bool {
        match policy {
            Policy::CatchUp => false,
            Policy::Disconnect => {
                self.close(Closed::TooSlow);
                false
            }
            Policy::DropOldest => {
                while !self.has_room(limits, weight) {
                    if !self.drop_oldest(to) {
                        return false;
                    }
                    told.dropped += 1;
                }
                true
            }
        }
    }

    /// Lets go of the subscription's oldest push; whether there was one.
    fn drop_oldest(&mut self, of: Subscription) -> bool {
        let is_its = |item: &Queued| matches!(item, Queued::Push { slot, .. } if *slot == of.slot);
        let Some(index) = self.items.iter().position(is_its) else { return false };
        let Some(Queued::Push { text, offset, .. }) = self.items.remove(index) else {
            return false;
        };
        let Some(slot) = self.find(of) else { return false };
        slot.dropped += 1;
        slot.dropped_until = offset;
        let weight = weight(&text, slot);
        self.bytes -= weight;
        true
    }

    fn reply(&mut self, limits: &QueueLimits, text: Text) -> Result<(), Closed> {
        if let Some(closed) = self.closed {
            return Err(closed);
        }
        if !self.has_room(limits, text.len()) {
            self.close(Closed::TooSlow);
            return Err(Closed::TooSlow);
        }
        self.bytes += text.len();
        self.items.push_back(Queued::Reply(text));
        Ok(())
    }

    /// Closes. What waits is let go when nobody would read it.
    pub(crate) fn close(&mut self, why: Closed) {
        if self.closed.is_none() {
            self.closed = Some(why);
        }
        match why {
            Closed::Asked | Closed::Renumbered => {}
            Closed::TooSlow | Closed::Gone => {
                self.items = VecDeque::new();
                self.bytes = 0;
            }
        }
    }

    /// Takes the oldest item off; its weight is no longer counted.
    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let item = self.items.pop_front()?;
        self.bytes -= self.weight_of(&item);
        if self.items.is_empty() && self.items.capacity() > 0 {
            // A reader without work holds no memory.
            self.items = VecDeque::new();
        }
        Some(item)
    }

    /// Removes a subscription and whatever waits for it.
    pub(crate) fn remove(&mut self, subscription: Subscription) -> Option<Slot> {
        self.find(subscription)?;
        let mut freed = 0;
        for item in &self.items {
            if item.slot() == Some(subscription.slot) {
                freed += self.weight_of(item);
            }
        }
        self.bytes -= freed;
        self.items.retain(|item| item.slot() != Some(subscription.slot));
        self.slots.get_mut(subscription.slot)?.take()
    }

    fn weight_of(&self, item: &Queued) -> usize {
        match item {
            Queued::Push { slot, text, .. } => match self.slots.get(*slot) {
                Some(Some(slot)) => weight(text, slot),
                Some(None) | None => text.len(),
            },
            Queued::Gap { .. } => 0,
            Queued::Reply(text) => text.len(),
        }
    }

    /// Whether so much waits that the reader should let nobody go first.
    fn is_crowded(&self, limits: &QueueLimits) -> bool {
        self.items.len() > limits.pushes / 2 || self.bytes > limits.bytes / 2 || self.has_behind()
    }

    /// There is something to read, to catch up with, or an end to be told.
    pub(crate) fn is_due(&self) -> bool {
        !self.items.is_empty() || self.closed.is_some() || self.has_behind()
    }

    fn take_waker_if_due(&mut self) -> Option<Waker> {
        if self.is_due() { self.waker.take() } else { None }
    }

    pub(crate) fn has_behind(&self) -> bool {
        self.slots.iter().flatten().any(Slot::is_behind)
    }
}

impl Queued {
    fn slot(&self) -> Option<usize> {
        match self {
            Queued::Push { slot, .. } | Queued::Gap { slot, .. } => Some(*slot),
            Queued::Reply(_) => None,
        }
    }
}

fn weight(text: &Text, slot: &Slot) -> usize {
    text.len() + slot.envelope.as_ref().map_or(0, |envelope| envelope.len())
}

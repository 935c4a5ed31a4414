//! The queue of one reader, bounded in count and bytes.
//!
//! Invariants, for each subscription:
//! - pushes enter in the order of their serials, without a hole: a push that does not follow the
//!   last one is refused, and its subscription *lags* until the reader has caught up from history;
//! - lost pushes are reported as a gap, in their place among the pushes;
//! - a reply is never dropped: if it does not fit, the reader is disconnected.
//!
//! A reader *drains* while it keeps looking at its queue: a reader that waits for its socket does
//! not look. History holds the pushes that a draining reader was refused for a moment (`topic.rs`),
//! so that the reader misses nothing only because its task had no turn to run.
//!
//! An empty queue accepts any push, so that a push above the limit does not wait without end.
//! Locks: a queue's lock may be taken while a topic's lock is held, never the other way round.

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

/// The limits of one reader's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Pushes and replies.
    pub pushes: usize,
    /// Their bytes, each push counted as if it were not shared.
    pub bytes: usize,
}

/// What happens to a push when the queue of its reader is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// History keeps it. The reader catches up from history after it has read its queue. Pushes
    /// that history has lost by then are reported as a gap, with the position to resume from by
    /// other means.
    #[default]
    CatchUp,
    /// The oldest waiting push of the subscription is dropped and reported as a gap. For values of
    /// which only the newest matters.
    DropOldest,
    /// The reader is disconnected; it may come back and resume.
    Disconnect,
}

/// How full the queue of a reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Some items. More may arrive in a moment, and one write can take all of them.
    Some,
    /// Half of the limits or more. The reader should take them now: if it waits for more, it may
    /// miss pushes.
    Much,
}

/// Why a queue is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The room closed it.
    #[error("the room closed the queue")]
    Asked,
    /// The reader was too slow.
    #[error("the reader was too slow")]
    TooSlow,
    /// The carrier restarted its numbering. The reader may come back and gets a gap.
    #[error("the numbering of pushes was restarted")]
    Renumbered,
    /// The reader is gone.
    #[error("the reader is gone")]
    Gone,
}

/// Identifies a subscription within its subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subscription {
    pub(crate) slot: usize,
    pub(crate) key: u64,
}

#[derive(Debug)]
pub(crate) struct Queue {
    limits: QueueLimits,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
pub(crate) struct QueueState {
    pub(crate) items: VecDeque<QueueItem>,
    pub(crate) bytes: usize,
    pub(crate) slots: Vec<Option<QueueSlot>>,
    pub(crate) waker: Option<Waker>,
    pub(crate) closed: Option<Closed>,
    /// Whether the reader has looked at the queue since the last refused push.
    pub(crate) has_looked: bool,
    /// The time of the refused push at which such a look was noticed.
    looked_at: Option<Monotonic>,
}

/// One subscription in the queue of its reader.
#[derive(Debug)]
pub(crate) struct QueueSlot {
    pub(crate) key: u64,
    pub(crate) channel: Arc<ChannelState>,
    pub(crate) topic: Arc<Topic>,
    pub(crate) policy: Policy,
    pub(crate) view: View,
    pub(crate) envelope: Option<Arc<Envelope>>,
    /// The serial of the next push.
    pub(crate) next: u64,
    /// One more than the newest refused serial. The subscription lags while `next` is less.
    pub(crate) refused_until: u64,
    /// The offset of the last push that the reader took.
    pub(crate) taken: u64,
    /// Pushes dropped since the last one taken.
    pub(crate) dropped: u64,
    /// The offset of the last dropped push.
    pub(crate) dropped_until: u64,
}

impl QueueSlot {
    pub(crate) fn is_lagging(&self) -> bool {
        self.next < self.refused_until
    }
}

#[derive(Debug)]
pub(crate) enum QueueItem {
    Push { slot: usize, offset: u64, text: Text },
    Gap { slot: usize, missed: u64, until: u64 },
    Reply(Text),
}

/// The result of offering a batch to one member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfferResult {
    pub(crate) delivered: u64,
    pub(crate) refused: u64,
    pub(crate) dropped: u64,
    /// The first serial that a draining reader was refused.
    pub(crate) needed: Option<u64>,
}

impl OfferResult {
    pub(crate) fn add(&mut self, other: OfferResult) {
        self.delivered += other.delivered;
        self.refused += other.refused;
        self.dropped += other.dropped;
        self.needed = first_of(self.needed, other.needed);
    }
}

/// The lesser of two optional serials.
pub(crate) fn first_of(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

impl Queue {
    pub(crate) fn new(limits: QueueLimits) -> Queue {
        Queue { limits, state: Mutex::default() }
    }

    /// For callers that hold the topic's lock or none.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut QueueState) -> T) -> T {
        let mut state = self.state.lock();
        let result = change(&mut state);
        let waker = state.take_waker_if_due();
        drop(state);
        // Wakes after the unlock, because a waker may run code that locks this queue.
        if let Some(waker) = waker {
            waker.wake();
        }
        result
    }

    /// For the reader itself. It does not wake the reader.
    pub(crate) fn with_reader<T>(&self, change: impl FnOnce(&mut QueueState) -> T) -> T {
        let mut state = self.state.lock();
        state.has_looked = true;
        change(&mut state)
    }

    /// How full the queue is. Registers the waker if it is empty.
    pub(crate) fn poll_waiting(&self, context: &mut Context<'_>) -> Poll<Waiting> {
        self.with_reader(|state| {
            if !state.is_due() {
                state.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(if state.is_crowded(&self.limits) { Waiting::Much } else { Waiting::Some })
        })
    }

    /// Adds a subscription. The greeting that `greet` returns enters the queue first.
    pub(crate) fn enter<T>(
        &self,
        slot: QueueSlot,
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

    /// Offers the new pushes of `batch` to one subscription, by its policy.
    pub(crate) fn offer(&self, to: Subscription, batch: &[Arc<Push>]) -> OfferResult {
        self.offer_all(to, batch, None)
    }

    /// The same for pushes from history: those that do not fit stay there.
    pub(crate) fn offer_again(&self, to: Subscription, batch: &[Arc<Push>]) -> OfferResult {
        self.offer_all(to, batch, Some(Policy::CatchUp))
    }

    fn offer_all(&self, to: Subscription, batch: &[Arc<Push>], by: Option<Policy>) -> OfferResult {
        self.with(|state| {
            let mut offered = OfferResult::default();
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

impl QueueState {
    pub(crate) fn find(&mut self, subscription: Subscription) -> Option<&mut QueueSlot> {
        let slot = self.slots.get_mut(subscription.slot)?.as_mut()?;
        (slot.key == subscription.key).then_some(slot)
    }

    fn offer(
        &mut self,
        limits: &QueueLimits,
        to: Subscription,
        push: &Push,
        by: Option<Policy>,
        result: &mut OfferResult,
    ) {
        if self.closed.is_some() {
            return;
        }
        let Some(slot) = self.find(to) else { return };
        if push.serial < slot.next {
            return;
        }
        if push.serial > slot.next {
            return self.refuse(to, push, by, result);
        }
        let Some(text) = push.form(slot.view, slot.channel.render.as_ref()) else {
            slot.next += 1;
            return;
        };
        let (policy, weight) = (by.unwrap_or(slot.policy), weight(&text, slot));
        if !self.has_room(limits, weight) && !self.make_room(limits, to, policy, weight, result) {
            return self.refuse(to, push, by, result);
        }
        let Some(slot) = self.find(to) else { return };
        slot.next += 1;
        self.bytes += weight;
        self.items.push_back(QueueItem::Push { slot: to.slot, offset: push.offset, text });
        result.delivered += 1;
    }

    /// Leaves a push to history.
    fn refuse(
        &mut self,
        to: Subscription,
        push: &Push,
        by: Option<Policy>,
        result: &mut OfferResult,
    ) {
        result.refused += 1;
        // A push from history has an old time, so it says nothing about draining.
        if by.is_none() && std::mem::take(&mut self.has_looked) {
            self.looked_at = Some(push.at);
        }
        let drains = self.looked_at.is_some_and(|at| push.at.since(at) < GRACE);
        let Some(slot) = self.find(to) else { return };
        slot.refused_until = slot.refused_until.max(push.serial + 1);
        if drains {
            result.needed = first_of(result.needed, Some(slot.next));
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
        result: &mut OfferResult,
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
                    result.dropped += 1;
                }
                true
            }
        }
    }

    /// Drops the oldest push of a subscription; returns whether there was one.
    fn drop_oldest(&mut self, of: Subscription) -> bool {
        let is_its =
            |item: &QueueItem| matches!(item, QueueItem::Push { slot, .. } if *slot == of.slot);
        let Some(index) = self.items.iter().position(is_its) else { return false };
        let Some(QueueItem::Push { text, offset, .. }) = self.items.remove(index) else {
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
        self.items.push_back(QueueItem::Reply(text));
        Ok(())
    }

    /// Closes the queue. Drops the items if nobody will read them.
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

    /// Takes the oldest item and its weight off the queue.
    pub(crate) fn pop(&mut self) -> Option<QueueItem> {
        let item = self.items.pop_front()?;
        self.bytes -= self.weight_of(&item);
        if self.items.is_empty() && self.items.capacity() > 0 {
            // A queue without items holds no memory.
            self.items = VecDeque::new();
        }
        Some(item)
    }

    /// Removes a subscription and its waiting items.
    pub(crate) fn remove(&mut self, subscription: Subscription) -> Option<QueueSlot> {
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

    fn weight_of(&self, item: &QueueItem) -> usize {
        match item {
            QueueItem::Push { slot, text, .. } => match self.slots.get(*slot) {
                Some(Some(slot)) => weight(text, slot),
                Some(None) | None => text.len(),
            },
            QueueItem::Gap { .. } => 0,
            QueueItem::Reply(text) => text.len(),
        }
    }

    /// Whether the queue is so full that the reader should take it now.
    fn is_crowded(&self, limits: &QueueLimits) -> bool {
        self.items.len() > limits.pushes / 2 || self.bytes > limits.bytes / 2 || self.has_lagging()
    }

    /// Whether there is an item to read, a subscription to catch up, or an end to report.
    pub(crate) fn is_due(&self) -> bool {
        !self.items.is_empty() || self.closed.is_some() || self.has_lagging()
    }

    fn take_waker_if_due(&mut self) -> Option<Waker> {
        if self.is_due() { self.waker.take() } else { None }
    }

    pub(crate) fn has_lagging(&self) -> bool {
        self.slots.iter().flatten().any(QueueSlot::is_lagging)
    }
}

impl QueueItem {
    fn slot(&self) -> Option<usize> {
        match self {
            QueueItem::Push { slot, .. } | QueueItem::Gap { slot, .. } => Some(*slot),
            QueueItem::Reply(_) => None,
        }
    }
}

fn weight(text: &Text, slot: &QueueSlot) -> usize {
    text.len() + slot.envelope.as_ref().map_or(0, |envelope| envelope.len())
}

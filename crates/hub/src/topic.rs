//! A topic: its history, its members, and the delivery in order.
//!
//! A push gets its place in the history under the topic's lock and joins the pending pushes. Then
//! one *delivery run*, and only one at a time, takes all pending pushes and offers them to a
//! snapshot of the members without holding the topic's lock. So all members see pushes in the order
//! of the history, no publisher waits for a slow member's lock under the topic's lock, and the next
//! batch collects during a run.
//!
//! Publishers do not wait for members. So history holds for a moment all pushes that members had no
//! turn to take: pushes not offered yet, and pushes that a draining member was refused
//! (`queue.rs`).
//!
//! Invariants:
//! - `delivering` is true exactly while a run is bound to take the pending pushes;
//! - members are sorted by key, and the list is copied only while a run uses it;
//! - a `removed` topic accepts nothing: a caller that finds one looks the topic up again.

use std::sync::Arc;

use base::Tasks;
use parking_lot::Mutex;

use crate::channel::ChannelState;
use crate::limits;
use crate::push::{Push, View};
use crate::queue::{Closed, OfferResult, Queue, QueueItem, Subscription, first_of};
use crate::ring::Ring;

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Box<str>,
    pub(crate) state: Mutex<TopicState>,
}

#[derive(Debug)]
pub(crate) struct TopicState {
    pub(crate) ring: Ring,
    pub(crate) members: Arc<Vec<Member>>,
    pub(crate) removed: bool,
    pending: Vec<Arc<Push>>,
    delivering: bool,
}

type PushBatch = Vec<Arc<Push>>;

/// One subscription as a member of its topic.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) subscription: Subscription,
    pub(crate) view: View,
    pub(crate) queue: Arc<Queue>,
}

impl Topic {
    pub(crate) fn new(name: &str, ring: Ring) -> Topic {
        let state = TopicState {
            ring,
            members: Arc::default(),
            removed: false,
            pending: Vec::new(),
            delivering: false,
        };
        Topic { name: name.into(), state: Mutex::new(state) }
    }

    /// Delivers the pending pushes: here for a small topic, in a task for a large one.
    pub(crate) fn deliver(self: &Arc<Self>, channel: &Arc<ChannelState>, tasks: &Tasks) {
        let mut run = DeliveryRun::new(self, channel);
        for _ in 0..limits::ROUNDS_MAX {
            if self.state.lock().members.len() > limits::SLICE {
                break;
            }
            let Some((members, batch)) = run.take() else { return };
            run.offer(&members, &batch);
        }
        tasks.spawn("hub fan-out", run.run());
    }

    /// Refills a lagging subscription from history.
    pub(crate) fn refill(
        &self,
        queue: &Queue,
        subscription: Subscription,
        next: u64,
    ) -> RefillResult {
        // The topic's lock is released before the queue's is taken: offering may take long.
        let (pushes, first, floor) = {
            let state = self.state.lock();
            let pushes = state.ring.since_serial(next).take(limits::REFILL_PUSHES);
            (pushes.cloned().collect::<Vec<_>>(), state.ring.first_serial(), state.ring.floor())
        };
        let missed = queue.with(|state| {
            let slot = state.find(subscription)?;
            let missed = first.checked_sub(slot.next).filter(|missed| *missed > 0)?;
            slot.next = first;
            state.items.push_back(QueueItem::Gap { slot: subscription.slot, missed, until: floor });
            Some(missed)
        });
        let offered = queue.offer_again(subscription, &pushes);
        RefillResult { delivered: offered.delivered, missed: missed.unwrap_or(0) }
    }
}

/// The result of a refill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefillResult {
    pub(crate) delivered: u64,
    pub(crate) missed: u64,
}

impl TopicState {
    /// Adds a push to the pending ones; returns whether the caller must deliver them.
    pub(crate) fn enqueue(&mut self, push: Arc<Push>) -> bool {
        if self.members.is_empty() {
            return false;
        }
        if self.pending.len() == limits::PENDING_MAX {
            // Members notice the missing serials and catch up from history.
            self.pending.clear();
        }
        let was_delivering = std::mem::replace(&mut self.delivering, true);
        if !was_delivering {
            self.ring.hold_too(push.serial);
        }
        self.pending.push(push);
        !was_delivering
    }

    /// Marks every member as lagging, so that it finds the lost pushes by itself.
    pub(crate) fn mark_lagging(&self) {
        let next = self.ring.next_serial();
        for member in self.members.iter() {
            member.queue.with(|state| {
                if let Some(slot) = state.find(member.subscription) {
                    slot.refused_until = slot.refused_until.max(next);
                }
            });
        }
    }

    /// Disconnects every member.
    pub(crate) fn disconnect_all(&self) {
        for member in self.members.iter() {
            member.queue.with(|state| state.close(Closed::Renumbered));
        }
    }

    pub(crate) fn add(&mut self, member: Member) {
        Arc::make_mut(&mut self.members).push(member);
    }

    pub(crate) fn remove(&mut self, key: u64) {
        let found = self.members.binary_search_by_key(&key, |member| member.subscription.key);
        if let Ok(index) = found {
            Arc::make_mut(&mut self.members).remove(index);
        }
    }

    /// Whether it has no member, no history and no delivery run.
    pub(crate) fn is_idle(&self) -> bool {
        self.members.is_empty() && self.ring.is_empty() && !self.delivering
    }
}

/// The right to deliver a topic's pushes. A drop before the end, by a panic in a room's renderer,
/// gives the right back.
struct DeliveryRun {
    topic: Arc<Topic>,
    channel: Arc<ChannelState>,
    ended: bool,
    /// One more than the serial of the last push offered to all.
    offered_until: Option<u64>,
    /// The first push of the last batch that a draining member was refused.
    needed: Option<u64>,
}

impl DeliveryRun {
    fn new(topic: &Arc<Topic>, channel: &Arc<ChannelState>) -> DeliveryRun {
        let (topic, channel) = (topic.clone(), channel.clone());
        DeliveryRun { topic, channel, ended: false, offered_until: None, needed: None }
    }

    async fn run(mut self) {
        while let Some((members, batch)) = self.take() {
            for slice in members.chunks(limits::SLICE) {
                self.offer(slice, &batch);
                tokio::task::yield_now().await;
            }
        }
    }

    /// All pending pushes and their receivers; `None` at the end of the run.
    fn take(&mut self) -> Option<(Arc<Vec<Member>>, PushBatch)> {
        let mut state = self.topic.state.lock();
        let needed = self.needed.take();
        // The check and the end of the run are under one lock: a later push starts a new run.
        if state.pending.is_empty() {
            state.ring.hold(needed);
            state.delivering = false;
            self.ended = true;
            return None;
        }
        if let Some(offered_until) = self.offered_until {
            state.ring.hold(first_of(needed, Some(offered_until)));
        }
        let batch = std::mem::take(&mut state.pending);
        self.offered_until = batch.last().map(|push| push.serial + 1);
        Some((state.members.clone(), batch))
    }

    fn offer(&mut self, members: &[Member], batch: &[Arc<Push>]) {
        let mut sum = OfferResult::default();
        for member in members {
            if let Some(render) = &self.channel.render {
                // Rendered before the queue's lock is taken; under the lock it is only looked up.
                for push in batch {
                    push.form(member.view, Some(render));
                }
            }
            sum.add(member.queue.offer(member.subscription, batch));
        }
        self.needed = first_of(self.needed, sum.needed);
        self.channel.counters.count(sum);
    }
}

impl Drop for DeliveryRun {
    fn drop(&mut self) {
        if !self.ended {
            self.topic.state.lock().delivering = false;
        }
    }
}

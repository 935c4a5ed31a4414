//! One topic: its history, its members, and serving them in order.
//!
//! A push gets its place in the history under the topic's lock and waits there with others; then
//! one *walker*, and only one, takes all that wait and offers them to a snapshot of the members
//! without any lock of the topic. So members see pushes in the order of the history whoever
//! published them, a slow member's lock is never waited for under the topic's, and while one walk
//! goes on the next batch gathers.
//!
//! Publishers do not wait for members, so history holds for a moment what members have had no turn
//! to take: whatever is not offered yet, and whatever a member that drains was refused (`queue.rs`).
//!
//! Invariants:
//! - `walking` is true exactly while somebody is bound to take what is pending;
//! - members stand in the order of their keys, and the list is copied only while a walker looks
//!   at it;
//! - a topic that is `removed` takes nothing any more: who finds it so looks it up again.

use std::sync::Arc;

use base::Tasks;
use parking_lot::Mutex;

use crate::channel::ChannelState;
use crate::limits;
use crate::push::{Push, View};
use crate::queue::{Closed, Offered, Queue, Queued, Subscription, first_of};
use crate::ring::Ring;

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Box<str>,
    pub(crate) state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) ring: Ring,
    pub(crate) members: Arc<Vec<Member>>,
    pub(crate) removed: bool,
    pending: Vec<Arc<Push>>,
    walking: bool,
}

type Batch = Vec<Arc<Push>>;

/// One subscription as its topic knows it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) subscription: Subscription,
    pub(crate) view: View,
    pub(crate) queue: Arc<Queue>,
}

impl Topic {
    pub(crate) fn new(name: &str, ring: Ring) -> Topic {
        let state = State {
            ring,
            members: Arc::default(),
            removed: false,
            pending: Vec::new(),
            walking: false,
        };
        Topic { name: name.into(), state: Mutex::new(state) }
    }

    /// Serves what is pending, here for a small topic, by a task for a large one.
    pub(crate) fn serve(self: &Arc<Self>, channel: &Arc<ChannelState>, tasks: &Tasks) {
        let mut walk = Walk::new(self, channel);
        for _ in 0..limits::ROUNDS_MAX {
            if self.state.lock().members.len() > limits::SLICE {
                break;
            }
            let Some((members, batch)) = walk.take() else { return };
            walk.offer(&members, &batch);
        }
        tasks.spawn("hub fan-out", walk.run());
    }

    /// Brings a subscription that is behind nearer to the present, from history.
    pub(crate) fn refill(&self, queue: &Queue, subscription: Subscription, next: u64) -> Refill {
        let (pushes, first, floor) = {
            let state = self.state.lock();
            let pushes = state.ring.since_serial(next).take(limits::REFILL_PUSHES);
            (pushes.cloned().collect::<Vec<_>>(), state.ring.first_serial(), state.ring.floor())
        };
        let missed = queue.with(|state| {
            let slot = state.find(subscription)?;
            let missed = first.checked_sub(slot.next).filter(|missed| *missed > 0)?;
            slot.next = first;
            state.items.push_back(Queued::Gap { slot: subscription.slot, missed, until: floor });
            Some(missed)
        });
        let offered = queue.offer_again(subscription, &pushes);
        Refill { delivered: offered.delivered, missed: missed.unwrap_or(0) }
    }
}

/// What a refill brought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refill {
    pub(crate) delivered: u64,
    pub(crate) missed: u64,
}

impl State {
    /// Notes a push for the members; whether the caller must serve them.
    pub(crate) fn enqueue(&mut self, push: Arc<Push>) -> bool {
        if self.members.is_empty() {
            return false;
        }
        if self.pending.len() == limits::PENDING_MAX {
            self.pending.clear();
        }
        let was_walking = std::mem::replace(&mut self.walking, true);
        if !was_walking {
            self.ring.hold_too(push.serial);
        }
        self.pending.push(push);
        !was_walking
    }

    /// Lets every member find out by itself that there were pushes it did not see.
    pub(crate) fn tell_behind(&self) {
        let next = self.ring.next_serial();
        for member in self.members.iter() {
            member.queue.with(|state| {
                if let Some(slot) = state.find(member.subscription) {
                    slot.refused_until = slot.refused_until.max(next);
                }
            });
        }
    }

    /// Ends the reading of every member.
    pub(crate) fn cut_off(&self) {
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

    /// Nobody is here and nothing is kept.
    pub(crate) fn is_idle(&self) -> bool {
        self.members.is_empty() && self.ring.is_empty() && !self.walking
    }
}

/// The right to serve a topic. Gives it back when dropped early, by a panic in a room's renderer.
struct Walk {
    topic: Arc<Topic>,
    channel: Arc<ChannelState>,
    over: bool,
    /// Behind the last push that was offered to all.
    offered_until: Option<u64>,
    /// The first push that a member that drains was refused, in the last batch.
    needed: Option<u64>,
}

impl Walk {
    fn new(topic: &Arc<Topic>, channel: &Arc<ChannelState>) -> Walk {
        let (topic, channel) = (topic.clone(), channel.clone());
        Walk { topic, channel, over: false, offered_until: None, needed: None }
    }

    async fn run(mut self) {
        while let Some((members, batch)) = self.take() {
            for slice in members.chunks(limits::SLICE) {
                self.offer(slice, &batch);
                tokio::task::yield_now().await;
            }
        }
    }

    /// All that is pending and who is to get it; `None` when the walk is over.
    fn take(&mut self) -> Option<(Arc<Vec<Member>>, Batch)> {
        let mut state = self.topic.state.lock();
        let needed = self.needed.take();
        if state.pending.is_empty() {
            state.ring.hold(needed);
            state.walking = false;
            self.over = true;
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
        let mut sum = Offered::default();
        for member in members {
            if let Some(render) = &self.channel.render {
                // Made before the queue's lock is taken; there it is found made.
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

impl Drop for Walk {
    fn drop(&mut self) {
        if !self.over {
            self.topic.state.lock().walking = false;
        }
    }
}

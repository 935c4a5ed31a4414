//! Time that a test moves.
//!
//! Sleepers wait in maps by the moment they are due. [`VirtualTime::advance`] goes from one
//! such moment to the next: it wakes the sleepers of that moment in the order in which they lay
//! down, lets the runtime run until it is quiet, and only then moves on. So a task that sleeps
//! again, a thousand times a day, is woken a thousand times, at the right moments.
//!
//! Quiet is exact on a current-thread runtime, for work that stays on the runtime. Work on other
//! threads is waited for if it takes a [`Hold`](super::Hold).

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Monotonic, Timestamp};

/// The runtime counts as quiet after this many turns in which nobody touched the clock. A turn
/// runs whatever is ready, so chains of tasks that wake each other fit into one; the others are
/// for what needs the runtime's driver.
const QUIET_TURNS: u32 = 8;

/// Turns after which time moves on although tasks are still busy: a task that spins on the clock
/// must not stop it.
const TURNS_MAX: u32 = 2_000;

/// Moves a virtual clock. From [`Clock::virtual_at`](crate::Clock::virtual_at).
#[derive(Clone, Debug)]
pub struct VirtualTime {
    shared: Arc<Shared>,
}

impl VirtualTime {
    pub(super) fn new(shared: Arc<Shared>) -> VirtualTime {
        VirtualTime { shared }
    }

    /// Moves both clocks on by `duration`, waking sleepers on the way in the order they are due.
    pub async fn advance(&self, duration: Duration) {
        let target = self.shared.instant().after(duration);
        self.settle().await;
        while let Some(woken) = self.shared.move_to_next(target) {
            woken.into_iter().for_each(Waker::wake);
            self.settle().await;
        }
    }

    /// Advances until the wall clock shows `time`. Nothing happens when it already does.
    pub async fn advance_to(&self, time: Timestamp) {
        self.advance(self.shared.until(time)).await;
    }

    /// Sets the wall clock, forwards or backwards, as an operator or a time server would:
    /// monotonic time stands still, and wakes those who waited for a wall time that has come.
    pub async fn set_wall(&self, time: Timestamp) {
        let woken = self.shared.set_wall(time);
        woken.into_iter().for_each(Waker::wake);
        self.settle().await;
    }

    /// Lets every task run until all wait, without moving time.
    pub async fn settle(&self) {
        let waker = std::future::poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        let _mover = Mover::new(&self.shared, waker);
        let mut quiet = 0;
        for _ in 0..TURNS_MAX {
            self.shared.released().await;
            let before = self.shared.touches();
            tokio::task::yield_now().await;
            let busy = self.shared.touches() != before || self.shared.has_unseen();
            quiet = if busy { 0 } else { quiet + 1 };
            if quiet >= QUIET_TURNS {
                break;
            }
        }
        self.shared.forget_unseen();
    }
}

/// The task that moves the clock, for as long as it settles.
struct Mover<'a> {
    shared: &'a Shared,
}

impl Mover<'_> {
    fn new(shared: &Shared, waker: Waker) -> Mover<'_> {
        let former = shared.state.lock().mover.replace(waker);
        drop(former);
        Mover { shared }
    }
}

impl Drop for Mover<'_> {
    fn drop(&mut self) {
        let waker = self.shared.state.lock().mover.take();
        // A waker may own the last of its task, whose waits lock this state as they go.
        drop(waker);
    }
}

/// What a sleeper waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Monotonic(Monotonic),
    Wall(Timestamp),
}

/// The state behind a virtual clock and its handle.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    released: Notify,
}

#[derive(Debug)]
struct State {
    instant: Monotonic,
    /// The wall clock as of `wall_set_at`; from there it moves with monotonic time.
    wall_set_to: Timestamp,
    wall_set_at: Monotonic,
    /// Sleepers by what they are due and by the order in which they lay down. Apart, because a
    /// wall clock that is set moves the moments of the one kind only.
    until_moment: BTreeMap<(Monotonic, u64), Waker>,
    until_wall: BTreeMap<(Timestamp, u64), Waker>,
    /// Woken, but not yet polled: the runtime is not quiet while one of these is on its way.
    unseen: BTreeSet<u64>,
    next_id: u64,
    /// Counts every use of the clock, to tell whether tasks are still running.
    touches: u64,
    holds: usize,
    /// The task that settles now. Whatever it waits for beside that is polled in every turn, which
    /// says nothing about other tasks.
    mover: Option<Waker>,
    /// When each answer that somebody waits for was asked for, in real time.
    answers: BTreeMap<u64, Instant>,
}

impl Shared {
    pub(super) fn new(start: Timestamp) -> Shared {
        let state = State {
            instant: Monotonic::START,
            wall_set_to: start,
            wall_set_at: Monotonic::START,
            until_moment: BTreeMap::new(),
            until_wall: BTreeMap::new(),
            unseen: BTreeSet::new(),
            next_id: 0,
            touches: 0,
            holds: 0,
            mover: None,
            answers: BTreeMap::new(),
        };
        Shared { state: Mutex::new(state), released: Notify::new() }
    }

    pub(super) fn now(&self) -> Timestamp {
        let mut state = self.state.lock();
        state.touches += 1;
        state.wall()
    }

    pub(super) fn instant(&self) -> Monotonic {
        let mut state = self.state.lock();
        state.touches += 1;
        state.instant
    }

    pub(super) fn add_hold(&self) {
        let mut state = self.state.lock();
        state.holds += 1;
        state.touches += 1;
    }

    pub(super) fn remove_hold(&self) {
        let mut state = self.state.lock();
        state.holds -= 1;
        state.touches += 1;
        if state.holds == 0 {
            self.released.notify_waiters();
        }
    }

    /// Notes that an answer is waited for; gives the number of the note.
    pub(super) fn add_answer(&self, asked: Instant) -> u64 {
        let mut state = self.state.lock();
        state.next_id += 1;
        let id = state.next_id;
        state.answers.insert(id, asked);
        id
    }

    pub(super) fn remove_answer(&self, id: u64) {
        self.state.lock().answers.remove(&id);
    }

    /// Whether somebody keeps the clock where it is: a hold, or an answer that was asked for later
    /// than `patience` ago.
    pub(super) fn is_held(&self, patience: Duration) -> bool {
        let state = self.state.lock();
        state.holds > 0 || state.answers.values().any(|asked| asked.elapsed() < patience)
    }

    /// Where monotonic time is, for the mover of the clock: does not count as a use.
    pub(super) fn peek(&self) -> Monotonic {
        self.state.lock().instant
    }

    /// Returns when nobody holds the clock.
    async fn released(&self) {
        loop {
            let released = self.released.notified();
            if self.state.lock().holds == 0 {
                return;
            }
            released.await;
        }
    }

    /// Moves to the earliest moment at or before `target` at which somebody is due, or else to
    /// `target`, and hands over who is to be woken; `None` when `target` is reached and nobody is.
    pub(super) fn move_to_next(&self, target: Monotonic) -> Option<Vec<Waker>> {
        let mut state = self.state.lock();
        match state.next_moment() {
            Some(moment) if moment <= target => {
                state.instant = state.instant.max(moment);
                Some(state.take_due())
            }
            Some(_) | None if state.instant < target => {
                state.instant = target;
                Some(Vec::new())
            }
            Some(_) | None => None,
        }
    }

    /// The earliest moment at which somebody is due.
    pub(super) fn next_moment(&self) -> Option<Monotonic> {
        self.state.lock().next_moment()
    }

    fn set_wall(&self, time: Timestamp) -> Vec<Waker> {
        let mut state = self.state.lock();
        state.wall_set_to = time;
        state.wall_set_at = state.instant;
        state.take_due()
    }

    fn until(&self, time: Timestamp) -> Duration {
        let state = self.state.lock();
        state.moment(Due::Wall(time)).since(state.instant)
    }

    fn touches(&self) -> u64 {
        self.state.lock().touches
    }

    fn has_unseen(&self) -> bool {
        !self.state.lock().unseen.is_empty()
    }

    pub(super) fn forget_unseen(&self) {
        self.state.lock().unseen.clear();
    }
}

impl State {
    fn wall(&self) -> Timestamp {
        let passed = self.instant.since(self.wall_set_at);
        self.wall_set_to.checked_add(passed).unwrap_or(self.wall_set_to)
    }

    /// The monotonic moment at which `due` is reached, if nobody sets the wall clock before.
    fn moment(&self, due: Due) -> Monotonic {
        match due {
            Due::Monotonic(moment) => moment,
            Due::Wall(time) => self.wall_set_at.after(time.since(self.wall_set_to)),
        }
    }

    fn is_mover(&self, waker: &Waker) -> bool {
        self.mover.as_ref().is_some_and(|mover| mover.will_wake(waker))
    }

    fn is_reached(&self, due: Due) -> bool {
        self.moment(due) <= self.instant
    }

    fn next_moment(&self) -> Option<Monotonic> {
        let by_moment = self.until_moment.first_key_value().map(|((moment, _), _)| *moment);
        let by_wall = self.until_wall.first_key_value();
        let by_wall = by_wall.map(|((time, _), _)| self.moment(Due::Wall(*time)));
        by_moment.into_iter().chain(by_wall).min()
    }

    fn add_sleeper(&mut self, due: Due, id: u64, waker: Waker) -> Option<Waker> {
        match due {
            Due::Monotonic(moment) => self.until_moment.insert((moment, id), waker),
            Due::Wall(time) => self.until_wall.insert((time, id), waker),
        }
    }

    fn remove_sleeper(&mut self, due: Due, id: u64) -> Option<Waker> {
        match due {
            Due::Monotonic(moment) => self.until_moment.remove(&(moment, id)),
            Due::Wall(time) => self.until_wall.remove(&(time, id)),
        }
    }

    fn take_due(&mut self) -> Vec<Waker> {
        let mut due = BTreeMap::new();
        while let Some(first) = self.until_moment.first_entry()
            && first.key().0 <= self.instant
        {
            let ((_, id), waker) = first.remove_entry();
            due.insert(id, waker);
        }
        let wall = self.wall();
        while let Some(first) = self.until_wall.first_entry()
            && first.key().0 <= wall
        {
            let ((_, id), waker) = first.remove_entry();
            due.insert(id, waker);
        }
        self.unseen.extend(due.keys());
        due.into_values().collect()
    }
}

/// The future behind a virtual wait.
pub(super) struct VirtualSleep {
    shared: Arc<Shared>,
    due: Due,
    /// Its place among the sleepers, once polled.
    id: Option<u64>,
}

impl VirtualSleep {
    pub(super) fn new(shared: &Arc<Shared>, due: Due) -> VirtualSleep {
        VirtualSleep { shared: shared.clone(), due, id: None }
    }
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let shared = self.shared.clone();
        let mut state = shared.state.lock();
        let is_news = self.id.is_none_or(|id| state.unseen.remove(&id));
        if is_news || !state.is_mover(context.waker()) {
            state.touches += 1;
        }
        if state.is_reached(self.due) {
            return Poll::Ready(());
        }
        let id = *self.id.get_or_insert_with(|| {
            state.next_id += 1;
            state.next_id
        });
        let replaced = state.add_sleeper(self.due, id, context.waker().clone());
        // A waker may own the last of its task, whose waits lock this state as they go.
        drop(state);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let mut state = self.shared.state.lock();
            state.unseen.remove(&id);
            let removed = state.remove_sleeper(self.due, id);
            drop(state);
            drop(removed);
        }
    }
}

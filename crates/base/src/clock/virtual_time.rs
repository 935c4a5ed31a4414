//! Virtual time, which a test moves.
//!
//! Sleepers wait in maps by their due time. [`VirtualTime::advance`] goes from one due time to the
//! next: it wakes the sleepers of that time in the order in which they started to sleep, lets the
//! runtime run until it is idle, and only then moves on. So a task that sleeps a thousand times a
//! day is woken a thousand times, at the right times.
//!
//! The idle check is exact on a current-thread runtime, for work that stays on the runtime. The
//! clock waits for work on other threads if that work takes a [`Hold`](super::Hold).

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Monotonic, Timestamp};

/// The runtime counts as idle after this many turns in which no task used the clock. A turn runs
/// all ready tasks, so chains of tasks that wake each other fit into one; the other turns are for
/// work that needs the runtime's driver.
const QUIET_TURNS: u32 = 8;

/// Turns after which time moves on although tasks are still busy: a task that reads the clock in a
/// loop must not stop it.
const TURNS_MAX: u32 = 2_000;

/// Moves a virtual clock. From [`Clock::virtual_at`](crate::Clock::virtual_at).
#[derive(Clone, Debug)]
pub struct VirtualTime {
    state: Arc<VirtualState>,
}

impl VirtualTime {
    pub(super) fn new(state: Arc<VirtualState>) -> VirtualTime {
        VirtualTime { state }
    }

    /// Moves both clocks on by `duration` and wakes the sleepers on the way in the order of their
    /// due times.
    pub async fn advance(&self, duration: Duration) {
        let target = self.state.instant().after(duration);
        self.settle().await;
        while let Some(woken) = self.state.move_to_next(target) {
            woken.into_iter().for_each(Waker::wake);
            self.settle().await;
        }
    }

    /// Advances until the wall clock shows `time`. Does nothing if it already does.
    pub async fn advance_to(&self, time: Timestamp) {
        self.advance(self.state.until(time)).await;
    }

    /// Sets the wall clock, forwards or backwards, as an operator or a time server would. Monotonic
    /// time stands still; sleepers whose wall time has come wake.
    pub async fn set_wall(&self, time: Timestamp) {
        let woken = self.state.set_wall(time);
        woken.into_iter().for_each(Waker::wake);
        self.settle().await;
    }

    /// Runs every task until all of them wait, without moving time.
    pub async fn settle(&self) {
        let waker = std::future::poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        let _guard = SettleGuard::new(&self.state, waker);
        let mut quiet = 0;
        for _ in 0..TURNS_MAX {
            self.state.released().await;
            let before = self.state.touches();
            tokio::task::yield_now().await;
            let busy = self.state.touches() != before || self.state.has_unseen();
            quiet = if busy { 0 } else { quiet + 1 };
            if quiet >= QUIET_TURNS {
                break;
            }
        }
        self.state.forget_unseen();
    }
}

/// Marks the task that moves the clock while it settles.
struct SettleGuard<'a> {
    state: &'a VirtualState,
}

impl SettleGuard<'_> {
    fn new(state: &VirtualState, waker: Waker) -> SettleGuard<'_> {
        let former = state.table.lock().mover.replace(waker);
        drop(former);
        SettleGuard { state }
    }
}

impl Drop for SettleGuard<'_> {
    fn drop(&mut self) {
        let waker = self.state.table.lock().mover.take();
        // Dropped outside the lock: a waker may own the last reference to its task, whose sleeps
        // lock this state when they are dropped.
        drop(waker);
    }
}

/// What a sleeper waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum WakeTime {
    Monotonic(Monotonic),
    Wall(Timestamp),
}

/// The state of a virtual clock and its handle.
#[derive(Debug)]
pub(super) struct VirtualState {
    table: Mutex<SleeperTable>,
    released: Notify,
}

#[derive(Debug)]
struct SleeperTable {
    instant: Monotonic,
    /// The wall time at `wall_set_at`; from there it moves with monotonic time.
    wall_set_to: Timestamp,
    wall_set_at: Monotonic,
    /// Sleepers by due time and by the order in which they started. Two maps, because setting the
    /// wall clock changes the due times of one kind only.
    until_moment: BTreeMap<(Monotonic, u64), Waker>,
    until_wall: BTreeMap<(Timestamp, u64), Waker>,
    /// Woken but not polled yet: the runtime is not idle while one of these is left.
    unseen: BTreeSet<u64>,
    next_id: u64,
    /// Counts every use of the clock, to see whether tasks are still running.
    touches: u64,
    holds: usize,
    /// The task that settles now. Its other waits are polled in every turn, which says nothing
    /// about other tasks.
    mover: Option<Waker>,
    /// Awaited responses, with the real time at which each wait began.
    answers: BTreeMap<u64, Instant>,
}

impl VirtualState {
    pub(super) fn new(start: Timestamp) -> VirtualState {
        let table = SleeperTable {
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
        VirtualState { table: Mutex::new(table), released: Notify::new() }
    }

    pub(super) fn now(&self) -> Timestamp {
        let mut table = self.table.lock();
        table.touches += 1;
        table.wall()
    }

    pub(super) fn instant(&self) -> Monotonic {
        let mut table = self.table.lock();
        table.touches += 1;
        table.instant
    }

    pub(super) fn add_hold(&self) {
        let mut table = self.table.lock();
        table.holds += 1;
        table.touches += 1;
    }

    pub(super) fn remove_hold(&self) {
        let mut table = self.table.lock();
        table.holds -= 1;
        table.touches += 1;
        if table.holds == 0 {
            self.released.notify_waiters();
        }
    }

    /// Records an awaited response; returns the number of the record.
    pub(super) fn add_answer(&self, asked: Instant) -> u64 {
        let mut table = self.table.lock();
        table.next_id += 1;
        let id = table.next_id;
        table.answers.insert(id, asked);
        id
    }

    pub(super) fn remove_answer(&self, id: u64) {
        self.table.lock().answers.remove(&id);
    }

    /// Whether anything stops the clock: a hold, or a response awaited for less than `patience`.
    pub(super) fn is_held(&self, patience: Duration) -> bool {
        let table = self.table.lock();
        table.holds > 0 || table.answers.values().any(|asked| asked.elapsed() < patience)
    }

    /// The monotonic time for the driver of the clock: does not count as a use.
    pub(super) fn peek(&self) -> Monotonic {
        self.table.lock().instant
    }

    /// Returns when no hold is left.
    async fn released(&self) {
        loop {
            let released = self.released.notified();
            if self.table.lock().holds == 0 {
                return;
            }
            released.await;
        }
    }

    /// Moves to the earliest due time at or before `target`, or else to `target`, and returns the
    /// wakers; `None` when `target` is reached and nothing is due.
    pub(super) fn move_to_next(&self, target: Monotonic) -> Option<Vec<Waker>> {
        let mut table = self.table.lock();
        match table.next_moment() {
            Some(moment) if moment <= target => {
                table.instant = table.instant.max(moment);
                Some(table.take_due())
            }
            Some(_) | None if table.instant < target => {
                table.instant = target;
                Some(Vec::new())
            }
            Some(_) | None => None,
        }
    }

    /// The earliest due time.
    pub(super) fn next_moment(&self) -> Option<Monotonic> {
        self.table.lock().next_moment()
    }

    fn set_wall(&self, time: Timestamp) -> Vec<Waker> {
        let mut table = self.table.lock();
        table.wall_set_to = time;
        table.wall_set_at = table.instant;
        table.take_due()
    }

    fn until(&self, time: Timestamp) -> Duration {
        let table = self.table.lock();
        table.moment(WakeTime::Wall(time)).since(table.instant)
    }

    fn touches(&self) -> u64 {
        self.table.lock().touches
    }

    fn has_unseen(&self) -> bool {
        !self.table.lock().unseen.is_empty()
    }

    pub(super) fn forget_unseen(&self) {
        self.table.lock().unseen.clear();
    }
}

impl SleeperTable {
    fn wall(&self) -> Timestamp {
        let passed = self.instant.since(self.wall_set_at);
        self.wall_set_to.checked_add(passed).unwrap_or(self.wall_set_to)
    }

    /// The monotonic time of `due`, if the wall clock is not set before.
    fn moment(&self, due: WakeTime) -> Monotonic {
        match due {
            WakeTime::Monotonic(moment) => moment,
            WakeTime::Wall(time) => self.wall_set_at.after(time.since(self.wall_set_to)),
        }
    }

    fn is_mover(&self, waker: &Waker) -> bool {
        self.mover.as_ref().is_some_and(|mover| mover.will_wake(waker))
    }

    fn is_reached(&self, due: WakeTime) -> bool {
        self.moment(due) <= self.instant
    }

    fn next_moment(&self) -> Option<Monotonic> {
        let by_moment = self.until_moment.first_key_value().map(|((moment, _), _)| *moment);
        let by_wall = self.until_wall.first_key_value();
        let by_wall = by_wall.map(|((time, _), _)| self.moment(WakeTime::Wall(*time)));
        by_moment.into_iter().chain(by_wall).min()
    }

    fn add_sleeper(&mut self, due: WakeTime, id: u64, waker: Waker) -> Option<Waker> {
        match due {
            WakeTime::Monotonic(moment) => self.until_moment.insert((moment, id), waker),
            WakeTime::Wall(time) => self.until_wall.insert((time, id), waker),
        }
    }

    fn remove_sleeper(&mut self, due: WakeTime, id: u64) -> Option<Waker> {
        match due {
            WakeTime::Monotonic(moment) => self.until_moment.remove(&(moment, id)),
            WakeTime::Wall(time) => self.until_wall.remove(&(time, id)),
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

/// The future of a virtual wait.
pub(super) struct VirtualSleep {
    state: Arc<VirtualState>,
    due: WakeTime,
    /// Its number among the sleepers, once polled.
    id: Option<u64>,
}

impl VirtualSleep {
    pub(super) fn new(state: &Arc<VirtualState>, due: WakeTime) -> VirtualSleep {
        VirtualSleep { state: state.clone(), due, id: None }
    }
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let state = self.state.clone();
        let mut table = state.table.lock();
        let is_news = self.id.is_none_or(|id| table.unseen.remove(&id));
        if is_news || !table.is_mover(context.waker()) {
            table.touches += 1;
        }
        if table.is_reached(self.due) {
            return Poll::Ready(());
        }
        let id = *self.id.get_or_insert_with(|| {
            table.next_id += 1;
            table.next_id
        });
        let replaced = table.add_sleeper(self.due, id, context.waker().clone());
        // Dropped outside the lock: a waker may own the last reference to its task, whose sleeps
        // lock this state when they are dropped.
        drop(table);
        drop(replaced);
        Poll::Pending
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let mut table = self.state.table.lock();
            table.unseen.remove(&id);
            let removed = table.remove_sleeper(self.due, id);
            drop(table);
            drop(removed);
        }
    }
}

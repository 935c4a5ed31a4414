//! A virtual clock that runs along with real time, for a whole program under test.
//!
//! A thread moves the clock every few milliseconds by the real time that has passed, so that every
//! wait of the program ends as on a real clock. [`Flow::advance`] moves it ahead in steps, and
//! within a step from one sleeper's due time to the next. After each of these times the thread
//! waits until the program is idle. It can observe this because it is not one of the runtime's
//! workers. After each step it lets a little real time pass, for clients in other processes.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::system_instant;
use super::virtual_time::VirtualState;
use crate::Monotonic;

/// The interval between two moves along with real time: too short for people to notice.
const PACE: Duration = Duration::from_millis(2);

/// The longest step ahead, so that clients respond before anything that waits for them times out.
const STEP: Duration = Duration::from_millis(100);

/// The most steps of one move ahead. A longer move uses longer steps and takes seconds of real
/// time.
const STEPS_MAX: u32 = 1_500;

/// In a longer move, sleepers due within a second of each other are woken together, the earlier
/// first, so that the program has to become idle only once for all of them.
const TOGETHER: Duration = Duration::from_secs(1);

/// How often the program becomes idle in one move at most: in a very long move, more sleepers are
/// woken together. For a day these are the sleepers of six seconds, so that a lease of fifteen
/// seconds that is renewed every five does not end.
const RESTS_MAX: u32 = 15_000;
const _: () = assert!(86_400 / RESTS_MAX < 15 - 5);

/// Real time that passes after each step.
const PAUSE: Duration = Duration::from_millis(1);

/// The interval between two checks whether the program is idle.
const LOOK: Duration = Duration::from_micros(50);

/// A program that is not idle within this real time does endless work, so the clock moves on.
const BUSY_MAX: Duration = Duration::from_secs(1);

/// How long a move ahead waits for the response of another process, which may never come.
const ANSWER_PATIENCE: Duration = Duration::from_millis(250);

/// Moves a flowing clock ahead. From [`Clock::flowing`](crate::Clock::flowing). Clones move the
/// same clock; it stops when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Flow {
    orders: Sender<AdvanceOrder>,
}

#[derive(Debug)]
struct AdvanceOrder {
    duration: Duration,
    done: oneshot::Sender<()>,
}

impl Flow {
    pub(super) fn start(state: Arc<VirtualState>, runtime: Handle) -> Flow {
        let (orders, taken) = mpsc::channel();
        let driver = DriverThread { state, runtime };
        thread::spawn(move || driver.run(&taken));
        Flow { orders }
    }

    /// Moves both clocks ahead by `duration` and wakes the sleepers on the way in the order of
    /// their due times. Returns when the time is reached and the program is idle. Real time that
    /// passes meanwhile does not count.
    pub async fn advance(&self, duration: Duration) {
        let (done, is_done) = oneshot::channel();
        self.orders
            .send(AdvanceOrder { duration, done })
            .expect("the driver ends after its last flow");
        is_done.await.expect("the driver does what it has taken");
    }
}

/// The thread that moves the clock.
struct DriverThread {
    state: Arc<VirtualState>,
    runtime: Handle,
}

impl DriverThread {
    fn run(&self, orders: &Receiver<AdvanceOrder>) {
        let mut driven_until = system_instant();
        loop {
            let order = orders.recv_timeout(PACE);
            let now = system_instant();
            self.flow_to(self.state.peek().after(now.duration_since(driven_until)));
            driven_until = now;
            match order {
                Ok(AdvanceOrder { duration, done }) => {
                    self.advance(duration);
                    driven_until = system_instant();
                    // Fails if the caller no longer waits, which is fine.
                    let _is_waiting = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Moves the clock as real time does: without waiting for the program.
    fn flow_to(&self, target: Monotonic) {
        while let Some(woken) = self.state.move_to_next(target) {
            woken.into_iter().for_each(Waker::wake);
        }
    }

    fn advance(&self, duration: Duration) {
        let step = (duration / STEPS_MAX).max(STEP);
        let group_span = match step > STEP {
            true => (duration / RESTS_MAX).max(TOGETHER),
            false => Duration::ZERO,
        };
        let target = self.state.peek().after(duration);
        self.rest();
        while self.state.peek() < target {
            let end = self.state.peek().after(step).min(target);
            while let Some(due) = self.state.next_moment().filter(|due| *due <= end) {
                self.flow_to(due.after(group_span).min(end));
                self.rest();
            }
            self.flow_to(end);
            thread::sleep(PAUSE);
            self.rest();
        }
    }

    /// Waits until the program is idle: two checks in a row with the same counts.
    fn rest(&self) {
        let (begun, mut before) = (system_instant(), self.look());
        loop {
            thread::sleep(LOOK);
            let (look, is_held) = (self.look(), self.state.is_held(ANSWER_PATIENCE));
            let is_quiet = look.is_some() && look == before;
            if !is_held && (is_quiet || begun.elapsed() >= BUSY_MAX) {
                break;
            }
            before = look;
        }
        self.state.forget_unseen();
    }

    /// The park counts of all workers, if all are parked and no task is queued.
    fn look(&self) -> Option<Vec<u64>> {
        let metrics = self.runtime.metrics();
        let counts =
            (0..metrics.num_workers()).map(|worker| metrics.worker_park_unpark_count(worker));
        // A count is odd while its worker is parked.
        let parked: Option<Vec<u64>> =
            counts.map(|count| (count % 2 == 1).then_some(count)).collect();
        parked.filter(|_| metrics.global_queue_depth() == 0)
    }
}

//! A virtual clock that flows with the system's time, for a whole program under test.
//!
//! A thread of its own moves the clock every few milliseconds by the real time that has passed, so
//! that every wait of the program ends as on a real clock. [`Flow::advance`] moves it ahead: step by
//! step, and within a step from one sleeper's moment to the next. After each moment the thread waits
//! until the program rests, which it can see because it is none of the runtime's workers. After each
//! step it lets a little real time pass, for clients in other processes.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::system_instant;
use super::virtual_time::Shared;
use crate::Monotonic;

/// Between two moves along with real time: fine enough for waits that people notice.
const PACE: Duration = Duration::from_millis(2);

/// A step ahead is not longer, so that clients answer before anything that waits for them gives up.
const STEP: Duration = Duration::from_millis(100);

/// Steps of one move ahead, at most: a longer way is gone in longer steps, in seconds of real time.
const STEPS_MAX: u32 = 1_500;

/// On a longer way, sleepers that are due within a second of each other are woken together, the
/// earlier first: the program comes to rest once for all of them.
const TOGETHER: Duration = Duration::from_secs(1);

/// How often the program comes to rest on one way, at most: on a very long one, more sleepers are
/// woken together. In a day those of six seconds, so that a lease of fifteen seconds which is
/// renewed every five does not end.
const RESTS_MAX: u32 = 15_000;
const _: () = assert!(86_400 / RESTS_MAX < 15 - 5);

/// Real time that passes after each step.
const PAUSE: Duration = Duration::from_millis(1);

/// Between two looks at whether the program rests.
const LOOK: Duration = Duration::from_micros(50);

/// A program that does not come to rest within this real time is busy with something that does not
/// end, and the clock moves on.
const BUSY_MAX: Duration = Duration::from_secs(1);

/// How long a move ahead waits for an answer of another process, which may never come.
const ANSWER_PATIENCE: Duration = Duration::from_millis(250);

/// Moves a flowing clock ahead. From [`Clock::flowing`](crate::Clock::flowing). Clones move the
/// same clock; it stands still when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Flow {
    orders: Sender<Order>,
}

#[derive(Debug)]
struct Order {
    duration: Duration,
    done: oneshot::Sender<()>,
}

impl Flow {
    pub(super) fn start(shared: Arc<Shared>, runtime: Handle) -> Flow {
        let (orders, taken) = mpsc::channel();
        let driver = Driver { shared, runtime };
        thread::spawn(move || driver.run(&taken));
        Flow { orders }
    }

    /// Moves both clocks ahead by `duration`, waking sleepers on the way in the order they are due.
    /// Returns when it is there and the program rests. Real time that passes meanwhile does not
    /// count.
    pub async fn advance(&self, duration: Duration) {
        let (done, is_done) = oneshot::channel();
        self.orders.send(Order { duration, done }).expect("the driver ends after its last flow");
        is_done.await.expect("the driver does what it has taken");
    }
}

/// The thread that moves the clock.
struct Driver {
    shared: Arc<Shared>,
    runtime: Handle,
}

impl Driver {
    fn run(&self, orders: &Receiver<Order>) {
        let mut flowed = system_instant();
        loop {
            let order = orders.recv_timeout(PACE);
            let now = system_instant();
            self.flow_to(self.shared.peek().after(now.duration_since(flowed)));
            flowed = now;
            match order {
                Ok(Order { duration, done }) => {
                    self.advance(duration);
                    flowed = system_instant();
                    // Fails if nobody waits any more, which is as good.
                    let _told = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Moves the clock as real time does: without waiting for anybody.
    fn flow_to(&self, target: Monotonic) {
        while let Some(woken) = self.shared.move_to_next(target) {
            woken.into_iter().for_each(Waker::wake);
        }
    }

    fn advance(&self, duration: Duration) {
        let step = (duration / STEPS_MAX).max(STEP);
        let together = match step > STEP {
            true => (duration / RESTS_MAX).max(TOGETHER),
            false => Duration::ZERO,
        };
        let target = self.shared.peek().after(duration);
        self.rest();
        while self.shared.peek() < target {
            let end = self.shared.peek().after(step).min(target);
            while let Some(due) = self.shared.next_moment().filter(|due| *due <= end) {
                self.flow_to(due.after(together).min(end));
                self.rest();
            }
            self.flow_to(end);
            thread::sleep(PAUSE);
            self.rest();
        }
    }

    /// Waits until the program rests: two looks in a row find it so, and it did not stir in between.
    fn rest(&self) {
        let (begun, mut before) = (system_instant(), self.look());
        loop {
            thread::sleep(LOOK);
            let (look, is_held) = (self.look(), self.shared.is_held(ANSWER_PATIENCE));
            let is_quiet = look.is_some() && look == before;
            if !is_held && (is_quiet || begun.elapsed() >= BUSY_MAX) {
                break;
            }
            before = look;
        }
        self.shared.forget_unseen();
    }

    /// How often each worker has parked and gone on, if all are parked and nothing waits for one.
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

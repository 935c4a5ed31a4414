//! The clock: one struct, two kinds of time: the system's time, or a time that a test moves.
//!
//! No other code may read the system's time or wait on it. Waits by duration run on monotonic time;
//! [`Clock::sleep_until`] runs on wall time and follows the clock when it is set. The virtual side
//! is `clock/virtual_time.rs`; `clock/flow.rs` lets virtual time run along with real time, for a
//! whole program under test.

mod flow;
mod virtual_time;

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::Duration;

pub use flow::Flow;
pub use virtual_time::VirtualTime;
use virtual_time::{VirtualSleep, VirtualState, WakeTime};

use crate::{Error, Monotonic, Timestamp};

/// The longest time that [`Clock::sleep_until`] sleeps before it looks at the wall clock again, so
/// that a clock set forward is noticed within a second. Few tasks wait this way, so the wake-ups
/// cost nothing.
const WALL_CHECK: Duration = Duration::from_secs(1);

/// The start of monotonic time for all real clocks of the process, so that their instants compare.
static START: LazyLock<std::time::Instant> = LazyLock::new(system_instant);

/// The clock. Cheap to clone; clones share their time.
#[derive(Clone, Debug)]
pub struct Clock {
    source: ClockSource,
}

#[derive(Clone, Debug)]
enum ClockSource {
    Real,
    Virtual(Arc<VirtualState>),
}

impl Clock {
    /// The system's time.
    pub fn real() -> Clock {
        // The first clock fixes the start of monotonic time.
        LazyLock::force(&START);
        Clock { source: ClockSource::Real }
    }

    /// A time that stands still at `start` until the returned handle moves it.
    pub fn virtual_at(start: Timestamp) -> (Clock, VirtualTime) {
        let state = Arc::new(VirtualState::new(start));
        (Clock { source: ClockSource::Virtual(state.clone()) }, VirtualTime::new(state))
    }

    /// A time that starts at the system's time, runs along with it, and that the returned handle
    /// moves ahead. For a whole program under test, whose tasks run on the current runtime.
    ///
    /// # Panics
    /// There is no runtime.
    pub fn flowing() -> (Clock, Flow) {
        let state = Arc::new(VirtualState::new(system_now()));
        let flow = Flow::start(state.clone(), tokio::runtime::Handle::current());
        (Clock { source: ClockSource::Virtual(state) }, flow)
    }

    /// The wall clock. May jump, also backwards.
    pub fn now(&self) -> Timestamp {
        match &self.source {
            ClockSource::Real => system_now(),
            ClockSource::Virtual(state) => state.now(),
        }
    }

    /// For measuring durations. Never goes back.
    pub fn instant(&self) -> Monotonic {
        match &self.source {
            ClockSource::Real => Monotonic::from_start(system_instant().duration_since(*START)),
            ClockSource::Virtual(state) => state.instant(),
        }
    }

    /// Waits for `duration`, counted from this call.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + use<> {
        self.sleep_to(self.instant().after(duration))
    }

    /// Waits until the wall clock shows `time` or later. Setting the clock forward shortens the
    /// wait, setting it back lengthens it.
    pub fn sleep_until(&self, time: Timestamp) -> impl Future<Output = ()> + Send + use<> {
        let clock = self.clone();
        async move {
            match &clock.source {
                ClockSource::Real => loop {
                    let left = time.since(system_now());
                    if left.is_zero() {
                        return;
                    }
                    system_sleep(left.min(WALL_CHECK)).await;
                },
                ClockSource::Virtual(state) => VirtualSleep::new(state, WakeTime::Wall(time)).await,
            }
        }
    }

    /// Ticks every `period`, first after one period. Ticks that passed while no task waited are
    /// skipped.
    ///
    /// # Panics
    /// If `period` is zero.
    pub fn interval(&self, period: Duration) -> Interval {
        assert!(!period.is_zero(), "an interval needs a period above zero");
        Interval { clock: self.clone(), period, next: self.instant().after(period) }
    }

    /// Runs `future` for at most `duration`.
    ///
    /// # Errors
    /// [`Error::Elapsed`] after that time; the future was dropped in that case.
    pub async fn timeout<F: Future>(
        &self,
        duration: Duration,
        future: F,
    ) -> Result<F::Output, Error> {
        let mut sleep = pin!(self.sleep(duration));
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            sleep.as_mut().poll(context).map(|()| Err(Error::Elapsed(duration)))
        })
        .await
    }

    /// Stops a virtual clock from moving until the guard is dropped. For work on another thread,
    /// which the clock cannot see. Has no effect on a real clock.
    pub fn hold(&self) -> Hold {
        match &self.source {
            ClockSource::Real => Hold { state: None, answer: None },
            ClockSource::Virtual(state) => {
                state.add_hold();
                Hold { state: Some(state.clone()), answer: None }
            }
        }
    }

    /// Stops a flowing clock from being moved ahead until the guard is dropped, but only for a
    /// moment of real time. For the response of another process, which may never come. Has no
    /// effect on other clocks.
    pub fn hold_for_answer(&self) -> Hold {
        match &self.source {
            ClockSource::Real => Hold { state: None, answer: None },
            ClockSource::Virtual(state) => {
                let answer = Some(state.add_answer(system_instant()));
                Hold { state: Some(state.clone()), answer }
            }
        }
    }

    fn sleep_to(&self, time: Monotonic) -> impl Future<Output = ()> + Send + use<> {
        let clock = self.clone();
        async move {
            match &clock.source {
                ClockSource::Real => system_sleep(time.since(clock.instant())).await,
                ClockSource::Virtual(state) => {
                    VirtualSleep::new(state, WakeTime::Monotonic(time)).await
                }
            }
        }
    }
}

/// A steady tick, from [`Clock::interval`].
#[derive(Debug)]
pub struct Interval {
    clock: Clock,
    period: Duration,
    next: Monotonic,
}

impl Interval {
    /// Waits for the next tick. Dropping the future loses no tick.
    pub async fn tick(&mut self) {
        self.clock.sleep_to(self.next).await;
        let late = self.clock.instant().since(self.next).as_nanos();
        let missed = u64::try_from(late / self.period.as_nanos()).unwrap_or(u64::MAX);
        let periods = u32::try_from(missed.saturating_add(1)).unwrap_or(u32::MAX);
        self.next = self.next.after(self.period.saturating_mul(periods));
    }
}

/// Stops a virtual clock. From [`Clock::hold`] and [`Clock::hold_for_answer`].
#[derive(Debug)]
#[must_use = "time moves on when the hold is dropped"]
pub struct Hold {
    state: Option<Arc<VirtualState>>,
    /// The number of the awaited response, if there is one.
    answer: Option<u64>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        match (&self.state, self.answer) {
            (Some(state), Some(answer)) => state.remove_answer(answer),
            (Some(state), None) => state.remove_hold(),
            (None, _) => {}
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one door to the system's wall clock")]
fn system_now() -> Timestamp {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // A machine with a date before 1970 has no valid time yet: use the epoch.
    let millis = since_epoch.unwrap_or_default().as_millis();
    Timestamp::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[expect(clippy::disallowed_methods, reason = "this is the one door to the system's stop watch")]
fn system_instant() -> std::time::Instant {
    std::time::Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "this is the one door to the runtime's timer")]
async fn system_sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

#[cfg(test)]
mod tests;

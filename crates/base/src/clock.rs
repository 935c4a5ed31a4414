//! How time passes. One struct, two kinds of time: the system's, or one that a test moves.
//!
//! Nothing else in the house may ask the system for the time or wait on it. Waits by duration run
//! on monotonic time; [`Clock::sleep_until`] runs on wall time and follows the clock when it is
//! set. The virtual side is `clock/virtual_time.rs`; `clock/flow.rs` lets it flow with the system's
//! time, for a whole program under test.

mod flow;
mod virtual_time;

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::Duration;

pub use flow::Flow;
pub use virtual_time::VirtualTime;
use virtual_time::{Due, Shared, VirtualSleep};

use crate::{Error, Monotonic, Timestamp};

/// The longest that [`Clock::sleep_until`] trusts its reckoning before it looks at the wall clock
/// again, so that a clock set forward is noticed within a second. Few tasks wait this way, so the
/// wake-ups cost nothing.
const WALL_CHECK: Duration = Duration::from_secs(1);

/// Every real clock of the process measures from here, so that their instants compare.
static START: LazyLock<std::time::Instant> = LazyLock::new(system_instant);

/// The time. Cheap to clone; clones share their time.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Real,
    Virtual(Arc<Shared>),
}

impl Clock {
    /// The system's time.
    pub fn real() -> Clock {
        // The first clock made fixes the start of monotonic time.
        LazyLock::force(&START);
        Clock { source: Source::Real }
    }

    /// A time that stands still at `start` until the returned handle moves it.
    pub fn virtual_at(start: Timestamp) -> (Clock, VirtualTime) {
        let shared = Arc::new(Shared::new(start));
        (Clock { source: Source::Virtual(shared.clone()) }, VirtualTime::new(shared))
    }

    /// A time that begins with the system's, flows along with it, and that the returned handle moves
    /// ahead. For a whole program under test, whose tasks run on the current runtime.
    ///
    /// # Panics
    /// There is no runtime.
    pub fn flowing() -> (Clock, Flow) {
        let shared = Arc::new(Shared::new(system_now()));
        let flow = Flow::start(shared.clone(), tokio::runtime::Handle::current());
        (Clock { source: Source::Virtual(shared) }, flow)
    }

    /// The wall clock. May jump, also backwards.
    pub fn now(&self) -> Timestamp {
        match &self.source {
            Source::Real => system_now(),
            Source::Virtual(shared) => shared.now(),
        }
    }

    /// For measuring how long something takes. Never goes back.
    pub fn instant(&self) -> Monotonic {
        match &self.source {
            Source::Real => Monotonic::from_start(system_instant().duration_since(*START)),
            Source::Virtual(shared) => shared.instant(),
        }
    }

    /// Waits for `duration`, counted from this call.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + use<> {
        self.sleep_to(self.instant().after(duration))
    }

    /// Waits until the wall clock shows `time` or later. A clock that is set forward shortens the
    /// wait, one that is set back lengthens it.
    pub fn sleep_until(&self, time: Timestamp) -> impl Future<Output = ()> + Send + use<> {
        let clock = self.clone();
        async move {
            match &clock.source {
                Source::Real => loop {
                    let left = time.since(system_now());
                    if left.is_zero() {
                        return;
                    }
                    system_sleep(left.min(WALL_CHECK)).await;
                },
                Source::Virtual(shared) => VirtualSleep::new(shared, Due::Wall(time)).await,
            }
        }
    }

    /// Ticks every `period`, first after one period. Ticks that nobody waited for are skipped.
    ///
    /// # Panics
    /// If `period` is zero.
    pub fn interval(&self, period: Duration) -> Interval {
        assert!(!period.is_zero(), "an interval needs a period above zero");
        Interval { clock: self.clone(), period, next: self.instant().after(period) }
    }

    /// Lets `future` run for at most `duration`.
    ///
    /// # Errors
    /// [`Error::Elapsed`] when the time is over; the future is dropped then.
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

    /// Keeps a virtual clock from moving on until the guard is dropped. For work that goes on
    /// where the clock cannot see it, on a thread of its own. Nothing to a real clock.
    pub fn hold(&self) -> Hold {
        match &self.source {
            Source::Real => Hold { shared: None, answer: None },
            Source::Virtual(shared) => {
                shared.add_hold();
                Hold { shared: Some(shared.clone()), answer: None }
            }
        }
    }

    /// Keeps a flowing clock from being moved ahead until the guard is dropped, but not for longer
    /// than a moment of real time. For the answer of another process, which may never come. Nothing
    /// to any other clock.
    pub fn hold_for_answer(&self) -> Hold {
        match &self.source {
            Source::Real => Hold { shared: None, answer: None },
            Source::Virtual(shared) => {
                let answer = Some(shared.add_answer(system_instant()));
                Hold { shared: Some(shared.clone()), answer }
            }
        }
    }

    fn sleep_to(&self, time: Monotonic) -> impl Future<Output = ()> + Send + use<> {
        let clock = self.clone();
        async move {
            match &clock.source {
                Source::Real => system_sleep(time.since(clock.instant())).await,
                Source::Virtual(shared) => VirtualSleep::new(shared, Due::Monotonic(time)).await,
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
    /// Waits for the next tick. Dropping the wait loses no tick.
    pub async fn tick(&mut self) {
        self.clock.sleep_to(self.next).await;
        let late = self.clock.instant().since(self.next).as_nanos();
        let missed = u64::try_from(late / self.period.as_nanos()).unwrap_or(u64::MAX);
        let periods = u32::try_from(missed.saturating_add(1)).unwrap_or(u32::MAX);
        self.next = self.next.after(self.period.saturating_mul(periods));
    }
}

/// Keeps a virtual clock where it is, from [`Clock::hold`] and [`Clock::hold_for_answer`].
#[derive(Debug)]
#[must_use = "time moves on when the hold is dropped"]
pub struct Hold {
    shared: Option<Arc<Shared>>,
    /// The number of the answer that it waits for, if it waits for one.
    answer: Option<u64>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        match (&self.shared, self.answer) {
            (Some(shared), Some(answer)) => shared.remove_answer(answer),
            (Some(shared), None) => shared.remove_hold(),
            (None, _) => {}
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one door to the system's wall clock")]
fn system_now() -> Timestamp {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // A machine that believes in a year before 1970 has no time yet: the epoch stands in.
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

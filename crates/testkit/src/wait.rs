//! Waiting for a condition. Every wait has a limit, and reports there what it saw.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use base::VirtualTime;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Longer than anything that a test waits for, on a busy machine. A wait that reaches it has
/// failed; a successful wait takes no longer than its condition.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two looks of a thread: short compared with any condition.
const PAUSE: Duration = Duration::from_millis(1);

/// Turns of the runtime before an async wait sleeps between looks: most conditions depend only on
/// work that is already running.
const TURNS: u32 = 1_000;

/// Looks until `look` returns a value.
///
/// # Panics
/// The patience ends; the message has what `look` saw last.
#[track_caller]
pub fn until<T, S: Debug>(what: &str, look: impl FnMut() -> Result<T, S>) -> T {
    until_within(PATIENCE, what, look)
}

/// The same with another limit, for slower conditions.
///
/// # Panics
/// The patience ends; the message has what `look` saw last.
#[track_caller]
pub fn until_within<T, S: Debug>(
    patience: Duration,
    what: &str,
    look: impl FnMut() -> Result<T, S>,
) -> T {
    match find_within(patience, look) {
        Ok(value) => value,
        Err(seen) => panic!("waited for {what}, saw {seen:?}"),
    }
}

/// The same for callers that report more on failure.
///
/// # Errors
/// The patience ends; what `look` saw last.
pub fn find_within<T, S>(
    patience: Duration,
    mut look: impl FnMut() -> Result<T, S>,
) -> Result<T, S> {
    let begun = now();
    loop {
        match look() {
            Err(_) if begun.elapsed() < patience => std::thread::sleep(PAUSE),
            found => return found,
        }
    }
}

/// The same in async code: lets other tasks run between looks, and real time pass if they need it.
/// A virtual clock stands still meanwhile.
///
/// # Panics
/// The patience ends; the message has what `look` saw last.
pub async fn until_async<T, S: Debug>(
    what: &str,
    mut look: impl AsyncFnMut() -> Result<T, S>,
) -> T {
    let begun = now();
    let mut turns = 0;
    loop {
        match look().await {
            Ok(value) => return value,
            Err(seen) => assert!(begun.elapsed() < PATIENCE, "waited for {what}, saw {seen:?}"),
        }
        turns += 1;
        if turns < TURNS { tokio::task::yield_now().await } else { pause().await }
    }
}

/// Turns a condition into a result for [`until`].
///
/// # Errors
/// The condition does not hold; `seen` describes the state.
pub fn holds<S>(condition: bool, seen: S) -> Result<(), S> {
    if condition { Ok(()) } else { Err(seen) }
}

/// Waits for `future` in real time.
///
/// # Panics
/// The patience ends.
pub async fn bounded<T>(what: &str, future: impl Future<Output = T>) -> T {
    patiently(future).await.unwrap_or_else(|| panic!("waited for {what} in vain"))
}

/// Waits for `future` in real time; `None` at the limit. For callers that report more on failure
/// than [`bounded`].
pub async fn patiently<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, future).await.ok()
}

/// Whether the runtime has one thread. Only then a virtual clock knows when all tasks wait; with
/// several threads, there may be work that it does not see.
pub(crate) fn is_exact() -> bool {
    Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread
}

/// Moves virtual time on, second by second, until `future` is done; also returns the elapsed time,
/// rounded up. `future` may need real time too, for example for a response over a socket.
///
/// # Panics
/// An hour has passed, and the patience in real time has ended.
pub async fn while_time_passes<T>(
    time: &VirtualTime,
    future: impl Future<Output = T>,
) -> (T, Duration) {
    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_secs(3_600);
    /// Longer than a thread waits for its turn on a busy machine.
    const PACE: Duration = Duration::from_millis(250);
    let mut future = std::pin::pin!(future);
    let (begun, mut passed) = (now(), Duration::ZERO);
    loop {
        // Work on other threads goes first.
        if !is_exact()
            && let Ok(done) = tokio::time::timeout(PACE, &mut future).await
        {
            return (done, passed);
        }
        passed += SECOND;
        tokio::select! {
            biased;
            done = &mut future => return (done, passed),
            () = time.advance(SECOND) => {}
        }
        let is_over = passed > HOUR && begun.elapsed() > PATIENCE;
        assert!(!is_over, "nothing happened in {passed:?} of virtual time");
    }
}

#[expect(clippy::disallowed_methods, reason = "a wait is bounded in real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "what is waited for needs real time")]
async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

//! The implementation of `#[testkit::test]`: a runtime for the test, and the checks after it.

use std::cell::RefCell;
use std::pin::Pin;

use tokio::runtime::Builder;

/// Checks one world or store after its test; returns the things that are left, in words.
type Check = Pin<Box<dyn Future<Output = Vec<String>>>>;

thread_local! {
    /// The checks of the test on this thread; none if no test would run them.
    static CHECKS: RefCell<Option<Vec<Check>>> = const { RefCell::new(None) };
}

/// Runs the body of a test to its end, then checks every world and store that it opened. Zero
/// workers mean one thread for everything.
///
/// # Panics
/// The body panics, or a world or store has something left.
pub fn run<T>(workers: usize, body: impl Future<Output = T>) -> T {
    let mut builder = match workers {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if workers > 0 {
        builder.worker_threads(workers);
    }
    let runtime = builder.enable_all().build().expect("a runtime can be built");
    CHECKS.set(Some(Vec::new()));
    runtime.block_on(async {
        let outcome = body.await;
        let mut left = Vec::new();
        for check in CHECKS.take().unwrap_or_default() {
            left.extend(check.await);
        }
        assert!(left.is_empty(), "the test has passed, and it left: {}", left.join("; "));
        outcome
    })
}

/// Runs this check when the test on this thread has ended.
pub(crate) fn check_at_end(check: impl Future<Output = Vec<String>> + 'static) {
    CHECKS.with_borrow_mut(|checks| {
        let checks = checks.as_mut().expect("a world or store opens in a `#[testkit::test]`");
        checks.push(Box::pin(check));
    });
}

//! The verbs of the contract: load, decide, commit, announce.
//!
//! A commit repeats as conditions what the decision relied on; a lost race is loaded and decided
//! again, a bounded number of times. What is committed is told: work that changes something runs to
//! its end, whoever hangs up meanwhile.

pub(crate) mod bans;
pub(crate) mod boards;
pub(crate) mod games;
pub(crate) mod operate;
pub(crate) mod players;
pub(crate) mod submit;
pub(crate) mod suspicions;
pub(crate) mod trim;

use std::sync::atomic::Ordering;

use tokio::sync::oneshot;

use crate::Score;
use crate::error::Error;
use crate::limits::RACES_MAX;

/// Versions are still exact in every client's numbers.
const VERSIONS_PER_MILLISECOND: u64 = 1000;

impl Score {
    /// The version of a row that is written now, over one of version `last`. It grows with every
    /// row that is written here, so that a row which was deleted and made again in the same
    /// millisecond is not taken for the one that was deleted.
    fn next_version(&self, last: u64) -> u64 {
        let now = self.clock.now().millis() * VERSIONS_PER_MILLISECOND;
        let next = |newest: u64| now.max(newest + 1).max(last + 1);
        let newest = self
            .versions
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |newest| Some(next(newest)));
        next(newest.unwrap_or_default())
    }
}

impl Score {
    /// Does `work` to its end as a task of its own, also if who asked for it is gone by then.
    pub(crate) async fn to_the_end<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (sender, done) = oneshot::channel();
        self.tasks.spawn(name, async move {
            let _gone = sender.send(work.await);
        });
        done.await.expect("work that runs to its end does not panic")
    }
}

/// Counts the tries of a decision; an error when there were too many.
struct Tries(u32);

impl Tries {
    fn new() -> Tries {
        Tries(RACES_MAX)
    }

    fn again(&mut self) -> Result<(), Error> {
        self.0 = self.0.checked_sub(1).ok_or(Error::Contended)?;
        Ok(())
    }
}

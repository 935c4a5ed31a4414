//! Submissions that were signed and cannot be true, for the operator to look at.
//!
//! They are remembered here and not in the table, because whoever sends them could otherwise make
//! the store work.

use std::collections::VecDeque;

use base::Timestamp;
use parking_lot::Mutex;

use crate::limits::SUSPICIONS_MAX;
use crate::model::play::{Claim, Suspicion};

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Suspected {
    pub(crate) at: Timestamp,
    pub(crate) game: String,
    pub(crate) user: String,
    pub(crate) claim: Claim,
    pub(crate) why: Suspicion,
}

/// The newest of them.
#[derive(Default)]
pub(crate) struct Suspicions {
    newest: Mutex<VecDeque<Suspected>>,
}

impl Suspicions {
    /// Remembers one.
    pub(crate) fn note(&self, suspected: Suspected) {
        let mut newest = self.newest.lock();
        newest.push_front(suspected);
        newest.truncate(SUSPICIONS_MAX);
    }

    /// All that are remembered, the newest first.
    pub(crate) fn list(&self) -> Vec<Suspected> {
        self.newest.lock().iter().cloned().collect()
    }
}

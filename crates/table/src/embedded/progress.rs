//! How far a start has come with the log that it reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the log that a start has read, and of how many. Clones share their counts.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Nothing is known yet.
    pub fn new() -> Progress {
        Progress::default()
    }

    /// Bytes that were read.
    pub fn done(&self) -> u64 {
        self.counts.done.load(Ordering::Relaxed)
    }

    /// Bytes that there are to read; 0 before that is known.
    pub fn total(&self) -> u64 {
        self.counts.total.load(Ordering::Relaxed)
    }

    /// So many bytes are to be read.
    pub fn begin(&self, total: u64) {
        self.counts.done.store(0, Ordering::Relaxed);
        self.counts.total.store(total, Ordering::Relaxed);
    }

    /// So many of them are read.
    pub fn reach(&self, done: u64) {
        self.counts.done.store(done, Ordering::Relaxed);
    }
}

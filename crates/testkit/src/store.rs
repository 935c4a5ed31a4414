//! A store of the embedded engine, on a clock that the test moves. For tests below the wire; a
//! world has a store of its own.
//!
//! Every store is checked: a task that panicked fails the test when the store is dropped, and so
//! does a task that does not end after the test. So a store can open only in a test that
//! [`test`](macro@crate::test) or [`run`] runs.

use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use base::{Clock, Tasks, Timestamp, VirtualTime};
use table::{Embedded, Error, Options};
use tempfile::TempDir;

use crate::{run, wait};

/// The time at which a store opens, unless its test sets it: 2027-01-15T08:00:00Z.
pub const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// How long tasks may take to end; they have nothing to wait for.
const ENDING: Duration = Duration::from_secs(60);

/// An open store.
pub struct Store {
    /// The engine.
    pub tables: Embedded,
    /// The clock of the store.
    pub clock: Clock,
    /// Moves the clock.
    pub time: VirtualTime,
    tasks: Tasks,
}

/// The place of a store's rows.
#[derive(Clone, Debug)]
pub enum Place {
    /// In memory; a closed store is gone.
    Memory,
    /// On disk, with these options.
    Disk(Options),
}

impl Store {
    /// A store in memory.
    pub async fn in_memory() -> Store {
        let (clock, time) = Clock::virtual_at(START);
        let opened = Store::on(Place::Memory, clock, time).await;
        opened.expect("memory opens")
    }

    /// A small store in a directory.
    pub async fn small(path: &Path) -> Store {
        let opened = Store::open(small(path), START).await;
        opened.expect("a directory of the test can be opened")
    }

    /// A store on disk at this time.
    ///
    /// # Errors
    /// The engine fails to open it.
    pub async fn open(options: Options, now: Timestamp) -> Result<Store, Error> {
        let (clock, time) = Clock::virtual_at(now);
        Store::on(Place::Disk(options), clock, time).await
    }

    /// A store that continues on an existing clock.
    ///
    /// # Errors
    /// The engine fails to open it.
    pub async fn on(place: Place, clock: Clock, time: VirtualTime) -> Result<Store, Error> {
        let tasks = Tasks::new();
        let opened = match place {
            Place::Memory => Embedded::in_memory(clock.clone(), &tasks).await,
            Place::Disk(options) => Embedded::open(options, clock.clone(), &tasks).await,
        };
        run::check_at_end(left(clock.clone(), time.clone(), tasks.clone()));
        Ok(Store { tables: opened?, clock, time, tasks })
    }

    /// The store's tasks, for other work of the test.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Ends the store's tasks.
    ///
    /// # Panics
    /// A task panicked or does not end.
    pub async fn end(&self) {
        let left = left(self.clock.clone(), self.time.clone(), self.tasks.clone()).await;
        assert!(left.is_empty(), "a store left: {}", left.join("; "));
    }
}

/// The smallest possible store, so that a test reaches every limit soon.
pub fn small(path: &Path) -> Options {
    Options { path: path.to_owned(), memory_mib: 1, segment_mib: 1, ..Options::default() }
}

/// A directory in memory if the system has enough room: for tests of responses, where ten thousand
/// syncs would only cost time.
pub fn quick_directory() -> TempDir {
    const MEMORY: &str = "/dev/shm";
    /// More than such a test writes, and more than containers offer by default.
    const ROOM: u64 = 1 << 30;
    let free = rustix::fs::statvfs(MEMORY).map_or(0, |system| system.f_bavail * system.f_frsize);
    let directory = if free > ROOM { tempfile::tempdir_in(MEMORY) } else { tempfile::tempdir() };
    directory.expect("there is room for a directory")
}

/// Ends the tasks of a store; returns their faults in words.
async fn left(clock: Clock, time: VirtualTime, tasks: Tasks) -> Vec<String> {
    let (running, _) = wait::while_time_passes(&time, tasks.finish(&clock, ENDING)).await;
    let running = running.err().unwrap_or_default().into_iter();
    let running = running.map(|name| format!("task `{name}` does not end"));
    let lost = tasks.panicked().into_iter().map(|name| format!("task `{name}` panicked"));
    running.chain(lost).collect()
}

impl Deref for Store {
    type Target = Embedded;

    fn deref(&self) -> &Embedded {
        &self.tables
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let panicked = self.tasks.panicked();
        assert!(std::thread::panicking() || panicked.is_empty(), "tasks panicked: {panicked:?}");
    }
}

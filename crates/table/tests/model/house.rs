//! The three grounds on which every sequence is tried.

use std::time::Duration;

use base::{Clock, Tasks, Timestamp, VirtualTime};
use table::{Embedded, Error, Options};
use tempfile::TempDir;

use crate::generate::START_S;

/// How long a house may take to end its tasks; they have nothing to wait for.
const ENDING_MAX: Duration = Duration::from_secs(60);

/// Where a house stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// In memory; settling moves rows from one map to another.
    Memory,
    /// On disk, with no memory at all: every change is settled as soon as it is made.
    Settling,
    /// On disk, closed and opened in between, properly or not.
    Reopening,
}

/// A house on its ground, with a time that the test moves.
pub(crate) struct House {
    ground: Ground,
    directory: TempDir,
    clock: Clock,
    time: VirtualTime,
    tasks: Tasks,
    open: Option<Embedded>,
}

impl House {
    /// A new house.
    pub(crate) async fn build(ground: Ground) -> Result<House, Error> {
        let start = Timestamp::from_seconds(START_S).expect("the start is a time");
        let (clock, time) = Clock::virtual_at(start);
        let directory = directory();
        let mut house = House { ground, directory, clock, time, tasks: Tasks::new(), open: None };
        house.open().await?;
        Ok(house)
    }

    /// The tables.
    pub(crate) fn tables(&self) -> &Embedded {
        self.open.as_ref().expect("a house is closed only to be opened again")
    }

    /// Lets time pass.
    pub(crate) async fn advance(&self, seconds: u64) {
        self.time.advance(Duration::from_secs(seconds)).await;
    }

    /// Closes the house, or only drops it, and opens it again. Answers whether that happened: a
    /// house in memory would be another one, and one that settles all the time has no need.
    pub(crate) async fn reopen(&mut self, close: bool) -> Result<bool, Error> {
        match self.ground {
            Ground::Memory | Ground::Settling => Ok(false),
            Ground::Reopening => {
                self.end(close).await?;
                self.open().await?;
                Ok(true)
            }
        }
    }

    /// Ends the house.
    pub(crate) async fn end(&mut self, close: bool) -> Result<(), Error> {
        let tables = self.open.take();
        let ended = self.tasks.finish(&self.clock, ENDING_MAX).await;
        assert_eq!(ended, Ok(()), "the tasks of a house end with it");
        assert_eq!(self.tasks.panicked(), Vec::<String>::new());
        match tables {
            Some(tables) if close => tables.close(),
            Some(_) | None => Ok(()),
        }
    }

    async fn open(&mut self) -> Result<(), Error> {
        self.tasks = Tasks::new();
        let (clock, tasks) = (self.clock.clone(), &self.tasks);
        let path = self.directory.path().to_owned();
        let small = Options { path, segment_mib: 1, ..Options::default() };
        self.open = Some(match self.ground {
            Ground::Memory => Embedded::in_memory(clock, tasks).await?,
            Ground::Settling => {
                Embedded::open(Options { memory_mib: 0, ..small }, clock, tasks).await?
            }
            Ground::Reopening => Embedded::open(small, clock, tasks).await?,
        });
        Ok(())
    }
}

/// A directory in memory where the system has such a thing: what is proven here are answers, and
/// ten thousand syncs would only take time.
fn directory() -> TempDir {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    directory.expect("there is room for a directory")
}

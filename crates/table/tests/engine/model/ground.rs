//! The three grounds on which every sequence is tried.

use std::time::Duration;

use base::{Clock, Timestamp, VirtualTime};
use table::{Embedded, Error, Options};
use tempfile::TempDir;
use testkit::store::{self, Place, Store};

use crate::support::generate::START_S;

/// Where a store stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// In memory; settling moves rows from one map to another.
    Memory,
    /// On disk, with no memory at all: every change is settled as soon as it is made.
    Settling,
    /// On disk, closed and opened in between, properly or not.
    Reopening,
}

/// A store on its ground, with a time that the test moves.
pub(crate) struct GroundStore {
    ground: Ground,
    directory: TempDir,
    clock: Clock,
    time: VirtualTime,
    open: Option<Store>,
}

impl GroundStore {
    /// A new store.
    pub(crate) async fn build(ground: Ground) -> Result<GroundStore, Error> {
        let start = Timestamp::from_seconds(START_S).expect("the start is a time");
        let (clock, time) = Clock::virtual_at(start);
        let directory = store::quick_directory();
        let mut store = GroundStore { ground, directory, clock, time, open: None };
        store.open().await?;
        Ok(store)
    }

    /// The tables.
    pub(crate) fn tables(&self) -> &Embedded {
        self.open.as_ref().expect("a store is closed only to be opened again")
    }

    /// Lets time pass.
    pub(crate) async fn advance(&self, seconds: u64) {
        self.time.advance(Duration::from_secs(seconds)).await;
    }

    /// Closes the store, or only drops it, and opens it again. Answers whether that happened: a
    /// store in memory would be another one, and one that settles all the time has no need.
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

    /// Ends the store.
    pub(crate) async fn end(&mut self, close: bool) -> Result<(), Error> {
        let Some(store) = self.open.take() else { return Ok(()) };
        store.end().await;
        if close { store.close() } else { Ok(()) }
    }

    async fn open(&mut self) -> Result<(), Error> {
        let path = self.directory.path().to_owned();
        let small = Options { path, segment_mib: 1, ..Options::default() };
        let place = match self.ground {
            Ground::Memory => Place::Memory,
            Ground::Settling => Place::Disk(Options { memory_mib: 0, ..small }),
            Ground::Reopening => Place::Disk(small),
        };
        self.open = Some(Store::on(place, self.clock.clone(), self.time.clone()).await?);
        Ok(())
    }
}

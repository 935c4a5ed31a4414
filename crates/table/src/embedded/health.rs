//! Whether the store can do its work, as far as it knows itself.

use std::time::Duration;

use super::commit::{Change, Submitted};
use super::{Embedded, Engine};
use crate::error::Error;

/// How a store does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It takes writes.
    Well,
    /// The disk is full: writes are refused until there is room.
    Full,
    /// A write has waited for the disk for so long.
    Waiting(Duration),
    /// Writing has stopped for good, for this reason; a restart looks at the disk anew.
    Stopped(String),
}

impl Embedded {
    /// How the store does. A write may take `patience` before it counts as waiting.
    pub fn health(&self, patience: Duration) -> Health {
        let commits = &self.engine.commits;
        if let Some(why) = commits.stopped() {
            return Health::Stopped(why.to_owned());
        }
        if commits.is_full() {
            return Health::Full;
        }
        match commits.writing_for() {
            Some(since) if since >= patience => Health::Waiting(since),
            Some(_) | None => Health::Well,
        }
    }

    /// Writes a record that changes nothing into a new segment of the log: a store that was full
    /// finds out that there is room again, although nobody writes.
    ///
    /// # Errors
    /// As a write: the disk is still full, or writing has stopped.
    pub async fn probe(&self) -> Result<(), Error> {
        let _hold = self.engine.clock.hold();
        self.engine.commits.probe();
        self.engine.write_nothing().await
    }
}

impl Engine {
    async fn write_nothing(&self) -> Result<(), Error> {
        loop {
            let epoch = self.commits.epoch();
            // Resting on everything, it needs a place in the log although it changes nothing.
            let nothing = Change { rests_on: u64::MAX, ..Change::default() };
            match self.commits.submit(nothing, epoch)? {
                Submitted::Taken(Some(batch)) => return batch.wait().await,
                Submitted::Taken(None) => return Ok(()),
                Submitted::Outdated => {}
            }
        }
    }
}

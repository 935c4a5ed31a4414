//! One table at a time: copied as it is at an instant, also out of the past of the house. The
//! DynamoDB door's backups are made of this.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::state::Sight;
use super::{Embedded, Engine, blocking, keys, row};
use crate::error::Error;
use crate::limits::BATCH_WRITE_MAX;
use crate::port::BatchWrite;

/// Batches that are read ahead of the one that is being written.
const BATCHES_AHEAD: usize = 4;

/// A house as it was at an instant, beside the living one; gone when dropped.
pub struct Past {
    house: Option<Embedded>,
    /// Where it lies; a house in memory lies nowhere.
    path: Option<PathBuf>,
}

impl Past {
    pub(super) fn new(house: Embedded, path: Option<PathBuf>) -> Past {
        Past { house: Some(house), path }
    }

    /// The house, to be read.
    pub fn house(&self) -> &Embedded {
        self.house.as_ref().expect("it is taken out only when dropped")
    }
}

impl Drop for Past {
    fn drop(&mut self) {
        // Its files go when nobody has them open.
        drop(self.house.take());
        if let Some(Err(error)) = self.path.as_ref().map(fs::remove_dir_all) {
            tracing::warn!(%error, "what was restored to be looked at could not be removed");
        }
    }
}

impl Embedded {
    /// Copies all items of the table `from`, as they are at one instant, into `to` in `target`:
    /// a table with the same key, which nobody else writes to. Other items in it stay.
    ///
    /// # Errors
    /// There are no such tables, or one of the stores cannot go on. Some items may be copied then.
    pub async fn copy_table(&self, from: &str, target: &Embedded, to: &str) -> Result<(), Error> {
        let (sender, mut batches) = mpsc::channel(BATCHES_AHEAD);
        let (engine, from, to) = (Arc::clone(&self.engine), from.to_owned(), to.to_owned());
        let reading = blocking(move || engine.read_batches(&from, &to, &sender));
        let writing = async move {
            while let Some(batch) = batches.recv().await {
                target.engine.write_batch(batch).await?;
            }
            Ok(())
        };
        let (read, written) = tokio::join!(reading, writing);
        written.and(read)
    }

    /// The house as it was at an instant (milliseconds of Unix time): with every change up to it
    /// and none behind it. One at a time.
    ///
    /// # Errors
    /// The past does not reach there any more, or the disk does not want to.
    pub async fn at_instant(&self, at_ms: u64) -> Result<Past, Error> {
        let engine = Arc::clone(&self.engine);
        blocking(move || engine.past(at_ms)).await
    }

    /// The first instant that [`Embedded::at_instant`] knows; none when the past is gone.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub fn past_begins_ms(&self) -> Result<Option<u64>, Error> {
        self.engine.past_begins_ms()
    }
}

impl Engine {
    /// Reads a table from one snapshot, in batches of puts into `to`.
    fn read_batches(
        &self,
        from: &str,
        to: &str,
        sender: &mpsc::Sender<Vec<BatchWrite>>,
    ) -> Result<(), Error> {
        let range = keys::scan_range(self.catalog.load().get(from)?.id, 0, None);
        let snapshot = self.rows.snapshot(Sight::Visible)?;
        let mut batch = Vec::with_capacity(BATCH_WRITE_MAX);
        for found in snapshot.range(&range, false)? {
            let (key, found) = found?;
            let item = row::decode_row(&key, &found)?;
            batch.push(BatchWrite::Put { table: to.to_owned(), item });
            if batch.len() == BATCH_WRITE_MAX {
                // Nobody takes it when writing has failed, which is told there.
                if sender.blocking_send(std::mem::take(&mut batch)).is_err() {
                    return Ok(());
                }
            }
        }
        if !batch.is_empty() {
            let _taken = sender.blocking_send(batch);
        }
        Ok(())
    }
}

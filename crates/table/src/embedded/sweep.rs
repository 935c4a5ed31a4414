//! The sweeper: comes to reminders, and removes items whose time is up. Readers do not see them
//! anyway; this frees their space and tells the change log.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::{Arc, Weak};
use std::time::Duration;

use base::Tasks;
use bytes::Bytes;

use super::Engine;
use super::keys::{self, KeyRange};
use super::reminder::rows_of;
use super::state::Sight;
use crate::error::Error;
use crate::limits::{EXPIRY_AGE_SECONDS_MAX, TRANSACT_MAX};

/// How often the sweeper looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Rows looked at in one go, so that a class that ends does not hold up the next one; those of one
/// reminder more.
const BATCH_MAX: usize = TRANSACT_MAX;

/// Starts the sweeper of a house; it ends with the house or with `tasks`.
pub(super) fn start(engine: &Arc<Engine>, tasks: &Tasks) {
    let (engine, clock, shutdown) =
        (Arc::downgrade(engine), engine.clock.clone(), tasks.shutdown());
    tasks.spawn("sweeper", async move {
        loop {
            tokio::select! {
                () = shutdown.begun() => return,
                () = clock.sleep(PAUSE) => {}
            }
            let Some(engine) = Weak::upgrade(&engine) else { return };
            match engine.sweep().await {
                Ok(()) => {}
                Err(Error::Stopped(_)) => return,
                Err(error) if error.is_outage() => {}
                Err(error) => tracing::warn!(%error, "sweeping failed; it will be tried again"),
            }
        }
    });
}

/// Reminders whose second has come, and the rows that they speak of.
#[derive(Default)]
struct Due {
    reminders: Vec<Bytes>,
    rows: BTreeSet<Bytes>,
}

impl Engine {
    /// Removes everything that has expired by now.
    pub(super) async fn sweep(&self) -> Result<(), Error> {
        let tables: Vec<_> = self.catalog.load().tables().map(Arc::clone).collect();
        for table in tables {
            let now = self.now_s();
            let from = now.saturating_sub(EXPIRY_AGE_SECONDS_MAX);
            let mut range = keys::expiry_range(table.id, from, now);
            loop {
                let due = self.due(&range)?;
                let Some(last) = due.reminders.last() else { break };
                self.write_expire(&table, &due.reminders, &due.rows).await?;
                // What stands before is done with, or new and for the next time.
                range.start = Bound::Excluded(last.to_vec());
            }
        }
        Ok(())
    }

    /// The first reminders of a range.
    fn due(&self, range: &KeyRange) -> Result<Due, Error> {
        let snapshot = self.rows.snapshot(Sight::Latest)?;
        let mut due = Due::default();
        for reminder in snapshot.range(range, false)? {
            let (key, value) = reminder?;
            due.rows.extend(rows_of(&value).ok_or_else(|| unreadable(&key))?);
            due.reminders.push(key.into_bytes());
            if due.rows.len() >= BATCH_MAX {
                break;
            }
        }
        Ok(due)
    }
}

fn unreadable(reminder: &[u8]) -> Error {
    let what = format!("reminder {} names no rows", base::hex(reminder));
    Error::Corrupt { file: "row".to_owned(), offset: 0, what }
}

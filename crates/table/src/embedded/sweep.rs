//! The sweeper: removes items whose time is up. Readers do not see them anyway; this frees their
//! space and tells the change log.

use std::sync::{Arc, Weak};
use std::time::Duration;

use base::Tasks;

use super::effects::Stored;
use super::keys;
use super::state::Sight;
use super::{Engine, is_expired};
use crate::error::Error;
use crate::limits::{EXPIRY_AGE_SECONDS_MAX, TRANSACT_MAX};
use crate::value::Item;

/// How often the sweeper looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Items removed in one go, so that a class that ends does not hold up the next one.
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
                Err(error) => tracing::warn!(%error, "sweeping failed; it will be tried again"),
            }
        }
    });
}

impl Engine {
    /// Removes everything that has expired by now.
    pub(super) async fn sweep(&self) -> Result<(), Error> {
        let tables: Vec<_> = self.catalog.load().tables().map(Arc::clone).collect();
        for table in tables {
            loop {
                let due = self.due(table.id)?;
                if due.is_empty() {
                    break;
                }
                self.meters.expired.increment(due.len() as u64);
                match self.write_expire(&table.spec.name, &due).await {
                    Err(Error::NoSuchTable(_)) => break,
                    removed => removed?,
                }
            }
        }
        Ok(())
    }

    /// Keys of some items of a table that have expired.
    fn due(&self, table: u32) -> Result<Vec<Item>, Error> {
        let snapshot = self.rows.snapshot(Sight::Latest)?;
        let now = self.now_s();
        let range = keys::expiry_range(table, now.saturating_sub(EXPIRY_AGE_SECONDS_MAX), now);
        let mut due = Vec::new();
        for entry in snapshot.range(&range, false)? {
            let (entry, value) = entry?;
            let row_key = keys::row_behind(&entry, &value);
            let Some(row) = snapshot.get(&row_key)? else { continue };
            let stored = Stored::read(row.into_bytes())?;
            if is_expired(stored.head.expiry, now) {
                due.push(stored.item.into_owned());
            }
            if due.len() >= BATCH_MAX {
                break;
            }
        }
        Ok(due)
    }
}

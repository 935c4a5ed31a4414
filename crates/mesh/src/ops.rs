//! The verbs of the contract: load, decide, commit, announce.
//!
//! A commit repeats as conditions what the decision relied on; a lost race is loaded and decided
//! again, a bounded number of times.

pub(crate) mod class;
mod events;
pub(crate) mod groups;
mod nodes;
pub(crate) mod recent;
mod statuses;

use base::Clock;
use table::Tables;

use crate::Mesh;
use crate::error::Error;
use crate::items;
use crate::limits::RACES_MAX;
use crate::model::{Group, GroupKey};

impl Mesh {
    /// The group, living or not.
    async fn load_group(&self, key: &GroupKey) -> Result<Group, Error> {
        let item = self.tables.get(items::get_group(key)).await?;
        let group = item.as_ref().and_then(items::read_group);
        group.ok_or_else(|| Error::GroupNotFound(key.full_id()))
    }
}

/// Removes tables of earlier versions in which everything has expired. That they stay keeps no house
/// from opening: another instance may remove them, or nobody may.
pub(crate) async fn drop_old_tables(tables: &dyn Tables, clock: &Clock) {
    for name in items::OLD_TABLES {
        if let Err(error) = drop_old_table(tables, clock, name).await {
            tracing::warn!(%error, table = name, "the table of an earlier version stays");
        }
    }
}

async fn drop_old_table(tables: &dyn Tables, clock: &Clock, name: &str) -> Result<(), Error> {
    if !has_old_table(tables, name).await? {
        return Ok(());
    }
    let mut scan = items::scan_old(name, clock.now());
    loop {
        let page = tables.scan(scan.clone()).await?;
        if !page.items.is_empty() {
            return Ok(());
        }
        match page.last_key {
            Some(last) => scan.start_after = Some(last),
            None => return Ok(tables.delete_table(name).await?),
        }
    }
}

/// Whether there is a table of an earlier version under this name.
pub(crate) async fn has_old_table(tables: &dyn Tables, name: &str) -> Result<bool, Error> {
    if !tables.list_tables().await?.iter().any(|known| known == name) {
        return Ok(false);
    }
    Ok(items::is_old_layout(&tables.describe_table(name).await?.spec))
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

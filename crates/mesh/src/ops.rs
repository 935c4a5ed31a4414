//! The verbs of the contract: load, decide, commit, announce.
//!
//! A commit repeats as conditions what the decision relied on; a lost race is loaded and decided
//! again, a bounded number of times.

mod events;
mod groups;
mod nodes;
mod statuses;

use table::{CancelReason, Error as StoreError, Item, Query, TransactItem, TransactWrite};

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

    /// All items that a query finds.
    async fn query_all(&self, mut query: Query) -> Result<Vec<Item>, Error> {
        let mut items = Vec::new();
        loop {
            let page = self.tables.query(query.clone()).await?;
            items.extend(page.items);
            match page.last_key {
                Some(last) => query.start_after = Some(last),
                None => return Ok(items),
            }
        }
    }

    /// Commits; `false` when what the decision relied on has changed.
    async fn commit(&self, writes: Vec<TransactItem>) -> Result<bool, Error> {
        match self.tables.transact_write(TransactWrite::new(writes)).await {
            Ok(()) => Ok(true),
            Err(error) if is_lost_race(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a condition failed, and nothing worse.
fn is_lost_race(error: &StoreError) -> bool {
    match error {
        StoreError::ConditionFailed { .. } => true,
        StoreError::TransactionCanceled { reasons } => reasons.iter().all(|reason| match reason {
            CancelReason::None | CancelReason::ConditionFailed { .. } => true,
            CancelReason::Invalid(_) => false,
        }),
        _ => false,
    }
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

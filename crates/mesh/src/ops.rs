//! The verbs of the contract: load, decide, commit, announce.
//!
//! A commit repeats as conditions what the decision relied on; a lost race is loaded and decided
//! again, a bounded number of times.

pub(crate) mod class;
mod events;
mod groups;
mod nodes;
mod statuses;

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

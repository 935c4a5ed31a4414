//! The verbs of the contract: load, decide, commit, announce.
//!
//! A commit repeats as conditions what the decision relied on; a lost race is loaded and decided
//! again, a bounded number of times. Facts are part of the commit that makes them true. Who hears
//! of one looks at what is true now, and repeats that as a condition of what it writes: so facts
//! may come late, twice and in any order.
//!
//! Users are `users.rs`, `identity.rs` and `guesses.rs`, posts `posts.rs`, follows and likes `social.rs`, blocks
//! and mutes `aversions.rs`, timelines `timeline.rs` (reading) and `fanout.rs` (writing), notifications
//! `notes.rs`. `keeping.rs` is what proves and restores.

pub(crate) mod aversions;
pub(crate) mod fanout;
pub(crate) mod guesses;
pub(crate) mod identity;
pub(crate) mod keeping;
pub(crate) mod notes;
pub(crate) mod posts;
pub(crate) mod social;
pub(crate) mod timeline;
pub(crate) mod users;

use table::{Delete, Error as StoreError, Get, Item, TransactItem, commit_each};

use crate::Sns;
use crate::error::Error;
use crate::items::facts::Told;
use crate::limits::RACES_MAX;

/// Part of a longer list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// Where the next part begins, if there is one.
    pub(crate) next: Option<String>,
}

/// Which part of a list is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Behind this cursor.
    pub(crate) after: Option<String>,
    /// So many are skipped.
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

impl Part {
    /// How many are looked at: what is skipped, what is wanted, and one that says that there is
    /// more.
    fn rows(&self) -> u32 {
        u32::try_from(self.offset + self.limit + 1).unwrap_or(u32::MAX)
    }

    /// The wanted part of what was looked at; `cursor` names an item's place.
    fn cut<T>(&self, rows: Vec<T>, cursor: impl Fn(&T) -> String) -> Page<T> {
        let has_more = rows.len() > self.offset + self.limit;
        let items: Vec<T> = rows.into_iter().skip(self.offset).take(self.limit).collect();
        let next = items.last().filter(|_| has_more).map(cursor);
        Page { items, next }
    }
}

impl Sns {
    /// Commits with the facts that it makes true; otherwise which writes lost their race, in their
    /// order.
    async fn commit(
        &self,
        mut writes: Vec<TransactItem>,
        told: &[Told],
    ) -> Result<Result<(), Vec<bool>>, Error> {
        let mut facts = Vec::with_capacity(told.len());
        for told in told {
            facts.push(self.bus.prepare(told.fact()?)?);
        }
        writes.extend(facts.iter().map(|fact| fact.write()));
        let committed = commit_each(&*self.tables, writes).await?;
        if committed.is_ok() {
            facts.into_iter().for_each(|fact| fact.committed());
        }
        Ok(committed)
    }

    /// Removes an item if its condition holds; otherwise somebody else is at it.
    async fn forget(&self, delete: Delete) -> Result<(), Error> {
        match self.tables.delete(delete).await {
            Ok(_) | Err(StoreError::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads items of any tables, however many.
    async fn get_all(&self, gets: Vec<Get>) -> Result<Vec<(String, Item)>, Error> {
        Ok(table::get_all(&*self.tables, &self.clock, gets).await?)
    }
}

/// Whether the write at a place lost its race.
fn is_lost(lost: &[bool], at: usize) -> bool {
    lost.get(at) == Some(&true)
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

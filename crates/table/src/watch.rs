//! Knowing that what was read is still so, without reading it again.

use std::fmt;
use std::sync::Arc;

use crate::embedded::Stamps;
use crate::value::Value;

/// A partition of a table or of one of its indexes.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition<'a> {
    /// The table.
    pub table: &'a str,
    /// The index; none for the table itself.
    pub index: Option<&'a str>,
    /// What the partition's attribute is.
    pub value: Value,
}

impl<'a> Partition<'a> {
    /// The partition of a table in which the partition's attribute has `value`.
    pub fn new(table: &'a str, value: impl Into<Value>) -> Partition<'a> {
        Partition { table, index: None, value: value.into() }
    }

    /// The same of an index.
    #[must_use]
    pub fn index(mut self, index: &'a str) -> Partition<'a> {
        self.index = Some(index);
        self
    }
}

/// Partitions that somebody remembers something of. It is made before they are read, by
/// [`Tables::watch`](crate::Tables::watch). As long as it holds, reading them again would answer
/// the same, but for what has expired meanwhile. It may cease to hold for no reason.
#[derive(Clone, Default)]
pub struct Watch {
    stamps: Option<Arc<Stamps>>,
    /// Which stamps, and what they were.
    seen: Vec<(u32, u64)>,
    is_blind: bool,
}

impl Watch {
    /// Whether all of it is as it was. Never, if nothing is watched.
    pub fn holds(&self) -> bool {
        let Some(stamps) = self.stamps.as_ref().filter(|_| !self.is_blind) else { return false };
        self.seen.iter().all(|(stamp, was)| stamps.get(*stamp) == *was)
    }

    /// Whether the store does not tell of something: then it never holds.
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// Watches what another one does as well.
    pub fn join(&mut self, other: &Watch) {
        self.seen.extend(&other.seen);
        self.is_blind |= other.is_blind;
        self.stamps = self.stamps.take().or_else(|| other.stamps.clone());
    }

    /// Something is not told of.
    pub(crate) fn give_up(&mut self) {
        self.is_blind = true;
    }

    /// Looks at one more stamp.
    pub(crate) fn see(&mut self, stamps: &Arc<Stamps>, stamp: u32) {
        self.seen.push((stamp, stamps.get(stamp)));
        self.stamps.get_or_insert_with(|| Arc::clone(stamps));
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("holds", &self.holds()).finish_non_exhaustive()
    }
}

//! Which keys the tree may hold, in memory: most rows that are written are new, and that they are
//! not there need not be looked up in pages that lie anywhere.
//!
//! Invariants:
//! - A key that a view holds is never denied to it: all keys of the round that was learned are here,
//!   and those of every later round before it is seen. A view of an earlier round does not ask.
//! - What is here was read with its checksum. Where that fails, nothing is learned, and whoever
//!   looks for the row is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::embedded::filter::Filter;

/// Keys of a tree that is learned at most, two bytes of memory for each.
pub(super) const KEYS_MAX: usize = 1 << 24;
/// Room for so many is made in any case. Small trees of tests grow out of it too.
const ROOM_MIN: usize = if cfg!(test) { 16 } else { 1 << 20 };
/// How much larger than what is full the next part is.
const GROWTH: usize = 4;

/// The keys.
#[derive(Clone)]
pub(crate) struct Known {
    /// The round that was learned.
    since: usize,
    /// Each larger than the one before; only the last takes more.
    parts: Vec<Arc<Part>>,
}

struct Part {
    filter: Filter,
    room: usize,
    held: AtomicUsize,
}

impl Known {
    /// Of a round with so many rows, none of which is learned yet.
    pub(super) fn new(since: usize, rows: usize) -> Known {
        let room = rows.saturating_mul(2).max(ROOM_MIN);
        Known { since, parts: vec![Part::new(room)] }
    }

    /// The same with more room, if there is any to be had.
    pub(super) fn grow(&self) -> Option<Known> {
        let room = self.parts.last().map_or(ROOM_MIN, |part| part.room * GROWTH);
        let mut grown = self.clone();
        grown.parts.push(Part::new(room));
        (room <= KEYS_MAX).then_some(grown)
    }

    /// Whether it holds as many as it was made for, with those that are gone meanwhile.
    pub(super) fn is_full(&self) -> bool {
        self.parts.last().is_none_or(|part| part.held.load(Ordering::Relaxed) >= part.room)
    }

    /// Learns a key, by its hash.
    pub(super) fn add(&self, hash: u64) {
        // One that an earlier part holds too costs less than to look there.
        if let Some(part) = self.parts.last()
            && part.filter.add(hash)
        {
            part.held.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether a view of this round cannot hold a key of this hash.
    pub(super) fn denies(&self, hash: u64, round: usize) -> bool {
        round >= self.since && self.lacks(hash)
    }

    fn lacks(&self, hash: u64) -> bool {
        !self.parts.iter().any(|part| part.filter.may_hold(hash))
    }
}

impl Part {
    fn new(room: usize) -> Arc<Part> {
        Arc::new(Part { filter: Filter::new(room), room, held: AtomicUsize::new(0) })
    }
}

#[cfg(test)]
mod tests {
    use super::{KEYS_MAX, Known};
    use crate::embedded::filter::hash;

    #[test]
    fn a_view_of_before_is_denied_nothing() {
        let known = Known::new(5, 0);
        let (here, gone) = (hash(b"here"), hash(b"gone"));
        known.add(here);
        assert!(!known.denies(here, 5) && known.denies(gone, 5));
        assert!(!known.denies(gone, 4), "it may have been removed by round 5");
    }

    #[test]
    fn it_grows_until_it_is_too_large_and_forgets_nothing() {
        let mut known = Known::new(1, 0);
        let key = |number: usize| hash(&number.to_be_bytes());
        let mut added = 0;
        for _ in 0..4 {
            while !known.is_full() {
                known.add(key(added));
                added += 1;
            }
            known = known.grow().unwrap();
        }
        assert!((0..added).all(|number| !known.denies(key(number), 1)));
        let others = (added..2 * added).filter(|number| known.denies(key(*number), 1)).count();
        assert!(others > added / 10 * 9, "{others} of {added} are denied");
        assert!(Known::new(1, KEYS_MAX / 2).grow().is_none());
    }
}

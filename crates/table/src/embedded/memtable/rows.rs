//! The versions of one partition: by what follows the partition in their keys, newest first.
//!
//! They lie in pieces, one behind the other. Most are added at the end, which fills one piece after
//! the other; any other place costs no more than the length of a piece.

use std::ops::Bound;
use std::sync::Arc;

use super::{At, Version};

/// What follows the partition in a key. Rows of one transaction that differ only in their partition
/// share it.
pub(crate) type Tail = Arc<[u8]>;

/// Versions of a piece: moving all of them aside takes about as long as finding the place.
const PIECE_MAX: usize = 128;

/// A version with its place.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) tail: Tail,
    pub(super) seq: u64,
    pub(super) version: Version,
}

impl Row {
    /// What they are sorted by: the newest of one key is first.
    pub(super) fn place(&self) -> (&[u8], std::cmp::Reverse<u64>) {
        (&self.tail, std::cmp::Reverse(self.seq))
    }
}

/// The versions.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The pieces before the last.
    before: Vec<Vec<Row>>,
    last: Vec<Row>,
}

impl Rows {
    /// Adds a version.
    pub(super) fn insert(&mut self, row: Row) {
        let before = |held: &Row| held.place() < row.place();
        if self.last.last().is_none_or(before) {
            if self.last.len() == PIECE_MAX {
                self.before.push(std::mem::take(&mut self.last));
            }
            return self.last.push(row);
        }
        let (number, at) = self.find(before);
        let piece = self.before.get_mut(number).unwrap_or(&mut self.last);
        if piece.len() < PIECE_MAX {
            return piece.insert(at, row);
        }
        let upper = piece.split_off(PIECE_MAX / 2);
        let lower = std::mem::replace(piece, upper);
        self.before.insert(number, lower);
        self.insert(row);
    }

    /// The newest version of a key to be seen `at`.
    pub(super) fn newest(&self, tail: &[u8], at: At) -> Option<&Row> {
        let rows = self.ascending(Bound::Included(tail)).take_while(|row| *row.tail == *tail);
        rows.into_iter().find(|row| at.shows(row))
    }

    /// All versions from a place on.
    pub(super) fn ascending(&self, from: Bound<&[u8]>) -> impl Iterator<Item = &Row> {
        let (number, at) = self.find(|row| match from {
            Bound::Included(from) => *row.tail < *from,
            Bound::Excluded(from) => *row.tail <= *from,
            Bound::Unbounded => false,
        });
        let mut pieces = self.before.iter().chain([&self.last]).skip(number);
        let first = pieces.next().and_then(|piece| piece.get(at..)).unwrap_or_default();
        first.iter().chain(pieces.flatten())
    }

    /// All versions up to a place, from there down.
    pub(super) fn descending(&self, from: Bound<&[u8]>) -> impl Iterator<Item = &Row> {
        let (number, at) = self.find(|row| match from {
            Bound::Included(from) => *row.tail <= *from,
            Bound::Excluded(from) => *row.tail < *from,
            Bound::Unbounded => true,
        });
        let last = self.before.get(number).unwrap_or(&self.last).get(..at).unwrap_or_default();
        let pieces = self.before.iter().take(number).rev();
        last.iter().rev().chain(pieces.flat_map(|piece| piece.iter().rev()))
    }

    /// Leaves out versions.
    pub(super) fn retain(&mut self, keep: impl Fn(&Row) -> bool) {
        self.before.iter_mut().chain([&mut self.last]).for_each(|piece| piece.retain(&keep));
        self.before.retain(|piece| !piece.is_empty());
        if self.last.is_empty() {
            self.last = self.before.pop().unwrap_or_default();
        }
    }

    /// The first one that does not stand `before` a place: its piece, and where in it.
    fn find(&self, before: impl Fn(&Row) -> bool) -> (usize, usize) {
        let number = self.before.partition_point(|piece| piece.last().is_some_and(&before));
        let piece = self.before.get(number).unwrap_or(&self.last);
        (number, piece.partition_point(before))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::Bound;

    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};
    use proptest::prop_assert_eq;

    use super::{At, PIECE_MAX, Row, Rows, Version};

    fn row(tail: &[u8], seq: u64) -> Row {
        let version = Version { value: None, fresh: false, logged: true };
        Row { tail: tail.into(), seq, version }
    }

    fn places<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<(Vec<u8>, u64)> {
        rows.map(|row| (row.tail.to_vec(), row.seq)).collect()
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn rows_are_an_ordered_map(
            tails in vec(vec(0..4_u8, 0..4), 0..4 * PIECE_MAX),
            ascending: bool,
            edge in vec(0..4_u8, 0..4),
            at in any::<u16>(),
        ) {
            let (mut rows, mut model) = (Rows::default(), BTreeMap::new());
            for (seq, tail) in (1..).zip(&tails) {
                // In order and not, as they come.
                let tail = if ascending { seq.to_string().into_bytes() } else { tail.clone() };
                rows.insert(row(&tail, seq));
                model.insert((tail, std::cmp::Reverse(seq)), ());
            }
            let wanted: Vec<(Vec<u8>, u64)> =
                model.into_keys().map(|(tail, seq)| (tail, seq.0)).collect();
            let of = |keep: &dyn Fn(&[u8]) -> bool| -> Vec<(Vec<u8>, u64)> {
                wanted.iter().filter(|(tail, _)| keep(tail)).cloned().collect()
            };
            let back = |mut rows: Vec<(Vec<u8>, u64)>| { rows.reverse(); rows };
            let edge = edge.as_slice();
            prop_assert_eq!(places(rows.ascending(Bound::Unbounded)), of(&|_| true));
            prop_assert_eq!(places(rows.ascending(Bound::Included(edge))), of(&|tail| tail >= edge));
            prop_assert_eq!(places(rows.ascending(Bound::Excluded(edge))), of(&|tail| tail > edge));
            prop_assert_eq!(places(rows.descending(Bound::Unbounded)), back(of(&|_| true)));
            prop_assert_eq!(places(rows.descending(Bound::Included(edge))), back(of(&|tail| tail <= edge)));
            prop_assert_eq!(places(rows.descending(Bound::Excluded(edge))), back(of(&|tail| tail < edge)));
            let at = u64::from(at) % 600;
            let newest = rows.newest(edge, At { logged: at, unlogged: 0 }).map(|row| row.seq);
            let seen = wanted.iter().filter(|(tail, seq)| tail == edge && *seq <= at);
            prop_assert_eq!(newest, seen.map(|(_, seq)| *seq).max());
            // What comes after a rollback finds its place too.
            rows.retain(|row| row.seq <= at);
            rows.insert(row(edge, at + 1));
            let mut left: Vec<_> = wanted.into_iter().filter(|(_, seq)| *seq <= at).collect();
            left.push((edge.to_vec(), at + 1));
            left.sort_by(|(one, seq), (other, later)| one.cmp(other).then(later.cmp(seq)));
            prop_assert_eq!(places(rows.ascending(Bound::Unbounded)), left);
        }
    }
}

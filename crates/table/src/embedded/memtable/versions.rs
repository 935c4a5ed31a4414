//! Walking over a memtable, in either direction.
//!
//! A partition is held for some rows at a time, and found again by the last of them.

use std::cmp::Ordering as Order;
use std::ops::{Bound, RangeBounds};

use bytes::Bytes;
use crossbeam_skiplist::set::Range;

use super::rows::Row;
use super::{At, Partition, Tail, Version};
use crate::embedded::keys::KeyRange;

/// Rows that are taken at once, first and at most: a page has twenty, a scan thousands.
const ROWS_FIRST: usize = 8;
const ROWS_AT_ONCE: usize = 256;

/// The newest visible version of each key of a range.
pub(crate) struct Versions<'a> {
    range: &'a KeyRange,
    at: At,
    descending: bool,
    /// Those that come next.
    partitions: Partitions<'a>,
    /// Where to go on in the partition that was not read to its end: behind this tail.
    place: Option<(Partition, Tail)>,
    /// What was read and not answered yet.
    some: std::vec::IntoIter<(Bytes, Version)>,
    /// How many are read next.
    wanted: usize,
}

/// The partitions that a range lies in.
pub(super) enum Partitions<'a> {
    One(Option<Partition>),
    Many(Range<'a, Partition, (Bound<Partition>, Bound<Partition>), Partition>),
}

impl Partitions<'_> {
    fn next(&mut self, descending: bool) -> Option<Partition> {
        match self {
            Partitions::One(partition) => partition.take(),
            Partitions::Many(range) => {
                let entry = if descending { range.next_back() } else { range.next() };
                entry.map(|entry| entry.value().clone())
            }
        }
    }
}

/// What follows a partition's name at both edges of a range.
type Tails<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// The part of a range that lies in a partition; none if there is none.
fn tails<'k>(partition: &Partition, range: &'k KeyRange) -> Option<Tails<'k>> {
    let (start, end) = range.as_bounds();
    let bound = |edge: Bound<&'k [u8]>, outside: Order| match edge {
        Bound::Included(key) | Bound::Excluded(key) => match partition.tail_of(key) {
            Ok(tail) => Some(edge.map(|_| tail)),
            Err(side) if side == outside => None,
            Err(_) => Some(Bound::Unbounded),
        },
        Bound::Unbounded => Some(Bound::Unbounded),
    };
    Some((bound(start, Order::Less)?, bound(end, Order::Greater)?))
}

impl<'a> Versions<'a> {
    pub(super) fn new(
        range: &'a KeyRange,
        at: At,
        descending: bool,
        partitions: Partitions<'a>,
    ) -> Versions<'a> {
        let (place, some) = (None, Vec::new().into_iter());
        Versions { range, at, descending, partitions, place, some, wanted: ROWS_FIRST }
    }

    /// Reads on in a partition, from where it was left or its beginning.
    fn read(&mut self, partition: Partition, left: Option<Tail>) {
        let Some((start, end)) = tails(&partition, self.range) else { return };
        let left = left.as_deref().map(Bound::Excluded);
        let inside = |row: &&Row| RangeBounds::<[u8]>::contains(&(start, end), &*row.tail);
        let rows = partition.held.rows.read();
        let mut found = if self.descending {
            self.newest_of(rows.descending(left.unwrap_or(end)).take_while(inside))
        } else {
            self.newest_of(rows.ascending(left.unwrap_or(start)).take_while(inside))
        };
        drop(rows);
        let keys = found.iter().map(|row| (partition.key_of(row), row.version.clone()));
        self.some = keys.collect::<Vec<_>>().into_iter();
        if found.len() == self.wanted {
            self.wanted = (2 * self.wanted).min(ROWS_AT_ONCE);
            self.place = found.pop().map(|last| (partition, last.tail));
        }
    }

    /// The newest visible version of each key, as many as are wanted.
    fn newest_of<'r>(&self, rows: impl Iterator<Item = &'r Row>) -> Vec<Row> {
        let mut found: Vec<Row> = Vec::with_capacity(self.wanted);
        for row in rows.filter(|row| self.at.shows(row)) {
            let is_full = found.len() == self.wanted;
            match found.last_mut() {
                // Upwards the newest of a key comes first, downwards last.
                Some(last) if last.tail == row.tail && self.descending => *last = row.clone(),
                Some(last) if last.tail == row.tail => {}
                _ if is_full => break,
                _ => found.push(row.clone()),
            }
        }
        found
    }
}

impl Iterator for Versions<'_> {
    type Item = (Bytes, Version);

    fn next(&mut self) -> Option<(Bytes, Version)> {
        loop {
            if let Some(row) = self.some.next() {
                return Some(row);
            }
            match self.place.take() {
                Some((partition, left)) => self.read(partition, Some(left)),
                None => {
                    let partition = self.partitions.next(self.descending)?;
                    self.read(partition, None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::{Strategy, any, proptest};
    use proptest::prop_assert_eq;

    use super::{At, Bound, Bytes, KeyRange, Tail, Version};
    use crate::embedded::keys::row_key;
    use crate::embedded::memtable::Memtable;
    use crate::spec::{KeyAttribute, KeySpec};
    use crate::value::Item;

    fn key(partition: u8, sort: u8) -> Vec<u8> {
        let spec = KeySpec::composite(KeyAttribute::s("PK"), KeyAttribute::n("SK"));
        let partition = "p".repeat(usize::from(partition) + 1);
        row_key(7, &spec, &Item::new().with("PK", partition).with("SK", u32::from(sort))).unwrap()
    }

    /// A key or the beginning of one, as edges of ranges are.
    fn edge() -> impl Strategy<Value = Bound<Vec<u8>>> {
        let cut = (0..4_u8, 0..60_u8, 4..80_usize);
        (0..3_u8, cut).prop_map(|(kind, (partition, sort, length))| {
            let mut edge = key(partition, sort);
            edge.truncate(length);
            match kind {
                0 => Bound::Included(edge),
                1 => Bound::Excluded(edge),
                _ => Bound::Unbounded,
            }
        })
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(500))]

        #[test]
        fn a_range_is_walked_as_one_of_a_map(
            writes in vec((0..4_u8, 0..60_u8, any::<bool>()), 0..400),
            edges in (edge(), edge()),
            whole in any::<bool>(),
            sight in (0..500_u64, 0..500_u64),
        ) {
            let (memtable, mut tail) = (Memtable::new(1 << 20), Tail::default());
            let at = At { logged: sight.0, unlogged: sight.1 };
            let mut model: BTreeMap<Vec<u8>, Bytes> = BTreeMap::new();
            for (seq, (partition, sort, logged)) in (1..).zip(&writes) {
                let (key, value) = (key(*partition, *sort), Bytes::from(seq.to_string()));
                let version = Version { value: Some(value.clone()), fresh: false, logged: *logged };
                memtable.add(&key, seq, version, 0, &mut tail);
                if seq <= if *logged { at.logged } else { at.unlogged } {
                    model.insert(key, value);
                }
            }
            // One partition, or what lies between two edges.
            let first = key(0, 0);
            let range = match whole {
                true => {
                    let end = first.get(..first.len() - 2).unwrap().to_vec();
                    let end = [end.as_slice(), &[0xFF]].concat();
                    KeyRange { start: Bound::Included(first), end: Bound::Excluded(end) }
                }
                false => KeyRange { start: edges.0, end: edges.1 },
            };
            let wanted = model.into_iter().filter(|(key, _)| range.contains(key));
            let mut wanted: Vec<(Bytes, Option<Bytes>)> =
                wanted.map(|(key, value)| (key.into(), Some(value))).collect();
            let walk = |descending| {
                let rows = memtable.range(&range, at, descending);
                rows.map(|(key, version)| (key, version.value)).collect::<Vec<_>>()
            };
            if !range.is_empty() {
                prop_assert_eq!(walk(false), wanted.clone());
                wanted.reverse();
                prop_assert_eq!(walk(true), wanted);
            }
        }
    }
}

//! Leaves: rows of one partition that stand in the tree under one key, that of the first of them.
//!
//! ```text
//!   leaf     crc32c of its key and of what follows u32 · row…
//!   row      front u16 · length u16 · own bytes · length u32 · value
//!            its key has so many bytes in front in common with the key before it, and then its own;
//!            the key before the first row is that of the leaf
//! ```
//!
//! Integers are little endian. A timeline or a queue is a few full pages that are written as such,
//! and what its keys have in common stands there once. A partition of one row is a leaf of one row.

#[cfg(test)]
mod fuzz;

use std::ops::Range;

use super::{PAGE_BYTES, damaged};
use crate::embedded::alike::common_front;
use crate::error::Error;

/// Bytes of a leaf that is full: with the head that LMDB gives to a value of its own, one page. A
/// row that is larger is a leaf of its own.
const LEAF_BYTES: usize = PAGE_BYTES - 16;
const CRC_BYTES: usize = 4;
/// What a row takes besides its bytes.
const ROW_BYTES: usize = 8;

/// A leaf whose checksum is right.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    key: &'a [u8],
    rows: &'a [u8],
}

impl<'a> Leaf<'a> {
    /// Reads what stands under a key.
    pub(super) fn read(key: &'a [u8], leaf: &'a [u8]) -> Result<Leaf<'a>, Error> {
        let (crc, rows) = leaf
            .split_first_chunk::<CRC_BYTES>()
            .ok_or_else(|| damaged("a leaf is too short to be one"))?;
        if crc32c::crc32c_append(crc32c::crc32c(key), rows) != u32::from_le_bytes(*crc) {
            return Err(damaged(&format!("the checksum of leaf {} is wrong", base::hex(key))));
        }
        Ok(Leaf { key, rows })
    }

    /// The value of the row under `key`.
    pub(super) fn find(self, key: &[u8]) -> Result<Option<&'a [u8]>, Error> {
        let mut rest = self.rows;
        if key == self.key {
            return self.take(&mut rest).map(|row| Some(row.value));
        }
        // How much of the key the row before begins with.
        let mut known = common_front(self.key, key);
        while !rest.is_empty() {
            let row = self.take(&mut rest)?;
            // A row that leaves the key later than the one before is as far away as that one.
            if row.front > known {
                continue;
            }
            let wanted = key.get(row.front..).unwrap_or_default();
            if row.own == wanted {
                return Ok(Some(row.value));
            }
            if row.own > wanted {
                return Ok(None);
            }
            known = row.front + common_front(row.own, wanted);
        }
        Ok(None)
    }

    /// All rows.
    pub(super) fn unfold(self) -> Result<Unfolded<'a>, Error> {
        let (mut rest, mut unfolded) = (self.rows, Unfolded::default());
        let mut last = 0..self.key.len();
        unfolded.keys.extend_from_slice(self.key);
        while !rest.is_empty() {
            let Row { front, own, value } = self.take(&mut rest)?;
            let start = unfolded.keys.len();
            let shared = last.start..last.start + front;
            if shared.end > last.end {
                return Err(self.broken());
            }
            unfolded.keys.extend_from_within(shared);
            unfolded.keys.extend_from_slice(own);
            last = start..unfolded.keys.len();
            unfolded.rows.push((last.clone(), value));
        }
        Ok(unfolded)
    }

    fn take(self, rest: &mut &'a [u8]) -> Result<Row<'a>, Error> {
        let mut take = || {
            let (front, after) = rest.split_first_chunk()?;
            let (length, after) = after.split_first_chunk()?;
            let (own, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            let (length, after) = after.split_first_chunk()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let (value, after) = after.split_at_checked(length)?;
            *rest = after;
            Some(Row { front: usize::from(u16::from_le_bytes(*front)), own, value })
        };
        take().ok_or_else(|| self.broken())
    }

    fn broken(self) -> Error {
        damaged(&format!("leaf {} is not one", base::hex(self.key)))
    }
}

struct Row<'a> {
    front: usize,
    own: &'a [u8],
    value: &'a [u8],
}

/// The rows of a leaf, their keys written out.
#[derive(Default)]
pub(super) struct Unfolded<'a> {
    /// All keys, one behind the other.
    pub(super) keys: Vec<u8>,
    /// Where each key stands there, and its value.
    pub(super) rows: Vec<(Range<usize>, &'a [u8])>,
}

impl<'a> Unfolded<'a> {
    /// The rows with their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &'a [u8])> {
        let key = |place: &Range<usize>| self.keys.get(place.clone()).unwrap_or_default();
        self.rows.iter().map(move |(place, value)| (key(place), *value))
    }
}

/// Folds sorted rows of one partition into leaves, and hands out each with its key. Full ones if
/// rows only ever come at the end; otherwise alike ones, so that all have room for more.
pub(super) fn fold<'r>(
    rows: &[(&'r [u8], &'r [u8])],
    at_end: bool,
    mut put: impl FnMut(&'r [u8], &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let whole: usize = rows.iter().map(|(key, value)| ROW_BYTES + key.len() + value.len()).sum();
    let room = match whole.div_ceil(LEAF_BYTES) {
        0 | 1 => LEAF_BYTES,
        _ if at_end => LEAF_BYTES,
        leaves => LEAF_BYTES.min(whole / leaves + LEAF_BYTES / 8),
    };
    let mut open: Option<(&[u8], Vec<u8>)> = None;
    let mut last: &[u8] = &[];
    for (key, value) in rows {
        let front = common_front(last, key);
        let needed = ROW_BYTES + key.len() - front + value.len();
        if let Some((first, leaf)) = open.take_if(|(_, leaf)| leaf.len() + needed > room) {
            put(first, &seal(first, leaf))?;
        }
        let (first, leaf) = open.get_or_insert_with(|| (key, vec![0; CRC_BYTES]));
        let front = if *first == *key { key.len() } else { front };
        push(key, front, value, leaf);
        last = key;
    }
    match open {
        Some((first, leaf)) => put(first, &seal(first, leaf)),
        None => Ok(()),
    }
}

/// The leaf of a single row.
pub(super) fn single(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut leaf = vec![0; CRC_BYTES];
    push(key, key.len(), value, &mut leaf);
    seal(key, leaf)
}

fn push(key: &[u8], front: usize, value: &[u8], leaf: &mut Vec<u8>) {
    let own = key.get(front..).unwrap_or_default();
    for length in [front, own.len()] {
        let length = u16::try_from(length).expect("a key has at most 1982 bytes");
        leaf.extend_from_slice(&length.to_le_bytes());
    }
    leaf.extend_from_slice(own);
    let length = u32::try_from(value.len()).expect("a row has less than a gigabyte");
    leaf.extend_from_slice(&length.to_le_bytes());
    leaf.extend_from_slice(value);
}

fn seal(key: &[u8], mut leaf: Vec<u8>) -> Vec<u8> {
    if let Some((crc, rows)) = leaf.split_first_chunk_mut::<CRC_BYTES>() {
        *crc = crc32c::crc32c_append(crc32c::crc32c(key), rows).to_le_bytes();
    }
    leaf
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::{btree_map, vec};
    use proptest::prelude::{any, proptest};
    use proptest::prop_assert_eq;

    use super::{LEAF_BYTES, Leaf, fold};

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn rows_come_back_from_their_leaves(
            rows in btree_map(vec(0..3_u8, 0..8), vec(any::<u8>(), 0..300), 0..60),
            at_end: bool,
            other in vec(0..3_u8, 0..9),
        ) {
            let all: Vec<(&[u8], &[u8])> =
                rows.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
            let mut leaves = BTreeMap::new();
            fold(&all, at_end, |key, leaf| {
                assert!(leaf.len() <= LEAF_BYTES, "{} bytes", leaf.len());
                leaves.insert(key.to_vec(), leaf.to_vec());
                Ok(())
            }).unwrap();
            let mut unfolded = BTreeMap::new();
            for (key, leaf) in &leaves {
                let leaf = Leaf::read(key, leaf).unwrap();
                for (row, value) in leaf.unfold().unwrap().iter() {
                    prop_assert_eq!(leaf.find(row).unwrap(), Some(value));
                    unfolded.insert(row.to_vec(), value.to_vec());
                }
                let found = leaf.find(&other).unwrap().map(<[u8]>::to_vec);
                if let Some(found) = found {
                    prop_assert_eq!(rows.get(&other), Some(&found));
                }
            }
            prop_assert_eq!(&unfolded, &rows);
            let holder = leaves.range(..=other.clone()).next_back();
            let found = holder.and_then(|(key, leaf)| {
                Leaf::read(key, leaf).unwrap().find(&other).unwrap().map(<[u8]>::to_vec)
            });
            prop_assert_eq!(found.as_ref(), rows.get(&other));
        }

        #[test]
        fn no_bytes_make_it_panic(key in vec(0..3_u8, 0..9), rows in vec(0..6_u8, 0..60)) {
            let leaf = Leaf { key: &key, rows: &rows };
            let _ = (leaf.unfold(), leaf.find(b"\x01\x02"));
        }
    }
}

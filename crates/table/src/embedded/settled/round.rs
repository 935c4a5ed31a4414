//! A round: new rows are merged into the leaves of the tree.
//!
//! Rows of one partition that belong into the same leaf are merged with it at once. A leaf that is
//! full and only grows at its end stays as it is, and the next one begins behind it.

use std::sync::Arc;

use heed::RwTxn;

use super::known::Known;
use super::leaf::{self, Leaf, Unfolded};
use super::{META_KEY, PAGE_BYTES, Rows, Settled, Settling, failed, frame_meta};
use crate::embedded::filter;
use crate::embedded::keys::{KeyRange, split_partition};
use crate::error::Error;

/// A round that is made.
pub(super) struct Round<'t> {
    rows: Rows,
    txn: RwTxn<'t>,
    known: Option<Arc<Known>>,
    /// Rows of the tree.
    count: u64,
    pages: usize,
}

/// What stands under one key of the tree.
struct Held {
    key: Vec<u8>,
    leaf: Vec<u8>,
}

/// New rows that belong into one leaf.
struct Group<R> {
    /// Their keys, one behind the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    rows: Vec<R>,
}

impl<'t> Round<'t> {
    pub(super) fn new(
        rows: Rows,
        txn: RwTxn<'t>,
        known: Option<Arc<Known>>,
    ) -> Result<Round<'t>, Error> {
        let meta = rows.get(&txn, META_KEY).map_err(settling)?;
        let meta = meta.map(|leaf| Leaf::read(META_KEY, leaf)?.find(META_KEY)).transpose()?;
        let settled = meta.flatten().and_then(|meta| serde_json::from_slice(meta).ok());
        let count = settled.map_or(0, |settled: Settled| settled.rows);
        Ok(Round { rows, txn, known, count, pages: 0 })
    }

    /// How many pages were written at most: small leaves may share one.
    pub(super) fn pages(&self) -> usize {
        self.pages
    }

    /// Merges sorted rows into the tree.
    pub(super) fn merge(&mut self, rows: impl Iterator<Item = impl Settling>) -> Result<(), Error> {
        let mut rows = rows.peekable();
        let mut next_key = Vec::new();
        while let Some(first) = rows.next() {
            let mut group = Group { keys: Vec::new(), ends: Vec::new(), rows: Vec::new() };
            write_key(&first, &mut next_key);
            group.push(&next_key, first);
            let name = partition_of(group.key(0)).to_vec();
            let held = self.find(group.key(0), &name)?;
            // Where the next leaf of the partition begins, if there is another row for it at all.
            let mut until = None;
            while let Some(next) = rows.peek() {
                write_key(next, &mut next_key);
                if partition_of(&next_key) != name {
                    break;
                }
                let until = match &until {
                    Some(until) => until,
                    None => until.insert(self.find_behind(group.key(0), &name)?),
                };
                if until.as_ref().is_some_and(|until| next_key >= *until) {
                    break;
                }
                rows.next().into_iter().for_each(|row| group.push(&next_key, row));
            }
            self.merge_group(held, &group)?;
        }
        Ok(())
    }

    /// The leaf of a partition that a key belongs into.
    fn find(&self, key: &[u8], name: &[u8]) -> Result<Option<Held>, Error> {
        let found = self.rows.get_lower_than_or_equal_to(&self.txn, key).map_err(settling)?;
        let found = found.filter(|(at, _)| partition_of(at) == name);
        Ok(found.map(|(key, leaf)| Held { key: key.to_vec(), leaf: leaf.to_vec() }))
    }

    /// The key of the next leaf of a partition behind a key.
    fn find_behind(&self, key: &[u8], name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let found = self.rows.get_greater_than(&self.txn, key).map_err(settling)?;
        let found = found.filter(|(at, _)| partition_of(at) == name);
        Ok(found.map(|(at, _)| at.to_vec()))
    }

    /// Merges rows into the leaf they belong into.
    fn merge_group<R: Settling>(
        &mut self,
        held: Option<Held>,
        group: &Group<R>,
    ) -> Result<(), Error> {
        let old = match &held {
            Some(held) => Leaf::read(&held.key, &held.leaf)?.unfold()?,
            None => Unfolded::default(),
        };
        let last = old.iter().last().map(|(key, _)| key);
        let at_end = last.is_none_or(|last| group.key(0) > last);
        let merged = group.merge(old.iter());
        if let Some(known) = &self.known {
            let puts = group.iter().filter(|(_, value)| value.is_some());
            puts.for_each(|(key, _)| known.add(filter::hash(key)));
        }
        if let Some(held) = &held
            && merged.first().is_none_or(|(key, _)| *key != held.key)
        {
            self.rows.delete(&mut self.txn, &held.key).map_err(settling)?;
        }
        self.count = self.count + merged.len() as u64 - old.rows.len() as u64;
        leaf::fold(&merged, at_end, |key, leaf| {
            // A leaf that did not change need not be written again.
            match &held {
                Some(held) if held.key == key && held.leaf == leaf => Ok(()),
                _ => {
                    self.pages += leaf.len().div_ceil(PAGE_BYTES);
                    self.rows.put(&mut self.txn, key, leaf).map_err(settling)
                }
            }
        })
    }

    /// Removes all rows of a range, which begins and ends with partitions.
    pub(super) fn drop(&mut self, range: &KeyRange) -> Result<(), Error> {
        let leaves = self.rows.range(&self.txn, &range.as_bounds()).map_err(settling)?;
        for leaf in leaves {
            let (key, leaf) = leaf.map_err(settling)?;
            self.count -= Leaf::read(key, leaf)?.unfold()?.rows.len() as u64;
        }
        self.rows.delete_range(&mut self.txn, &range.as_bounds()).map_err(settling).map(drop)
    }

    /// Remembers how far the tree has come.
    pub(super) fn end(mut self, settled: &Settled) -> Result<RwTxn<'t>, Error> {
        let settled = Settled { rows: self.count, ..settled.clone() };
        let meta = frame_meta(&settled);
        self.rows.put(&mut self.txn, META_KEY, &meta).map_err(settling)?;
        Ok(self.txn)
    }
}

impl<R: Settling> Group<R> {
    /// Adds a row with its key.
    fn push(&mut self, key: &[u8], row: R) {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.rows.push(row);
    }

    fn key(&self, number: usize) -> &[u8] {
        let end = self.ends.get(number).copied().unwrap_or_default();
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.keys.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.rows.iter().enumerate().map(|(number, row)| (self.key(number), row.value()))
    }

    /// These rows in place of the `old` ones.
    fn merge<'r>(
        &'r self,
        old: impl Iterator<Item = (&'r [u8], &'r [u8])>,
    ) -> Vec<(&'r [u8], &'r [u8])> {
        let (mut old, mut merged) = (old.peekable(), Vec::with_capacity(self.rows.len()));
        for (key, value) in self.iter() {
            while let Some(before) = old.next_if(|(old, _)| *old < key) {
                merged.push(before);
            }
            old.next_if(|(old, _)| *old == key);
            merged.extend(value.map(|value| (key, value)));
        }
        merged.extend(old);
        merged
    }
}

/// What of a key all of its partition have; all of it if it has none.
fn partition_of(key: &[u8]) -> &[u8] {
    split_partition(key).map_or(key, |(name, _)| name)
}

fn write_key(row: &impl Settling, out: &mut Vec<u8>) {
    out.clear();
    row.key().into_iter().for_each(|part| out.extend_from_slice(part));
}

fn settling(cause: heed::Error) -> Error {
    failed("settling", &cause)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::Bound;

    use bytes::Bytes;
    use proptest::collection::{btree_map, vec};
    use proptest::option;
    use proptest::prelude::{any, proptest};

    use crate::embedded::disk::gently::Urgency;
    use crate::embedded::keys::{KeyRange, row_key, table_range};
    use crate::embedded::settled::leaf::Leaf;
    use crate::embedded::settled::{Settled, Tree};
    use crate::spec::{KeyAttribute, KeySpec};
    use crate::value::Item;

    fn key((table, partition, sort): (u32, u8, u16)) -> Vec<u8> {
        let spec = KeySpec::composite(KeyAttribute::s("PK"), KeyAttribute::n("SK"));
        let item = Item::new().with("PK", partition.to_string()).with("SK", u32::from(sort));
        row_key(table, &spec, &item).unwrap()
    }

    /// What the tree holds, read in both directions; every leaf is of one partition.
    fn rows_of(tree: &Tree) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let (view, all) = (tree.view().unwrap(), KeyRange::all());
        let read = |descending| {
            let rows = view.range(&all, descending).unwrap().map(Result::unwrap);
            rows.map(|(key, value)| (key.to_vec(), value.to_vec())).collect::<Vec<_>>()
        };
        let (rows, mut back) = (read(false), read(true));
        back.reverse();
        assert_eq!(rows, back);
        for leaf in tree.rows.iter(&view.txn).unwrap() {
            let (key, leaf) = leaf.unwrap();
            let rows = Leaf::read(key, leaf).unwrap().unfold().unwrap();
            let name = super::partition_of(key);
            assert!(!rows.rows.is_empty());
            assert!(rows.iter().all(|(key, _)| super::partition_of(key) == name));
        }
        assert_eq!(view.settled().unwrap().rows, rows.len() as u64 - 1, "all but the tree's own");
        rows.into_iter().filter(|(key, _)| key != super::META_KEY).collect()
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(12))]

        #[test]
        fn a_tree_is_a_map(
            rounds in vec((
                btree_map(
                    (7..9_u32, 0..3_u8, 0..200_u16),
                    option::weighted(0.8, vec(any::<u8>(), 0..200)),
                    1..200,
                ),
                option::weighted(0.1, 7..9_u32),
            ), 1..8),
            probe in (7..9_u32, 0..3_u8, 0..200_u16),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let tree = Tree::open(directory.path()).unwrap();
            let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            for (seq, (changes, dropped)) in (1..).zip(rounds) {
                let dropped = dropped.map(table_range);
                let gone = |key: &[u8]| dropped.as_ref().is_some_and(|range| range.contains(key));
                let changes: BTreeMap<Vec<u8>, Option<Vec<u8>>> =
                    changes.into_iter().map(|(row, value)| (key(row), value)).collect();
                for (key, value) in &changes {
                    match value {
                        Some(value) => model.insert(key.clone(), value.clone()),
                        None => model.remove(key),
                    };
                }
                model.retain(|key, _| !gone(key));
                let rows = changes.into_iter();
                let rows = rows.map(|(key, value)| (Bytes::from(key), value.map(Bytes::from)));
                let settled = Settled { seq, ..Settled::default() };
                let dropped: Vec<KeyRange> = dropped.iter().cloned().collect();
                tree.settle(rows, &dropped, &settled, || Urgency::High).unwrap();
                assert_eq!(rows_of(&tree), model);
                tree.learn(|| false).unwrap();
                let (view, probe) = (tree.view().unwrap(), key(probe));
                assert_eq!(view.get(&probe).unwrap(), model.get(&probe).map(Vec::as_slice));
                let from = KeyRange { start: Bound::Excluded(probe.clone()), end: Bound::Unbounded };
                let next = view.range(&from, false).unwrap().next().map(Result::unwrap);
                let wanted = model.range((Bound::Excluded(probe), Bound::Unbounded)).next();
                assert_eq!(next.map(|(key, _)| key.to_vec()).as_ref(), wanted.map(|(key, _)| key));
            }
        }
    }
}

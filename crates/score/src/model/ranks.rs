//! A sorted set that knows places: how many stand before a key, and who stands at a place.
//!
//! Keys lie in blocks of a few hundred, and the lengths of the blocks in one row of numbers. To
//! find a place is two binary searches and the sum of the lengths before the block, which the
//! processor adds many at a time: for a million keys that is about four thousand numbers. A tree
//! of counts would save the sum and cost a miss of the cache at each of its levels.
//!
//! Invariants: no block is empty, or longer than [`BLOCK_MAX`]; keys grow strictly, within a block
//! and from block to block; `lengths` are those of the blocks.

/// Keys in a block: moving half of them costs as much as summing the lengths of a great set.
const BLOCK_MAX: usize = 512;

/// The set.
#[derive(Clone, Debug)]
pub(crate) struct Ranks<K> {
    blocks: Vec<Vec<K>>,
    lengths: Vec<u32>,
    len: usize,
}

impl<K> Default for Ranks<K> {
    fn default() -> Ranks<K> {
        Ranks { blocks: Vec::new(), lengths: Vec::new(), len: 0 }
    }
}

impl<K: Ord> Ranks<K> {
    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Puts a key in its place; false if it is there.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        let last = self.blocks.len().saturating_sub(1);
        let at = self.block_of(|other| *other < key).min(last);
        let Some(block) = self.blocks.get_mut(at) else {
            self.blocks.push(vec![key]);
            self.lengths.push(1);
            self.len = 1;
            return true;
        };
        let Err(place) = block.binary_search(&key) else { return false };
        block.insert(place, key);
        self.len += 1;
        if block.len() > BLOCK_MAX {
            let rest = block.split_off(block.len() / 2);
            self.blocks.insert(at + 1, rest);
            self.lengths.insert(at + 1, 0);
            self.measure(at + 1);
        }
        self.measure(at);
        true
    }

    /// Takes a key out; false if it is not there.
    pub(crate) fn remove(&mut self, key: &K) -> bool {
        let at = self.block_of(|other| other < key);
        let Some(block) = self.blocks.get_mut(at) else { return false };
        let Ok(place) = block.binary_search(key) else { return false };
        block.remove(place);
        self.len -= 1;
        if block.is_empty() {
            self.blocks.remove(at);
            self.lengths.remove(at);
        } else {
            self.measure(at);
        }
        true
    }

    /// How many keys stand before a place: those of which `is_before` holds, which must be the
    /// first ones.
    pub(crate) fn before(&self, is_before: impl Fn(&K) -> bool) -> usize {
        let at = self.block_of(&is_before);
        let whole: u32 = self.lengths.iter().take(at).sum();
        let part = self.blocks.get(at).map_or(0, |block| block.partition_point(&is_before));
        whole as usize + part
    }

    /// The key at a place, from 0.
    pub(crate) fn get(&self, place: usize) -> Option<&K> {
        self.from(place).next()
    }

    /// The keys from a place on.
    pub(crate) fn from(&self, place: usize) -> impl Iterator<Item = &K> {
        let (mut at, mut left) = (0, place);
        for length in &self.lengths {
            let length = *length as usize;
            if left < length {
                break;
            }
            left -= length;
            at += 1;
        }
        self.blocks.iter().skip(at).flatten().skip(left)
    }

    /// The first block that does not stand wholly before a place.
    fn block_of(&self, is_before: impl Fn(&K) -> bool) -> usize {
        self.blocks.partition_point(|block| block.last().is_some_and(&is_before))
    }

    fn measure(&mut self, at: usize) {
        let length = self.blocks.get(at).map_or(0, Vec::len);
        if let Some(known) = self.lengths.get_mut(at) {
            *known = u32::try_from(length).expect("a block is short");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{BLOCK_MAX, Ranks};

    proptest! {
        #[test]
        fn places_are_those_of_a_sorted_list(
            first in 0..3000_u32,
            steps in vec((any::<bool>(), 0..4000_u32), 0..1500),
        ) {
            let (mut ranks, mut model) = (Ranks::default(), BTreeSet::new());
            // Enough for several blocks, put in from both ends.
            for key in (0..first).rev().step_by(2).chain((0..first).step_by(3)) {
                prop_assert_eq!(ranks.insert(key), model.insert(key));
            }
            for (is_insert, key) in steps {
                if is_insert {
                    prop_assert_eq!(ranks.insert(key), model.insert(key));
                } else {
                    prop_assert_eq!(ranks.remove(&key), model.remove(&key));
                }
                prop_assert_eq!(ranks.before(|other| *other < key), model.range(..key).count());
            }
            prop_assert_eq!(ranks.len(), model.len());
            prop_assert_eq!(ranks.from(0).copied().collect::<Vec<_>>(), Vec::from_iter(model.clone()));
            for place in [0, 1, model.len() / 2, model.len().saturating_sub(1), model.len()] {
                prop_assert_eq!(ranks.get(place), model.iter().nth(place));
                prop_assert_eq!(ranks.from(place).count(), model.len().saturating_sub(place));
            }
            for (block, length) in ranks.blocks.iter().zip(&ranks.lengths) {
                prop_assert_eq!(block.len(), *length as usize);
                assert!((1..=BLOCK_MAX).contains(&block.len()));
            }
        }
    }
}

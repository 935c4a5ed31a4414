//! A sorted set that knows places: how many stand before a key, and who stands at a place.
//!
//! Keys lie in blocks of a few hundred. The last key of each block stands in one row, the length of
//! each in another, and the sums of those lengths, some at a time, in a third. So to find a place
//! is a binary search over the ends, one inside a block, and two short sums: for a million keys a
//! handful of misses of the cache. A tree of counts would save the sums and cost a miss at each of
//! its levels.
//!
//! Invariants: no block is empty, or longer than [`BLOCK_MAX`]; keys grow strictly, within a block
//! and from block to block; `ends` and `lengths` are those of the blocks, `sums` those of the
//! lengths.

/// Keys in a block: moving half of them costs as much as finding the block in a great set.
const BLOCK_MAX: usize = 512;

/// Lengths in a sum: for a million keys as many as there are sums.
const SUMMED: usize = 64;

/// The set.
#[derive(Clone, Debug)]
pub(crate) struct Ranks<K> {
    blocks: Vec<Vec<K>>,
    ends: Vec<K>,
    lengths: Vec<u32>,
    sums: Vec<u32>,
    len: usize,
}

impl<K> Default for Ranks<K> {
    fn default() -> Ranks<K> {
        let (blocks, ends, lengths, sums) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ranks { blocks, ends, lengths, sums, len: 0 }
    }
}

impl<K: Ord + Clone> Ranks<K> {
    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Puts a key in its place; false if it is there.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        let last = self.blocks.len().saturating_sub(1);
        let at = self.block_of(|other| *other < key).min(last);
        let Some(block) = self.blocks.get_mut(at) else {
            self.put_block(0, vec![key]);
            self.len = 1;
            return true;
        };
        let Err(place) = block.binary_search(&key) else { return false };
        block.insert(place, key);
        self.len += 1;
        let rest = (block.len() > BLOCK_MAX).then(|| block.split_off(block.len() / 2));
        self.measure(at);
        if let Some(rest) = rest {
            self.put_block(at + 1, rest);
        }
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
            self.ends.remove(at);
            self.lengths.remove(at);
            self.sum_from(at);
        } else {
            self.measure(at);
        }
        true
    }

    /// How many keys stand before a place: those of which `is_before` holds, which must be the
    /// first ones.
    pub(crate) fn before(&self, is_before: impl Fn(&K) -> bool) -> usize {
        let at = self.block_of(&is_before);
        let part = self.blocks.get(at).map_or(0, |block| block.partition_point(&is_before));
        self.before_block(at) + part
    }

    /// The same for two places of which the second does not stand before the first. They cost
    /// little more than one if they are close to each other.
    pub(crate) fn before_both(
        &self,
        first: impl Fn(&K) -> bool,
        second: impl Fn(&K) -> bool,
    ) -> (usize, usize) {
        let at = self.block_of(&first);
        let block = self.blocks.get(at).map(Vec::as_slice).unwrap_or_default();
        let part = block.partition_point(&first);
        let before = self.before_block(at) + part;
        let rest = block.get(part..).unwrap_or_default();
        let is_same = !rest.first().is_some_and(&second);
        let more = if is_same { 0 } else { rest.partition_point(&second) };
        if more > 0 && more == rest.len() {
            return (before, self.before(second));
        }
        (before, before + more)
    }

    /// The key at a place, from 0.
    pub(crate) fn get(&self, place: usize) -> Option<&K> {
        self.from(place).next()
    }

    /// The keys from a place on.
    pub(crate) fn from(&self, place: usize) -> impl Iterator<Item = &K> {
        let (sums, left) = passed(&self.sums, place);
        let lengths = self.lengths.get(sums * SUMMED..).unwrap_or_default();
        let (blocks, left) = passed(lengths, left);
        self.blocks.iter().skip(sums * SUMMED + blocks).flatten().skip(left)
    }

    /// The first block that does not stand wholly before a place.
    fn block_of(&self, is_before: impl Fn(&K) -> bool) -> usize {
        self.ends.partition_point(is_before)
    }

    /// How many keys stand in the blocks before one.
    fn before_block(&self, at: usize) -> usize {
        let summed = at / SUMMED;
        let sums = self.sums.iter().take(summed);
        let lengths = self.lengths.get(summed * SUMMED..at).unwrap_or_default();
        sums.chain(lengths).map(|length| *length as usize).sum()
    }

    fn put_block(&mut self, at: usize, block: Vec<K>) {
        let Some(end) = block.last() else { return };
        self.ends.insert(at, end.clone());
        self.lengths.insert(at, length_of(&block));
        self.blocks.insert(at, block);
        self.sum_from(at);
    }

    /// Notes the length and the end of a block that has changed.
    fn measure(&mut self, at: usize) {
        let Some(block) = self.blocks.get(at) else { return };
        let length = length_of(block);
        let noted = (self.lengths.get_mut(at), self.sums.get_mut(at / SUMMED));
        if let (Some(known), Some(sum)) = noted {
            *sum = *sum + length - *known;
            *known = length;
        }
        if let (Some(end), Some(last)) = (self.ends.get_mut(at), block.last())
            && end != last
        {
            *end = last.clone();
        }
    }

    /// Sums again from the lengths of a block on: those behind it have moved.
    fn sum_from(&mut self, at: usize) {
        let summed = at / SUMMED;
        self.sums.truncate(summed);
        let moved = self.lengths.get(summed * SUMMED..).unwrap_or_default();
        self.sums.extend(moved.chunks(SUMMED).map(|lengths| lengths.iter().sum::<u32>()));
    }
}

fn length_of<K>(block: &[K]) -> u32 {
    u32::try_from(block.len()).expect("a block is short")
}

/// How many of the lengths a place is behind, and how far behind them.
fn passed(lengths: &[u32], place: usize) -> (usize, usize) {
    let mut left = place;
    for (index, length) in lengths.iter().enumerate() {
        match left.checked_sub(*length as usize) {
            Some(rest) => left = rest,
            None => return (index, left),
        }
    }
    (lengths.len(), left)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{BLOCK_MAX, Ranks, SUMMED};

    /// A sorted list, in which a place is an index.
    #[derive(Default)]
    struct Sorted(Vec<u32>);

    impl Sorted {
        fn insert(&mut self, key: u32) -> bool {
            let place = self.0.binary_search(&key);
            place.map_err(|place| self.0.insert(place, key)).is_err()
        }

        fn remove(&mut self, key: u32) -> bool {
            let place = self.0.binary_search(&key);
            place.map(|place| self.0.remove(place)).is_ok()
        }

        fn before(&self, key: u32) -> usize {
            self.0.partition_point(|other| *other < key)
        }
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn places_are_those_of_a_sorted_list(
            first in 0..3000_u32,
            steps in vec((any::<bool>(), 0..4000_u32), 0..1500),
        ) {
            let (mut ranks, mut model) = (Ranks::default(), Sorted::default());
            // Enough for several blocks, put in from both ends.
            for key in (0..first).rev().step_by(2).chain((0..first).step_by(3)) {
                prop_assert_eq!(ranks.insert(key), model.insert(key));
            }
            for (is_insert, key) in steps {
                if is_insert {
                    prop_assert_eq!(ranks.insert(key), model.insert(key));
                } else {
                    prop_assert_eq!(ranks.remove(&key), model.remove(key));
                }
                prop_assert_eq!(ranks.before(|other| *other < key), model.before(key));
            }
            prop_assert_eq!(ranks.len(), model.0.len());
            prop_assert_eq!(ranks.from(0).copied().collect::<Vec<_>>(), model.0.clone());
            let count = model.0.len();
            for place in [0, 1, count / 2, count.saturating_sub(1), count] {
                prop_assert_eq!(ranks.get(place), model.0.get(place));
                prop_assert_eq!(ranks.from(place).count(), count.saturating_sub(place));
            }
            for (key, far) in [(0, 1), (500, 0), (500, 1), (500, 300), (1000, 2000), (1, 9000)] {
                let both = ranks.before_both(|it| *it < key, |it| *it < key + far);
                let counted = (model.before(key), model.before(key + far));
                prop_assert_eq!(both, counted);
            }
            let lengths: Vec<usize> = ranks.lengths.iter().map(|it| *it as usize).collect();
            prop_assert_eq!(ranks.blocks.iter().map(Vec::len).collect::<Vec<_>>(), lengths);
            prop_assert!(ranks.blocks.iter().all(|block| (1..=BLOCK_MAX).contains(&block.len())));
            prop_assert!(ranks.blocks.iter().map(|block| block.last()).eq(ranks.ends.iter().map(Some)));
            let sums = ranks.lengths.chunks(SUMMED).map(|lengths| lengths.iter().sum::<u32>());
            prop_assert!(sums.eq(ranks.sums.iter().copied()));
        }
    }

    #[test]
    fn a_great_set_has_several_sums_and_its_places_are_right() {
        let mut ranks = Ranks::default();
        for key in (0..100_000_u32).rev() {
            assert!(ranks.insert(key * 2));
        }
        assert!(ranks.sums.len() > 3, "{} sums", ranks.sums.len());
        for key in (0..200_000).step_by(997) {
            assert_eq!(ranks.before(|other| *other < key), key.div_ceil(2) as usize);
        }
        for place in (0..100_000).step_by(991) {
            assert_eq!(ranks.get(place), Some(&(place as u32 * 2)));
        }
        for key in (0..100_000_u32).filter(|key| key % 7 != 0) {
            assert!(ranks.remove(&(key * 2)));
        }
        assert_eq!(ranks.from(0).copied().collect::<Vec<_>>().len(), 14_286);
        assert_eq!(ranks.get(14_000), Some(&(14_000 * 14)));
    }
}

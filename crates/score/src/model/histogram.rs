//! What is remembered of rows that were trimmed: how many, and about where.
//!
//! A row is counted by the first key of its game's sort, turned so that less is better. Buckets
//! are few; when there are too many, the two neighbours that hold the least become one. When the
//! game sorts by something else, nobody knows any more where the rows of before would stand: they
//! are counted, and have no place.
//!
//! Invariants: buckets grow and do not overlap, and all are of one rule; the sum of their counts and
//! of what has no place is the number of rows that were added. Outside of buckets the answer is
//! exact; inside of one it is off by less than its count.

use super::game::Rule;

/// Rows between two values, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) count: u64,
}

/// What was trimmed off one board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    /// What its buckets are counted by; none as long as that is the first rule that asks.
    by: Option<Rule>,
    buckets: Vec<Bucket>,
    /// Rows that were counted by other rules.
    unplaced: u64,
}

impl Histogram {
    /// One that was written before; what is no histogram is empty.
    pub(crate) fn from_parts(by: Option<Rule>, buckets: Vec<Bucket>, unplaced: u64) -> Histogram {
        let grows = buckets.is_sorted_by(|one, next| one.high < next.low);
        let whole = buckets.iter().all(|bucket| bucket.low <= bucket.high);
        Histogram { by, buckets: if grows && whole { buckets } else { Vec::new() }, unplaced }
    }

    /// The same rows for a game that sorts by this first.
    pub(crate) fn counted_by(self, rule: Rule) -> Histogram {
        let unplaced = self.total();
        match self.by {
            Some(by) if by != rule => Histogram { by: Some(rule), buckets: Vec::new(), unplaced },
            Some(_) | None => Histogram { by: Some(rule), ..self },
        }
    }

    /// What its buckets are counted by, if it was said.
    pub(crate) fn rule(&self) -> Option<Rule> {
        self.by
    }

    /// How many rows are counted and have no place.
    pub(crate) fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// Its buckets, from the best.
    pub(crate) fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// How many rows were trimmed.
    pub(crate) fn total(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum::<u64>() + self.unplaced
    }

    /// Adds a row, by the key of the rule that it is counted by.
    pub(crate) fn add(&mut self, key: i64, buckets_max: usize) {
        let at = self.buckets.partition_point(|bucket| bucket.high < key);
        match self.buckets.get_mut(at).filter(|bucket| bucket.low <= key) {
            Some(bucket) => bucket.count += 1,
            None => self.buckets.insert(at, Bucket { low: key, high: key, count: 1 }),
        }
        if self.buckets.len() > buckets_max {
            self.merge();
        }
    }

    /// About how many of the rows were better than `key`.
    pub(crate) fn better(&self, key: i64) -> u64 {
        let better = |bucket: &Bucket| {
            if bucket.high < key {
                return bucket.count;
            }
            if bucket.low >= key {
                return 0;
            }
            let (low, high) = (i128::from(bucket.low), i128::from(bucket.high));
            let share = i128::from(bucket.count) * (i128::from(key) - low) / (high - low + 1);
            u64::try_from(share).unwrap_or(0)
        };
        self.buckets.iter().map(better).sum()
    }

    fn merge(&mut self) {
        let held = |pair: &[Bucket]| pair.iter().map(|bucket| bucket.count).sum::<u64>();
        let pairs = self.buckets.windows(2).enumerate();
        let Some((at, _)) = pairs.min_by_key(|(_, pair)| held(pair)) else { return };
        let next = self.buckets.remove(at + 1);
        if let Some(bucket) = self.buckets.get_mut(at) {
            bucket.high = next.high;
            bucket.count += next.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::Histogram;
    use crate::model::game::{Direction, Field, Rule};

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn nothing_is_lost_and_the_answer_is_off_by_less_than_a_bucket(
            keys in vec(-1000..1000_i64, 0..400),
            asked in -1100..1100_i64,
        ) {
            let mut histogram = Histogram::default();
            for key in &keys {
                histogram.add(*key, 16);
            }
            prop_assert!(histogram.buckets().len() <= 16);
            prop_assert_eq!(histogram.total(), keys.len() as u64);
            let exact = keys.iter().filter(|key| **key < asked).count() as u64;
            let inside = histogram.buckets().iter().find(|b| b.low < asked && asked <= b.high);
            let off = histogram.better(asked).abs_diff(exact);
            prop_assert!(off <= inside.map_or(0, |bucket| bucket.count), "off by {off}");
            let again = Histogram::from_parts(None, histogram.buckets().to_vec(), 0);
            prop_assert_eq!(again, histogram);
        }
    }

    #[test]
    fn under_another_rule_rows_are_counted_and_have_no_place() {
        let rule = |direction| Rule { by: Field::Score, direction };
        let (up, down) = (rule(Direction::Ascending), rule(Direction::Descending));
        let mut histogram = Histogram::default().counted_by(up);
        [1, 2, 3].iter().for_each(|key| histogram.add(*key, 16));
        assert_eq!(histogram.clone().counted_by(up), histogram);
        let mut turned = histogram.counted_by(down);
        assert_eq!((turned.total(), turned.better(9), turned.unplaced()), (3, 0, 3));
        turned.add(-5, 16);
        let back = turned.clone().counted_by(up);
        assert_eq!((turned.total(), turned.better(9)), (4, 1));
        assert_eq!((back.total(), back.better(9)), (4, 0));
    }
}

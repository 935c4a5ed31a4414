//! Where a number of a room stands among its comments: decides where to look next, and looks at
//! nothing itself.

use base::Uuid;

use crate::limits::NUMBERS_LEFT_MAX;

/// Where comments up to a number end, by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Comments up to this id have at most the number.
    pub(super) up_to: Option<Uuid>,
    /// Comments from this id on have a greater one; nothing if that is not known of any.
    pub(super) behind: Option<Uuid>,
}

impl Span {
    /// Nothing is known: the number may stand anywhere.
    pub(super) const ALL: Span = Span { up_to: None, behind: None };
}

/// Where to look next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// At the first comment above this id.
    Above(u128),
    /// At the last comment up to this id.
    UpTo(u128),
}

/// A search for the end of the comments up to `seq`.
///
/// Invariant: comments with an id up to `low` have at most the number, those with an id above `high`
/// have a greater one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    seq: u64,
    low: u128,
    /// The greatest number that is known at `low` or before.
    low_seq: u64,
    high: u128,
    /// The least number that is known above `high`.
    high_seq: u64,
}

impl Search {
    /// A search in a room whose newest comment and number are these. The number is greater than
    /// `seq`.
    pub(super) fn new(seq: u64, last: u128, newest: u64) -> Search {
        Search { seq, low: 0, low_seq: 0, high: last, high_seq: newest + 1 }
    }

    /// Where to look next; nothing if one read has all that is left between. Looks up and down take
    /// turns: each jumps over a pause from its side.
    pub(super) fn probe(&self, turn: u32) -> Option<Probe> {
        let numbers = self.high_seq - self.low_seq;
        if self.low >= self.high || numbers <= u64::from(NUMBERS_LEFT_MAX) {
            return None;
        }
        if self.low == 0 {
            // The first comment: before it there are decades without any.
            return Some(Probe::Above(0));
        }
        let span = self.high - self.low;
        // A little before the number, to know what is surely up to it, and a little behind it.
        let margin = u64::from(NUMBERS_LEFT_MAX) / 4;
        let ahead = match turn % 3 {
            0 => {
                let before = self.seq.saturating_sub(margin).saturating_sub(self.low_seq);
                share(span, before, numbers)
            }
            1 => share(span, (self.seq + margin - self.low_seq).min(numbers), numbers),
            _ => span / 2,
        };
        // Never at an end, where nothing is learnt.
        let at = self.low + ahead.clamp(1, span.saturating_sub(1).max(1));
        Some(if turn.is_multiple_of(2) {
            Probe::Above(at.min(self.high - 1))
        } else {
            Probe::UpTo(at)
        })
    }

    /// Takes in the comment that was found there, if there is one.
    pub(super) fn learn(&mut self, probe: Probe, found: Option<(u128, u64)>) {
        let found = found.map(|(id, seq)| (id, seq, seq <= self.seq));
        match (probe, found) {
            (Probe::Above(_), Some((id, seq, true))) => (self.low, self.low_seq) = (id, seq),
            (Probe::Above(at), Some((_, seq, false))) => (self.high, self.high_seq) = (at, seq),
            (Probe::Above(at), None) => self.high = at,
            (Probe::UpTo(at), Some((_, seq, true))) => (self.low, self.low_seq) = (at, seq),
            (Probe::UpTo(_), Some((id, seq, false))) => {
                (self.high, self.high_seq) = (id.saturating_sub(1), seq);
            }
            (Probe::UpTo(at), None) => self.low = at,
        }
    }

    pub(super) fn span(&self) -> Span {
        let behind = self.high.checked_add(1).map(Uuid::from_u128);
        Span { up_to: Some(Uuid::from_u128(self.low)), behind }
    }
}

/// `part` of `whole` parts of a span.
fn share(span: u128, part: u64, whole: u64) -> u128 {
    let (part, whole) = (u128::from(part), u128::from(whole));
    span.checked_mul(part).map_or(span / whole * part, |product| product / whole)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::{prop_assert, proptest};

    use super::{Probe, Search};
    use crate::limits::{NUMBERS_LEFT_MAX, PROBES_MAX};

    /// Comments after these pauses in milliseconds, with numbers from 1 on.
    fn talk(pauses: &[u64]) -> BTreeMap<u128, u64> {
        let mut now = 1_800_000_000_000_u128;
        let mut comments = BTreeMap::new();
        for (number, pause) in pauses.iter().enumerate() {
            now += u128::from(*pause);
            // As ids are: a moment, and a tail that grows within one.
            comments.insert((now << 80) + (number as u128) * 1_000_003, number as u64 + 1);
        }
        comments
    }

    /// How many looks, and how many comments are left between.
    fn find(comments: &BTreeMap<u128, u64>, seq: u64) -> (u32, usize) {
        let (last, newest) = comments.last_key_value().unwrap();
        let mut search = Search::new(seq, *last, *newest);
        let mut looks = 0;
        while looks < PROBES_MAX
            && let Some(probe) = search.probe(looks)
        {
            let found = match probe {
                Probe::Above(at) => comments.range(at + 1..).next(),
                Probe::UpTo(at) => comments.range(..=at).next_back(),
            };
            search.learn(probe, found.map(|(id, seq)| (*id, *seq)));
            looks += 1;
        }
        assert!(comments.range(..=search.low).all(|(_, number)| *number <= seq));
        assert!(comments.range(search.high + 1..).all(|(_, number)| *number > seq));
        let left = comments.range(search.low..).take_while(|(id, _)| **id <= search.high);
        (looks, left.count())
    }

    #[test]
    fn a_steady_talk_is_found_in_a_few_looks() {
        let comments = talk(&[250; 20_000]);
        for seq in [1, 2, 199, 200, 201, 5_000, 9_999, 19_700, 19_998, 19_999] {
            let (looks, left) = find(&comments, seq);
            assert!(looks <= 8 && left <= NUMBERS_LEFT_MAX as usize, "{seq}: {looks} {left}");
        }
    }

    proptest! {
        #[test]
        fn any_talk_is_found_in_bounded_looks(
            bursts in proptest::collection::vec((1..2_000_usize, 0..40_u32), 1..12),
            part in 0..1_000_usize,
        ) {
            // Up to a thousand years between two bursts, in which comments share moments.
            let bursts = bursts.into_iter().flat_map(|(count, bits)| {
                std::iter::once(1_u64 << bits).chain((1..count).map(|number| (number % 3) as u64 / 2))
            });
            let comments = talk(&bursts.collect::<Vec<_>>());
            let newest = comments.len() as u64;
            let seq = newest * part as u64 / 1_000;
            if (1..newest).contains(&seq) {
                let (looks, left) = find(&comments, seq);
                prop_assert!(looks < PROBES_MAX && left <= NUMBERS_LEFT_MAX as usize, "{looks} {left}");
            }
        }
    }
}

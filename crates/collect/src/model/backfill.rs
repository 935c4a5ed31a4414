//! A backfill: slots that are asked for again, part after part. Catching up after a stop is one
//! that nobody ordered.

use base::Timestamp;

use super::slot::{Slot, slots_between};
use super::tally::State;

/// Which slots are asked for again, besides those of which nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reprocess {
    /// No others.
    None,
    /// Those that were given up.
    Failed,
    /// All, which finds values that have changed.
    All,
}

impl Reprocess {
    const ALL_WORDS: [Reprocess; 3] = [Reprocess::None, Reprocess::Failed, Reprocess::All];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Reprocess::None => "none",
            Reprocess::Failed => "failed",
            Reprocess::All => "all",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Reprocess> {
        Reprocess::ALL_WORDS.into_iter().find(|it| it.word() == word)
    }

    /// Whether a slot of which this is known is asked for again.
    pub(crate) fn wants(self, state: State) -> bool {
        match state {
            State::Missing => true,
            State::Failed => matches!(self, Reprocess::Failed | Reprocess::All),
            // Somebody is at it.
            State::Retrying => false,
            State::Ok | State::Late | State::Conflict => self == Reprocess::All,
        }
    }
}

/// How far a backfill is. Slots are counted once for each source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Windows that are behind it.
    pub(crate) next: u64,
    /// Slots whose value came.
    pub(crate) done: u64,
    /// Slots whose value did not come at once; the ledger tells what became of them.
    pub(crate) failed: u64,
    /// Slots that nobody wanted again.
    pub(crate) skipped: u64,
}

/// A backfill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backfill {
    pub(crate) id: String,
    /// Sources of one interval.
    pub(crate) sources: Vec<String>,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) interval_s: u64,
    pub(crate) newest_first: bool,
    /// Calls a second, at most, of all backfills of its pace.
    pub(crate) rate: u64,
    /// What names its pace: usually its id.
    pub(crate) pace: String,
    pub(crate) reprocess: Reprocess,
    pub(crate) created_at: Timestamp,
    pub(crate) progress: Progress,
}

impl Backfill {
    /// How many windows it has.
    pub(crate) fn windows(&self) -> u64 {
        slots_between(self.interval_s, self.from, self.to).len() as u64
    }

    /// How many slots it has, of all its sources.
    pub(crate) fn slots(&self) -> u64 {
        self.windows().saturating_mul(self.sources.len() as u64)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.progress.next >= self.windows()
    }

    /// The next windows, up to so many, in its order.
    pub(crate) fn next_windows(&self, count: usize) -> Vec<Slot> {
        let slots = slots_between(self.interval_s, self.from, self.to);
        let next = usize::try_from(self.progress.next).unwrap_or(usize::MAX);
        if self.newest_first {
            slots.rev().skip(next).take(count).collect()
        } else {
            slots.skip(next).take(count).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use base::Timestamp;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{Backfill, Progress, Reprocess};
    use crate::model::tally::State;

    #[test]
    fn what_is_wanted_again_is_what_was_asked_for() {
        let wanted = |reprocess: Reprocess| State::ALL.map(|state| reprocess.wants(state));
        // In the order ok, late, retrying, failed, missing, conflict.
        assert_eq!(wanted(Reprocess::None), [false, false, false, false, true, false]);
        assert_eq!(wanted(Reprocess::Failed), [false, false, false, true, true, false]);
        assert_eq!(wanted(Reprocess::All), [true, true, false, true, true, true]);
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn every_window_comes_once_in_either_order(
            from in 0..10_000_u64,
            seconds in 0..2_000_u64,
            interval_s in 1..60_u64,
            chunk in 1..50_usize,
            newest_first in any::<bool>(),
        ) {
            let at = |seconds: u64| Timestamp::from_millis(seconds * 1000);
            let mut backfill = Backfill {
                id: "x".to_owned(),
                sources: vec!["default".to_owned()],
                from: at(from),
                to: at(from + seconds),
                interval_s,
                newest_first,
                rate: 1,
                pace: "x".to_owned(),
                reprocess: Reprocess::None,
                created_at: at(0),
                progress: Progress::default(),
            };
            let mut seen = Vec::new();
            while !backfill.is_done() {
                let part = backfill.next_windows(chunk);
                prop_assert!(!part.is_empty() && part.len() <= chunk);
                backfill.progress.next += part.len() as u64;
                seen.extend(part);
            }
            prop_assert_eq!(seen.len() as u64, backfill.windows());
            for pair in seen.windows(2) {
                let (earlier, later) =
                    if newest_first { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
                prop_assert_eq!(earlier.to(), later.from());
            }
        }
    }
}

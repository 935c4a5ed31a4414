//! What becomes of slots that were missed, and of those that overlap: four words for both.

use std::time::Duration;

use base::Timestamp;

use super::slot::{Slot, slots_between};

/// The words that schedulers know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Policy {
    Skip,
    BufferOne,
    BufferAll,
    AllowAll,
}

impl Policy {
    pub(crate) const ALL: [Policy; 4] =
        [Policy::Skip, Policy::BufferOne, Policy::BufferAll, Policy::AllowAll];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Policy::Skip => "skip",
            Policy::BufferOne => "buffer_one",
            Policy::BufferAll => "buffer_all",
            Policy::AllowAll => "allow_all",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Policy> {
        Policy::ALL.into_iter().find(|policy| policy.word() == word)
    }
}

/// What is caught up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CatchUp {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// Whether as fast as can be, instead of at the house's rate.
    pub(crate) at_once: bool,
}

/// What is caught up with of the slots from `from` on and before `to`, which nobody planned. No
/// policy reaches further back than `window` from `now`.
pub(crate) fn catch_up(
    policy: Policy,
    interval_s: u64,
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
    window: Duration,
) -> Option<CatchUp> {
    let from = from.max(now.checked_sub(window).unwrap_or(Timestamp::EPOCH));
    let mut slots = slots_between(interval_s, from, to);
    let (last, rest) = (slots.next_back()?, slots.next());
    let first = rest.unwrap_or(last);
    match policy {
        Policy::Skip => None,
        Policy::BufferOne => Some(CatchUp { from: last.from(), to, at_once: false }),
        Policy::BufferAll => Some(CatchUp { from: first.from(), to, at_once: false }),
        Policy::AllowAll => Some(CatchUp { from: first.from(), to, at_once: true }),
    }
}

/// Calls of one source that are under way on this instance, and what waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    running: u32,
    /// The one that waits where only one may.
    waiting: Option<Slot>,
}

/// What becomes of a slot that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// It is asked for; whoever does says when that is over.
    Start,
    /// It comes again a little later.
    Wait,
    /// It is left out.
    Skip,
}

impl Turn {
    pub(crate) fn begin(&mut self, policy: Policy, slot: Slot) -> Overlap {
        let waits = self.waiting == Some(slot);
        let overlap = match policy {
            Policy::Skip | Policy::BufferOne | Policy::BufferAll if self.running == 0 => {
                Overlap::Start
            }
            Policy::AllowAll => Overlap::Start,
            Policy::Skip => Overlap::Skip,
            Policy::BufferAll => Overlap::Wait,
            Policy::BufferOne if waits || self.waiting.is_none() => Overlap::Wait,
            Policy::BufferOne => Overlap::Skip,
        };
        match overlap {
            Overlap::Start => {
                self.running += 1;
                self.waiting = self.waiting.filter(|_| !waits);
            }
            Overlap::Wait if policy == Policy::BufferOne => self.waiting = Some(slot),
            Overlap::Wait | Overlap::Skip => {}
        }
        overlap
    }

    pub(crate) fn end(&mut self) {
        self.running = self.running.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::Timestamp;
    use proptest::prelude::{prop_assert, proptest};

    use super::{CatchUp, Overlap, Policy, Turn, catch_up};
    use crate::model::slot::Slot;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn slot(nth: u64) -> Slot {
        Slot::holding(at(nth * 5), 5)
    }

    #[test]
    fn what_was_missed_is_left_asked_once_or_asked_all() {
        let missed =
            |policy| catch_up(policy, 5, (at(0), at(600)), at(602), Duration::from_secs(60));
        let told = |from, at_once| Some(CatchUp { from: at(from), to: at(600), at_once });
        assert_eq!(missed(Policy::Skip), None);
        assert_eq!(missed(Policy::BufferOne), told(595, false));
        // The window reaches back to 542, and the first slot that begins in it is that of 545.
        assert_eq!(missed(Policy::BufferAll), told(545, false));
        assert_eq!(missed(Policy::AllowAll), told(545, true));
        let nothing = catch_up(Policy::BufferAll, 5, (at(1), at(4)), at(4), Duration::MAX);
        assert_eq!(nothing, None);
    }

    #[test]
    fn a_slot_that_overlaps_is_skipped_waits_or_runs() {
        let begin = |policy| {
            let mut turn = Turn::default();
            [1, 2, 3, 2].map(|nth| turn.begin(policy, slot(nth)))
        };
        let (start, wait, skip) = (Overlap::Start, Overlap::Wait, Overlap::Skip);
        assert_eq!(begin(Policy::Skip), [start, skip, skip, skip]);
        assert_eq!(begin(Policy::BufferOne), [start, wait, skip, wait]);
        assert_eq!(begin(Policy::BufferAll), [start, wait, wait, wait]);
        assert_eq!(begin(Policy::AllowAll), [start; 4]);
    }

    #[test]
    fn the_one_that_waited_starts_and_leaves_its_place() {
        let mut turn = Turn::default();
        let policy = Policy::BufferOne;
        turn.begin(policy, slot(1));
        turn.begin(policy, slot(2));
        turn.end();
        assert_eq!(turn.begin(policy, slot(2)), Overlap::Start);
        assert_eq!(turn.begin(policy, slot(3)), Overlap::Wait);
    }

    #[test]
    fn every_policy_is_read_as_it_is_written() {
        for policy in Policy::ALL {
            assert_eq!(Policy::parse(policy.word()), Some(policy));
        }
        assert_eq!(Policy::parse("sometimes"), None);
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn calls_that_may_not_overlap_never_do(steps in proptest::collection::vec(0..8_u64, 1..60)) {
            for policy in [Policy::Skip, Policy::BufferOne, Policy::BufferAll] {
                let (mut turn, mut running) = (Turn::default(), 0);
                for step in &steps {
                    if *step < 3 {
                        turn.end();
                        running = 0;
                    } else if turn.begin(policy, slot(*step)) == Overlap::Start {
                        running += 1;
                    }
                    prop_assert!(running <= 1);
                }
            }
        }
    }
}

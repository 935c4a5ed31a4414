//! How slots add up: the state of each, sums that know what is missing, and the summary.

use base::Timestamp;

use super::decimal::Decimal;
use super::kind::Kind;
use super::slot::{Slot, minute_of};

/// What is known of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Its value came in time.
    Ok,
    /// Its value came, and its call began late.
    Late,
    /// A try failed; there will be another.
    Retrying,
    /// It was given up.
    Failed,
    /// Nobody asked, or nobody knows.
    Missing,
    /// Its value came, and a later answer said another.
    Conflict,
}

impl State {
    pub(crate) const ALL: [State; 6] =
        [State::Ok, State::Late, State::Retrying, State::Failed, State::Missing, State::Conflict];

    pub(crate) fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Late => "late",
            State::Retrying => "retrying",
            State::Failed => "failed",
            State::Missing => "missing",
            State::Conflict => "conflict",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) slot: Slot,
    pub(crate) state: State,
    /// The value, of a slot that has one.
    pub(crate) count: Option<Decimal>,
    /// What a later answer said instead.
    pub(crate) other_count: Option<Decimal>,
    pub(crate) attempts: u32,
    /// How long the call took.
    pub(crate) latency_ms: Option<u64>,
    /// How long after its time the call began.
    pub(crate) lateness_ms: Option<u64>,
    pub(crate) collected_at: Option<Timestamp>,
    /// What went wrong.
    pub(crate) reason: Option<String>,
}

impl Entry {
    /// A slot of which nothing is known.
    pub(crate) fn missing(slot: Slot) -> Entry {
        Entry {
            slot,
            state: State::Missing,
            count: None,
            other_count: None,
            attempts: 0,
            latency_ms: None,
            lateness_ms: None,
            collected_at: None,
            reason: None,
        }
    }
}

/// A sum of slots that knows how many there should be. Adding up sums, the earlier first, is adding
/// up their slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) expected: u64,
    pub(crate) collected: u64,
    /// Stops at the end of what a decimal holds.
    pub(crate) sum: Decimal,
    pub(crate) min: Option<Decimal>,
    pub(crate) max: Option<Decimal>,
    /// The value of the last slot that has one; none if it is not known, as in sums of older
    /// versions.
    pub(crate) last: Option<Decimal>,
}

impl Tally {
    /// So many expected slots, of which these came, in the order of their times.
    pub(crate) fn new(expected: u64, values: impl IntoIterator<Item = Decimal>) -> Tally {
        values.into_iter().fold(Tally { expected, ..Tally::default() }, |tally, value| {
            tally.and(&Tally {
                expected: 0,
                collected: 1,
                sum: value,
                min: Some(value),
                max: Some(value),
                last: Some(value),
            })
        })
    }

    /// With the slots of a later tally.
    #[must_use]
    pub(crate) fn and(&self, later: &Tally) -> Tally {
        Tally {
            expected: self.expected + later.expected,
            collected: self.collected + later.collected,
            sum: self.sum.plus(later.sum),
            min: self.min.into_iter().chain(later.min).min(),
            max: self.max.into_iter().chain(later.max).max(),
            last: if later.collected > 0 { later.last } else { self.last },
        }
    }

    /// What stands for all slots, if anything came: the sum of counts, the mean of a gauge. A hole
    /// is not a zero.
    pub(crate) fn value(&self, kind: Kind) -> Option<Decimal> {
        match kind {
            Kind::Count => (self.collected > 0).then_some(self.sum),
            Kind::Gauge => self.mean(),
        }
    }

    /// The mean of what came.
    pub(crate) fn mean(&self) -> Option<Decimal> {
        self.sum.shared_by(self.collected)
    }

    /// Which share of what was expected came; none where nothing was expected. What came without
    /// being expected does not make up for a hole elsewhere.
    pub(crate) fn coverage(&self) -> Option<f64> {
        let whole = self.expected.max(self.collected);
        (whole > 0).then(|| self.collected as f64 / whole as f64)
    }
}

/// The minutes of a summary, the oldest first: the last `count` that are over at `end`.
pub(crate) fn minutes_before(end: Timestamp, count: u64) -> Vec<Timestamp> {
    let end = minute_of(end).seconds();
    let minutes = (1..=count).rev().filter_map(|nth| end.checked_sub(nth * 60));
    minutes.filter_map(Timestamp::from_seconds).collect()
}

#[cfg(test)]
mod tests {
    use base::Timestamp;
    use proptest::collection::vec;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::{State, Tally, minutes_before};
    use crate::model::decimal::Decimal;
    use crate::model::kind::Kind;

    #[test]
    fn a_hole_is_not_a_zero() {
        let none = Decimal::from(0);
        let (nothing, zero) = (Tally::new(12, []), Tally::new(12, [none]));
        for kind in Kind::ALL {
            assert_eq!((nothing.value(kind), nothing.coverage()), (None, Some(0.0)));
            assert_eq!((zero.value(kind), zero.coverage()), (Some(none), Some(1.0 / 12.0)));
        }
        assert_eq!(Tally::default().coverage(), None);
    }

    #[test]
    fn a_gauge_is_not_added_up() {
        let values = ["-2.5", "21", "0.5"].map(|text| Decimal::parse(text).unwrap());
        let tally = Tally::new(4, values);
        assert_eq!(tally.value(Kind::Count), Decimal::parse("19"));
        assert_eq!(tally.value(Kind::Gauge).unwrap().to_string(), "6.333333333333333333");
        assert_eq!(
            (tally.min, tally.max, tally.last),
            (Some(values[0]), Some(values[1]), Some(values[2]))
        );
        // An empty window after it does not take its last value away.
        assert_eq!(tally.and(&Tally::new(12, [])).last, tally.last);
    }

    #[test]
    fn every_state_is_read_as_it_is_written() {
        for state in State::ALL {
            assert_eq!(State::parse(state.word()), Some(state));
        }
    }

    #[test]
    fn a_summary_holds_whole_minutes_up_to_the_last() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let minutes = minutes_before(at("2025-12-02T10:23:59.999Z"), 30);
        assert_eq!(minutes.len(), 30);
        assert_eq!(minutes.first(), Some(&at("2025-12-02T09:53:00Z")));
        assert_eq!(minutes.last(), Some(&at("2025-12-02T10:22:00Z")));
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn sums_of_parts_are_the_sum(parts in vec((0..20_u64, vec(0..=1_u64 << 53, 0..20)), 0..20)) {
            let parts: Vec<(u64, Vec<u64>)> = parts;
            let tallies = parts.iter().map(|(holes, counts)| {
                Tally::new(holes + counts.len() as u64, counts.iter().copied().map(Decimal::from))
            });
            let whole = tallies.fold(Tally::default(), |whole, part| whole.and(&part));
            let counts = || parts.iter().flat_map(|(_, counts)| counts.iter().copied());
            prop_assert_eq!(whole.sum, Decimal::from(counts().sum::<u64>()));
            prop_assert_eq!(whole.collected, counts().count() as u64);
            let bounds = (counts().min().map(Decimal::from), counts().max().map(Decimal::from));
            prop_assert_eq!((whole.min, whole.max), bounds);
            prop_assert_eq!(whole.last, counts().last().map(Decimal::from));
            prop_assert!(whole.coverage().is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
    }
}

//! A game: its sort, the size of its boards, and what its plays must be.

use std::cmp::Ordering;

use base::Timestamp;

use super::check_id;
use crate::error::Error;
use crate::limits::{
    ORIGINS_MAX, SCORE_MAX, SORT_KEYS_MAX, TIME_SHORTFALL_MS, TIME_SHORTFALL_RANKED_MS,
    TIME_TOLERANCE_MS, TOP_N_MAX,
};

/// What plays are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    Score,
    TimeMs,
    UpdatedAt,
}

impl Field {
    pub(crate) const ALL: [Field; 3] = [Field::Score, Field::TimeMs, Field::UpdatedAt];

    /// Its name on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Field::Score => "score",
            Field::TimeMs => "timeMs",
            Field::UpdatedAt => "updatedAt",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.word() == word)
    }

    /// How it sorts where a game does not say.
    fn usual(self) -> Direction {
        match self {
            Field::Score | Field::UpdatedAt => Direction::Descending,
            Field::TimeMs => Direction::Ascending,
        }
    }

    fn of(self, value: &Value) -> i64 {
        match self {
            Field::Score => value.score,
            Field::TimeMs => value.time_ms,
            Field::UpdatedAt => i64::try_from(value.updated_at.millis()).unwrap_or(i64::MAX),
        }
    }
}

/// Which end is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    /// Its name on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Direction::Ascending => "asc",
            Direction::Descending => "desc",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Direction> {
        [Direction::Ascending, Direction::Descending].into_iter().find(|it| it.word() == word)
    }
}

/// One key of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    pub(crate) by: Field,
    pub(crate) direction: Direction,
}

/// What is compared of a play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) score: i64,
    pub(crate) time_ms: i64,
    pub(crate) updated_at: Timestamp,
}

/// The keys of a play in the order of a sort, each turned so that less is better.
pub(crate) type Keys = [i64; SORT_KEYS_MAX];

/// A game's sort: one to three different fields, and not `updatedAt` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sort(Vec<Rule>);

impl Sort {
    pub(crate) fn new(rules: Vec<Rule>) -> Result<Sort, Error> {
        let times = |field| rules.iter().filter(|rule| rule.by == field).count();
        if Field::ALL.into_iter().any(|field| times(field) > 1) {
            return Err(Error::invalid("a field stands in `sort` at most once"));
        }
        if times(Field::Score) + times(Field::TimeMs) == 0 {
            return Err(Error::invalid("`sort` must name `score` or `timeMs`"));
        }
        Ok(Sort(rules))
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.0
    }

    /// What counts first.
    pub(crate) fn first(&self) -> Rule {
        let fallback = Rule { by: Field::Score, direction: Field::Score.usual() };
        self.0.first().copied().unwrap_or(fallback)
    }

    /// The keys by which a play is ranked.
    pub(crate) fn keys(&self, value: &Value) -> Keys {
        let mut keys = Keys::default();
        for (key, rule) in keys.iter_mut().zip(&self.0) {
            *key = rule.key(value);
        }
        keys
    }

    /// How two plays compare by what players do: without `updatedAt`, which only ranks. Less is
    /// better.
    pub(crate) fn compare(&self, one: &Value, other: &Value) -> Ordering {
        let played = self.0.iter().filter(|rule| rule.by != Field::UpdatedAt);
        played.fold(Ordering::Equal, |so_far, rule| {
            so_far.then_with(|| rule.key(one).cmp(&rule.key(other)))
        })
    }

    /// How two plays compare whenever they are stored: by the keys before `updatedAt`, behind which
    /// nothing is certain. Less is better.
    pub(crate) fn compare_for_certain(&self, one: &Value, other: &Value) -> Ordering {
        let certain = self.0.iter().take_while(|rule| rule.by != Field::UpdatedAt);
        certain.fold(Ordering::Equal, |so_far, rule| {
            so_far.then_with(|| rule.key(one).cmp(&rule.key(other)))
        })
    }

    /// The same fields with this one first.
    pub(crate) fn by(&self, field: Field) -> Sort {
        let own = self.0.iter().find(|rule| rule.by == field).copied();
        let first = own.unwrap_or(Rule { by: field, direction: field.usual() });
        let others = self.0.iter().copied().filter(|rule| rule.by != field);
        Sort(std::iter::once(first).chain(others).collect())
    }
}

impl Rule {
    fn key(self, value: &Value) -> i64 {
        self.turn(self.by.of(value))
    }

    /// A field's number as a key, of which less is better; and back again.
    pub(crate) fn turn(self, key: i64) -> i64 {
        match self.direction {
            Direction::Ascending => key,
            Direction::Descending => key.saturating_neg(),
        }
    }
}

/// A game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Game {
    pub(crate) name: String,
    pub(crate) sort: Sort,
    pub(crate) top_n: usize,
    pub(crate) rules: PlayRules,
    /// Origins whose pages may submit; empty for all.
    pub(crate) origins: Vec<String>,
    /// Whether it is played with claimed ids only.
    pub(crate) requires_claim: bool,
}

/// What a play must be to be believed, where the game says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlayRules {
    pub(crate) min_play_ms: Option<i64>,
    pub(crate) min_score: Option<i64>,
    pub(crate) max_score: Option<i64>,
    pub(crate) max_score_per_second: Option<i64>,
    /// How much longer than measured a play may say that it was.
    pub(crate) time_tolerance_ms: i64,
    /// How much shorter, where the game says.
    pub(crate) time_shortfall_ms: Option<i64>,
}

impl Default for PlayRules {
    fn default() -> PlayRules {
        PlayRules {
            min_play_ms: None,
            min_score: None,
            max_score: None,
            max_score_per_second: None,
            time_tolerance_ms: TIME_TOLERANCE_MS,
            time_shortfall_ms: None,
        }
    }
}

impl PlayRules {
    /// How much shorter than measured a play of a game with this sort may say that it was.
    pub(crate) fn shortfall_ms(&self, sort: &Sort) -> i64 {
        let first = sort.first();
        let is_race = first.by == Field::TimeMs && first.direction == Direction::Ascending;
        let usual = if is_race { TIME_SHORTFALL_RANKED_MS } else { TIME_SHORTFALL_MS };
        self.time_shortfall_ms.unwrap_or(usual)
    }

    fn check(&self) -> Result<(), Error> {
        for (name, value, least) in [
            ("minPlayMs", self.min_play_ms, 0),
            ("minScore", self.min_score, -SCORE_MAX),
            ("maxScore", self.max_score, self.min_score.unwrap_or(0)),
            ("maxScorePerSecond", self.max_score_per_second, 0),
            ("timeToleranceMs", Some(self.time_tolerance_ms), 0),
            ("timeShortfallMs", self.time_shortfall_ms, 0),
        ] {
            if let Some(value) = value.filter(|value| !(least..=SCORE_MAX).contains(value)) {
                let told = format!("{name} must be from {least} to {SCORE_MAX}, not {value}");
                return Err(Error::invalid(told));
            }
        }
        Ok(())
    }
}

impl Game {
    /// The game, if it is within its bounds.
    pub(crate) fn checked(self) -> Result<Game, Error> {
        check_id("gameName", &self.name)?;
        let top_n = self.top_n;
        if !(1..=TOP_N_MAX).contains(&top_n) {
            let told = format!("topN must be from 1 to {TOP_N_MAX}, not {top_n}");
            return Err(Error::invalid(told));
        }
        self.rules.check()?;
        if self.origins.len() > ORIGINS_MAX {
            let told =
                format!("a game has at most {ORIGINS_MAX} origins, not {}", self.origins.len());
            return Err(Error::invalid(told));
        }
        Ok(self)
    }

    /// Whether a page of this origin may submit. Who names none is no page.
    pub(crate) fn check_origin(&self, origin: Option<&str>) -> Result<(), Error> {
        match origin {
            Some(origin)
                if !self.origins.is_empty() && !self.origins.iter().any(|o| o == origin) =>
            {
                Err(Error::OtherOrigin { game: self.name.clone(), origin: origin.to_owned() })
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cmp::Ordering;

    use base::Timestamp;
    use proptest::prelude::{Just, Strategy, any, prop_assert_eq, proptest};

    use super::{Direction, Field, Rule, Sort, Value};

    /// Any sort that a game can have.
    pub(crate) fn sorts() -> impl Strategy<Value = Sort> {
        let fields = Just(Field::ALL.to_vec()).prop_shuffle();
        (fields, 1..=3_usize, any::<[bool; 3]>()).prop_filter_map(
            "names something played",
            |(fields, length, turned)| {
                let rules = fields.into_iter().zip(turned).take(length).map(|(by, turned)| {
                    let direction =
                        if turned { Direction::Ascending } else { Direction::Descending };
                    Rule { by, direction }
                });
                Sort::new(rules.collect()).ok()
            },
        )
    }

    /// Values close enough to tie often.
    pub(crate) fn values() -> impl Strategy<Value = Value> {
        (-3..4_i64, 1..5_i64, 0..4_u64).prop_map(|(score, time_ms, updated)| Value {
            score,
            time_ms,
            updated_at: Timestamp::from_millis(updated),
        })
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn keys_order_plays_as_the_seeds_comparator_does(
            sort in sorts(), one in values(), other in values(),
        ) {
            let mut expected = Ordering::Equal;
            for rule in sort.rules() {
                let (a, b) = (rule.by.of(&one), rule.by.of(&other));
                if a != b {
                    expected = if (a > b) == (rule.direction == Direction::Ascending) {
                        Ordering::Greater
                    } else {
                        Ordering::Less
                    };
                    break;
                }
            }
            prop_assert_eq!(sort.keys(&one).cmp(&sort.keys(&other)), expected);
            let timeless = Value { updated_at: other.updated_at, ..one };
            prop_assert_eq!(sort.compare(&one, &other), sort.compare(&timeless, &other));
        }
    }

    #[test]
    fn a_sort_names_something_played_and_nothing_twice() {
        let rule = |by| Rule { by, direction: Direction::Ascending };
        for rules in [vec![], vec![rule(Field::UpdatedAt)]] {
            let told = Sort::new(rules).unwrap_err().to_string();
            assert_eq!(told, "`sort` must name `score` or `timeMs`");
        }
        let told = Sort::new(vec![rule(Field::Score), rule(Field::Score)]).unwrap_err();
        assert_eq!(told.to_string(), "a field stands in `sort` at most once");
    }
}

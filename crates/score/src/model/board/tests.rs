//! Boards against a sorted list.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use base::Timestamp;
use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::{Board, Change, Row};
use crate::model::game::tests::{sorts, values};
use crate::model::game::{Direction, Field, Game, PlayRules, Rule, Sort, Value};
use crate::model::histogram::Histogram;

fn game(sort: Sort, top_n: usize) -> Game {
    let (rules, origins) = (PlayRules::default(), Vec::new());
    Game { name: "g".to_owned(), sort, top_n, rules, origins, requires_claim: false }
}

fn by_score() -> Sort {
    Sort::new(vec![Rule { by: Field::Score, direction: Direction::Descending }]).unwrap()
}

fn row(user: &str, value: Value, ver: u64) -> Row {
    Row { user: Arc::from(user), name: Arc::from("名"), value, ver }
}

fn scored(user: &str, score: i64, ver: u64) -> Row {
    row(user, Value { score, time_ms: 1, updated_at: Timestamp::EPOCH }, ver)
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, Value),
    Remove(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put = (0..12_u8, values()).prop_map(|(user, value)| Step::Put(user, value));
    vec(prop_oneof![4 => put, 1 => (0..12_u8).prop_map(Step::Remove)], 0..60)
}

/// All rows by the seed's comparator, userId last.
fn sorted(model: &BTreeMap<String, Row>, sort: &Sort) -> Vec<Row> {
    let mut rows: Vec<Row> = model.values().cloned().collect();
    rows.sort_by(|one, other| {
        let keys = sort.keys(&one.value).cmp(&sort.keys(&other.value));
        keys.then_with(|| one.user.as_bytes().cmp(other.user.as_bytes()))
    });
    rows
}

proptest! {
    #![proptest_config(testkit::depth::cases(256))]

    #[test]
    fn a_distribution_counts_every_row_once_in_equal_steps(
        sort in sorts(), rows in vec(values(), 0..40), trimmed in vec(-9..9_i64, 0..20),
        steps_max in 1..6_u32,
    ) {
        let mut histogram = Histogram::default();
        trimmed.iter().for_each(|key| histogram.add(*key, 4));
        let mut board = Board::new(&game(sort.clone(), 3), histogram);
        for (number, value) in (1..).zip(&rows) {
            board.put(row(&format!("u{number}"), *value, number));
        }
        let steps = board.distribution(steps_max);
        let keys: Vec<i64> = rows.iter().map(|value| sort.keys(value)[0]).collect();
        prop_assert_eq!(
            steps.iter().map(|step| step.count).sum::<u64>(),
            (rows.len() + trimmed.len()) as u64
        );
        prop_assert!(steps.len() <= steps_max as usize);
        prop_assert!(steps.is_sorted_by(|one, next| one.high + 1 == next.low));
        let widths: HashSet<i64> = steps.iter().map(|step| step.high - step.low).collect();
        prop_assert!(widths.len() <= 1);
        prop_assert_eq!(steps.first().map(|step| step.low), keys.iter().chain(&trimmed).min().copied());
        if trimmed.is_empty() {
            for step in &steps {
                let exact = keys.iter().filter(|key| (step.low..=step.high).contains(key)).count();
                prop_assert_eq!(step.count, exact as u64);
            }
        }
    }

    #[test]
    fn a_board_is_a_sort_of_its_rows_after_every_step(
        sort in sorts(), top_n in 1..8_usize, steps in steps(),
    ) {
        let mut board = Board::new(&game(sort.clone(), top_n), Histogram::default());
        board.is_filled();
        let mut model = BTreeMap::new();
        for (ver, step) in (1..).zip(steps) {
            let was: Vec<Row> = sorted(&model, &sort);
            let change = match step {
                Step::Put(user, value) => {
                    let row = row(&format!("u{user}"), value, ver);
                    model.insert(row.user.to_string(), row.clone());
                    board.put(row)
                }
                Step::Remove(user) => {
                    let user = format!("u{user}");
                    model.remove(&user);
                    board.remove(&user, ver)
                }
            };
            let is: Vec<Row> = sorted(&model, &sort);
            prop_assert_eq!(board.from(1).cloned().collect::<Vec<_>>(), is.clone());
            prop_assert_eq!(board.top().count(), is.len().min(top_n));
            prop_assert_eq!(board.threshold(), is.get(top_n - 1));
            let seen = was.iter().take(top_n).ne(is.iter().take(top_n));
            prop_assert_eq!(seen, change.as_ref().is_some_and(|change| change.is_seen));
            if let Some(change) = change {
                check_change(&change, &was, &is, top_n);
            }
            let results: Vec<_> = is.iter().map(|row| sort.keys(&row.value)).collect();
            for (index, row) in is.iter().enumerate() {
                let (_, standing) = board.standing_of(&row.user).unwrap();
                let keys = sort.keys(&row.value);
                let better: Vec<_> = results.iter().filter(|other| **other < keys).collect();
                prop_assert_eq!(standing.ordinal, index as u64 + 1);
                prop_assert_eq!(standing.competition, better.len() as u64 + 1);
                let distinct: HashSet<_> = better.into_iter().collect();
                prop_assert_eq!(standing.dense, distinct.len() as u64 + 1);
                prop_assert_eq!((standing.total, standing.is_estimate), (is.len() as u64, false));
            }
        }
    }

    #[test]
    fn a_play_that_is_below_changes_no_row_of_the_top_whoever_played_it_and_whenever(
        sort in sorts(), top_n in 1..6_usize, plays in vec((0..8_u8, values()), 0..20),
        value in values(), user in 0..9_u8, stored in 0..4_u64,
    ) {
        let mut board = Board::new(&game(sort.clone(), top_n), Histogram::default());
        for (ver, (user, value)) in (1..).zip(plays) {
            board.put(row(&format!("u{user}"), value, ver));
        }
        let before: Vec<Row> = board.top().cloned().collect();
        let user = format!("u{user}");
        let stored = Value { updated_at: Timestamp::from_millis(stored), ..value };
        let own = board.standing_of(&user).map(|(row, _)| row.value);
        // As a submission decides.
        let is_better = own.is_none_or(|own| sort.compare(&stored, &own).is_lt());
        if board.is_below(&value) && is_better {
            board.put(row(&user, stored, 99));
            prop_assert_eq!(board.top().cloned().collect::<Vec<_>>(), before);
        }
    }

    #[test]
    fn rows_may_come_in_any_order_and_twice(
        sort in sorts(),
        plays in vec((0..6_u8, values()), 1..30),
        order in vec(0..30_usize, 0..60),
    ) {
        let rows: Vec<Row> = (1..).zip(plays)
            .map(|(ver, (user, value))| row(&format!("u{user}"), value, ver))
            .collect();
        let mut board = Board::new(&game(sort.clone(), 3), Histogram::default());
        for index in order {
            board.put(rows[index % rows.len()].clone());
        }
        let mut model = BTreeMap::new();
        for row in rows {
            board.put(row.clone());
            model.insert(row.user.to_string(), row);
        }
        prop_assert_eq!(board.from(1).cloned().collect::<Vec<_>>(), sorted(&model, &sort));
    }
}

/// A reader that has the old top and hears of the change has the new top.
fn check_change(change: &Change, was: &[Row], is: &[Row], top_n: usize) {
    let mut seen: Vec<Row> = was.iter().take(top_n).cloned().collect();
    seen.retain(|row| row.user != change.user);
    if let (Some(row), Some(rank)) = (&change.row, change.after.filter(|rank| *rank <= top_n)) {
        seen.insert(rank - 1, row.clone());
    }
    if let Some((rank, row)) = &change.entered {
        seen.insert(rank - 1, row.clone());
    }
    seen.truncate(top_n);
    assert_eq!(seen, is.iter().take(top_n).cloned().collect::<Vec<_>>());
}

#[test]
fn a_page_that_was_read_before_a_deletion_brings_nothing_back() {
    let mut board = Board::new(&game(by_score(), 10), Histogram::default());
    assert_eq!(board.remove("u", 5), None);
    assert_eq!(board.put(scored("u", 1, 5)), None);
    assert!(board.put(scored("u", 1, 6)).is_some(), "made again later");
    board.is_filled();
    assert_eq!(board.remove("u", 5), None, "an old word about a newer row");
    assert_eq!(board.len(), 1);
}

#[test]
fn the_threshold_is_there_when_the_board_is_full_and_a_tie_is_not_below_it() {
    let mut board = Board::new(&game(by_score(), 2), Histogram::default());
    let value = |score| Value { score, time_ms: 9, updated_at: Timestamp::EPOCH };
    board.put(scored("a", 10, 1));
    assert!(!board.is_below(&value(-5)), "not full");
    board.put(scored("b", 20, 1));
    assert!(board.is_below(&value(9)) && !board.is_below(&value(10)));
    board.put(scored("c", 30, 1));
    assert!(board.is_below(&value(19)) && !board.is_below(&value(20)), "it moves with the board");
}

#[test]
fn where_the_date_counts_before_a_result_the_result_is_not_below() {
    let rule = |by, direction| Rule { by, direction };
    let date = rule(Field::UpdatedAt, Direction::Descending);
    let score = rule(Field::Score, Direction::Descending);
    let time = rule(Field::TimeMs, Direction::Ascending);
    let value = |score, time_ms| Value { score, time_ms, updated_at: Timestamp::EPOCH };
    let below = |rules: [Rule; 3], play: Value| {
        let mut board =
            Board::new(&game(Sort::new(rules.to_vec()).unwrap(), 1), Histogram::default());
        board.put(row("a", value(10, 5), 1));
        board.is_below(&play)
    };
    assert!(!below([date, score, time], value(1, 9)), "the newest stands first");
    assert!(!below([score, date, time], value(10, 9)), "the newest of equals stands first");
    assert!(below([score, date, time], value(9, 1)));
    assert!(below([score, time, date], value(10, 6)));
}

#[test]
fn equals_share_a_rank_and_the_trimmed_count() {
    let mut trimmed = Histogram::default();
    for score in [5, 4, 4] {
        trimmed.add(-score, 64);
    }
    let mut board = Board::new(&game(by_score(), 10), trimmed);
    for (user, score) in [("a", 30), ("b", 20), ("c", 20), ("d", 10)] {
        board.put(scored(user, score, 1));
    }
    let ranks = |user| {
        let (_, it) = board.standing_of(user).unwrap();
        (it.ordinal, it.competition, it.dense, it.percentile())
    };
    assert_eq!(ranks("a"), (1, 1, 1, 100.0));
    assert_eq!(ranks("b"), (2, 2, 2, 85.71));
    assert_eq!(ranks("c"), (3, 2, 2, 85.71));
    assert_eq!(ranks("d"), (4, 4, 3, 57.14));
    let value = Value { score: 3, time_ms: 1, updated_at: Timestamp::EPOCH };
    let low = board.standing_at(&value);
    assert_eq!((low.competition, low.total, low.is_estimate), (8, 8, true));
}

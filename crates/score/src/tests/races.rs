//! Many at once: the best stays, nothing is counted twice, and the board is what the table is.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Timestamp;
use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::test_runner::TestRunner;
use testkit::{depth, wait};
use tokio::task::JoinSet;

use super::{Arcade, MONTH, START, board, options};
use crate::Error;
use crate::items;
use crate::model::board::Row;
use crate::model::game::tests::sorts;
use crate::model::game::{Game, PlayRules, Sort};
use crate::model::period::Period;
use crate::model::play::{Claim, End};
use crate::ops::submit::Submission;

fn submission(game: &Arc<Game>, user: &str, sid: &str, score: i64, time_ms: i64) -> Submission {
    let started: Timestamp = START.parse().unwrap();
    let end = End {
        game: None,
        user: None,
        sid: sid.to_owned(),
        started,
        ended: Timestamp::from_millis(started.millis() + 1),
    };
    Submission {
        game: Arc::clone(game),
        period: Period::all(),
        user: user.to_owned(),
        name: user.to_owned(),
        owner: None,
        claim: Claim { score, time_ms },
        end,
        meta: None,
    }
}

fn game(sort: Sort, top_n: usize) -> Game {
    Game {
        name: "snake".to_owned(),
        sort,
        top_n,
        rules: PlayRules::default(),
        origins: vec![],
        requires_claim: false,
    }
}

/// The rows of a board as the table has them.
async fn stored(arcade: &Arcade, period: &str) -> BTreeMap<String, Row> {
    let page = arcade.tables.query(items::query_rows(&board(period))).await.unwrap();
    let rows = page.items.iter().map(|item| items::read_row(item).unwrap());
    rows.map(|row| (row.user.to_string(), row)).collect()
}

#[testkit::test(4)]
async fn of_two_hundred_submissions_of_one_user_at_once_the_best_stays() {
    let arcade = Arcade::with_snake(10).await;
    let game = arcade.score.get_game("snake").unwrap();
    let mut all = JoinSet::new();
    for number in 0..200_i64 {
        let score = Arc::clone(&arcade.score);
        let play = submission(&game, "ada", &format!("s{number}"), number * 37 % 200, 5);
        all.spawn(async move { score.submit(&play).await.map(drop) });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap().unwrap();
    }
    for period in ["ALL", MONTH] {
        assert_eq!(stored(&arcade, period).await["ada"].value.score, 199);
        assert_eq!(arcade.ranking(period).await, super::pairs(&[("ada", 199)]));
    }
}

#[testkit::test(4)]
async fn of_submissions_of_one_user_to_two_instances_at_once_the_best_stays() {
    let one = Arcade::alone_with_snake(10).await;
    let other = one.beside(options()).await;
    let game = one.score.get_game("snake").unwrap();
    let mut all = JoinSet::new();
    for number in 0..200_i64 {
        let at = if number % 2 == 0 { &one } else { &other };
        let score = Arc::clone(&at.score);
        let play = submission(&game, "ada", &format!("s{number}"), number * 37 % 200, 5);
        // Who lost too often is told so, and comes again.
        all.spawn(async move {
            let taken = async {
                loop {
                    match score.submit(&play).await {
                        Err(Error::Contended) => {}
                        done => return done.map(drop),
                    }
                }
            };
            wait::bounded("a submission without contention", taken).await
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap().unwrap();
    }
    for period in ["ALL", MONTH] {
        let row = stored(&one, period).await["ada"].clone();
        assert_eq!((row.value.score, stored(&one, period).await.len()), (199, 1));
    }
}

#[testkit::test(4)]
async fn of_one_session_used_many_times_at_once_one_play_counts() {
    let arcade = Arcade::with_snake(10).await;
    let game = arcade.score.get_game("snake").unwrap();
    let mut all = JoinSet::new();
    for number in 0..50_i64 {
        let score = Arc::clone(&arcade.score);
        let play = submission(&game, &format!("u{number}"), "one", number, 5);
        all.spawn(async move { score.submit(&play).await.is_ok() });
    }
    let mut taken = 0;
    while let Some(done) = all.join_next().await {
        taken += usize::from(done.unwrap());
    }
    assert_eq!(taken, 1);
    assert_eq!((stored(&arcade, "ALL").await.len(), stored(&arcade, MONTH).await.len()), (1, 1));
}

#[testkit::test(4)]
async fn a_trim_among_submissions_loses_no_row_of_the_ranking() {
    let arcade = Arcade::with_snake(5).await;
    let game = arcade.score.get_game("snake").unwrap();
    let mut all = JoinSet::new();
    for number in 0..120_i64 {
        let score = Arc::clone(&arcade.score);
        let user = format!("u{}", number % 30);
        let play = submission(&game, &user, &format!("s{number}"), number, 5);
        all.spawn(async move { score.submit(&play).await.map(drop) });
        if number % 20 == 0 {
            let score = Arc::clone(&arcade.score);
            all.spawn(async move { score.trim("test", false).await.map(drop) });
        }
    }
    while let Some(done) = all.join_next().await {
        done.unwrap().unwrap();
    }
    arcade.score.trim("test", false).await.unwrap();
    let expected: Vec<(String, i64)> =
        (115..120).rev().map(|score| (format!("u{}", score % 30), score)).collect();
    assert_eq!(arcade.ranking("ALL").await, expected);
    assert_eq!(stored(&arcade, "ALL").await.len(), 5);
}

#[testkit::test]
async fn a_row_that_improved_since_the_trim_compared_it_survives() {
    let arcade = Arcade::with_snake(1).await;
    arcade.score("a", 10).await;
    arcade.score("b", 20).await;
    let seen = stored(&arcade, "ALL").await;
    arcade.score("a", 30).await;
    let game = arcade.score.get_game("snake").unwrap();
    let rows = vec![seen["a"].clone(), seen["b"].clone()];
    let deleted = arcade.score.delete_counted(&board("ALL"), &game, rows).await.unwrap();
    assert_eq!(deleted, 1);
    assert_eq!(stored(&arcade, "ALL").await.into_keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(arcade.ranking("ALL").await, super::pairs(&[("a", 30)]));
}

#[derive(Clone, Debug)]
enum Step {
    Submit(u8, i64, i64),
    Trim,
    Pass,
    Forget,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let submit = (0..8_u8, -3..4_i64, 1..4_i64)
        .prop_map(|(user, score, time_ms)| Step::Submit(user, score, time_ms));
    let others = prop_oneof![
        proptest::strategy::Just(Step::Trim),
        proptest::strategy::Just(Step::Pass),
        proptest::strategy::Just(Step::Forget)
    ];
    vec(prop_oneof![5 => submit, 1 => others], 1..40)
}

/// The house beside a plain list: best plays by user, sorted after every step.
async fn check(sort: Sort, top_n: usize, steps: Vec<Step>) {
    let arcade = Arcade::open_with(options(), START).await;
    arcade.score.set_game("test", "snake", Some(&game(sort.clone(), top_n))).await.unwrap();
    let game = arcade.score.get_game("snake").unwrap();
    let mut model: BTreeMap<String, Row> = BTreeMap::new();
    let sorted = |model: &BTreeMap<String, Row>| {
        let mut rows: Vec<Row> = model.values().cloned().collect();
        rows.sort_by(|one, other| {
            let keys = sort.keys(&one.value).cmp(&sort.keys(&other.value));
            keys.then_with(|| one.user.as_bytes().cmp(other.user.as_bytes()))
        });
        rows
    };
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Pass => arcade.pass(1).await,
            Step::Forget => arcade.score.boards.forget(),
            Step::Trim => {
                arcade.score.trim("test", false).await.unwrap();
                let beyond = sorted(&model).split_off(model.len().min(top_n));
                beyond.iter().for_each(|row| drop(model.remove(&*row.user)));
            }
            Step::Submit(user, score, time_ms) => {
                let user = format!("u{user}");
                let play = submission(&game, &user, &format!("s{number}"), score, time_ms);
                let outcomes = arcade.score.submit(&play).await.unwrap();
                let row = outcomes[1].row.clone();
                let value =
                    crate::model::game::Value { score, time_ms, updated_at: arcade.clock.now() };
                let better = model
                    .get(&user)
                    .is_none_or(|before| sort.compare(&value, &before.value).is_lt());
                assert_eq!(outcomes[1].updated, better);
                if better {
                    assert_eq!(row.value, value);
                    model.insert(user, row);
                }
            }
        }
        let expected = sorted(&model);
        for period in ["ALL", MONTH] {
            let slot = arcade.score.board(&game, &period.parse().unwrap()).await.unwrap();
            let rows: Vec<Row> = slot.read(|board| board.from(1).cloned().collect());
            let plays = |rows: &[Row]| -> Vec<_> {
                rows.iter().map(|row| (row.user.clone(), row.name.clone(), row.value)).collect()
            };
            assert_eq!(plays(&rows), plays(&expected), "{period}");
        }
        let shown: Vec<(String, i64)> = expected
            .iter()
            .take(top_n)
            .map(|row| (row.user.to_string(), row.value.score))
            .collect();
        assert_eq!(arcade.ranking("ALL").await, shown);
    }
    assert_eq!(stored(&arcade, "ALL").await, model);
}

#[test]
fn a_board_is_a_sort_of_all_accepted_plays_after_every_step() {
    let cases = (sorts(), 1..6_usize, steps());
    let ran = TestRunner::new(depth::cases(24)).run(&cases, |(sort, top_n, steps)| {
        testkit::run(0, check(sort, top_n, steps));
        Ok(())
    });
    ran.unwrap();
}

//! A school behind one address: every player of it is served, also beside somebody who is not fair.

use serde_json::{Value as Json, json};
use table::query_all;
use testkit::wait::{holds, until_async};

use super::{Arcade, board, options, refused, snake};
use crate::{Options, items};

#[testkit::test]
async fn a_thousand_players_behind_one_address_submit_in_the_same_second() {
    let arcade = Arcade::alone(Options::default(), super::START).await;
    arcade.set_game(&snake(1_000)).await;
    let plays = arcade.plays(1_000).await;
    for (number, play) in plays.iter().enumerate() {
        let answer = arcade.submit(play, &format!("p-{number}"), 5, 900).await;
        assert_eq!(answer.status, 200, "{number}: {answer:?}");
        let answer = arcade.get("/ranking/snake/ALL?limit=10").await;
        assert_eq!(answer.status, 200, "{number}: {answer:?}");
    }
    let rank = arcade.get("/ranking/snake/ALL/rank/p-0").await.json();
    assert_eq!(rank["total"], 1_000);
}

#[testkit::test]
async fn a_cheater_behind_the_address_of_others_uses_up_nothing_of_theirs() {
    // Ten at once for the whole address.
    let options = Options {
        address_submits_per_second: 5,
        submits_at_once: 5,
        submits_per_second: 2,
        ..options()
    };
    let arcade = Arcade::alone(options, super::START).await;
    arcade.set_game(&snake(100)).await;
    arcade.operate("PUT", "/bans/banned", &json!({ "reason": "cheats" })).await;
    let (plays, others) = (arcade.plays(10).await, arcade.plays(50).await);
    for other in &others {
        // Forged, of a banned player, impossible, and much too often; also in the name of others.
        let forged = [("x-sig", "x")];
        let target = ("snake", "ALL", "cheater");
        let answer = arcade.submit_with(other, target, (5, 900), &forged, "").await;
        assert_eq!(answer.refusal().1, "signature_invalid");
        assert!(arcade.submit(other, "banned", 5, 900).await.status >= 400);
        assert!(arcade.submit(other, "cheater", 5, 900_000).await.status >= 400);
        assert!(arcade.submit(other, "p-0", 5, 900_000).await.status >= 400);
    }
    for (number, play) in plays.iter().enumerate() {
        let answer = arcade.submit(play, &format!("p-{number}"), 5, 900).await;
        assert_eq!(answer.status, 200, "{number}: {answer:?}");
    }
    let late = arcade.submit(&others[0], "late", 5, 900).await;
    assert_eq!(late.refusal().1, "rate_limited", "the eleventh");
}

#[testkit::test]
async fn a_play_that_comes_again_uses_up_nothing_of_its_address() {
    let options = Options { address_submits_per_second: 2, ..options() };
    let arcade = Arcade::alone(options, super::START).await;
    arcade.set_game(&snake(100)).await;
    let plays = arcade.plays(4).await;
    assert_eq!(arcade.submit(&plays[0], "a", 5, 900).await.status, 200);
    for _ in 0..50 {
        let again = arcade.submit(&plays[0], "a", 6, 900).await;
        assert_eq!(again.refusal().1, "session_spent");
    }
    for (play, user) in plays.iter().skip(1).zip(["b", "c", "d"]) {
        assert_eq!(arcade.submit(play, user, 5, 900).await.status, 200, "{user}");
    }
}

#[testkit::test]
async fn a_caller_that_reads_boards_all_the_time_hinders_no_play() {
    let options = Options { reads_per_second: 10, ..options() };
    let arcade = Arcade::alone(options, super::START).await;
    arcade.set_game(&snake(100)).await;
    while arcade.get("/games").await.status == 200 {}
    assert_eq!(arcade.get("/ranking/snake/ALL").await.refusal().1, "rate_limited");
    let play = arcade.plays(1).await;
    assert_eq!(arcade.submit(&play[0], "ada", 5, 900).await.status, 200);
}

#[testkit::test]
async fn one_user_who_starts_over_and_over_hinders_no_other_of_its_address() {
    let options = Options { reads_per_second: 20, ..options() };
    let arcade = Arcade::alone(options, super::START).await;
    arcade.set_game(&snake(100)).await;
    let start = async |user: &str| arcade.get(&format!("/get-start?userId={user}")).await;
    for _ in 0..20 {
        assert_eq!(start("mallory").await.status, 200);
    }
    for _ in 0..100 {
        let words = "too many requests by `score-plays-user`; the next may come in 1 s";
        assert_eq!(start("mallory").await.refusal(), refused(429, "rate_limited", words));
    }
    for number in 0..20 {
        assert_eq!(start(&format!("p-{number}")).await.status, 200, "{number}");
    }
}

#[testkit::test]
async fn one_session_that_is_ended_or_submitted_over_and_over_hinders_no_other() {
    let options = Options { reads_per_second: 30, ..Options::default() };
    let arcade = Arcade::alone(options, super::START).await;
    arcade.set_game(&snake(100)).await;
    let plays = arcade.plays(3).await;
    let end = async |number: usize| {
        arcade.ask("GET", "/get-end", &[("x-token-start", &plays[number].start)], "").await
    };
    let mut ends = Vec::new();
    for _ in 0..100 {
        ends.push(end(0).await.status);
    }
    assert!(ends.contains(&429));
    assert_eq!(end(1).await.status, 200, "by session first");
    let words = "too many requests by `score-submits-session`; the next may come in 1 s";
    let mut told = Vec::new();
    for _ in 0..20 {
        told.push(arcade.submit(&plays[0], "ada", 5, 900_000).await.refusal());
    }
    assert_eq!(told[5], refused(429, "rate_limited", words));
    let answer = arcade.submit(&plays[1], "ada", 5, 900).await;
    assert_eq!(answer.status, 200, "another session of the same user: {answer:?}");
}

#[testkit::test]
async fn a_board_that_grows_beyond_its_bound_is_trimmed_at_once() {
    let options = Options { board_rows_max: 1_000, ..options() };
    let arcade = Arcade::alone(options, super::START).await;
    arcade.set_game(&snake(10)).await;
    let row = |number: i64| {
        json!({ "userId": format!("n{number}"), "userName": "n", "score": number, "timeMs": 5,
            "updatedAt": "2027-01-01T00:00:00Z" })
    };
    let rows: Vec<Json> = (0..1_000).map(row).collect();
    let imported = arcade.operate("POST", "/import/snake/ALL", &json!({ "rows": rows })).await;
    assert_eq!(imported.json()["written"], 1_000);
    arcade.score("ada", 5_000).await;
    let look = async || {
        let rows = query_all(&*arcade.tables, items::query_rows(&board("ALL"))).await.unwrap();
        holds(rows.len() == 10, rows.len())
    };
    until_async("the board has what it shows", look).await;
    assert_eq!(arcade.ranking("ALL").await[0], ("ada".to_owned(), 5_000));
}

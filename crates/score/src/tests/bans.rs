//! Scores that should not stand: deletions and bans.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use testkit::wait;
use tokio::task::JoinSet;

use super::{Arcade, MONTH, options, pairs, refused, snake};

#[testkit::test]
async fn a_players_scores_are_deleted_in_all_periods_at_once() {
    let arcade = Arcade::alone(options(), "2027-01-31T23:00:00Z").await;
    arcade.set_game(&snake(10)).await;
    let mut chess = snake(10);
    chess["gameName"] = json!("chess");
    arcade.set_game(&chess).await;
    for user in ["a", "b"] {
        arcade.score(user, 10).await;
    }
    let play = arcade.play(1000).await;
    arcade.submit_with(&play, ("chess", "ALL", "a"), (5, 900), &[], "").await;
    arcade.jump(4 * 3600 - 60).await;
    arcade.pass(120).await;
    arcade.score("a", 20).await;
    let delete = async |path: &str| arcade.operate("DELETE", path, &Json::Null).await;
    let told = delete("/scores/snake/a").await.refusal();
    assert_eq!(told.2, "reason: text has 0 characters, at least 1 needed");
    let gone = delete("/scores/snake/a?reason=cheat").await;
    let periods = json!({ "deleted": "a", "periods": ["2027-01", "2027-02", "ALL"] });
    assert_eq!((gone.status, gone.json()), (200, periods));
    for period in [MONTH, "ALL"] {
        assert_eq!(arcade.ranking(period).await, pairs(&[("b", 10)]), "{period}");
    }
    assert_eq!(arcade.ranking("2027-02").await, []);
    assert_eq!(arcade.get("/ranking/chess/ALL/rank/a").await.status, 200, "another game");
    assert_eq!(delete("/scores/snake/a?reason=x").await.refusal().1, "no_such_player");
    let audit = arcade.operate("GET", "/audit", &Json::Null).await.json();
    let last = audit["entries"].as_array().unwrap().last().unwrap().clone();
    let detail = json!({ "game": "snake", "period": "2027-01 2027-02 ALL", "user": "a",
        "reason": "cheat" });
    assert_eq!((&last["action"], &last["detail"]), (&json!("delete-score"), &detail));
}

#[testkit::test]
async fn a_score_is_deleted_with_a_reason() {
    let arcade = Arcade::with_snake(5).await;
    arcade.score("a", 10).await;
    let told = arcade.operate("DELETE", "/scores/snake/ALL/a", &Json::Null).await.refusal();
    let words = "reason: text has 0 characters, at least 1 needed";
    assert_eq!(told, refused(400, "invalid", words));
    let path = "/scores/snake/ALL/a?reason=cheat";
    let gone = arcade.operate("DELETE", path, &Json::Null).await;
    assert_eq!((gone.status, gone.json()), (200, json!({ "deleted": "a" })));
    assert_eq!(arcade.ranking("ALL").await, []);
    assert_eq!(arcade.ranking(MONTH).await, pairs(&[("a", 10)]), "of one period");
    let told = arcade.operate("DELETE", path, &Json::Null).await.refusal();
    let words = "`a` is not on the board of `snake` for ALL";
    assert_eq!(told, refused(404, "no_such_player", words));
}

#[testkit::test]
async fn who_is_banned_submits_no_more_until_it_ends() {
    let arcade = Arcade::with_snake(5).await;
    let answer = arcade.operate("PUT", "/bans/ada", &json!({ "reason": "cheats" })).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "banned": "ada" })));
    let bans = arcade.operate("GET", "/bans", &Json::Null).await.json();
    assert_eq!(bans, json!([{ "userId": "ada", "reason": "cheats" }]));
    let play = arcade.play(1000).await;
    let told = arcade.submit(&play, "ada", 5, 900).await.refusal();
    assert_eq!(told, refused(403, "banned", "`ada` may not submit"));
    let answer = arcade.operate("DELETE", "/bans/ada", &Json::Null).await;
    assert_eq!(answer.json(), json!({ "unbanned": "ada" }));
    assert_eq!(arcade.submit(&play, "ada", 5, 900).await.status, 200);
    let told = arcade.operate("DELETE", "/bans/ada", &Json::Null).await.refusal();
    assert_eq!(told, refused(404, "not_banned", "`ada` is not banned"));
    let told = arcade.operate("PUT", "/bans/ada", &json!({ "reason": " " })).await.refusal();
    assert_eq!(told.1, "invalid");
}

#[testkit::test]
async fn a_ban_takes_the_rows_and_gives_them_back() {
    let arcade = Arcade::alone(options(), "2027-01-31T23:00:00Z").await;
    arcade.set_game(&snake(10)).await;
    let mut chess = snake(10);
    chess["gameName"] = json!("chess");
    arcade.set_game(&chess).await;
    arcade.score("ada", 10).await;
    arcade.score("bob", 5).await;
    let play = arcade.play(1000).await;
    let body = r#"{"meta": {"n": 1234567890123456789012345678}}"#;
    arcade.submit_with(&play, ("chess", "ALL", "ada"), (7, 900), &[], body).await;
    arcade.jump(4 * 3600 - 60).await;
    arcade.pass(120).await;
    arcade.score("ada", 8).await;
    let late = arcade.play(1000).await;
    let answer = arcade.operate("PUT", "/bans/ada", &json!({ "reason": "cheats" })).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "banned": "ada", "rows": 5 })));
    let boards = [
        ("snake", "2027-01"),
        ("snake", "2027-02"),
        ("snake", "ALL"),
        ("chess", "2027-01"),
        ("chess", "ALL"),
    ];
    let ranked = async || {
        let mut seen = Vec::new();
        for (game, period) in boards {
            let path = format!("/ranking/{game}/{period}/rank/ada");
            let answer = arcade.get(&path).await;
            seen.push((answer.status, answer.json()["score"].clone()));
        }
        seen
    };
    assert!(ranked().await.iter().all(|(status, _)| *status == 404), "{:?}", ranked().await);
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("bob", 5)]));
    assert_eq!(arcade.submit(&late, "ada", 99, 900).await.refusal().1, "banned");
    let again = arcade.operate("PUT", "/bans/ada", &json!({ "reason": "still" })).await;
    assert_eq!(again.json(), json!({ "banned": "ada" }), "nothing is left to take");
    let gone = arcade.operate("DELETE", "/scores/snake/2027-02/ada?reason=x", &Json::Null).await;
    assert_eq!(gone.status, 200, "what a ban took can be deleted: {gone:?}");
    let answer = arcade.operate("DELETE", "/bans/ada", &Json::Null).await;
    assert_eq!(answer.json(), json!({ "unbanned": "ada", "rows": 4 }));
    let mut scores = [10, 8, 10, 7, 7].map(|score| (200, json!(score)));
    scores[1] = (404, Json::Null);
    assert_eq!(ranked().await, scores, "also in the archived month");
    let exported = arcade.operate("GET", "/export/chess/ALL", &Json::Null).await;
    let text = String::from_utf8_lossy(&exported.body).into_owned();
    assert!(text.contains("1234567890123456789012345678"), "with all that is in them: {text}");
    assert_eq!(arcade.submit(&late, "ada", 99, 900).await.status, 200);
    let audit = arcade.operate("GET", "/audit", &Json::Null).await.json();
    assert_eq!(audit["whole"], true);
}

#[testkit::test]
async fn no_play_is_stored_for_who_was_banned_though_it_was_judged_before() {
    let arcade = Arc::new(Arcade::alone_with_snake(5).await);
    assert_eq!(arcade.ranking("ALL").await, []);
    let play = arcade.play(1000).await;
    // The submission is judged and waits for its turn.
    let turn = arcade.score.players.enter(("snake", "ada")).await;
    let mut submissions = JoinSet::new();
    let player = Arc::clone(&arcade);
    submissions.spawn(async move { player.submit(&play, "ada", 5, 900).await });
    let runs = || arcade.instance.ground.tasks.leftover().contains(&"submission".to_owned());
    wait::until_async("the submission to begin", async || wait::holds(runs(), "no submission"))
        .await;
    arcade.operate("PUT", "/bans/ada", &json!({ "reason": "cheats" })).await;
    drop(turn);
    let answer = submissions.join_next().await.unwrap().unwrap();
    assert_eq!(answer.refusal(), refused(403, "banned", "`ada` may not submit"));
    assert_eq!(arcade.ranking("ALL").await, []);
}

#[testkit::test]
async fn bans_and_rows_of_early_versions_are_read() {
    let arcade = Arcade::with_snake(5).await;
    arcade.score("ada", 10).await;
    let key = table::Item::new().with("pk", "BANS").with("sk", "ada");
    let ban = key.with("reason", "cheats").with("at", "2027-01-01T00:00:00.000Z");
    arcade.tables.put(table::Put::new("score", ban)).await.unwrap();
    let row = table::Item::new().with("PK", "G#snake#P#ALL").with("SK", "U#ada");
    let bare = table::Update::new("ScoreTable", row).remove("meta");
    arcade.tables.update(bare).await.unwrap();
    arcade.pass(30).await;
    let bans = arcade.operate("GET", "/bans", &Json::Null).await.json();
    assert_eq!(bans, json!([{ "userId": "ada", "reason": "cheats" }]));
    let exported = arcade.operate("GET", "/export/snake/ALL", &Json::Null).await.json();
    assert_eq!(exported["rows"][0]["meta"], json!({}));
    let answer = arcade.operate("DELETE", "/bans/ada", &Json::Null).await;
    assert_eq!(answer.json(), json!({ "unbanned": "ada" }));
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("ada", 10)]));
    assert_eq!(arcade.score("ada", 11).await["updated"], true);
}

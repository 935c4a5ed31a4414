//! Submissions that come again, and plays of several tabs.

use serde_json::{Value as Json, json};
use testkit::Answer;

use super::{Arcade, Play, START, refused, snake};
use crate::Options;

#[testkit::test]
async fn a_key_is_answered_again_for_three_minutes_and_only_for_the_same_payload() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let target = ("snake", "ALL", "ada");
    for header in ["x-idem-key", "idempotency-key"] {
        let first = arcade.submit_with(&play, target, (5, 900), &[(header, "k1")], "").await;
        assert_eq!((first.status, &first.json()["updated"]), (200, &json!(true)), "{header}");
    }
    let replay = arcade.submit_with(&play, target, (5, 900), &[("x-idem-key", "k1")], "").await;
    assert_eq!(replay.header("idempotency-replayed"), Some("true"));
    let other = arcade.submit_with(&play, target, (6, 900), &[("x-idem-key", "k1")], "").await;
    let words = "the idempotency key was used with another payload";
    assert_eq!(other.refusal(), refused(422, "idempotency_key_reused", words));
    let body = arcade.submit_with(&play, target, (5, 900), &[("x-idem-key", "k1")], "{}").await;
    assert_eq!(body.status, 422, "the body is part of it");
    let long = "k".repeat(129);
    let wrong = arcade.submit_with(&play, target, (5, 900), &[("x-idem-key", &long)], "").await;
    assert_eq!(wrong.refusal().1, "idempotency_key_invalid");
    arcade.pass(181).await;
    let late = arcade.submit_with(&play, target, (5, 900), &[("x-idem-key", "k1")], "").await;
    assert_eq!(late.refusal().1, "session_spent", "forgotten, and the session is not");
}

#[testkit::test]
async fn the_same_request_with_the_same_key_gets_the_same_answer_whatever_entered_in_between() {
    let arcade = Arcade::alone(Options::default(), START).await;
    arcade.set_game(&snake(2)).await;
    let plays = arcade.plays(9).await;
    let key = [("x-idem-key", "k1")];
    let put = async |play: &Play, user: &str, score: i64| {
        arcade.submit_with(play, ("snake", "ALL", user), (score, 900), &key, "").await
    };
    let first = put(&plays[0], "ada", 5).await;
    assert_eq!((first.status, &first.json()["rank"]), (200, &json!(1)));
    let rest = [(&plays[1], "bob"), (&plays[2], "cy")];
    for (play, user) in rest {
        assert_eq!(put(play, user, 50).await.status, 200);
    }
    let below = put(&plays[3], "dan", 1).await;
    assert_eq!(below.json()["reason"], "below-threshold");
    let is_same = async |play: &Play, (user, score): (&str, i64), first: &Answer, when: &str| {
        let again = put(play, user, score).await;
        assert_eq!((again.status, &again.body), (first.status, &first.body), "{when}");
        assert_eq!(again.header("idempotency-replayed"), Some("true"), "{when}");
    };
    is_same(&plays[0], ("ada", 5), &first, "the board is full").await;
    for (play, score) in plays[4..8].iter().zip(60..) {
        assert_eq!(arcade.submit(play, "ada", score, 900).await.status, 200);
    }
    assert_eq!(arcade.submit(&plays[8], "ada", 70, 900).await.refusal().1, "rate_limited");
    is_same(&plays[0], ("ada", 5), &first, "the user's rate is used up").await;
    for user in ["bob", "cy"] {
        let path = format!("/scores/snake/{user}?reason=x");
        assert_eq!(arcade.operate("DELETE", &path, &Json::Null).await.status, 200);
    }
    is_same(&plays[3], ("dan", 1), &below, "the board is not full any more").await;
    arcade.operate("PUT", "/bans/ada", &json!({ "reason": "x" })).await;
    is_same(&plays[0], ("ada", 5), &first, "banned").await;
    arcade.pass(178).await;
    arcade.operate("DELETE", "/games/snake", &Json::Null).await;
    arcade.set_game(&snake(2)).await;
    is_same(&plays[0], ("ada", 5), &first, "almost three minutes later").await;
}

#[testkit::test]
async fn a_key_is_answered_again_though_the_play_is_too_old_by_then() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    arcade.pass(299).await;
    let (target, key) = (("snake", "ALL", "ada"), [("x-idem-key", "k1")]);
    let first = arcade.submit_with(&play, target, (5, 900), &key, "").await;
    assert_eq!(first.status, 200, "{first:?}");
    arcade.pass(60).await;
    let again = arcade.submit_with(&play, target, (5, 900), &key, "").await;
    assert_eq!((again.status, &again.body), (200, &first.body));
}

#[testkit::test]
async fn tabs_and_games_of_one_browser_do_not_end_each_others_plays() {
    let arcade = Arcade::with_snake(10).await;
    let mut chess = snake(10);
    chess["gameName"] = json!("chess");
    arcade.set_game(&chess).await;
    // One jar for all tabs, as a browser has it.
    let mut jar = String::new();
    let mut started = Vec::new();
    for query in ["?gameId=snake", "?gameId=chess&userId=ada", "", "?gameId=snake"] {
        let cookie = [("cookie", jar.as_str())];
        let cookie = if jar.is_empty() { &[][..] } else { &cookie };
        let answer = arcade.ask("GET", &format!("/get-start{query}"), cookie, "").await;
        jar = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        started.push(answer.json());
    }
    arcade.pass(1).await;
    let users = [("snake", "bob"), ("chess", "ada"), ("snake", "cy"), ("snake", "dan")];
    for (started, (game, user)) in started.iter().zip(users) {
        let text = |value: &Json| value.as_str().unwrap().to_owned();
        let start = text(&started["token_start"]);
        let ended = arcade.get(&format!("/get-end?token_start={start}")).await.json();
        let play = Play { end: text(&ended["token_end"]), sid: text(&started["sid"]), start };
        let (target, cookie) = ((game, "ALL", user), [("cookie", jar.as_str())]);
        let answer = arcade.submit_with(&play, target, (5, 900), &cookie, "").await;
        assert_eq!(answer.status, 200, "{user}: {answer:?}");
    }
    let strange = [("cookie", "game_sid=<script>")];
    let answer = arcade.ask("GET", "/get-start", &strange, "").await;
    let sid = answer.json()["sid"].as_str().unwrap().to_owned();
    let own = format!("game_sid={sid};");
    assert!(answer.header("set-cookie").unwrap().starts_with(&own), "what is no cookie of ours");
}

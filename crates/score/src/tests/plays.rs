//! Stories of plays that are in order: begun, ended, submitted, ranked.

use std::time::Duration;

use base::Random;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value as Json, json};
use testkit::{World, wait};

use super::{Arcade, MONTH, board, options, pairs, sign, snake};
use crate::{Options, items};

fn payload(token: &str) -> Json {
    let text = token.split('.').next().unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

#[testkit::test]
async fn a_start_gives_a_token_and_a_cookie() {
    let arcade = Arcade::with_snake(10).await;
    let answer = arcade.get("/get-start?gameId=snake&userId=ada").await;
    let started = answer.json();
    let sid = started["sid"].as_str().unwrap();
    assert_eq!((answer.status, sid.len()), (200, 24));
    assert!(sid.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let token = started["token_start"].as_str().unwrap();
    let expected = json!({
        "token_start": token,
        "t_start": "2027-01-15T08:00:00.000Z",
        "max_dur_s": 1800,
        "sid": sid,
        "ver": 1,
    });
    assert_eq!(started, expected);
    let said = payload(token);
    let kid = said["kid"].as_str().unwrap();
    let expected = json!({
        "gid": "snake", "uid": "ada", "t_start": "2027-01-15T08:00:00.000Z",
        "max_dur_s": 1800, "sid": sid, "kid": kid, "ver": 1,
    });
    assert_eq!(said, expected);
    let cookie = format!("game_sid={sid}; Path=/; HttpOnly; SameSite=Strict; Max-Age=1800");
    assert_eq!(answer.header("set-cookie"), Some(cookie.as_str()));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let unbound = payload(arcade.get("/get-start").await.json()["token_start"].as_str().unwrap());
    assert_eq!((unbound.get("gid"), unbound.get("uid")), (None, None));
}

#[testkit::test]
async fn an_end_measures_the_play_and_judges_the_claim() {
    let arcade = Arcade::with_snake(1).await;
    let started = arcade.get("/get-start?gameId=snake").await.json();
    let token = started["token_start"].as_str().unwrap().to_owned();
    arcade.time.advance(Duration::from_millis(2000)).await;
    let by_header = [("x-token-start", token.as_str())];
    let ended = arcade.ask("GET", "/get-end", &by_header, "").await.json();
    let expected = json!({
        "ok": true,
        "token_end": ended["token_end"],
        "t_end": "2027-01-15T08:00:02.000Z",
        "fraud": { "valid": true, "allowedDriftMs": 1500 },
        "threshold": { "checked": false, "reason": "no-score" },
    });
    assert_eq!(ended, expected);
    let said = payload(ended["token_end"].as_str().unwrap());
    let expected = json!({
        "gid": "snake", "sid": started["sid"], "t_start": "2027-01-15T08:00:00.000Z",
        "t_end": "2027-01-15T08:00:02.000Z", "kid": said["kid"], "ver": 1,
    });
    assert_eq!(said, expected);
    let end = async |score: &str, time: &str| {
        let path = format!("/get-end?token_start={token}");
        arcade.ask("GET", &path, &[("x-score", score), ("x-time-ms", time)], "").await.json()
    };
    let fair = end("5", "3500").await;
    let valid = json!({ "valid": true, "drift": 1500, "allowedDriftMs": 1500 });
    assert_eq!((&fair["ok"], &fair["fraud"]), (&json!(true), &valid));
    assert_eq!(fair["threshold"], json!({ "checked": true, "passed": true }));
    let slow = end("5", "3501").await;
    let fraud = json!({ "valid": false, "reason": "time_exceeds_play", "drift": 1501,
        "allowedDriftMs": 1500 });
    assert_eq!((&slow["ok"], slow.get("token_end"), &slow["fraud"]), (&json!(false), None, &fraud));
    arcade.score("best", 10).await;
    let low = end("9", "100").await;
    let threshold = json!({ "checked": true, "passed": false, "reason": "below-threshold" });
    assert_eq!((&low["ok"], &low["threshold"]), (&json!(true), &threshold));
    arcade.jump(1800).await;
    let late = end("20", "100").await;
    let fraud = json!({ "valid": false, "reason": "play_too_long", "allowedDriftMs": 1500 });
    assert_eq!(late["fraud"], fraud);
}

#[testkit::test]
async fn an_end_without_a_good_token_is_told_so() {
    let arcade = Arcade::with_snake(1).await;
    let told = arcade.get("/get-end").await.refusal();
    assert_eq!(told, super::refused(400, "invalid", "token_start is needed"));
    let forged = arcade.get("/get-end?token_start=abc.def").await;
    let expected = json!({
        "ok": false,
        "t_end": "2027-01-15T08:00:00.000Z",
        "fraud": { "valid": false, "reason": "token_invalid", "allowedDriftMs": 1500 },
        "threshold": { "checked": false },
    });
    assert_eq!((forged.status, forged.json()), (200, expected));
    let half = arcade.ask("GET", "/get-end?token_start=x", &[("x-score", "1")], "").await;
    assert_eq!(half.refusal(), super::refused(400, "invalid", "the header X-Time-Ms is needed"));
}

#[testkit::test]
async fn a_play_counts_in_its_month_and_in_all_time() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let answer = arcade.submit(&play, "ada", 100, 900).await;
    let expected = json!({
        "updated": true, "score": 100, "timeMs": 900,
        "updatedAt": "2027-01-15T08:00:01.000Z", "rank": 1,
        "periods": {
            "2027-01": { "updated": true, "score": 100, "timeMs": 900, "rank": 1 },
            "ALL": { "updated": true, "score": 100, "timeMs": 900, "rank": 1 },
        },
    });
    assert_eq!((answer.status, answer.json()), (200, expected));
    for period in ["ALL", MONTH] {
        assert_eq!(arcade.ranking(period).await, pairs(&[("ada", 100)]));
    }
    let play = arcade.play(1000).await;
    let worse = arcade.submit(&play, "ada", 99, 1).await.json();
    let expected = json!({
        "updated": false, "score": 100, "timeMs": 900,
        "updatedAt": "2027-01-15T08:00:01.000Z", "rank": 1, "reason": "not-better",
        "periods": {
            "2027-01": { "updated": false, "score": 100, "timeMs": 900, "rank": 1 },
            "ALL": { "updated": false, "score": 100, "timeMs": 900, "rank": 1 },
        },
    });
    assert_eq!(worse, expected);
    let play = arcade.play(1000).await;
    let equal = arcade.submit(&play, "ada", 100, 900).await.json();
    assert_eq!((&equal["updated"], &equal["updatedAt"]), (&json!(false), &worse["updatedAt"]));
    let play = arcade.play(1000).await;
    let faster = arcade.submit(&play, "ada", 100, 899).await.json();
    assert_eq!((&faster["updated"], &faster["timeMs"]), (&json!(true), &json!(899)));
    assert_eq!(arcade.score("bob", 200).await["rank"], 1);
    assert_eq!(arcade.score("cy", 150).await["rank"], 2);
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("bob", 200), ("cy", 150), ("ada", 100)]));
}

#[testkit::test]
async fn a_japanese_name_and_meta_come_through_from_end_to_end() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let headers = [("x-player", "%20%E9%95%B7%E5%B1%8B%E3%81%AE%E8%9B%87%E2%80%AE")];
    let target = ("snake", MONTH, "hebi");
    let body = r#"{"meta": {"面": [1, 2.5, {"x": null}]}}"#;
    let answer = arcade.submit_with(&play, target, (7, 900), &headers, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let rows = arcade.get("/ranking/snake/ALL").await.json();
    let expected =
        json!([{ "userId": "hebi", "userName": "長屋の蛇", "score": 7, "timeMs": 900, "rank": 1 }]);
    assert_eq!(rows, expected);
    let exported = arcade.operate("GET", "/export/snake/ALL", &Json::Null).await.json();
    assert_eq!(exported["rows"][0]["meta"], json!({ "面": [1, 2.5, { "x": null }] }));
}

#[testkit::test]
async fn a_play_without_meta_has_an_empty_one_and_long_numbers_keep_their_digits() {
    let arcade = Arcade::with_snake(10).await;
    arcade.score("ada", 5).await;
    let stored = async |user: &str| {
        let row = arcade.tables.get(items::get_row(&board("ALL"), user)).await.unwrap().unwrap();
        items::read_meta(&row).cloned()
    };
    assert_eq!(stored("ada").await, Some(items::meta::empty()));
    let play = arcade.play(1000).await;
    let digits = "12345678901234567890123456789012345678";
    let body = format!("{{\"meta\": {{\"seed\": {digits}}}}}");
    let answer = arcade.submit_with(&play, ("snake", "ALL", "bob"), (4, 900), &[], &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let exported = arcade.operate("GET", "/export/snake/ALL", &Json::Null).await;
    assert!(
        String::from_utf8_lossy(&exported.body).contains(&format!("{{\"seed\":{digits}}}")),
        "{exported:?}"
    );
    assert_eq!(exported.json()["rows"][0]["meta"], json!({}));
    let import = format!("/score/import/snake/{MONTH}");
    let headers = [("x-api-key", arcade.key.as_str()), ("content-type", "application/json")];
    let page = String::from_utf8_lossy(&exported.body).replace("\"score\":4", "\"score\":6");
    let taken = arcade.ask_at("POST", &import, &headers, &page).await;
    assert_eq!(taken.json()["written"], 1, "{taken:?}");
    let again = arcade.operate("GET", &format!("/export/snake/{MONTH}"), &Json::Null).await;
    assert!(String::from_utf8_lossy(&again.body).contains(digits), "{again:?}");
}

#[testkit::test]
async fn the_same_play_under_the_other_period_hears_what_is_stored_and_nothing_else_does() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    arcade.submit(&play, "ada", 100, 900).await;
    let (month, claim) = (("snake", MONTH, "ada"), (100, 900));
    let again = arcade.submit_with(&play, month, claim, &[], "").await.json();
    let expected = json!({
        "updated": false, "score": 100, "timeMs": 900,
        "updatedAt": "2027-01-15T08:00:01.000Z", "rank": 1, "reason": "not-better",
        "periods": {
            "2027-01": { "updated": false, "score": 100, "timeMs": 900, "rank": 1 },
            "ALL": { "updated": false, "score": 100, "timeMs": 900, "rank": 1 },
        },
    });
    assert_eq!(again, expected);
    let spent = super::refused(409, "session_spent", "the session was already used");
    assert_eq!(arcade.submit(&play, "ada", 100, 900).await.refusal(), spent);
    assert_eq!(arcade.submit(&play, "ada", 500, 900).await.refusal(), spent);
    assert_eq!(arcade.submit(&play, "bob", 100, 900).await.refusal(), spent);
    let more = arcade.submit_with(&play, month, (101, 900), &[], "").await;
    assert_eq!(more.refusal(), spent);
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("ada", 100)]));
}

#[testkit::test]
async fn a_row_that_was_trimmed_is_not_answered_by_that_of_the_other_period() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    arcade.submit(&play, "ada", 100, 900).await;
    arcade.operate("DELETE", &format!("/scores/snake/{MONTH}/ada?reason=x"), &Json::Null).await;
    let target = ("snake", MONTH, "ada");
    let again = arcade.submit_with(&play, target, (100, 900), &[], "").await.json();
    let expected = json!({
        "updated": false, "reason": "not-better",
        "periods": { "ALL": { "updated": false, "score": 100, "timeMs": 900, "rank": 1 } },
    });
    assert_eq!(again, expected);
}

#[testkit::test]
async fn a_session_that_is_used_for_another_play_is_remembered() {
    let arcade = Arcade::alone_with_snake(10).await;
    let play = arcade.play(1000).await;
    arcade.submit(&play, "ada", 100, 900).await;
    assert_eq!(arcade.submit(&play, "ada", 100, 900).await.refusal().1, "session_spent");
    let list = async || arcade.operate("GET", "/suspicions", &Json::Null).await.json();
    assert_eq!(list().await, json!([]), "the same play once more is no sign of anything");
    assert_eq!(arcade.submit(&play, "ada", 500, 900).await.refusal().1, "session_spent");
    let expected = json!([{
        "at": "2027-01-15T08:00:01.000Z", "gameId": "snake", "userId": "ada", "score": 500,
        "timeMs": 900, "reason": "session_replayed",
        "detail": "the session was used for a score of 100 in 900 ms",
    }]);
    assert_eq!(list().await, expected);
}

#[testkit::test]
async fn a_claim_that_cannot_be_is_remembered_when_the_play_ends() {
    let arcade = Arcade::alone_with_snake(10).await;
    let end = async |query: &str, claim: [(&'static str, &'static str); 2]| {
        let started = arcade.get(&format!("/get-start?gameId=snake{query}")).await.json();
        arcade.pass(1).await;
        let start = [("x-token-start", started["token_start"].as_str().unwrap())];
        let headers: Vec<_> = start.into_iter().chain(claim).collect();
        arcade.ask("GET", "/get-end", &headers, "").await.json()["ok"] == true
    };
    assert!(end("&userId=ada", [("x-score", "5"), ("x-time-ms", "900")]).await);
    assert!(!end("&userId=ada", [("x-score", "5"), ("x-time-ms", "2501")]).await);
    assert!(!end("", [("x-score", "5"), ("x-time-ms", "9000")]).await);
    let list = arcade.operate("GET", "/suspicions", &Json::Null).await.json();
    let told: Vec<_> =
        list.as_array().unwrap().iter().map(|it| (&it["userId"], &it["reason"])).collect();
    let reason = json!("time_exceeds_play");
    assert_eq!(told, [(&Json::Null, &reason), (&json!("ada"), &reason)]);
}

#[testkit::test]
async fn a_play_that_improved_nothing_has_used_its_session_too() {
    let arcade = Arcade::with_snake(10).await;
    arcade.score("ada", 100).await;
    let play = arcade.play(1000).await;
    assert_eq!(arcade.submit(&play, "ada", 1, 900).await.json()["updated"], false);
    assert_eq!(arcade.submit(&play, "ada", 500, 900).await.status, 409);
}

#[testkit::test]
async fn keys_may_turn_between_start_end_and_submission() {
    let arcade = Arcade::open_with(options(), "2027-01-15T01:59:59Z").await;
    arcade.set_game(&snake(10)).await;
    let kid = |token: &str| payload(token)["kid"].as_str().unwrap().to_owned();
    let before = arcade.score.ring.current();
    let play = arcade.play(2000).await;
    assert_ne!(arcade.score.ring.current().kid(), before.kid(), "turned at 02:00 UTC");
    let both = [kid(&play.start), kid(&play.end)];
    assert_eq!(both, [before.kid(), before.kid()], "what comes of a token is of its key");
    let World { tables, clock, .. } = (*arcade).clone();
    crate::rotate_keys(tables.clone(), clock.clone(), Random::seeded(9)).await.unwrap();
    arcade.pass(61).await;
    assert_eq!(arcade.submit(&play, "ada", 5, 900).await.status, 200, "turned twice");
    let play = arcade.play(1000).await;
    crate::rotate_keys(tables, clock, Random::seeded(8)).await.unwrap();
    assert_eq!(arcade.submit(&play, "bob", 5, 900).await.status, 200, "turned by hand");
    arcade.pass(61).await;
    let next = arcade.play(1000).await;
    assert_ne!(kid(&next.start), kid(&play.start), "the room has seen it");
    assert_eq!(arcade.submit(&next, "cy", 5, 900).await.status, 200);
}

#[testkit::test]
async fn months_begin_and_end_in_the_rooms_zone() {
    let options = Options { time_zone: "Asia/Tokyo".to_owned(), ..options() };
    let arcade = Arcade::open_with(options, "2027-01-31T14:59:59Z").await;
    arcade.set_game(&snake(10)).await;
    let play = arcade.play(2000).await;
    let put = async |period: &str| {
        arcade.submit_with(&play, ("snake", period, "ada"), (5, 900), &[], "").await
    };
    let words = "the play was in 2027-02, not in 2027-03";
    assert_eq!(put("2027-03").await.refusal(), super::refused(400, "invalid", words));
    let answer = put("2027-01").await.json();
    let periods: Vec<&String> = answer["periods"].as_object().unwrap().keys().collect();
    assert_eq!(periods, ["2027-02", "ALL"], "begun in January, counted in February");
    assert_eq!(answer["updated"], true);
    assert_eq!(put("2027-02").await.json()["score"], 5);
    assert_eq!(arcade.ranking("2027-01").await, []);
    assert_eq!(arcade.ranking("2027-02").await, pairs(&[("ada", 5)]));
}

#[testkit::test]
async fn a_play_of_last_month_counts_there_though_nobody_had_played_then() {
    let arcade = Arcade::open_with(options(), "2027-01-31T23:59:50Z").await;
    arcade.set_game(&snake(10)).await;
    let plays = [arcade.play(4000).await, arcade.play(4000).await];
    arcade.pass(60).await;
    assert_eq!(arcade.ranking("2027-01").await, [], "kept as it is, and looked at");
    let mut watched = arcade.send("GET", "/score/ranking/snake/2027-01/stream", &[]).await;
    watched.read_until("\"type\":\"board\"").await;
    let put = async |play, period: &str, user| {
        arcade.submit_with(play, ("snake", period, user), (5, 900), &[], "").await
    };
    let [first, second] = &plays;
    let words = "the play was in 2027-01, not in 2027-02";
    let told = put(first, "2027-02", "ada").await.refusal();
    assert_eq!(told, super::refused(400, "invalid", words));
    let answer = put(first, "2027-01", "ada").await;
    assert_eq!((answer.status, &answer.json()["rank"]), (200, &json!(1)));
    let change = watched.read_until("\"type\":\"change\"").await;
    assert!(change.contains("\"userId\":\"ada\""), "{change}");
    let answer = put(second, "ALL", "bob").await.json();
    assert_eq!(answer["periods"]["2027-01"]["rank"], 2);
    let both = pairs(&[("ada", 5), ("bob", 5)]);
    for period in ["2027-01", "ALL"] {
        assert_eq!(arcade.ranking(period).await, both, "{period}");
    }
    assert_eq!(arcade.ranking("2027-02").await, []);
}

#[testkit::test]
async fn who_hangs_up_has_submitted_all_the_same() {
    let arcade = Arcade::with_snake(10).await;
    assert_eq!(arcade.ranking("ALL").await, []);
    let play = arcade.play(1000).await;
    let headers = play.headers("ALL", "ada", (5, 900));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    // Nobody gets a turn for this player before it is given up.
    let turn = arcade.score.players.enter(("snake", "ada")).await;
    let caller = arcade.send("PUT", "/score/scores/snake/ALL/ada", &headers).await;
    let runs = || arcade.instance.ground.tasks.leftover().contains(&"submission".to_owned());
    wait::until_async("the submission to begin", async || wait::holds(runs(), "no submission"))
        .await;
    drop(caller);
    arcade.time.settle().await;
    drop(turn);
    wait::until_async("the submission to end", async || wait::holds(!runs(), "it runs")).await;
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("ada", 5)]));
}

#[testkit::test]
async fn below_a_full_board_nothing_is_stored_and_the_session_stays_good() {
    let arcade = Arcade::with_snake(2).await;
    arcade.score("a", 10).await;
    let play = arcade.play(1000).await;
    arcade.score("b", 20).await;
    let answer = arcade.submit(&play, "c", 9, 900).await;
    let expected = json!({ "updated": false, "rank": 3, "reason": "below-threshold" });
    assert_eq!((answer.status, answer.json()), (200, expected));
    let month = arcade.submit_with(&play, ("snake", MONTH, "c"), (9, 900), &[], "").await;
    assert_eq!(month.json()["rank"], 3, "where it would stand");
    let scan = arcade.tables.scan(table::Scan::new("ScoreTable")).await.unwrap();
    assert_eq!(scan.items.len(), 4, "two players in two periods");
    let tie = arcade.submit(&play, "c", 10, 900).await.json();
    assert_eq!((&tie["updated"], &tie["rank"]), (&json!(true), &json!(3)), "a tie is not below");
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("b", 20), ("a", 10)]));
}

#[testkit::test]
async fn a_new_month_is_not_full_though_all_time_is() {
    let arcade = Arcade::open_with(options(), "2027-01-31T23:50:00Z").await;
    arcade.set_game(&snake(1)).await;
    arcade.score("a", 10).await;
    arcade.jump(900).await;
    let answer = arcade.score("b", 5).await;
    assert_eq!((&answer["updated"], &answer["rank"]), (&json!(true), &json!(2)));
    assert_eq!(arcade.ranking("2027-02").await, pairs(&[("b", 5)]));
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("a", 10)]));
}

#[testkit::test]
async fn a_signature_in_hexadecimal_digits_does_as_well() {
    let arcade = Arcade::with_snake(2).await;
    let play = arcade.play(1000).await;
    let sig = URL_SAFE_NO_PAD.decode(sign(&play.end, "ada", 1, 900, "ALL")).unwrap();
    let digits = base::hex(&sig);
    let target = ("snake", "ALL", "ada");
    let answer = arcade.submit_with(&play, target, (1, 900), &[("x-sig", &digits)], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

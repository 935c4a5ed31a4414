//! Every way in which a submission is refused, with its exact words.

use base::Random;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value as Json, json};
use testkit::World;

use super::{Arcade, MONTH, Play, options, refused, snake};
use crate::Options;

const ADA: (&str, &str, &str) = ("snake", "ALL", "ada");
const CLAIM: (i64, i64) = (5, 900);

#[testkit::test]
async fn a_header_that_is_missing_or_wrong_is_named() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    for (name, shown) in [
        ("x-token-start", "X-Token-Start"),
        ("x-token-end", "X-Token-End"),
        ("x-sig", "X-Sig"),
        ("x-score", "X-Score"),
        ("x-time-ms", "X-Time-Ms"),
        ("x-player", "X-Player"),
    ] {
        let told = arcade.submit_with(&play, ADA, CLAIM, &[(name, "")], "").await.refusal();
        assert_eq!(told, refused(400, "invalid", &format!("the header {shown} is needed")));
    }
    for (header, words) in [
        (("x-score", "1.5"), "X-Score must be a whole number, not `1.5`"),
        (("x-time-ms", "+9"), "X-Time-Ms must be a whole number, not `+9`"),
        (("x-time-ms", "0"), "X-Time-Ms must be from 1 to 9007199254740992, not 0"),
        (
            ("x-score", "9007199254740993"),
            "X-Score must be from -9007199254740992 to 9007199254740992, not 9007199254740993",
        ),
        (("x-player", "%FF"), "X-Player: not UTF-8 in percent-encoding"),
        (("x-player", "%20"), "X-Player: text has 0 characters, at least 1 needed"),
        (
            ("x-player", "abcdefghijklmnopqrstuvwxyz"),
            "X-Player: text has 26 characters, at most 24 allowed",
        ),
        (("x-score", "1\u{e9}"), "the header X-Score is not plain text"),
    ] {
        let told = arcade.submit_with(&play, ADA, CLAIM, &[header], "").await.refusal();
        assert_eq!(told, refused(400, "invalid", words));
    }
}

#[testkit::test]
async fn a_path_that_names_nothing_is_refused() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let put = async |game, period, user| {
        arcade.submit_with(&play, (game, period, user), CLAIM, &[], "").await.refusal()
    };
    let id = "must be 1 to 64 of A-Z a-z 0-9 _ . -, not `a b`";
    assert_eq!(put("a%20b", "ALL", "u").await, refused(400, "invalid", &format!("gameId {id}")));
    assert_eq!(
        put("snake", "ALL", "a%20b").await,
        refused(400, "invalid", &format!("userId {id}"))
    );
    let words = "a period is ALL or a month such as 2026-11, not `all`";
    assert_eq!(put("snake", "all", "u").await, refused(400, "invalid", words));
    assert_eq!(
        put("chess", "ALL", "u").await,
        refused(404, "no_such_game", "there is no game `chess`")
    );
    let words = "the play was in 2027-01, not in 2026-12";
    assert_eq!(put("snake", "2026-12", "u").await, refused(400, "invalid", words));
    let post = arcade.ask("POST", "/scores/snake/ALL/u", &[], "").await;
    assert_eq!(post.status, 405, "players put and get");
    assert_eq!(arcade.get("/get-start?gameId=a%20b").await.refusal().0, 400);
    assert_eq!(arcade.get("/get-start?userId=a%20b").await.refusal().0, 400);
    assert_eq!(arcade.get("/get-start?gameId=chess").await.refusal().1, "no_such_game");
}

#[testkit::test]
async fn a_body_is_meta_or_nothing() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let put = async |body: &str| arcade.submit_with(&play, ADA, CLAIM, &[], body).await.refusal();
    for body in ["x", "[]", "{\"other\": 1}", "{\"meta\": 5}"] {
        let (status, code, words) = put(body).await;
        assert_eq!((status, code.as_str()), (400, "invalid"), "{body}");
        assert!(words.starts_with("the body is not {\"meta\": {…}}: "), "{words}");
    }
    let deep = r#"{"meta": {"a": {"b": {"c": {"d": {"e": {}}}}}}}"#;
    assert_eq!(put(deep).await, refused(400, "invalid", "meta is deeper than 5"));
    let long = json!({ "meta": { "a": "x".repeat(2100) } }).to_string();
    let words = "meta has 2108 bytes, at most 2048 allowed";
    assert_eq!(put(&long).await, refused(400, "invalid", words));
    let (status, code, _) = put(&" ".repeat(5000)).await;
    assert_eq!((status, code.as_str()), (413, "body_too_large"));
}

#[testkit::test]
async fn a_cookie_of_another_session_is_refused() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let cookie = format!("a=b; game_sid={}x", play.sid);
    let told = arcade.submit_with(&play, ADA, CLAIM, &[("cookie", &cookie)], "").await.refusal();
    let words = "the cookie `game_sid` is not that of the tokens";
    assert_eq!(told, refused(401, "session_mismatch", words));
    let cookie = format!("a=b; game_sid={}", play.sid);
    let answer = arcade.submit_with(&play, ADA, CLAIM, &[("cookie", &cookie)], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// The same token with one letter of a part changed.
fn forged(token: &str, part: usize) -> String {
    let mut parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    let letter = if parts[part].starts_with('A') { "B" } else { "A" };
    parts[part].replace_range(..1, letter);
    parts.join(".")
}

#[testkit::test]
async fn a_token_that_is_forged_cut_swapped_or_strange_is_refused() {
    let arcade = Arcade::with_snake(10).await;
    let (play, other) = (arcade.play(1000).await, arcade.play(1000).await);
    let told = async |play: &Play| {
        let answer = arcade.submit_with(play, ADA, CLAIM, &[], "").await;
        let (status, code, words) = answer.refusal();
        assert_eq!((status, code.as_str()), (403, "token_invalid"), "{words}");
        words
    };
    let start = |start: String| Play { start, ..play.clone() };
    let end = |end: String| Play { end, ..play.clone() };
    let (is_start, is_end) = ("X-Token-Start is not valid: ", "X-Token-End is not valid: ");
    let no_fit = "its signature does not fit";
    assert_eq!(told(&start(forged(&play.start, 1))).await, format!("{is_start}{no_fit}"));
    assert_eq!(told(&end(forged(&play.end, 1))).await, format!("{is_end}{no_fit}"));
    let cut = &play.start[..play.start.len() - 4];
    for strange in ["x", "a.b", ".", "e30.e30", cut, &forged(&play.start, 0)] {
        let words = told(&start(strange.to_owned())).await;
        assert!(
            words == format!("{is_start}it is not a token") || words.ends_with(no_fit),
            "{words}"
        );
    }
    assert_eq!(told(&start("x".repeat(1025))).await, format!("{is_start}it is too long"));
    let swapped = Play { start: play.end.clone(), end: play.start.clone(), ..play.clone() };
    assert_eq!(told(&swapped).await, format!("{is_start}it is not of this kind"));
    let reused = end(play.start.clone());
    assert_eq!(told(&reused).await, format!("{is_end}it is not of this kind"));
    let mixed = start(other.start.clone());
    assert_eq!(told(&mixed).await, format!("{is_end}it belongs to another X-Token-Start"));
    let unsigned = format!("{}.", play.start.split('.').next().unwrap());
    assert_eq!(told(&start(unsigned)).await, format!("{is_start}{no_fit}"));
    assert_eq!(arcade.ranking("ALL").await, []);
}

/// The same token with something else in it, under its old MAC.
fn rewritten(token: &str, field: &str, value: Json) -> String {
    let (text, mac) = token.split_once('.').unwrap();
    let mut payload: Json = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
    assert_ne!(payload[field], value, "{field}");
    payload[field] = value;
    format!("{}.{mac}", URL_SAFE_NO_PAD.encode(payload.to_string()))
}

#[testkit::test]
async fn a_token_that_says_something_else_in_good_form_is_refused() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let World { tables, clock, .. } = (*arcade).clone();
    crate::rotate_keys(tables, clock, Random::seeded(8)).await.unwrap();
    arcade.pass(61).await;
    let other_key = json!(arcade.score.ring.current().kid());
    let told = async |start: &str, end: &str| {
        let forged = Play { start: start.to_owned(), end: end.to_owned(), ..play.clone() };
        let (status, code, words) =
            arcade.submit_with(&forged, ADA, CLAIM, &[], "").await.refusal();
        assert_eq!((status, code.as_str()), (403, "token_invalid"), "{words}");
        words
    };
    let no_fit = "is not valid: its signature does not fit";
    for (field, value) in [
        ("t_start", json!("2027-01-15T07:50:00.000Z")),
        ("max_dur_s", json!(1801)),
        ("uid", json!("ada")),
        ("gid", json!("snake")),
        ("sid", json!("AbCdEfGhIjKlMnOpQrStUvWx")),
        ("kid", other_key.clone()),
    ] {
        let forged = rewritten(&play.start, field, value);
        let words = told(&forged, &play.end).await;
        assert_eq!(words, format!("X-Token-Start {no_fit}"), "{field}");
    }
    for (field, value) in [
        ("t_start", json!("2027-01-15T07:50:00.000Z")),
        ("t_end", json!("2027-01-15T08:10:00.000Z")),
        ("uid", json!("ada")),
        ("kid", other_key),
    ] {
        let forged = rewritten(&play.end, field, value);
        let words = told(&play.start, &forged).await;
        assert_eq!(words, format!("X-Token-End {no_fit}"), "{field}");
    }
    let unknown = rewritten(&play.end, "kid", json!("nobodys1"));
    let words = "X-Token-End is not valid: its key is unknown or too old";
    assert_eq!(told(&play.start, &unknown).await, words);
    let (text, mac) = play.end.split_once('.').unwrap();
    for cut in [&play.end[..play.end.len() - 1], &play.end[1..], text, mac, &play.end[..40]] {
        let words = told(&play.start, cut).await;
        let form = "X-Token-End is not valid: it is not a token";
        assert!(words == form || words == format!("X-Token-End {no_fit}"), "{cut}: {words}");
    }
    let (start_text, start_mac) = play.start.split_once('.').unwrap();
    for reordered in [
        format!("{mac}.{text}"),
        format!("{text}.{start_mac}"),
        format!("{start_text}.{mac}"),
        format!("{text}.{mac}.{mac}"),
    ] {
        let words = told(&play.start, &reordered).await;
        assert!(words.starts_with("X-Token-End is not valid: "), "{reordered}: {words}");
    }
    // The same fields in another order are another text.
    let payload: Json = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
    let turned: Vec<String> = payload
        .as_object()
        .unwrap()
        .iter()
        .rev()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    let turned = URL_SAFE_NO_PAD.encode(format!("{{{}}}", turned.join(",")));
    let words = told(&play.start, &format!("{turned}.{mac}")).await;
    assert_eq!(words, format!("X-Token-End {no_fit}"));
    assert_eq!(arcade.ranking("ALL").await, []);
    assert_eq!(arcade.submit(&play, "ada", 5, 900).await.status, 200, "it was good itself");
}

#[testkit::test]
async fn a_token_of_another_house_is_refused() {
    let arcade = Arcade::with_snake(10).await;
    let world = World::new().await;
    world.seed(1_000);
    let instances = world.instances().await;
    let other = Arcade::on(&world, instances, options()).await;
    let play = other.play(1000).await;
    let (status, code, words) = arcade.submit(&play, "ada", 5, 900).await.refusal();
    assert_eq!((status, code.as_str()), (403, "token_invalid"));
    assert_eq!(words, "X-Token-Start is not valid: its key is unknown or too old");
}

#[testkit::test]
async fn a_token_is_for_the_game_and_the_user_that_it_names() {
    let arcade = Arcade::with_snake(10).await;
    let mut chess = snake(10);
    chess["gameName"] = json!("chess");
    arcade.set_game(&chess).await;
    let started = arcade.get("/get-start?gameId=snake&userId=ada").await.json();
    let start = started["token_start"].as_str().unwrap().to_owned();
    arcade.pass(1).await;
    let ended = arcade.get(&format!("/get-end?token_start={start}")).await.json();
    let end = ended["token_end"].as_str().unwrap().to_owned();
    let play = Play { start, end, sid: String::new() };
    let put =
        async |game, user| arcade.submit_with(&play, (game, "ALL", user), CLAIM, &[], "").await;
    let words = "X-Token-Start is not valid: it belongs to another game";
    assert_eq!(put("chess", "ada").await.refusal(), refused(403, "token_invalid", words));
    let words = "X-Token-Start is not valid: it belongs to another user";
    assert_eq!(put("snake", "bob").await.refusal(), refused(403, "token_invalid", words));
    assert_eq!(put("snake", "ada").await.status, 200);
}

#[testkit::test]
async fn a_signature_covers_user_score_time_and_period() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let sig = super::sign(&play.end, "ada", 5, 900, "ALL");
    let bad = refused(403, "signature_invalid", "X-Sig does not fit the play");
    for (target, claim) in [
        (("snake", "ALL", "bob"), (5, 900)),
        (("snake", MONTH, "ada"), (5, 900)),
        (ADA, (6, 900)),
        (ADA, (5, 901)),
    ] {
        let told = arcade.submit_with(&play, target, claim, &[("x-sig", &sig)], "").await.refusal();
        assert_eq!(told, bad, "{target:?} {claim:?}");
    }
    for wrong in ["x", &sig[1..], &"0".repeat(64)] {
        let told = arcade.submit_with(&play, ADA, CLAIM, &[("x-sig", wrong)], "").await.refusal();
        assert_eq!(told, bad, "{wrong}");
    }
}

#[testkit::test]
async fn a_play_that_cannot_have_been_is_refused_and_remembered() {
    let arcade = Arcade::alone(super::options(), super::START).await;
    let mut game = snake(10);
    game["minPlayMs"] = json!(500);
    game["maxScore"] = json!(1000);
    game["maxScorePerSecond"] = json!(100);
    game["timeToleranceMs"] = json!(200);
    arcade.set_game(&game).await;
    let play = arcade.play(1000).await;
    for (claim, code, words) in [
        ((5, 1201), "time_exceeds_play", "timeMs is 1201, and the play was measured at 1000 ms"),
        ((5, 499), "play_too_short", "the play took 499 ms, at least 500 ms needed"),
        ((1001, 900), "score_too_high", "the score is 1001, at most 1000 possible"),
        ((101, 900), "score_too_fast", "the score is 101, at most 100 in a second possible"),
    ] {
        let told = arcade.submit_with(&play, ADA, claim, &[], "").await.refusal();
        assert_eq!(told, refused(403, code, words));
    }
    arcade.pass(301).await;
    let told = arcade.submit_with(&play, ADA, CLAIM, &[], "").await.refusal();
    let words = "the play ended 301 s ago, at most 300 s allowed";
    assert_eq!(told, refused(403, "token_expired", words));
    let list = arcade.operate("GET", "/suspicions", &json!(null)).await.json();
    let words: Vec<&str> =
        list.as_array().unwrap().iter().map(|it| it["reason"].as_str().unwrap()).collect();
    assert_eq!(
        words,
        [
            "token_expired",
            "score_too_fast",
            "score_too_high",
            "play_too_short",
            "time_exceeds_play",
        ]
    );
    let expected = json!({
        "at": "2027-01-15T08:00:01.000Z", "gameId": "snake", "userId": "ada", "score": 101,
        "timeMs": 900, "reason": "score_too_fast",
        "detail": "the score is 101, at most 100 in a second possible",
    });
    assert_eq!(list[1], expected);
    assert_eq!(arcade.ranking("ALL").await, []);
}

#[testkit::test]
async fn a_play_that_was_much_longer_than_it_says_or_too_low_is_refused() {
    let arcade = Arcade::with_snake(10).await;
    let mut race = snake(10);
    race["gameName"] = json!("race");
    race["sort"] = json!([{ "by": "timeMs", "dir": "asc" }]);
    arcade.set_game(&race).await;
    let mut golf = snake(10);
    golf["gameName"] = json!("golf");
    golf["sort"] = json!([{ "by": "score", "dir": "asc" }]);
    (golf["minScore"], golf["timeShortfallMs"]) = (json!(18), json!(600_000));
    arcade.set_game(&golf).await;
    let play = arcade.play(60_000).await;
    let put = async |game, claim| {
        arcade.submit_with(&play, (game, "ALL", "ada"), claim, &[], "").await.refusal()
    };
    let words = "timeMs is 1, and the play was measured at 60000 ms";
    for game in ["snake", "race"] {
        assert_eq!(put(game, (5, 1)).await, refused(403, "time_below_play", words), "{game}");
    }
    assert_eq!(put("race", (5, 49_999)).await.1, "time_below_play");
    let words = "the score is 17, at least 18 possible";
    assert_eq!(put("golf", (17, 1)).await, refused(403, "score_too_low", words));
    let ended = [("x-token-start", play.start.as_str()), ("x-score", "5"), ("x-time-ms", "1")];
    let started = arcade.get("/get-start?gameId=race").await.json();
    arcade.pass(60).await;
    let start = started["token_start"].as_str().unwrap();
    let headers = [("x-token-start", start), ended[1], ended[2]];
    let told = arcade.ask("GET", "/get-end", &headers, "").await.json();
    assert_eq!(
        (&told["ok"], &told["fraud"]["reason"], &told["fraud"]["drift"]),
        (&json!(false), &json!("time_below_play"), &json!(-59_999))
    );
    let good = arcade.submit_with(&play, ("golf", "ALL", "ada"), (18, 1), &[], "").await;
    assert_eq!(good.status, 200, "the game says how much: {good:?}");
}

#[testkit::test]
async fn a_submission_waits_no_longer_than_its_grace() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    arcade.pass(300).await;
    assert_eq!(arcade.submit(&play, "ada", 5, 900).await.status, 200);
}

#[testkit::test]
async fn a_game_is_played_from_its_origins() {
    let arcade = Arcade::open().await;
    let mut game = snake(10);
    game["origins"] = json!(["https://games.example"]);
    arcade.set_game(&game).await;
    let play = arcade.play(1000).await;
    let put =
        async |origin: &str| arcade.submit_with(&play, ADA, CLAIM, &[("origin", origin)], "").await;
    let words = "the game `snake` is not played from `https://evil.example`";
    assert_eq!(put("https://evil.example").await.refusal(), refused(403, "origin_refused", words));
    let good = put("https://games.example").await;
    assert_eq!((good.status, good.header("access-control-allow-origin")), (200, Some("*")));
}

#[testkit::test]
async fn with_a_proxy_in_front_everybody_comes_through_it() {
    let options = Options { edge_auth: "s3cret".to_owned(), ..options() };
    let arcade = Arcade::open_with(options, super::START).await;
    let told = refused(403, "edge_auth_invalid", "X-Edge-Auth is missing or not valid");
    for path in ["/get-start", "/get-end?token_start=x", "/games", "/ranking/snake/ALL"] {
        assert_eq!(arcade.get(path).await.refusal(), told, "{path}");
        let wrong = arcade.ask("GET", path, &[("x-edge-auth", "s3creT")], "").await;
        assert_eq!(wrong.refusal(), told, "{path}");
    }
    assert_eq!(arcade.ask("PUT", "/scores/snake/ALL/u", &[], "").await.refusal(), told);
    for (method, path) in [("GET", "/audit"), ("POST", "/trim"), ("DELETE", "/scores/snake/ALL/u")]
    {
        let answer = arcade.operate(method, path, &json!({})).await;
        assert_eq!(answer.refusal(), told, "also the operator: {path}");
    }
    let key = [("x-api-key", arcade.key.as_str()), ("x-edge-auth", "s3cret")];
    assert_eq!(arcade.ask("GET", "/audit", &key, "").await.status, 200);
    let good = arcade.ask("GET", "/get-start", &[("x-edge-auth", "s3cret")], "").await;
    assert_eq!(good.status, 200);
}

#[testkit::test]
async fn submissions_have_a_rate_by_address_and_reads_their_own() {
    let options = Options { address_submits_per_second: 2, ..options() };
    let arcade = Arcade::alone(options, super::START).await;
    arcade.set_game(&snake(10)).await;
    let mut chess = snake(10);
    chess["gameName"] = json!("chess");
    arcade.set_game(&chess).await;
    let plays = arcade.plays(6).await;
    for (play, user) in plays.iter().zip(["a", "b", "c", "d"]) {
        assert_eq!(arcade.submit(play, user, 5, 900).await.status, 200, "{user}");
    }
    let answer = arcade.submit(&plays[4], "e", 5, 900).await;
    let words = "too many requests by `score-submits-address`; the next may come in 1 s";
    assert_eq!(answer.refusal(), refused(429, "rate_limited", words));
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(answer.header("ratelimit").unwrap().starts_with("\"score-submits-address\";r=0"));
    let other = arcade.submit_with(&plays[5], ("chess", "ALL", "f"), CLAIM, &[], "").await;
    assert_eq!(other.status, 200, "each game: {other:?}");
    assert_eq!(arcade.get("/ranking/snake/ALL").await.status, 200, "reads apart");
    arcade.pass(1).await;
    assert_eq!(arcade.submit(&plays[4], "e", 5, 900).await.status, 200, "two a second");
}

#[testkit::test]
async fn reads_have_a_rate_too() {
    let options = Options { reads_per_second: 3, ..options() };
    let arcade = Arcade::alone(options, super::START).await;
    for _ in 0..6 {
        assert_eq!(arcade.get("/games").await.status, 200);
    }
    assert_eq!(arcade.get("/games").await.refusal().1, "rate_limited");
}

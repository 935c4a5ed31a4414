//! Ids that are claimed: their plays need the secret, and nobody else can spoil them.

use serde_json::{Value as Json, json};
use table::{Get, Item, Scan};

use super::{Arcade, Play, START, options, pairs, refused, snake};
use crate::Options;
use crate::limits::CLAIM_TRIED;

const SECRET: &str = "x-player-secret";
const INVALID: &str = "`ada` is claimed: X-Player-Secret is missing or not valid";

/// Begins a play of the snake as somebody.
async fn start(arcade: &Arcade, query: &str, secret: &str) -> testkit::Answer {
    let headers = [(SECRET, secret)];
    let headers = if secret.is_empty() { &[][..] } else { &headers };
    arcade.ask("GET", &format!("/get-start?gameId=snake{query}"), headers, "").await
}

/// Claims an id; the play that begins, and the secret.
async fn claim(arcade: &Arcade, user: &str) -> (Json, String) {
    let started = start(arcade, &format!("&userId={user}&claim=true"), "").await;
    assert_eq!(started.status, 200, "{started:?}");
    let started = started.json();
    let secret = started["player_secret"].as_str().unwrap().to_owned();
    (started, secret)
}

/// Ends a play that lasts a second.
async fn end(arcade: &Arcade, started: &Json) -> Play {
    arcade.pass(1).await;
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let start = text(&started["token_start"]);
    let ended = arcade.get(&format!("/get-end?token_start={start}")).await.json();
    Play { end: text(&ended["token_end"]), sid: text(&started["sid"]), start }
}

async fn submit(
    arcade: &Arcade,
    play: &Play,
    user: &str,
    score: i64,
    secret: &str,
) -> testkit::Answer {
    let target = ("snake", "ALL", user);
    arcade.submit_with(play, target, (score, 900), &[(SECRET, secret)], "").await
}

#[testkit::test]
async fn a_claimed_id_is_started_and_submitted_with_its_secret_alone() {
    let arcade = Arcade::with_snake(10).await;
    let (started, secret) = claim(&arcade, "ada").await;
    assert_eq!(secret.len(), 40);
    let invalid = refused(403, "player_secret_invalid", INVALID);
    for wrong in ["", &"x".repeat(40), &secret[1..]] {
        assert_eq!(start(&arcade, "&userId=ada", wrong).await.refusal(), invalid, "{wrong}");
        let again = start(&arcade, "&userId=ada&claim=true", wrong).await;
        assert_eq!(again.refusal(), invalid, "{wrong}");
    }
    let play = end(&arcade, &started).await;
    for wrong in ["", &"x".repeat(40)] {
        assert_eq!(submit(&arcade, &play, "ada", 5, wrong).await.refusal(), invalid, "{wrong}");
    }
    // A play that names nobody at its start is no way around it, also with the secret.
    let unbound = arcade.play(1000).await;
    for any in ["", &secret] {
        assert_eq!(submit(&arcade, &unbound, "ada", 5, any).await.refusal(), invalid, "{any}");
    }
    let answer = submit(&arcade, &play, "ada", 5, &secret).await;
    assert_eq!((answer.status, &answer.json()["rank"]), (200, &json!(1)));
    let again = start(&arcade, "&userId=ada&claim=true", &secret).await.json();
    assert_eq!(again.get("player_secret"), None, "it is told once");
    let play = end(&arcade, &again).await;
    assert_eq!(submit(&arcade, &play, "ada", 6, &secret).await.status, 200);
    assert_eq!(arcade.ranking("ALL").await, pairs(&[("ada", 6)]));
}

#[testkit::test]
async fn a_client_of_the_seeds_form_claims_nothing_and_plays_as_before() {
    let arcade = Arcade::with_snake(10).await;
    for (query, score) in [("", 5), ("&userId=ada", 6)] {
        let started = start(&arcade, query, "").await.json();
        assert_eq!(started.get("player_secret"), None);
        let play = end(&arcade, &started).await;
        assert_eq!(arcade.submit(&play, "ada", score, 900).await.status, 200);
    }
    // Nobody takes the id away by claiming it, in any game.
    let taken =
        refused(409, "player_taken", "`ada` was played without a claim and cannot be claimed");
    let mut chess = snake(10);
    chess["gameName"] = json!("chess");
    arcade.set_game(&chess).await;
    for game in ["snake", "chess"] {
        let path = format!("/get-start?gameId={game}&userId=ada&claim=true");
        assert_eq!(arcade.get(&path).await.refusal(), taken, "{game}");
    }
    assert_eq!(arcade.score("ada", 7).await["updated"], true);
}

#[testkit::test]
async fn a_play_that_was_begun_before_its_id_was_claimed_is_not_its_owners() {
    let arcade = Arcade::alone_with_snake(10).await;
    let before = start(&arcade, "&userId=ada", "").await.json();
    let (started, secret) = claim(&arcade, "ada").await;
    let play = end(&arcade, &before).await;
    let told = arcade.submit(&play, "ada", 5, 900).await.refusal();
    assert_eq!(told, refused(403, "player_secret_invalid", INVALID));
    // What somebody else tells of it makes the id suspicious neither at its end nor when submitted.
    let claim = [("x-token-start", play.start.as_str()), ("x-score", "5"), ("x-time-ms", "99999")];
    assert_eq!(arcade.ask("GET", "/get-end", &claim, "").await.json()["ok"], false);
    let unbound = arcade.play(1000).await;
    for play in [&play, &unbound] {
        let told = arcade.submit(play, "ada", 5, 99_999).await.refusal();
        assert_eq!(told.1, "player_secret_invalid");
        assert_eq!(arcade.submit(play, "ada", 5, 900).await.status, 403);
        assert_eq!(arcade.submit(play, "ada", 6, 900).await.status, 403);
    }
    let list = async || arcade.operate("GET", "/suspicions", &Json::Null).await.json();
    let users = |list: &Json| -> Vec<Json> {
        list.as_array().unwrap().iter().map(|it| it["userId"].clone()).collect()
    };
    assert_eq!(users(&list().await), [Json::Null], "a play ended, and nobody played it");
    // Her own is hers.
    let play = end(&arcade, &started).await;
    let headers = [(SECRET, secret.as_str())];
    let target = ("snake", "ALL", "ada");
    let told = arcade.submit_with(&play, target, (5, 99_999), &headers, "").await.refusal();
    assert_eq!(told.1, "time_exceeds_play");
    let list = list().await;
    assert_eq!((&list[0]["userId"], &list[0]["claimed"]), (&json!("ada"), &json!(true)));
}

#[testkit::test]
async fn a_stranger_uses_up_nothing_of_an_owners_rates() {
    let arcade = Arcade::alone(Options::default(), START).await;
    arcade.set_game(&snake(10)).await;
    let (started, secret) = claim(&arcade, "ada").await;
    for _ in 0..50 {
        assert!(start(&arcade, "&userId=ada", "").await.status >= 400);
    }
    let plays = arcade.plays(10).await;
    let mut started = vec![started];
    for _ in 0..4 {
        let answer = start(&arcade, "&userId=ada", &secret).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        started.push(answer.json());
    }
    for play in &plays {
        assert_eq!(arcade.submit(play, "ada", 5, 900).await.status, 403);
    }
    for (score, started) in (10..).zip(&started) {
        let play = end(&arcade, started).await;
        let answer = submit(&arcade, &play, "ada", score, &secret).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

#[testkit::test]
async fn a_game_may_ask_for_claimed_ids() {
    let arcade = Arcade::with_snake(10).await;
    let play = arcade.play(1000).await;
    let mut game = snake(10);
    game["requireClaim"] = json!(true);
    arcade.set_game(&game).await;
    assert_eq!(arcade.get("/games").await.json()["games"][0]["requireClaim"], true);
    let needed = refused(403, "claim_needed", "the game `snake` is played with claimed ids only");
    assert_eq!(start(&arcade, "&userId=ada", "").await.refusal(), needed);
    assert_eq!(start(&arcade, "", "").await.refusal(), needed);
    assert_eq!(arcade.submit(&play, "ada", 5, 900).await.refusal(), needed);
    let (started, secret) = claim(&arcade, "ada").await;
    let play = end(&arcade, &started).await;
    assert_eq!(submit(&arcade, &play, "ada", 5, &secret).await.status, 200);
}

#[testkit::test]
async fn a_claim_by_a_clients_own_secret_can_be_repeated() {
    let arcade = Arcade::with_snake(10).await;
    let own = "a-secret_of-its-own-making-0123456789";
    let lost = start(&arcade, "&userId=ada&claim=true", own).await.json();
    assert_eq!(lost["player_secret"], own);
    let again = start(&arcade, "&userId=ada&claim=true", own).await;
    assert_eq!((again.status, again.json().get("player_secret")), (200, None));
    let words = "X-Player-Secret must be 32 to 128 of A-Z a-z 0-9 _ -";
    let told = start(&arcade, "&userId=bob&claim=true", "short").await.refusal();
    assert_eq!(told, refused(400, "invalid", words));
    let told = start(&arcade, "&claim=true", own).await.refusal();
    assert_eq!(told, refused(400, "invalid", "a claim needs the userId that is claimed"));
}

#[testkit::test]
async fn a_secret_lies_in_the_store_as_a_digest_that_is_marked_secret() {
    let arcade = Arcade::with_snake(10).await;
    let (_, secret) = claim(&arcade, "ada").await;
    for table in arcade.tables.list_tables().await.unwrap() {
        let all = arcade.tables.scan(Scan::new(&table)).await.unwrap();
        let text = format!("{:?}", all.items);
        assert!(!text.contains(&secret), "{table}");
    }
    let key = Item::new().with("userId", "ada");
    let item = arcade.tables.get(Get::new("score_players", key)).await.unwrap().unwrap();
    let digest = edge::secret_digest(&secret);
    assert_eq!(item.get("digest"), Some(&table::Value::from(digest.as_str())));
    let shown = table::Secrets::new(crate::SECRETS.iter().copied());
    assert!(!format!("{:?}", shown.shown("score_players", &item)).contains(&digest));
}

#[testkit::test]
async fn a_claim_without_a_play_ends_and_one_with_a_play_stays() {
    let arcade = Arcade::with_snake(10).await;
    let (started, secret) = claim(&arcade, "ada").await;
    let play = end(&arcade, &started).await;
    assert_eq!(submit(&arcade, &play, "ada", 5, &secret).await.status, 200);
    claim(&arcade, "bob").await;
    arcade.jump(CLAIM_TRIED.as_secs() + 1).await;
    assert_eq!(start(&arcade, "&userId=ada", "").await.status, 403);
    assert_eq!(start(&arcade, "&userId=bob", "").await.status, 200, "nobody's again");
    let (_, second) = claim(&arcade, "bob").await;
    assert_eq!(start(&arcade, "&userId=bob", &second).await.status, 200);
}

#[testkit::test]
async fn new_claims_have_a_rate_by_address_and_owners_do_not_meet_it() {
    let arcade = Arcade::alone(options(), START).await;
    arcade.set_game(&snake(10)).await;
    let (_, secret) = claim(&arcade, "ada").await;
    let limit = &crate::limits::CLAIMS_BURST;
    for number in 1..*limit {
        let path = format!("/get-start?userId=u{number}&claim=true");
        assert_eq!(arcade.get(&path).await.status, 200, "{number}");
    }
    let many = start(&arcade, "&userId=late&claim=true", "").await;
    let words = "too many requests by `score-claims-address`; the next may come in 1 s";
    assert_eq!(many.refusal(), refused(429, "rate_limited", words));
    assert_eq!(start(&arcade, "&userId=ada&claim=true", &secret).await.status, 200);
    assert_eq!(start(&arcade, "&userId=late", "").await.status, 200, "nobody must claim");
}

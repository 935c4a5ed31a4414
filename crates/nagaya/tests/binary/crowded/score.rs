//! Players who play once, as the project's own client lets them (examples/score-game/client.js): a
//! claimed id, a start, an end, a signed submission; then they look at the board.

use std::sync::OnceLock;
use std::time::Duration;

use ring::hmac;
use serde_json::{Value as Json, json};

use super::{PEOPLE, Person, Request, beside_an_abuser, each, serve, text};

const GAME: &str = "snake";
const SCORE: u32 = 30;
const TIME_MS: u64 = 1_000;

/// A play that has begun.
struct Play {
    user: String,
    start: String,
    secret: String,
}

impl Play {
    fn begin(player: &mut Person, user: &str) -> Play {
        let path = format!("/score/get-start?gameId={GAME}&userId={user}&claim=true");
        let started = player.get(&path, "");
        let (start, secret) = (text(&started, "/token_start"), text(&started, "/player_secret"));
        Play { user: user.to_owned(), start, secret }
    }

    /// Ends it; the lines of its submission.
    fn end(&self, player: &mut Person) -> String {
        let Play { user, start, secret } = self;
        let ended = player.get(&format!("/score/get-end?token_start={start}"), "");
        let end = text(&ended, "/token_end");
        let key = hmac::Key::new(hmac::HMAC_SHA256, end.as_bytes());
        let signed = hmac::sign(&key, format!("{user}|{SCORE}|{TIME_MS}|ALL").as_bytes());
        format!(
            "x-token-start: {start}\r\nx-token-end: {end}\r\nx-sig: {}\r\nx-score: {SCORE}\r\n\
             x-time-ms: {TIME_MS}\r\nx-player: {user}\r\nx-player-secret: {secret}\r\n\
             x-idem-key: {user}\r\n",
            base::hex(signed.as_ref())
        )
    }
}

/// Plays of ever new users and claims of ever new ids; one user who begins too often; plays in the
/// name of others; a play whose body is refused; forged ones; and boards, all the time.
fn abuse(own: &str, number: usize) -> Request {
    let start = |query: String| Request::get(&format!("/score/get-start?gameId={GAME}{query}"), "");
    let submit = |head: &str, body: &str| Request {
        method: "PUT",
        path: format!("/score/scores/{GAME}/ALL/mallory"),
        head: head.to_owned(),
        body: body.to_owned(),
    };
    match number % 8 {
        0 => start(format!("&userId=stranger-{number}")),
        1 => start(format!("&userId=claimed-{number}&claim=true")),
        2 => start("&userId=mallory".to_owned()),
        3 => start(format!("&userId=p-{}", number % PEOPLE)),
        4 => start(String::new()),
        5 => submit(own, "[]"),
        6 => submit("x-token-start: a\r\nx-token-end: b\r\nx-score: 1\r\nx-time-ms: 1\r\n", "{}"),
        _ => Request::get(&format!("/score/ranking/{GAME}/ALL?limit=10"), ""),
    }
}

#[test]
fn a_thousand_players_and_one_flooder_share_an_address_and_no_player_is_refused() {
    let program = testkit::program!();
    let house = serve(&program, &[]);
    let key = program.answer("key create me --scope score:operate", &[]);
    let key = format!("x-api-key: {}\r\n", key.trim());
    let address = house.address.as_str();
    let sort = json!([{ "by": "score", "dir": "desc" }]);
    let game = json!({ "gameName": GAME, "sort": sort, "topN": PEOPLE });
    Person::connect(address).ask("PUT", &format!("/score/games/{GAME}"), &key, &game);
    let mut mallory = Person::connect(address);
    let own = Play::begin(&mut mallory, "mallory");
    house.advance(Duration::from_millis(TIME_MS));
    let own = own.end(&mut mallory);
    let plays: Vec<OnceLock<Play>> = (0..PEOPLE).map(|_| OnceLock::new()).collect();

    beside_an_abuser(
        address,
        |number| abuse(&own, number),
        || {
            each(PEOPLE, |number| {
                let play = Play::begin(&mut Person::connect(address), &format!("p-{number}"));
                assert!(plays[number].set(play).is_ok());
            });
            house.advance(Duration::from_millis(TIME_MS));
            each(PEOPLE, |number| {
                let (mut player, play) = (Person::connect(address), plays[number].get().unwrap());
                let lines = play.end(&mut player);
                let path = format!("/score/scores/{GAME}/ALL/{}", play.user);
                let stored = player.ask("PUT", &path, &lines, &json!({}));
                assert_eq!(stored["updated"], true, "{stored}");
                player.get(&format!("/score/ranking/{GAME}/ALL?limit=10"), "");
            });
        },
    );

    let rank = format!("/score/ranking/{GAME}/ALL/rank/p-0");
    let rank = Person::connect(address).get(&rank, "");
    assert_eq!(rank["total"], Json::from(PEOPLE), "{rank}");
}

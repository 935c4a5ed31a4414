//! The room on real sockets, on a clock that the test moves.

mod bans;
mod boards;
mod crowds;
mod described;
mod guarded;
mod instances;
mod operator;
mod pages;
mod players;
mod plays;
mod races;
mod refusals;
mod retries;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use edge::{Cors, Operator, Room};
use ring::hmac;
use serde_json::{Value as Json, json};
use testkit::{Answer, Instance, Stream, Turns, World};

use crate::model::board::BoardKey;
use crate::model::period::Period;
use crate::{Options, Score};

/// A Friday morning.
pub(crate) const START: &str = "2027-01-15T08:00:00Z";
pub(crate) const MONTH: &str = "2027-01";

/// A world with the room in it. Its instances answer in turns; calls past the wire and what is
/// watched go to the first one.
pub(crate) struct Arcade {
    world: World,
    pub(crate) score: Arc<Score>,
    pub(crate) instance: Instance,
    pub(crate) operator: Operator,
    /// A key that may operate the room.
    pub(crate) key: String,
    pub(crate) addresses: Turns<SocketAddr>,
}

impl Deref for Arcade {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

/// A play that has ended, with its tokens.
#[derive(Clone, Debug)]
pub(crate) struct Play {
    pub(crate) start: String,
    pub(crate) end: String,
    pub(crate) sid: String,
}

/// No limits that a test would meet by its own haste.
pub(crate) fn options() -> Options {
    Options {
        submits_per_second: 100_000,
        submits_at_once: 100_000,
        address_submits_per_second: 100_000,
        reads_per_second: 100_000,
        ..Options::default()
    }
}

/// A game by score, then time.
pub(crate) fn snake(top_n: usize) -> Json {
    let sort = json!([{ "by": "score", "dir": "desc" }, { "by": "timeMs", "dir": "asc" }]);
    json!({ "gameName": "snake", "sort": sort, "topN": top_n })
}

impl Arcade {
    pub(crate) async fn open() -> Arcade {
        Arcade::open_with(options(), START).await
    }

    /// An arcade with the game `snake`.
    pub(crate) async fn with_snake(top_n: usize) -> Arcade {
        let arcade = Arcade::open().await;
        arcade.set_game(&snake(top_n)).await;
        arcade
    }

    pub(crate) async fn open_with(options: Options, start: &str) -> Arcade {
        let world = World::at(start.parse().unwrap()).await;
        let instances = world.instances().await;
        Arcade::on(&world, instances, options).await
    }

    /// One instance with the game `snake`.
    pub(crate) async fn alone_with_snake(top_n: usize) -> Arcade {
        let arcade = Arcade::alone(options(), START).await;
        arcade.set_game(&snake(top_n)).await;
        arcade
    }

    /// One instance on any store: for stories of what each instance counts, or holds, for itself.
    pub(crate) async fn alone(options: Options, start: &str) -> Arcade {
        let world = World::at(start.parse().unwrap()).await;
        let instance = world.instance().await;
        Arcade::on(&world, vec![instance], options).await
    }

    /// One more instance on the same store, which does not hear this one.
    pub(crate) async fn beside(&self, options: Options) -> Arcade {
        Arcade::on(&self.world, vec![self.world.instance().await], options).await
    }

    /// The room on these instances.
    pub(crate) async fn on(world: &World, instances: Vec<Instance>, options: Options) -> Arcade {
        Arcade::served_with(world, instances, options, &edge::Options::default()).await
    }

    /// The same with other settings of the wire.
    pub(crate) async fn served_with(
        world: &World,
        instances: Vec<Instance>,
        options: Options,
        http: &edge::Options,
    ) -> Arcade {
        let (mut rooms, mut addresses) = (Vec::new(), Vec::new());
        for instance in &instances {
            let Instance { ground, dispatch, .. } = instance;
            let score = Score::open(options.clone(), ground, dispatch).await.unwrap();
            let operator = instance.operator();
            let served = vec![
                Room::new("operator", operator.routes()).with_cors(Cors::Nobody),
                score.room(ground, &operator),
            ];
            addresses.push(instance.serve_with(served, http.clone()).await);
            rooms.push((score, operator));
        }
        let ((score, operator), instance) = (rooms.swap_remove(0), instances[0].clone());
        let key = instance.key("ops", &["score:operate"]).await;
        let (world, addresses) = (world.clone(), Turns::new(addresses));
        Arcade { world, score, instance, operator, key, addresses }
    }

    /// Asks over a connection of its own.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        self.ask_at(method, &format!("/score{path}"), headers, body).await
    }

    /// Asks at any path of the house.
    pub(crate) async fn ask_at(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        testkit::ask(*self.addresses.next(), method, path, headers, body).await
    }

    /// Sends a request and hands over the connection.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Stream {
        Stream::open(*self.addresses.next(), method, path, headers, "").await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    /// Asks as the operator.
    pub(crate) async fn operate(&self, method: &str, path: &str, body: &Json) -> Answer {
        let headers = [("x-api-key", self.key.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.ask(method, path, &headers, &body).await
    }

    pub(crate) async fn set_game(&self, game: &Json) {
        let path = format!("/games/{}", game["gameName"].as_str().unwrap());
        let answer = self.operate("PUT", &path, game).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// Plays for so long.
    pub(crate) async fn play(&self, millis: u64) -> Play {
        let started = self.get("/get-start").await.json();
        self.time.advance(Duration::from_millis(millis)).await;
        let start = started["token_start"].as_str().unwrap().to_owned();
        let ended = self.get(&format!("/get-end?token_start={start}")).await.json();
        let end = ended["token_end"].as_str().unwrap_or_else(|| panic!("{ended}")).to_owned();
        Play { start, end, sid: started["sid"].as_str().unwrap().to_owned() }
    }

    /// So many plays of a second each, at the same time.
    pub(crate) async fn plays(&self, count: usize) -> Vec<Play> {
        let mut started = Vec::new();
        for _ in 0..count {
            started.push(self.get("/get-start").await.json());
        }
        self.pass(1).await;
        let mut plays = Vec::new();
        for started in started {
            let text = |value: &Json| value.as_str().unwrap().to_owned();
            let start = text(&started["token_start"]);
            let ended = self.get(&format!("/get-end?token_start={start}")).await.json();
            plays.push(Play { end: text(&ended["token_end"]), sid: text(&started["sid"]), start });
        }
        plays
    }

    /// Submits a play with these headers instead of or besides its own; an empty one is left out.
    pub(crate) async fn submit_with(
        &self,
        play: &Play,
        (game, period, user): (&str, &str, &str),
        (score, time_ms): (i64, i64),
        others: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let usual = play.headers(period, user, (score, time_ms));
        let usual = usual.iter().map(|(name, value)| (*name, value.as_str()));
        let is_other = |name: &str| others.iter().any(|(other, _)| *other == name);
        let own = usual.filter(|(name, _)| !is_other(name));
        let said = others.iter().copied().filter(|(_, value)| !value.is_empty());
        let headers: Vec<_> = own.chain(said).collect();
        self.ask("PUT", &format!("/scores/{game}/{period}/{user}"), &headers, body).await
    }

    /// Submits a play to the snake's ranking of all time.
    pub(crate) async fn submit(&self, play: &Play, user: &str, score: i64, time_ms: i64) -> Answer {
        self.submit_with(play, ("snake", "ALL", user), (score, time_ms), &[], "").await
    }

    /// Plays and submits; the play must be taken.
    pub(crate) async fn score(&self, user: &str, score: i64) -> Json {
        let play = self.play(1000).await;
        let answer = self.submit(&play, user, score, 900).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Users and scores of a ranking, by rank.
    pub(crate) async fn ranking(&self, period: &str) -> Vec<(String, i64)> {
        let answer = self.get(&format!("/ranking/snake/{period}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let rows = answer.json();
        let pair = |row: &Json| {
            (row["userId"].as_str().unwrap().to_owned(), row["score"].as_i64().unwrap())
        };
        rows.as_array().unwrap().iter().map(pair).collect()
    }
}

impl Play {
    /// What its player sends along.
    pub(crate) fn headers(
        &self,
        period: &str,
        user: &str,
        (score, time_ms): (i64, i64),
    ) -> [(&'static str, String); 6] {
        [
            ("x-token-start", self.start.clone()),
            ("x-token-end", self.end.clone()),
            ("x-sig", sign(&self.end, user, score, time_ms, period)),
            ("x-score", score.to_string()),
            ("x-time-ms", time_ms.to_string()),
            ("x-player", user.to_owned()),
        ]
    }
}

pub(crate) fn board(period: &str) -> BoardKey {
    BoardKey::new("snake", period.parse::<Period>().unwrap())
}

/// What a player's browser makes.
pub(crate) fn sign(token_end: &str, user: &str, score: i64, time_ms: i64, period: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token_end.as_bytes());
    let message = format!("{user}|{score}|{time_ms}|{period}");
    URL_SAFE_NO_PAD.encode(hmac::sign(&key, message.as_bytes()))
}

pub(crate) fn refused(status: u16, code: &str, detail: &str) -> (u16, String, String) {
    (status, code.to_owned(), detail.to_owned())
}

pub(crate) fn pairs(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
    rows.iter().map(|(user, score)| ((*user).to_owned(), *score)).collect()
}

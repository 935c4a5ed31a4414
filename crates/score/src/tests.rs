//! The room on real sockets, on a clock that the test moves.

mod boards;
#[path = "../../edge/tests/support/broker.rs"]
mod broker;
mod guarded;
mod instances;
mod operator;
mod pages;
mod plays;
mod races;
mod refusals;
#[path = "../../dynamodb/tests/support/store.rs"]
mod store;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dispatch::Dispatch;
use edge::{
    Cors, Ground, Operator, OperatorOptions, Readiness, Room, Server, StreamOptions, Traces,
};
use ring::hmac;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::broker::Broker;
use crate::model::board::BoardKey;
use crate::model::period::Period;
use crate::{Options, Score};

/// A Friday morning.
pub(crate) const START: &str = "2027-01-15T08:00:00Z";
pub(crate) const MONTH: &str = "2027-01";

/// An instance, its server and its clock.
pub(crate) struct House {
    pub(crate) score: Arc<Score>,
    pub(crate) ground: Ground,
    pub(crate) time: VirtualTime,
    pub(crate) address: SocketAddr,
    /// A key that may operate the room.
    pub(crate) key: String,
    pub(crate) operator: Operator,
    /// Another instance, where stories are told on DynamoDB: it answers every second request.
    twin: Option<Box<House>>,
    turns: AtomicUsize,
    _server: Server,
    _tasks: Tasks,
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
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
        reads_per_second: 100_000,
        ..Options::default()
    }
}

/// A game by score, then time.
pub(crate) fn snake(top_n: usize) -> Json {
    let sort = json!([{ "by": "score", "dir": "desc" }, { "by": "timeMs", "dir": "asc" }]);
    json!({ "gameName": "snake", "sort": sort, "topN": top_n })
}

impl House {
    pub(crate) async fn open() -> House {
        House::open_with(options(), START).await
    }

    /// A house with the game `snake`.
    pub(crate) async fn with_snake(top_n: usize) -> House {
        let house = House::open().await;
        house.set_game(&snake(top_n)).await;
        house
    }

    pub(crate) async fn open_with(options: Options, start: &str) -> House {
        House::open_seeded(options, start, 7).await
    }

    /// A house with secrets of its own.
    pub(crate) async fn open_seeded(options: Options, start: &str, seed: u64) -> House {
        let (ground, time, tasks) = House::ground(start, seed).await;
        if !store::is_dynamodb() {
            return House::open_on(options, ground, time, tasks).await;
        }
        let broker = Arc::new(Broker::default());
        let open = async |options: Options, seed: u64| {
            let ground = broker.ground(store::beside(&ground.tables), &ground.clock, seed);
            let tasks = ground.tasks.clone();
            House::open_on(options, ground, time.clone(), tasks).await
        };
        let house = open(options.clone(), seed).await;
        let twin = open(options, seed + 1_000).await;
        House { twin: Some(Box::new(twin)), ..house }
    }

    /// One instance with the game `snake`.
    pub(crate) async fn alone_with_snake(top_n: usize) -> House {
        let house = House::alone(options(), START).await;
        house.set_game(&snake(top_n)).await;
        house
    }

    /// One instance on any store: for stories of what each instance counts, or holds, for itself.
    pub(crate) async fn alone(options: Options, start: &str) -> House {
        let (ground, time, tasks) = House::ground(start, 7).await;
        House::open_on(options, ground, time, tasks).await
    }

    /// An empty store, and what stands on it.
    pub(crate) async fn ground(start: &str, seed: u64) -> (Ground, VirtualTime, Tasks) {
        let (clock, time) = Clock::virtual_at(start.parse::<Timestamp>().unwrap());
        let tasks = Tasks::new();
        let tables = store::open(&clock, &tasks).await;
        edge::ensure_tables(&*tables).await.unwrap();
        let random = Random::seeded(seed);
        let ground = Ground::new(tables, &StreamOptions::default(), &clock, &random, &tasks);
        (ground, time, tasks)
    }

    /// One more instance on the same ground.
    pub(crate) async fn open_on(
        options: Options,
        ground: Ground,
        time: VirtualTime,
        tasks: Tasks,
    ) -> House {
        House::open_behind(options, ground, time, tasks, edge::Options::default()).await
    }

    /// The same with a listener of its own kind.
    pub(crate) async fn open_behind(
        options: Options,
        ground: Ground,
        time: VirtualTime,
        tasks: Tasks,
        http: edge::Options,
    ) -> House {
        let Ground { tables, clock, random, .. } = ground.clone();
        let dispatch = Dispatch::open(tables, clock.clone(), random.clone(), &tasks);
        let dispatch = dispatch.await.unwrap();
        let score = Score::open(options, &ground, &dispatch).await.unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let http = edge::Options { listen, ..http };
        let operator = Operator::new(
            Arc::clone(&ground.tables),
            &OperatorOptions::default(),
            &clock,
            random.clone(),
            &tasks,
        );
        let rooms = vec![
            Room::new("operator", operator.routes()).with_cors(Cors::Nobody),
            score.room(&ground, &operator),
        ];
        let traces = Traces::uncollected(random);
        let server = Server::start(&http, rooms, clock, Readiness::new(), traces).await.unwrap();
        let scopes = ["score:operate".to_owned()];
        let key = ground.keys.create("ops", &scopes, None).await.unwrap().text;
        let address = server.address();
        let (twin, turns, _server) = (None, AtomicUsize::new(0), server);
        House { score, ground, time, address, key, operator, twin, turns, _server, _tasks: tasks }
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
        let mut stream = self.send(method, path, headers, body).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Sends a request and hands over the connection.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let other = self.twin.as_ref().filter(|_| turn % 2 == 1);
        let address = other.map_or(self.address, |twin| twin.address);
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: house\r\nconnection: close\r\n\
             content-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("\r\n{body}"));
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
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

    pub(crate) async fn pass(&self, seconds: u64) {
        self.time.advance(Duration::from_secs(seconds)).await;
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

impl Answer {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Status, code and words of a refusal.
    pub(crate) fn refusal(&self) -> (u16, String, String) {
        let problem = self.json();
        let word = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
        assert_eq!(problem["status"], self.status, "{self:?}");
        (self.status, word("code"), word("detail"))
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
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

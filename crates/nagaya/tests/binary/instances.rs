//! Two instances of the house on one DynamoDB, which is a third process: what one writes the other
//! reads, in every room; and with NATS between them, what happens at one is pushed at the other.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base::Clock;
use ring::hmac;
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::carrier::Nats;
use crate::house::{House, nagaya, read, run};

const KEY: (&str, &str) = ("AKIAHOUSE", "only-for-tests");

/// What one instance learns of the other without a carrier between them, it learns by looking. The
/// longest look is at games, every ten seconds.
const KNOWN_WITHIN_SECONDS: u64 = 60;

/// `nagaya dynamodb` in memory. Killed when dropped.
pub(crate) struct Door {
    child: Child,
    pub(crate) endpoint: String,
}

impl Door {
    pub(crate) fn open(directory: &Path) -> Door {
        std::fs::write(directory.join("keys.txt"), format!("{} {}\n", KEY.0, KEY.1)).unwrap();
        let mut command = nagaya(directory);
        command.args(["dynamodb", "--memory", "--listen", "127.0.0.1:0"]);
        command.args(["--dynamodb-keys-file", "keys.txt"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (mut endpoint, mut line) = (None, String::new());
        while endpoint.is_none() {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it has ended");
            endpoint = line.trim().strip_prefix("address  ").map(str::to_owned);
        }
        Door { child, endpoint: endpoint.unwrap() }
    }

    /// A command of a house whose data is here.
    pub(crate) fn house(&self, directory: &Path) -> Command {
        let mut command = nagaya(directory);
        command
            .env("NAGAYA_STORE_BACKEND", "dynamodb")
            .env("AWS_ENDPOINT_URL_DYNAMODB", &self.endpoint)
            .env("AWS_ACCESS_KEY_ID", KEY.0)
            .env("AWS_SECRET_ACCESS_KEY", KEY.1)
            // Nobody reads the log while it runs, and who looks until something is there asks often.
            .env("NAGAYA_LOG_LEVEL", "warn,access=off")
            .env("NAGAYA_COLLECT_PRIVATE_NETWORKS", "127.0.0.0/8")
            .env("NAGAYA_SCORE_BOARD_REFRESH_SECONDS", "1");
        command
    }

    /// The header of somebody who may operate.
    fn operator(&self, directory: &Path) -> String {
        let scopes = ["--scope", "score:operate", "--scope", "collect:operate"];
        let created = run(self.house(directory).args(["key", "create", "me"]).args(scopes));
        assert_eq!(created.0, 0, "{}", created.2);
        format!("x-api-key: {}\r\n", created.1.trim())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Asks a house, with these lines in the head, until it does not ask to come later.
fn ask(house: &House, method: &str, path: &str, head: &str, body: &Json) -> Json {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    loop {
        let mut stream = house.connect().unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\n{head}\r\n{body}",
            body.len()
        )
        .unwrap();
        let answer = read(stream);
        if !answer.starts_with("HTTP/1.1 429 ") {
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            return serde_json::from_str(body)
                .unwrap_or_else(|_| panic!("{method} {path}: {answer}"));
        }
    }
}

fn get(house: &House, path: &str, head: &str) -> Json {
    ask(house, "GET", path, head, &Json::Null)
}

pub(crate) fn post(house: &House, path: &str, head: &str, body: &Json) -> Json {
    ask(house, "POST", path, head, body)
}

fn text(json: &Json, pointer: &str) -> String {
    let found = json.pointer(pointer).and_then(Json::as_str);
    found.unwrap_or_else(|| panic!("no {pointer} in {json}")).to_owned()
}

/// Looks until what is asked for is there.
fn until(look: impl Fn() -> Json, is_there: impl Fn(&Json) -> bool) -> Json {
    let now = || Clock::real().now().seconds();
    let began = now();
    loop {
        let seen = look();
        if is_there(&seen) {
            return seen;
        }
        assert!(now() < began + KNOWN_WITHIN_SECONDS, "{seen}");
    }
}

#[test]
fn two_houses_on_one_dynamodb_are_one_house_in_every_room() {
    let (directory, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let door = Door::open(directory.path());
    let (mut of_one, mut of_two) = (door.house(directory.path()), door.house(other.path()));
    let (one, two) = open_both(&mut of_one, &mut of_two);
    let operator = door.operator(other.path());

    // Its store is elsewhere, and has not stopped.
    let look = ["top", "--once", "--http-listen", &one.address];
    let (code, seen, error) = run(door.house(directory.path()).args(look));
    assert_eq!(code, 0, "{error}");
    assert!(seen.contains("store     elsewhere") && !seen.contains("STOPPED"), "{seen}");

    a_group_of_one_is_joined_at_the_other(&one, &two);
    a_post_at_one_is_read_at_the_other(&one, &two);
    a_comment_at_one_is_read_at_the_other(&one, &two);
    a_source_of_one_is_asked_by_the_other(&one, &two, &operator);
    a_play_begun_at_one_ends_at_the_other(&one, &two, &operator);

    close_both(one, two);
    assert!(!other.path().join("nagaya-data").exists(), "nothing lies here");
}

#[test]
fn what_happens_at_one_house_is_pushed_at_the_other_through_nats() {
    let (directory, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (door, mut nats) = (Door::open(directory.path()), Nats::new());
    nats.start();
    let (mut of_one, mut of_two) = (door.house(directory.path()), door.house(other.path()));
    nats.carries(&mut of_one);
    nats.carries(&mut of_two);
    let (one, two) = open_both(&mut of_one, &mut of_two);
    let operator = door.operator(other.path());

    a_comment_at_one_is_heard_at_the_other(&one, &two);
    a_post_at_one_is_heard_at_the_other(&one, &two);
    a_row_of_one_is_heard_at_the_other(&one, &two, &operator);

    close_both(one, two);
}

/// Opens two houses together, so that both make the tables.
fn open_both(of_one: &mut Command, of_two: &mut Command) -> (House, House) {
    std::thread::scope(|scope| {
        let one = scope.spawn(|| House::open(of_one));
        let two = scope.spawn(|| House::open(of_two));
        (one.join().unwrap(), two.join().unwrap())
    })
}

fn close_both(one: House, two: House) {
    for house in [one, two] {
        house.signal(Signal::TERM);
        let (status, log) = house.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(!log.contains(KEY.1) && !log.contains("ERROR"), "{log}");
    }
}

/// An event stream of a house.
struct Ear(BufReader<TcpStream>);

impl Ear {
    /// Listens; what happens from now on is heard.
    fn open(house: &House, path: &str, head: &str) -> Ear {
        let mut stream = house.connect().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(KNOWN_WITHIN_SECONDS))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n{head}\r\n").unwrap();
        let mut ear = Ear(BufReader::new(stream));
        ear.hear("HTTP/1.1 200 ");
        while !ear.line().trim().is_empty() {}
        ear
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.0.read_line(&mut line).expect("something is heard"), 0, "it has ended");
        line
    }

    /// Listens until something is said.
    fn hear(&mut self, wanted: &str) {
        while !self.line().contains(wanted) {}
    }
}

fn a_comment_at_one_is_heard_at_the_other(one: &House, two: &House) {
    let comments = open_room(one);
    let mut ear = Ear::open(two, &comments.replace("comments", "stream"), "");
    post(one, &comments, "", &json!({ "content": "hello", "nickname": "Ada" }));
    ear.hear("\"hello\"");
}

fn a_post_at_one_is_heard_at_the_other(one: &House, two: &House) {
    let [ada, ben] = register_both(one, two);
    post(one, &format!("/sns/v1/users/{}/follow", ada.id), &ben.bearer, &json!({}));
    let mut ear = Ear::open(two, "/sns/v1/stream", &ben.bearer);
    post(one, "/sns/v1/posts", &ada.bearer, &json!({ "content": "hello" }));
    ear.hear("\"hello\"");
}

fn a_row_of_one_is_heard_at_the_other(one: &House, two: &House, operator: &str) {
    make_game(one, two, operator);
    let mut ear = Ear::open(two, "/score/ranking/snake/ALL/stream", "");
    ear.hear("\"board\"");
    play(one, one);
    ear.hear("\"userId\":\"ada\"");
}

fn a_group_of_one_is_joined_at_the_other(one: &House, two: &House) {
    let key = |house: &House| {
        let line = house.welcome.lines().find_map(|line| line.trim().strip_prefix("mesh key "));
        format!("x-api-key: {}\r\n", line.unwrap().trim())
    };
    assert_eq!(key(one), key(two), "the first made it for both");
    let mesh = |house: &House, query: &str| {
        let told = post(house, "/mesh/graphql", &key(house), &json!({ "query": query }));
        assert_eq!(told.get("errors"), None, "{told}");
        told["data"].clone()
    };
    let made = "mutation { createGroup(name: \"1-2\", hostId: \"me\", domain: \"local\") { id } }";
    let group = text(&mesh(one, made), "/createGroup/id");
    let join = format!(
        "mutation {{ joinGroup(groupId: \"{group}\", domain: \"local\", nodeId: \"ada\") {{ id }} }}"
    );
    assert_eq!(mesh(two, &join)["joinGroup"]["id"], "ada");
    let report = format!(
        "mutation {{ reportDataByNode(groupId: \"{group}\", domain: \"local\", nodeId: \"ada\", \
         data: [{{ key: \"x\", value: \"7\" }}]) {{ groupId }} }}"
    );
    mesh(one, &report);
    let statuses = format!(
        "{{ listGroupStatuses(groupId: \"{group}\", domain: \"local\") {{ nodeId data {{ value }} }} }}"
    );
    let statuses = mesh(two, &statuses);
    assert_eq!(
        statuses["listGroupStatuses"],
        json!([{ "nodeId": "ada", "data": [{ "value": "7" }] }])
    );
}

/// Somebody who has an account.
struct Account {
    id: String,
    bearer: String,
}

/// Ada registers at one house, Ben at the other.
fn register_both(one: &House, two: &House) -> [Account; 2] {
    [(one, "ada"), (two, "ben")].map(|(house, name)| {
        let wanted = json!({
            "email": format!("{name}@x.example"), "username": name, "password": "correct horse",
        });
        let made = post(house, "/sns/v1/auth/register", "", &wanted);
        let bearer = format!("authorization: Bearer {}\r\n", text(&made, "/token"));
        Account { id: text(&made, "/user/userId"), bearer }
    })
}

fn a_post_at_one_is_read_at_the_other(one: &House, two: &House) {
    let [ada, ben] = register_both(one, two);
    // Each is known where it did not register.
    post(one, &format!("/sns/v1/users/{}/follow", ada.id), &ben.bearer, &json!({}));
    post(two, "/sns/v1/posts", &ada.bearer, &json!({ "content": "hello" }));
    let posts = get(one, &format!("/sns/v1/users/{}/posts", ada.id), &ben.bearer);
    assert!(posts.to_string().contains("\"hello\""), "{posts}");
    let timeline = || get(one, "/sns/v1/timeline", &ben.bearer);
    until(timeline, |seen| seen.to_string().contains("\"hello\""));
}

/// Makes a room; the path of its comments.
pub(crate) fn open_room(house: &House) -> String {
    let host = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10";
    let room = post(house, "/live/rooms", "", &json!({ "name": "Keynote", "hostId": host }));
    format!("/live/rooms/{}/comments", text(&room, "/roomId"))
}

fn a_comment_at_one_is_read_at_the_other(one: &House, two: &House) {
    let comments = open_room(one);
    post(two, &comments, "", &json!({ "content": "hello", "nickname": "Ada" }));
    let read = get(one, &comments, "");
    assert!(read.to_string().contains("\"hello\""), "{read}");
}

fn a_source_of_one_is_asked_by_the_other(one: &House, two: &House, operator: &str) {
    let upstream = format!("http://{}/collect", one.address);
    let source = json!({ "name": "tokyo", "metric": "orders", "baseUrl": upstream });
    post(one, "/collect/sources", operator, &source);
    let known = || get(two, "/collect/sources/tokyo", operator);
    until(known, |seen| seen.pointer("/source/name").is_some());
    let minute = Clock::real().now().seconds() / 60 * 60;
    let spell = |seconds| base::Timestamp::from_seconds(seconds).unwrap().to_string();
    let (from, to) =
        (spell(minute - 600).replace(".000", ""), spell(minute - 540).replace(".000", ""));
    let order = json!({ "from": from, "to": to });
    let begun = post(two, "/collect/sources/tokyo/backfill", operator, &order);
    let path = format!("/collect/backfills/{}", text(&begun, "/id"));
    let done = until(|| get(one, &path, operator), |seen| seen["state"] == "done");
    assert_eq!((&done["done"], &done["failed"]), (&json!(12), &json!(0)), "{done}");
    let slots = get(one, &format!("/collect/slots/orders%23tokyo?from={from}&to={to}"), "");
    assert_eq!(slots["slots"].as_array().map(Vec::len), Some(12), "{slots}");
}

/// Makes a game at one house, and waits until the other knows it.
fn make_game(one: &House, two: &House, operator: &str) {
    let sort = json!([{ "by": "score", "dir": "desc" }]);
    let game = json!({ "gameName": "snake", "sort": sort, "topN": 10 });
    ask(one, "PUT", "/score/games/snake", operator, &game);
    until(|| get(two, "/score/games", ""), |seen| seen.to_string().contains("snake"));
}

/// Ada's play begins at one house, and ends and is submitted at another.
fn play(begins: &House, ends: &House) {
    let start = text(&get(begins, "/score/get-start?gameId=snake", ""), "/token_start");
    // A play lasts at least a millisecond.
    let end = || get(ends, &format!("/score/get-end?token_start={start}"), "");
    let end = text(&until(end, |seen| seen["ok"] == true), "/token_end");
    let key = hmac::Key::new(hmac::HMAC_SHA256, end.as_bytes());
    let sig = base::hex(hmac::sign(&key, b"ada|30|1|ALL").as_ref());
    let head = format!(
        "x-token-start: {start}\r\nx-token-end: {end}\r\nx-sig: {sig}\r\nx-score: \
         30\r\nx-time-ms: 1\r\nx-player: ada\r\n"
    );
    let told = ask(ends, "PUT", "/score/scores/snake/ALL/ada", &head, &json!({}));
    assert_eq!(told["updated"], true, "{told}");
}

fn a_play_begun_at_one_ends_at_the_other(one: &House, two: &House, operator: &str) {
    make_game(one, two, operator);
    play(one, two);
    let ranking = || get(one, "/score/ranking/snake/ALL", "");
    let ranked = until(ranking, |seen| seen.pointer("/0").is_some());
    assert_eq!((&ranked[0]["userId"], &ranked[0]["score"]), (&json!("ada"), &json!(30)));
}

//! Two instances of the house on one DynamoDB, which is a third process: what one writes the other
//! reads, in every room; and with NATS between them, what happens at one is pushed at the other.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use ring::hmac;
use serde_json::{Value as Json, json};
use testkit::node::Node;
use testkit::program::{self, run};
use testkit::{Program, Served, wait};

use crate::carrier::Nats;

const KEY: (&str, &str) = ("AKIAHOUSE", "only-for-tests");

/// What one instance learns of the other without a carrier between them, it learns by looking. Time
/// passes between two looks of a test.
const LOOK: Duration = Duration::from_millis(500);

/// `nagaya dynamodb` in memory. Killed when dropped.
pub(crate) struct Door {
    _running: Node,
    pub(crate) endpoint: String,
}

impl Door {
    pub(crate) fn open(program: &Program) -> Door {
        let keys = format!("{} {}\n", KEY.0, KEY.1);
        std::fs::write(program.directory().join("keys.txt"), keys).unwrap();
        let mut command = program.command();
        command.args(["dynamodb", "--memory", "--listen", "127.0.0.1:0"]);
        let mut running = Node::start(command.args(["--dynamodb-keys-file", "keys.txt"]));
        running.until("The DynamoDB endpoint is open.");
        let line = running.line().unwrap();
        let endpoint = line.trim().strip_prefix("address").unwrap().trim().to_owned();
        Door { _running: running, endpoint }
    }

    /// Lets a command find its data here.
    pub(crate) fn lead(&self, mut command: Command) -> Command {
        command
            .env("NAGAYA_STORE_BACKEND", "dynamodb")
            .env("AWS_ENDPOINT_URL_DYNAMODB", &self.endpoint)
            .env("AWS_ACCESS_KEY_ID", KEY.0)
            .env("AWS_SECRET_ACCESS_KEY", KEY.1)
            .env("NAGAYA_COLLECT_PRIVATE_NETWORKS", "127.0.0.0/8")
            .env("NAGAYA_SCORE_BOARD_REFRESH_SECONDS", "1");
        command
    }

    /// The header of somebody who may operate.
    fn operator(&self, program: &Program) -> String {
        let scopes = ["--scope", "score:operate", "--scope", "collect:operate"];
        let mut command = self.lead(program.command());
        let created = run(command.args(["key", "create", "me"]).args(scopes));
        assert_eq!(created.0, 0, "{}", created.2);
        format!("x-api-key: {}\r\n", created.1.trim())
    }
}

/// Two instances of one house.
struct Houses {
    one: Served,
    two: Served,
}

impl Houses {
    /// Opens both together, so that both make the tables.
    fn open(mut of_one: Command, mut of_two: Command) -> Houses {
        std::thread::scope(|scope| {
            let one = scope.spawn(|| Served::open(&mut of_one));
            let two = scope.spawn(|| Served::open(&mut of_two));
            Houses { one: one.join().unwrap(), two: two.join().unwrap() }
        })
    }

    /// Lets time pass at both until what is asked for is there.
    #[track_caller]
    fn until(&self, look: impl Fn() -> Json, is_there: impl Fn(&Json) -> bool) -> Json {
        wait::until("what the other instance knows", || {
            Some(look()).filter(&is_there).ok_or_else(|| {
                self.one.advance(LOOK);
                self.two.advance(LOOK);
                look()
            })
        })
    }

    fn close(self) {
        for house in [self.one, self.two] {
            let (status, log) = house.close();
            assert_eq!(status.code(), Some(0), "{log}");
            assert!(!log.contains(KEY.1) && !log.contains("ERROR"), "{log}");
        }
    }
}

/// Asks a house, with these lines in the head, until it does not ask to come later.
fn ask(house: &Served, method: &str, path: &str, head: &str, body: &Json) -> Json {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!("content-type: application/json\r\n{head}");
    wait::until("an answer", || {
        let answer = house.ask(method, path, &head, &body);
        if answer.starts_with("HTTP/1.1 429 ") {
            house.advance(LOOK);
            return Err(answer);
        }
        Ok(program::json(&answer))
    })
}

fn get(house: &Served, path: &str, head: &str) -> Json {
    ask(house, "GET", path, head, &Json::Null)
}

pub(crate) fn post(house: &Served, path: &str, head: &str, body: &Json) -> Json {
    ask(house, "POST", path, head, body)
}

fn text(json: &Json, pointer: &str) -> String {
    let found = json.pointer(pointer).and_then(Json::as_str);
    found.unwrap_or_else(|| panic!("no {pointer} in {json}")).to_owned()
}

#[test]
fn two_houses_on_one_dynamodb_are_one_house_in_every_room() {
    let (program, other) = (testkit::program!(), testkit::program!());
    let door = Door::open(&program);
    let houses = Houses::open(door.lead(program.serve()), door.lead(other.serve()));
    let operator = door.operator(&other);

    // They have started together: one has printed a set-up link, which both know.
    let printed = [&houses.one, &houses.two].map(|house| house.find_named("set up"));
    let links: Vec<&str> = printed.into_iter().flatten().collect();
    let [link] = links.as_slice() else { panic!("{links:?}") };
    let (_, path) = link.split_once("/console/").unwrap();
    for house in [&houses.one, &houses.two] {
        let page = house.get(&format!("/console/{path}"));
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    }

    // Its store is elsewhere, and has not stopped.
    let look = ["top", "--once", "--http-listen", &houses.one.address];
    let (code, seen, error) = run(door.lead(program.command()).args(look));
    assert_eq!(code, 0, "{error}");
    assert!(seen.contains("store     elsewhere") && !seen.contains("STOPPED"), "{seen}");

    a_group_of_one_is_joined_at_the_other(&houses);
    a_post_at_one_is_read_at_the_other(&houses);
    a_comment_at_one_is_read_at_the_other(&houses);
    a_source_of_one_is_asked_by_the_other(&houses, &operator);
    a_play_begun_at_one_ends_at_the_other(&houses, &operator);

    houses.close();
    assert!(!other.directory().join("nagaya-data").exists(), "nothing lies here");
}

#[test]
fn what_happens_at_one_house_is_pushed_at_the_other_through_nats() {
    let (program, other) = (testkit::program!(), testkit::program!());
    let (door, mut nats) = (Door::open(&program), Nats::new());
    nats.start();
    let (mut of_one, mut of_two) = (door.lead(program.serve()), door.lead(other.serve()));
    nats.carries(&mut of_one);
    nats.carries(&mut of_two);
    let houses = Houses::open(of_one, of_two);
    let operator = door.operator(&other);

    a_comment_at_one_is_heard_at_the_other(&houses);
    a_post_at_one_is_heard_at_the_other(&houses);
    a_row_of_one_is_heard_at_the_other(&houses, &operator);

    houses.close();
}

/// An event stream of a house.
struct Ear(BufReader<TcpStream>);

impl Ear {
    /// Listens; what happens from now on is heard.
    fn open(house: &Served, path: &str, head: &str) -> Ear {
        let mut stream = house.connect().unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n{head}\r\n").unwrap();
        let mut ear = Ear(BufReader::new(stream));
        ear.hear("HTTP/1.1 200 ");
        while !ear.line().trim().is_empty() {}
        ear
    }

    /// The next line; the connection of a house is waited at for a bounded time.
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

fn a_comment_at_one_is_heard_at_the_other(Houses { one, two }: &Houses) {
    let comments = open_room(one);
    let mut ear = Ear::open(two, &comments.replace("comments", "stream"), "");
    post(one, &comments, "", &json!({ "content": "hello", "nickname": "Ada" }));
    ear.hear("\"hello\"");
}

fn a_post_at_one_is_heard_at_the_other(houses: &Houses) {
    let ([ada, ben], Houses { one, two }) = (register_both(houses), houses);
    post(one, &format!("/sns/v1/users/{}/follow", ada.id), &ben.bearer, &json!({}));
    let mut ear = Ear::open(two, "/sns/v1/stream", &ben.bearer);
    post(one, "/sns/v1/posts", &ada.bearer, &json!({ "content": "hello" }));
    ear.hear("\"hello\"");
}

fn a_row_of_one_is_heard_at_the_other(houses: &Houses, operator: &str) {
    make_game(houses, operator);
    let mut ear = Ear::open(&houses.two, "/score/ranking/snake/ALL/stream", "");
    ear.hear("\"board\"");
    play(houses, &houses.one);
    ear.hear("\"userId\":\"ada\"");
}

fn a_group_of_one_is_joined_at_the_other(houses: &Houses) {
    let Houses { one, two } = houses;
    let key = |house: &Served| format!("x-api-key: {}\r\n", house.mesh_key());
    assert_eq!(key(one), key(two), "the first made it for both");
    let mesh = |house: &Served, query: &str| {
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
    // Reports are saved gathered: without a carrier the other instance reads them within a second.
    let expected = json!([{ "nodeId": "ada", "data": [{ "value": "7" }] }]);
    houses.until(|| mesh(two, &statuses)["listGroupStatuses"].clone(), |seen| *seen == expected);
}

/// Somebody who has an account.
struct Account {
    id: String,
    bearer: String,
}

/// Ada registers at one house, Ben at the other.
fn register_both(Houses { one, two }: &Houses) -> [Account; 2] {
    [(one, "ada"), (two, "ben")].map(|(house, name)| {
        let wanted = json!({
            "email": format!("{name}@x.example"), "username": name, "password": "correct horse",
        });
        let made = post(house, "/sns/v1/auth/register", "", &wanted);
        let bearer = format!("authorization: Bearer {}\r\n", text(&made, "/token"));
        Account { id: text(&made, "/user/userId"), bearer }
    })
}

fn a_post_at_one_is_read_at_the_other(houses: &Houses) {
    let ([ada, ben], Houses { one, two }) = (register_both(houses), houses);
    // Each is known where it did not register.
    post(one, &format!("/sns/v1/users/{}/follow", ada.id), &ben.bearer, &json!({}));
    post(two, "/sns/v1/posts", &ada.bearer, &json!({ "content": "hello" }));
    let posts = get(one, &format!("/sns/v1/users/{}/posts", ada.id), &ben.bearer);
    assert!(posts.to_string().contains("\"hello\""), "{posts}");
    let timeline = || get(one, "/sns/v1/timeline", &ben.bearer);
    houses.until(timeline, |seen| seen.to_string().contains("\"hello\""));
}

/// Makes a room; the path of its comments.
pub(crate) fn open_room(house: &Served) -> String {
    let host = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10";
    let room = post(house, "/live/rooms", "", &json!({ "name": "Keynote", "hostId": host }));
    format!("/live/rooms/{}/comments", text(&room, "/roomId"))
}

fn a_comment_at_one_is_read_at_the_other(Houses { one, two }: &Houses) {
    let comments = open_room(one);
    post(two, &comments, "", &json!({ "content": "hello", "nickname": "Ada" }));
    let read = get(one, &comments, "");
    assert!(read.to_string().contains("\"hello\""), "{read}");
}

fn a_source_of_one_is_asked_by_the_other(houses: &Houses, operator: &str) {
    let Houses { one, two } = houses;
    let upstream = format!("http://{}/collect", one.address);
    let source = json!({ "name": "tokyo", "metric": "orders", "baseUrl": upstream });
    post(one, "/collect/sources", operator, &source);
    let known = || get(two, "/collect/sources/tokyo", operator);
    houses.until(known, |seen| seen.pointer("/source/name").is_some());
    let minute = two.now().seconds() / 60 * 60;
    let spell = |seconds| base::Timestamp::from_seconds(seconds).unwrap().to_string();
    let (from, to) =
        (spell(minute - 600).replace(".000", ""), spell(minute - 540).replace(".000", ""));
    let order = json!({ "from": from, "to": to });
    let begun = post(two, "/collect/sources/tokyo/backfill", operator, &order);
    let path = format!("/collect/backfills/{}", text(&begun, "/id"));
    let done = houses.until(|| get(one, &path, operator), |seen| seen["state"] == "done");
    assert_eq!((&done["done"], &done["failed"]), (&json!(12), &json!(0)), "{done}");
    let path = format!("/collect/slots/orders%23tokyo?from={from}&to={to}");
    let slots = get(one, &path, operator);
    assert_eq!(slots["slots"].as_array().map(Vec::len), Some(12), "{slots}");
}

/// Makes a game at one house, and waits until the other knows it.
fn make_game(houses: &Houses, operator: &str) {
    let sort = json!([{ "by": "score", "dir": "desc" }]);
    let game = json!({ "gameName": "snake", "sort": sort, "topN": 10 });
    ask(&houses.one, "PUT", "/score/games/snake", operator, &game);
    houses
        .until(|| get(&houses.two, "/score/games", ""), |seen| seen.to_string().contains("snake"));
}

/// Ada's play begins at the first house, and ends and is submitted at this one.
fn play(houses: &Houses, ends: &Served) {
    let start = text(&get(&houses.one, "/score/get-start?gameId=snake", ""), "/token_start");
    // A play lasts at least a millisecond.
    let end = || get(ends, &format!("/score/get-end?token_start={start}"), "");
    let end = text(&houses.until(end, |seen| seen["ok"] == true), "/token_end");
    let key = hmac::Key::new(hmac::HMAC_SHA256, end.as_bytes());
    let sig = base::hex(hmac::sign(&key, b"ada|30|1|ALL").as_ref());
    let head = format!(
        "x-token-start: {start}\r\nx-token-end: {end}\r\nx-sig: {sig}\r\nx-score: \
         30\r\nx-time-ms: 1\r\nx-player: ada\r\n"
    );
    let told = ask(ends, "PUT", "/score/scores/snake/ALL/ada", &head, &json!({}));
    assert_eq!(told["updated"], true, "{told}");
}

fn a_play_begun_at_one_ends_at_the_other(houses: &Houses, operator: &str) {
    make_game(houses, operator);
    play(houses, &houses.two);
    let ranking = || get(&houses.one, "/score/ranking/snake/ALL", "");
    let ranked = houses.until(ranking, |seen| seen.pointer("/0").is_some());
    assert_eq!((&ranked[0]["userId"], &ranked[0]["score"]), (&json!("ada"), &json!(30)));
}

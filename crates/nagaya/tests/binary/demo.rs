//! `nagaya serve --demo`: every room moves, through the house's own door, and what its box names
//! shows it.

use std::io::{Read, Write};
use std::time::Duration;

use base::Clock;
use serde_json::json;
use tempfile::TempDir;

use crate::house::{House, nagaya, run};

/// Signs in the house's numbers that a room does what it is there for.
const SIGNS: [(&str, &[&str]); 6] = [
    ("mesh", &["nagaya_hub_pushes_total{channel=\"mesh.group\"}"]),
    ("live", &["route=\"/live/rooms/{roomId}/comments\"", "status=\"201\""]),
    ("sns", &["route=\"/sns/v1/posts\"", "status=\"201\""]),
    ("collect", &["nagaya_collect_calls_total{outcome=\"ok\"}"]),
    (
        "score",
        &["method=\"PUT\"", "route=\"/score/scores/{game}/{period}/{user}\"", "status=\"200\""],
    ),
    ("facts", &["nagaya_queue_sent_total{queue=\"bus.outbox\"}"]),
];

/// Who plays.
const PLAYERS: [&str; 8] = ["花子", "太郎", "さくら", "Ada", "Ben", "Grace", "けん", "Eve"];

/// The slowest is a source's first slot: up to a whole minute away.
const PATIENCE: Duration = Duration::from_secs(150);

fn has(metrics: &str, parts: &[&str]) -> bool {
    let mut lines = metrics.lines().filter(|line| parts.iter().all(|part| line.contains(part)));
    lines.any(|line| !line.ends_with(" 0"))
}

/// What the box of the house names so.
#[track_caller]
fn named<'h>(house: &'h House, name: &str) -> &'h str {
    let line = house.welcome.lines().find_map(|line| line.trim().strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in\n{}", house.welcome)).trim()
}

/// An address of the box, without the house.
#[track_caller]
fn path_of<'h>(house: &'h House, name: &str) -> &'h str {
    let place = named(house, name).split_once(&house.address);
    place.unwrap_or_else(|| panic!("{name} is not in the house")).1
}

/// Rooms in which nothing is to be seen yet, at the addresses that the box names.
fn unseen(house: &House, token: &str) -> Vec<&'static str> {
    let body = |path: &str| house.get(path);
    let bearer = format!("authorization: Bearer {token}\r\n");
    let timeline = asked(house, "GET /sns/v1/timeline", &bearer, "");
    let room = path_of(house, "wall").split(['/', '?']).nth(3).unwrap().to_owned();
    let board = body(path_of(house, "board"));
    let signs = [
        ("comments", body(&format!("/live/rooms/{room}/comments")).contains("\"content\"")),
        ("audience", body(path_of(house, "audience")).contains("長屋")),
        ("board", PLAYERS.iter().any(|name| board.contains(name))),
        ("series", body("/collect/metrics/summary?source=demo-tokyo").contains("\"coverage\":1")),
        ("timeline", timeline.contains("\"content\"")),
    ];
    signs.iter().filter(|(_, is_seen)| !is_seen).map(|(name, _)| *name).collect()
}

/// The token of the guest whom the box invites.
fn guest(house: &House) -> String {
    let guest = named(house, "guest").split(' ').collect::<Vec<_>>();
    let [_, "as", email, "with", password] = guest[..] else { panic!("{guest:?}") };
    let account = json!({ "email": email, "password": password }).to_string();
    let told = asked(house, "POST /sns/v1/auth/login", "", &account);
    let token = told.split("\"token\":\"").nth(1).and_then(|rest| rest.split('"').next());
    token.unwrap_or_else(|| panic!("the guest is not let in: {told}")).to_owned()
}

fn asked(house: &House, line: &str, head: &str, body: &str) -> String {
    let mut stream = house.connect().unwrap();
    let length = body.len();
    write!(stream, "{line} HTTP/1.0\r\nhost: x\r\n{head}content-length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_demonstration_moves_every_room() {
    let directory = TempDir::new().unwrap();
    let mut command = nagaya(directory.path());
    command.env("NAGAYA_LOG_LEVEL", "error,access=off");
    let house = House::open(command.args(["serve", "--demo"]));
    let clock = Clock::real();
    let begun = clock.instant();
    let token = guest(&house);
    loop {
        let metrics = house.get("/metrics");
        let still: Vec<&str> = SIGNS
            .iter()
            .filter(|(_, parts)| !has(&metrics, parts))
            .map(|(room, _)| *room)
            .collect();
        let unseen = unseen(&house, &token);
        if still.is_empty() && unseen.is_empty() {
            return;
        }
        let waited = clock.instant().since(begun);
        assert!(
            waited < PATIENCE,
            "nothing happens in {still:?}, and is seen of {unseen:?}:\n{}",
            routes(&metrics)
        );
        // It looks for a second, and leaves the machine to the house meanwhile.
        let look = ["top", "--once", "--http-listen", &house.address];
        assert_eq!(run(nagaya(directory.path()).args(look)).0, 0);
    }
}

/// What was asked, for who has to find out why nothing happened.
fn routes(metrics: &str) -> String {
    let asked = metrics.lines().filter(|line| line.starts_with("nagaya_http_requests_total"));
    asked.map(|line| format!("{line}\n")).collect()
}

//! `nagaya serve --demo`: every room moves, through the house's own door, and what its box names
//! shows it.

use std::time::Duration;

use serde_json::json;
use testkit::program::json as body_of;
use testkit::{Left, Served, wait};

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

/// Time passes between two looks. The slowest is a source's first slot: up to a whole minute away.
const LOOK: Duration = Duration::from_secs(1);

fn has(metrics: &str, parts: &[&str]) -> bool {
    let mut lines = metrics.lines().filter(|line| parts.iter().all(|part| line.contains(part)));
    lines.any(|line| !line.ends_with(" 0"))
}

/// An address of the box, without the house.
#[track_caller]
fn path_of<'h>(house: &'h Served, name: &str) -> &'h str {
    let place = house.named(name).split_once(&house.address);
    place.unwrap_or_else(|| panic!("{name} is not in the house")).1
}

/// Rooms in which nothing is to be seen yet, at the addresses that the box names.
fn unseen(house: &Served, token: &str) -> Vec<&'static str> {
    let body = |path: &str| house.get(path);
    let bearer = format!("authorization: Bearer {token}\r\n");
    let timeline = house.ask("GET", "/sns/v1/timeline", &bearer, "");
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
fn guest(house: &Served) -> String {
    let guest = house.named("guest").split(' ').collect::<Vec<_>>();
    let [_, "as", email, "with", password] = guest[..] else { panic!("{guest:?}") };
    let account = json!({ "email": email, "password": password }).to_string();
    let told = house.ask("POST", "/sns/v1/auth/login", "", &account);
    let token = body_of(&told)["token"].as_str().map(str::to_owned);
    token.unwrap_or_else(|| panic!("the guest is not let in: {told}"))
}

#[test]
fn a_demonstration_moves_every_room() {
    let program = testkit::program!();
    let mut house = Served::open(program.serve().arg("--demo"));
    // People who do not exist never stop.
    house.allow(Left::Jobs);
    house.allow(Left::Subscribers);
    let token = guest(&house);
    wait::until("signs of every room", || {
        let metrics = house.get("/metrics");
        let still = SIGNS.iter().filter(|(_, parts)| !has(&metrics, parts));
        let still: Vec<&str> = still.map(|(room, _)| *room).collect();
        let unseen = unseen(&house, &token);
        if still.is_empty() && unseen.is_empty() {
            return Ok(());
        }
        house.advance(LOOK);
        let routes = routes(&metrics);
        Err(format!("nothing happens in {still:?}, and is seen of {unseen:?}:\n{routes}"))
    });
}

/// What was asked, for who has to find out why nothing happened.
fn routes(metrics: &str) -> String {
    let asked = metrics.lines().filter(|line| line.starts_with("nagaya_http_requests_total"));
    asked.map(|line| format!("{line}\n")).collect()
}

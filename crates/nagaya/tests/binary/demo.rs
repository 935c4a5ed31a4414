//! `nagaya serve --demo`: every room moves, through the house's own door, what its box names shows it,
//! and nothing of the house that the settings name is touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::program::json as body_of;
use testkit::{Left, Program, Served, wait};

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

/// Sources, each with a series of its own.
const SOURCES: [&str; 3] = ["tokyo-shop", "museum-hall", "class-1-2"];

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
        ("board", board.contains("data-user=\"")),
        ("series", body("/collect/metrics/summary?source=tokyo-shop").contains("\"coverage\":1")),
        ("gaps", body("/collect/slots/museum-hall").contains("\"reason\":\"status 404\"")),
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
    let house = demo(&mut program.serve(), &temporary(&program));
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

/// A directory in which demonstrations make theirs.
fn temporary(program: &Program) -> PathBuf {
    let directory = program.directory().join("tmp");
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// A demonstration whose temporary directories are in `temporary`. People who do not exist never
/// stop, and some slots of their sources are given up.
#[track_caller]
fn demo(command: &mut Command, temporary: &Path) -> Served {
    let mut house = Served::open(command.arg("--demo").env("TMPDIR", temporary));
    for left in [Left::Jobs, Left::Subscribers, Left::DeadLetters] {
        house.allow(left);
    }
    house
}

/// The names in a directory, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_demonstration_opens_nothing_of_the_house_that_the_settings_name_and_leaves_nothing() {
    let program = testkit::program!();
    let temporary = temporary(&program);
    // None of these could be opened.
    let settings = "[store]\nbackend = \"dynamodb\"\npath = \"real\"\n\
                    [hub]\ncarrier = \"nats\"\nnats_url = \"nats://127.0.0.1:1\"\n\
                    [collect]\nbase_url = \"http://127.0.0.1:1\"\nsources_file = \"none.json\"\n";
    fs::write(program.directory().join("nagaya.toml"), settings).unwrap();
    let house = demo(&mut program.serve(), &temporary);
    let data = PathBuf::from(house.named("data"));
    assert!(data.starts_with(&temporary), "{}", data.display());
    assert!(data.file_name().unwrap().to_str().unwrap().starts_with("nagaya-demo-"));
    drop(house);
    assert_eq!(names(&temporary), Vec::<String>::new(), "it is removed at the end");
    assert_eq!(names(program.directory()), ["nagaya.toml", "tmp"]);
}

#[test]
fn a_killed_demonstration_leaves_its_own_directory_and_the_next_one_does_not_care() {
    let program = testkit::program!();
    let temporary = temporary(&program);
    demo(&mut program.serve(), &temporary).kill();
    let [left] = &names(&temporary)[..] else { panic!("{:?}", names(&temporary)) };
    assert!(left.starts_with("nagaya-demo-"), "{left}");
    assert!(temporary.join(left).join("nagaya-demo.txt").is_file(), "it says what it is");
    drop(demo(&mut program.serve(), &temporary));
    assert_eq!(names(&temporary), [left.as_str()]);
    assert_eq!(names(program.directory()), ["tmp"]);
}

#[test]
fn a_demonstration_that_is_kept_goes_on_in_its_directory() {
    let program = testkit::program!();
    let temporary = temporary(&program);
    let house = demo(program.serve().args(["--demo-keep", "kept"]), &temporary);
    let has_sources = |house: &Served| {
        let page = house.get("/collect");
        let is_there = SOURCES.iter().all(|name| page.contains(name));
        wait::holds(is_there, "not all sources are there")
    };
    wait::until("its sources", || has_sources(&house));
    drop(house);
    let house = demo(program.serve().args(["--demo-keep", "kept"]), &temporary);
    has_sources(&house).unwrap();
    drop(house);
    assert!(names(&temporary).is_empty());
    assert_eq!(names(program.directory()), ["kept", "tmp"]);
}

#[test]
fn a_demonstration_is_not_kept_in_a_real_store() {
    let program = testkit::program!().closed();
    let before = names(&program.directory().join("nagaya-data"));
    for store in ["nagaya-data", "other"] {
        let keep = ["--demo-keep", "nagaya-data", "--store-path", store];
        let (code, _, error) = program.run("serve --demo", &keep);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains("`--demo-keep nagaya-data`"), "{error}");
    }
    let (code, _, error) = program.run("serve --demo-keep x", &[]);
    assert_eq!(code, 2, "without a demonstration there is nothing to keep: {error}");
    assert_eq!(names(&program.directory().join("nagaya-data")), before);
    assert_eq!(names(program.directory()), ["nagaya-data"]);
}

/// What was asked, for who has to find out why nothing happened.
fn routes(metrics: &str) -> String {
    let asked = metrics.lines().filter(|line| line.starts_with("nagaya_http_requests_total"));
    asked.map(|line| format!("{line}\n")).collect()
}

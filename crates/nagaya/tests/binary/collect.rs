//! The collect room as a process: its time, the real mock, and settings that are refused.

use std::process::Command;
use std::time::Duration;

use base::Timestamp;
use serde_json::Value;
use testkit::node::Node;
use testkit::program::{json, run};
use testkit::{Program, Served, wait};

/// The mock API as a process of its own. Killed when dropped.
struct MockApi {
    _running: Node,
    address: String,
}

impl MockApi {
    fn open(program: &Program) -> MockApi {
        let mut command = program.command();
        command.args(["mock-api", "--port", "0"]).env("NAGAYA_LOG_LEVEL", "warn,access=off");
        let mut running = Node::start(&mut command);
        running.until("The mock API is open.");
        let line = running.line().unwrap();
        let address = line.trim().strip_prefix("address").unwrap().trim().to_owned();
        MockApi { _running: running, address }
    }

    /// A house that asks it.
    fn house(&self, program: &Program) -> Served {
        let mut command = program.serve();
        command.env("AI_API_BASE_URL", &self.address);
        Served::open(command.env("NAGAYA_COLLECT_READS_PER_SECOND", "100000"))
    }
}

/// The time so many seconds after 1970, as the room spells it.
fn spell(seconds: u64) -> String {
    let time = Timestamp::from_seconds(seconds).unwrap().to_string();
    time.replace(".000Z", "Z")
}

/// When the first slot of the source begins: with the first whole minute after its opening, or with
/// the second, if the first was about to begin.
fn first_slot(house: &Served) -> u64 {
    let first = json(&house.get("/collect/explain"))["sources"][0]["next"]["from"].clone();
    let first = first.as_str().unwrap().parse::<Timestamp>().unwrap().seconds();
    assert!(first % 60 == 0 && first.abs_diff(house.now().seconds()) <= 63, "{first}");
    first
}

/// The slots that are kept from the first so many seconds.
fn slots(house: &Served, first: u64, seconds: u64) -> Vec<Value> {
    let (from, to) = (spell(first), spell(first + seconds));
    let answer = house.get(&format!("/collect/slots/ai_response_count?from={from}&to={to}"));
    json(&answer)["slots"].as_array().unwrap().clone()
}

/// Moves the clock of a house to a second.
fn advance_to(house: &Served, second: u64) {
    let time = Timestamp::from_seconds(second).unwrap();
    house.advance(time.since(house.now()));
}

#[test]
fn two_minutes_are_exactly_twenty_four_slots_with_the_mocks_counts() {
    let program = testkit::program!();
    let mock = MockApi::open(&program);
    let house = mock.house(&program);
    let first = first_slot(&house);
    // The end of the last slot; the next one, which begins then, is asked for later.
    advance_to(&house, first + 120);
    let slots = wait::until("the last slot", || {
        let slots = slots(&house, first, 120);
        if slots.len() == 24 { Ok(slots) } else { Err(house.advance(Duration::from_millis(100))) }
    });
    assert!(house.now().seconds() < first + 123, "{}", house.now());
    for (slot, from) in slots.iter().zip((first..).step_by(5)) {
        let minute = (from + 5) / 60 % 60;
        assert_eq!(
            (slot["from"].as_str(), slot["status"].as_str()),
            (Some(spell(from).as_str()), Some("ok"))
        );
        assert_eq!(slot["count"], minute % 11, "{slot}");
    }
}

/// The one place where the collector waits for real time: the rest of the way to a slot's moment is
/// not moved but waited for.
#[test]
fn a_slot_is_asked_for_when_its_real_second_has_come() {
    let program = testkit::program!();
    let mock = MockApi::open(&program);
    let house = mock.house(&program);
    let first = first_slot(&house);
    advance_to(&house, first + 4);
    assert_eq!(slots(&house, first, 5), Vec::<Value>::new(), "its second has not come");
    let asked = wait::until("the first slot", || {
        wait::holds(slots(&house, first, 5).len() == 1, "none").map(|()| house.now())
    });
    let end = Timestamp::from_seconds(first + 5).unwrap();
    assert!(asked >= end && asked.since(end) < Duration::from_secs(3), "{asked}");
}

/// The program is refused for its settings, before anything is opened.
fn assert_refused(command: &mut Command, program: &Program, told: &str) {
    let (code, out, error) = run(command);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    assert!(error.contains(told), "{error}");
    assert!(!program.directory().join("nagaya-data").exists(), "nothing was opened");
}

#[test]
fn sources_that_cannot_be_asked_are_refused_by_name() {
    let program = testkit::program!();
    let refused = |variable: &str, value: &str, told: &str| {
        let mut command = program.command();
        assert_refused(command.env(variable, value), &program, told);
        assert_refused(command.args(["config", "check"]), &program, told);
    };
    refused("AI_API_BASE_URL", "nonsense", "`collect.base_url`: baseUrl `nonsense`");
    refused("AI_API_BASE_URL", "ftp://x.example", "only http and https are asked");
    let missing = "`collect.base_url` (AI_API_BASE_URL) is missing";
    refused("AI_METRICS_TABLE_NAME", "My-Metrics", missing);
    refused("NAGAYA_COLLECT_BASE_ULR", "x", "did you mean `NAGAYA_COLLECT_BASE_URL`?");
    let file = "NAGAYA_COLLECT_SOURCES_FILE";
    refused(file, "none.json", "`collect.sources_file` none.json: ");
    for (more, told) in [
        (r#""colour": 1"#, "source `tokyo`: unknown field `colour`"),
        (r#""intervalSeconds": 0"#, "intervalSeconds must be from 1 to 86400, not 0"),
        (
            r#""path": "/{when}""#,
            "holes are {from}, {to}, {fromSeconds}, {toSeconds} and {secret:file}",
        ),
        (r#""headerFiles": {"x-key": "key"}"#, "source `tokyo`, header `x-key`, secrets/key: "),
    ] {
        let sources = format!(r#"[{{"name": "tokyo", "baseUrl": "https://x.example", {more}}}]"#);
        std::fs::write(program.directory().join("sources.json"), sources).unwrap();
        refused(file, "sources.json", told);
    }
}

#[test]
fn our_own_name_of_a_setting_counts_more_than_that_of_the_contract() {
    let program = testkit::program!();
    let print = |command: &mut Command| {
        let (code, out, error) = run(command.args(["config", "print", "--origin"]));
        assert_eq!((code, error.as_str()), (0, ""));
        out
    };
    let out = print(program.command().env("AI_API_BASE_URL", "http://a.example"));
    assert!(out.contains("base_url = \"http://a.example\"  # AI_API_BASE_URL\n"), "{out}");
    let out = print(
        program
            .command()
            .env("AI_API_BASE_URL", "http://a.example")
            .env("NAGAYA_COLLECT_BASE_URL", "http://b.example")
            .env("AI_METRICS_TABLE_NAME", "Metrics"),
    );
    let ours = "base_url = \"http://b.example\"  # NAGAYA_COLLECT_BASE_URL\n";
    assert!(out.contains(ours), "{out}");
    assert!(out.contains("table = \"Metrics\"  # AI_METRICS_TABLE_NAME\n"), "{out}");
}

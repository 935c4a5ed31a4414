//! The collect room as a process: real time, the real mock, and settings that are refused.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::house::{House, nagaya, run};

/// The mock API as a process of its own. Killed when dropped.
struct MockApi {
    child: Child,
    address: String,
    log: BufReader<std::process::ChildStderr>,
}

impl MockApi {
    fn open(directory: &Path) -> MockApi {
        let mut command = nagaya(directory);
        command.args(["mock-api", "--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (mut address, mut line) = (None, String::new());
        while address.is_none() {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it has ended");
            address = line.trim().strip_prefix("address  ").map(str::to_owned);
        }
        let log = BufReader::new(child.stderr.take().unwrap());
        MockApi { child, address: address.unwrap(), log }
    }

    /// Waits until it has answered a request that names this time.
    fn wait_for(&mut self, time: &str) {
        let mut line = String::new();
        while !line.contains(time) {
            line.clear();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "it has ended");
        }
    }
}

impl Drop for MockApi {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn json(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

/// The time so many seconds after 1970, as the room spells it.
fn spell(seconds: u64) -> String {
    let time = base::Timestamp::from_seconds(seconds).unwrap().to_string();
    time.replace(".000Z", "Z")
}

#[test]
fn two_minutes_of_real_time_are_exactly_twenty_four_slots_with_the_mocks_counts() {
    let directory = TempDir::new().unwrap();
    let mut mock = MockApi::open(directory.path());
    let now = || base::Clock::real().now().seconds();
    let base_url = mock.address.clone();
    let mut command = nagaya(directory.path());
    command.env("AI_API_BASE_URL", base_url).env("NAGAYA_COLLECT_READS_PER_SECOND", "100000");
    let house = House::open(&mut command);
    // The source is asked from the first whole minute behind its opening on, or from the second,
    // if the first was about to begin.
    let first = json(&house.get("/collect/explain"))["sources"][0]["next"]["from"].clone();
    let first = first.as_str().unwrap().parse::<base::Timestamp>().unwrap().seconds();
    assert!(first % 60 == 0 && first.abs_diff(now()) <= 63, "{first}");
    // The end of the last slot; the next one, which begins then, is asked for later.
    mock.wait_for(&spell(first + 120));
    let path =
        format!("/collect/slots/ai_response_count?from={}&to={}", spell(first), spell(first + 120));
    // The last value is written right after it was answered.
    let slots = loop {
        let slots = json(&house.get(&path))["slots"].as_array().unwrap().clone();
        if slots.len() == 24 {
            break slots;
        }
        assert!(now() < first + 140, "{slots:?}");
    };
    for (slot, from) in slots.iter().zip((first..).step_by(5)) {
        let minute = (from + 5) / 60 % 60;
        assert_eq!(
            (slot["from"].as_str(), slot["status"].as_str()),
            (Some(spell(from).as_str()), Some("ok"),)
        );
        assert_eq!(slot["count"], minute % 11, "{slot}");
    }
}

/// The program is refused for its settings, before anything is opened.
fn assert_refused(command: &mut Command, directory: &Path, told: &str) {
    let (code, out, error) = run(command);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    assert!(error.contains(told), "{error}");
    assert!(!directory.join("nagaya-data").exists(), "nothing was opened");
}

#[test]
fn sources_that_cannot_be_asked_are_refused_by_name() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    let refused = |variable: &str, value: &str, told: &str| {
        assert_refused(nagaya(path).env(variable, value), path, told);
        assert_refused(nagaya(path).env(variable, value).args(["config", "check"]), path, told);
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
        (r#""path": "/{when}""#, "holes are {from}, {to}, {fromSeconds} and {toSeconds}"),
        (r#""headerFiles": {"x-key": "key"}"#, "source `tokyo`, header `x-key`, secrets/key: "),
    ] {
        let sources = format!(r#"[{{"name": "tokyo", "baseUrl": "https://x.example", {more}}}]"#);
        std::fs::write(path.join("sources.json"), sources).unwrap();
        refused(file, "sources.json", told);
    }
}

#[test]
fn our_own_name_of_a_setting_counts_more_than_that_of_the_contract() {
    let directory = TempDir::new().unwrap();
    let print = |command: &mut Command| {
        let (code, out, error) = run(command.args(["config", "print", "--origin"]));
        assert_eq!((code, error.as_str()), (0, ""));
        out
    };
    let out = print(nagaya(directory.path()).env("AI_API_BASE_URL", "http://a.example"));
    assert!(out.contains("base_url = \"http://a.example\"  # AI_API_BASE_URL\n"), "{out}");
    let out = print(
        nagaya(directory.path())
            .env("AI_API_BASE_URL", "http://a.example")
            .env("NAGAYA_COLLECT_BASE_URL", "http://b.example")
            .env("AI_METRICS_TABLE_NAME", "Metrics"),
    );
    let ours = "base_url = \"http://b.example\"  # NAGAYA_COLLECT_BASE_URL\n";
    assert!(out.contains(ours), "{out}");
    assert!(out.contains("table = \"Metrics\"  # AI_METRICS_TABLE_NAME\n"), "{out}");
}

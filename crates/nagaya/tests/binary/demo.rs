//! `nagaya serve --demo`: every room moves, through the house's own door.

use std::time::Duration;

use base::Clock;
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

/// The slowest is a source's first slot: up to a whole minute away.
const PATIENCE: Duration = Duration::from_secs(150);

fn has(metrics: &str, parts: &[&str]) -> bool {
    let mut lines = metrics.lines().filter(|line| parts.iter().all(|part| line.contains(part)));
    lines.any(|line| !line.ends_with(" 0"))
}

#[test]
fn a_demonstration_moves_every_room() {
    let directory = TempDir::new().unwrap();
    let mut command = nagaya(directory.path());
    command.env("NAGAYA_LOG_LEVEL", "error,access=off");
    let house = House::open(command.args(["serve", "--demo"]));
    let clock = Clock::real();
    let begun = clock.instant();
    loop {
        let metrics = house.get("/metrics");
        let still: Vec<&str> = SIGNS
            .iter()
            .filter(|(_, parts)| !has(&metrics, parts))
            .map(|(room, _)| *room)
            .collect();
        if still.is_empty() {
            return;
        }
        let waited = clock.instant().since(begun);
        assert!(waited < PATIENCE, "nothing happens in {still:?}:\n{}", routes(&metrics));
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

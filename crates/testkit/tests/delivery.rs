//! A dispatcher under load is killed twenty times at random moments. In the end every message
//! that was acknowledged has been handled, and every fact has reached every consumer's effect
//! exactly once: those of changes that were made, and no others.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use base::{Clock, Random, Tasks};
use table::{Embedded, Scan, Tables};
use testkit::courier::{CONSUMERS, Courier};

const KILLS: u64 = 20;
const SEED: u64 = 20_261_116;

/// What is known from outside.
#[derive(Default)]
struct Told {
    sent: BTreeSet<String>,
    changed: BTreeSet<String>,
    /// Begun and not acknowledged.
    open: BTreeSet<String>,
}

#[test]
fn every_message_is_handled_and_every_fact_has_one_effect_after_twenty_kills() {
    let directory = tempfile::tempdir().unwrap();
    let random = Random::seeded(SEED);
    let (mut told, mut cut) = (Told::default(), 0);
    for round in 0..KILLS {
        told.run_and_kill(directory.path(), round, &random);
        cut += told.open.len();
        told.open.clear();
    }
    println!("{} messages, {} changes, {cut} cut off", told.sent.len(), told.changed.len());
    // The trial itself: it was under load, and cut off in the middle of things.
    assert!(told.sent.len() > 500 && told.changed.len() > 500 && cut > 20);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(told.look(directory.path()));
}

impl Told {
    /// Starts the courier, listens to so many lines, and kills it.
    fn run_and_kill(&mut self, directory: &Path, round: u64, random: &Random) {
        let mut child = start(directory, round);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let lines = match random.below(10) {
            // While it opens, and takes up what was left.
            0..2 => random.below(3),
            _ => random.below(1200),
        };
        for _ in 0..lines {
            assert!(self.hear(&mut out), "it runs until it is killed");
        }
        // Not always right behind a line.
        for _ in 0..random.below(1_000_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        // What it said before it died counts.
        while self.hear(&mut out) {}
        child.wait().unwrap();
    }

    /// One line; false at the end.
    fn hear(&mut self, out: &mut BufReader<ChildStdout>) -> bool {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => return false,
            ["open"] => {}
            ["I", kind, id] => assert!(self.open.insert(format!("{kind} {id}"))),
            ["A", kind, id] => {
                assert!(self.open.remove(&format!("{kind} {id}")));
                let done = if kind == "m" { &mut self.sent } else { &mut self.changed };
                assert!(done.insert(id.to_owned()));
            }
            _ => panic!("{line}"),
        }
        true
    }

    async fn look(&self, directory: &Path) {
        let (clock, time) = Clock::virtual_at(Clock::real().now());
        let tasks = Tasks::new();
        let courier = Courier::open(directory, clock, &tasks).await.unwrap();
        // What the last process held is free again, and delivered.
        time.advance(Duration::from_secs(90)).await;
        assert_eq!(courier.left().await.unwrap(), 0);
        let delivered = counts(&courier.house, "delivered").await;
        let lost: Vec<_> = self.sent.iter().filter(|id| !delivered.contains_key(*id)).collect();
        assert!(lost.is_empty(), "acknowledged and never handled: {lost:?}");
        // Every change that was made, acknowledged or not, has its effects, and nothing else has.
        let made = counts(&courier.house, "changes").await;
        let lost: Vec<_> = self.changed.iter().filter(|id| !made.contains_key(*id)).collect();
        assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");
        let wanted: BTreeMap<String, u64> = made
            .keys()
            .flat_map(|change| CONSUMERS.map(|consumer| (format!("{consumer}/{change}"), 1)))
            .collect();
        assert_eq!(counts(&courier.house, "effects").await, wanted);
        let again = delivered.values().filter(|count| **count > 1).count();
        println!("{} changes made, {again} messages handled more than once", made.len());
        assert!(tasks.panicked().is_empty());
    }
}

fn start(directory: &Path, round: u64) -> Child {
    Command::new(env!("CARGO_BIN_EXE_courier"))
        .arg(directory)
        .arg(round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What was counted under each id.
async fn counts(house: &Embedded, table: &str) -> BTreeMap<String, u64> {
    let (mut counts, mut scan) = (BTreeMap::new(), Scan::new(table).consistent());
    loop {
        let page = house.scan(scan.clone()).await.unwrap();
        for item in page.items {
            let id = item.get("id").unwrap().as_s().unwrap().to_owned();
            let count = item.get("count").and_then(|count| count.as_n()?.floor_u64());
            counts.insert(id, count.unwrap_or(0));
        }
        match page.last_key {
            Some(last) => scan = scan.start_after(last),
            None => return counts,
        }
    }
}

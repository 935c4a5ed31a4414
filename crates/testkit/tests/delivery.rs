//! A dispatcher under load is killed again and again at random moments. In the end every
//! acknowledged message has been handled, and every fact has reached every consumer's effect
//! exactly once: the facts of committed changes, and no others.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use base::{Clock, Random, Tasks};
use table::{Embedded, Scan, Tables};
use testkit::courier::{CONSUMERS, Courier};
use testkit::{depth, seed};

/// The acknowledgements seen from outside.
#[derive(Default)]
struct DeliveryTrial {
    sent: BTreeSet<String>,
    changed: BTreeSet<String>,
    /// Begun and not acknowledged.
    open: BTreeSet<String>,
    /// How many were never acknowledged, in all processes so far.
    cut: u64,
}

#[test]
fn every_message_is_handled_and_every_fact_has_one_effect_after_many_kills() {
    let kills = depth::pick(5, 20);
    let directory = tempfile::tempdir().unwrap();
    let seed = seed::draw();
    let random = Random::seeded(seed);
    let (mut trial, mut round) = (DeliveryTrial::default(), 0);
    // At least the requested number of kills, and more until the trial was under load and was
    // interrupted in the middle of work.
    while round < kills || (!trial.is_enough(kills) && round < 3 * kills) {
        trial.run_and_kill(directory.path(), round, seed, &random);
        trial.cut += trial.open.len() as u64;
        trial.open.clear();
        round += 1;
    }
    let (sent, changed, cut) = (trial.sent.len(), trial.changed.len(), trial.cut);
    println!("{round} kills, {sent} messages, {changed} changes, {cut} cut off");
    assert!(trial.is_enough(kills), "{sent} messages, {changed} changes, {cut} cut off");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(trial.look(directory.path(), random.fork("look")));
}

impl DeliveryTrial {
    /// Whether the trial has reached the states that it is about.
    fn is_enough(&self, kills: u64) -> bool {
        let acknowledged = self.sent.len().min(self.changed.len()) as u64;
        acknowledged > kills * 25 && self.cut > kills
    }

    /// Starts the courier, reads a number of lines, and kills it.
    fn run_and_kill(&mut self, directory: &Path, round: u64, seed: u64, random: &Random) {
        let mut child = start(directory, round, seed);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let lines = match round % 5 {
            // While it opens, and takes up the messages that are left.
            1 => random.below(3),
            2 => random.below(300),
            _ => 300 + random.below(900),
        };
        for _ in 0..lines {
            assert!(self.hear(&mut out), "it runs until it is killed");
        }
        // Not always right after a line.
        for _ in 0..random.below(1_000_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        // Lines that it printed before it died count.
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

    async fn look(&self, directory: &Path, random: Random) {
        let (clock, time) = Clock::virtual_at(Clock::real().now());
        let tasks = Tasks::new();
        let courier = Courier::open(directory, clock, random, &tasks).await.unwrap();
        // The messages of the last process are free again, and delivered.
        time.advance(Duration::from_secs(90)).await;
        assert_eq!(courier.left().await.unwrap(), 0);
        let delivered = counts(&courier.house, "delivered").await;
        let lost: Vec<_> = self.sent.iter().filter(|id| !delivered.contains_key(*id)).collect();
        assert!(lost.is_empty(), "acknowledged and never handled: {lost:?}");
        // Every committed change, acknowledged or not, has its effects, and nothing else has.
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

fn start(directory: &Path, round: u64, seed: u64) -> Child {
    Command::new(env!("CARGO_BIN_EXE_courier"))
        .arg(directory)
        .args([round, seed].map(|number| number.to_string()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The counts by id.
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

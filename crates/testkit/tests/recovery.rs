//! A house under load is killed fifty times at random moments. After each time: every
//! acknowledged write is there, of the others each transaction whole or not at all, and indexes,
//! expiry, counts and log agree with the rows.

#![cfg(test)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use base::{Random, Tasks, Timestamp};
use table::{Embedded, Get, Item, Scan, Tables, restore};
use testkit::hammer::{Op, Rows, START, WRITERS, load, open};

const KILLS: u64 = 50;
const SEED: u64 = 20_261_115;

/// What is known from outside.
struct Trial {
    random: Random,
    now: Timestamp,
    writers: Vec<Writer>,
}

/// A writer, by what it was told.
#[derive(Default)]
struct Writer {
    /// The next operation.
    next: u64,
    rows: Rows,
    /// The operation that was begun and not acknowledged, and when it was begun.
    begun: Option<(u64, Timestamp)>,
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_torn_by_fifty_kills() {
    let directory = tempfile::tempdir().unwrap();
    let writers = (0..WRITERS).map(|_| Writer::default()).collect();
    let random = Random::seeded(SEED);
    let mut trial = Trial { random, now: START, writers };
    let (mut torn, mut acknowledged) = (0, 0);
    for round in 0..KILLS {
        let short_history = trial.random.chance(0.5);
        acknowledged += trial.run_and_kill(directory.path(), short_history);
        torn += trial.writers.iter().filter(|writer| writer.begun.is_some()).count();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let looked = runtime.block_on(trial.look(directory.path(), short_history));
        looked.unwrap_or_else(|error| panic!("after kill {round}: {error}"));
    }
    println!("{acknowledged} operations acknowledged, {torn} cut off, now {:?}", trial.now);
    // The trial itself: it was under load, it was cut off in the middle of things, and settling,
    // rotation, checkpoints and the dropping of old segments have all happened.
    assert!(acknowledged > KILLS * 50 && torn > 50);
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(directory.path().join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(!names("checkpoints").is_empty());
    assert!(!names("log").contains(&"0000000001.log".to_owned()));
    let elsewhere = tempfile::tempdir().unwrap();
    let restored = restore(directory.path(), None, elsewhere.path()).unwrap();
    assert!(restored.items > 0);
}

impl Trial {
    /// Starts the house, listens to so many lines, and kills it; answers how many operations were
    /// acknowledged.
    fn run_and_kill(&mut self, directory: &Path, short_history: bool) -> u64 {
        let lines = match self.random.below(10) {
            // While it opens, or has just opened.
            0..2 => 1 + self.random.below(3),
            _ => self.random.below(1500),
        };
        let mut child = self.start(directory, short_history);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut acknowledged = 0;
        for _ in 0..lines {
            acknowledged += u64::from(self.hear(&mut out).expect("it runs until it is killed"));
        }
        // Not always right behind a line.
        for _ in 0..self.random.below(1_000_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        // What it said before it died counts.
        while let Some(acknowledgement) = self.hear(&mut out) {
            acknowledged += u64::from(acknowledgement);
        }
        child.wait().unwrap();
        acknowledged
    }

    fn start(&self, directory: &Path, short_history: bool) -> Child {
        Command::new(env!("CARGO_BIN_EXE_hammer"))
            .arg(directory)
            .args([SEED.to_string(), self.now.millis().to_string(), short_history.to_string()])
            .args(self.writers.iter().map(|writer| writer.next.to_string()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// One line: whether it was an acknowledgement; `None` at the end.
    fn hear(&mut self, out: &mut BufReader<ChildStdout>) -> Option<bool> {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse::<u64>().unwrap();
        match words[..] {
            [] => return None,
            ["opening" | "open"] => {}
            ["T", ms] => self.now = Timestamp::from_millis(number(ms)),
            ["I", writer, begun, ms] => {
                let writer = &mut self.writers[usize::try_from(number(writer)).unwrap()];
                writer.begun = Some((number(begun), Timestamp::from_millis(number(ms))));
            }
            ["A", writer, done] => {
                let id = number(writer);
                let writer = &mut self.writers[usize::try_from(id).unwrap()];
                let (begun, now) = writer.begun.take().unwrap();
                assert_eq!(begun, number(done));
                writer.happened(id, begun, now);
                return Some(true);
            }
            _ => panic!("{line}"),
        }
        Some(false)
    }

    async fn look(&mut self, directory: &Path, short_history: bool) -> Result<(), String> {
        let tasks = Tasks::new();
        let opened = open(directory, self.now, short_history, &tasks).await;
        let (house, _time) = opened.map_err(|error| format!("opening: {error}"))?;
        let indexed = house.describe_table("pairs").await.unwrap().spec.indexes.len() == 1;
        for (id, writer) in (0..).zip(&mut self.writers) {
            let found = load(&house, id).await?;
            // What nobody answered may have happened, all of it, or may be tried again.
            if let Some((begun, now)) = writer.begun.take() {
                let mut after = writer.rows.clone();
                after.apply(begun, Op::of(SEED, id, begun), now);
                let declared = after.indexed.is_none_or(|told| told == indexed);
                if declared && found == after.seen_at(self.now) {
                    (writer.rows, writer.next) = (after, begun + 1);
                }
            }
            let wanted = writer.rows.seen_at(self.now);
            if found != wanted {
                return Err(format!("writer {id} was told {wanted:?} and finds {found:?}"));
            }
        }
        self.look_at_all(&house, indexed).await
    }

    /// What the writers have in common.
    async fn look_at_all(&self, house: &Embedded, indexed: bool) -> Result<(), String> {
        let report = house.check().await.map_err(|error| format!("checking: {error}"))?;
        if !report.problems.is_empty() {
            return Err(report.problems.join("; "));
        }
        let all = house.get(Get::new("totals", Item::new().with("id", "all"))).await.unwrap();
        let counted = all.and_then(|item| item.get("count")?.as_n()?.floor_u64()).unwrap_or(0);
        let made: u64 = self.writers.iter().map(|writer| writer.rows.transactions).sum();
        if counted != made {
            return Err(format!("{made} transactions were made and {counted} were counted"));
        }
        if let Some(told) = self.writers[0].rows.indexed
            && told != indexed
        {
            return Err(format!("an index of the pairs was declared ({told}), and is not so"));
        }
        let moments = house.scan(Scan::new("moments")).await.unwrap().items;
        if !moments.is_empty() {
            return Err(format!("moments outlived their process: {moments:?}"));
        }
        Ok(())
    }
}

impl Writer {
    /// Operation `number` was acknowledged.
    fn happened(&mut self, id: u64, number: u64, now: Timestamp) {
        self.rows.apply(number, Op::of(SEED, id, number), now);
        self.next = number + 1;
    }
}

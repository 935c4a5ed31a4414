//! A store under load is killed again and again at random moments. After each kill: every
//! acknowledged write is there, each other transaction is there whole or not at all, and indexes,
//! expiry, counts and log agree with the rows.

#![cfg(test)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use base::{Random, Tasks, Timestamp};
use table::{Embedded, Get, Item, Scan, Tables, restore};
use testkit::hammer::{Op, Rows, START, WRITERS, load, open};
use testkit::{depth, seed};

/// The state of the trial, seen from outside.
struct Trial {
    seed: u64,
    random: Random,
    now: Timestamp,
    writers: Vec<Writer>,
    /// The number of acknowledged operations, and of interrupted ones.
    acknowledged: u64,
    torn: u64,
}

/// A writer, by its acknowledgements.
#[derive(Default)]
struct Writer {
    /// The next operation.
    next: u64,
    rows: Rows,
    /// The operation that was begun and not acknowledged, and the time of its begin.
    begun: Option<(u64, Timestamp)>,
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_torn_by_many_kills() {
    let kills = depth::pick(10, 50);
    let directory = tempfile::tempdir().unwrap();
    let mut trial = Trial::new(seed::draw());
    let (mut round, mut lacking) = (0, Vec::new());
    // At least the requested number of kills, and more until the trial has reached all states that
    // it is about.
    while round < kills || (!lacking.is_empty() && round < 3 * kills) {
        let short_history = round % 2 == 0;
        trial.run_and_kill(directory.path(), round, short_history);
        trial.torn += trial.writers.iter().filter(|writer| writer.begun.is_some()).count() as u64;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let looked = runtime.block_on(trial.look(directory.path(), short_history));
        looked.unwrap_or_else(|error| panic!("after kill {round}: {error}"));
        round += 1;
        lacking = trial.lacks(directory.path(), kills);
    }
    let Trial { acknowledged, torn, now, .. } = trial;
    println!("{round} kills, {acknowledged} operations acknowledged, {torn} cut off, now {now:?}");
    assert_eq!(lacking, Vec::<String>::new());
    let elsewhere = tempfile::tempdir().unwrap();
    let restored = restore(directory.path(), None, elsewhere.path()).unwrap();
    assert!(restored.items > 0);
}

impl Trial {
    fn new(seed: u64) -> Trial {
        let writers = (0..WRITERS).map(|_| Writer::default()).collect();
        let random = Random::seeded(seed);
        Trial { seed, random, now: START, writers, acknowledged: 0, torn: 0 }
    }

    /// The states that the trial has not reached yet: it must be under load, be interrupted in the
    /// middle of work, and see settling, rotation, checkpoints and the deletion of old segments.
    fn lacks(&self, directory: &Path, kills: u64) -> Vec<String> {
        let names = |folder: &str| -> Vec<String> {
            // A folder that does not exist yet is empty.
            let entries = std::fs::read_dir(directory.join(folder)).into_iter().flatten();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let met = [
            (self.acknowledged > kills * 50, "load"),
            (self.torn > kills, "operations that are cut off"),
            (!names("checkpoints").is_empty(), "checkpoints"),
            (names("log").iter().all(|name| name != "0000000001.log"), "dropped segments"),
        ];
        met.iter().filter(|(is_met, _)| !is_met).map(|(_, what)| (*what).to_owned()).collect()
    }

    /// Starts the store, reads a number of lines, and kills it.
    fn run_and_kill(&mut self, directory: &Path, round: u64, short_history: bool) {
        let lines = match round % 5 {
            // While it opens, or has just opened.
            0 => 1 + self.random.below(3),
            1 => self.random.below(500),
            _ => 500 + self.random.below(1000),
        };
        let mut child = self.start(directory, short_history);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..lines {
            self.hear(&mut out).expect("it runs until it is killed");
        }
        // Not always right after a line.
        for _ in 0..self.random.below(1_000_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        // Lines that it printed before it died count.
        while self.hear(&mut out).is_some() {}
        child.wait().unwrap();
    }

    fn start(&self, directory: &Path, short_history: bool) -> Child {
        Command::new(env!("CARGO_BIN_EXE_hammer"))
            .arg(directory)
            .args([self.seed.to_string(), self.now.millis().to_string(), short_history.to_string()])
            .args(self.writers.iter().map(|writer| writer.next.to_string()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// One line; `None` at the end.
    fn hear(&mut self, out: &mut BufReader<ChildStdout>) -> Option<()> {
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
                writer.happened(Op::of(self.seed, id, begun), begun, now);
                self.acknowledged += 1;
            }
            _ => panic!("{line}"),
        }
        Some(())
    }

    async fn look(&mut self, directory: &Path, short_history: bool) -> Result<(), String> {
        let tasks = Tasks::new();
        let opened = open(directory, self.now, short_history, &tasks).await;
        let (store, _time) = opened.map_err(|error| format!("opening: {error}"))?;
        let indexed = store.describe_table("pairs").await.unwrap().spec.indexes.len() == 1;
        for (id, writer) in (0..).zip(&mut self.writers) {
            let found = load(&store, id).await?;
            // An operation without an acknowledgement may be done completely, or may be retried.
            if let Some((begun, now)) = writer.begun.take() {
                let mut after = writer.rows.clone();
                after.apply(begun, Op::of(self.seed, id, begun), now);
                let declared = after.indexed.is_none_or(|declared| declared == indexed);
                if declared && found == after.seen_at(self.now) {
                    (writer.rows, writer.next) = (after, begun + 1);
                }
            }
            let wanted = writer.rows.seen_at(self.now);
            if found != wanted {
                return Err(format!("writer {id} expects {wanted:?} and finds {found:?}"));
            }
        }
        self.look_at_all(&store, indexed).await
    }

    /// The common rows of all writers.
    async fn look_at_all(&self, store: &Embedded, indexed: bool) -> Result<(), String> {
        let report = store.check().await.map_err(|error| format!("checking: {error}"))?;
        if !report.problems.is_empty() {
            return Err(report.problems.join("; "));
        }
        let all = store.get(Get::new("totals", Item::new().with("id", "all"))).await.unwrap();
        let counted = all.and_then(|item| item.get("count")?.as_n()?.floor_u64()).unwrap_or(0);
        let made: u64 = self.writers.iter().map(|writer| writer.rows.transactions).sum();
        if counted != made {
            return Err(format!("{made} transactions were made and {counted} were counted"));
        }
        if let Some(declared) = self.writers[0].rows.indexed
            && declared != indexed
        {
            return Err(format!(
                "an index of the pairs was declared ({declared}), but the store differs"
            ));
        }
        let moments = store.scan(Scan::new("moments")).await.unwrap().items;
        if !moments.is_empty() {
            return Err(format!("moments outlived their process: {moments:?}"));
        }
        Ok(())
    }
}

impl Writer {
    /// Records the acknowledgement of operation `number`.
    fn happened(&mut self, op: Op, number: u64, now: Timestamp) {
        self.rows.apply(number, op, now);
        self.next = number + 1;
    }
}

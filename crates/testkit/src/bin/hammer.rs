//! Writes into a store until it is killed, and prints each step as one line:
//!
//!   opening        the store is about to be opened
//!   open           it is open
//!   T ms           the clock is about to move to this time
//!   I w n ms       writer w begins operation n, at that time
//!   A w n          operation n of writer w was acknowledged
//!   E text         an unexpected error
//!
//! `hammer DIRECTORY SEED MS SHORT_HISTORY NEXT…`: the last arguments are each writer's next
//! operation.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::{Tasks, Timestamp, VirtualTime};
use table::Embedded;
use testkit::hammer::{Op, open, perform};
use tokio::sync::{Notify, RwLock};
use tokio::task::JoinSet;

/// Operations of all writers together between two steps of the clock.
const OPS_PER_STEP: u64 = 40;
/// One step: the sweeper looks every second, the archivist every minute.
const STEP: Duration = Duration::from_secs(25);

fn main() -> ExitCode {
    let outcome = match arguments() {
        Some(load) => run(load),
        None => Err("hammer DIRECTORY SEED MS SHORT_HISTORY NEXT…".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("E {error}"));
            ExitCode::FAILURE
        }
    }
}

struct Load {
    directory: PathBuf,
    seed: u64,
    now: Timestamp,
    short_history: bool,
    next: Vec<u64>,
}

fn arguments() -> Option<Load> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next()?);
    let seed = arguments.next()?.parse().ok()?;
    let now = Timestamp::from_millis(arguments.next()?.parse().ok()?);
    let short_history = arguments.next()?.parse().ok()?;
    let next = arguments.map(|next| next.parse().ok()).collect::<Option<_>>()?;
    Some(Load { directory, seed, now, short_history, next })
}

/// Prints one line in one write: a killed process leaves no half of it.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
    if written.is_err() {
        // The reader is gone.
        std::process::exit(1);
    }
}

fn run(load: Load) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async move {
        let tasks = Tasks::new();
        say("opening");
        let opened = open(&load.directory, load.now, load.short_history, &tasks).await;
        let (house, time) = opened.map_err(|error| error.to_string())?;
        say("open");
        let pace = Arc::new(Pace {
            gate: RwLock::new(load.now),
            done: AtomicU64::new(0),
            moved: Notify::new(),
        });
        let mut all = JoinSet::new();
        all.spawn(keep_time(time, Arc::clone(&pace)));
        for (writer, next) in (0..).zip(load.next) {
            all.spawn(write(house.clone(), load.seed, writer, next, Arc::clone(&pace)));
        }
        match all.join_next().await {
            Some(Ok(ended)) => ended,
            _ => Err("a writer panicked".to_owned()),
        }
    })
}

/// Lets time pass between operations: writers hold it for reading while they write, so that the
/// virtual clock moves only when nobody writes.
struct Pace {
    gate: RwLock<Timestamp>,
    done: AtomicU64,
    moved: Notify,
}

async fn keep_time(time: VirtualTime, pace: Arc<Pace>) -> Result<(), String> {
    let mut reached = 0;
    loop {
        pace.moved.notified().await;
        if pace.done.load(Ordering::Acquire) < reached + OPS_PER_STEP {
            continue;
        }
        reached = pace.done.load(Ordering::Acquire);
        let mut now = pace.gate.write().await;
        let next = now.checked_add(STEP).ok_or("time is over")?;
        say(&format!("T {}", next.millis()));
        time.advance(STEP).await;
        *now = next;
    }
}

async fn write(
    house: Embedded,
    seed: u64,
    writer: u64,
    next: u64,
    pace: Arc<Pace>,
) -> Result<(), String> {
    for number in next.. {
        let now = pace.gate.read().await;
        let op = Op::of(seed, writer, number);
        say(&format!("I {writer} {number} {}", now.millis()));
        let done = perform(&house, writer, number, op, *now).await;
        done.map_err(|error| format!("operation {number} of writer {writer}, {op:?}: {error}"))?;
        say(&format!("A {writer} {number}"));
        drop(now);
        pace.done.fetch_add(1, Ordering::AcqRel);
        pace.moved.notify_one();
    }
    Ok(())
}

//! Sends messages and makes changes with facts until it is killed, and prints each step as one
//! line:
//!
//!   open           the store is open
//!   I m id         message id is about to be sent
//!   A m id         it was acknowledged
//!   I c id         change id is about to be made with its fact
//!   A c id         it was acknowledged
//!   E text         an unexpected error
//!
//! `courier DIRECTORY ROUND SEED`: ids contain the round.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks};
use testkit::courier::Courier;
use tokio::task::JoinSet;

/// Tasks that send messages, and as many that make changes.
const SENDERS: u64 = 8;
/// The longest delay of a message.
const DELAY_MS_MAX: u64 = 300;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next();
    let (Some(directory), Some(round), Some(Ok(seed))) =
        (next(), next(), next().map(|seed| seed.parse::<u64>()))
    else {
        say("E courier DIRECTORY ROUND SEED");
        return ExitCode::FAILURE;
    };
    let random = Random::seeded(seed).fork(&round);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(4).build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(run(directory, round, random)),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = outcome {
        say(&format!("E {error}"));
    }
    ExitCode::FAILURE
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

async fn run(directory: String, round: String, random: Random) -> Result<(), String> {
    let tasks = Tasks::new();
    let (path, chance) = (directory.as_ref(), random.fork("dispatch"));
    let opened = Courier::open(path, Clock::real(), chance, &tasks).await;
    let courier = Arc::new(opened.map_err(|error| error.to_string())?);
    say("open");
    let mut all = JoinSet::new();
    for sender in 0..SENDERS {
        for kind in ["m", "c"] {
            let (courier, name) = (Arc::clone(&courier), format!("{round}-{sender}"));
            let random = random.fork(&format!("{kind}-{name}"));
            all.spawn(load(courier, kind, name, random));
        }
    }
    match all.join_next().await {
        Some(Ok(ended)) => ended,
        _ => Err("a sender panicked".to_owned()),
    }
}

async fn load(
    courier: Arc<Courier>,
    kind: &'static str,
    name: String,
    random: Random,
) -> Result<(), String> {
    for number in 0_u64.. {
        let id = format!("{name}-{number}");
        say(&format!("I {kind} {id}"));
        let done = match kind {
            "m" => {
                let delay = Duration::from_millis(random.below(DELAY_MS_MAX));
                courier.send(&id, delay).await
            }
            _ => courier.change(&id).await,
        };
        done.map_err(|error| format!("{kind} {id}: {error}"))?;
        say(&format!("A {kind} {id}"));
    }
    Ok(())
}

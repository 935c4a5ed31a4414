//! Deliveries to WebSockets on one topic, beside what others do: nats-server, Redis, bun's server
//! (uWebSockets inside), and a bare reference (`raw.rs`).
//!
//! Every server is a process of its own, ours too (`ours.rs`), and one other process is publisher
//! and all subscribers (`load.rs`), the same for all. For each audience:
//!
//! - idle: what the server's memory grew by, for each subscriber that only listens;
//! - flood: a publisher with a bounded number of messages under way; deliveries a second;
//! - pace: 30 000 deliveries a second; how old is a message when it arrives?
//!
//! And once more at a pace, with a reader among them that has stopped reading.

mod load;
mod ours;
pub(super) mod peers;
mod raw;

use std::process::ExitCode;

use load::Asked;
use peers::{Peer, Running};

use super::report::{Bar, Report};
use super::{Options, Outcome};
use crate::tools;

const AUDIENCES: [usize; 3] = [100, 1_000, 5_000];
const MOST: usize = 5_000;
/// Runs of the paced measurement, of which the best counts: a build beside it spoils one run.
const PACED_RUNS: usize = 3;
/// Memory of one idle socket.
const IDLE_BYTES_BAR: f64 = 8.0 * 1_024.0;

/// What one server did for one audience.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    idle_bytes: f64,
    deliveries: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Measures and compares.
pub(super) fn run(options: Options, report: &mut Report) -> Outcome {
    tools::install_for_benches()?;
    super::raise_limit()?;
    let sizes = if options.quick { 2 } else { AUDIENCES.len() };
    for audience in AUDIENCES.into_iter().take(sizes) {
        let mut all = Vec::new();
        for peer in Peer::ALL {
            let measured = measure(peer, audience, options)?;
            println!("{audience:>5} {:<6} {measured:.0?}", peer.name());
            all.push((peer, measured));
        }
        compare(report, audience, &all);
    }
    stalled(options, report)?;
    println!();
    Ok(())
}

fn compare(report: &mut Report, audience: usize, all: &[(Peer, Measured)]) {
    let of = |peer: Peer| {
        let found = all.iter().find(|(of, _)| *of == peer);
        found.map(|(_, measured)| *measured).unwrap_or_default()
    };
    let ours = of(Peer::Ours);
    let bar = |bar| if audience == MOST { bar } else { Bar::Open };
    let bars = [
        (Peer::Nats, bar(Bar::AtLeast(2.0)), Bar::Open),
        (Peer::Redis, bar(Bar::AtLeast(1.0)), Bar::Open),
        (Peer::Bun, bar(Bar::AtLeast(0.4)), Bar::Open),
        (Peer::Raw, Bar::Open, bar(Bar::AtMost(2.0))),
    ];
    for (peer, flood, paced) in bars {
        let (name, theirs) = (peer.name(), of(peer));
        let what = format!("{audience}: deliveries/s, beside {name}");
        report.compare(what, ours.deliveries, theirs.deliveries, flood);
        let what = format!("{audience}: p50 in µs at 30 000/s, beside {name}");
        report.compare(what, ours.p50_us, theirs.p50_us, Bar::Open);
        let what = format!("{audience}: p99 in µs at 30 000/s, beside {name}");
        report.compare(what, ours.p99_us, theirs.p99_us, paced);
        let what = format!("{audience}: bytes for an idle socket, beside {name}");
        report.compare(what, ours.idle_bytes, theirs.idle_bytes, Bar::Open);
    }
    let what = format!("{audience}: bytes for an idle socket, beside the bar");
    report.compare(what, ours.idle_bytes, IDLE_BYTES_BAR, bar(Bar::AtMost(1.0)));
}

fn measure(peer: Peer, audience: usize, options: Options) -> Result<Measured, String> {
    let server = Running::start(peer)?;
    let asked = Asked { subscribers: audience, stalled: 0, seconds: seconds(options) };
    let mut load = server.load(&asked)?;
    let before = load.memory_before;
    let idle = load.wait_connected(&server)?;
    let deliveries = load.flood()?;
    let (mut p50_us, mut p99_us) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..PACED_RUNS {
        let (p50, p99) = load.pace()?;
        (p50_us, p99_us) = (p50_us.min(p50), p99_us.min(p99));
    }
    let idle_bytes = idle.saturating_sub(before) as f64 / audience as f64;
    Ok(Measured { idle_bytes, deliveries, p50_us, p99_us })
}

/// The same pace, without and with a reader whose queue is full and stays so.
fn stalled(options: Options, report: &mut Report) -> Outcome {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..PACED_RUNS {
        for (stalled, best) in best.iter_mut().enumerate() {
            let server = Running::start(Peer::Ours)?;
            let asked = Asked { subscribers: 1_000, stalled, seconds: seconds(options) };
            let mut load = server.load(&asked)?;
            load.wait_connected(&server)?;
            load.flood()?;
            let (_, p99) = load.pace()?;
            *best = best.min(p99);
        }
    }
    let [without, with] = best;
    let what = "1000: p99 in µs at 30 000/s with a stalled reader, beside without";
    report.compare(what, with, without, Bar::AtMost(1.25));
    Ok(())
}

fn seconds(options: Options) -> f64 {
    options.measure_for().as_secs_f64()
}

/// A part that runs as a process of its own.
pub(super) fn part(words: &[&str]) -> ExitCode {
    let done = match words {
        ["ours"] => ours::serve(),
        ["raw", bytes] => raw::serve(bytes),
        ["load", rest @ ..] => load::run(rest),
        _ => Err(format!("there is no part `{}`", words.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", words.join(" "));
            ExitCode::FAILURE
        }
    }
}

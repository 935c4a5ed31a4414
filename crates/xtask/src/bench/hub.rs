//! Deliveries to WebSockets on one topic, compared with nats-server, Redis, bun's server (which
//! uses uWebSockets), and a minimal reference (`raw.rs`).
//!
//! Every server is a process of its own, including ours (`ours.rs`: the hub and the sockets in a
//! part of this program, not the shipped program). One other process is publisher and all
//! subscribers (`load.rs`), the same for all servers. For each audience:
//!
//! - idle: the growth of the server's memory for each subscriber that only listens;
//! - flood: a publisher with a bounded number of undelivered messages, in total and for each
//!   subscriber (`load.rs` gives the reason); deliveries per second;
//! - pace: 30 000 deliveries per second; how old is a message when it arrives?
//!
//! Finally the same pace again, with one reader that has stopped reading.

mod load;
mod ours;
pub(super) mod peers;
mod raw;

use std::fmt;
use std::process::ExitCode;

use load::LoadParameters;
use peers::{Peer, PeerProcess};

use super::report::{Bar, Report, Server};
use super::{BenchResult, Options};

const AUDIENCES: [usize; 3] = [100, 1_000, 5_000];
const MOST: usize = 5_000;
/// Runs of the paced measurement, of which the best counts: a compiler on the same machine spoils a
/// run.
const PACED_RUNS: usize = 3;
/// The bar for the memory of one idle socket.
const IDLE_BYTES_BAR: f64 = 8.0 * 1_024.0;

/// The figures of one server for one audience, as far as it did not fail.
#[derive(Clone, Copy, Debug, Default)]
struct HubFigures {
    idle_bytes: Option<f64>,
    deliveries: Option<f64>,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
}

impl fmt::Display for HubFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = [
            (self.idle_bytes, "bytes for an idle socket"),
            (self.deliveries, "deliveries/s"),
            (self.p50_us, "µs at p50"),
            (self.p99_us, "µs at p99"),
        ];
        let parts = figures.map(|(figure, what)| match figure {
            Some(figure) => format!("{figure:.0} {what}"),
            None => format!("no {what}"),
        });
        f.write_str(&parts.join(", "))
    }
}

/// Runs the bench.
pub(super) fn run(options: Options, report: &mut Report) -> BenchResult {
    super::install_peers();
    super::raise_limit()?;
    let sizes = if options.quick { 2 } else { AUDIENCES.len() };
    for audience in AUDIENCES.into_iter().take(sizes) {
        let mut all = Vec::new();
        for peer in Peer::all(options) {
            let mut measured = HubFigures::default();
            let ended = measure(peer, audience, options, &mut measured);
            report.take(peer.server(), &format!("{audience} subscribers"), ended);
            println!("{audience:>5} {}: {measured}", peer.name());
            all.push((peer, measured));
        }
        compare(report, audience, &all);
    }
    let mut best = [None; 2];
    let ended = stalled(options, &mut best);
    report.take(Server::Ours, "a stalled reader among 1000", ended);
    let [without, with] = best;
    let what = "1000: p99 in µs at 30 000/s with a stalled reader, beside without";
    report.compare(what, with, without, Bar::AtMost(1.25));
    println!();
    Ok(())
}

fn compare(report: &mut Report, audience: usize, all: &[(Peer, HubFigures)]) {
    let Some(((_, ours), others)) = all.split_first() else { return };
    let bar = |bar| if audience == MOST { bar } else { Bar::Open };
    for (peer, theirs) in others {
        let (flood, paced) = match peer {
            Peer::Nats => (bar(Bar::AtLeast(2.0)), Bar::Open),
            Peer::Redis => (bar(Bar::AtLeast(1.0)), Bar::Open),
            Peer::Bun => (bar(Bar::AtLeast(0.4)), Bar::Open),
            Peer::Raw => (Bar::Open, bar(Bar::AtMost(2.0))),
            Peer::Ours | Peer::Older(_) => (Bar::Open, Bar::Open),
        };
        let name = peer.name();
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

/// Measures until everything is measured or the server fails.
fn measure(
    peer: Peer,
    audience: usize,
    options: Options,
    measured: &mut HubFigures,
) -> Result<(), String> {
    let server = PeerProcess::start(peer)?;
    let asked = LoadParameters { subscribers: audience, stalled: 0, seconds: seconds(options) };
    let mut load = server.load(&asked)?;
    let before = load.memory_before;
    let idle = load.wait_connected(&server)?;
    measured.idle_bytes = Some(idle.saturating_sub(before) as f64 / audience as f64);
    measured.deliveries = Some(load.flood()?);
    for _ in 0..PACED_RUNS {
        let (p50, p99) = load.pace()?;
        measured.p50_us = Some(measured.p50_us.map_or(p50, |best| best.min(p50)));
        measured.p99_us = Some(measured.p99_us.map_or(p99, |best| best.min(p99)));
    }
    Ok(())
}

/// The same pace, without and with a reader whose queue stays full.
fn stalled(options: Options, best: &mut [Option<f64>; 2]) -> Result<(), String> {
    for _ in 0..PACED_RUNS {
        for (stalled, best) in best.iter_mut().enumerate() {
            let server = PeerProcess::start(Peer::Ours)?;
            let asked = LoadParameters { subscribers: 1_000, stalled, seconds: seconds(options) };
            let mut load = server.load(&asked)?;
            load.wait_connected(&server)?;
            load.flood()?;
            let (_, p99) = load.pace()?;
            *best = Some(best.map_or(p99, |best| best.min(p99)));
        }
    }
    Ok(())
}

fn seconds(options: Options) -> f64 {
    options.measure_for().as_secs_f64()
}

/// A part of this program that runs as a process of its own.
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

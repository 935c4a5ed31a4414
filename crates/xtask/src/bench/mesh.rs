//! The mesh as classes use it, on the real program: everything goes through its network interface.
//!
//! - a lesson: 40 nodes, 15 reports and 2 events per second; how long from the request to the last
//!   node?
//! - saturation: many groups of 40 in which every node sends the next report right after a
//!   response; deliveries per second, compared with nats-server for the same bytes from the same
//!   nodes to the same groups, where each node waits for its PONG;
//! - a school: 1 000 groups of 40 that only listen; memory of one socket.
//!
//! `nodes.rs` contains the protocols of the nodes, for our server and for NATS.

mod nodes;

use std::collections::HashMap;
use std::time::Duration;

use nodes::{GroupSender, KEY, NATS_FRAME_BYTES, Nats, Reporter};

use super::crowd::{Crowd, SocketProtocol};
use super::house::{Build, House, OLDER};
use super::report::{Bar, Report, Server};
use super::stats::Latencies;
use super::{BenchResult, Options};
use crate::run;

/// The size of a class.
const NODES: usize = 40;
/// Reports and events of a lesson per second.
const REPORTS: u32 = 15;
const EVENTS: u32 = 2;
/// Groups in a run at full speed.
const BUSY_GROUPS: usize = 25;
/// Groups of a school, and the bar for the memory of one socket.
const IDLE_GROUPS: usize = 1_000;
const IDLE_BYTES_BAR: f64 = 20.0 * 1_024.0;
const LESSON_P99_BAR_MS: f64 = 10.0;
const DELIVERIES_BAR: f64 = 200_000.0;
/// Files that a process needs in addition to sockets.
const OTHER_FILES: u64 = 500;
/// Without any push for this time, something is lost.
const STUCK: Duration = Duration::from_secs(10);

/// A server whose mesh limits allow a flood.
fn open(build: Build) -> Result<House, String> {
    let many = "1000000";
    let mut words = vec!["--mesh-api-key", KEY, "--mesh-requests-per-second", many];
    let of_nodes = "--mesh-node-requests-per-second";
    if build.has_setting(of_nodes)? {
        words.extend([of_nodes, many]);
    }
    House::start_build(build, &words)
}

/// Runs the bench of a lesson.
pub(super) fn lesson(options: Options, report: &mut Report) -> BenchResult {
    let seconds = if options.quick { 2 } else { 30 };
    let mut all = Vec::new();
    for build in Build::all(options) {
        all.push(report.take(build.server(), "a lesson", teach(build, seconds)));
    }
    let ms = |measured: &Option<Latencies>, percent| {
        let latencies = measured.as_ref();
        latencies.map(|latencies| latencies.percentile(percent).as_secs_f64() * 1e3)
    };
    let mut all = all.into_iter();
    let ours = all.next().flatten();
    let what = "a lesson of 40: ms from request to the last node";
    let (p50, p99) = (ms(&ours, 50.0), ms(&ours, 99.0));
    let bar = Bar::AtMost(1.0);
    report.compare(format!("{what}, p99, beside the bar"), p99, LESSON_P99_BAR_MS, bar);
    report.compare(format!("{what}, p50, beside p99"), p50, p99, Bar::Open);
    if let Some(older) = all.next() {
        for percent in [50.0, 99.0] {
            let what = format!("{what}, p{percent}, beside {OLDER}");
            report.compare(what, ms(&ours, percent), ms(&older, percent), Bar::Open);
        }
    }
    Ok(())
}

/// The age of each report at its last arrival.
fn teach(build: Build, seconds: u32) -> Result<Latencies, String> {
    let house = open(build)?;
    let mut class = Crowd::new()?;
    let group = house.create_group("lesson", NODES)?;
    for _ in 0..NODES {
        class.enter(&house.subscribe(&group)?, SocketProtocol::Frames)?;
    }
    let mut reporters: Vec<Reporter> =
        (0..NODES).map(|node| house.reporter(&group, node)).collect::<Result<_, _>>()?;
    let (begin, period) = (run::now(), Duration::from_secs(1) / (REPORTS + EVENTS));
    let mut stamps = HashMap::new();
    for number in 0..seconds * (REPORTS + EVENTS) {
        let due = begin + period * number;
        while let Some(wait) = due.checked_duration_since(run::now()) {
            class.hear(wait)?;
        }
        let index = number as usize % reporters.len();
        let reporter = reporters.get_mut(index).ok_or("there is no reporter")?;
        let stamp = class.now();
        match number % (REPORTS + EVENTS) < REPORTS {
            true => reporter.send_stamp(stamp)?,
            false => reporter.fire(stamp)?,
        }
        stamps.insert(stamp, 0);
    }
    let all = stamps.len() as u64 * NODES as u64;
    class.hear_until(all, STUCK)?;
    for reporter in &mut reporters {
        reporter.take_answers()?;
    }
    class.last_arrivals(NODES).map(Latencies::new)
}

/// Runs the bench of saturation.
pub(super) fn saturation(options: Options, report: &mut Report) -> BenchResult {
    super::install_peers();
    super::raise_limit()?;
    let seconds = options.measure_for().as_secs_f64() * 2.0;
    let mut all = Vec::new();
    for build in Build::all(options) {
        all.push(report.take(build.server(), "saturation", saturate_house(build, seconds)));
    }
    let mut all = all.into_iter();
    let (ours, reports) = all.next().flatten().unzip();
    let (nats, _) = report.take(Server::Peer("NATS"), "saturation", saturate_nats(seconds)).unzip();
    let sockets = BUSY_GROUPS * NODES;
    let what =
        format!("{BUSY_GROUPS} groups of 40: deliveries/s to {sockets} sockets, beside the bar");
    report.compare(what, ours, DELIVERIES_BAR, Bar::AtLeast(1.0));
    let what = format!("{BUSY_GROUPS} groups of 40: deliveries/s, beside NATS");
    report.compare(what, ours, nats, Bar::AtLeast(2.0));
    let what = format!("{BUSY_GROUPS} groups of 40: deliveries/s, beside reports/s");
    report.compare(what, ours, reports, Bar::Open);
    if let Some(older) = all.next() {
        let what = format!("{BUSY_GROUPS} groups of 40: deliveries/s, beside {OLDER}");
        report.compare(what, ours, older.map(|(older, _)| older), Bar::Open);
    }
    Ok(())
}

fn saturate_house(build: Build, seconds: f64) -> Result<(f64, f64), String> {
    let house = open(build)?;
    let mut class = Crowd::new()?;
    let mut reporters = Vec::new();
    for number in 0..BUSY_GROUPS {
        let group = house.create_group(&format!("group {number}"), NODES)?;
        for node in 0..NODES {
            class.enter(&house.subscribe(&group)?, SocketProtocol::Frames)?;
            reporters.push(house.reporter(&group, node)?);
        }
    }
    saturate(&mut class, &mut reporters, seconds)
}

fn saturate_nats(seconds: f64) -> Result<(f64, f64), String> {
    let nats = Nats::start()?;
    let mut class = Crowd::new()?;
    let mut publishers = Vec::new();
    for group in 0..BUSY_GROUPS {
        for _ in 0..NODES {
            class.enter(&nats.subscribe(group)?, SocketProtocol::Nats(NATS_FRAME_BYTES))?;
            publishers.push(nats.publisher(group)?);
        }
    }
    saturate(&mut class, &mut publishers, seconds)
}

/// Every node sends the next report right after the acknowledgement of the last one; returns
/// deliveries per second, and reports per second.
fn saturate(
    class: &mut Crowd,
    senders: &mut [impl GroupSender],
    seconds: f64,
) -> Result<(f64, f64), String> {
    class.forget_ages();
    for (index, sender) in senders.iter_mut().enumerate() {
        class.watch(sender.stream(), index)?;
        sender.send_stamp(class.now())?;
    }
    let (begin, mut sent) = (run::now(), senders.len() as u64);
    while begin.elapsed().as_secs_f64() < seconds {
        for index in class.hear(Duration::from_millis(1))? {
            let sender = senders.get_mut(index).ok_or("there is no such node")?;
            for _ in 0..sender.take_answers()? {
                sender.send_stamp(class.now())?;
                sent += 1;
            }
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let (rate, reports) = (class.arrived() as f64 / elapsed, sent as f64 / elapsed);
    // No report may be lost.
    class.hear_until(sent * NODES as u64, STUCK)?;
    Ok((rate, reports))
}

/// Runs the bench of a school.
pub(super) fn school(options: Options, report: &mut Report) -> BenchResult {
    let files = super::raise_limit()?;
    // Every socket is an open file on both sides, and the system limits the files of a process.
    let possible = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX) / NODES;
    let groups = if options.quick { 10 } else { IDLE_GROUPS.min(possible) };
    let sockets = groups * NODES;
    let mut all = Vec::new();
    for build in Build::all(options) {
        let at = format!("{sockets} idle sockets");
        all.push(report.take(build.server(), &at, socket_bytes(build, groups)));
    }
    let mut all = all.into_iter();
    let (ours, what) = (all.next().flatten(), format!("{sockets} idle sockets: bytes for one"));
    report.compare(format!("{what}, beside the bar"), ours, IDLE_BYTES_BAR, Bar::AtMost(1.0));
    if let Some(older) = all.next() {
        report.compare(format!("{what}, beside {OLDER}"), ours, older, Bar::Open);
    }
    Ok(())
}

/// The growth of the server's memory per socket that only listens.
fn socket_bytes(build: Build, groups: usize) -> Result<f64, String> {
    let house = open(build)?;
    let mut class = Crowd::new()?;
    let ids: Vec<String> = (0..groups)
        .map(|number| house.create_group(&format!("group {number}"), 0))
        .collect::<Result<_, _>>()?;
    let before = house.memory()?;
    for group in &ids {
        for _ in 0..NODES {
            class.enter(&house.subscribe(group)?, SocketProtocol::Frames)?;
        }
    }
    class.hear(Duration::from_secs(1))?;
    Ok(house.memory()?.saturating_sub(before) as f64 / (groups * NODES) as f64)
}

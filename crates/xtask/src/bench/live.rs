//! The live room with a full hall, on the real program.
//!
//! - a talk: one room with 5 000 sockets. The host sends as much as the hall can receive:
//!   deliveries per second. Then ten comments per second: how long until the last listener has one?
//!   Compared with socket.io, and with the minimal reference of the hub's bench, with the same size
//!   of comments;
//! - a storm: the whole hall loses its connections, misses a hundred comments, and comes back at
//!   once; how long until everybody has caught up?

mod stage;

use std::time::Duration;

use stage::{OurStage, Reference, SocketIo, Stage};

use super::crowd::Crowd;
use super::report::{Bar, Report, Server};
use super::stats::Latencies;
use super::{BenchResult, Options, install_peers};
use crate::run;

/// Sockets of a full hall, and of a quick run.
const HALL: usize = 5_000;
const QUICK_HALL: usize = 100;
/// Undelivered comments in a flood: so many that no server is ever idle, even one that batches
/// comments for a tenth of a second.
const UNDER_WAY: u64 = 256;
/// The most undelivered comments of one listener. Without this limit, a listener that gets no turn
/// would lag as far as all others are ahead.
const UNDER_WAY_MOST: u64 = 900;
/// Comments per second in a talk.
const PACE: u32 = 10;
/// Comments missed in a storm, and the bar for catching up.
const MISSED: u64 = 100;
const STORM_BAR_SECONDS: f64 = 5.0;
/// Without any push for this time, something is lost.
const STUCK: Duration = Duration::from_secs(15);

/// The figures of a stage.
#[derive(Clone, Copy, Default)]
struct StageFigures {
    deliveries: Option<f64>,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// Runs the bench of a talk.
pub(super) fn talk(options: Options, report: &mut Report) -> BenchResult {
    install_peers();
    super::raise_limit()?;
    let hall = if options.quick { QUICK_HALL } else { HALL };
    let seconds = options.measure_for().as_secs_f64();
    let (reference, socket_io) = ("the bare reference", "socket.io");
    let ours = measure(report, Server::Ours, OurStage::open(), hall, seconds);
    let raw = measure(report, Server::Peer(reference), Reference::open(), hall, seconds);
    let theirs = measure(report, Server::Peer(socket_io), SocketIo::open(), hall, seconds);
    let peers = [(socket_io, theirs, Bar::AtLeast(10.0)), (reference, raw, Bar::AtLeast(0.4))];
    for (name, peer, bar) in peers {
        let what = format!("{hall} in a room: deliveries/s, beside {name}");
        report.compare(what, ours.deliveries, peer.deliveries, bar);
        let what = format!("{hall} in a room: ms to the last of them, p50, beside {name}");
        report.compare(what, ours.p50_ms, peer.p50_ms, Bar::Open);
        let what = format!("{hall} in a room: ms to the last of them, p99, beside {name}");
        report.compare(what, ours.p99_ms, peer.p99_ms, Bar::Open);
    }
    Ok(())
}

/// The figures of a stage until it failed, if it did.
fn measure(
    report: &mut Report,
    server: Server<'_>,
    stage: Result<impl Stage, String>,
    hall: usize,
    seconds: f64,
) -> StageFigures {
    let mut measured = StageFigures::default();
    let ended = stage.and_then(|mut stage| measure_into(&mut measured, &mut stage, hall, seconds));
    report.take(server, &format!("a hall of {hall}"), ended);
    measured
}

fn measure_into(
    measured: &mut StageFigures,
    stage: &mut impl Stage,
    hall: usize,
    seconds: f64,
) -> Result<(), String> {
    let mut crowd = Crowd::new()?;
    for _ in 0..hall {
        crowd.enter(&stage.listener()?, stage.speech())?;
    }
    let latencies = pace(stage, &mut crowd, hall, seconds)?;
    let ms = |percent| latencies.percentile(percent).as_secs_f64() * 1e3;
    (measured.p50_ms, measured.p99_ms) = (Some(ms(50.0)), Some(ms(99.0)));
    crowd.forget_ages();
    measured.deliveries = Some(flood(stage, &mut crowd, hall as u64, seconds)?);
    Ok(())
}

/// The age of a comment at its last arrival in the hall.
fn pace(
    stage: &mut impl Stage,
    crowd: &mut Crowd,
    hall: usize,
    seconds: f64,
) -> Result<Latencies, String> {
    let begin = run::now();
    let comments = (seconds * f64::from(PACE)).ceil() as u32;
    for number in 0..comments {
        let due = begin + Duration::from_secs(1) / PACE * number;
        while let Some(wait) = due.checked_duration_since(run::now()) {
            crowd.hear(wait)?;
        }
        stage.say(crowd.now())?;
    }
    crowd.hear_until(u64::from(comments) * hall as u64, STUCK)?;
    crowd.last_arrivals(hall).map(Latencies::new)
}

/// Deliveries per second, with a bounded number of undelivered comments.
fn flood(
    stage: &mut impl Stage,
    crowd: &mut Crowd,
    hall: u64,
    seconds: f64,
) -> Result<f64, String> {
    let (begin, before, mut said) = (run::now(), crowd.arrived(), 0);
    // Before, all listeners have received the same number.
    let heard_before = before / hall;
    while begin.elapsed().as_secs_f64() < seconds {
        let on_average = (crowd.arrived() - before) / hall + UNDER_WAY;
        let to_the_last = crowd.least_heard().saturating_sub(heard_before) + UNDER_WAY_MOST;
        while said < on_average.min(to_the_last) {
            stage.say(crowd.now())?;
            said += 1;
        }
        stage.rest()?;
        crowd.hear(Duration::from_millis(1))?;
    }
    let rate = (crowd.arrived() - before) as f64 / begin.elapsed().as_secs_f64();
    // No comment may be lost.
    crowd.hear_until(before + said * hall, STUCK)?;
    Ok(rate)
}

/// Runs the bench of a storm.
pub(super) fn storm(options: Options, report: &mut Report) -> BenchResult {
    super::raise_limit()?;
    let hall = if options.quick { QUICK_HALL } else { HALL };
    let mut house = OurStage::open()?;
    let mut crowd = Crowd::new()?;
    for _ in 0..hall {
        crowd.enter(&house.listener()?, house.speech())?;
    }
    drop(crowd);
    let mut witness = Crowd::new()?;
    witness.enter(&house.listener()?, house.speech())?;
    for _ in 0..MISSED {
        house.say(witness.now())?;
        house.rest()?;
    }
    witness.hear_until(MISSED, STUCK)?;
    let begin = run::now();
    let mut crowd = house.come_back(hall)?;
    while !crowd.has_all_heard(MISSED) {
        crowd.hear(Duration::from_millis(10))?;
        if begin.elapsed() > STUCK {
            return Err("the hall has not caught up".into());
        }
    }
    let took = begin.elapsed().as_secs_f64();
    if crowd.arrived() != MISSED * hall as u64 {
        return Err(format!("{} comments came to {hall}", crowd.arrived()).into());
    }
    let what = format!("{hall} come back at once: seconds until all have {MISSED}, beside the bar");
    report.compare(what, took, STORM_BAR_SECONDS, Bar::AtMost(1.0));
    Ok(())
}

//! The live room with a full hall, on the real program.
//!
//! - a talk: one room with 5 000 sockets. The host says as much as the hall can hear: deliveries a
//!   second. Then ten comments a second: how long until the last of the hall has one? Beside
//!   socket.io, and beside the bare reference of the hub's bench, with as many bytes a comment;
//! - a storm: the whole hall loses its connections, misses a hundred comments, and comes back at
//!   once; how long until everybody has caught up?

mod stage;

use std::time::Duration;

use stage::{House, Reference, SocketIo, Stage};

use super::crowd::Crowd;
use super::report::{Bar, Report, Server};
use super::stats::Latencies;
use super::{Options, Outcome, install_peers};
use crate::run;

/// Sockets of a full hall, and of a quick run.
const HALL: usize = 5_000;
const QUICK_HALL: usize = 100;
/// Comments that are under way in a flood: so many that no stage is ever idle, also not one that
/// gathers comments for a tenth of a second.
const UNDER_WAY: u64 = 256;
/// The most that are under way to one listener. Without it one that had no turn would be as far
/// behind as all the others are ahead.
const UNDER_WAY_MOST: u64 = 900;
/// Comments a second in a talk.
const PACE: u32 = 10;
/// Comments that a storm has missed, and the time in which everybody must have them.
const MISSED: u64 = 100;
const STORM_BAR_SECONDS: f64 = 5.0;
/// Nothing has come for so long: something is lost.
const STUCK: Duration = Duration::from_secs(15);

/// What a stage did.
#[derive(Clone, Copy, Default)]
struct Measured {
    deliveries: Option<f64>,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// A talk.
pub(super) fn talk(options: Options, report: &mut Report) -> Outcome {
    install_peers();
    super::raise_limit()?;
    let hall = if options.quick { QUICK_HALL } else { HALL };
    let seconds = options.measure_for().as_secs_f64();
    let (reference, socket_io) = ("the bare reference", "socket.io");
    let ours = measure(report, Server::Ours, House::open(), hall, seconds);
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

/// What a stage did until it failed, if it did.
fn measure(
    report: &mut Report,
    server: Server<'_>,
    stage: Result<impl Stage, String>,
    hall: usize,
    seconds: f64,
) -> Measured {
    let mut measured = Measured::default();
    let ended = stage.and_then(|mut stage| measure_into(&mut measured, &mut stage, hall, seconds));
    report.take(server, &format!("a hall of {hall}"), ended);
    measured
}

fn measure_into(
    measured: &mut Measured,
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

/// How old a comment is when the last of the hall has it.
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

/// Deliveries a second, with a bounded number of comments under way.
fn flood(
    stage: &mut impl Stage,
    crowd: &mut Crowd,
    hall: u64,
    seconds: f64,
) -> Result<f64, String> {
    let (begin, before, mut said) = (run::now(), crowd.arrived(), 0);
    // Before, everybody has heard the same.
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
    // Nothing is lost on the way.
    crowd.hear_until(before + said * hall, STUCK)?;
    Ok(rate)
}

/// A storm.
pub(super) fn storm(options: Options, report: &mut Report) -> Outcome {
    super::raise_limit()?;
    let hall = if options.quick { QUICK_HALL } else { HALL };
    let mut house = House::open()?;
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

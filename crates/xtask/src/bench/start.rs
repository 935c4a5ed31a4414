//! From the start of the process to the first request that it takes: a house that was never open,
//! and one that comes back to what it left. Beside the two seconds that a newcomer is promised.

use std::time::Duration;

use super::house::{Build, House, OLDER};
use super::report::{Bar, Report};
use super::stats::Latencies;
use super::{Options, Outcome, data_folder};
use crate::run;

/// Starts of each kind, and in a quick run.
const STARTS: usize = 10;
const QUICK_STARTS: usize = 2;
const BAR_MS: f64 = 2_000.0;

/// How long starts took, of a house that was never open and of one that was.
#[derive(Default)]
struct Starts {
    first: Vec<Duration>,
    again: Vec<Duration>,
}

pub(super) fn run(options: Options, report: &mut Report) -> Outcome {
    let starts = if options.quick { QUICK_STARTS } else { STARTS };
    let mut all = Vec::new();
    for build in Build::all(options) {
        let mut measured = Starts::default();
        let ended = measure(build, starts, &mut measured);
        report.take(build.server(), "starts of the program", ended);
        all.push(measured);
    }
    let mut all = all.into_iter();
    let (ours, older) = (all.next().unwrap_or_default(), all.next());
    compare(report, "never open before", ours.first, older.as_ref().map(|it| &it.first));
    compare(report, "open before", ours.again, older.as_ref().map(|it| &it.again));
    Ok(())
}

fn compare(report: &mut Report, what: &str, ours: Vec<Duration>, older: Option<&Vec<Duration>>) {
    let ms = |times: Vec<Duration>, percent| {
        let is_measured = !times.is_empty();
        is_measured.then(|| Latencies::new(times).percentile(percent).as_secs_f64() * 1e3)
    };
    for percent in [50.0, 100.0] {
        let what = format!("{what}: ms until it takes requests, p{percent}, beside");
        let ours = ms(ours.clone(), percent);
        report.compare(format!("{what} the bar"), ours, BAR_MS, Bar::AtMost(1.0));
        if let Some(older) = older {
            let older = ms(older.clone(), percent);
            report.compare(format!("{what} {OLDER}"), ours, older, Bar::Open);
        }
    }
}

fn measure(build: Build, starts: usize, measured: &mut Starts) -> Result<(), String> {
    let program = build.program()?;
    for _ in 0..starts {
        let mut data = data_folder().map_err(|error| error.to_string())?;
        for times in [&mut measured.first, &mut measured.again] {
            let begin = run::now();
            let house = House::open_on(&program, data, &[])?;
            let answer = house.ask("GET /readyz HTTP/1.1\r\n", "")?;
            let took = begin.elapsed();
            if answer.trim() != "ready" {
                return Err(format!("the house is not ready: {answer}"));
            }
            times.push(took);
            data = house.close()?;
        }
    }
    Ok(())
}

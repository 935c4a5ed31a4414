//! From the start of the process to the first accepted request: a new store, and an existing one,
//! compared with the two seconds that newcomers are promised. Then a server that was killed with
//! many unsettled items in its log.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use super::house::{Build, House, OLDER};
use super::report::{Bar, Report};
use super::stats::Latencies;
use super::{BenchResult, Options, data_folder};
use crate::run;

/// Starts of each kind, and in a quick run.
const STARTS: usize = 10;
const QUICK_STARTS: usize = 2;
const BAR_MS: f64 = 2_000.0;

/// Unsettled items of a killed server, and in a quick run.
const UNSETTLED: [u64; 4] = [100_000, 200_000, 400_000, 800_000];
const QUICK_UNSETTLED: [u64; 1] = [100_000];
/// The bar for the start with the most of them.
const UNSETTLED_BAR_MS: f64 = 4_000.0;
/// So much memory that nothing is settled before the kill.
const UNSETTLED_MEMORY_MIB: &str = "8192";

/// The durations of starts on a new store and on an existing one.
#[derive(Default)]
struct Starts {
    first: Vec<Duration>,
    again: Vec<Duration>,
}

pub(super) fn run(options: Options, report: &mut Report) -> BenchResult {
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
    let counts = if options.quick { QUICK_UNSETTLED.as_slice() } else { &UNSETTLED };
    for items in counts {
        compare_unsettled(options, *items, report);
    }
    Ok(())
}

fn compare_unsettled(options: Options, items: u64, report: &mut Report) {
    let mut times = Vec::new();
    for build in Build::all(options) {
        let mut took = None;
        let ended = replay(build, items).map(|time| took = Some(time.as_secs_f64() * 1e3));
        report.take(build.server(), "a start after a kill", ended);
        times.push(took);
    }
    let mut times = times.into_iter();
    let (ours, older) = (times.next().flatten(), times.next());
    let what = format!("killed with {items} unsettled items: ms until it takes requests, beside");
    report.compare(format!("{what} the bar"), ours, UNSETTLED_BAR_MS, Bar::AtMost(1.0));
    if let Some(older) = older {
        report.compare(format!("{what} {OLDER}"), ours, older, Bar::Open);
    }
}

/// Kills a server whose items are only in its log; returns the duration of its next start.
fn replay(build: Build, items: u64) -> Result<Duration, String> {
    let program = build.program()?;
    let describe = |error: std::io::Error| error.to_string();
    let data = data_folder().map_err(describe)?;
    let file = tempfile::NamedTempFile::new().map_err(describe)?;
    write_items(file.as_file(), items).map_err(describe)?;
    let house = House::open_on(&program, data, &["--store-memory-mib", UNSETTLED_MEMORY_MIB])?;
    house.command("table create things --partition id:S", &[])?;
    let import = "table import things --format json --in";
    house.command(import, &[file.path().as_os_str()])?;
    let data = house.kill()?;
    let begin = run::now();
    let house = House::open_on(&program, data, &[])?;
    let answer = house.ask("GET /readyz HTTP/1.1\r\n", "")?;
    let took = begin.elapsed();
    match answer.trim() {
        "ready" => Ok(took),
        other => Err(format!("the server is not ready: {other}")),
    }
}

/// Items of about two hundred bytes, each in a partition of its own.
fn write_items(file: &File, items: u64) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    for number in 0..items {
        let pad = "x".repeat(120);
        writeln!(out, "{{\"id\":\"{number:08}\",\"name\":\"thing {number}\",\"pad\":\"{pad}\"}}")?;
    }
    out.flush()
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
                return Err(format!("the server is not ready: {answer}"));
            }
            times.push(took);
            data = house.close()?;
        }
    }
    Ok(())
}

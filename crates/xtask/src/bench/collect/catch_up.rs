//! How fast a server catches up on an hour in which it was stopped. The bench does not wait for
//! that hour: it stops a new server and sets the stored time of its start back by an hour.

use std::path::Path;
use std::time::Duration;

use base::Timestamp;

use super::upstream::Upstream;
use super::{INTERVAL_S, ledger, sources_file, wait_for_calls};
use crate::bench::house::House;
use crate::bench::report::{Bar, Report};
use crate::bench::{BenchResult, Options};
use crate::run;

const SOURCES: usize = 100;
const MISSED: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);
/// The bar.
const WITHIN: Duration = Duration::from_secs(60);

/// Runs the bench.
pub(in crate::bench) fn run(options: Options, report: &mut Report) -> BenchResult {
    let missed = if options.quick { Duration::from_secs(300) } else { MISSED };
    let upstream = Upstream::start()?;
    let file = sources_file(&upstream, SOURCES)?;
    let path = file.path().to_string_lossy().into_owned();
    let words = ["--collect-sources-file", path.as_str(), "--collect-reads-per-second", "1000000"];
    let house = House::start(&words)?;
    wait_for_calls(&upstream)?;
    let data = house.close()?;
    let (from, to) = write_back(data.path(), missed)?;
    // Its next minute passes in the usual way.
    std::thread::sleep(MINUTE);
    let before = upstream.answered();
    let begin = run::now();
    let house = House::start_on(data, &words)?;
    let slots = SOURCES as u64 * (missed - MINUTE).as_secs() / INTERVAL_S;
    while upstream.answered() - before < slots {
        if begin.elapsed() > WITHIN * 10 {
            return Err(format!("{} of {slots} slots", upstream.answered() - before).into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // The last slots are written a moment after their responses.
    let mut missing = slots;
    while missing > 0 && begin.elapsed() < WITHIN * 10 {
        let known = ledger(&house, SOURCES, &from, &to)?;
        let had = known.states.iter().filter(|state| matches!(state.as_str(), "ok" | "late"));
        missing = slots.saturating_sub(had.count() as u64);
    }
    let took = begin.elapsed();
    let what = format!(
        "{SOURCES} sources, {} s missed: s until all {slots} slots are had, beside the bar",
        missed.as_secs()
    );
    report.compare(what, took.as_secs_f64(), WITHIN.as_secs_f64(), Bar::AtMost(1.0));
    let what = format!("slots of {slots} that are still missing");
    report.compare(what, missing as f64, 1.0, Bar::AtMost(0.0));
    Ok(())
}

/// Changes the store of a stopped server as if it had started earlier and planned nothing since;
/// returns the missed time.
fn write_back(data: &Path, missed: Duration) -> Result<(String, String), String> {
    let export = table(data, &["export", "collect"], "")?;
    let mark = export.lines().find(|line| line.contains("\"MARKS\"") && line.contains("\"plan\""));
    let until = mark.and_then(|line| line.split("\"until\":{\"S\":\"").nth(1)?.split('"').next());
    let until = until.ok_or("the house has planned nothing")?;
    let spell = |time: Timestamp| time.to_string().replace(".000Z", "Z");
    let time: Timestamp = until.parse().map_err(|_| format!("no time: {until}"))?;
    let earlier = time.checked_sub(missed).ok_or("no such time")?;
    let day_before = earlier.checked_sub(Duration::from_secs(3600)).ok_or("no such time")?;
    let changed = export.lines().filter_map(|line| {
        if line.contains("\"SOURCES\"") {
            let (head, rest) = line.split_once("\"from\":{\"S\":\"")?;
            let (_, rest) = rest.split_once('"')?;
            return Some(format!("{head}\"from\":{{\"S\":\"{}\"{rest}\n", spell(day_before)));
        }
        let is_mark = line.contains("\"MARKS\"") && line.contains("\"plan\"");
        is_mark.then(|| line.replace(until, &spell(earlier)) + "\n")
    });
    table(data, &["import", "collect"], &changed.collect::<String>())?;
    // The window of catching up starts at the opening, which is within a minute.
    let from = earlier.checked_add(MINUTE).ok_or("no such time")?;
    Ok((spell(from), until.to_owned()))
}

/// Runs a `table` command on the store of a stopped server.
fn table(data: &Path, words: &[&str], input: &str) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    std::fs::write(file.path(), input).map_err(|error| error.to_string())?;
    let given = std::fs::File::open(file.path()).map_err(|error| error.to_string())?;
    let mut command = run::program(run::target_folder().join("release/nagaya"));
    command.arg("table").args(words).arg("--store-path").arg(data).stdin(given);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

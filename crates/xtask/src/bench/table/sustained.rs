//! A minute of random writes: does the settler keep up, does memory stay bounded, and what is the
//! latency of a put meanwhile?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::Clock;

use super::house::{TestStore, disk_bytes};
use super::writes::put;
use crate::bench::report::{Bar, Report};
use crate::bench::{BenchResult, Options, data_folder, usage};

/// Memory for unsettled items.
const MEMORY_MIB: u64 = 256;
/// Other memory of the process: the bench's own latencies, the runtime, dirty pages. Without
/// back-pressure a minute of writes would need gigabytes.
const SLACK_MIB: u64 = 768;
const WRITERS: u64 = 128;

/// Runs the bench.
pub(in crate::bench) fn run(options: Options, report: &mut Report) -> BenchResult {
    let time = if options.quick { Duration::from_secs(1) } else { Duration::from_secs(60) };
    let folder = data_folder()?;
    let house = TestStore::open(folder.path(), MEMORY_MIB)?;
    let before = usage::anonymous_bytes().unwrap_or(0);
    let (first, last) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (clock, halves) = (Clock::real(), (Arc::clone(&first), Arc::clone(&last)));
    let begun = clock.instant();
    let (rate, latencies) = house.measure(WRITERS, time, move |store, random| {
        let half = if clock.instant().since(begun) < time / 2 { &halves.0 } else { &halves.1 };
        half.fetch_add(1, Ordering::Relaxed);
        put(store, random)
    });
    let grown = usage::anonymous_bytes().unwrap_or(0).saturating_sub(before);
    report.compare(
        "sustained: MiB of memory grown, beside what may be",
        grown as f64 / (1024.0 * 1024.0),
        (MEMORY_MIB + SLACK_MIB) as f64,
        Bar::AtMost(1.0),
    );
    let count = |half: &AtomicU64| half.load(Ordering::Relaxed) as f64;
    report.compare(
        "sustained: puts in the second half, beside the first",
        count(&last),
        count(&first),
        Bar::Open,
    );
    let ms = |percent| latencies.percentile(percent).as_secs_f64() * 1e3;
    report.compare("sustained: puts/s, beside p99 in ms", rate, ms(99.0), Bar::Open);
    house.runtime.block_on(house.store.settle())?;
    let log = disk_bytes(&folder.path().join("log"));
    let tree = disk_bytes(&folder.path().join("settled"));
    report.compare(
        "sustained: bytes of the log, beside the tree",
        log as f64,
        tree as f64,
        Bar::Open,
    );
    latency(&house, options, report);
    house.store.close()?;
    Ok(())
}

/// The latency of a put at 16 writers while the settler runs: long enough for several rounds.
fn latency(house: &TestStore, options: Options, report: &mut Report) {
    let time = if options.quick { Duration::from_secs(1) } else { Duration::from_secs(20) };
    let (_, latencies) = house.measure(16, time, put);
    let ms = |percent| latencies.percentile(percent).as_secs_f64() * 1e3;
    report.compare(
        "durable put at 16 writers while settling, p99 in ms, beside 3 ms",
        ms(99.0),
        3.0,
        Bar::AtMost(1.0),
    );
    report.compare(
        "durable put at 16 writers while settling, p50 in ms, beside 3 ms",
        ms(50.0),
        3.0,
        Bar::Open,
    );
}

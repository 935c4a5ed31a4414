//! Durable puts: ours, the raw disk, SQLite.
//!
//! The raw disk appends records as long as ours in the log to a growing file and syncs each batch,
//! with as many tasks and the same batching. Another row has the same with a zero-filled segment.
//!
//! All of this runs in one process, which cannot contain an older build: the bench of the program
//! itself (`nagaya bench`) compares both builds, in turn.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use table::{Put, Tables};

use super::group::throughput;
use super::house::{TABLE, TestStore, disk_bytes, item};
use super::sqlite;
use crate::bench::house::{Build, OLDER};
use crate::bench::report::{Bar, Report, Server};
use crate::bench::{BenchResult, Options, data_folder};

/// Puts go to random items of this many.
const KEYS: u64 = 1_000_000;
/// Rounds of each measurement, ours and the peers' in turn. The sums are compared, because a disk
/// has good and bad seconds.
const ROUNDS: u32 = 3;
/// A preallocated raw file; writing restarts at its end.
const SEGMENT_BYTES: u64 = 256 * 1024 * 1024;

struct Bars {
    writers: u64,
    raw: f64,
    sqlite: Bar,
}

const BARS: [Bars; 3] = [
    Bars { writers: 1, raw: 0.7, sqlite: Bar::Open },
    Bars { writers: 16, raw: 0.6, sqlite: Bar::Open },
    Bars { writers: 128, raw: 0.4, sqlite: Bar::AtLeast(3.0) },
];

/// Runs the bench.
pub(in crate::bench) fn run(options: Options, report: &mut Report) -> BenchResult {
    let time = options.measure_for();
    let folder = data_folder()?;
    let record_bytes = record_bytes()?;
    let house = TestStore::open(&folder.path().join("house"), 256)?;
    for bars in BARS {
        let (writers, at) = (bars.writers, format!("{} writers", bars.writers));
        let (mut ours, mut raw, mut zeroed, mut peer) = (Vec::new(), vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            raw.push(raw_puts(folder.path(), writers, record_bytes, 0, time)?);
            ours.push(house.measure(writers, time, put).0);
            zeroed.push(raw_puts(folder.path(), writers, record_bytes, SEGMENT_BYTES, time)?);
            house.runtime.block_on(house.store.settle())?;
            let puts = sqlite::puts(folder.path(), writers, KEYS, time);
            peer.extend(report.take(Server::Peer("SQLite"), &at, puts));
        }
        let (ours, raw, zeroed, peer) = (mean(&ours), mean(&raw), mean(&zeroed), mean(&peer));
        let what = |peer: &str| format!("durable puts/s, {writers} writers, beside {peer}");
        report.compare(what("raw append + fdatasync"), ours, raw, Bar::AtLeast(bars.raw));
        report.compare(what("raw into zeroed segments"), ours, zeroed, Bar::Open);
        report.compare(what("SQLite"), ours, peer, bars.sqlite);
    }
    house.store.close()?;
    if let Some(path) = options.older {
        compare_builds(report, Build::Older(path), time);
    }
    Ok(())
}

/// None for an empty list.
fn mean(rates: &[f64]) -> Option<f64> {
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Compares the figures of the program's own bench for both builds.
fn compare_builds(report: &mut Report, older: Build, time: Duration) {
    const FIGURES: [(&str, &str); 3] = [
        ("writes_alone", "durable writes/s, alone"),
        ("writes_together", "durable writes/s, 64 at once"),
        ("reads", "reads by key/s"),
    ];
    let at = "`nagaya bench`";
    let mut all = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (build, rounds) in [older, Build::Ours].into_iter().zip(&mut all) {
            let figures = build.own_figures(time.as_secs().max(1));
            rounds.extend(report.take(build.server(), at, figures));
        }
    }
    let [older, ours] = all;
    for (name, what) in FIGURES {
        let of = |rounds: &[BTreeMap<String, f64>]| {
            let rates: Vec<f64> = rounds.iter().filter_map(|it| it.get(name).copied()).collect();
            mean(&rates)
        };
        report.compare(
            format!("{what}, by {at}, beside {OLDER}"),
            of(&ours),
            of(&older),
            Bar::Open,
        );
    }
}

/// Puts a random item.
pub(super) async fn put(store: table::Embedded, random: u64) {
    static VERSION: AtomicU64 = AtomicU64::new(1);
    let version = VERSION.fetch_add(1, Ordering::Relaxed);
    let put = Put::new(TABLE, item(random % KEYS, version));
    store.put(put).await.expect("the store takes a put");
}

/// The bytes in the log for one put, including headers.
fn record_bytes() -> Result<usize, Box<dyn std::error::Error>> {
    const PUTS: u64 = 2000;
    let folder = data_folder()?;
    let house = TestStore::open(folder.path(), 256)?;
    house.fill(PUTS)?;
    house.store.close()?;
    drop(house);
    Ok(usize::try_from(disk_bytes(&folder.path().join("log")) / PUTS)?)
}

fn raw_puts(
    path: &Path,
    writers: u64,
    bytes: usize,
    zeros: u64,
    time: Duration,
) -> std::io::Result<f64> {
    let path = path.join("raw");
    let file = OpenOptions::new().create(true).truncate(true).write(true).open(&path)?;
    let chunk = vec![0; 1024 * 1024];
    for offset in (0..zeros).step_by(chunk.len()) {
        file.write_all_at(&chunk, offset)?;
    }
    file.sync_all()?;
    let mut offset = 0;
    let mut buffer = Vec::new();
    let write = move |batch: Vec<Vec<u8>>| {
        buffer.clear();
        batch.iter().for_each(|record| buffer.extend_from_slice(record));
        if zeros > 0 && offset + buffer.len() as u64 > zeros {
            offset = 0;
        }
        let written = file.write_all_at(&buffer, offset).and_then(|()| file.sync_data());
        written.expect("the disk can write");
        offset += buffer.len() as u64;
    };
    let measured = throughput(writers, time, move |_| vec![7; bytes], write);
    std::fs::remove_file(&path)?;
    measured
}

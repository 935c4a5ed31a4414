//! The choice of the tree's library: LMDB (ours) and fjall at exactly its work, large sorted
//! batches of a row and an index row each, with reads afterwards.

use std::path::Path;

use base::Clock;
use bytes::Bytes;
use table::BareTree;

use super::house::{Shuffle, disk_bytes};
use crate::bench::report::{Bar, Report, Server};
use crate::bench::{BenchResult, Options, data_folder};

const KEYS: u64 = 1_000_000;
/// Writes in one settling round, and rounds.
const BATCH: u64 = 80_000;
const ROUNDS: u64 = 15;
const READS: u64 = 300_000;
const RANGE: usize = 20;
const ROW_BYTES: usize = 620;

/// The figures of one library.
struct TreeFigures {
    writes: f64,
    gets: f64,
    ranges: f64,
    bytes: f64,
}

/// One of them.
type Figure = fn(&TreeFigures) -> f64;

/// Runs the bench.
pub(in crate::bench) fn run(options: Options, report: &mut Report) -> BenchResult {
    let part = if options.quick { 20 } else { 1 };
    let at = "the settler's work";
    let lmdb = report.take(Server::Ours, at, measure_lmdb(data_folder()?.path(), part));
    let fjall = report.take(Server::Peer("fjall"), at, measure_fjall(data_folder()?.path(), part));
    let figures: [(&str, Figure); 4] = [
        ("rows settled/s", |measured| measured.writes),
        ("gets/s", |measured| measured.gets),
        ("ranges of 20/s", |measured| measured.ranges),
        ("bytes on disk", |measured| measured.bytes),
    ];
    for (what, of) in figures {
        let what = format!("settled store: {what}, LMDB beside fjall");
        report.compare(what, lmdb.as_ref().map(of), fjall.as_ref().map(of), Bar::Open);
    }
    Ok(())
}

fn measure_lmdb(path: &Path, part: u64) -> Result<TreeFigures, Box<dyn std::error::Error>> {
    let tree = BareTree::create(path)?;
    let clock = Clock::real();
    let begun = clock.instant();
    for round in 0..ROUNDS {
        tree.settle(batch(round, part))?;
    }
    let writes = rate(BATCH / part * ROUNDS * 2, &clock, begun);
    let (gets, ranges) = reads(&clock, part, |key, many| {
        if many { tree.range_raw(key, RANGE) } else { tree.get_raw(key) }.expect("LMDB can read")
    });
    Ok(TreeFigures { writes, gets, ranges, bytes: disk_bytes(path) as f64 })
}

fn measure_fjall(path: &Path, part: u64) -> Result<TreeFigures, Box<dyn std::error::Error>> {
    let store = fjall::Database::builder(path).cache_size(256 * 1024 * 1024).open()?;
    let rows = store.keyspace("rows", fjall::KeyspaceCreateOptions::default)?;
    let clock = Clock::real();
    let begun = clock.instant();
    for round in 0..ROUNDS {
        let mut write = store.batch().durability(Some(fjall::PersistMode::SyncAll));
        for (key, value) in batch(round, part) {
            write.insert(&rows, &*key, &*value);
        }
        write.commit()?;
    }
    let writes = rate(BATCH / part * ROUNDS * 2, &clock, begun);
    let (gets, ranges) = reads(&clock, part, |key, many| {
        if many {
            let found = rows.range(key..).take(RANGE);
            found.map(|row| row.value().expect("fjall can read").len()).sum()
        } else {
            rows.get(key).expect("fjall can read").map_or(0, |value| value.len())
        }
    });
    Ok(TreeFigures { writes, gets, ranges, bytes: disk_bytes(path) as f64 })
}

fn rate(count: u64, clock: &Clock, begun: base::Monotonic) -> f64 {
    count as f64 / clock.instant().since(begun).as_secs_f64()
}

fn reads(clock: &Clock, part: u64, mut read: impl FnMut(&[u8], bool) -> usize) -> (f64, f64) {
    let mut random = Shuffle(7);
    let mut timed = |many: bool, count: u64| {
        let begun = clock.instant();
        for _ in 0..count {
            read(&row_key(random.next() % KEYS), many);
        }
        rate(count, clock, begun)
    };
    (timed(false, READS / part), timed(true, READS / part / 5))
}

fn row_key(number: u64) -> Vec<u8> {
    // Like the engine's keys: two bytes that spread the rows, then the searchable part.
    let spread = Shuffle(number / 20 + 1).next().to_be_bytes();
    [&spread[..2], format!("partition-{:08}", number / 20).as_bytes(), &(number % 20).to_be_bytes()]
        .concat()
}

fn batch(round: u64, part: u64) -> Vec<(Bytes, Bytes)> {
    let mut random = Shuffle(round + 1);
    let value = Bytes::from(vec![7; ROW_BYTES]);
    let mut rows = Vec::new();
    for _ in 0..BATCH / part {
        let number = random.next() % KEYS;
        let key = row_key(number);
        let index = [b"\xF0group-", (number % 1000).to_be_bytes().as_slice(), &key].concat();
        rows.push((Bytes::from(index), Bytes::from(key.clone())));
        rows.push((Bytes::from(key), value.clone()));
    }
    rows.sort();
    rows.dedup_by(|one, other| one.0 == other.0);
    rows
}

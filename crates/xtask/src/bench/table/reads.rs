//! Reads: single items and queries of 20 compared with reads of the tree alone, mixed work, and the
//! growth of each cost with a hundred times as many items.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::Clock;
use table::{BareTree, Get, Query, Tables, Value};

use super::house::{PER_PARTITION, Shuffle, TABLE, TestStore, disk_bytes, item, key, partition};
use super::writes::put;
use crate::bench::report::{Bar, Report, Server};
use crate::bench::{BenchResult, Options, data_folder, usage};

const SMALL: u64 = 10_000;
const LARGE: u64 = 1_000_000;
const LARGE_QUICK: u64 = 20_000;
/// Tasks, and threads of the peer: one for each core.
const READERS: u64 = 2;

struct Cost {
    gets: f64,
    queries: f64,
    puts: f64,
}

/// Runs the bench.
pub(in crate::bench) fn run(options: Options, report: &mut Report) -> BenchResult {
    let time = options.measure_for();
    let large = if options.quick { LARGE_QUICK } else { LARGE };
    let small_folder = data_folder()?;
    let small = cost(&filled(small_folder.path(), SMALL)?, SMALL, time)?;
    let folder = data_folder()?;
    let house = filled(folder.path(), large)?;
    let big = cost(&house, large, time)?;
    house.runtime.block_on(house.store.settle())?;
    let (mixed, latencies) = house.measure(READERS * 8, time, move |store, random| async move {
        if random % 5 == 0 {
            put(store, random % large).await;
        } else {
            get(store, random % large).await;
        }
    });
    house.store.close()?;
    drop(house);
    let weight = item(0, 0).size() as u64 * large;
    let tree = disk_bytes(&folder.path().join("settled"));
    let alone = read_alone(folder.path(), large, time);
    let alone = report.take(Server::Peer("the tree alone"), "reads", alone);
    let (bare_gets, bare_queries) = alone.unzip();
    report.compare("gets/s, warm, beside the tree alone", big.gets, bare_gets, Bar::AtLeast(0.6));
    report.compare(
        "queries of 20/s, beside the tree alone",
        big.queries,
        bare_queries,
        Bar::AtLeast(0.5),
    );
    report.compare("mixed 80/20, operations/s, beside gets alone", mixed, big.gets, Bar::Open);
    let micros = |percent| latencies.percentile(percent).as_secs_f64() * 1e6;
    report.compare("mixed 80/20, p99 in µs, beside p50", micros(99.0), micros(50.0), Bar::Open);
    let growth = |what: &str| format!("time of a {what} with {large} items, beside {SMALL}");
    report.compare(growth("get"), 1e6 / big.gets, 1e6 / small.gets, Bar::AtMost(2.0));
    report.compare(growth("query"), 1e6 / big.queries, 1e6 / small.queries, Bar::AtMost(2.0));
    report.compare(growth("put"), 1e6 / big.puts, 1e6 / small.puts, Bar::AtMost(2.0));
    report.compare(
        "bytes of the tree, beside what its items weigh",
        tree as f64,
        weight as f64,
        Bar::Open,
    );
    let resident = usage::resident_bytes().unwrap_or(0);
    report.compare(
        "resident bytes, beside what its items weigh",
        resident as f64,
        weight as f64,
        Bar::Open,
    );
    Ok(())
}

/// Gets and queries per second of the tree without the engine.
fn read_alone(
    path: &Path,
    count: u64,
    time: Duration,
) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let bare = Arc::new(BareTree::of_house(path, TABLE)?);
    let gets = bare_reads(&bare, time, count, |bare, number| {
        bare.get(&key(number)).expect("the tree can be read").map_or(0, |item| item.len())
    })?;
    let queries = bare_reads(&bare, time, count, |bare, number| {
        let partition = Value::from(partition(number));
        bare.query(&partition, PER_PARTITION as usize).expect("the tree can be read").len()
    })?;
    Ok((gets, queries))
}

fn filled(path: &Path, count: u64) -> Result<TestStore, Box<dyn std::error::Error>> {
    let house = TestStore::open(path, 256)?;
    house.fill(count)?;
    Ok(house)
}

async fn get(store: table::Embedded, number: u64) {
    let found = store.get(Get::new(TABLE, key(number))).await.expect("the store can be read");
    assert!(found.is_some(), "item {number} is there");
}

fn cost(house: &TestStore, count: u64, time: Duration) -> Result<Cost, Box<dyn std::error::Error>> {
    let (gets, _) = house.measure(READERS, time, move |store, random| get(store, random % count));
    let (queries, _) = house.measure(READERS, time, move |store, random| async move {
        let query = Query::new(TABLE, "pk", partition(random % count)).limit(PER_PARTITION as u32);
        let page = store.query(query).await.expect("the store can be read");
        assert_eq!(page.items.len() as u64, PER_PARTITION);
    });
    let (puts, _) = house.measure(16, time, move |store, random| put(store, random % count));
    Ok(Cost { gets, queries, puts })
}

/// The peer: threads that read the tree without the engine.
fn bare_reads(
    bare: &Arc<BareTree>,
    time: Duration,
    count: u64,
    read: impl Fn(&BareTree, u64) -> usize + Send + Copy + 'static,
) -> Result<f64, Box<dyn std::error::Error>> {
    let (stop, clock) = (Arc::new(AtomicBool::new(false)), Clock::real());
    let begun = clock.instant();
    let threads: Vec<_> = (0..READERS)
        .map(|thread| {
            let (bare, stop) = (Arc::clone(bare), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut random = Shuffle(thread + 1);
                let mut reads = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    assert!(read(&bare, random.next() % count) > 0, "the item is there");
                    reads += 1;
                }
                reads
            })
        })
        .collect();
    super::house::runtime()?.block_on(clock.sleep(time));
    stop.store(true, Ordering::Relaxed);
    let reads: u64 = threads.into_iter().filter_map(|thread| thread.join().ok()).sum();
    Ok(reads as f64 / clock.instant().since(begun).as_secs_f64())
}

//! The store under measurement: its table, its items, and tasks that use it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base::{Clock, Tasks};
use table::{Embedded, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables};
use tokio::runtime::Runtime;

use crate::bench::stats::Latencies;

/// The table.
pub(super) const TABLE: &str = "things";
/// Items of one partition: what a query of 20 reads.
pub(super) const PER_PARTITION: u64 = 20;
/// The payload with which an item has 600 bytes, including its key, index and names.
const PAYLOAD_BYTES: usize = 512;

/// An open store with its runtime.
pub(super) struct TestStore {
    pub(super) store: Embedded,
    pub(super) runtime: Runtime,
}

impl TestStore {
    /// Opens the store in `path` with its table.
    pub(super) fn open(
        path: &Path,
        memory_mib: u64,
    ) -> Result<TestStore, Box<dyn std::error::Error>> {
        let runtime = runtime()?;
        let store = runtime.block_on(async {
            let options =
                table::Options { path: path.to_owned(), memory_mib, ..Default::default() };
            let store = Embedded::open(options, Clock::real(), &Tasks::new()).await?;
            let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
            let index = KeySpec::composite(KeyAttribute::s("group"), KeyAttribute::n("at"));
            store.ensure_table(TableSpec::new(TABLE, key).index("by-group", index)).await?;
            Ok::<_, table::Error>(store)
        })?;
        Ok(TestStore { store, runtime })
    }

    /// Puts items `0..count` with many writers and settles them.
    pub(super) fn fill(&self, count: u64) -> Result<(), Box<dyn std::error::Error>> {
        let next = Arc::new(AtomicU64::new(0));
        self.runtime.block_on(async {
            let mut writers = tokio::task::JoinSet::new();
            for _ in 0..128 {
                let (store, next) = (self.store.clone(), Arc::clone(&next));
                writers.spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return Ok::<_, table::Error>(());
                        }
                        store.put(Put::new(TABLE, item(number, 0))).await?;
                    }
                });
            }
            while let Some(done) = writers.join_next().await {
                done??;
            }
            self.store.settle().await?;
            Ok(())
        })
    }

    /// Repeats `work` on `tasks` tasks for `time`; returns operations per second and the latency of
    /// each.
    pub(super) fn measure<W, F>(&self, tasks: u64, time: Duration, work: W) -> (f64, Latencies)
    where
        W: Fn(Embedded, u64) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send,
    {
        let (work, stop, clock) = (Arc::new(work), Arc::new(AtomicBool::new(false)), Clock::real());
        let begun = clock.instant();
        let mut latencies = Vec::new();
        self.runtime.block_on(async {
            let mut running = tokio::task::JoinSet::new();
            for task in 0..tasks {
                let (work, stop, clock) = (Arc::clone(&work), Arc::clone(&stop), clock.clone());
                let store = self.store.clone();
                running.spawn(async move {
                    let mut latencies = Vec::new();
                    let mut random = Shuffle(task.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
                    while !stop.load(Ordering::Relaxed) {
                        let begun = clock.instant();
                        work(store.clone(), random.next()).await;
                        latencies.push(clock.instant().since(begun));
                        // Reads never wait; without this a task would keep its worker.
                        tokio::task::yield_now().await;
                    }
                    latencies
                });
            }
            clock.sleep(time).await;
            stop.store(true, Ordering::Relaxed);
            while let Some(done) = running.join_next().await {
                latencies.extend(done.expect("the work is done or the bench is over"));
            }
        });
        let seconds = clock.instant().since(begun).as_secs_f64();
        (latencies.len() as f64 / seconds, Latencies::new(latencies))
    }
}

/// A runtime like the server's: a worker for each core.
pub(super) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Item `number`; `version` changes its contents and its place in the index.
pub(super) fn item(number: u64, version: u64) -> Item {
    key(number)
        .with("group", format!("group-{:04}", (number + version) % 1000))
        .with("at", number)
        .with("version", version)
        .with("name", format!("thing number {number}"))
        .with("payload", "x".repeat(PAYLOAD_BYTES))
}

/// The key of item `number`.
pub(super) fn key(number: u64) -> Item {
    Item::new().with("pk", partition(number)).with("sk", number % PER_PARTITION)
}

/// The partition of item `number`.
pub(super) fn partition(number: u64) -> String {
    format!("partition-{:08}", number / PER_PARTITION)
}

/// A small, fast, seeded sequence of numbers (xorshift); good enough to choose items.
pub(super) struct Shuffle(pub(super) u64);

impl Shuffle {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The disk usage of all files below `path`.
pub(super) fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(file) if file.is_dir() => disk_bytes(&entry.path()),
        Ok(file) => std::os::unix::fs::MetadataExt::blocks(&file) * 512,
        Err(_) => 0,
    });
    sizes.sum()
}

//! The settler: moves frozen memtables into the base, one at a time, oldest first.
//!
//! It runs on a thread of its own at low priority: a slow round costs memory, not latency. Only
//! the newest version of each row is settled, and a row that came and went within one memtable
//! is not settled at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base::Clock;
use bytes::Bytes;
use imbl::OrdMap;

use super::commit::Commits;
use super::kernel::{Pace, set_pace};
use super::memtable::{Counts, Memtable};
use super::meters::Meters;
use super::settled::Settled;
use super::state::{Rows, is_ephemeral};
use crate::error::Error;

/// How long the settler rests after a failed round: a full disk does not empty itself faster.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The settler and what it works on.
pub(crate) struct Settler {
    rows: Arc<Rows>,
    commits: Arc<Commits>,
    clock: Clock,
    meters: Meters,
    closing: AtomicBool,
}

impl Settler {
    /// A settler that has not started.
    pub(crate) fn new(
        rows: Arc<Rows>,
        commits: Arc<Commits>,
        clock: Clock,
        meters: Meters,
    ) -> Settler {
        Settler { rows, commits, clock, meters, closing: AtomicBool::new(false) }
    }

    /// Starts the thread.
    pub(crate) fn start(self: &Arc<Self>) -> Result<JoinHandle<()>, Error> {
        let settler = Arc::clone(self);
        let thread = std::thread::Builder::new().name("settler".to_owned());
        thread
            .spawn(move || settler.run())
            .map_err(|cause| Error::io("starting the settler", &cause))
    }

    /// Blocks until everything frozen so far is settled; fails if the settler cannot go on.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        self.commits.freeze_now();
        let newest = self.rows.state.load().frozen.first().map(Arc::clone);
        let Some(newest) = newest else { return Ok(()) };
        self.commits.wait_for_progress(|| {
            let waits = self.rows.state.load().frozen.iter().any(|held| Arc::ptr_eq(held, &newest));
            match self.commits.cannot_settle() {
                Some(error) if waits => Some(Err(error)),
                _ => (!waits).then_some(Ok(())),
            }
        })
    }

    /// Lets the thread end after the round it is in.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.commits.signal_progress();
    }

    fn run(&self) {
        set_pace(Pace::Patient);
        while let Some(memtable) = self.next() {
            let begun = self.clock.instant();
            match self.settle(&memtable) {
                Ok(()) => self.meters.settle_seconds.record(self.clock.instant().since(begun)),
                Err(Error::Stopped(why)) => self.commits.stop(&why),
                Err(error) => {
                    tracing::error!(%error, "settling failed; it will be tried again");
                    self.commits.settling_failed(error);
                    std::thread::sleep(RETRY_PAUSE);
                }
            }
        }
    }

    /// The oldest frozen memtable, once all of it is durable.
    fn next(&self) -> Option<Arc<Memtable>> {
        self.commits.wait_for_progress(|| {
            if self.closing.load(Ordering::Acquire) || self.commits.stopped().is_some() {
                return Some(None);
            }
            let state = self.rows.state.load();
            let oldest = state.frozen.last()?;
            let durable = self.rows.visible.load(Ordering::Acquire) >= oldest.last_durable();
            durable.then(|| Some(Arc::clone(oldest)))
        })
    }

    fn settle(&self, memtable: &Arc<Memtable>) -> Result<(), Error> {
        let state = self.rows.state.load_full();
        let mut memory = state.memory.clone();
        let counts = add_counts(&state.counts, memtable);
        let mut newest = Newest::of(memtable);
        let drops = memtable.drops();
        let mut tree_id = state.tree_id;
        match &self.rows.tree {
            Some(tree) if memtable.last_durable() > 0 => {
                let settled = Settled {
                    seq: memtable.last_durable(),
                    time_ms: self.commits.log_time_ms(),
                    counts: durable_counts(&counts),
                };
                let rows = newest.by_ref().filter_map(|(key, value)| {
                    if is_ephemeral(&key) {
                        put_in(&mut memory, key, value);
                        return None;
                    }
                    Some((key, value))
                });
                // Writers that wait for this round are not disturbed by it.
                tree_id = tree.settle(rows, &drops, &settled, || !self.commits.is_crowded())?;
            }
            _ => newest.by_ref().for_each(|(key, value)| put_in(&mut memory, key, value)),
        }
        for range in &drops {
            let gone: Vec<Bytes> =
                memory.range::<_, [u8]>(range.as_bounds()).map(|(key, _)| key.clone()).collect();
            for key in gone {
                memory.remove(&key);
            }
        }
        self.meters.settled_rows.increment(newest.settled);
        self.meters.never_settled_rows.increment(newest.skipped);
        self.commits.edit_state(|state| {
            state.frozen.retain(|held| !Arc::ptr_eq(held, memtable));
            state.memory = memory;
            state.counts = counts;
            state.tree_id = tree_id;
        });
        Ok(())
    }
}

fn put_in(memory: &mut OrdMap<Bytes, Bytes>, key: Bytes, value: Option<Bytes>) {
    match value {
        Some(value) => memory.insert(key, value),
        None => memory.remove(&key),
    };
}

fn add_counts(base: &OrdMap<u32, Counts>, memtable: &Memtable) -> OrdMap<u32, Counts> {
    let mut counts = base.clone();
    for (table, change) in memtable.all_counts() {
        let held = counts.get(&table).copied().unwrap_or_default();
        let sum = Counts { items: held.items + change.items, bytes: held.bytes + change.bytes };
        counts.insert(table, sum);
    }
    counts
}

fn durable_counts(counts: &OrdMap<u32, Counts>) -> Vec<(u32, i64, i64)> {
    let durable = counts.iter().filter(|(table, _)| **table & super::state::EPHEMERAL_BIT == 0);
    let durable: BTreeMap<u32, Counts> = durable.map(|(table, counts)| (*table, *counts)).collect();
    durable.into_iter().map(|(table, counts)| (table, counts.items, counts.bytes)).collect()
}

/// The newest version of each row of a memtable that has to be settled.
struct Newest<I: Iterator> {
    versions: std::iter::Peekable<I>,
    settled: u64,
    skipped: u64,
}

impl Newest<std::iter::Empty<(Bytes, u64, super::memtable::Version)>> {
    fn of(
        memtable: &Memtable,
    ) -> Newest<impl Iterator<Item = (Bytes, u64, super::memtable::Version)> + '_> {
        Newest { versions: memtable.all().peekable(), settled: 0, skipped: 0 }
    }
}

impl<I: Iterator<Item = (Bytes, u64, super::memtable::Version)>> Iterator for Newest<I> {
    type Item = (Bytes, Option<Bytes>);

    fn next(&mut self) -> Option<(Bytes, Option<Bytes>)> {
        loop {
            let (key, _, newest) = self.versions.next()?;
            let mut oldest_fresh = newest.fresh;
            while let Some((_, _, older)) = self.versions.next_if(|(next, _, _)| *next == key) {
                oldest_fresh = older.fresh;
            }
            if newest.value.is_none() && oldest_fresh {
                self.skipped += 1;
                continue;
            }
            self.settled += 1;
            return Some((key, newest.value));
        }
    }
}

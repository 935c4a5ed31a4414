//! The settler: moves frozen memtables into the base, oldest first, several in one round: rows that
//! lie on one page are then more often settled together. It waits until there are as many as the
//! round before showed that there may be, unless somebody wants everything settled.
//!
//! It runs on two threads of its own at low priority: a slow round costs memory, not latency. While
//! one makes a round, the other one brings the round before it to the disk. Only the newest version
//! of each row is settled, and a row that came and went within one round is not settled at all. The
//! memory of a round is free when the round is seen: until it is durable, the log has it too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base::Clock;
use bytes::Bytes;
use imbl::OrdMap;

use super::commit::Commits;
use super::disk::gently::Urgency;
use super::kernel::{Pace, set_pace};
use super::memtable::{self, Counts, Held, Memtable};
use super::meters::Meters;
use super::settled::{PAGE_BYTES, Settled, Tree};
use super::state::{Rows, is_ephemeral};
use crate::error::Error;
use crate::options::Options;

/// How long the settler rests after a failed round: a full disk does not empty itself faster.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Memtables of one round. The more there are, the fewer pages are written for each row where rows
/// lie together; the rest of the memory fills up meanwhile.
const TOGETHER_MAX: usize = Options::MEMTABLES / 2;
/// Memtables of the first round, before anything is known of how rows lie.
const TOGETHER_FIRST: usize = 1;

/// The settler and what it works on.
pub(crate) struct Settler {
    rows: Arc<Rows>,
    commits: Arc<Commits>,
    clock: Clock,
    meters: Meters,
    closing: AtomicBool,
    /// How many wait until everything is settled.
    flushing: AtomicUsize,
}

impl Settler {
    /// A settler that has not started.
    pub(crate) fn new(
        rows: Arc<Rows>,
        commits: Arc<Commits>,
        clock: Clock,
        meters: Meters,
    ) -> Settler {
        let (closing, flushing) = (AtomicBool::new(false), AtomicUsize::new(0));
        Settler { rows, commits, clock, meters, closing, flushing }
    }

    /// Starts the threads: one makes rounds, the other one brings them to the disk.
    pub(crate) fn start(self: &Arc<Self>) -> Result<[JoinHandle<()>; 2], Error> {
        let start = |name: &str, work: fn(&Settler)| {
            let (settler, thread) = (Arc::clone(self), std::thread::Builder::new());
            let started = thread.name(name.to_owned()).spawn(move || work(&settler));
            started.map_err(|cause| Error::io("starting the settler", &cause))
        };
        Ok([start("settler", Settler::run)?, start("write-back", Settler::write_rounds_back)?])
    }

    /// Blocks until everything frozen so far is settled and durable there; fails if the settler
    /// cannot go on.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        self.commits.freeze_now();
        if let Some(newest) = self.rows.state.load().frozen.first().map(Arc::clone) {
            self.flushing.fetch_add(1, Ordering::AcqRel);
            self.commits.signal_progress();
            let settled = self.commits.wait_for_progress(|| {
                let frozen = &self.rows.state.load().frozen;
                let waits = frozen.iter().any(|held| Arc::ptr_eq(held, &newest));
                match self.commits.cannot_settle() {
                    Some(error) if waits => Some(Err(error)),
                    _ => (!waits).then_some(Ok(())),
                }
            });
            self.flushing.fetch_sub(1, Ordering::AcqRel);
            settled?;
        }
        self.write_back()
    }

    /// Brings the last round to the disk, at the pace that leaves it to others who wait for it.
    fn write_back(&self) -> Result<(), Error> {
        let Some(tree) = &self.rows.tree else { return Ok(()) };
        let written = tree.write_back(|| self.urgency());
        match &written {
            Ok(()) => self.commits.settling_goes_on(),
            Err(Error::Stopped(why)) => self.commits.stop(why),
            Err(full @ Error::DiskFull) => self.commits.settling_failed(full.clone()),
            // It passes, and the next round can be made meanwhile.
            Err(_) => {}
        }
        written
    }

    /// How soon the round before must be on the disk: others need the disk more as long as there is
    /// memory for what they write until then.
    fn urgency(&self) -> Urgency {
        match self.rows.state.load().frozen.len() {
            _ if self.commits.is_crowded() => Urgency::High,
            frozen if frozen > TOGETHER_MAX => Urgency::Rising,
            _ => Urgency::Low,
        }
    }

    /// Lets the threads end after the round they are in.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.commits.signal_progress();
    }

    /// The second thread: while one round is made, the one before it is written back.
    fn write_rounds_back(&self) {
        set_pace(Pace::Patient);
        let is_behind = || self.rows.tree.as_ref().is_some_and(Tree::is_behind);
        while self.commits.wait_for_progress(|| match self.is_over() {
            true => Some(false),
            false => is_behind().then_some(true),
        }) {
            // A sync that failed has stopped the writer, and with it this. Anything else passes.
            if let Err(error) = self.write_back()
                && !self.is_over()
            {
                // `health` reports a full disk, and readiness logs it once.
                if !matches!(error, Error::DiskFull) {
                    tracing::warn!(%error, "a round is not durable yet; it will be tried again");
                }
                std::thread::sleep(RETRY_PAUSE);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.closing.load(Ordering::Acquire) || self.commits.stopped().is_some()
    }

    fn run(&self) {
        set_pace(Pace::Patient);
        let (mut learns, mut together) = (self.learn(), TOGETHER_FIRST);
        while let Some(memtables) = self.next(together) {
            let begun = self.clock.instant();
            match self.settle(&memtables) {
                Ok(pages) => {
                    // A round holds its pages in memory until it is committed. They take as much as
                    // the changes may, unless a memtable alone needs more.
                    let pages_max = self.commits.memory_bytes() / PAGE_BYTES;
                    let fit = pages_max / (pages / memtables.len()).max(1);
                    together = fit.clamp(1, TOGETHER_MAX);
                    self.meters.settle_seconds.record(self.clock.instant().since(begun));
                    learns = learns && self.learn();
                }
                Err(Error::Stopped(why)) => self.commits.stop(&why),
                Err(error) => {
                    // A full disk is a state that `health` tells and readiness logs, once.
                    if !matches!(error, Error::DiskFull) {
                        tracing::error!(%error, "settling failed; it will be tried again");
                    }
                    self.commits.settling_failed(error);
                    std::thread::sleep(RETRY_PAUSE);
                }
            }
        }
    }

    /// Lets the tree learn its keys, unless somebody waits for something else; false if that
    /// cannot be.
    fn learn(&self) -> bool {
        let stop = || self.closing.load(Ordering::Acquire) || self.commits.is_crowded();
        let Some(tree) = &self.rows.tree else { return false };
        let learned = tree.learn(stop);
        if let Err(error) = &learned {
            tracing::error!(%error, "the tree's keys cannot be learned; new rows cost a look at it");
        }
        learned.is_ok()
    }

    /// The oldest frozen memtables, as soon as there are so many of which everything is durable, or
    /// fewer if somebody waits for them.
    fn next(&self, together: usize) -> Option<Vec<Arc<Memtable>>> {
        self.commits.wait_for_progress(|| {
            if self.is_over() {
                return Some(None);
            }
            let state = self.rows.state.load();
            let visible = self.rows.visible.load(Ordering::Acquire);
            let oldest_first = state.frozen.iter().rev();
            let durable = oldest_first.take_while(|held| held.last_durable() <= visible);
            let some: Vec<Arc<Memtable>> = durable.take(together).cloned().collect();
            let wanted = if self.flushing.load(Ordering::Acquire) > 0 { 1 } else { together };
            (some.len() >= wanted).then_some(Some(some))
        })
    }

    /// Settles some memtables; answers how many pages that changed at most.
    fn settle(&self, memtables: &[Arc<Memtable>]) -> Result<usize, Error> {
        let state = self.rows.state.load_full();
        let mut memory = state.memory.clone();
        let counts = add_counts(&state.counts, memtables);
        let versions = merge(memtables).peekable();
        let mut newest = Newest { versions, settled: 0, skipped: 0 };
        let drops: Vec<_> = memtables.iter().flat_map(|memtable| memtable.drops()).collect();
        let last_durable = memtables.iter().map(|memtable| memtable.last_durable()).max();
        let mut tree_id = state.tree_id;
        let mut pages = 0;
        match (&self.rows.tree, last_durable) {
            (Some(tree), Some(seq)) if seq > 0 => {
                let settled = Settled {
                    seq,
                    time_ms: self.commits.log_time_ms(),
                    counts: durable_counts(&counts),
                    rows: 0,
                };
                let rows = newest.by_ref().filter(|held| {
                    let in_memory = is_ephemeral(held.name());
                    if in_memory {
                        put_in(&mut memory, held);
                    }
                    !in_memory
                });
                (tree_id, pages) = tree.settle(rows, &drops, &settled, || self.urgency())?;
            }
            _ => newest.by_ref().for_each(|held| put_in(&mut memory, &held)),
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
            state.frozen.retain(|held| !memtables.iter().any(|done| Arc::ptr_eq(held, done)));
            state.memory = memory;
            state.counts = counts;
            state.tree_id = tree_id;
        });
        Ok(pages)
    }
}

fn put_in(memory: &mut OrdMap<Bytes, Bytes>, held: &Held) {
    let key = [held.name(), held.tail()].concat();
    match &held.version().value {
        // Memory of their own: what they were written with is shared with rows that may go.
        Some(value) => memory.insert(Bytes::from(key), Bytes::copy_from_slice(value)),
        None => memory.remove(key.as_slice()),
    };
}

fn add_counts(base: &OrdMap<u32, Counts>, memtables: &[Arc<Memtable>]) -> OrdMap<u32, Counts> {
    let mut counts = base.clone();
    for (table, change) in memtables.iter().flat_map(|memtable| memtable.all_counts()) {
        let held = counts.get(&table).copied().unwrap_or_default();
        counts.insert(table, held.plus(change));
    }
    counts
}

fn durable_counts(counts: &OrdMap<u32, Counts>) -> Vec<(u32, i64, i64)> {
    let durable = counts.iter().filter(|(table, _)| **table & super::state::EPHEMERAL_BIT == 0);
    let durable: BTreeMap<u32, Counts> = durable.map(|(table, counts)| (*table, *counts)).collect();
    durable.into_iter().map(|(table, counts)| (table, counts.items, counts.bytes)).collect()
}

/// The newest version of each row of some memtables that has to be settled.
struct Newest<I: Iterator<Item = Held>> {
    versions: std::iter::Peekable<I>,
    settled: u64,
    skipped: u64,
}

/// All versions of some memtables, key by key, newest first.
fn merge(memtables: &[Arc<Memtable>]) -> impl Iterator<Item = Held> + '_ {
    let sources = memtables.iter().map(|memtable| memtable.partitions().peekable());
    let mut sources: Vec<_> = sources.collect();
    let of_one_name = std::iter::from_fn(move || {
        let first = sources.iter_mut().filter_map(|source| source.peek()).min()?.clone();
        let same = sources.iter_mut().filter_map(|source| source.next_if_eq(&first));
        Some(memtable::merge(&same.collect::<Vec<_>>()))
    });
    of_one_name.flatten()
}

impl<I: Iterator<Item = Held>> Iterator for Newest<I> {
    type Item = Held;

    fn next(&mut self) -> Option<Held> {
        loop {
            let newest = self.versions.next()?;
            let mut oldest_fresh = newest.version().fresh;
            while let Some(older) = self.versions.next_if(|next| next.is_of_key(&newest)) {
                oldest_fresh = older.version().fresh;
            }
            if newest.version().value.is_none() && oldest_fresh {
                self.skipped += 1;
                continue;
            }
            self.settled += 1;
            return Some(newest);
        }
    }
}

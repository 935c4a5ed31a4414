//! The settler: moves frozen memtables into the base, oldest first, several in one round if there
//! are: rows that lie on one page are then more often settled together.
//!
//! It runs on a thread of its own at low priority: a slow round costs memory, not latency. Only
//! the newest version of each row is settled, and a row that came and went within one round is not
//! settled at all.

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
use super::memtable::{Counts, Held, Memtable};
use super::meters::Meters;
use super::settled::Settled;
use super::state::{Rows, is_ephemeral};
use crate::error::Error;
use crate::options::Options;

/// How long the settler rests after a failed round: a full disk does not empty itself faster.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Memtables of one round. More would write fewer pages for each row where rows lie together; where
/// they do not, a round holds a page in memory for each row that it settles.
const TOGETHER_MAX: usize = Options::MEMTABLES / 4;

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
        let mut learns = self.learn();
        while let Some(memtables) = self.next() {
            let begun = self.clock.instant();
            match self.settle(&memtables) {
                Ok(()) => {
                    self.meters.settle_seconds.record(self.clock.instant().since(begun));
                    learns = learns && self.learn();
                }
                Err(Error::Stopped(why)) => self.commits.stop(&why),
                Err(error) => {
                    tracing::error!(%error, "settling failed; it will be tried again");
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

    /// The oldest frozen memtables, as soon as all of the first is durable.
    fn next(&self) -> Option<Vec<Arc<Memtable>>> {
        self.commits.wait_for_progress(|| {
            if self.closing.load(Ordering::Acquire) || self.commits.stopped().is_some() {
                return Some(None);
            }
            let state = self.rows.state.load();
            let visible = self.rows.visible.load(Ordering::Acquire);
            let oldest_first = state.frozen.iter().rev();
            let durable = oldest_first.take_while(|held| held.last_durable() <= visible);
            let some: Vec<Arc<Memtable>> = durable.take(TOGETHER_MAX).cloned().collect();
            (!some.is_empty()).then_some(Some(some))
        })
    }

    fn settle(&self, memtables: &[Arc<Memtable>]) -> Result<(), Error> {
        let state = self.rows.state.load_full();
        let mut memory = state.memory.clone();
        let counts = add_counts(&state.counts, memtables);
        let versions = merge(memtables).peekable();
        let mut newest = Newest { versions, settled: 0, skipped: 0 };
        let drops: Vec<_> = memtables.iter().flat_map(|memtable| memtable.drops()).collect();
        let last_durable = memtables.iter().map(|memtable| memtable.last_durable()).max();
        let mut tree_id = state.tree_id;
        match (&self.rows.tree, last_durable) {
            (Some(tree), Some(seq)) if seq > 0 => {
                let settled = Settled {
                    seq,
                    time_ms: self.commits.log_time_ms(),
                    counts: durable_counts(&counts),
                };
                let rows = newest.by_ref().filter(|held| {
                    if is_ephemeral(held.key()) {
                        put_in(&mut memory, held);
                        return false;
                    }
                    true
                });
                // Writers that wait for this round are not disturbed by it.
                tree_id = tree.settle(rows, &drops, &settled, || !self.commits.is_crowded())?;
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
        Ok(())
    }
}

fn put_in(memory: &mut OrdMap<Bytes, Bytes>, held: &Held<'_>) {
    let key: &[u8] = held.key();
    match &held.version().value {
        // Memory of their own: what they were written with is shared with rows that may go.
        Some(value) => memory.insert(Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)),
        None => memory.remove(key),
    };
}

fn add_counts(base: &OrdMap<u32, Counts>, memtables: &[Arc<Memtable>]) -> OrdMap<u32, Counts> {
    let mut counts = base.clone();
    for (table, change) in memtables.iter().flat_map(|memtable| memtable.all_counts()) {
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

/// The newest version of each row of some memtables that has to be settled.
struct Newest<'a, I: Iterator<Item = Held<'a>>> {
    versions: std::iter::Peekable<I>,
    settled: u64,
    skipped: u64,
}

/// All versions of some memtables, key by key, newest first.
fn merge(memtables: &[Arc<Memtable>]) -> impl Iterator<Item = Held<'_>> {
    let mut sources: Vec<_> = memtables.iter().map(|memtable| memtable.all().peekable()).collect();
    std::iter::from_fn(move || {
        let firsts = sources.iter_mut().enumerate();
        let firsts = firsts.filter_map(|(number, source)| Some((source.peek()?, number)));
        let (_, first) = firsts.min_by(Ord::cmp)?;
        sources.get_mut(first)?.next()
    })
}

impl<'a, I: Iterator<Item = Held<'a>>> Iterator for Newest<'a, I> {
    type Item = Held<'a>;

    fn next(&mut self) -> Option<Held<'a>> {
        loop {
            let newest = self.versions.next()?;
            let mut oldest_fresh = newest.version().fresh;
            while let Some(older) = self.versions.next_if(|next| next.key() == newest.key()) {
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

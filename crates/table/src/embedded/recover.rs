//! Opening a house: the tree as it was settled, then the log from there on.
//!
//! Replay goes through the same `effects` as the first application did. It runs before anybody can
//! read, so versions become visible as they are added. One thread reads the log, compares checksums
//! and decodes; others apply, each to rows of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::ScopedJoinHandle;

use arc_swap::ArcSwap;
use bytes::Bytes;
use imbl::OrdMap;

use super::catalog::{CATALOG, Catalog, Table};
use super::commit::Change;
use super::disk::Disk;
use super::effects::{self, Stored};
use super::filter;
use super::keys;
use super::log::{self, Frame, Op, OpKind, Record, Recovered, Walk};
use super::memtable::{Counts, Memtable};
use super::reminder::Reminders;
use super::settled::{Settled, Tree};
use super::state::{Rows, Sight, Snapshot, State};
use super::tables::refill;
use crate::error::Error;

/// What is decoded and applied at once: large enough that starting threads for it costs nothing.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Batches that wait to be applied: their memory is bounded.
const BATCHES_AHEAD: usize = 4;
/// Threads that apply. More of them wait for each other's memory.
const PARTS_MAX: usize = 4;

/// A house as it was found.
pub(super) struct Found {
    /// Its rows.
    pub(super) rows: Arc<Rows>,
    /// Its tables.
    pub(super) catalog: Catalog,
    /// Its log.
    pub(super) log: Recovered,
    /// The last change.
    pub(super) last: u64,
    /// When the last change was made.
    pub(super) time_ms: u64,
}

/// Opens tree and log and replays what is not settled, into a memtable of so many bytes.
pub(super) fn recover(
    tree: Option<Tree>,
    disk: &dyn Disk,
    memtable_bytes: usize,
) -> Result<Found, Error> {
    let (settled, tree_id) = match &tree {
        Some(tree) => {
            let view = tree.view()?;
            (view.settled()?, view.id())
        }
        None => (Settled::default(), 0),
    };
    let counts = settled.counts.iter();
    let counts: OrdMap<u32, Counts> = counts
        .map(|(table, items, bytes)| (*table, Counts { items: *items, bytes: *bytes }))
        .collect();
    let state = State {
        active: Arc::new(Memtable::new(memtable_bytes)),
        frozen: Vec::new(),
        memory: OrdMap::new(),
        tree_id,
        counts,
    };
    let rows = Rows {
        tree,
        state: ArcSwap::from_pointee(state),
        visible: AtomicU64::new(settled.seq),
        assigned: AtomicU64::new(settled.seq),
        stamps: Arc::default(),
    };
    let (catalog, log, time_ms) = replay(&rows, disk, &settled, memtable_bytes)?;
    let last = rows.visible.load(Ordering::Acquire);
    Ok(Found { rows: Arc::new(rows), catalog, log, last, time_ms })
}

/// Replays the log behind what is settled; answers the tables, the log, and the time of the last
/// change.
fn replay(
    rows: &Rows,
    disk: &dyn Disk,
    settled: &Settled,
    memtable_bytes: usize,
) -> Result<(Catalog, Recovered, u64), Error> {
    let catalog = Catalog::load(&rows.snapshot(Sight::Latest)?)?;
    let mut replay = Replay { rows, catalog, time_ms: settled.time_ms, memtable_bytes };
    let (decoded, received) = mpsc::sync_channel(BATCHES_AHEAD);
    let walk = std::thread::scope(|scope| {
        let walking = std::thread::Builder::new().name("replay".to_owned());
        let walking = walking.spawn_scoped(scope, || decode_log(disk, settled.seq, decoded));
        let walking = walking.map_err(|cause| Error::io("starting the replay", &cause))?;
        let replayed = received.into_iter().try_for_each(|batch| replay.batch(&batch));
        let walked = walking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        replayed.and(walked)
    })?;
    let log = walk.finish()?;
    Ok((replay.catalog, log, replay.time_ms))
}

/// What one frame holds beyond what is settled.
struct Decoded {
    records: Vec<Record>,
    time_ms: u64,
}

/// Reads the log and hands on what is not settled, in batches.
fn decode_log<'d>(
    disk: &'d dyn Disk,
    settled: u64,
    decoded: SyncSender<Vec<Decoded>>,
) -> Result<Walk<'d>, Error> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let walk = log::walk(disk, settled, |frame: Frame| {
        let records = frame.records().ok_or_else(|| unreadable(frame.head.last))?;
        // A frame may straddle the settled position: its first records are in the tree.
        let records = records.into_iter().filter(|record| record.seq > settled).collect();
        batch.push(Decoded { records, time_ms: frame.head.time_ms });
        bytes += frame.payload.len();
        if bytes < BATCH_BYTES {
            return Ok(());
        }
        bytes = 0;
        decoded.send(std::mem::take(&mut batch)).map_err(|_| unreadable(frame.head.last))
    })?;
    // Where nobody receives it, the other thread has failed, and says why.
    let _ = decoded.send(batch);
    Ok(walk)
}

struct Replay<'r> {
    rows: &'r Rows,
    catalog: Catalog,
    time_ms: u64,
    memtable_bytes: usize,
}

impl Replay<'_> {
    fn batch(&mut self, batch: &[Decoded]) -> Result<(), Error> {
        let mut ops = batch.iter().flat_map(|frame| &frame.records).flat_map(|record| &record.ops);
        match ops.any(|op| op.table == CATALOG) {
            true => self.declare(batch)?,
            false => self.apply(batch)?,
        }
        self.freeze_if_full();
        let Some(last) = batch.last() else { return Ok(()) };
        self.time_ms = last.time_ms;
        if let Some(record) = last.records.last() {
            self.rows.visible.store(record.seq, Ordering::Release);
            self.rows.assigned.store(record.seq, Ordering::Release);
        }
        Ok(())
    }

    /// Applies a batch on several threads, each to rows of its own. The rows that follow from a row
    /// belong to it alone, so no two threads add to one key, and none reads what another one writes.
    fn apply(&self, batch: &[Decoded]) -> Result<(), Error> {
        // One processor decodes meanwhile.
        let parts = std::thread::available_parallelism().map_or(1, |all| all.get() - 1);
        let parts = u8::try_from(parts.clamp(1, PARTS_MAX)).unwrap_or(1);
        std::thread::scope(|scope| {
            let rest: Vec<_> = (1..parts)
                .map(|part| scope.spawn(move || self.apply_part(batch, part, parts)))
                .collect();
            let first = self.apply_part(batch, 0, parts);
            let join = |part: ScopedJoinHandle<'_, Result<(), Error>>| {
                part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            rest.into_iter().map(join).fold(first, Result::and)
        })
    }

    fn apply_part(&self, batch: &[Decoded], part: u8, parts: u8) -> Result<(), Error> {
        let (snapshot, memtable) = (self.rows.snapshot(Sight::Latest)?, self.memtable());
        for record in batch.iter().flat_map(|frame| &frame.records) {
            let mut change = Change { reminders: Reminders::of_part(part), ..Change::default() };
            for op in &record.ops {
                if filter::hash(&op.key) % u64::from(parts) == u64::from(part) {
                    apply_op(&self.catalog, &snapshot, op, record.seq, &mut change)?;
                }
            }
            change.enter(&memtable, record.seq, true);
        }
        Ok(())
    }

    /// Applies a batch in which declarations change, one record after the other.
    fn declare(&mut self, batch: &[Decoded]) -> Result<(), Error> {
        let (snapshot, memtable) = (self.rows.snapshot(Sight::Latest)?, self.memtable());
        for record in batch.iter().flat_map(|frame| &frame.records) {
            let mut change = Change::default();
            for op in &record.ops {
                match op.table {
                    CATALOG => self.declare_op(&snapshot, op, record.seq, &mut change)?,
                    _ => apply_op(&self.catalog, &snapshot, op, record.seq, &mut change)?,
                }
            }
            change.enter(&memtable, record.seq, true);
        }
        Ok(())
    }

    fn declare_op(
        &mut self,
        snapshot: &Snapshot<'_>,
        op: &Op,
        seq: u64,
        change: &mut Change,
    ) -> Result<(), Error> {
        let fresh = snapshot.get(&op.key)?.is_none();
        let value = op.kind.is_put().then(|| op.row.clone());
        change.versions.push((op.key.clone(), value, fresh));
        if op.key == self.catalog.next_id_row().0 {
            self.catalog.set_next_id(&op.row)?;
            return Ok(());
        }
        let table: Table = serde_json::from_slice(&op.row).map_err(|_| unreadable(seq))?;
        if !op.kind.is_put() {
            change.counts.push((table.id, snapshot.counts(table.id).negative()));
            self.catalog.remove(&table);
            change.drops.push(keys::table_range(table.id));
            return Ok(());
        }
        if let Some(before) = self.catalog.by_id(table.id) {
            refill(snapshot, before, &table, change)?;
            change.drops.extend(before.dropped_indexes(&table));
        }
        self.catalog.insert(Arc::new(table));
        Ok(())
    }

    /// Freezes a full memtable, as a writer does: a smaller one is searched sooner, and the settler
    /// takes it by itself.
    fn freeze_if_full(&self) {
        let state = self.rows.state.load_full();
        if state.active.bytes() < self.memtable_bytes {
            return;
        }
        let mut next = State::clone(&state);
        let full =
            std::mem::replace(&mut next.active, Arc::new(Memtable::new(self.memtable_bytes)));
        next.frozen.insert(0, full);
        self.rows.state.store(Arc::new(next));
    }

    /// The memtable that takes changes.
    fn memtable(&self) -> Arc<Memtable> {
        Arc::clone(&self.rows.state.load().active)
    }
}

/// Adds to `change` what becomes of the rows by an operation on a row.
fn apply_op(
    catalog: &Catalog,
    snapshot: &Snapshot<'_>,
    op: &Op,
    seq: u64,
    change: &mut Change,
) -> Result<(), Error> {
    let table = catalog.by_id(op.table).ok_or_else(|| unreadable(seq))?;
    let read = |row: Bytes| Stored::read_for(table, &op.key, row);
    // Most rows are new, and looking for one that is not there is what takes longest. An insert
    // replaces nothing, unless an expired row was still there.
    let is_new = op.kind == OpKind::Insert && table.spec.ttl.is_none();
    let held = match is_new {
        true => None,
        false => snapshot.get(&op.key)?.map(|row| read(row.into_bytes())).transpose()?,
    };
    let new = op.kind.is_put().then(|| read(op.row.clone())).transpose()?;
    effects::replace(table, &op.key, held.as_ref(), new.as_ref(), change);
    Ok(())
}

fn unreadable(seq: u64) -> Error {
    Error::Corrupt {
        file: "log".to_owned(),
        offset: 0,
        what: format!("change {seq} cannot be read"),
    }
}

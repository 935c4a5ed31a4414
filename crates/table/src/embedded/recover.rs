//! Opening a house: the tree as it was settled, then the log from there on.
//!
//! Replay goes through the same `effects` as the first application did. It runs before any thread
//! is started and before anybody can read, so versions become visible as they are added.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use imbl::OrdMap;

use super::catalog::{CATALOG, Catalog, Table};
use super::commit::Change;
use super::disk::Disk;
use super::effects::{self, Stored};
use super::keys;
use super::log::{self, Frame, Op, Recovered};
use super::memtable::{Counts, Memtable};
use super::settled::{Settled, Tree};
use super::state::{Rows, Sight, State};
use super::tables::refill;
use crate::error::Error;

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
    let catalog = Catalog::load(&rows.snapshot(Sight::Latest)?)?;
    let mut replay = Replay { rows, catalog, time_ms: settled.time_ms };
    let log = log::recover(disk, settled.seq, |frame| replay.frame(frame, settled.seq))?;
    let last = replay.rows.visible.load(Ordering::Acquire);
    Ok(Found {
        rows: Arc::new(replay.rows),
        catalog: replay.catalog,
        log,
        last,
        time_ms: replay.time_ms,
    })
}

struct Replay {
    rows: Rows,
    catalog: Catalog,
    time_ms: u64,
}

impl Replay {
    fn frame(&mut self, frame: &Frame, settled: u64) -> Result<(), Error> {
        let records = frame.records().ok_or_else(|| unreadable(frame.head.last))?;
        for record in records {
            // A frame may straddle the settled position: its first records are in the tree.
            if record.seq <= settled {
                continue;
            }
            let mut change = Change::default();
            for op in &record.ops {
                self.op(op, record.seq, &mut change)?;
            }
            change.enter(&self.rows.state.load().active, record.seq, true);
            self.rows.visible.store(record.seq, Ordering::Release);
            self.rows.assigned.store(record.seq, Ordering::Release);
        }
        self.time_ms = frame.head.time_ms;
        Ok(())
    }

    fn op(&mut self, op: &Op, seq: u64, change: &mut Change) -> Result<(), Error> {
        if op.table == CATALOG {
            return self.catalog_op(op, seq, change);
        }
        let table = self.catalog.by_id(op.table).ok_or_else(|| unreadable(seq))?;
        let snapshot = self.rows.snapshot(Sight::Latest)?;
        let read = |row: bytes::Bytes| Stored::read(&op.key, row);
        let held = snapshot.get(&op.key)?.map(|row| read(row.into_bytes())).transpose()?;
        let new = op.kind.is_put().then(|| read(op.row.clone())).transpose()?;
        effects::replace(table, &op.key, held.as_ref(), new.as_ref(), change);
        Ok(())
    }

    fn catalog_op(&mut self, op: &Op, seq: u64, change: &mut Change) -> Result<(), Error> {
        let snapshot = self.rows.snapshot(Sight::Latest)?;
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
            refill(&snapshot, before, &table, change)?;
            change.drops.extend(before.dropped_indexes(&table));
        }
        self.catalog.insert(Arc::new(table));
        Ok(())
    }
}

fn unreadable(seq: u64) -> Error {
    Error::Corrupt {
        file: "log".to_owned(),
        offset: 0,
        what: format!("change {seq} cannot be read"),
    }
}

//! Who holds which rows right now, and what a reader sees of it.
//!
//! A row is looked for in the active memtable, then in the frozen ones from new to old, then in
//! the base: the tree for durable tables, a persistent map in memory for ephemeral ones (and for
//! everything in a house without a disk). The settler moves frozen memtables into the base and
//! swaps the state.
//!
//! Invariants:
//! - Every version a reader may see is in its state or in its view of the tree. The view is
//!   opened first and the state loaded after it; a state that expects a newer tree makes the
//!   reader open its view again.
//! - Nothing in a view is newer than what the reader may see: only versions that were already
//!   visible are settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use imbl::OrdMap;

use super::filter;
use super::keys::KeyRange;
use super::memtable::{At, Counts, Memtable};
use super::settled::{Tree, TreeView};
use super::stamps::Stamps;
use crate::error::Error;

/// Tables with this bit in their id are ephemeral: a key alone tells where its row lives.
pub(crate) const EPHEMERAL_BIT: u32 = 1 << 31;

/// The holders of rows, replaced as a whole.
#[derive(Clone)]
pub(crate) struct State {
    /// Takes new versions.
    pub(crate) active: Arc<Memtable>,
    /// Waiting to be settled, newest first.
    pub(crate) frozen: Vec<Arc<Memtable>>,
    /// Settled rows of tables that live in memory.
    pub(crate) memory: OrdMap<Bytes, Bytes>,
    /// The id that a view of the tree must have reached.
    pub(crate) tree_id: usize,
    /// Items and bytes of each table in the base.
    pub(crate) counts: OrdMap<u32, Counts>,
}

/// The rows of a house.
pub(crate) struct Rows {
    /// The tree; none in a house without a disk.
    pub(crate) tree: Option<Tree>,
    /// Who holds what.
    pub(crate) state: ArcSwap<State>,
    /// The last change that is durable: what readers of durable tables may see.
    pub(crate) visible: AtomicU64,
    /// The last change there is: what writers may see, and readers of ephemeral tables unless the
    /// change waits for the disk.
    pub(crate) assigned: AtomicU64,
    /// What moves when something has changed.
    pub(crate) stamps: Arc<Stamps>,
}

/// How much a snapshot may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// What is durable (and everything of ephemeral tables).
    Visible,
    /// Everything, also what is still on its way to the disk: for writers, under their locks.
    Latest,
}

/// The rows at one moment. Opening it is cheap; keep it within one call.
pub(crate) struct Snapshot<'a> {
    state: Arc<State>,
    view: Option<TreeView<'a>>,
    durable_at: u64,
    ephemeral_at: u64,
}

/// A row found in a snapshot.
pub(crate) enum Row<'s> {
    /// From a memtable or the map in memory.
    Held(Bytes),
    /// From the tree.
    Mapped(&'s [u8]),
}

impl std::ops::Deref for Row<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Row::Held(bytes) => bytes,
            Row::Mapped(bytes) => bytes,
        }
    }
}

impl Row<'_> {
    /// The row's bytes, on their own.
    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Row::Held(bytes) => bytes,
            Row::Mapped(bytes) => Bytes::copy_from_slice(bytes),
        }
    }
}

impl Rows {
    /// The rows as they are now.
    pub(crate) fn snapshot(&self, sight: Sight) -> Result<Snapshot<'_>, Error> {
        loop {
            let view = self.tree.as_ref().map(Tree::view).transpose()?;
            let state = self.state.load_full();
            if view.as_ref().is_some_and(|view| view.id() < state.tree_id) {
                continue;
            }
            // Loaded after the state: what it holds may be newer than these, never older. And in
            // this order: whoever sees a durable change sees all that came before it.
            let (durable_at, ephemeral_at) = match sight {
                Sight::Visible => {
                    let durable_at = self.visible.load(Ordering::Acquire);
                    (durable_at, self.assigned.load(Ordering::Acquire))
                }
                Sight::Latest => (u64::MAX, u64::MAX),
            };
            return Ok(Snapshot { state, view, durable_at, ephemeral_at });
        }
    }
}

impl Snapshot<'_> {
    /// The last durable change in this snapshot.
    pub(crate) fn durable_at(&self) -> u64 {
        self.durable_at
    }

    /// The row under `key`.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Row<'_>>, Error> {
        Ok(self.find(key)?.map(|(_, row)| row))
    }

    /// The row under `key` and the change that wrote it; 0 for a settled one.
    pub(crate) fn find(&self, key: &[u8]) -> Result<Option<(u64, Row<'_>)>, Error> {
        let (at, hash) = (self.at(key), filter::hash(key));
        for memtable in self.memtables() {
            if let Some((seq, version)) = memtable.get(key, hash, at) {
                return Ok(version.value.map(|value| (seq, Row::Held(value))));
            }
        }
        Ok(match &self.view {
            Some(view) if !is_ephemeral(key) => {
                view.find(key, hash)?.map(|row| (0, Row::Mapped(row)))
            }
            _ => self.state.memory.get(key).map(|row| (0, Row::Held(row.clone()))),
        })
    }

    /// Which of some keys surely have no row; the others may or may not. All of them are looked for
    /// in one holder after the other: where nothing waits for what was found last, the memory that
    /// tells is fetched for many at once.
    pub(crate) fn lacks_all<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Vec<bool> {
        let keys = keys.map(|key| (filter::hash(key), is_ephemeral(key)));
        let keys: Vec<(u64, bool)> = keys.collect();
        let denied = |(hash, ephemeral): &(u64, bool)| match &self.view {
            Some(view) if !ephemeral => view.denies(*hash),
            _ => false,
        };
        let mut lacks: Vec<bool> = keys.iter().map(denied).collect();
        for memtable in self.memtables() {
            for (lacks, (hash, _)) in lacks.iter_mut().zip(&keys) {
                *lacks &= !memtable.may_hold(*hash);
            }
        }
        lacks
    }

    /// The change that last touched `key`, if the disk matters for it: 0 if it is settled or if
    /// only memory carries it.
    pub(crate) fn touched(&self, key: &[u8]) -> u64 {
        let (at, hash) = (self.at(key), filter::hash(key));
        let newest = self.memtables().find_map(|memtable| memtable.get(key, hash, at));
        newest.filter(|(_, version)| version.logged).map_or(0, |(seq, _)| seq)
    }

    /// The rows of `range`, which lies within one table, in either direction.
    pub(crate) fn range<'s>(
        &'s self,
        range: &'s KeyRange,
        descending: bool,
    ) -> Result<Merge<'s>, Error> {
        if range.is_empty() {
            return Ok(Merge { sources: Vec::new(), descending });
        }
        let probe = range.edge();
        let at = self.at(probe);
        let mut sources: Vec<Source<'s>> = Vec::with_capacity(2 + self.state.frozen.len());
        for memtable in self.memtables() {
            if !memtable.is_empty() {
                let rows = memtable.range(range, at, descending);
                let rows =
                    rows.map(|(key, version)| Ok((Row::Held(key), version.value.map(Row::Held))));
                sources.push(Source::new(Box::new(rows)));
            }
        }
        match &self.view {
            Some(view) if !is_ephemeral(probe) => {
                let rows = view.range(range, descending)?;
                let rows =
                    rows.map(|row| row.map(|(key, row)| (Row::Held(key), Some(Row::Mapped(row)))));
                sources.push(Source::new(Box::new(rows)));
            }
            _ => {
                let rows = self.state.memory.range::<_, [u8]>(range.as_bounds());
                let held = |(key, row): (&Bytes, &Bytes)| {
                    Ok((Row::Held(key.clone()), Some(Row::Held(row.clone()))))
                };
                sources.push(Source::new(if descending {
                    Box::new(rows.rev().map(held))
                } else {
                    Box::new(rows.map(held))
                }));
            }
        }
        // Most have nothing to say, and would be asked for every row.
        sources.retain(|source| source.next.is_some());
        Ok(Merge { sources, descending })
    }

    /// Items and bytes of a table.
    pub(crate) fn counts(&self, table: u32) -> Counts {
        let base = self.state.counts.get(&table).copied().unwrap_or_default();
        self.memtables().map(|memtable| memtable.counts(table)).fold(base, Counts::plus)
    }

    fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.state.active).chain(&self.state.frozen)
    }

    /// A transaction over tables of both classes shows when it is durable, all of it.
    fn at(&self, key: &[u8]) -> At {
        let unlogged = if is_ephemeral(key) { self.ephemeral_at } else { self.durable_at };
        At { logged: self.durable_at, unlogged }
    }
}

/// Whether the key belongs to an ephemeral table: the top bit of its table id.
pub(crate) fn is_ephemeral(key: &[u8]) -> bool {
    key.first().is_some_and(|byte| byte & 0x80 != 0)
}

type SourceRows<'s> = Box<dyn Iterator<Item = Result<(Row<'s>, Option<Row<'s>>), Error>> + 's>;

struct Source<'s> {
    rows: SourceRows<'s>,
    next: Option<Result<(Row<'s>, Option<Row<'s>>), Error>>,
}

impl<'s> Source<'s> {
    fn new(mut rows: SourceRows<'s>) -> Source<'s> {
        let next = rows.next();
        Source { rows, next }
    }

    fn advance(&mut self) -> Option<Result<(Row<'s>, Option<Row<'s>>), Error>> {
        std::mem::replace(&mut self.next, self.rows.next())
    }
}

/// Rows of several holders as one: in key order, the newest holder's word for each key.
pub(crate) struct Merge<'s> {
    /// Newest first.
    sources: Vec<Source<'s>>,
    descending: bool,
}

impl<'s> Iterator for Merge<'s> {
    type Item = Result<(Row<'s>, Row<'s>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (key, value) = match self.pick()? {
                Ok(row) => row,
                Err(error) => return Some(Err(error)),
            };
            if let Some(value) = value {
                return Some(Ok((key, value)));
            }
        }
    }
}

impl<'s> Merge<'s> {
    /// The next key's newest version, with older ones of the same key passed over.
    fn pick(&mut self) -> Option<Result<(Row<'s>, Option<Row<'s>>), Error>> {
        let mut best: Option<usize> = None;
        for (number, source) in self.sources.iter().enumerate() {
            match &source.next {
                Some(Err(_)) => {
                    best = Some(number);
                    break;
                }
                Some(Ok((key, _))) => {
                    let leads = best.and_then(|best| self.key_of(best)).is_none_or(|lead| {
                        if self.descending { **key > *lead } else { **key < *lead }
                    });
                    if leads {
                        best = Some(number);
                    }
                }
                None => {}
            }
        }
        let picked = self.sources.get_mut(best?)?.advance()?;
        if let Ok((key, _)) = &picked {
            for source in &mut self.sources {
                if let Some(Ok((other, _))) = &source.next
                    && **other == **key
                {
                    source.advance();
                }
            }
        }
        Some(picked)
    }

    fn key_of(&self, source: usize) -> Option<&[u8]> {
        match &self.sources.get(source)?.next {
            Some(Ok((key, _))) => Some(key),
            _ => None,
        }
    }
}

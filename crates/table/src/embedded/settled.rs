//! The settled store: an ordered map on disk that is read much and written in large batches.
//!
//! LMDB through heed, chosen by the measurement in `cargo xtask bench table` (section "settled
//! store"): it reads several times faster than the LSM tree beside it, and a settling round is
//! exactly the one big sorted transaction it likes. The file itself is handled in `lmdb.rs`, when
//! it is durable in `durable.rs`.
//!
//!   tree row    key → crc32c of key and value (4 bytes, little-endian) · value
//!
//! LMDB does not checksum its pages; the checksum in each row means that what is read is what
//! was written. That a row is not there is known in memory (`known.rs`), or told by its neighbours:
//! a row whose key was damaged still stands between them, so they are looked at too (`prove_edge`).
//!
//! Invariant: a tree holds all changes up to its `Settled::seq` and nothing after it.

mod durable;
mod known;
mod lmdb;

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use bytes::Bytes;
use heed::types;
use heed::{CommitOrAbort, CompactionOption, Database, Env, RoTxn, WithTls};
use serde::{Deserialize, Serialize};

pub(crate) use self::durable::forget;
use self::durable::{Durable, Reached};
use self::known::{KEYS_MAX, Known};
use super::filter;
use super::keys::KeyRange;
use super::memtable::Held;
use crate::error::Error;

type Rows = Database<'static, types::Bytes, types::Bytes>;

/// Under this key the tree remembers how far it has settled. Table 0 has no such space otherwise.
const META_KEY: &[u8] = &[0, 0, 0, 0, 0xF0];
const CRC_BYTES: usize = 4;
/// The data file inside the tree's directory, by LMDB's custom.
pub(crate) const DATA_FILE: &str = "data.mdb";

/// The tree on disk.
pub(crate) struct Tree {
    env: Env<WithTls>,
    rows: Rows,
    durable: Durable,
    known: ArcSwapOption<Known>,
}

/// How far a tree has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settled {
    /// The last change in the tree.
    pub(crate) seq: u64,
    /// When it was made, in milliseconds of Unix time.
    pub(crate) time_ms: u64,
    /// Items and bytes of each table.
    pub(crate) counts: Vec<(u32, i64, i64)>,
}

/// A row that is settled.
pub(crate) trait Settling {
    /// Its key.
    fn key(&self) -> &[u8];
    /// What stands there from now on; none if it goes.
    fn value(&self) -> Option<&[u8]>;
}

impl Settling for Held<'_> {
    fn key(&self) -> &[u8] {
        Held::key(self)
    }

    fn value(&self) -> Option<&[u8]> {
        self.version().value.as_deref()
    }
}

impl Settling for (Bytes, Option<Bytes>) {
    fn key(&self) -> &[u8] {
        &self.0
    }

    fn value(&self) -> Option<&[u8]> {
        self.1.as_deref()
    }
}

/// One view of the tree. LMDB gives each thread one at a time: keep it within one call.
pub(crate) struct TreeView<'a> {
    tree: &'a Tree,
    txn: RoTxn<'a, WithTls>,
    known: Guard<Option<Arc<Known>>>,
}

impl Tree {
    /// Opens the tree in `directory`, making it if missing.
    pub(crate) fn open(directory: &Path) -> Result<Tree, Error> {
        std::fs::create_dir_all(directory)
            .map_err(|cause| Error::io(format!("creating {}", directory.display()), &cause))?;
        let (env, durable) = durable::open(directory)?;
        let opening = |cause: heed::Error| failed("opening the tree", &cause);
        check_length(&env)?;
        let txn = env.write_txn().map_err(opening)?;
        let opened = env.create_databases_and_commit(txn, |opener, txn| {
            opener.create_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
        });
        let rows = opened.map_err(opening)?.unwrap_commit();
        durable.finish(env.info().last_txn_id, || false)?;
        let tree = Tree { env, rows, durable, known: ArcSwapOption::empty() };
        let view = tree.view()?;
        tree.durable.begin(Reached { id: view.id(), seq: view.settled()?.seq });
        drop(view);
        Ok(tree)
    }

    /// The last change that the tree never loses again: what the log may forget. Views may see a
    /// round more, and a crash takes that one back.
    pub(crate) fn durable_seq(&self) -> u64 {
        self.durable.remembered().seq
    }

    /// Whether a crash would take back the last round.
    pub(crate) fn is_behind(&self) -> bool {
        self.durable.is_behind()
    }

    /// Makes the last round durable, taking its time while somebody is `disturbed`; returns when it
    /// is, whoever did it.
    pub(crate) fn write_back(&self, disturbed: impl Fn() -> bool) -> Result<(), Error> {
        self.durable.catch_up(disturbed)
    }

    /// A view of the tree as it is now.
    pub(crate) fn view(&self) -> Result<TreeView<'_>, Error> {
        let txn = self.env.read_txn().map_err(|cause| failed("reading the tree", &cause))?;
        Ok(TreeView { tree: self, txn, known: self.known.load() })
    }

    /// Learns which keys there are, unless that is known, or they are too many, or somebody wants
    /// it to `stop`. Nobody settles meanwhile.
    pub(crate) fn learn(&self, stop: impl Fn() -> bool) -> Result<(), Error> {
        let view = self.view()?;
        let rows = self.rows.len(&view.txn).map_err(|cause| failed("reading the tree", &cause))?;
        let Some(rows) = usize::try_from(rows).ok().filter(|rows| *rows <= KEYS_MAX / 2) else {
            return Ok(());
        };
        if view.known.is_some() {
            return Ok(());
        }
        let known = Known::new(view.id(), rows);
        known.add(filter::hash(META_KEY));
        for row in view.range(&KeyRange::all(), false)? {
            known.add(filter::hash(row?.0));
            if stop() {
                return Ok(());
            }
        }
        self.known.store(Some(Arc::new(known)));
        Ok(())
    }

    /// Writes `rows` (sorted; `None` removes), removes all rows in `dropped`, and remembers
    /// `settled`, all in one transaction, which is seen on return and durable when it is written
    /// back. Before that the round before it is durable, taking its time while somebody is
    /// `disturbed`. Answers the id that views have from now on.
    pub(crate) fn settle(
        &self,
        rows: impl Iterator<Item = impl Settling>,
        dropped: &[KeyRange],
        settled: &Settled,
        disturbed: impl Fn() -> bool,
    ) -> Result<usize, Error> {
        let failed = |cause: heed::Error| failed("settling", &cause);
        let mut txn = self.env.write_txn().map_err(failed)?;
        if let Some(full) = self.known.load_full().filter(|known| known.is_full()) {
            self.known.store(full.grow().map(Arc::new));
        }
        let known = self.known.load();
        let mut framed = Vec::new();
        for row in rows {
            let key = row.key();
            match row.value() {
                Some(value) => {
                    let crc = crc32c::crc32c(key);
                    if let Some(known) = &*known {
                        known.add(filter::hash_of(crc));
                    }
                    frame(crc, value, &mut framed);
                    self.rows.put(&mut txn, key, &framed).map_err(failed)?;
                }
                None => {
                    self.rows.delete(&mut txn, key).map_err(failed)?;
                }
            }
        }
        for range in dropped {
            self.rows.delete_range(&mut txn, &range.as_bounds()).map_err(failed)?;
        }
        self.rows.put(&mut txn, META_KEY, &frame_meta(settled)).map_err(failed)?;
        self.write_back(disturbed)?;
        let id = txn.id();
        txn.commit().map_err(failed)?;
        self.durable.follow(Reached { id, seq: settled.seq });
        Ok(id)
    }

    /// Copies the tree as it is now, without its free pages, to a new file.
    pub(crate) fn copy_to(&self, file: &Path) -> Result<(), Error> {
        let copied = self.env.copy_to_path(file, CompactionOption::Enabled);
        let copy = copied.map_err(|cause| failed("copying the tree", &cause))?;
        copy.sync_all().map_err(|cause| Error::io("copying the tree", &cause))
    }

    /// Bytes of the file, and how many of them hold something.
    pub(crate) fn space(&self) -> (u64, u64) {
        let file = self.env.real_disk_size().unwrap_or(0);
        let info = self.env.unnamed_database_stat();
        let pages = info.branch_pages + info.leaf_pages + info.overflow_pages;
        (file, pages as u64 * u64::from(info.page_size))
    }
}

impl TreeView<'_> {
    /// The id of the settling round that this view sees.
    pub(crate) fn id(&self) -> usize {
        self.txn.id()
    }

    /// How far the tree has come.
    pub(crate) fn settled(&self) -> Result<Settled, Error> {
        let Some(meta) = self.get(META_KEY)? else {
            return Ok(Settled::default());
        };
        serde_json::from_slice(meta).map_err(|_| damaged("its settled position is not readable"))
    }

    /// The value under `key`.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        self.find(key, filter::hash(key))
    }

    /// The value under `key`, whose hash this is.
    pub(crate) fn find(&self, key: &[u8], hash: u64) -> Result<Option<&[u8]>, Error> {
        if self.known.as_ref().is_some_and(|known| known.denies(hash, self.id())) {
            return Ok(None);
        }
        let found = self.tree.rows.get_greater_than_or_equal_to(&self.txn, key);
        let found = found.map_err(|cause| failed("reading the tree", &cause))?;
        if let Some((at, row)) = found {
            let value = unframe(at, row)?;
            if at == key {
                return Ok(Some(value));
            }
            if at < key {
                return Err(out_of_order(at));
            }
        }
        self.prove_edge(Bound::Excluded(key), false)?;
        Ok(None)
    }

    /// The rows of `range` in either direction.
    pub(crate) fn range<'s>(
        &'s self,
        range: &'s KeyRange,
        descending: bool,
    ) -> Result<TreeRows<'s>, Error> {
        if range.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        let failed = |cause: heed::Error| failed("reading the tree", &cause);
        let (start, end) = range.as_bounds();
        // To the end of the tree: the row at which the range ends is looked at like the others.
        let rows: RawRows<'s> = if descending {
            self.prove_edge(outside(end), true)?;
            let rows = self.tree.rows.rev_range(&self.txn, &(Bound::Unbounded, end));
            Box::new(rows.map_err(failed)?)
        } else {
            self.prove_edge(outside(start), false)?;
            let rows = self.tree.rows.range(&self.txn, &(start, Bound::Unbounded));
            Box::new(rows.map_err(failed)?)
        };
        let mut before = None;
        let checked = rows.map(move |row| {
            let (key, row) = row.map_err(failed)?;
            let value = unframe(key, row)?;
            let follows = before.is_none_or(|before| (key < before) == descending && key != before);
            before = Some(key);
            if follows { Ok((key, value)) } else { Err(out_of_order(key)) }
        });
        Ok(Box::new(checked.take_while(|row| match row {
            Ok((key, _)) => range.contains(key),
            Err(_) => true,
        })))
    }

    /// Looks at the row next to `bound`, below or above it. If its key was damaged, it may be the
    /// one that should be on the other side.
    fn prove_edge(&self, bound: Bound<&[u8]>, above: bool) -> Result<(), Error> {
        let (Bound::Included(edge) | Bound::Excluded(edge)) = bound else { return Ok(()) };
        let rows = &self.tree.rows;
        let neighbour = if above {
            let found = rows.range(&self.txn, &(bound, Bound::Unbounded));
            found.and_then(|mut rows| rows.next().transpose())
        } else {
            let found = rows.rev_range(&self.txn, &(Bound::Unbounded, bound));
            found.and_then(|mut rows| rows.next().transpose())
        };
        let Some((key, row)) = neighbour.map_err(|cause| failed("reading the tree", &cause))?
        else {
            return Ok(());
        };
        unframe(key, row)?;
        let included = matches!(bound, Bound::Included(_)) && key == edge;
        if included || (key > edge) == above && key != edge {
            return Ok(());
        }
        Err(out_of_order(key))
    }
}

/// The bound of what lies beyond a range's end.
fn outside(end: Bound<&[u8]>) -> Bound<&[u8]> {
    match end {
        Bound::Included(key) => Bound::Excluded(key),
        Bound::Excluded(key) => Bound::Included(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

type RawRows<'a> = Box<dyn Iterator<Item = heed::Result<(&'a [u8], &'a [u8])>> + 'a>;

/// Rows of a tree in order.
pub(crate) type TreeRows<'a> = Box<dyn Iterator<Item = Result<(&'a [u8], &'a [u8]), Error>> + 'a>;

fn frame_meta(settled: &Settled) -> Vec<u8> {
    let meta = serde_json::to_vec(settled).expect("numbers always have a JSON form");
    let mut framed = Vec::new();
    frame(crc32c::crc32c(META_KEY), &meta, &mut framed);
    framed
}

/// What a tree remembers that has settled nothing.
fn first_meta() -> Vec<u8> {
    frame_meta(&Settled::default())
}

/// Frames a value whose key has this checksum.
fn frame(key_crc: u32, value: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let crc = crc32c::crc32c_append(key_crc, value);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(value);
}

fn unframe<'a>(key: &[u8], row: &'a [u8]) -> Result<&'a [u8], Error> {
    let (crc, value) = row
        .split_first_chunk::<CRC_BYTES>()
        .ok_or_else(|| damaged("a row is too short to be one"))?;
    if crc32c::crc32c_append(crc32c::crc32c(key), value) != u32::from_le_bytes(*crc) {
        return Err(damaged(&format!("the checksum of row {} is wrong", base::hex(key))));
    }
    Ok(value)
}

/// A file that is shorter than what stands in it would end the process when it is read.
fn check_length(env: &Env<WithTls>) -> Result<(), Error> {
    let page_size = u64::from(env.unnamed_database_stat().page_size);
    let needed = (env.info().last_page_number as u64 + 1) * page_size;
    let length = env.real_disk_size().map_err(|cause| failed("opening the tree", &cause))?;
    if length >= needed {
        return Ok(());
    }
    Err(Error::Corrupt {
        file: format!("settled/{DATA_FILE}"),
        offset: length,
        what: format!("the file ends early, {needed} bytes are in use"),
    })
}

fn out_of_order(key: &[u8]) -> Error {
    damaged(&format!("row {} is not in its place", base::hex(key)))
}

fn damaged(what: &str) -> Error {
    Error::Corrupt { file: format!("settled/{DATA_FILE}"), offset: 0, what: what.to_owned() }
}

fn failed(what: &str, cause: &heed::Error) -> Error {
    match cause {
        heed::Error::Io(cause) => Error::io(what, cause),
        heed::Error::Mdb(heed::MdbError::MapFull) => Error::DiskFull,
        heed::Error::Mdb(
            heed::MdbError::Corrupted | heed::MdbError::PageNotFound | heed::MdbError::Invalid,
        ) => damaged(&cause.to_string()),
        _ => Error::Io { context: what.to_owned(), cause: cause.to_string() },
    }
}

//! The settled store: an ordered map on disk that is read much and written in large batches.
//!
//! LMDB through heed, chosen by the measurement in `cargo xtask bench table` (section "settled
//! store"): it reads several times faster than the LSM tree beside it, and a settling round is
//! exactly the one big sorted transaction it likes. The file itself is handled in `lmdb.rs`, when
//! it is durable in `durable.rs`.
//!
//! Rows of one partition stand together in leaves (`leaf.rs`); what LMDB knows under a key is a leaf.
//! `round.rs` merges new rows into them.
//!
//! LMDB does not checksum its pages; the checksum in each leaf means that what is read is what
//! was written. That a row is not there is known in memory (`known.rs`), or told by its neighbours:
//! a leaf whose key was damaged still stands between them, so they are looked at too.
//!
//! Invariants:
//! - A tree holds all changes up to its `Settled::seq` and nothing after it.
//! - A leaf's rows stand before the key of the next leaf, and are of one partition.

mod durable;
mod known;
mod leaf;
mod lmdb;
mod round;

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
use self::leaf::{Leaf, Unfolded};
use self::round::Round;
use super::disk::gently::Urgency;
use super::filter;
use super::kernel;
use super::keys::KeyRange;
use super::memtable::Held;
use super::private;
use crate::error::Error;

type Rows = Database<'static, types::Bytes, types::Bytes>;

/// Under this key the tree remembers how far it has settled. Table 0 has no such space otherwise.
const META_KEY: &[u8] = &[0, 0, 0, 0, 0xF0];
/// What LMDB reads and writes at once.
pub(crate) const PAGE_BYTES: usize = 4096;
/// The data file inside the tree's directory, by LMDB's custom.
pub(crate) const DATA_FILE: &str = "data.mdb";

/// The tree on disk.
pub(crate) struct Tree {
    env: Env<WithTls>,
    rows: Rows,
    /// None in a copy of a tree that is only read.
    durable: Option<Durable>,
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
    /// All rows, with those of indexes and reminders; counted by the tree itself.
    #[serde(default)]
    pub(crate) rows: u64,
}

/// A row that is settled.
pub(crate) trait Settling {
    /// The two parts of its key, of which the second may be empty.
    fn key(&self) -> [&[u8]; 2];
    /// What stands there from now on; none if it goes.
    fn value(&self) -> Option<&[u8]>;
}

impl Settling for Held {
    fn key(&self) -> [&[u8]; 2] {
        [self.name(), self.tail()]
    }

    fn value(&self) -> Option<&[u8]> {
        self.version().value.as_deref()
    }
}

impl Settling for (Bytes, Option<Bytes>) {
    fn key(&self) -> [&[u8]; 2] {
        [&self.0, &[]]
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
        private::create_directory(directory)
            .map_err(|cause| Error::io(format!("creating {}", directory.display()), &cause))?;
        kernel::explain_bus_errors();
        let (env, durable) = durable::open(directory)?;
        let opening = |cause: heed::Error| failed("opening the tree", &cause);
        let txn = env.write_txn().map_err(opening)?;
        let opened = env.create_databases_and_commit(txn, |opener, txn| {
            opener.create_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
        });
        let rows = opened.map_err(opening)?.unwrap_commit();
        let bytes = file_bytes(&env);
        let tree = Tree { env, rows, durable: Some(durable), known: ArcSwapOption::empty() };
        let view = tree.view()?;
        tree.durable().begin(Reached { id: view.id(), seq: view.settled()?.seq, bytes })?;
        drop(view);
        Ok(tree)
    }

    /// Opens the copy of a tree that is the file `data`, which nobody writes to, by way of
    /// `directory`, which is made for that and removed again: one file may be open several times.
    pub(crate) fn open_copy(data: &Path, directory: &Path) -> Result<Tree, Error> {
        let failed = |cause| Error::io(format!("opening {}", data.display()), &cause);
        // The rest of one that a crash left behind.
        let _ = std::fs::remove_dir_all(directory);
        private::create_directory(directory).map_err(failed)?;
        let link = directory.join(DATA_FILE);
        // Some file systems know no hard links.
        let linked = std::fs::hard_link(data, &link)
            .or_else(|_| std::os::unix::fs::symlink(std::path::absolute(data)?, &link));
        let opened = linked.map_err(failed).and_then(|()| {
            kernel::explain_bus_errors();
            let env = lmdb::open_copy(directory)?;
            check_length(&env)?;
            let opening = |cause: heed::Error| self::failed("opening a copy of the tree", &cause);
            let txn = env.read_txn().map_err(opening)?;
            let rows = env.open_databases_and_commit(txn, |opener, txn| {
                opener.open_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
            });
            let rows = rows.map_err(opening)?.unwrap_commit();
            let rows = rows.ok_or_else(|| damaged("a copy of the tree is empty"))?;
            Ok(Tree { env, rows, durable: None, known: ArcSwapOption::empty() })
        });
        // What is open stays readable without its name.
        let _ = std::fs::remove_dir_all(directory);
        opened
    }

    fn durable(&self) -> &Durable {
        self.durable.as_ref().expect("nothing is settled into a copy")
    }

    /// The last change that the tree never loses again: what the log may forget. Views may see a
    /// round more, and a crash takes that one back.
    pub(crate) fn durable_seq(&self) -> u64 {
        self.durable().remembered().seq
    }

    /// Whether a crash would take back the last round.
    pub(crate) fn is_behind(&self) -> bool {
        self.durable().is_behind()
    }

    /// Makes the last round durable; returns when it is, whoever did it.
    pub(crate) fn write_back(&self, urgency: impl Fn() -> Urgency) -> Result<(), Error> {
        self.durable().catch_up(urgency)
    }

    /// Makes the disk have no room for the mark of a durable round, or have room again.
    #[cfg(test)]
    pub(crate) fn take_room_for_marks(&self, is_taken: bool) {
        self.durable().no_room.store(is_taken, std::sync::atomic::Ordering::Release);
    }

    /// Makes the disk have no room for a longer file, or have room again.
    #[cfg(test)]
    pub(crate) fn take_room_for_length(&self, is_taken: bool) {
        self.durable().no_length.store(is_taken, std::sync::atomic::Ordering::Release);
    }

    /// A view of the tree as it is now.
    pub(crate) fn view(&self) -> Result<TreeView<'_>, Error> {
        let txn = self.env.read_txn().map_err(reading)?;
        Ok(TreeView { tree: self, txn, known: self.known.load() })
    }

    /// Learns which keys there are, unless that is known, or they are too many, or somebody wants
    /// it to `stop`. Nobody settles meanwhile.
    pub(crate) fn learn(&self, stop: impl Fn() -> bool) -> Result<(), Error> {
        let view = self.view()?;
        let rows = usize::try_from(view.settled()?.rows).ok();
        let Some(rows) = rows.filter(|rows| *rows <= KEYS_MAX / 2) else { return Ok(()) };
        if view.known.is_some() {
            return Ok(());
        }
        let known = Known::new(view.id(), rows);
        known.add(filter::hash(META_KEY));
        for row in view.range(&KeyRange::all(), false)? {
            known.add(filter::hash(&row?.0));
            if stop() {
                return Ok(());
            }
        }
        self.known.store(Some(Arc::new(known)));
        Ok(())
    }

    /// Writes `rows` (sorted; `None` removes), removes all rows in `dropped`, and remembers
    /// `settled`, all in one transaction, which is seen on return and durable when it is written
    /// back. Before that the round before it is durable. Answers the id that views have from now on,
    /// and how many pages were written at most.
    pub(crate) fn settle(
        &self,
        rows: impl Iterator<Item = impl Settling>,
        dropped: &[KeyRange],
        settled: &Settled,
        urgency: impl Fn() -> Urgency,
    ) -> Result<(usize, usize), Error> {
        let failed = |cause: heed::Error| failed("settling", &cause);
        self.durable().lengthen()?;
        let txn = self.env.write_txn().map_err(failed)?;
        if let Some(full) = self.known.load_full().filter(|known| known.is_full()) {
            self.known.store(full.grow().map(Arc::new));
        }
        let mut round = Round::new(self.rows, txn, self.known.load_full())?;
        round.merge(rows)?;
        dropped.iter().try_for_each(|range| round.drop(range))?;
        let pages = round.pages();
        let txn = round.end(settled)?;
        self.write_back(urgency)?;
        let id = txn.id();
        txn.commit().map_err(failed)?;
        self.durable().follow(Reached { id, seq: settled.seq, bytes: file_bytes(&self.env) });
        Ok((id, pages))
    }

    /// Copies the tree as it is now, without its free pages, to a new file.
    pub(crate) fn copy_to(&self, file: &Path) -> Result<(), Error> {
        let copying = |cause| Error::io("copying the tree", &cause);
        let mut copy = private::create(file).map_err(copying)?;
        let copied = self.env.copy_to_file(&mut copy, CompactionOption::Enabled);
        let copied = copied.map_err(|cause| failed("copying the tree", &cause));
        let synced = copied.and_then(|()| copy.sync_all().map_err(copying));
        if synced.is_err() {
            // Gives the space back.
            let _ = std::fs::remove_file(file);
        }
        synced
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

    /// Whether it is known that there is no key of this hash.
    pub(crate) fn denies(&self, hash: u64) -> bool {
        self.known.as_ref().is_some_and(|known| known.denies(hash, self.id()))
    }

    /// The value under `key`, whose hash this is.
    pub(crate) fn find(&self, key: &[u8], hash: u64) -> Result<Option<&[u8]>, Error> {
        if self.denies(hash) {
            return Ok(None);
        }
        let rows = &self.tree.rows;
        let leaf = rows.get_lower_than_or_equal_to(&self.txn, key).map_err(reading)?;
        if let Some((at, leaf)) = leaf {
            if at > key {
                return Err(out_of_order(at));
            }
            if let Some(value) = Leaf::read(at, leaf)?.find(key)? {
                return Ok(Some(value));
            }
        }
        // Had the key of its leaf been damaged, that one would stand here.
        let next = rows.get_greater_than(&self.txn, key).map_err(reading)?;
        if let Some((at, leaf)) = next {
            Leaf::read(at, leaf)?;
            if at <= key {
                return Err(out_of_order(at));
            }
        }
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
        let (rows, (start, end)) = (&self.tree.rows, range.as_bounds());
        // From the leaf before the start, which may hold some of it, to the one behind the end, which
        // may be one whose key was damaged.
        let leaves: RawRows<'s> = if descending {
            let last = match end {
                Bound::Included(key) | Bound::Excluded(key) => {
                    rows.get_greater_than_or_equal_to(&self.txn, key).map_err(reading)?
                }
                Bound::Unbounded => None,
            };
            let last = last.map_or(Bound::Unbounded, |(last, _)| Bound::Included(last));
            let leaves = rows.rev_range(&self.txn, &(Bound::Unbounded, last));
            Box::new(leaves.map_err(reading)?)
        } else {
            let first = match start {
                Bound::Included(key) | Bound::Excluded(key) => {
                    rows.get_lower_than_or_equal_to(&self.txn, key).map_err(reading)?
                }
                Bound::Unbounded => None,
            };
            let first = first.map_or(Bound::Unbounded, |(first, _)| Bound::Included(first));
            Box::new(rows.range(&self.txn, &(first, Bound::Unbounded)).map_err(reading)?)
        };
        let mut walk = Walk { range, descending, before: None, over: false };
        let rows = leaves.map_while(move |leaf| (!walk.over).then(|| walk.visit(leaf)));
        Ok(Box::new(rows.flatten()))
    }
}

/// A walk over leaves.
struct Walk<'r> {
    range: &'r KeyRange,
    descending: bool,
    /// The row at which it came from the leaf before.
    before: Option<Bytes>,
    /// Whether nothing of the range comes any more.
    over: bool,
}

/// A row, or why there is none.
type TreeRow<'a> = Result<(Bytes, &'a [u8]), Error>;

impl Walk<'_> {
    /// The rows of the range in the next leaf, in the order of the walk.
    fn visit<'a>(&mut self, leaf: heed::Result<(&'a [u8], &'a [u8])>) -> Vec<TreeRow<'a>> {
        match leaf.map_err(reading).and_then(|(key, leaf)| self.unfold(key, leaf)) {
            Ok(mut rows) => {
                if self.descending {
                    rows.reverse();
                }
                rows.into_iter().map(Ok).collect()
            }
            Err(error) => {
                self.over = true;
                vec![Err(error)]
            }
        }
    }

    fn unfold<'a>(
        &mut self,
        key: &'a [u8],
        leaf: &'a [u8],
    ) -> Result<Vec<(Bytes, &'a [u8])>, Error> {
        let leaf = Leaf::read(key, leaf)?;
        let (start, end) = self.range.as_bounds();
        let behind = match end {
            Bound::Included(end) => key > end,
            Bound::Excluded(end) => key >= end,
            Bound::Unbounded => false,
        };
        self.over = match (self.descending, start) {
            (true, Bound::Included(start) | Bound::Excluded(start)) => key <= start,
            (true, Bound::Unbounded) => false,
            (false, _) => behind,
        };
        if behind {
            return Ok(Vec::new());
        }
        let Unfolded { keys, rows } = leaf.unfold()?;
        let keys = Bytes::from(keys);
        let mut rows: Vec<(Bytes, &[u8])> =
            rows.into_iter().map(|(place, value)| (keys.slice(place), value)).collect();
        let ends = [rows.first(), rows.last()].map(|row| row.map(|(key, _)| key.clone()));
        let [low, high] = ends;
        let (from, to) = if self.descending { (high, low) } else { (low, high) };
        if let Some((before, from)) = self.before.take().zip(from)
            && (before == from || (before > from) != self.descending)
        {
            return Err(out_of_order(key));
        }
        self.before = to;
        rows.retain(|(key, _)| self.range.contains(key));
        Ok(rows)
    }
}

type RawRows<'a> = Box<dyn Iterator<Item = heed::Result<(&'a [u8], &'a [u8])>> + 'a>;

/// Rows of a tree in order.
pub(crate) type TreeRows<'a> = Box<dyn Iterator<Item = TreeRow<'a>> + 'a>;

fn frame_meta(settled: &Settled) -> Vec<u8> {
    let meta = serde_json::to_vec(settled).expect("numbers always have a JSON form");
    leaf::single(META_KEY, &meta)
}

/// What a tree remembers that has settled nothing.
fn first_meta() -> Vec<u8> {
    frame_meta(&Settled::default())
}

/// The bytes up to the last page that LMDB ever gave out.
fn file_bytes(env: &Env<WithTls>) -> u64 {
    let page_size = u64::from(env.unnamed_database_stat().page_size);
    (env.info().last_page_number as u64 + 1) * page_size
}

/// A file that is shorter than what stands in it would end the process when it is read.
fn check_length(env: &Env<WithTls>) -> Result<(), Error> {
    let needed = file_bytes(env);
    let length = env.real_disk_size().map_err(|cause| failed("opening the tree", &cause))?;
    if length >= needed {
        return Ok(());
    }
    Err(Error::Corrupt {
        file: format!("settled/{DATA_FILE}"),
        offset: length,
        what: format!("the file has {length} bytes, {needed} bytes are in use"),
    })
}

fn out_of_order(key: &[u8]) -> Error {
    damaged(&format!("row {} is not in its place", base::hex(key)))
}

fn damaged(what: &str) -> Error {
    Error::Corrupt { file: format!("settled/{DATA_FILE}"), offset: 0, what: what.to_owned() }
}

fn reading(cause: heed::Error) -> Error {
    failed("reading the tree", &cause)
}

fn failed(what: &str, cause: &heed::Error) -> Error {
    match cause {
        heed::Error::Io(cause) => Error::io(what, cause),
        heed::Error::Mdb(heed::MdbError::MapFull) => Error::DiskFull,
        heed::Error::Mdb(
            heed::MdbError::Corrupted | heed::MdbError::PageNotFound | heed::MdbError::Invalid,
        ) => damaged(&cause.to_string()),
        // The head of the file could not be written: LMDB takes no round until it is opened anew.
        heed::Error::Mdb(heed::MdbError::Panic) => Error::Stopped(format!("{what}: {cause}")),
        _ => Error::Io { context: what.to_owned(), cause: cause.to_string() },
    }
}

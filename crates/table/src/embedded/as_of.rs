//! A part of the house as it was at an instant: an item, a partition of a table or index, or a whole
//! table, without a copy of the rest.
//!
//! The newest checkpoint or backup not after the instant is opened where it lies, for reading alone,
//! and the log from there to the instant is read once. What of it touches the part that is asked for
//! is held in memory and lies over the tree, as a memtable lies over the settled tree of a house; so
//! reads go through the same code (`read.rs`). `as_of/gather.rs` says what touches the part.
//!
//! Bounds: the time is that of reading the log between two checkpoints, and ends when the caller
//! goes away. The memory is the newest version of each row of the part that changed in that stretch
//! of the log, at most [`HELD_BYTES_MAX`]. [`LOOKS_MAX`] of them are made at a time.
//!
//! Item by item, the log tells every version (`item_history.rs`).

mod gather;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use base::Timestamp;
use imbl::OrdMap;

use self::gather::Gather;
use super::backup::{Base, bases_of, nothing_before};
use super::catalog::{Catalog, Table};
use super::directory::BACKUPS;
use super::feed::Frames;
use super::keys::{self, KeyRange};
use super::memtable::{Memtable, Tail, Version};
use super::progress::Progress;
use super::read::{Reading, Wanted};
use super::settled::Tree;
use super::state::{Rows, Sight, State};
use super::{Embedded, Engine, blocking};
use crate::error::Error;
use crate::port::{Get, Page, Query, Scan};
use crate::spec::TableSpec;
use crate::value::{Item, Value};

/// Looks at the past that are made at the same time. Each reads the log as fast as it can; more of
/// them would take the disk from those who write.
pub(super) const LOOKS_MAX: usize = 2;
/// What one look may hold of rows that changed between its checkpoint and its instant. Whoever needs
/// more restores the instant into a directory.
const HELD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Memory that the filter of held rows is made for.
const FILTER_BYTES: usize = 8 * 1024 * 1024;

/// How far back the house can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The first instant.
    pub begins: Timestamp,
    /// Whether that is the beginning of the house itself.
    pub is_whole: bool,
}

/// Which part of a table is looked at.
#[derive(Clone, Copy, Debug)]
pub enum Part<'p> {
    /// The item of this get.
    Get(&'p Get),
    /// The stretch of this query, whatever its page.
    Query(&'p Query),
    /// The table or index of this scan, or its segment.
    Scan(&'p Scan),
}

/// A part of a table as it was at an instant. Only that part can be read.
pub struct AsOf {
    rows: Rows,
    catalog: Catalog,
    name: String,
    at: Timestamp,
}

impl AsOf {
    /// The declaration of the table at the instant.
    pub fn spec(&self) -> &TableSpec {
        let table = self.catalog.find(&self.name);
        &table.expect("it is made with its table").spec
    }

    /// The item under a key: that of the get which this was made for, or one that a query or scan
    /// of it has met.
    ///
    /// # Errors
    /// As `get`.
    pub fn get(&self, get: &Get) -> Result<Option<Item>, Error> {
        self.reading().get(get)
    }

    /// A page of the query that this was made for.
    ///
    /// # Errors
    /// As `query`.
    pub fn query(&self, query: &Query) -> Result<Page, Error> {
        Ok(self.reading().query(query, Wanted::Named)?.0)
    }

    /// A page of the scan that this was made for.
    ///
    /// # Errors
    /// As `scan`.
    pub fn scan(&self, scan: &Scan) -> Result<Page, Error> {
        Ok(self.reading().scan(scan, Wanted::Named)?.0)
    }

    fn reading(&self) -> Reading<'_> {
        Reading { rows: &self.rows, catalog: &self.catalog, now_s: self.at.seconds() }
    }
}

impl Embedded {
    /// How far back the house can be looked at; none if nothing of its past is kept.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub async fn reach(&self) -> Result<Option<Reach>, Error> {
        let engine = Arc::clone(&self.engine);
        blocking(move || engine.reach()).await
    }

    /// The declaration of a table at an instant.
    ///
    /// # Errors
    /// As [`Embedded::as_of`].
    pub async fn spec_as_of(&self, table: &str, at: Timestamp) -> Result<TableSpec, Error> {
        // Nothing of the table itself: a stretch without keys.
        let nothing = Query::new(table, "", Value::Null);
        let past = self.as_of(Part::Query(&nothing), at, &Progress::new()).await?;
        Ok(past.spec().clone())
    }

    /// A part of a table as it was at an instant: with every change up to it and none behind it, and
    /// with what had not expired by then. Tells `progress` how much of the log is read. Ends early
    /// when the caller goes away.
    ///
    /// # Errors
    /// The past does not reach there, the table did not exist then or is ephemeral, or more changed
    /// than can be held.
    pub async fn as_of(
        &self,
        part: Part<'_>,
        at: Timestamp,
        progress: &Progress,
    ) -> Result<AsOf, Error> {
        let stop = StopWhenDropped::default();
        let (engine, stopped) = (Arc::clone(&self.engine), Arc::clone(&stop.0));
        let (part, progress) = (OwnedPart::from(part), progress.clone());
        let turn = Arc::clone(&engine.archive.looks).acquire_owned().await;
        let turn = turn.expect("nobody closes it");
        blocking(move || {
            let _turn = turn;
            Look { engine: &engine, part: &part, at, progress: &progress, stopped: &stopped }.run()
        })
        .await
    }
}

/// Tells a thread that nobody waits for it any more.
#[derive(Default)]
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A part that can go to another thread.
enum OwnedPart {
    Get(Get),
    Query(Box<Query>),
    Scan(Box<Scan>),
}

impl From<Part<'_>> for OwnedPart {
    fn from(part: Part<'_>) -> OwnedPart {
        match part {
            Part::Get(get) => OwnedPart::Get(get.clone()),
            Part::Query(query) => OwnedPart::Query(Box::new(query.clone())),
            Part::Scan(scan) => OwnedPart::Scan(Box::new(scan.clone())),
        }
    }
}

impl OwnedPart {
    fn table(&self) -> &str {
        match self {
            OwnedPart::Get(get) => &get.table,
            OwnedPart::Query(query) => &query.table,
            OwnedPart::Scan(scan) => &scan.table,
        }
    }

    fn index(&self) -> Option<&str> {
        match self {
            OwnedPart::Get(_) => None,
            OwnedPart::Query(query) => query.index.as_deref(),
            OwnedPart::Scan(scan) => scan.index.as_deref(),
        }
    }

    /// Where the part lies in a table, and the index that it is of. An index that the table does not
    /// have (yet) has nothing in it.
    fn range(&self, table: &Table) -> Result<(KeyRange, Option<u8>), Error> {
        let space = self.index().map(|index| table.index(index)).transpose();
        let space = space.ok().flatten().map(|(space, _)| space);
        let of = space.unwrap_or(keys::ROWS);
        let range = match self {
            OwnedPart::Get(get) => {
                KeyRange::of_key(keys::row_key(table.id, &table.spec.key, &get.key)?)
            }
            OwnedPart::Query(query) => {
                let sort = query.key.sort.as_ref().map(|(_, sort)| sort);
                keys::query_range(table.id, of, &query.key.partition.1, sort)
            }
            OwnedPart::Scan(scan) => {
                let segment = scan.segment.filter(|(number, total)| number < total);
                keys::scan_range(table.id, of, segment)
            }
        };
        Ok((range, space))
    }
}

/// One look at the past.
struct Look<'l> {
    engine: &'l Engine,
    part: &'l OwnedPart,
    at: Timestamp,
    progress: &'l Progress,
    stopped: &'l AtomicBool,
}

impl Look<'_> {
    fn run(&self) -> Result<AsOf, Error> {
        let (name, at) = (self.part.table(), self.at);
        // The log may be ahead of a clock that stepped back.
        let logged = Timestamp::from_millis(self.engine.commits.log_time_ms());
        let now = self.engine.clock.now().max(logged);
        if at > now {
            return Err(Error::invalid(format!("{at} lies in the future; it is {now}")));
        }
        if let Some(table) = self.engine.catalog.load().find(name)
            && table.is_ephemeral()
        {
            let told = format!("table `{name}` is ephemeral: it holds the present alone, no past");
            return Err(Error::invalid(told));
        }
        // Before the base: what is durable now is in the log from there on.
        let until = self.engine.rows.visible.load(Ordering::Acquire);
        let base = self.engine.base_before(at)?;
        let tree = base.data.as_deref().map(|data| self.engine.open_copy(data)).transpose()?;
        let rows = bare_rows(tree, base.seq);
        let declared = Catalog::load(&rows.snapshot(Sight::Visible)?)?.find(name).cloned();
        let mut gather = Gather::new(&rows, self.part, declared)?;
        let mut reached = self.replay(&base, until, &mut gather)?;
        if let Some(table) = gather.redeclared() {
            // Rows before the new declaration stand there as the old one had them.
            gather = Gather::under(&rows, self.part, table)?;
            reached = self.replay(&base, until, &mut gather)?;
        }
        let (table, held) = gather.finish();
        let table =
            table.ok_or_else(|| Error::invalid(format!("there was no table `{name}` at {at}")))?;
        if table.is_ephemeral() {
            let told = format!("table `{name}` was ephemeral at {at}: it has no past");
            return Err(Error::invalid(told));
        }
        let mut catalog = Catalog::default();
        catalog.insert(table);
        let memtable = Memtable::new(FILTER_BYTES);
        let mut tail = Tail::default();
        for (key, value) in held {
            let (weight, version) = (
                value.as_ref().map_or(0, bytes::Bytes::len),
                Version { value, fresh: false, logged: true },
            );
            memtable.add(&key, reached, version, weight, &mut tail);
        }
        let mut state = State::clone(&rows.state.load_full());
        state.active = Arc::new(memtable);
        rows.state.store(Arc::new(state));
        rows.visible.store(reached, Ordering::Release);
        rows.assigned.store(reached, Ordering::Release);
        Ok(AsOf { rows, catalog, name: name.to_owned(), at })
    }

    /// Hands the log behind `base`, up to the instant, to `gather`. Answers the last change of it.
    fn replay(&self, base: &Base, until: u64, gather: &mut Gather<'_>) -> Result<u64, Error> {
        let (mut frames, mut after, mut bytes) = (Frames::default(), base.seq, 0);
        self.progress.begin(self.engine.log_bytes_between(base.seq, self.at)?);
        while after < until {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(Error::Throttled("nobody waits for this any more".to_owned()));
            }
            let frame = frames.next(self.engine, after).map_err(|error| self.explain(error))?;
            if frame.head.time_ms > self.at.millis() {
                break;
            }
            let records = frame.records().ok_or_else(|| unreadable(frame.head.last))?;
            for record in records.iter().filter(|record| record.seq > after) {
                gather.record(record)?;
            }
            if gather.held_bytes() > HELD_BYTES_MAX {
                return Err(self.too_much());
            }
            after = frame.head.last;
            bytes += frame.payload.len() as u64;
            self.progress.reach(bytes);
        }
        Ok(after)
    }

    fn too_much(&self) -> Error {
        let (at, max) = (self.at, HELD_BYTES_MAX / 1024 / 1024);
        Error::invalid(format!(
            "more than {max} MiB of this changed between the checkpoint and {at}; ask for one \
             partition or a stretch of it, or restore that instant with `nagaya backup restore --at`"
        ))
    }

    /// Segments that were dropped since the base was chosen are the past that is kept no more.
    fn explain(&self, error: Error) -> Error {
        match error {
            Error::TooOld { .. } => {
                Error::invalid(format!("the past of {} was just dropped", self.at))
            }
            error => error,
        }
    }
}

impl Engine {
    fn reach(&self) -> Result<Option<Reach>, Error> {
        let first = self.first_frame_ms()?;
        let begins = self.bases()?.iter().map(|base| base.time_ms).min();
        Ok(match (begins, first) {
            (Some(0), Some(first)) => {
                Some(Reach { begins: Timestamp::from_millis(first), is_whole: true })
            }
            (Some(begins), _) if begins > 0 => {
                Some(Reach { begins: Timestamp::from_millis(begins), is_whole: false })
            }
            _ => None,
        })
    }

    /// Everything that a look can start from.
    fn bases(&self) -> Result<Vec<Base>, Error> {
        let Some(directory) = &self.directory else {
            // All of its past is its log.
            return match self.segment_behind(0) {
                Ok(_) => Ok(vec![Base { data: None, seq: 0, time_ms: 0 }]),
                Err(Error::TooOld { .. }) => Ok(Vec::new()),
                Err(error) => Err(error),
            };
        };
        bases_of(directory.path())
    }

    /// The newest of them not after an instant.
    fn base_before(&self, at: Timestamp) -> Result<Base, Error> {
        let bases = self.bases()?;
        let begins = bases.iter().map(|base| base.time_ms).min();
        let usable = bases.into_iter().filter(|base| base.time_ms <= at.millis());
        usable.max_by_key(|base| base.seq).ok_or_else(|| match &self.directory {
            Some(directory) => nothing_before(directory.path(), begins),
            None => Error::invalid("the past that a house in memory keeps begins later"),
        })
    }

    /// Opens a checkpoint's tree beside others that may be open of it.
    fn open_copy(&self, data: &Path) -> Result<Tree, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let directory = self.directory.as_ref().map(super::Directory::path);
        let house =
            directory.ok_or_else(|| Error::invalid("a house in memory has no checkpoints"))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Tree::open_copy(data, &house.join(BACKUPS).join(format!(".look-{number}")))
    }
}

/// The rows of a tree alone, which ends at change `seq`.
fn bare_rows(tree: Option<Tree>, seq: u64) -> Rows {
    let state = State {
        active: Arc::new(Memtable::new(0)),
        frozen: Vec::new(),
        memory: OrdMap::new(),
        tree_id: 0,
        counts: OrdMap::new(),
    };
    Rows {
        tree,
        state: ArcSwap::from_pointee(state),
        visible: AtomicU64::new(seq),
        assigned: AtomicU64::new(seq),
        stamps: Arc::default(),
    }
}

pub(super) fn unreadable(change: u64) -> Error {
    Error::Corrupt {
        file: "log".to_owned(),
        offset: 0,
        what: format!("the frame of change {change} cannot be read"),
    }
}

//! The change feed: every durable change in order, from any point that the log still holds, and
//! then live.

use std::sync::Arc;

use super::Engine;
use super::catalog::{CATALOG, Catalog, OWN_PREFIX};
use super::log::{Frame, Next, Op, OpKind, SegmentReader};
use super::row::decode_row;
use crate::error::Error;
use crate::value::Item;

/// All changes of one transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// The transaction's place in the order of all.
    pub seq: u64,
    /// When it became durable, in milliseconds of Unix time.
    pub time_ms: u64,
    /// What it changed.
    pub changes: Vec<Change>,
}

/// The change of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The table; its name now.
    pub table: String,
    /// What happened.
    pub kind: ChangeKind,
    /// The item's key.
    pub key: Item,
    /// The item after the change.
    pub new: Option<Item>,
    /// The item before the change, in tables that keep old images.
    pub old: Option<Item>,
}

impl Change {
    /// Whether it left the item as it was, as far as old images tell.
    pub fn is_idle(&self) -> bool {
        self.old.is_some() && self.old == self.new
    }
}

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It came to be.
    Insert,
    /// It was replaced or edited.
    Modify,
    /// Somebody removed it.
    Remove,
    /// Its time was up.
    Expire,
}

impl From<OpKind> for ChangeKind {
    fn from(kind: OpKind) -> ChangeKind {
        match kind {
            OpKind::Insert => ChangeKind::Insert,
            OpKind::Modify => ChangeKind::Modify,
            OpKind::Remove => ChangeKind::Remove,
            OpKind::Expire => ChangeKind::Expire,
        }
    }
}

/// A reader of changes. It keeps its place; several readers do not disturb each other.
pub struct Feed {
    engine: Arc<Engine>,
    after: u64,
    frames: Frames,
    ready: std::collections::VecDeque<Changes>,
}

impl Feed {
    pub(super) fn new(engine: Arc<Engine>, after: u64) -> Feed {
        Feed { engine, after, frames: Frames::default(), ready: std::collections::VecDeque::new() }
    }

    /// The next transaction, waiting for it if there is none yet. Changes of tables that were
    /// dropped since are passed over.
    pub async fn next(&mut self) -> Result<Changes, Error> {
        loop {
            if let Some(changes) = self.try_next()? {
                return Ok(changes);
            }
            let engine = Arc::clone(&self.engine);
            let mut advanced = std::pin::pin!(engine.commits.advanced.notified());
            advanced.as_mut().enable();
            if self.is_behind() {
                continue;
            }
            if let Some(why) = engine.commits.stopped() {
                return Err(Error::Stopped(why.to_owned()));
            }
            advanced.await;
        }
    }

    /// The next transaction, if there is one.
    pub fn try_next(&mut self) -> Result<Option<Changes>, Error> {
        loop {
            if let Some(changes) = self.ready.pop_front() {
                return Ok(Some(changes));
            }
            if !self.is_behind() {
                return Ok(None);
            }
            let frame = self.frames.next(&self.engine, self.after)?;
            self.take(&frame)?;
        }
    }

    fn is_behind(&self) -> bool {
        self.after < self.engine.rows.visible.load(std::sync::atomic::Ordering::Acquire)
    }

    fn take(&mut self, frame: &Frame) -> Result<(), Error> {
        let catalog = self.engine.catalog.load();
        let unreadable = || Error::Corrupt {
            file: "log".to_owned(),
            offset: 0,
            what: format!("the frame of change {} cannot be read", frame.head.last),
        };
        for record in frame.records().ok_or_else(unreadable)? {
            if record.seq <= self.after {
                continue;
            }
            let changes = record.ops.iter().filter_map(|op| describe(&catalog, op).transpose());
            let changes = changes.collect::<Result<Vec<Change>, Error>>()?;
            if !changes.is_empty() {
                let (seq, time_ms) = (record.seq, frame.head.time_ms);
                self.ready.push_back(Changes { seq, time_ms, changes });
            }
        }
        self.after = frame.head.last;
        Ok(())
    }
}

/// A walk over the frames of the log, also while it is written.
#[derive(Default)]
pub(super) struct Frames {
    place: Option<(u64, SegmentReader)>,
}

impl Frames {
    /// The frame behind `after`, which grows from call to call. There is one: the caller has seen
    /// that it is durable.
    pub(super) fn next(&mut self, engine: &Engine, after: u64) -> Result<Frame, Error> {
        loop {
            let (ordinal, mut reader) = match self.place.take() {
                Some(place) => place,
                None => {
                    let ordinal = engine.segment_behind(after)?;
                    (ordinal, SegmentReader::open(&*engine.disk, ordinal)?)
                }
            };
            match reader.next()? {
                // Segments may have been dropped between this one and the one read before.
                Next::Frame(frame) if frame.head.previous > after => {
                    return Err(Error::TooOld { after, oldest: frame.head.previous });
                }
                Next::Frame(frame) => {
                    self.place = Some((ordinal, reader));
                    if frame.head.last > after {
                        return Ok(frame);
                    }
                }
                Next::Sealed => {
                    let next = engine.segment_following(ordinal)?;
                    self.place = Some((next, SegmentReader::open(&*engine.disk, next)?));
                }
                Next::Unwritten | Next::Torn => {
                    return Err(reader.damaged("a durable frame is not where it was written"));
                }
            }
        }
    }
}

fn describe(catalog: &Catalog, op: &Op) -> Result<Option<Change>, Error> {
    let Some(table) = catalog.by_id(op.table).filter(|_| op.table != CATALOG) else {
        return Ok(None);
    };
    if table.spec.name.starts_with(OWN_PREFIX) {
        return Ok(None);
    }
    let item = decode_row(&op.key, &op.row)?;
    let attributes = table.spec.key.attributes();
    let key = attributes
        .filter_map(|attribute| Some((attribute.name.clone(), item.get(&attribute.name)?.clone())))
        .collect();
    let kind = ChangeKind::from(op.kind);
    let new = op.kind.is_put().then_some(item);
    let old = op.old.as_ref().map(|row| decode_row(&op.key, row)).transpose()?;
    Ok(Some(Change { table: table.spec.name.clone(), kind, key, new, old }))
}

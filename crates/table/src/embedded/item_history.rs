//! The versions of one item, as the log tells them, newest first and page by page.
//!
//! The log is not ordered by items, so a page reads whole segments from the newest back, at most
//! [`PAGE_BYTES`] of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::Timestamp;

use super::as_of::unreadable;
use super::feed::{ChangeKind, Frames};
use super::log::{Frame, Next, SegmentReader};
use super::row::decode_row;
use super::{Embedded, Engine, blocking, keys};
use crate::error::Error;
use crate::validate;
use crate::value::Item;

/// Bytes of the log that one page looks at: read within a second or so.
const PAGE_BYTES: u64 = 256 * 1024 * 1024;

/// An item as one change left it.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// The change's place in the order of all.
    pub change: u64,
    /// When it became durable.
    pub at: Timestamp,
    /// What happened.
    pub kind: ChangeKind,
    /// The item from then on; none if it was gone.
    pub item: Option<Item>,
}

/// A page of versions.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemHistory {
    /// The versions, newest first.
    pub versions: Vec<Version>,
    /// Where the next page goes on: before this change. None at the end of what is kept.
    pub before: Option<u64>,
    /// How far back the log was looked through; none if there is no log.
    pub looked_to: Option<Timestamp>,
    /// Whether this reaches the beginning of the house.
    pub is_whole: bool,
}

impl Embedded {
    /// Up to `limit` versions of an item, newest first, from before change `before`.
    ///
    /// # Errors
    /// The key does not fit the table, the table has no past, or the log cannot be read.
    pub async fn item_history(
        &self,
        table: &str,
        key: &Item,
        before: Option<u64>,
        limit: usize,
    ) -> Result<ItemHistory, Error> {
        let row_key = self.engine.key_with_past(table, key)?;
        let engine = Arc::clone(&self.engine);
        let turn = Arc::clone(&engine.archive.looks).acquire_owned().await;
        let turn = turn.expect("nobody closes it");
        blocking(move || {
            let _turn = turn;
            engine.versions_before(&row_key, before.unwrap_or(u64::MAX), limit.max(1))
        })
        .await
    }

    /// An item as change `change` left it; none if that change did not touch it.
    ///
    /// # Errors
    /// As [`Embedded::item_history`], or the change is no longer kept.
    pub async fn item_version(
        &self,
        table: &str,
        key: &Item,
        change: u64,
    ) -> Result<Option<Version>, Error> {
        let row_key = self.engine.key_with_past(table, key)?;
        let engine = Arc::clone(&self.engine);
        blocking(move || engine.version_at(&row_key, change)).await
    }
}

impl Engine {
    /// The key of an item's row in a table that has a past.
    fn key_with_past(&self, table: &str, key: &Item) -> Result<Vec<u8>, Error> {
        let catalog = self.catalog.load();
        let table = catalog.get(table)?;
        if table.is_ephemeral() {
            let name = &table.spec.name;
            let told = format!("table `{name}` is ephemeral: it holds the present alone, no past");
            return Err(Error::invalid(told));
        }
        validate::check_key(&table.spec.key, key)?;
        keys::row_key(table.id, &table.spec.key, key)
    }

    fn versions_before(
        &self,
        row_key: &[u8],
        before: u64,
        limit: usize,
    ) -> Result<ItemHistory, Error> {
        let until = self.rows.visible.load(Ordering::Acquire).min(before.saturating_sub(1));
        let segments = self.archive_segments()?;
        let mut page =
            ItemHistory { versions: Vec::new(), before: None, looked_to: None, is_whole: true };
        let (mut bytes, mut full, mut looked_before) = (0, false, before);
        for segment in segments.iter().rev().filter(|segment| segment.previous < until) {
            if full || bytes >= PAGE_BYTES {
                page.before = page.before.or(Some(looked_before));
                page.is_whole = false;
                return Ok(page);
            }
            let mut found = VecDeque::new();
            let mut dropped = false;
            bytes += self.look_through(segment.ordinal, until, |frame| {
                for version in versions_in(frame, row_key, until)? {
                    found.push_front(version);
                    // The newest are wanted; a page of the older ones follows.
                    if found.len() > limit - page.versions.len() {
                        found.pop_back();
                        dropped = true;
                    }
                }
                Ok(())
            })?;
            page.versions.extend(found);
            page.looked_to = Some(Timestamp::from_millis(segment.first_ms));
            full = page.versions.len() >= limit;
            if dropped || full {
                page.before = page.versions.last().map(|version| version.change);
            }
            if dropped {
                page.looked_to = page.versions.last().map(|version| version.at);
                page.is_whole = false;
                return Ok(page);
            }
            (page.is_whole, looked_before) = (segment.previous == 0, segment.previous + 1);
        }
        page.before = None;
        Ok(page)
    }

    fn version_at(&self, row_key: &[u8], change: u64) -> Result<Option<Version>, Error> {
        if change == 0 || change > self.rows.visible.load(Ordering::Acquire) {
            return Ok(None);
        }
        let frame = Frames::default().next(self, change - 1)?;
        let found = versions_in(&frame, row_key, change)?;
        Ok(found.into_iter().find(|version| version.change == change))
    }

    /// Hands the frames of a segment up to change `until` to `take`; answers their bytes.
    fn look_through(
        &self,
        ordinal: u64,
        until: u64,
        mut take: impl FnMut(&Frame) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut reader = SegmentReader::open(&*self.disk, ordinal)?;
        let mut bytes = 0;
        loop {
            match reader.next()? {
                Next::Frame(frame) => {
                    bytes += frame.payload.len() as u64;
                    if frame.head.previous < until {
                        take(&frame)?;
                    }
                    // What follows may still be on its way to the disk.
                    if frame.head.last >= until {
                        return Ok(bytes);
                    }
                }
                Next::Sealed | Next::Unwritten | Next::Torn => return Ok(bytes),
            }
        }
    }
}

/// What a frame tells of one row, up to change `until`, in order.
fn versions_in(frame: &Frame, row_key: &[u8], until: u64) -> Result<Vec<Version>, Error> {
    let at = Timestamp::from_millis(frame.head.time_ms);
    let records = frame.records().ok_or_else(|| unreadable(frame.head.last))?;
    let mut versions = Vec::new();
    for record in records.into_iter().filter(|record| record.seq <= until) {
        for op in record.ops.iter().filter(|op| *op.key == *row_key) {
            let item = op.kind.is_put().then(|| decode_row(&op.key, &op.row)).transpose()?;
            let (change, kind) = (record.seq, ChangeKind::from(op.kind));
            versions.push(Version { change, at, kind, item });
        }
    }
    Ok(versions)
}

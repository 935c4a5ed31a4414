//! The change log, which is also the write-ahead log.
//!
//! The log is a row of segments named by ordinal (`0000000001.log`), each a run of frames
//! (`frame.rs`). One frame is one group commit: it is written, synced, and only then are its
//! records acknowledged. A segment that is no longer written to ends with a seal.
//!
//! Invariants:
//! - At most one frame, the very last, can be unsynced; only that one may be torn.
//! - Every segment but the last is sealed, and the last leaves room for a seal.
//! - Each frame names the last sequence number of the frame before, so a gap shows.
//! - A list of all segments lies beside them (`manifest.rs`), so a missing end shows.
//!
//! What is inside a record stands in `record.rs`; how a segment is read in `reader.rs`, and how all
//! of them are at a start in `walk.rs`; which of them are kept for point-in-time restore is decided
//! in `archive.rs` beside this folder.

mod frame;
mod manifest;
mod reader;
mod record;
mod walk;
mod writer;

use super::disk::Disk;
use crate::error::Error;

pub(crate) use frame::{FRAME_HEAD_BYTES, Frame};
pub(crate) use manifest::{MANIFEST_FILE, Manifest, listed_segments, missing_segment};
pub(crate) use reader::{Next, SegmentReader, seal};
pub(crate) use record::{Op, OpKind, Record};
pub(crate) use walk::{Recovered, SegmentSummary, Walk, walk};
pub(crate) use writer::Writer;

/// The name of the segment of that ordinal.
pub(crate) fn segment_name(ordinal: u64) -> String {
    format!("{ordinal:010}.log")
}

/// The ordinal in a segment's name.
fn segment_ordinal(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

/// The ordinals of all segments on `disk`, ascending.
pub(crate) fn segment_ordinals(disk: &dyn Disk) -> Result<Vec<u64>, Error> {
    let names = disk.list().map_err(|cause| Error::io("listing the log", &cause))?;
    Ok(names.iter().filter_map(|name| segment_ordinal(name)).collect())
}

#[cfg(test)]
mod fuzz;

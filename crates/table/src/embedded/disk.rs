//! Where log segments lie: files in a directory, or memory.
//!
//! The log is written against this seam and nothing else, so that a house can run purely in
//! memory and so that tests can make writes, syncs and space fail at will (`memory.rs`).

mod files;
pub(crate) mod gently;
mod memory;
mod reserve;

use std::io;
use std::sync::Arc;

use super::progress::Progress;
pub(crate) use files::{Files, sync_directory};
pub use memory::{Faults, MemoryDisk};
pub(crate) use reserve::Reserve;

/// A flat set of named segments.
pub(crate) trait Disk: Send + Sync {
    /// Makes a segment of `bytes` zeros that outlives power loss; fails if the name is taken.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn Segment>>;

    /// Opens a segment that exists.
    fn open(&self, name: &str) -> io::Result<Arc<dyn Segment>>;

    /// The names of all segments, sorted.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Whether the segments are all that outlives the process: then none may be dropped.
    fn is_all_there_is(&self) -> bool;

    /// The progress of a start through the segments, if it is shown.
    fn progress(&self) -> Option<&Progress> {
        None
    }

    /// Removes a segment.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The list of segments that must be there; `None` if none was ever written.
    fn read_manifest(&self) -> io::Result<Option<Vec<u8>>>;

    /// Replaces that list so that it outlives power loss.
    fn write_manifest(&self, bytes: &[u8]) -> io::Result<()>;
}

/// One segment: a run of bytes that is written in place.
pub(crate) trait Segment: Send + Sync {
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when everything written before outlives power loss.
    fn sync(&self) -> io::Result<()>;

    /// Fills `buffer` from `offset`, or fails.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// The present length.
    fn len(&self) -> io::Result<u64>;

    /// Cuts the segment to `bytes`.
    fn truncate(&self, bytes: u64) -> io::Result<()>;
}

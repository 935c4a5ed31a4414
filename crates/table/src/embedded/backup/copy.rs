//! Copying log frames into a segment of their own, and checksums of files.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::embedded::disk::{Disk, Segment};
use crate::embedded::log::{Frame, seal, segment_name};
use crate::error::Error;

/// The first segment of a new log.
const FIRST_ORDINAL: u64 = 1;

/// A log of one segment that is being copied.
pub(super) struct LogCopy {
    segment: Arc<dyn Segment>,
    offset: u64,
}

impl LogCopy {
    /// An empty log on `disk`.
    pub(super) fn create(disk: &dyn Disk) -> Result<LogCopy, Error> {
        let created = disk.create(&segment_name(FIRST_ORDINAL), 0);
        let segment = created.map_err(|cause| Error::io("copying the log", &cause))?;
        Ok(LogCopy { segment, offset: 0 })
    }

    /// Adds a frame as it is.
    pub(super) fn add(&mut self, frame: &Frame) -> Result<(), Error> {
        let bytes = frame.encode();
        let written = self.segment.write_at(&bytes, self.offset);
        written.map_err(|cause| Error::io("copying the log", &cause))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Ends the log behind change `last`.
    pub(super) fn finish(self, last: u64, time_ms: u64) -> Result<(), Error> {
        let sealed = seal(&*self.segment, self.offset, last, time_ms);
        sealed.map_err(|cause| Error::io("copying the log", &cause))
    }
}

/// Length and crc32c of a file.
pub(super) fn checksum(path: &Path) -> Result<(u64, u32), Error> {
    let failed = |cause| Error::io(format!("reading {}", path.display()), &cause);
    let mut file = File::open(path).map_err(failed)?;
    let mut buffer = vec![0; 1024 * 1024];
    let (mut length, mut crc) = (0, 0);
    loop {
        let read = file.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            return Ok((length, crc));
        }
        crc = crc32c::crc32c_append(crc, buffer.get(..read).unwrap_or(&buffer));
        length += read as u64;
    }
}

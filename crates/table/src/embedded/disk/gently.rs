//! Writing much beside a log that is synced all the time.
//!
//! What stands in the disk's queue before a sync of the log is what a writer waits for. So large
//! writes go to the disk in small slices, with rests between them.

use std::fs::File;
use std::io;
use std::time::Duration;

use base::Clock;

use crate::embedded::kernel;

/// What is handed to the disk at once.
pub(crate) const SLICE_BYTES: u64 = 256 * 1024;
/// Of the time that a slice took, the part that the disk then belongs to others. More makes
/// writers smoother and settling slower.
const REST: f64 = 0.5;

/// A slice that took less had nothing to write.
const IDLE: Duration = Duration::from_micros(50);

/// Hands the dirty pages of `file` between two offsets to the disk, slice by slice, as long as
/// somebody is `disturbed`; the rest is left to the sync that must follow, which hands out all at
/// once. It is also what makes them durable: the disk may have a cache of its own.
pub(crate) fn write_back(
    file: &File,
    from: u64,
    to: u64,
    disturbed: impl Fn() -> bool,
) -> io::Result<()> {
    let clock = Clock::real();
    let mut offset = from;
    while offset < to && disturbed() {
        let begun = clock.instant();
        kernel::write_back(file, offset, SLICE_BYTES.min(to - offset))?;
        let took = clock.instant().since(begun);
        if took > IDLE {
            std::thread::sleep(took.mul_f64(REST));
        }
        offset += SLICE_BYTES;
    }
    Ok(())
}

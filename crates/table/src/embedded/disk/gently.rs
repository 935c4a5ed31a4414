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
/// The same when there is less time: the disk works on many pages at once, and a sync of the log
/// waits a little longer.
const LARGE_SLICE_BYTES: u64 = 4 * SLICE_BYTES;
/// Of the time that a slice took, the part that the disk then belongs to others. More makes
/// writers smoother and settling slower.
const REST: f64 = 0.5;

/// A slice that took less had nothing to write.
const IDLE: Duration = Duration::from_micros(50);

/// How soon something must be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Nobody waits for it.
    Low,
    /// Somebody will wait if it takes longer.
    Rising,
    /// Somebody waits.
    High,
}

/// Hands the dirty pages of `file` between two offsets to the disk, slice by slice, until somebody
/// waits for it; the rest is left to the sync that must follow, which hands out all at once. It is
/// also what makes them durable: the disk may have a cache of its own.
pub(crate) fn write_back(
    file: &File,
    from: u64,
    to: u64,
    urgency: impl Fn() -> Urgency,
) -> io::Result<()> {
    let clock = Clock::real();
    let mut offset = from;
    while offset < to {
        let (slice, rest) = match urgency() {
            Urgency::Low => (SLICE_BYTES, REST),
            Urgency::Rising => (LARGE_SLICE_BYTES, 0.0),
            Urgency::High => break,
        };
        let begun = clock.instant();
        kernel::write_back(file, offset, slice.min(to - offset))?;
        let took = clock.instant().since(begun);
        if took > IDLE {
            std::thread::sleep(took.mul_f64(rest));
        }
        offset += slice;
    }
    Ok(())
}

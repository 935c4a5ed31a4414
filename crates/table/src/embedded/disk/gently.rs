//! Writing much beside a log that is synced all the time.
//!
//! What stands in the disk's queue before a sync of the log is what a writer waits for. So large
//! writes go to the disk in small slices, with rests between them.

use std::fs::File;
use std::io;
use std::time::Duration;

use base::Clock;

/// What is handed to the disk at once.
pub(crate) const SLICE_BYTES: u64 = 256 * 1024;
/// Of the time that a slice took, the part that the disk then belongs to others. More makes
/// writers smoother and settling slower.
const REST: f64 = 0.5;

/// A slice that took less had nothing to write.
const IDLE: Duration = Duration::from_micros(50);

/// Hands the dirty pages of `file` between two offsets to the disk, slice by slice. It may still
/// hold them in a cache of its own: only a sync makes them durable. Rests only while somebody is
/// `disturbed`.
pub(crate) fn write_back(
    file: &File,
    from: u64,
    to: u64,
    disturbed: impl Fn() -> bool,
) -> io::Result<()> {
    let clock = Clock::real();
    let mut offset = from;
    while offset < to {
        let begun = clock.instant();
        write_back_slice(file, offset, SLICE_BYTES.min(to - offset))?;
        let took = clock.instant().since(begun);
        if took > IDLE && disturbed() {
            std::thread::sleep(took.mul_f64(REST));
        }
        offset += SLICE_BYTES;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a system call that no safe crate offers")]
fn write_back_slice(file: &File, offset: u64, length: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (offset, length) = (offset.cast_signed(), length.cast_signed());
    // SAFETY: the call takes no memory, and the descriptor is open for as long as `file` lives.
    let failed = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, all) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(not(target_os = "linux"))]
fn write_back_slice(_file: &File, _offset: u64, _length: u64) -> io::Result<()> {
    Ok(())
}

//! A look at the ground for a store, before there is one or beside one that is open.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use base::Clock;

use super::private;

/// Syncs that are timed; the one in the middle counts.
const SYNCS: usize = 15;

/// What a directory offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ground {
    /// Space for whoever may write there.
    pub free_bytes: u64,
    /// How long a small write takes until it is on disk.
    pub sync: Duration,
}

/// Tries a directory, which need not be there yet: its nearest parent is tried then. Nothing is
/// left behind, and a store that is there is not touched.
///
/// # Errors
/// It cannot be written.
pub fn examine(path: &Path, clock: &Clock) -> io::Result<Ground> {
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    let stat = rustix::fs::statvfs(there)?;
    let probe = there.join(format!(".nagaya-probe-{}", std::process::id()));
    let mut file = private::read_write().create_new(true).open(&probe)?;
    let times = time_syncs(&mut file, clock);
    fs::remove_file(&probe)?;
    let mut times = times?;
    times.sort_unstable();
    let sync = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok(Ground { free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize), sync })
}

/// Space of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// For whoever may write there.
    pub free_bytes: u64,
    /// Of the whole disk.
    pub total_bytes: u64,
}

/// The space of the disk that a path is on. Nothing is written.
///
/// # Errors
/// There is no such path.
pub fn space_at(path: &Path) -> io::Result<Space> {
    let stat = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Ok(Space { free_bytes: bytes(stat.f_bavail), total_bytes: bytes(stat.f_blocks) })
}

fn time_syncs(file: &mut File, clock: &Clock) -> io::Result<Vec<Duration>> {
    // As the log does it: over what is written already, so that a sync moves no more than data.
    file.write_all(&[0; 512 * SYNCS])?;
    file.sync_all()?;
    let mut times = Vec::with_capacity(SYNCS);
    for place in 0..SYNCS as u64 {
        let began = clock.instant();
        file.write_all_at(&[1; 512], 512 * place)?;
        file.sync_data()?;
        times.push(clock.instant().since(began));
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use base::Clock;

    use super::{examine, space_at};

    #[test]
    fn a_directory_is_tried_and_left_as_it_was() {
        let directory = tempfile::TempDir::new().unwrap();
        let ground = examine(&directory.path().join("not/yet"), &Clock::real()).unwrap();
        assert!(ground.free_bytes > 0 && !ground.sync.is_zero());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_disk_has_no_more_free_space_than_space() {
        let space = space_at(&std::env::temp_dir()).unwrap();
        assert!(space.free_bytes <= space.total_bytes && space.total_bytes > 0);
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(examine(&file.path().join("house"), &Clock::real()).is_err());
    }
}

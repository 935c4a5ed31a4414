//! Files that only their owner may read: directories are 0700 and files 0600, whatever the umask.
//!
//! Everything that the engine creates is created through this module. [`correct`] repairs a house
//! that an earlier version, another tool or a careless copy has left open to others.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// The bits of a mode that let others in: group and world.
const OTHERS: u32 = 0o077;
/// The sticky bit. A directory that has it, such as one for temporary files, is shared on purpose.
const SHARED: u32 = 0o1000;

/// Creates a directory and its missing parents. One that exists is left as it is.
pub(super) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)
}

/// Options that open a file for reading and writing; a file that they create is private.
pub(super) fn read_write() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(FILE_MODE);
    options
}

/// Creates an empty file, or empties the one that is there.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let file = read_write().create(true).truncate(true).open(path)?;
    // One that was there has kept its mode.
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    Ok(file)
}

/// Closes the house at `path` to others, and logs one line if something was open. What cannot be
/// changed, because it belongs to somebody else, is logged and left: the house works without.
///
/// Only the files in `parts` are touched, not others that lie beside them; nor is a directory that
/// is shared on purpose.
pub(super) fn correct(path: &Path, parts: &[&str]) {
    let mut correction = Correction::default();
    if let Ok(metadata) = fs::metadata(path)
        && metadata.permissions().mode() & SHARED == 0
    {
        correction.close(path, &metadata);
    }
    for part in parts {
        correction.walk(&path.join(part));
    }
    let path = path.display();
    if correction.closed > 0 {
        let files = correction.closed;
        tracing::warn!(%path, files, "other users could read the data directory; now it is private");
    }
    if let Some((file, cause)) = correction.failed {
        tracing::warn!(%path, file, %cause, "other users may read the data directory");
    }
}

#[derive(Default)]
struct Correction {
    closed: u64,
    /// The first that could not be closed.
    failed: Option<(String, io::Error)>,
}

impl Correction {
    fn walk(&mut self, path: &Path) {
        // A link is followed nowhere: what it leads to may belong to something else.
        let Ok(metadata) = fs::symlink_metadata(path) else { return };
        if metadata.is_symlink() {
            return;
        }
        self.close(path, &metadata);
        if metadata.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.for_each(|entry| self.walk(&entry.path()));
        }
    }

    fn close(&mut self, path: &Path, metadata: &fs::Metadata) {
        let mode = metadata.permissions().mode();
        if mode & OTHERS == 0 {
            return;
        }
        match fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS)) {
            Ok(()) => self.closed += 1,
            Err(cause) if self.failed.is_none() => {
                self.failed = Some((path.display().to_string(), cause));
            }
            Err(_) => {}
        }
    }
}

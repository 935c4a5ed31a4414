//! The data directory: who may use it, and what it holds.
//!
//!   LOCK           held for as long as the house is open; says who holds it
//!   FORMAT         the version of everything below
//!   settled/       the tree
//!   log/           the change log with its archive
//!   checkpoints/   copies of the tree, for point-in-time restore
//!   backups/       backups, each whole in itself

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::disk::sync_directory;
use super::private;
use crate::error::Error;

/// What this version writes. A reader of an older format upgrades it here, step by step.
const FORMAT: &str = "nagaya 3";

/// Where backups lie in a house.
pub(crate) const BACKUPS: &str = "backups";

/// All that a house keeps in its directory; whatever else lies there belongs to somebody else.
const PARTS: [&str; 7] =
    ["LOCK", "FORMAT", "FORMAT.unfinished", "settled", "log", "checkpoints", BACKUPS];

/// An open data directory. The lock goes with it.
pub(crate) struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Takes the directory, making it if missing, and closes it to other users.
    pub(crate) fn open(path: &Path) -> Result<Directory, Error> {
        let failed = |cause| Error::io(format!("opening {}", path.display()), &cause);
        private::create_directory(path).map_err(failed)?;
        let mut options = private::read_write();
        let mut lock =
            options.create(true).truncate(false).open(path.join("LOCK")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::InUse(path.display().to_string())),
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        lock.set_len(0).map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        private::correct(path, &PARTS);
        check_format(path)?;
        Ok(Directory { path: path.to_owned(), _lock: lock })
    }

    /// Where all of it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the tree lies.
    pub(crate) fn settled(&self) -> PathBuf {
        self.path.join("settled")
    }

    /// Where the log lies.
    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Where checkpoints lie.
    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// Where backups lie.
    pub(crate) fn backups(&self) -> PathBuf {
        self.path.join(BACKUPS)
    }
}

/// Whether a house lies at `path`, of whatever format.
pub(crate) fn is_house(path: &Path) -> bool {
    path.join("FORMAT").exists()
}

/// Whether somebody has the house in `path` open. If not, nobody opens it while the answer lives.
pub(crate) fn look_in(path: &Path) -> Occupancy {
    let Ok(lock) = File::open(path.join("LOCK")) else { return Occupancy::Free(None) };
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => Occupancy::InUse,
        Ok(()) | Err(TryLockError::Error(_)) => Occupancy::Free(Some(lock)),
    }
}

/// Who is in a house.
pub(crate) enum Occupancy {
    /// Somebody, who may be writing.
    InUse,
    /// Nobody, for as long as the lock is held. A backup has no lock to hold.
    Free(#[expect(dead_code, reason = "held, not read")] Option<File>),
}

/// Writes the format of a new directory.
pub(crate) fn write_format(path: &Path) -> Result<(), Error> {
    let failed = |cause| Error::io(format!("writing {}/FORMAT", path.display()), &cause);
    write_whole(&path.join("FORMAT"), format!("{FORMAT}\n").as_bytes()).map_err(failed)
}

/// Whether a folder is one that somebody is still making, or has left half made.
pub(crate) fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Writes a small file so that it is there whole or not at all, whenever the power goes.
pub(crate) fn write_whole(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = file.with_extension("unfinished");
    let mut written = private::create(&unfinished)?;
    written.write_all(bytes)?;
    written.sync_all()?;
    fs::rename(&unfinished, file)?;
    file.parent().map_or(Ok(()), sync_directory)
}

fn check_format(path: &Path) -> Result<(), Error> {
    match fs::read_to_string(path.join("FORMAT")) {
        Ok(found) if found.trim() == FORMAT => Ok(()),
        Ok(found) => Err(Error::UnknownFormat {
            path: path.display().to_string(),
            found: found.trim().to_owned(),
            known: FORMAT.to_owned(),
        }),
        Err(cause) if cause.kind() == ErrorKind::NotFound => write_format(path),
        Err(cause) => Err(Error::io(format!("reading {}/FORMAT", path.display()), &cause)),
    }
}

//! The data directory: who may use it, and what it holds.
//!
//!   LOCK           held for as long as the house is open; says who holds it
//!   FORMAT         the version of everything below
//!   SEGMENTS       which segments the log consists of (`log/manifest.rs`)
//!   settled/       the tree
//!   log/           the change log with its archive
//!   checkpoints/   copies of the tree, for point-in-time restore
//!   backups/       backups, each whole in itself
//!
//! Besides LOCK, the directory itself is locked: LOCK can be removed while it is held, and whoever
//! makes another one holds a lock too. LOCK stays because earlier versions look at nothing else,
//! and because some file systems lock no directories.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::disk::sync_directory;
use super::log::MANIFEST_FILE;
use super::private;
use crate::error::Error;

/// What this version writes. A directory with another format is refused and left as it is.
const FORMAT: &str = "nagaya 3";

/// Where backups lie in a house.
pub(crate) const BACKUPS: &str = "backups";

/// All that a house keeps in its directory; whatever else lies there belongs to somebody else.
const PARTS: [&str; 9] = [
    "LOCK",
    "FORMAT",
    "FORMAT.unfinished",
    MANIFEST_FILE,
    "SEGMENTS.unfinished",
    "settled",
    "log",
    "checkpoints",
    BACKUPS,
];

/// An open data directory. The locks go with it.
pub(crate) struct Directory {
    path: PathBuf,
    _locks: Locks,
}

/// What whoever has a house open holds.
struct Locks {
    _directory: File,
    _file: File,
}

impl Directory {
    /// Takes the directory, making it if missing, and closes it to other users.
    pub(crate) fn open(path: &Path) -> Result<Directory, Error> {
        let failed = |cause| Error::io(format!("opening {}", path.display()), &cause);
        private::create_directory(path).map_err(failed)?;
        let directory = File::open(path).map_err(failed)?;
        if is_taken(&directory) {
            return Err(Error::InUse(path.display().to_string()));
        }
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
        let locks = Locks { _directory: directory, _file: lock };
        Ok(Directory { path: path.to_owned(), _locks: locks })
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

/// A command's turn at a closed house. The next command waits until it is dropped.
///
/// LOCK alone keeps two processes apart; a turn only puts commands in a queue, so that none of them
/// has to guess how long the ones before it take. FORMAT carries it, because every house has one.
pub struct Turn {
    _format: File,
}

impl Turn {
    /// Waits for the turn; calls `noting` first if another command has it.
    pub(crate) fn take(path: &Path, noting: impl FnOnce()) -> Result<Turn, Error> {
        let failed = |cause| Error::io(format!("opening {}/FORMAT", path.display()), &cause);
        let format = File::open(path.join("FORMAT")).map_err(failed)?;
        match format.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                noting();
                format.lock().map_err(failed)?;
            }
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        Ok(Turn { _format: format })
    }
}

/// Whether somebody has the house in `path` open. If not, nobody opens it while the answer lives.
pub(crate) fn look_in(path: &Path) -> Occupancy {
    if !is_house(path) {
        return Occupancy::Free([None, None]);
    }
    let held = [path.to_owned(), path.join("LOCK")].map(|place| File::open(place).ok());
    match held.iter().flatten().any(is_taken) {
        true => Occupancy::InUse,
        false => Occupancy::Free(held),
    }
}

/// Locks a file or directory; whether another process holds it. Where it cannot be locked at all,
/// nobody else has locked it either.
fn is_taken(place: &File) -> bool {
    matches!(place.try_lock(), Err(TryLockError::WouldBlock))
}

/// Who is in a house.
pub(crate) enum Occupancy {
    /// Somebody, who may be writing.
    InUse,
    /// Nobody, for as long as the locks are held. Nobody opens a backup, so it has none.
    Free(#[expect(dead_code, reason = "held, not read")] [Option<File>; 2]),
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
    // One descriptor at a time: there may be no other.
    drop(written);
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

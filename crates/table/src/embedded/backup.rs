//! Backups, and restoring to an instant.
//!
//! A backup is a copy of the tree, the log from there to the moment of the backup, and a manifest
//! with the checksum of each file:
//!
//!   backups/ID/backup.json   what it is, and its files
//!              settled/      the tree
//!              log/          one segment
//!
//! That is the layout of a house, so restoring is copying and opening. A restore to an instant
//! takes the newest checkpoint or backup not after it and the log up to it. `prune.rs` removes
//! backups.

mod copy;
mod prune;
mod restore;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Clock, Timestamp};
use serde::{Deserialize, Serialize};

use self::copy::{LogCopy, checksum};
use super::archive::copy_tree;
use super::directory::{BACKUPS, is_unfinished, write_whole};
use super::disk::{Files, sync_directory};
use super::log::{Next, SegmentReader};
use super::settled::DATA_FILE;
use super::{Engine, blocking, private};
use crate::error::Error;

pub use self::prune::{delete_backup, list_backup_names, prune_backups};
use self::restore::try_restore;
pub(super) use self::restore::{Base, bases_of, nothing_before};
pub use self::restore::{Restored, restore, verify};

const MANIFEST_FILE: &str = "backup.json";

/// A backup, as its manifest tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// Its name: the instant and the last change.
    pub id: String,
    /// When it was made, in milliseconds of Unix time.
    pub created_ms: u64,
    /// The last change in it.
    pub last_change: u64,
    /// The last change in its tree; the log holds the rest.
    settled_change: u64,
    /// No change in its tree is later than this.
    settled_ms: u64,
    /// Its files.
    files: Vec<BackupFile>,
    /// Where it lies.
    #[serde(skip)]
    pub path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BackupFile {
    path: String,
    bytes: u64,
    crc32c: u32,
}

impl Backup {
    /// The backup that lies at `path`, by its manifest.
    pub fn read(path: &Path) -> Result<Backup, Error> {
        let file = path.join(MANIFEST_FILE);
        let bytes = fs::read(&file)
            .map_err(|cause| Error::io(format!("reading {}", file.display()), &cause))?;
        let read = serde_json::from_slice(&bytes).map_err(|cause| Error::Corrupt {
            file: file.display().to_string(),
            offset: 0,
            what: cause.to_string(),
        })?;
        Ok(Backup { path: path.to_owned(), ..read })
    }

    /// Bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// The backups of a house.
pub struct Backups {
    engine: Arc<Engine>,
}

impl Backups {
    pub(super) fn new(engine: Arc<Engine>) -> Backups {
        Backups { engine }
    }

    /// Makes a backup of everything acknowledged so far, while the house goes on.
    pub async fn create(&self) -> Result<Backup, Error> {
        let engine = Arc::clone(&self.engine);
        blocking(move || engine.create_backup()).await
    }

    /// Tries whether the house could be restored as it was at an instant: it is, beside the
    /// backups, looked through, and removed again.
    pub async fn try_restore(&self, at: Timestamp) -> Result<Restored, Error> {
        let engine = Arc::clone(&self.engine);
        let tried = move || match &engine.directory {
            Some(directory) => try_restore(directory, at),
            None => Err(Error::invalid("a house in memory has no past")),
        };
        blocking(tried).await
    }

    /// Removes a backup; answers whether there was one of this name.
    pub async fn delete(&self, id: &str) -> Result<bool, Error> {
        let (engine, id) = (Arc::clone(&self.engine), id.to_owned());
        let deleted = move || match &engine.directory {
            Some(directory) => delete_backup(directory.path(), &id),
            None => Ok(false),
        };
        blocking(deleted).await
    }

    /// How many days a backup is kept; nothing if all of them are kept for good.
    pub fn kept_days(&self) -> Option<u64> {
        Some(self.engine.archive.options.backup_days).filter(|days| *days > 0)
    }

    /// All backups, oldest first.
    pub fn list(&self) -> Result<Vec<Backup>, Error> {
        match &self.engine.directory {
            Some(directory) => list(&directory.backups()),
            None => Ok(Vec::new()),
        }
    }
}

/// The backups of the house at `house`, open or not, oldest first.
pub fn list_backups(house: &Path) -> Result<Vec<Backup>, Error> {
    list(&house.join(BACKUPS))
}

/// The backups in a directory, oldest first.
pub(super) fn list(path: &Path) -> Result<Vec<Backup>, Error> {
    let Ok(entries) = fs::read_dir(path) else { return Ok(Vec::new()) };
    let mut backups = Vec::new();
    for entry in entries.flatten() {
        if entry.path().join(MANIFEST_FILE).exists() && !is_unfinished(&entry.path()) {
            backups.push(Backup::read(&entry.path())?);
        }
    }
    backups.sort_by(|one, other| (one.created_ms, &one.id).cmp(&(other.created_ms, &other.id)));
    Ok(backups)
}

impl Engine {
    fn create_backup(&self) -> Result<Backup, Error> {
        let (Some(directory), Some(tree)) = (&self.directory, &self.rows.tree) else {
            return Err(Error::invalid("a house in memory has no backups"));
        };
        let _one_at_a_time = self.archive.copying.lock();
        let path = directory.backups();
        let unfinished = path.join(".unfinished");
        let failed = |cause| Error::io("making a backup", &cause);
        let _ = fs::remove_dir_all(&unfinished);
        private::create_directory(&unfinished.join("settled")).map_err(failed)?;
        // Read before the copy: the log is copied from the tree's end to here or further.
        let until = self.rows.visible.load(Ordering::Acquire);
        let checkpoint = copy_tree(tree, &unfinished.join("settled"))?;
        let last_change = self.copy_log(&unfinished.join("log"), checkpoint.seq, until)?;
        let now = self.clock.now();
        let backup = Backup {
            id: name(now, last_change),
            created_ms: now.millis(),
            last_change,
            settled_change: checkpoint.seq,
            settled_ms: checkpoint.time_ms,
            files: list_files(&unfinished)?,
            path: path.join(name(now, last_change)),
        };
        let manifest =
            serde_json::to_vec_pretty(&backup).expect("a manifest always has a JSON form");
        write_whole(&unfinished.join(MANIFEST_FILE), &manifest).map_err(failed)?;
        sync_directory(&unfinished.join("settled")).map_err(failed)?;
        // A second one within the second holds the same changes.
        let _ = fs::remove_dir_all(&backup.path);
        fs::rename(&unfinished, &backup.path).map_err(failed)?;
        sync_directory(&path).map_err(failed)?;
        Ok(backup)
    }

    /// Copies the frames behind change `after` up to `until`; answers the last change reached.
    fn copy_log(&self, target: &Path, after: u64, until: u64) -> Result<u64, Error> {
        let disk = Files::open(target).map_err(|cause| Error::io("copying the log", &cause))?;
        let mut copy = LogCopy::create(&disk)?;
        let mut reached = after;
        let mut ordinal = match after < until {
            true => self.segment_behind(after)?,
            false => return copy.finish(after, 0).map(|()| after),
        };
        let mut reader = SegmentReader::open(&*self.disk, ordinal)?;
        let mut time_ms = 0;
        while reached < until {
            match reader.next()? {
                Next::Frame(frame) if frame.head.last > after => {
                    copy.add(&frame)?;
                    (reached, time_ms) = (frame.head.last, frame.head.time_ms);
                }
                Next::Frame(_) => {}
                Next::Sealed => {
                    ordinal = self.segment_following(ordinal)?;
                    reader = SegmentReader::open(&*self.disk, ordinal)?;
                }
                Next::Unwritten | Next::Torn => {
                    return Err(reader.damaged("a durable frame is not where it was written"));
                }
            }
        }
        copy.finish(reached, time_ms)?;
        Ok(reached)
    }
}

/// `20261115T101500Z-0000001234`: sorts by time, and says what it holds.
fn name(now: Timestamp, last_change: u64) -> String {
    let text = now.to_string();
    let seconds = text.split('.').next().unwrap_or(&text);
    let compact: String = seconds.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{compact}Z-{last_change:010}")
}

fn list_files(path: &Path) -> Result<Vec<BackupFile>, Error> {
    let mut files = Vec::new();
    let mut paths: Vec<PathBuf> = vec![path.join("settled").join(DATA_FILE)];
    let failed = |cause| Error::io("listing a backup", &cause);
    for entry in fs::read_dir(path.join("log")).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    for file in paths {
        let (bytes, crc32c) = checksum(&file)?;
        let name = file.strip_prefix(path).unwrap_or(&file).display().to_string();
        files.push(BackupFile { path: name, bytes, crc32c });
    }
    Ok(files)
}

/// A clock for houses that are opened only to be looked at.
fn any_clock() -> Clock {
    Clock::real()
}

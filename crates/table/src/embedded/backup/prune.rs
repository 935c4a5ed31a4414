//! Removing backups: one by its name, or all that are older than they are kept.
//!
//! These functions work on the files, so a command may call them while the house is open. A backup is
//! renamed before it is removed: it is there whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use base::Timestamp;

use super::{BACKUPS, Backup, MANIFEST_FILE};
use crate::embedded::directory::is_unfinished;
use crate::embedded::disk::sync_directory;
use crate::error::Error;

/// What the folder of a backup that is being removed is called, before its name.
const REMOVED: &str = ".removed-";
const DAY_MS: u64 = 86_400_000;

/// The names of all backups of the house at `house`, damaged ones too, oldest first.
pub fn list_backup_names(house: &Path) -> Vec<String> {
    let all = folders(&house.join(BACKUPS)).unwrap_or_default();
    let backups = all.iter().filter(|path| is_backup(path)).filter_map(|path| path.file_name());
    let mut names: Vec<String> = backups.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn is_backup(path: &Path) -> bool {
    !is_unfinished(path) && path.join(MANIFEST_FILE).exists()
}

/// Removes a backup of the house at `house`, damaged or not; answers whether there was one of this
/// name.
///
/// # Errors
/// It cannot be removed.
pub fn delete_backup(house: &Path, id: &str) -> Result<bool, Error> {
    let backups = house.join(BACKUPS);
    // Only what is listed can be named, whatever a name leads to.
    match list_backup_names(house).iter().any(|name| name == id) {
        true => remove(&backups, &backups.join(id)).map(|()| true),
        false => Ok(false),
    }
}

/// Removes the backups of the house at `house` that are older than so many days, but never the
/// newest; answers them, oldest first. One whose manifest cannot be read stays.
///
/// # Errors
/// One of them cannot be removed.
pub fn prune_backups(house: &Path, days: u64, now: Timestamp) -> Result<Vec<Backup>, Error> {
    let path = house.join(BACKUPS);
    let mut backups = Vec::new();
    for folder in folders(&path)? {
        let is_left = folder.file_name().is_some_and(|n| n.to_string_lossy().starts_with(REMOVED));
        if is_left {
            remove_folder(&folder)?;
        } else if !is_unfinished(&folder) {
            backups.extend(Backup::read(&folder).ok());
        }
    }
    backups.sort_by(|one, other| (one.created_ms, &one.id).cmp(&(other.created_ms, &other.id)));
    backups.pop();
    let oldest = now.millis().saturating_sub(days.saturating_mul(DAY_MS));
    backups.retain(|backup| backup.created_ms < oldest);
    backups.iter().try_for_each(|backup| remove(&path, &backup.path))?;
    Ok(backups)
}

fn folders(path: &Path) -> Result<Vec<PathBuf>, Error> {
    // A house that has made no backup has no place for them.
    let Ok(entries) = fs::read_dir(path) else { return Ok(Vec::new()) };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<Result<_, _>>().map_err(|cause| Error::io("listing the backups", &cause))
}

fn remove(backups: &Path, path: &Path) -> Result<(), Error> {
    let failed = |cause| Error::io(format!("removing {}", path.display()), &cause);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let removed = backups.join(format!("{REMOVED}{name}"));
    fs::rename(path, &removed).map_err(failed)?;
    sync_directory(backups).map_err(failed)?;
    remove_folder(&removed)
}

fn remove_folder(path: &Path) -> Result<(), Error> {
    let removed = fs::remove_dir_all(path);
    removed.map_err(|cause| Error::io(format!("removing {}", path.display()), &cause))
}

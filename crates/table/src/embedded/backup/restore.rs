//! Restoring: from a backup, or from a house's own past, into a new directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Timestamp;

use super::copy::{LogCopy, checksum};
use super::{Backup, MANIFEST_FILE, any_clock, list_backups};
use crate::embedded::archive::{checkpoint_path, list_checkpoints};
use crate::embedded::directory::{Directory, Occupancy, is_house, look_in, write_format};
use crate::embedded::disk::{Disk, Files, MemoryDisk};
use crate::embedded::log::{
    Next, SegmentReader, listed_segments, missing_segment, segment_ordinals,
};
use crate::embedded::settled::{DATA_FILE, Tree};
use crate::embedded::{Embedded, Engine, Past, private};
use crate::error::Error;
use crate::options::Options;

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The last change in the restored house.
    pub last_change: u64,
    /// Tables in it.
    pub tables: usize,
    /// Items in them.
    pub items: u64,
}

/// What a restore starts from: a tree that ends at `seq`, no change of it later than `time_ms`.
pub(in crate::embedded) struct Base {
    pub(in crate::embedded) data: Option<PathBuf>,
    pub(in crate::embedded) seq: u64,
    pub(in crate::embedded) time_ms: u64,
}

/// Restores the house in `source` (a data directory, open or not) as it was at `at` (milliseconds
/// of Unix time), or the backup `source`, into `target`, which must not hold anything yet.
pub fn restore(source: &Path, at_ms: Option<u64>, target: &Path) -> Result<Restored, Error> {
    if fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::invalid(format!("`{}` is not empty", target.display())));
    }
    let restored = restore_into(source, at_ms, target);
    if restored.is_err() {
        // Half a house must not be taken for one.
        clear(target);
    }
    restored
}

fn restore_into(source: &Path, at_ms: Option<u64>, target: &Path) -> Result<Restored, Error> {
    let occupancy = look_in(source);
    let bases = if source.join(MANIFEST_FILE).exists() {
        let backup = Backup::read(source)?;
        check_files(source, &backup)?;
        vec![base_of(source, &backup)]
    } else if source.join("log").exists() {
        bases_of(source)?
    } else if is_house(source) {
        let what = "the directory is missing".to_owned();
        return Err(Error::Corrupt { file: "log".to_owned(), offset: 0, what });
    } else {
        let path = source.display();
        return Err(Error::invalid(format!("`{path}` holds neither a house nor a backup")));
    };
    let limit = at_ms.unwrap_or(u64::MAX);
    let begins = bases.iter().map(|base| base.time_ms).min();
    let usable = bases.into_iter().filter(|base| base.time_ms <= limit);
    let Some(base) = usable.max_by_key(|base| base.seq) else {
        return Err(nothing_before(source, begins));
    };
    let failed = |cause| Error::io(format!("restoring to {}", target.display()), &cause);
    private::create_directory(&target.join("settled")).map_err(failed)?;
    if let Some(data) = &base.data {
        copy_file(data, &target.join("settled").join(DATA_FILE)).map_err(failed)?;
    }
    let live = matches!(occupancy, Occupancy::InUse);
    copy_log(&log_of(source)?, &log_of(target)?, base.seq, limit, live)?;
    write_format(target)?;
    open_and_tell(target)
}

/// Copies what a file holds, not who may read it: a backup of an earlier version may be open to
/// others.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut private::create(to)?).map(drop)
}

/// Why a restore has nothing to start from.
pub(in crate::embedded) fn nothing_before(source: &Path, begins: Option<u64>) -> Error {
    if let Some(begins) = begins {
        let begins = Timestamp::from_millis(begins);
        let why = format!("the past that is kept begins at {begins}, after that instant");
        return Error::invalid(why);
    }
    let first_missing = || -> Result<Option<u64>, Error> {
        let disk = log_of(source)?;
        let (listed, found) = (listed_segments(&disk)?, segment_ordinals(&disk)?);
        Ok(listed.into_iter().find(|ordinal| !found.contains(ordinal)))
    };
    match first_missing() {
        Ok(Some(ordinal)) => missing_segment(ordinal),
        Ok(None) => Error::invalid("there is no past: nothing was ever written"),
        Err(error) => error,
    }
}

fn log_of(path: &Path) -> Result<Files, Error> {
    Files::open(&path.join("log")).map_err(|cause| Error::io("copying the log", &cause))
}

/// Removes everything in a directory.
fn clear(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
    }
}

/// Checks a backup: every file's checksum, then a trial restore beside it with a full check.
pub fn verify(backup: &Path) -> Result<Restored, Error> {
    let manifest = Backup::read(backup)?;
    check_files(backup, &manifest)?;
    let trial = backup.with_file_name(format!(".verify-{}", manifest.id));
    restore_on_trial(backup, None, &trial)
}

/// A trial restore of a house that is open, among its backups, with a full check.
pub(super) fn try_restore(house: &Directory, at: Timestamp) -> Result<Restored, Error> {
    let trial = house.backups().join(format!(".try-{}", at.millis()));
    restore_on_trial(house.path(), Some(at.millis()), &trial)
}

/// Leaves nothing behind.
fn restore_on_trial(source: &Path, at_ms: Option<u64>, trial: &Path) -> Result<Restored, Error> {
    let _ = fs::remove_dir_all(trial);
    let outcome = restore(source, at_ms, trial).and_then(|restored| {
        let report = open(trial)?.engine.check()?;
        match report.problems.first() {
            None => Ok(restored),
            Some(problem) => Err(Error::Corrupt {
                file: source.display().to_string(),
                offset: 0,
                what: problem.clone(),
            }),
        }
    });
    let _ = fs::remove_dir_all(trial);
    outcome
}

fn check_files(path: &Path, backup: &Backup) -> Result<(), Error> {
    for file in &backup.files {
        let (bytes, crc32c) = checksum(&path.join(&file.path))?;
        if (bytes, crc32c) != (file.bytes, file.crc32c) {
            return Err(Error::Corrupt {
                file: format!("{}/{}", path.display(), file.path),
                offset: 0,
                what: "length or checksum differ from the manifest".to_owned(),
            });
        }
    }
    Ok(())
}

fn base_of(path: &Path, backup: &Backup) -> Base {
    let data = Some(path.join("settled").join(DATA_FILE));
    Base { data, seq: backup.settled_change, time_ms: backup.settled_ms }
}

/// Everything in a house's past that a restore can start from. Its log must reach each of them.
pub(in crate::embedded) fn bases_of(source: &Path) -> Result<Vec<Base>, Error> {
    let begins = log_begins(&source.join("log"))?;
    let mut bases = Vec::new();
    let checkpoints = source.join("checkpoints");
    for checkpoint in list_checkpoints(&checkpoints)? {
        let data = checkpoint_path(&checkpoints, checkpoint.seq).join(DATA_FILE);
        bases.push(Base { data: Some(data), seq: checkpoint.seq, time_ms: checkpoint.time_ms });
    }
    for backup in list_backups(source)? {
        bases.push(base_of(&backup.path, &backup));
    }
    bases.push(Base { data: None, seq: 0, time_ms: 0 });
    bases.retain(|base| begins.is_some_and(|begins| begins <= base.seq));
    Ok(bases)
}

/// The change behind which the log begins; `None` if there is no log.
fn log_begins(path: &Path) -> Result<Option<u64>, Error> {
    let disk = Files::open(path).map_err(|cause| Error::io("reading the log", &cause))?;
    let Some(first) = segment_ordinals(&disk)?.first().copied() else { return Ok(None) };
    match SegmentReader::open(&disk, first)?.next()? {
        Next::Frame(frame) => Ok(Some(frame.head.previous)),
        Next::Sealed | Next::Unwritten | Next::Torn => Ok(None),
    }
}

/// Copies the frames after change `after`, up to `until_ms`, into a log of one segment. Fails if a
/// listed segment that may hold some of them is missing.
///
/// In a live house the writer is ahead of this copy: frames may have been added after their place
/// was read, and the last frame of the log may not be acknowledged yet. The copy is the log as it
/// was at a moment after this call began.
fn copy_log(
    from: &dyn Disk,
    to: &dyn Disk,
    after: u64,
    until_ms: u64,
    live: bool,
) -> Result<(), Error> {
    let mut copy = LogCopy::create(to)?;
    let (mut reached, mut time_ms, mut before) = (after, 0, None);
    // The list first: a segment that is made meanwhile is a file before it is listed.
    let mut all = listed_segments(from)?;
    let found = segment_ordinals(from)?;
    all.extend(&found);
    let (mut missing, mut is_sealed) = (None, true);
    'segments: for ordinal in all {
        if !found.contains(&ordinal) {
            // Without a seal before it, it was prepared and never used (`log/manifest.rs`).
            missing = missing.or(is_sealed.then_some(ordinal));
            continue;
        }
        let mut reader = SegmentReader::open(from, ordinal)?;
        loop {
            let frame = match reader.next() {
                Ok(Next::Frame(frame)) => frame,
                Ok(end @ (Next::Sealed | Next::Unwritten | Next::Torn)) => {
                    is_sealed = matches!(end, Next::Sealed);
                    break;
                }
                Err(error) if live && !reader.is_followed()? => {
                    tracing::info!(%error, "the end of the log is being written");
                    break 'segments;
                }
                Err(error) => return Err(error),
            };
            if before != Some(frame.head.previous) && frame.head.previous > after {
                match missing {
                    Some(ordinal) => return Err(missing_after(ordinal, time_ms)),
                    None if live && before.is_some() => break 'segments,
                    None => return Err(reader.damaged("changes are missing before it")),
                }
            }
            // No frame that is needed was in it.
            missing = None;
            before = Some(frame.head.last);
            if frame.head.time_ms > until_ms {
                break 'segments;
            }
            if frame.head.last > after {
                copy.add(&frame)?;
                (reached, time_ms) = (frame.head.last, frame.head.time_ms);
            }
        }
    }
    // A house that closes takes a prepared segment off the list before it removes the file.
    if let Some(ordinal) = missing
        && listed_segments(from)?.contains(&ordinal)
    {
        return Err(missing_after(ordinal, time_ms));
    }
    copy.finish(reached, time_ms)
}

/// Says that a segment is missing, and up to which instant a restore needs nothing of it. `time_ms` is
/// the time of the last frame before it, 0 if there is none; the missing segment may begin within the
/// same millisecond.
fn missing_after(ordinal: u64, time_ms: u64) -> Error {
    match (missing_segment(ordinal), time_ms.checked_sub(1).map(Timestamp::from_millis)) {
        (Error::Corrupt { file, offset, what }, Some(instant)) => {
            let what = format!("{what}; the log before it can be restored as of {instant}");
            Error::Corrupt { file, offset, what }
        }
        (error, _) => error,
    }
}

impl Engine {
    /// The house as it was at an instant, opened beside this one.
    pub(in crate::embedded) fn past(&self, at_ms: u64) -> Result<Past, Error> {
        let Some(directory) = &self.directory else {
            // All of its past is its log.
            self.segment_behind(0)?;
            let log = MemoryDisk::default();
            copy_log(&*self.disk, &log, 0, at_ms, true)?;
            let (log, options) = (Arc::new(log), Options::in_memory());
            let house = Engine::start(None, None, log, options, self.clock.clone())?;
            return Ok(Past::new(house, None));
        };
        let path = directory.backups().join(".past");
        // The rest of one that a crash left behind.
        let _ = fs::remove_dir_all(&path);
        restore(directory.path(), Some(at_ms), &path)?;
        Ok(Past::new(open(&path)?, Some(path)))
    }

    /// The first instant to which the house can be restored, in milliseconds of Unix time.
    pub(in crate::embedded) fn past_begins_ms(&self) -> Result<Option<u64>, Error> {
        match &self.directory {
            Some(directory) => {
                Ok(bases_of(directory.path())?.iter().map(|base| base.time_ms).min())
            }
            None => match self.segment_behind(0) {
                Ok(_) => Ok(Some(0)),
                Err(Error::TooOld { .. }) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }
}

fn open(path: &Path) -> Result<Embedded, Error> {
    let directory = Directory::open(path)?;
    let tree = Tree::open(&directory.settled())?;
    let log =
        Files::open(&directory.log()).map_err(|cause| Error::io("opening the log", &cause))?;
    Engine::start(Some(directory), Some(tree), Arc::new(log), Options::default(), any_clock())
}

fn open_and_tell(path: &Path) -> Result<Restored, Error> {
    let house = open(path)?;
    let names = house.engine.list();
    let items = names.iter().map(|name| Ok(house.engine.describe(name)?.items));
    let items = items.sum::<Result<u64, Error>>()?;
    let restored = Restored { last_change: house.last_change(), tables: names.len(), items };
    house.close()?;
    Ok(restored)
}

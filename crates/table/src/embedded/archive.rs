//! What is kept of the past: old log segments and checkpoints of the tree.
//!
//! A restore to an instant starts from the newest checkpoint not after it, or from nothing, and
//! replays the log from there. So a segment may go only when a checkpoint behind it is kept, and
//! the oldest segment kept decides how far back a restore can go.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use base::{Tasks, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::as_of::LOOKS_MAX;
use super::backup::prune_backups;
use super::directory::{Directory, is_unfinished, write_whole};
use super::disk::{Disk, sync_directory};
use super::log::{Next, SegmentReader, SegmentSummary, segment_name, segment_ordinals};
use super::private;
use super::settled::{DATA_FILE, Tree, forget};
use super::{Engine, blocking};
use crate::error::Error;
use crate::options::Options;

/// How often the archive is looked after.
const PAUSE: Duration = Duration::from_secs(60);
/// Checkpoints kept, at most. Each is a whole copy of the tree; between two of them a restore
/// replays the log, which costs time only.
const CHECKPOINTS_MAX: usize = 4;
/// A tree file larger than this of which less than half is in use is rewritten at the next start.
const HOLLOW_BYTES_MIN: u64 = 64 * 1024 * 1024;
const MANIFEST_FILE: &str = "checkpoint.json";

/// Which segments there are, as far as they have been looked at.
pub(super) struct Archive {
    pub(super) options: Options,
    segments: Mutex<BTreeMap<u64, Begins>>,
    /// Held while the tree is copied: two copies would be made in one place.
    pub(super) copying: Mutex<()>,
    /// Turns of those who look at the past (`as_of.rs`).
    pub(super) looks: Arc<Semaphore>,
}

/// Where a segment begins.
#[derive(Clone, Copy, Debug)]
struct Begins {
    previous: u64,
    first_ms: u64,
}

/// A segment of the log.
pub(super) struct SegmentPlace {
    pub(super) ordinal: u64,
    /// The last change before it.
    pub(super) previous: u64,
    /// The time of its first change, in milliseconds of Unix time.
    pub(super) first_ms: u64,
}

/// A copy of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// The last change in it.
    pub(super) seq: u64,
    /// No change in it is later than this, in milliseconds of Unix time.
    pub(super) time_ms: u64,
}

impl Archive {
    pub(super) fn new(options: Options, segments: Vec<SegmentSummary>) -> Archive {
        let begins = segments.into_iter().map(|segment| {
            (segment.ordinal, Begins { previous: segment.previous, first_ms: segment.first_ms })
        });
        Archive {
            options,
            segments: Mutex::new(begins.collect()),
            copying: Mutex::new(()),
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
        }
    }

    /// Looks at segments up to `current` that were not there before, and forgets removed ones.
    fn refresh(&self, disk: &dyn Disk, current: u64) -> Result<BTreeMap<u64, Begins>, Error> {
        let ordinals = segment_ordinals(disk)?;
        let mut segments = self.segments.lock();
        segments.retain(|ordinal, _| ordinals.contains(ordinal));
        for ordinal in ordinals.into_iter().filter(|ordinal| *ordinal <= current) {
            if segments.contains_key(&ordinal) {
                continue;
            }
            if let Next::Frame(frame) = SegmentReader::open(disk, ordinal)?.next()? {
                let (previous, first_ms) = (frame.head.previous, frame.head.time_ms);
                segments.insert(ordinal, Begins { previous, first_ms });
            }
        }
        Ok(segments.clone())
    }
}

impl Engine {
    /// All segments that hold changes, oldest first.
    pub(super) fn archive_segments(&self) -> Result<Vec<SegmentPlace>, Error> {
        let segments = self.archive.refresh(&*self.disk, self.commits.log_ordinal())?;
        let place = |(ordinal, begins): (u64, Begins)| {
            let Begins { previous, first_ms } = begins;
            SegmentPlace { ordinal, previous, first_ms }
        };
        Ok(segments.into_iter().map(place).collect())
    }

    /// When the oldest change was made that the log holds, in milliseconds of Unix time.
    pub(super) fn first_frame_ms(&self) -> Result<Option<u64>, Error> {
        Ok(self.archive_segments()?.first().map(|segment| segment.first_ms))
    }

    /// Bytes of the segments between change `seq` and an instant.
    pub(super) fn log_bytes_between(&self, seq: u64, at: Timestamp) -> Result<u64, Error> {
        let segments = self.archive_segments()?;
        let first = segments.iter().rposition(|segment| segment.previous <= seq).unwrap_or(0);
        let wanted = segments.iter().skip(first);
        let wanted = wanted.take_while(|segment| segment.first_ms <= at.millis());
        let lengths = wanted.map(|segment| {
            let name = segment_name(segment.ordinal);
            let length = self.disk.open(&name).and_then(|segment| segment.len());
            length.map_err(|cause| Error::io(format!("reading log/{name}"), &cause))
        });
        lengths.sum()
    }

    /// The segment in which the change behind `after` stands.
    pub(super) fn segment_behind(&self, after: u64) -> Result<u64, Error> {
        let segments = self.archive.refresh(&*self.disk, self.commits.log_ordinal())?;
        let holding = segments.iter().rev().find(|(_, begins)| begins.previous <= after);
        holding.map(|(ordinal, _)| *ordinal).ok_or_else(|| {
            let oldest = segments.values().next().map_or(0, |begins| begins.previous);
            Error::TooOld { after, oldest }
        })
    }

    /// The segment that follows a sealed one.
    pub(super) fn segment_following(&self, ordinal: u64) -> Result<u64, Error> {
        let segments = self.archive.refresh(&*self.disk, self.commits.log_ordinal())?;
        let next = segments.range(ordinal + 1..).next();
        next.map(|(ordinal, _)| *ordinal).ok_or_else(|| Error::Corrupt {
            file: format!("log/{}", segment_name(ordinal)),
            offset: 0,
            what: "the segment behind it is missing".to_owned(),
        })
    }

    /// Makes a checkpoint if one is due, and drops what is too old or too much.
    pub(super) fn look_after_archive(&self) -> Result<(), Error> {
        self.measure()?;
        let (Some(directory), Some(tree)) = (&self.directory, &self.rows.tree) else {
            return self.drop_memory_segments();
        };
        let path = directory.checkpoints();
        let checkpoints = list_checkpoints(&path)?;
        let settled = tree.view()?.settled()?;
        if self.is_checkpoint_due(checkpoints.last(), settled.seq)? {
            let _one_at_a_time = self.archive.copying.lock();
            make_checkpoint(tree, &path)?;
        }
        self.drop_old(&path)?;
        self.drop_old_backups(directory.path())
    }

    /// Removes backups that are older than they are kept.
    fn drop_old_backups(&self, house: &Path) -> Result<(), Error> {
        let days = self.archive.options.backup_days;
        if days == 0 {
            return Ok(());
        }
        let _one_at_a_time = self.archive.copying.lock();
        for backup in prune_backups(house, days, self.clock.now())? {
            tracing::info!(id = backup.id, days, "removed a backup that was too old");
        }
        Ok(())
    }

    fn is_checkpoint_due(&self, newest: Option<&Checkpoint>, settled: u64) -> Result<bool, Error> {
        let segments = self.archive.refresh(&*self.disk, self.commits.log_ordinal())?;
        let whole = segments.values().next().is_none_or(|begins| begins.previous == 0);
        let (made_seq, made_ms) = match newest {
            Some(newest) => (newest.seq, newest.time_ms),
            // Without a checkpoint, the log is the past, as long as it reaches to the beginning.
            None if whole => (0, segments.values().next().map_or(0, |begins| begins.first_ms)),
            None => (0, 0),
        };
        let age = self.clock.now().millis().saturating_sub(made_ms);
        let much = self.archive.options.history_bytes() / CHECKPOINTS_MAX as u64;
        let old = age >= self.archive.options.checkpoint_hours * 3_600_000;
        Ok(settled > made_seq && (old || self.log_bytes_behind(newest)? >= much))
    }

    /// Drops the log before the horizon, and before what the disk may hold, with the checkpoints
    /// that nobody needs any more.
    fn drop_old(&self, path: &Path) -> Result<(), Error> {
        let now = self.clock.now().millis();
        let horizon = now.saturating_sub(self.archive.options.history_days * 86_400_000);
        let mut checkpoints = list_checkpoints(path)?;
        let max = self.archive.options.history_bytes();
        // Where the past begins: with the newest checkpoint before the horizon; without one, with
        // the log itself.
        let before = checkpoints.iter().filter(|checkpoint| checkpoint.time_ms <= horizon).count();
        let mut first = before.checked_sub(1);
        while self.log_bytes_behind(first.and_then(|first| checkpoints.get(first)))? > max {
            let next = first.map_or(0, |first| first + 1);
            if next >= checkpoints.len() {
                break;
            }
            first = Some(next);
        }
        if let Some(first) = first {
            checkpoints.drain(..first).try_for_each(|old| remove_checkpoint(path, &old))?;
        }
        // The first and the last stay; of the others the one with the nearest neighbours goes.
        while checkpoints.len() > CHECKPOINTS_MAX {
            let gap = |trio: &[Checkpoint]| match trio {
                [before, _, after] => after.time_ms - before.time_ms,
                _ => u64::MAX,
            };
            let gaps = checkpoints.windows(3).map(gap).enumerate();
            let Some((spare, _)) = gaps.min_by_key(|(_, gap)| *gap) else { break };
            remove_checkpoint(path, &checkpoints.remove(spare + 1))?;
        }
        match (first, checkpoints.first()) {
            (Some(_), Some(oldest)) => self.drop_segments_before(oldest.seq),
            _ => Ok(()),
        }
    }

    /// Bytes of the log that a restore from `checkpoint`, or from the beginning, needs.
    fn log_bytes_behind(&self, checkpoint: Option<&Checkpoint>) -> Result<u64, Error> {
        let seq = checkpoint.map_or(0, |checkpoint| checkpoint.seq);
        let segments = self.archive.refresh(&*self.disk, self.commits.log_ordinal())?;
        let behind = segments.iter().filter(|(_, begins)| begins.previous >= seq);
        let lengths = behind.map(|(ordinal, _)| {
            let name = segment_name(*ordinal);
            let length = self.disk.open(&name).and_then(|segment| segment.len());
            length.map_err(|cause| Error::io(format!("reading log/{name}"), &cause))
        });
        lengths.sum()
    }

    /// Removes segments whose changes are not after `seq`, and in the tree for good: a checkpoint
    /// may hold a round that a crash takes back.
    fn drop_segments_before(&self, seq: u64) -> Result<(), Error> {
        let seq = self.rows.tree.as_ref().map_or(seq, |tree| seq.min(tree.durable_seq()));
        let segments = self.archive.refresh(&*self.disk, self.commits.log_ordinal())?;
        let following = segments.values().skip(1);
        let whole = segments.iter().zip(following).take_while(|(_, next)| next.previous <= seq);
        let dropped: Vec<u64> = whole.map(|((ordinal, _), _)| *ordinal).collect();
        let unlisted = self.manifest.remove(&dropped);
        unlisted.map_err(|cause| Error::io("listing the segments of the log", &cause))?;
        for ordinal in dropped {
            let name = segment_name(ordinal);
            self.disk
                .remove(&name)
                .map_err(|cause| Error::io(format!("removing log/{name}"), &cause))?;
        }
        Ok(())
    }

    /// A house in memory keeps only what its followers may still want: a bounded stretch.
    fn drop_memory_segments(&self) -> Result<(), Error> {
        if self.disk.is_all_there_is() {
            return Ok(());
        }
        let segments = self.archive.refresh(&*self.disk, self.commits.log_ordinal())?;
        let surplus = segments.len().saturating_sub(Options::MEMORY_SEGMENTS_KEPT);
        let reached = segments.values().nth(surplus).map_or(0, |begins| begins.previous);
        self.drop_segments_before(reached)
    }

    fn measure(&self) -> Result<(), Error> {
        let state = self.rows.state.load_full();
        let frozen: usize = state.frozen.iter().map(|memtable| memtable.bytes()).sum();
        self.meters.memory_bytes.set((state.active.bytes() + frozen) as f64);
        self.meters.frozen.set(state.frozen.len() as f64);
        self.meters.writable.set(if self.commits.stopped().is_none() { 1.0 } else { 0.0 });
        if let Some(tree) = &self.rows.tree {
            let (file, used) = tree.space();
            self.meters.tree_bytes.set(file as f64);
            self.meters.tree_used_bytes.set(used as f64);
        }
        let names = self.disk.list().map_err(|cause| Error::io("listing the log", &cause))?;
        let lengths = names.iter().filter_map(|name| self.disk.open(name).ok()?.len().ok());
        self.meters.log_bytes.set(lengths.sum::<u64>() as f64);
        Ok(())
    }
}

/// Starts the archivist of a house; it ends with the house or with `tasks`.
pub(super) fn start(engine: &Arc<Engine>, tasks: &Tasks) {
    // The numbers of a house are right from its first minute.
    if let Err(error) = engine.measure() {
        tracing::warn!(%error, "the house could not be measured");
    }
    let (engine, clock, shutdown) =
        (Arc::downgrade(engine), engine.clock.clone(), tasks.shutdown());
    tasks.spawn("archivist", async move {
        loop {
            tokio::select! {
                () = shutdown.begun() => return,
                () = clock.sleep(PAUSE) => {}
            }
            let Some(engine) = Weak::upgrade(&engine) else { return };
            let _hold = clock.hold();
            if let Err(error) = blocking(move || engine.look_after_archive()).await
                && !error.is_outage()
            {
                tracing::warn!(%error, "the archive could not be looked after");
            }
        }
    });
}

/// All checkpoints, oldest first.
pub(super) fn list_checkpoints(path: &Path) -> Result<Vec<Checkpoint>, Error> {
    let Ok(entries) = fs::read_dir(path) else { return Ok(Vec::new()) };
    let mut checkpoints = Vec::new();
    for entry in entries.flatten().filter(|entry| !is_unfinished(&entry.path())) {
        if let Ok(manifest) = fs::read(entry.path().join(MANIFEST_FILE)) {
            let read: Result<Checkpoint, _> = serde_json::from_slice(&manifest);
            checkpoints.push(read.map_err(|cause| Error::Corrupt {
                file: format!("checkpoints/{}", entry.file_name().to_string_lossy()),
                offset: 0,
                what: cause.to_string(),
            })?);
        }
    }
    checkpoints.sort_by_key(|checkpoint| checkpoint.seq);
    Ok(checkpoints)
}

/// Where the checkpoint of change `seq` lies.
pub(super) fn checkpoint_path(path: &Path, seq: u64) -> PathBuf {
    path.join(format!("{seq:020}"))
}

fn remove_checkpoint(path: &Path, checkpoint: &Checkpoint) -> Result<(), Error> {
    let old = checkpoint_path(path, checkpoint.seq);
    // The manifest first: what is left of a half removed one is none.
    let removed = fs::remove_file(old.join(MANIFEST_FILE)).and_then(|()| fs::remove_dir_all(&old));
    removed.map_err(|cause| Error::io(format!("removing {}", old.display()), &cause))
}

/// Copies the tree. A checkpoint is there whole or not at all.
pub(super) fn make_checkpoint(tree: &Tree, path: &Path) -> Result<Checkpoint, Error> {
    let unfinished = path.join(".unfinished");
    let failed = |cause| Error::io("making a checkpoint", &cause);
    let _ = fs::remove_dir_all(&unfinished);
    private::create_directory(&unfinished).map_err(failed)?;
    let checkpoint = copy_tree(tree, &unfinished)?;
    let manifest = serde_json::to_vec(&checkpoint).expect("numbers always have a JSON form");
    write_whole(&unfinished.join(MANIFEST_FILE), &manifest).map_err(failed)?;
    let finished = checkpoint_path(path, checkpoint.seq);
    // The rest of one that was half removed.
    let _ = fs::remove_dir_all(&finished);
    fs::rename(&unfinished, &finished).map_err(failed)?;
    sync_directory(path).map_err(failed)?;
    Ok(checkpoint)
}

/// Copies the tree into `directory` and answers how far the copy reaches.
pub(super) fn copy_tree(tree: &Tree, directory: &Path) -> Result<Checkpoint, Error> {
    tree.copy_to(&directory.join(DATA_FILE))?;
    let settled = Tree::open(directory)?.view()?.settled()?;
    let _ = fs::remove_file(directory.join("lock.mdb"));
    forget(directory).map_err(|cause| Error::io("copying the tree", &cause))?;
    Ok(Checkpoint { seq: settled.seq, time_ms: settled.time_ms })
}

/// Rewrites a tree file of which less than half is in use. Freed pages are used again by later
/// rounds, but the file itself never shrinks; after a great deletion this gives the disk back.
pub(super) fn compact_if_hollow(directory: &Directory) -> Result<(), Error> {
    let path = directory.settled();
    let data = path.join(DATA_FILE);
    let compact = path.join("compact.mdb");
    let _ = fs::remove_file(&compact);
    let length = fs::metadata(&data).map_or(0, |file| file.len());
    if length < HOLLOW_BYTES_MIN {
        return Ok(());
    }
    let tree = Tree::open(&path)?;
    let (file, used) = tree.space();
    if used >= file / 2 {
        return Ok(());
    }
    tree.copy_to(&compact)?;
    drop(tree);
    let failed = |cause| Error::io("compacting the tree", &cause);
    forget(&path).map_err(failed)?;
    sync_directory(&path).map_err(failed)?;
    fs::rename(&compact, &data).map_err(failed)?;
    sync_directory(&path).map_err(failed)
}

//! Notices that the data directory is not where it was: removed, moved, or replaced by another.
//!
//! What is written then goes to files that the next start does not find. So the writer stops, as
//! it does after a failed sync. A log segment that was removed is noticed by the sync that follows
//! (`disk/files.rs`), before anything in it is acknowledged. The rest is looked at here, every
//! second of real time: a directory that was moved as a whole still holds all its files.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::Engine;
use super::directory::Directory;
use super::log::segment_name;
use super::settled::DATA_FILE;
use crate::error::Error;

/// How often the directory is looked at: as often as readiness looks at the store.
const PAUSE: Duration = Duration::from_secs(1);

/// The places of a house that must stay what they are.
struct Anchors {
    places: Vec<(PathBuf, Identity)>,
    log: PathBuf,
}

/// What makes a file or directory the same one: device and inode.
type Identity = (u64, u64);

/// Starts to watch the directory of a house that is open; ends with it.
pub(super) fn watch(engine: &Arc<Engine>) -> Result<(), Error> {
    let Some(directory) = &engine.directory else { return Ok(()) };
    let anchors = Anchors::of(directory)?;
    let (watching, ended) = mpsc::channel();
    // Not the engine: whoever drops that one waits for this thread.
    let commits = Arc::clone(&engine.commits);
    let work = move || {
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(PAUSE) {
            if let Some(lost) = anchors.find_lost(commits.log_ordinal()) {
                let lost = lost.display();
                let why = format!("`{lost}` was removed, moved or replaced while it was open");
                return commits.stop(&why);
            }
        }
    };
    let thread = std::thread::Builder::new().name("directory-watch".to_owned()).spawn(work);
    let thread = thread.map_err(|cause| Error::io("watching the data directory", &cause))?;
    *engine.watching.lock() = Some(watching);
    engine.threads.lock().push(thread);
    Ok(())
}

impl Anchors {
    fn of(directory: &Directory) -> Result<Anchors, Error> {
        let (settled, log) = (directory.settled(), directory.log());
        let data = settled.join(DATA_FILE);
        let places = [directory.path().to_owned(), log.clone(), settled, data];
        let places = places.into_iter().map(|place| {
            let found = identity(&place);
            let found = found
                .map_err(|cause| Error::io(format!("looking at {}", place.display()), &cause))?;
            Ok((place, found))
        });
        Ok(Anchors { places: places.collect::<Result<_, Error>>()?, log })
    }

    /// The first place that is not what it was. `current` is the segment that is written, 0 if
    /// there is none.
    fn find_lost(&self, current: u64) -> Option<PathBuf> {
        let lost = self.places.iter().find(|(place, was)| is_lost(place, Some(*was)));
        lost.map(|(place, _)| place.clone()).or_else(|| {
            let segment = self.log.join(segment_name(current));
            (current > 0 && is_lost(&segment, None)).then_some(segment)
        })
    }
}

fn identity(place: &Path) -> std::io::Result<Identity> {
    fs::metadata(place).map(|found| (found.dev(), found.ino()))
}

/// Whether a place is gone, or another than it was. A place that cannot be looked at is not lost.
fn is_lost(place: &Path, was: Option<Identity>) -> bool {
    match identity(place) {
        Ok(found) => was.is_some_and(|was| was != found),
        Err(cause) => matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

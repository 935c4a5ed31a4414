//! How a settling round becomes durable without making the log wait.
//!
//! A round changes hundreds of megabytes of pages. Synced at once, they would stand in the disk's
//! queue before every sync of the log. So LMDB commits a round to the page cache, where it is seen,
//! and this writes it back slice by slice (`disk/gently.rs`), while the next round is made; then it
//! syncs and remembers the round:
//!
//!   settled/synced     the id of the last round that is wholly on disk, as decimal digits
//!
//! LMDB never overwrites a page of the round before the one it writes. So after a power loss, a
//! last round that is not remembered here may be torn, but the one before it is whole: that one is
//! opened, and the log holds the rest.
//!
//! Invariants:
//! - A round is committed only when the one before it is remembered. Until then its pages are in
//!   memory, or where none of the two rounds before it has any.
//! - A sync that fails stops the writer for good: the kernel forgets what it could not write. A
//!   mark that cannot be written for want of space or of a file descriptor is written later.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use heed::{CommitOrAbort, Database, Env, WithTls, types};
use parking_lot::Mutex;

use super::lmdb::{self, Round};
use super::{DATA_FILE, META_KEY, check_length, damaged, file_bytes, first_meta};
use crate::embedded::directory::write_whole;
use crate::embedded::disk::Reserve;
use crate::embedded::disk::gently::{self, Urgency};
use crate::error::Error;

const MARK_FILE: &str = "synced";

/// The mark of the last durable round, and the file that it speaks of.
pub(super) struct Durable {
    directory: PathBuf,
    reserve: Reserve,
    file: File,
    committed: Mutex<Reached>,
    remembered: Mutex<Reached>,
    /// One at a time.
    writing_back: Mutex<()>,
    /// Whether tests want the disk to have no room for a mark.
    #[cfg(test)]
    pub(super) no_room: std::sync::atomic::AtomicBool,
}

/// A round, and the last change in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) id: usize,
    pub(super) seq: u64,
}

/// Opens the last round in `directory` that is whole.
pub(super) fn open(directory: &Path) -> Result<(Env<WithTls>, Durable), Error> {
    let mut mark = read_mark(directory)?;
    let mut env = lmdb::open(directory, Round::Last)?;
    if let Some(whole) = mark.filter(|whole| env.info().last_txn_id > *whole) {
        env.prepare_for_closing().wait();
        mark = Some(take_back(directory, whole)?);
        env = lmdb::open(directory, Round::Last)?;
    }
    let opened = env.info().last_txn_id;
    check_round(opened, mark.unwrap_or(opened))?;
    let durable = Durable::of(directory)?;
    if mark.is_none() {
        durable.finish(opened, || Urgency::High)?;
    }
    Ok((env, durable))
}

/// Puts another round, with nothing new in it, in the place of the last one, which may be torn.
/// LMDB can begin at the round before, but its views see what follows only after it was closed.
fn take_back(directory: &Path, whole: usize) -> Result<usize, Error> {
    let failed = |cause: heed::Error| super::failed("taking back a round", &cause);
    let env = lmdb::open(directory, Round::Before)?;
    check_round(env.info().last_txn_id, whole)?;
    check_length(&env)?;
    let txn = env.write_txn().map_err(failed)?;
    let id = txn.id();
    let made = env.create_databases_and_commit(txn, |opener, txn| {
        let rows: Database<'_, types::Bytes, types::Bytes> = opener.create_database(txn, None)?;
        let meta = rows.get(txn, META_KEY)?.map_or_else(first_meta, <[u8]>::to_vec);
        rows.put(txn, META_KEY, &meta)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    });
    made.map_err(failed)?.unwrap_commit();
    let durable = Durable::of(directory)?;
    durable.lengthen(file_bytes(&env))?;
    durable.finish(id, || Urgency::High)?;
    env.prepare_for_closing().wait();
    Ok(id)
}

fn check_round(found: usize, whole: usize) -> Result<(), Error> {
    if found == whole {
        return Ok(());
    }
    Err(damaged(&format!("it holds round {found}, but round {whole} was settled")))
}

impl Durable {
    fn of(directory: &Path) -> Result<Durable, Error> {
        let file = File::options().read(true).write(true).open(directory.join(DATA_FILE));
        let opening = |cause| Error::io("opening the tree", &cause);
        let (file, reserve) = (file.map_err(opening)?, Reserve::of(directory).map_err(opening)?);
        let (committed, remembered, writing_back) = Default::default();
        let directory = directory.to_owned();
        Ok(Durable {
            directory,
            reserve,
            file,
            committed,
            remembered,
            writing_back,
            #[cfg(test)]
            no_room: Default::default(),
        })
    }

    /// Begins with a round that is there and durable.
    pub(super) fn begin(&self, reached: Reached) {
        (*self.committed.lock(), *self.remembered.lock()) = (reached, reached);
    }

    /// A round was committed.
    pub(super) fn follow(&self, reached: Reached) {
        assert!(!self.is_behind(), "a round was committed before the one before it was durable");
        *self.committed.lock() = reached;
    }

    /// Whether the last round that was committed is not durable.
    pub(super) fn is_behind(&self) -> bool {
        *self.committed.lock() != *self.remembered.lock()
    }

    /// The last round that is durable.
    pub(super) fn remembered(&self) -> Reached {
        *self.remembered.lock()
    }

    /// Makes the last round that was committed durable; returns when it is, whoever did it.
    pub(super) fn catch_up(&self, urgency: impl Fn() -> Urgency) -> Result<(), Error> {
        let _alone = self.writing_back.lock();
        let committed = *self.committed.lock();
        if self.is_behind() {
            self.finish(committed.id, urgency)?;
            *self.remembered.lock() = committed;
        }
        Ok(())
    }

    /// Makes the file so long, if it is shorter. LMDB does not write pages that it gave out and took
    /// back within one round; at the end of the file they would be missing as if they had been cut
    /// off. Called right after a commit: the next round may already write beyond that length.
    pub(super) fn lengthen(&self, bytes: u64) -> Result<(), Error> {
        let length = self.file.metadata().map(|metadata| metadata.len());
        let lengthened = length.and_then(|length| match length < bytes {
            true => self.file.set_len(bytes),
            false => Ok(()),
        });
        lengthened.map_err(|cause| Error::Stopped(format!("lengthening the tree failed: {cause}")))
    }

    /// Brings all of the file to disk, and remembers round `id`.
    pub(super) fn finish(&self, id: usize, urgency: impl Fn() -> Urgency) -> Result<(), Error> {
        let file = &self.file;
        let written = file
            .metadata()
            .and_then(|metadata| gently::write_back(file, 0, metadata.len(), urgency));
        let synced = written.and_then(|()| file.sync_data());
        let failed = |cause| Error::Stopped(format!("syncing the tree failed: {cause}"));
        synced.map_err(failed)?;
        let remembered = self.reserve.spend(|| self.write_mark(id));
        remembered.map_err(|cause| {
            match Error::io(format!("writing settled/{MARK_FILE}"), &cause) {
                passing @ (Error::DiskFull | Error::Throttled(_)) => passing,
                _ => failed(cause),
            }
        })
    }

    fn write_mark(&self, id: usize) -> io::Result<()> {
        #[cfg(test)]
        if self.no_room.load(std::sync::atomic::Ordering::Acquire) {
            return Err(ErrorKind::StorageFull.into());
        }
        write_whole(&self.directory.join(MARK_FILE), id.to_string().as_bytes())
    }
}

/// Forgets which round is durable, before another file takes the place of this one. All of what is
/// there is durable.
pub(crate) fn forget(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(MARK_FILE)) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(cause),
        _ => Ok(()),
    }
}

fn read_mark(directory: &Path) -> Result<Option<usize>, Error> {
    match fs::read_to_string(directory.join(MARK_FILE)) {
        Ok(mark) => match mark.parse() {
            Ok(mark) => Ok(Some(mark)),
            Err(_) => Err(Error::Corrupt {
                file: format!("settled/{MARK_FILE}"),
                offset: 0,
                what: "it is not a number".to_owned(),
            }),
        },
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Error::io(format!("reading settled/{MARK_FILE}"), &cause)),
    }
}

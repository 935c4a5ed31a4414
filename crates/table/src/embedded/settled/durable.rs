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
//! - A round is remembered, and the next one begun, only when the file has its full length.
//! - A sync that fails stops the writer for good, a full disk included: the kernel forgets what it
//!   could not write. A file that cannot be lengthened, and a mark that cannot be written, for want
//!   of space or of a file descriptor, are tried again later.

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
    /// Whether tests want the disk to have no room for a longer file.
    #[cfg(test)]
    pub(super) no_length: std::sync::atomic::AtomicBool,
}

/// A round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) id: usize,
    /// The last change in it.
    pub(super) seq: u64,
    /// How long the file must be at least.
    pub(super) bytes: u64,
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
    check_length(&env)?;
    let durable = Durable::of(directory)?;
    if mark.is_none() {
        durable.begin(Reached { id: opened, seq: 0, bytes: file_bytes(&env) })?;
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
    Durable::of(directory)?.begin(Reached { id, seq: 0, bytes: file_bytes(&env) })?;
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
            #[cfg(test)]
            no_length: Default::default(),
        })
    }

    /// Begins with a round that is there, and makes it durable.
    pub(super) fn begin(&self, reached: Reached) -> Result<(), Error> {
        *self.committed.lock() = reached;
        self.lengthen()?;
        self.finish(reached.id, || Urgency::High)?;
        *self.remembered.lock() = reached;
        Ok(())
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
        if self.is_behind() {
            self.lengthen()?;
            let committed = *self.committed.lock();
            self.finish(committed.id, urgency)?;
            *self.remembered.lock() = committed;
        }
        Ok(())
    }

    /// Makes the file as long as the last committed round needs it, if it is shorter. LMDB does not
    /// write pages that it gave out and took back within one round; at the end of the file they
    /// would be missing as if they had been cut off.
    ///
    /// A round that is being made writes beyond that length when memory is short, long before its
    /// commit. So the settler calls this before it begins one. Once a round has begun, the file is
    /// long enough, and the call in `catch_up` on another thread cannot cut off what the round
    /// wrote: the lock is held from the look at the length until it is set.
    pub(super) fn lengthen(&self) -> Result<(), Error> {
        let committed = self.committed.lock();
        let length = self.file.metadata().map(|metadata| metadata.len());
        let lengthened = length.and_then(|length| match length < committed.bytes {
            true => self.set_length(committed.bytes),
            false => Ok(()),
        });
        lengthened.map_err(|cause| passing_or_stopped("lengthening the tree", &cause))
    }

    fn set_length(&self, bytes: u64) -> io::Result<()> {
        #[cfg(test)]
        if self.no_length.load(std::sync::atomic::Ordering::Acquire) {
            return Err(ErrorKind::StorageFull.into());
        }
        self.file.set_len(bytes)
    }

    /// Brings all of the file to disk, and remembers round `id`.
    fn finish(&self, id: usize, urgency: impl Fn() -> Urgency) -> Result<(), Error> {
        let file = &self.file;
        let written = file
            .metadata()
            .and_then(|metadata| gently::write_back(file, 0, metadata.len(), urgency));
        let synced = written.and_then(|()| file.sync_data());
        // A full disk is no exception here: the pages that found no room count as written now.
        synced.map_err(|cause| Error::Stopped(format!("syncing the tree failed: {cause}")))?;
        let remembered = self.reserve.spend(|| self.write_mark(id));
        remembered
            .map_err(|cause| passing_or_stopped(&format!("writing settled/{MARK_FILE}"), &cause))
    }

    fn write_mark(&self, id: usize) -> io::Result<()> {
        #[cfg(test)]
        if self.no_room.load(std::sync::atomic::Ordering::Acquire) {
            return Err(ErrorKind::StorageFull.into());
        }
        write_whole(&self.directory.join(MARK_FILE), id.to_string().as_bytes())
    }
}

/// A want of space or of a file descriptor passes; all else stops the writer for good.
fn passing_or_stopped(what: &str, cause: &io::Error) -> Error {
    match Error::io(what, cause) {
        passing @ (Error::DiskFull | Error::Throttled(_)) => passing,
        _ => Error::Stopped(format!("{what} failed: {cause}")),
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

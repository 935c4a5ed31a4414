//! The one place where memory safety rests on a promise: opening LMDB.
//!
//! heed asks that no other part of this process and no other program changes the file while it is
//! mapped. The house holds an exclusive lock on its data directory for as long as the map lives
//! (`directory.rs`), the tree is the only one that opens files under `settled/`, and each
//! environment has a directory of its own.

use std::path::Path;

use heed::{Env, EnvFlags, EnvOpenOptions, WithTls};

use super::failed;
use crate::error::Error;

/// Address space for the file: a bound on the tree, not a use of memory or disk.
const MAP_BYTES: usize = 1 << 40;
/// Threads that read at the same time.
const READERS_MAX: u32 = 1024;
/// The longest key that `keys.rs` makes.
const KEY_BYTES_NEEDED: usize = 1982;

/// Which of the two rounds that a file holds is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// The last one.
    Last,
    /// The one before it, because the last one is not whole.
    Before,
}

/// Opens the environment in `directory`. Commits are not synced: that is `durable.rs`'s work.
#[expect(unsafe_code, reason = "opening a memory map; see the head of this file")]
pub(super) fn open(directory: &Path, round: Round) -> Result<Env<WithTls>, Error> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_readers(READERS_MAX);
    let mut flags = EnvFlags::NO_READ_AHEAD | EnvFlags::NO_SYNC;
    if round == Round::Before {
        flags |= EnvFlags::PREV_SNAPSHOT;
    }
    // SAFETY: NO_READ_AHEAD changes only how the kernel fetches pages. A round that was not
    // synced is never opened after a power loss (`durable.rs`), and nobody else has the file.
    unsafe { options.flags(flags) };
    // SAFETY: the file is changed by nobody else while it is mapped, as said above.
    let env = unsafe { options.open(directory) };
    let env = env.map_err(|cause| failed("opening the tree", &cause))?;
    assert!(env.max_key_size() >= KEY_BYTES_NEEDED, "LMDB was built with short keys");
    Ok(env)
}

/// Opens the environment in `directory` for reading alone, without a lock file.
#[expect(unsafe_code, reason = "opening a memory map; see the head of this file")]
pub(super) fn open_copy(directory: &Path) -> Result<Env<WithTls>, Error> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_readers(READERS_MAX);
    // SAFETY: without locks nobody may write; a checkpoint or backup is never written to after it
    // was made, only removed, and what is mapped stays until the map goes.
    unsafe { options.flags(EnvFlags::NO_READ_AHEAD | EnvFlags::READ_ONLY | EnvFlags::NO_LOCK) };
    // SAFETY: the file is changed by nobody, as said above.
    unsafe { options.open(directory) }.map_err(|cause| failed("opening a copy of the tree", &cause))
}

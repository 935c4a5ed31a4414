//! Numbers by which whoever remembers what it read knows that it is still so (`watch.rs` of the crate).
//!
//! Every partition of a table or index has a stamp, which moves when one of its items changes.
//! Partitions share stamps: one may move for the sake of another, and something is read again that
//! need not be.
//!
//! Invariants:
//! - A stamp moves behind the moment in which a change is seen, and before its writer is answered.
//!   So what was read after a stamp was looked at, and whose stamp is still the same, is what
//!   whoever was answered wrote, or something newer.
//! - A stamp never has a number twice: each is that of the change that moved it.
//! - Time moves no stamp: what expires is gone before the sweeper takes it away.

use std::sync::atomic::{AtomicU64, Ordering};

use super::filter::mix;

/// How many there are: a mebibyte of them. As many as a power of two, so that a part of a hash
/// names one.
const STAMPS: usize = 1 << 17;
/// What of a key names its stamp: table, space and spread, which all keys of a partition share.
const NAME_BYTES: usize = 7;

/// The stamps of a house.
pub(crate) struct Stamps {
    stamps: Box<[AtomicU64]>,
}

impl Default for Stamps {
    fn default() -> Stamps {
        Stamps { stamps: std::iter::repeat_with(AtomicU64::default).take(STAMPS).collect() }
    }
}

impl Stamps {
    /// Which stamp a partition has; `key` is any key of it, or their common beginning.
    pub(crate) fn of(key: &[u8]) -> u32 {
        let name = key.get(..NAME_BYTES).unwrap_or(key);
        mix(crc32c::crc32c(name).into()) as u32 & (STAMPS as u32 - 1)
    }

    /// The change that moved a stamp last.
    pub(crate) fn get(&self, stamp: u32) -> u64 {
        self.stamps.get(stamp as usize).map_or(0, |stamp| stamp.load(Ordering::Acquire))
    }

    /// Moves some stamps. `seq` is a change that moved none before.
    pub(crate) fn shift(&self, stamps: &[u32], seq: u64) {
        for stamp in stamps {
            if let Some(stamp) = self.stamps.get(*stamp as usize) {
                stamp.store(seq, Ordering::Release);
            }
        }
    }

    /// Moves all stamps: a declaration has changed.
    pub(crate) fn shift_all(&self, seq: u64) {
        self.stamps.iter().for_each(|stamp| stamp.store(seq, Ordering::Release));
    }
}

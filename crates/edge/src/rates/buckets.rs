//! Where buckets are kept: a bounded number of them, in shards with a lock each.
//!
//! A bucket is one number, the moment at which it will be full again. When a shard is full, the
//! buckets that are nearest to full are dropped, a quarter at a time: they are forgiven the least.
//! So a flood of new callers costs a bounded memory, and does not reset the one who floods.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::ShrinkableKeyedStateStore;
use parking_lot::Mutex;

use super::Bucket;
use crate::limits::guard::{BUCKET_SHARDS, SHARD_BUCKETS_MAX};

/// The buckets of one policy. Clones share them: the limiter holds one, and the other gives back.
#[derive(Clone)]
pub(super) struct Buckets {
    shared: Arc<Shards>,
}

struct Shards {
    shards: [Mutex<HashMap<Bucket, Nanos>>; BUCKET_SHARDS],
    /// Drawn at random, so that nobody can aim at one shard.
    hasher: RandomState,
}

impl Buckets {
    pub(super) fn new() -> Buckets {
        let shards = Shards { shards: Default::default(), hasher: RandomState::new() };
        Buckets { shared: Arc::new(shards) }
    }

    /// Puts back one that was taken. A bucket that was dropped or removed since then is full.
    pub(super) fn give_back(&self, bucket: &Bucket, interval: Duration) {
        if let Some(full_at) = self.shard(bucket).lock().get_mut(bucket) {
            *full_at = full_at.saturating_sub(interval.into());
        }
    }

    fn shard(&self, bucket: &Bucket) -> &Mutex<HashMap<Bucket, Nanos>> {
        let number = self.shared.hasher.hash_one(bucket) as usize % BUCKET_SHARDS;
        self.shared.shards.get(number).expect("a remainder is below its divisor")
    }
}

impl StateStore for Buckets {
    type Key = Bucket;

    fn measure_and_replace<T, F, E>(&self, bucket: &Bucket, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut shard = self.shard(bucket).lock();
        if let Some(full_at) = shard.get_mut(bucket) {
            let (outcome, next) = decide(Some(*full_at))?;
            *full_at = next;
            return Ok(outcome);
        }
        let (outcome, next) = decide(None)?;
        if shard.len() >= SHARD_BUCKETS_MAX {
            drop_quarter(&mut shard);
        }
        shard.insert(bucket.clone(), next);
        Ok(outcome)
    }
}

fn drop_quarter(shard: &mut HashMap<Bucket, Nanos>) {
    let mut moments: Vec<Nanos> = shard.values().copied().collect();
    let (_, border, _) = moments.select_nth_unstable(SHARD_BUCKETS_MAX / 4);
    let border = *border;
    let mut left = SHARD_BUCKETS_MAX / 4;
    // Of many with the same moment only so many go.
    shard.retain(|_, full_at| {
        let goes = *full_at <= border && left > 0;
        left -= usize::from(goes);
        !goes
    });
}

impl ShrinkableKeyedStateStore<Bucket> for Buckets {
    fn retain_recent(&self, drop_below: Nanos) {
        for shard in &self.shared.shards {
            let mut shard = shard.lock();
            shard.retain(|_, full_at| *full_at > drop_below);
            shard.shrink_to_fit();
        }
    }

    fn len(&self) -> usize {
        self.shared.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    fn is_empty(&self) -> bool {
        self.shared.shards.iter().all(|shard| shard.lock().is_empty())
    }
}

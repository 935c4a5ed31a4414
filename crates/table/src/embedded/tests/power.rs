//! Power loss: of what was written and not synced, any pieces of 512 bytes may have arrived. What
//! was acknowledged is there, and of the rest every transaction whole or not at all.

use std::collections::BTreeMap;
use std::path::Path;

use base::Random;
use bytes::Bytes;
use tempfile::TempDir;
use testkit::{depth, seed};
use tokio::task::JoinSet;

use super::small_store::{
    SmallStore, assert_sound, body, key, open, open_with_tree, put, thing, try_open_with_tree,
};
use crate::embedded::{Faults, MemoryDisk};
use crate::error::Error;
use crate::port::{Delete, Put, Tables, TransactWrite};
use crate::value::Value;

const SYNCS_FAIL: Faults =
    Faults { writes_fail: false, syncs_fail: true, full: false, ..Faults::NONE };
const THINGS: u64 = 12;
/// Items of one transaction; they stand side by side.
const TOGETHER: i64 = 3;

/// What was acknowledged, and what was tried when the power went.
struct Story {
    disk: MemoryDisk,
    /// Some houses settle into a tree, others replay the whole log.
    settled: Option<TempDir>,
    random: Random,
    acknowledged: BTreeMap<i64, Value>,
    /// Transactions nobody answered: the first number and the body of each.
    tried: Vec<(i64, Value)>,
}

impl Story {
    fn new(seed: u64) -> Story {
        let (disk, random) = (MemoryDisk::breakable(), Random::seeded(seed));
        let settled = seed.is_multiple_of(5).then(|| tempfile::tempdir().unwrap());
        Story { disk, settled, random, acknowledged: BTreeMap::new(), tried: Vec::new() }
    }

    fn settled(&self) -> Option<&Path> {
        self.settled.as_ref().map(TempDir::path)
    }

    /// Bodies of all lengths: below, around and above a piece of the disk, now and then as long
    /// as a good part of a segment. Some are zeros, as the unwritten disk is.
    fn body(&self) -> Value {
        let length = match self.random.below(20) {
            0 => self.random.below(300_000),
            1..5 => self.random.below(4000),
            _ => self.random.below(700),
        };
        let mut bytes = vec![0; usize::try_from(length).unwrap()];
        if self.random.chance(0.7) {
            self.random.fill_bytes(&mut bytes);
        }
        Value::B(Bytes::from(bytes))
    }

    fn transaction(&self) -> (i64, Value, TransactWrite) {
        let first = i64::try_from(self.random.below(THINGS)).unwrap() * TOGETHER;
        let body = self.body();
        let puts = (first..first + TOGETHER).map(|number| {
            let body = if number == first { body.clone() } else { marker(&body) };
            Put::new("things", thing(number, body)).into()
        });
        (first, body.clone(), TransactWrite::new(puts.collect()))
    }

    async fn write_some(&mut self, store: &SmallStore) {
        if self.random.chance(0.2) {
            store.settle().await.unwrap();
        }
        for _ in 0..self.random.below(4) {
            let (first, body, transaction) = self.transaction();
            store.transact_write(transaction).await.unwrap();
            self.acknowledged.insert(first, body);
        }
        if self.random.chance(0.3)
            && let Some((&gone, _)) = self.acknowledged.first_key_value()
        {
            let deletes = (gone..gone + TOGETHER).map(|number| {
                let delete = Delete::new("things", key(number));
                delete.into()
            });
            store.transact_write(TransactWrite::new(deletes.collect())).await.unwrap();
            self.acknowledged.remove(&gone);
        }
    }

    /// Many write at once and the sync fails: all are told, nothing of it is seen.
    async fn fail_some(&mut self, store: &SmallStore) {
        self.disk.inject(SYNCS_FAIL);
        let mut writers = JoinSet::new();
        self.tried.clear();
        for _ in 0..1 + self.random.below(3) {
            let (first, body, transaction) = self.transaction();
            let tables = store.tables.clone();
            self.tried.push((first, body));
            writers.spawn(async move { tables.transact_write(transaction).await });
        }
        while let Some(written) = writers.join_next().await {
            assert!(matches!(written.unwrap(), Err(Error::Stopped(_))));
        }
        self.assert_held(store, false).await;
    }

    fn lose_power(&self) {
        let kept = [0.0, 0.5, 0.9, 1.0][usize::try_from(self.random.below(4)).unwrap()];
        self.disk.lose_power(|| self.random.chance(kept));
    }

    /// Opens the store; sometimes the power goes while that is under way.
    async fn reopen(&self) -> SmallStore {
        while self.random.chance(0.3) {
            self.disk.inject(SYNCS_FAIL);
            drop(try_open_with_tree(&self.disk, self.settled()).await);
            self.lose_power();
        }
        open_with_tree(&self.disk, self.settled()).await
    }

    async fn assert_held(&self, store: &SmallStore, tried_may_show: bool) {
        for first in (0..i64::try_from(THINGS).unwrap()).map(|number| number * TOGETHER) {
            let held = body(store, first).await;
            let other = held.as_ref().map(marker);
            for number in first + 1..first + TOGETHER {
                assert_eq!(body(store, number).await, other, "half a transaction at {first}");
            }
            let told = self.acknowledged.get(&first);
            let tried = |body: &Value| self.tried.contains(&(first, body.clone()));
            let shown = tried_may_show && held.as_ref().is_some_and(tried);
            assert!(shown || held.as_ref() == told, "thing {first} is not what was told");
        }
        assert_sound(store);
    }

    /// What happened to arrive is there from now on.
    async fn take_over(&mut self, store: &SmallStore) {
        for (first, _) in std::mem::take(&mut self.tried) {
            match body(store, first).await {
                Some(body) => self.acknowledged.insert(first, body),
                None => self.acknowledged.remove(&first),
            };
        }
    }
}

/// What the other items of a transaction hold: enough to know it again.
fn marker(body: &Value) -> Value {
    match body {
        Value::B(bytes) => Value::from(i64::from(crc32c::crc32c(bytes))),
        other => panic!("not a body: {other:?}"),
    }
}

#[tokio::test]
async fn a_torn_frame_is_passed_over_and_everything_acknowledged_is_there() {
    for seed in seed::several(depth::pick(8, 150)) {
        let mut story = Story::new(seed);
        let mut store = story.reopen().await;
        for _ in 0..14 {
            story.write_some(&store).await;
            story.fail_some(&store).await;
            drop(store);
            story.lose_power();
            store = story.reopen().await;
            story.assert_held(&store, true).await;
            story.take_over(&store).await;
        }
    }
}

#[tokio::test]
async fn a_killed_process_loses_nothing_and_tears_nothing() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    for number in 0..40 {
        put(&store, number, "x".repeat(usize::try_from(number).unwrap() * 2000)).await.unwrap();
        // The disk as it is now, without any goodbye.
        let killed = open(&disk.copy()).await;
        for held in 0..=number {
            assert!(body(&killed, held).await.is_some(), "{held} of {number}");
        }
        assert_sound(&killed);
    }
}

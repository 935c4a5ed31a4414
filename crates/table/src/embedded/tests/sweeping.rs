//! Rows that expire, are postponed, brought forward, removed and made again, through settlings and
//! power losses: what is due is gone after a sweep, nothing else is, and no reminder is left over.

use std::collections::BTreeMap;

use base::{Random, Timestamp};
use testkit::{depth, seed};

use super::small_store::{START_MS, SmallStore, assert_sound, key, open_with_tree, thing};
use crate::embedded::state::Sight;
use crate::embedded::{MemoryDisk, keys};
use crate::port::{Delete, Put, Scan, Tables, TransactWrite, Update};

const THINGS: u64 = 60;
/// Things that one transaction writes.
const TOGETHER: i64 = 7;
const START: u64 = START_MS / 1000;

struct Story {
    random: Random,
    now: u64,
    /// The second in which each thing is gone; 0 for never.
    gone: BTreeMap<i64, u64>,
}

impl Story {
    fn number(&self) -> i64 {
        i64::try_from(self.random.below(THINGS)).unwrap()
    }

    /// Soon, later, never, or long ago.
    fn second(&self) -> u64 {
        match self.random.below(10) {
            0 => 0,
            1 => self.now - self.random.below(20),
            2..8 => self.now + self.random.below(20),
            _ => self.now + self.random.below(200),
        }
    }

    fn is_gone(&self, second: u64) -> bool {
        second > 0 && second <= self.now
    }

    async fn write(&mut self, store: &SmallStore) {
        let (number, second) = (self.number(), self.second());
        match self.random.below(5) {
            0 => {
                store.delete(Delete::new("things", key(number))).await.unwrap();
                self.gone.remove(&number);
            }
            1 => {
                let update = Update::new("things", key(number)).set("gone", second);
                store.update(update).await.unwrap();
                self.gone.insert(number, second);
            }
            2 => {
                let numbers = number..number + TOGETHER;
                let puts = numbers.clone().map(|number| {
                    Put::new("things", thing(number, "many").with("gone", second)).into()
                });
                store.transact_write(TransactWrite::new(puts.collect())).await.unwrap();
                self.gone.extend(numbers.map(|number| (number, second)));
            }
            _ => {
                let item = thing(number, "one").with("gone", second);
                store.put(Put::new("things", item)).await.unwrap();
                self.gone.insert(number, second);
            }
        }
    }

    async fn sweep(&mut self, store: &SmallStore) {
        store.engine.sweep().await.unwrap();
        let now = self.now;
        self.gone.retain(|_, second| *second == 0 || *second > now);
        let held = store.describe_table("things").await.unwrap().items;
        assert_eq!(held, self.gone.len() as u64, "at {now}");
        assert_sound(store);
    }

    async fn assert_shown(&self, store: &SmallStore) {
        let page = store.scan(Scan::new("things")).await.unwrap();
        let shown = self.gone.values().filter(|second| !self.is_gone(**second)).count();
        assert_eq!(page.items.len(), shown);
    }
}

/// How many reminders there are.
fn reminders(store: &SmallStore) -> usize {
    let engine = &store.engine;
    let snapshot = engine.rows.snapshot(Sight::Latest).unwrap();
    let table = engine.catalog.load().get("things").unwrap().id;
    let range = keys::expiry_range(table, 0, u64::MAX);
    let rows = snapshot.range(&range, false).unwrap();
    rows.collect::<Result<Vec<_>, _>>().unwrap().len()
}

async fn go_to(store: &SmallStore, second: u64) {
    store.time.set_wall(Timestamp::from_millis(second * 1000)).await;
}

#[tokio::test]
async fn what_is_due_is_removed_and_nothing_else() {
    for (number, seed) in seed::several(depth::pick(6, 40)).enumerate() {
        let (disk, settled) = (MemoryDisk::breakable(), tempfile::tempdir().unwrap());
        let settled = (number % 2 == 0).then(|| settled.path());
        let mut story = Story { random: Random::seeded(seed), now: START, gone: BTreeMap::new() };
        let mut store = open_with_tree(&disk, settled).await;
        for _ in 0..60 {
            match story.random.below(12) {
                0 => store.settle().await.unwrap(),
                1 => {
                    drop(store);
                    disk.lose_power(|| story.random.chance(0.5));
                    store = open_with_tree(&disk, settled).await;
                    go_to(&store, story.now).await;
                    assert_sound(&store);
                }
                2 | 3 => {
                    story.now += story.random.below(15);
                    go_to(&store, story.now).await;
                    story.assert_shown(&store).await;
                    story.sweep(&store).await;
                }
                _ => story.write(&store).await,
            }
        }
        // When everything is over, nothing is left to be reminded of.
        story.now += 1000;
        go_to(&store, story.now).await;
        story.sweep(&store).await;
        assert_eq!(reminders(&store), 0, "seed {seed}");
        store.settle().await.unwrap();
        assert_eq!(reminders(&store), 0, "seed {seed}, settled");
    }
}

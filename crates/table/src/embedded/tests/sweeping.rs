//! Rows that expire, are postponed, brought forward, removed and made again, through settlings and
//! power losses: what is due is gone after a sweep, nothing else is, and no reminder is left over.

use std::collections::BTreeMap;

use base::{Random, Timestamp};

use super::houses::{House, START_MS, assert_sound, key, open_with_tree, thing};
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

    async fn write(&mut self, house: &House) {
        let (number, second) = (self.number(), self.second());
        match self.random.below(5) {
            0 => {
                house.delete(Delete::new("things", key(number))).await.unwrap();
                self.gone.remove(&number);
            }
            1 => {
                let update = Update::new("things", key(number)).set("gone", second);
                house.update(update).await.unwrap();
                self.gone.insert(number, second);
            }
            2 => {
                let numbers = number..number + TOGETHER;
                let puts = numbers.clone().map(|number| {
                    Put::new("things", thing(number, "many").with("gone", second)).into()
                });
                house.transact_write(TransactWrite::new(puts.collect())).await.unwrap();
                self.gone.extend(numbers.map(|number| (number, second)));
            }
            _ => {
                let item = thing(number, "one").with("gone", second);
                house.put(Put::new("things", item)).await.unwrap();
                self.gone.insert(number, second);
            }
        }
    }

    async fn sweep(&mut self, house: &House) {
        house.engine.sweep().await.unwrap();
        let now = self.now;
        self.gone.retain(|_, second| *second == 0 || *second > now);
        let held = house.describe_table("things").await.unwrap().items;
        assert_eq!(held, self.gone.len() as u64, "at {now}");
        assert_sound(house);
    }

    async fn assert_shown(&self, house: &House) {
        let page = house.scan(Scan::new("things")).await.unwrap();
        let shown = self.gone.values().filter(|second| !self.is_gone(**second)).count();
        assert_eq!(page.items.len(), shown);
    }
}

/// How many reminders there are.
fn reminders(house: &House) -> usize {
    let engine = &house.engine;
    let snapshot = engine.rows.snapshot(Sight::Latest).unwrap();
    let table = engine.catalog.load().get("things").unwrap().id;
    let range = keys::expiry_range(table, 0, u64::MAX);
    let rows = snapshot.range(&range, false).unwrap();
    rows.collect::<Result<Vec<_>, _>>().unwrap().len()
}

async fn go_to(house: &House, second: u64) {
    house.time.set_wall(Timestamp::from_millis(second * 1000)).await;
}

#[tokio::test]
async fn what_is_due_is_removed_and_nothing_else() {
    for seed in 0..40 {
        let (disk, settled) = (MemoryDisk::breakable(), tempfile::tempdir().unwrap());
        let settled = (seed % 2 == 0).then(|| settled.path());
        let mut story = Story { random: Random::seeded(seed), now: START, gone: BTreeMap::new() };
        let mut house = open_with_tree(&disk, settled).await;
        for _ in 0..60 {
            match story.random.below(12) {
                0 => house.settle().await.unwrap(),
                1 => {
                    drop(house);
                    disk.lose_power(|| story.random.chance(0.5));
                    house = open_with_tree(&disk, settled).await;
                    go_to(&house, story.now).await;
                    assert_sound(&house);
                }
                2 | 3 => {
                    story.now += story.random.below(15);
                    go_to(&house, story.now).await;
                    story.assert_shown(&house).await;
                    story.sweep(&house).await;
                }
                _ => story.write(&house).await,
            }
        }
        // When everything is over, nothing is left to be reminded of.
        story.now += 1000;
        go_to(&house, story.now).await;
        story.sweep(&house).await;
        assert_eq!(reminders(&house), 0, "seed {seed}");
        house.settle().await.unwrap();
        assert_eq!(reminders(&house), 0, "seed {seed}, settled");
    }
}

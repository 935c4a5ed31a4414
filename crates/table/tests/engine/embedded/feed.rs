//! Those who follow the changes: all of them, once, in order, whenever they begin.

use std::collections::BTreeMap;

use base::Random;
use table::{
    ChangeKind, Changes, Delete, Embedded, Feed, Item, KeyAttribute, KeySpec, Put, TableSpec,
    Tables, TransactWrite,
};
use testkit::seed;
use testkit::store::Store;
use tokio::task::JoinSet;

use super::scan;

const WRITERS: u64 = 8;
const WRITES: u64 = 60;
const ITEMS: u64 = 15;

fn key(number: u64) -> Item {
    Item::new().with("id", format!("id-{number:02}"))
}

async fn write(store: &Embedded, random: &Random, fresh: u64) {
    let item = |number: u64| key(number).with("v", fresh).with("pad", "p".repeat(2000));
    let number = random.below(ITEMS);
    match random.below(4) {
        0 => drop(store.delete(Delete::new("things", key(number))).await.unwrap()),
        1 => {
            let other = (number + 1) % ITEMS;
            let both = [number, other].map(|number| Put::new("things", item(number)).into());
            store.transact_write(TransactWrite::new(both.to_vec())).await.unwrap();
        }
        _ => drop(store.put(Put::new("things", item(number))).await.unwrap()),
    }
}

/// Follows from behind `after` to change `last`.
async fn follow(store: Embedded, after: u64, last: u64) -> Vec<Changes> {
    let mut told = Vec::new();
    follow_on(&mut store.changes(after), &mut told, last).await;
    told
}

async fn follow_on(feed: &mut Feed, told: &mut Vec<Changes>, last: u64) {
    while told.last().is_none_or(|changes| changes.seq < last) {
        told.push(feed.next().await.unwrap());
    }
}

/// What the items are, told by their changes alone; each change must fit what came before it.
fn play(told: &[Changes]) -> BTreeMap<String, Item> {
    let mut items = BTreeMap::new();
    for change in told.iter().flat_map(|changes| &changes.changes) {
        let id = change.key.get("id").unwrap().as_s().unwrap().to_owned();
        let before = match change.new.clone() {
            Some(new) => items.insert(id, new),
            None => items.remove(&id),
        };
        assert_eq!(before.is_none(), change.kind == ChangeKind::Insert, "{change:?}");
        assert_eq!(change.new.is_none(), change.kind == ChangeKind::Remove, "{change:?}");
    }
    items
}

async fn assert_all_is_told(store: Store, seed: u64) {
    let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
    store.ensure_table(spec).await.unwrap();
    let begun = store.last_change();
    let mut writers = JoinSet::new();
    for task in 0..WRITERS {
        let (tables, random) = (store.tables.clone(), Random::seeded(seed).fork(&task.to_string()));
        writers.spawn(async move {
            for number in 0..WRITES {
                write(&tables, &random, task * WRITES + number).await;
            }
        });
    }
    // One that follows while all this happens, and learns only at the end which change is the last.
    let (end, mut ended) = tokio::sync::oneshot::channel();
    let tables = store.tables.clone();
    let mut live = JoinSet::new();
    live.spawn(async move {
        let mut feed = tables.changes(begun);
        let mut told = Vec::new();
        let last = loop {
            tokio::select! {
                next = feed.next() => told.push(next.unwrap()),
                last = &mut ended => break last.unwrap(),
            }
        };
        follow_on(&mut feed, &mut told, last).await;
        told
    });
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    let last = store.last_change();
    let all = follow(store.tables.clone(), begun, last).await;
    assert!(all.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    assert_eq!(play(&all), scan(&store, "things").await, "seed {seed}");
    end.send(last).unwrap();
    assert_eq!(live.join_next().await.unwrap().unwrap(), all, "followed live, seed {seed}");
    let random = Random::seeded(seed);
    for _ in 0..10 {
        let after = begun + random.below(last - begun);
        let told = follow(store.tables.clone(), after, last).await;
        let right: Vec<Changes> =
            all.iter().filter(|changes| changes.seq > after).cloned().collect();
        assert_eq!(told, right, "from behind {after}, seed {seed}");
    }
}

#[testkit::test(4)]
async fn a_follower_in_memory_hears_every_change_once_and_in_order() {
    assert_all_is_told(Store::in_memory().await, seed::draw()).await;
}

#[testkit::test(4)]
async fn a_follower_on_disk_hears_every_change_once_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    assert_all_is_told(Store::small(directory.path()).await, seed::draw()).await;
}

//! A write or sync of the log that fails: the writer stops for good, readers go on, everyone is
//! told, and nothing that was not acknowledged shows.

use std::time::Duration;

use tokio::task::JoinSet;

use super::small_store::{assert_sound, body, key, open, put, thing};
use crate::embedded::{Faults, MemoryDisk};
use crate::error::Error;
use crate::expr::build::attr;
use crate::port::{Put, Query, Tables, TransactWrite, Update};
use crate::spec::{KeyAttribute, KeySpec, TableSpec};
use crate::value::{Item, Value};

const WRITES_FAIL: Faults =
    Faults { writes_fail: true, syncs_fail: false, full: false, ..Faults::NONE };
const SYNCS_FAIL: Faults =
    Faults { writes_fail: false, syncs_fail: true, full: false, ..Faults::NONE };

fn moments() -> TableSpec {
    TableSpec::new("moments", KeySpec::simple(KeyAttribute::n("id"))).ephemeral()
}

#[tokio::test]
async fn everyone_is_told_why_and_nothing_unacknowledged_shows() {
    for (faults, word) in [(WRITES_FAIL, "write failure"), (SYNCS_FAIL, "sync failure")] {
        let disk = MemoryDisk::breakable();
        let store = open(&disk).await;
        for number in 0..10 {
            put(&store, number, "before").await.unwrap();
        }
        assert_eq!(store.stopped(), None);
        disk.inject(faults);
        let mut writers = JoinSet::new();
        for number in 0..64 {
            let tables = store.tables.clone();
            writers.spawn(async move {
                match number % 4 {
                    0 => put(&tables, number, "after").await.map(drop),
                    1 => {
                        let update = Update::new("things", key(number)).set("body", "after");
                        tables.update(update).await.map(drop)
                    }
                    2 => {
                        let put = Put::new("things", thing(100, "after"));
                        tables.put(put.when(attr("pk").not_exists())).await.map(drop)
                    }
                    _ => {
                        let puts = [200 + number, 300 + number]
                            .map(|number| Put::new("things", thing(number, "after")).into());
                        tables.transact_write(TransactWrite::new(puts.to_vec())).await
                    }
                }
            });
        }
        while let Some(written) = writers.join_next().await {
            let Err(Error::Stopped(why)) = written.unwrap() else {
                panic!("a writer was not told");
            };
            assert!(why.contains(word) && why.matches("stopped").count() == 0, "{why}");
        }
        // The disk is well again, and the writer does not believe it.
        disk.inject(Faults::default());
        assert!(matches!(put(&store, 5, "later").await, Err(Error::Stopped(_))));
        assert!(store.stopped().unwrap().contains(word));
        for number in 0..10 {
            assert_eq!(body(&store, number).await, Some(Value::from("before")));
        }
        let all = store.query(Query::new("things", "group", "all").index("by-group")).await;
        assert_eq!(all.unwrap().items.len(), 10);
        assert_sound(&store);
        drop(store);
        let store = open(&disk).await;
        assert_eq!(store.stopped(), None);
        put(&store, 5, "later").await.unwrap();
        assert_sound(&store);
    }
}

#[tokio::test]
async fn nobody_waits_for_a_settler_that_has_ended() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    put(&store, 1, "x").await.unwrap();
    disk.inject(SYNCS_FAIL);
    assert!(matches!(put(&store, 1, "x").await, Err(Error::Stopped(_))));
    let declared = store.ensure_table(moments()).await;
    assert!(matches!(declared, Err(Error::Stopped(_))), "{declared:?}");
    assert!(matches!(store.settle().await, Err(Error::Stopped(_))));
    assert!(matches!(store.close(), Err(Error::Stopped(_))));
}

#[tokio::test]
async fn ephemeral_writers_are_told_when_memory_is_full_and_nothing_settles() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    store.ensure_table(moments()).await.unwrap();
    disk.inject(SYNCS_FAIL);
    assert!(matches!(put(&store, 1, "x").await, Err(Error::Stopped(_))));
    let mut told = None;
    for number in 0..200 {
        let item = Item::new().with("id", number).with("body", "x".repeat(50_000));
        if let Err(error) = store.put(Put::new("moments", item)).await {
            told = Some(error);
            break;
        }
    }
    assert!(matches!(told, Some(Error::Stopped(_))), "{told:?}");
}

#[tokio::test]
async fn a_follower_is_told() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    put(&store, 1, "x").await.unwrap();
    let mut feed = store.changes(store.last_change());
    let mut following = JoinSet::new();
    following.spawn(async move { feed.next().await });
    store.time.settle().await;
    disk.inject(SYNCS_FAIL);
    assert!(put(&store, 2, "x").await.is_err());
    let told = following.join_next().await.unwrap().unwrap();
    assert!(matches!(told, Err(Error::Stopped(_))), "{told:?}");
}

#[tokio::test]
async fn the_sweeper_and_the_archivist_survive_a_stop() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    let mut soon = thing(1, "x");
    soon.insert("gone", 1_800_000_001_i64);
    store.put(Put::new("things", soon)).await.unwrap();
    disk.inject(SYNCS_FAIL);
    assert!(put(&store, 2, "x").await.is_err());
    store.time.advance(Duration::from_secs(200)).await;
    assert_eq!(body(&store, 1).await, None, "expired, though nobody can sweep it");
}

//! A full disk: a clear error, nothing written, and everything as before once there is room.

use std::time::Duration;

use tokio::task::JoinSet;

use super::small_store::{
    assert_sound, body, key, open, open_with_tree, put, thing, things, try_open,
};
use crate::embedded::{Faults, Health, MemoryDisk};
use crate::error::{CancelReason, Error};
use crate::expr::build::attr;
use crate::port::{Check, Delete, Put, Return, Tables, TransactWrite, Update};
use crate::spec::{KeyAttribute, KeySpec, TableSpec};
use crate::value::{Item, Value};

const FULL: Faults = Faults { writes_fail: false, syncs_fail: false, full: true, ..Faults::NONE };
const ROOM: Faults = Faults { writes_fail: false, syncs_fail: false, full: false, ..Faults::NONE };
/// Three of these fill a segment.
const LARGE: usize = 300_000;

/// Writes until a segment is needed that the disk has no room for; answers the last number that
/// was taken.
async fn fill(store: &crate::Embedded, disk: &MemoryDisk, from: i64) -> i64 {
    disk.inject(FULL);
    for number in from.. {
        match put(store, number, "x".repeat(LARGE)).await {
            Ok(_) => {}
            Err(Error::DiskFull) => return number - 1,
            Err(other) => panic!("{other}"),
        }
    }
    unreachable!("a disk without room takes no end of segments")
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_not_there_and_goes_when_there_is_room() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    let last = fill(&store, &disk, 0).await;
    let described = store.describe_table("things").await.unwrap();
    assert_eq!(described.items, u64::try_from(last + 1).unwrap());
    assert_eq!(body(&store, last + 1).await, None);
    assert_eq!(store.stopped(), None);
    assert_sound(&store);
    disk.inject(ROOM);
    put(&store, last + 1, "fits").await.unwrap();
    assert_eq!(body(&store, last + 1).await, Some(Value::from("fits")));
    assert_sound(&store);
    drop(store);
    let store = open(&disk).await;
    assert_eq!(body(&store, last + 1).await, Some(Value::from("fits")));
    assert_sound(&store);
}

#[tokio::test]
async fn everyone_who_waited_is_told_and_all_counts_are_right() {
    let (disk, settled) = (MemoryDisk::breakable(), tempfile::tempdir().unwrap());
    let store = open_with_tree(&disk, Some(settled.path())).await;
    let last = fill(&store, &disk, 0).await;
    let mut writers = JoinSet::new();
    for number in 0..40 {
        let tables = store.tables.clone();
        // New ones, changed ones, and ones that go; the first waits for a segment already.
        writers.spawn(async move {
            match number % 3 {
                0 => put(&tables, 1000 + number, "y".repeat(LARGE)).await.map(drop),
                1 => put(&tables, number % (last + 1), "y".repeat(LARGE)).await.map(drop),
                _ => {
                    let delete = Delete::new("things", key(number % (last + 1)));
                    tables.delete(delete).await.map(drop)
                }
            }
        });
    }
    let mut refused = 0;
    while let Some(written) = writers.join_next().await {
        match written.unwrap() {
            Ok(()) => {}
            Err(Error::DiskFull) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 0);
    assert_sound(&store);
    // What was taken back lay in memtables of all ages: the tree must not learn of it.
    disk.inject(ROOM);
    store.settle().await.unwrap();
    assert_sound(&store);
    drop(store);
    let store = open_with_tree(&disk, Some(settled.path())).await;
    assert_sound(&store);
}

#[tokio::test]
async fn a_round_whose_mark_does_not_fit_makes_the_store_full_until_there_is_room() {
    let (disk, settled) = (MemoryDisk::breakable(), tempfile::tempdir().unwrap());
    let store = open_with_tree(&disk, Some(settled.path())).await;
    let tree = store.tables.engine.rows.tree.as_ref().unwrap();
    let health = || store.health(Duration::MAX);
    tree.take_room_for_marks(true);
    put(&store, 1, "one").await.unwrap();
    assert!(matches!(store.settle().await, Err(Error::DiskFull)));
    assert_eq!(health(), Health::Full);
    put(&store, 2, "two").await.unwrap();
    assert!(
        matches!(store.settle().await, Err(Error::DiskFull)),
        "the round before is not durable"
    );
    tree.take_room_for_marks(false);
    // Nobody writes; the settler tries again by itself.
    testkit::wait::until("a store that is well", || match health() {
        Health::Well => Ok(()),
        other => Err(other),
    });
    store.settle().await.unwrap();
    put(&store, 3, "three").await.unwrap();
    assert_sound(&store);
    drop(store);
    let store = open_with_tree(&disk, Some(settled.path())).await;
    assert_eq!(body(&store, 3).await, Some(Value::from("three")));
    assert_sound(&store);
}

#[tokio::test]
async fn a_tree_that_cannot_grow_makes_the_store_full_until_there_is_room() {
    let (disk, settled) = (MemoryDisk::breakable(), tempfile::tempdir().unwrap());
    let store = open_with_tree(&disk, Some(settled.path())).await;
    let tree = store.tables.engine.rows.tree.as_ref().unwrap();
    let health = || store.health(Duration::MAX);
    tree.take_room_for_length(true);
    put(&store, 1, "one").await.unwrap();
    let mut settled_until_full = Ok(());
    for _ in 0..10 {
        // Items come and go in one round. Once a round reuses pages, LMDB does not write those at
        // the end of the file.
        let gone = TableSpec::new("gone", KeySpec::simple(KeyAttribute::s("id")));
        store.ensure_table(gone).await.unwrap();
        for number in 0..5 {
            let item = Item::new().with("id", number.to_string()).with("body", "x".repeat(20_000));
            store.put(Put::new("gone", item)).await.unwrap();
        }
        store.delete_table("gone").await.unwrap();
        settled_until_full = store.settle().await;
        if settled_until_full.is_err() {
            break;
        }
    }
    assert!(matches!(settled_until_full, Err(Error::DiskFull)), "{settled_until_full:?}");
    assert_eq!((health(), store.stopped()), (Health::Full, None));
    assert_eq!(body(&store, 1).await, Some(Value::from("one")));
    tree.take_room_for_length(false);
    // Nobody writes; the settler tries again by itself.
    testkit::wait::until("a store that is well", || match health() {
        Health::Well => Ok(()),
        other => Err(other),
    });
    put(&store, 2, "two").await.unwrap();
    store.settle().await.unwrap();
    assert_sound(&store);
    drop(store);
    let store = open_with_tree(&disk, Some(settled.path())).await;
    assert_eq!(body(&store, 2).await, Some(Value::from("two")));
    assert_sound(&store);
}

#[tokio::test]
async fn a_decision_on_what_was_taken_back_is_made_again() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    let last = fill(&store, &disk, 0).await;
    let mut writers = JoinSet::new();
    for _ in 0..8 {
        let tables = store.tables.clone();
        writers.spawn(async move {
            let mut large = thing(last + 1, "x".repeat(LARGE));
            large.insert("count", 1);
            tables.put(Put::new("things", large)).await.map(|_| "put")
        });
        let tables = store.tables.clone();
        writers.spawn(async move {
            let absent = Put::new("things", thing(last + 1, "z".repeat(LARGE)));
            tables.put(absent.when(attr("pk").not_exists())).await.map(|_| "put-if-absent")
        });
        let tables = store.tables.clone();
        writers.spawn(async move {
            let update = Update::new("things", key(last + 1)).set("count", attr("count").plus(1));
            let update = update.returning(Return::AllNew);
            tables.update(update).await.map(|_| "update")
        });
        let tables = store.tables.clone();
        writers.spawn(async move {
            let check = Check::new("things", key(last + 1), attr("pk").not_exists());
            let writes = vec![check.into(), Put::new("things", thing(0, "w")).into()];
            tables.transact_write(TransactWrite::new(writes)).await.map(|()| "transaction")
        });
    }
    while let Some(written) = writers.join_next().await {
        match written.unwrap() {
            // Nothing that was taken back is ever told as a fact.
            Err(Error::ConditionFailed { item }) => panic!("refused for {item:?}"),
            Err(Error::TransactionCanceled { reasons }) => {
                let blamed = |reason: &CancelReason| *reason != CancelReason::None;
                panic!("cancelled for {:?}", reasons.iter().find(|reason| blamed(reason)));
            }
            // `count` of an item that is not there cannot be counted up.
            Err(Error::DiskFull | Error::Invalid(_)) => {}
            Err(other) => panic!("{other}"),
            Ok("transaction") => {}
            Ok(other) => panic!("{other} had no room"),
        }
    }
    assert_eq!(body(&store, last + 1).await, None);
    assert_sound(&store);
}

#[tokio::test]
async fn a_table_that_did_not_fit_does_not_exist() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    fill(&store, &disk, 0).await;
    // Another writer takes the rest of the segment, whatever is left of it.
    let spec = |name: String| TableSpec::new(name, KeySpec::simple(KeyAttribute::s("id")));
    let mut refused = None;
    for number in 0..20_000 {
        let name = format!("table-{number}");
        match store.ensure_table(spec(name.clone())).await {
            Ok(()) => {}
            Err(Error::DiskFull) => {
                refused = Some(name);
                break;
            }
            Err(other) => panic!("{other}"),
        }
    }
    let refused = refused.expect("the segment is full at last");
    let item = Item::new().with("id", "a");
    let wanted = store.put(Put::new(&refused, item.clone())).await;
    assert!(matches!(wanted, Err(Error::NoSuchTable(_))), "{wanted:?}");
    // Somebody asks and goes away before the answer.
    {
        let mut asked = std::pin::pin!(store.ensure_table(spec(refused.clone())));
        let _ = futures_poll(asked.as_mut()).await;
    }
    let wanted = store.put(Put::new(&refused, item.clone())).await;
    assert!(matches!(wanted, Err(Error::NoSuchTable(_) | Error::DiskFull)), "{wanted:?}");
    disk.inject(ROOM);
    store.ensure_table(spec(refused.clone())).await.unwrap();
    store.put(Put::new(&refused, item)).await.unwrap();
    drop(store);
    let store = open(&disk).await;
    assert_eq!(store.describe_table(&refused).await.unwrap().items, 1);
    assert_sound(&store);
}

/// Polls once.
async fn futures_poll<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(move |context| {
        std::task::Poll::Ready(match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn a_house_opens_and_is_read_on_a_full_disk() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    put(&store, 1, "here").await.unwrap();
    drop(store);
    disk.inject(FULL);
    let store = try_open(&disk).await.unwrap();
    store.ensure_table(things()).await.unwrap();
    assert_eq!(body(&store, 1).await, Some(Value::from("here")));
    assert!(matches!(put(&store, 2, "more").await, Err(Error::DiskFull)));
    assert_sound(&store);
    disk.inject(ROOM);
    put(&store, 2, "more").await.unwrap();
}

#[tokio::test]
async fn a_house_closes_on_a_full_disk() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    let last = fill(&store, &disk, 0).await;
    // Frozen while it waits for a segment that does not come.
    let (tables, settling) = (store.tables.clone(), store.tables.clone());
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { put(&tables, 999, "x".repeat(LARGE)).await.map(drop) });
    waiting.spawn(async move { settling.settle().await });
    while let Some(ended) = waiting.join_next().await {
        assert!(matches!(ended.unwrap(), Ok(()) | Err(Error::DiskFull)));
    }
    store.close().unwrap();
    drop(store);
    let store = open(&disk).await;
    assert!(body(&store, last).await.is_some());
    assert_sound(&store);
}

#[tokio::test]
async fn a_want_of_descriptors_refuses_writes_and_passes() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    disk.inject(Faults { no_descriptors: true, ..Faults::NONE });
    let mut last = 0;
    let refused = loop {
        match put(&store, last, "x".repeat(LARGE)).await {
            Ok(_) => last += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&refused, Error::Throttled(why) if why.contains("creating log/")),
        "{refused}"
    );
    assert_eq!(store.stopped(), None);
    assert_eq!(body(&store, last).await, None);
    assert_sound(&store);
    disk.inject(Faults::NONE);
    put(&store, last, "fits").await.unwrap();
    assert_sound(&store);
    drop(store);
    let store = open(&disk).await;
    assert_eq!(body(&store, last).await, Some(Value::from("fits")));
    assert_sound(&store);
}

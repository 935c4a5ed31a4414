//! Tables that hold the present moment: gone at a restart, quick until then, and in a
//! transaction with durable tables neither sooner nor later than those.

use tokio::task::JoinSet;

use super::small_store::{SmallStore, assert_sound, body, key, open, thing, try_open};
use crate::embedded::{Faults, MemoryDisk};
use crate::error::Error;
use crate::expr::build::attr;
use crate::port::{Check, Get, Put, Query, Return, Scan, Tables, TransactWrite, Update};
use crate::spec::{KeyAttribute, KeySpec, TableSpec};
use crate::value::{Item, Value};

const SYNCS_FAIL: Faults =
    Faults { writes_fail: false, syncs_fail: true, full: false, ..Faults::NONE };

fn moments() -> TableSpec {
    TableSpec::new("moments", KeySpec::simple(KeyAttribute::n("id")))
        .index("by-room", KeySpec::simple(KeyAttribute::s("room")))
        .ephemeral()
}

fn moment(number: i64, note: &str) -> Item {
    Item::new().with("id", number).with("room", "one").with("note", note)
}

async fn open_both(disk: &MemoryDisk) -> SmallStore {
    let store = open(disk).await;
    store.ensure_table(moments()).await.unwrap();
    store
}

async fn note(store: &SmallStore, number: i64) -> Option<Value> {
    let got = store.get(Get::new("moments", Item::new().with("id", number))).await.unwrap();
    got.map(|item| item.get("note").unwrap().clone())
}

#[tokio::test]
async fn a_restart_empties_them_and_keeps_their_declaration() {
    let disk = MemoryDisk::breakable();
    let store = open_both(&disk).await;
    for number in 0..50 {
        store.put(Put::new("moments", moment(number, "old"))).await.unwrap();
        if number % 10 == 0 {
            store.settle().await.unwrap();
        }
    }
    assert_eq!(store.describe_table("moments").await.unwrap().items, 50);
    assert_sound(&store);
    for disk in [disk.copy(), disk] {
        let store = try_open(&disk).await.unwrap();
        assert_eq!(store.describe_table("moments").await.unwrap().items, 0);
        assert_eq!(store.scan(Scan::new("moments")).await.unwrap().items, Vec::<Item>::new());
        let by_room = Query::new("moments", "room", "one").index("by-room");
        assert_eq!(store.query(by_room.clone()).await.unwrap().items, Vec::<Item>::new());
        store.put(Put::new("moments", moment(3, "new"))).await.unwrap();
        assert_eq!(store.query(by_room).await.unwrap().items, [moment(3, "new")]);
        assert_sound(&store);
    }
}

#[tokio::test]
async fn what_is_written_is_read_at_once_though_the_disk_has_stopped() {
    let disk = MemoryDisk::breakable();
    let store = open_both(&disk).await;
    disk.inject(SYNCS_FAIL);
    for number in 0..20 {
        store.put(Put::new("moments", moment(number, "now"))).await.unwrap();
        assert_eq!(note(&store, number).await, Some(Value::from("now")));
        let query = Query::new("moments", "room", "one").index("by-room");
        assert_eq!(store.query(query).await.unwrap().items.len() as i64, number + 1);
    }
    assert_sound(&store);
}

#[tokio::test]
async fn a_mixed_transaction_that_fails_leaves_nothing_in_either_class() {
    let disk = MemoryDisk::breakable();
    let store = open_both(&disk).await;
    store.put(Put::new("moments", moment(1, "old"))).await.unwrap();
    store.settle().await.unwrap();
    disk.inject(SYNCS_FAIL);
    let mut writers = JoinSet::new();
    let tables = store.tables.clone();
    writers.spawn(async move {
        let writes = vec![
            Put::new("things", thing(1, "new")).into(),
            Put::new("moments", moment(1, "new")).into(),
            Put::new("moments", moment(2, "new")).into(),
        ];
        tables.transact_write(TransactWrite::new(writes)).await
    });
    // These rest on it: decided while it is on its way to the disk, they share its fate.
    let tables = store.tables.clone();
    writers.spawn(async move {
        let key = Item::new().with("id", 1);
        let update = Update::new("moments", key).set("note", "newer").when(attr("note").eq("new"));
        tables.update(update.returning(Return::AllNew)).await.map(drop)
    });
    let tables = store.tables.clone();
    writers.spawn(async move {
        let check = Check::new("things", key(1), attr("pk").exists());
        let writes = vec![check.into(), Put::new("moments", moment(3, "rests")).into()];
        tables.transact_write(TransactWrite::new(writes)).await
    });
    let mut outcomes = Vec::new();
    while let Some(written) = writers.join_next().await {
        outcomes.push(written.unwrap());
    }
    assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
    assert!(outcomes.iter().any(|outcome| matches!(outcome, Err(Error::Stopped(_)))));
    assert_eq!(body(&store, 1).await, None);
    assert_eq!(note(&store, 1).await, Some(Value::from("old")));
    assert_eq!(note(&store, 2).await, None);
    assert_eq!(note(&store, 3).await, None);
    assert_sound(&store);
    store.put(Put::new("moments", moment(1, "on"))).await.unwrap();
    assert_eq!(note(&store, 1).await, Some(Value::from("on")));
    assert_sound(&store);
}

/// One item of each class, always written together: nobody may see one without the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_mixed_transaction_shows_whole() {
    let disk = MemoryDisk::breakable();
    let store = open_both(&disk).await;
    let mut tasks = JoinSet::new();
    for writer in 0..4 {
        let tables = store.tables.clone();
        tasks.spawn(async move {
            for round in 0..300 {
                let mark = format!("{writer}-{round}");
                let writes = vec![
                    Put::new("things", thing(1, mark.as_str())).into(),
                    Put::new("moments", moment(1, &mark)).into(),
                ];
                tables.transact_write(TransactWrite::new(writes)).await.unwrap();
            }
        });
    }
    for _ in 0..4 {
        let tables = store.tables.clone();
        tasks.spawn(async move {
            for _ in 0..2000 {
                let gets = vec![
                    Get::new("things", key(1)),
                    Get::new("moments", Item::new().with("id", 1)),
                ];
                let got = tables.transact_get(gets).await.unwrap();
                let durable = got[0].as_ref().map(|item| item.get("body").unwrap().clone());
                let ephemeral = got[1].as_ref().map(|item| item.get("note").unwrap().clone());
                assert_eq!(durable, ephemeral);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert_sound(&store);
}

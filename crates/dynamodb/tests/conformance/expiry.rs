//! Expired items seen through the client, on a DynamoDB that has not deleted them yet.

use std::time::Duration;

use base::{Clock, Tasks, Timestamp};
use table::{
    Delete, Error, Get, Item, KeyAttribute, KeySpec, Projected, Put, Query, Return, Scan,
    TableSpec, Tables, TransactWrite, Update, attr,
};

use crate::{client_at, dynoxide};

/// Far in the future, so that the other implementation, which uses the system's clock, deletes
/// nothing.
const START_S: u64 = 4_000_000_000;

const TABLE: &str = "things";

fn spec() -> TableSpec {
    let by_group = || KeySpec::simple(KeyAttribute::s("group"));
    TableSpec::new(TABLE, KeySpec::simple(KeyAttribute::s("id")))
        .index("whole", by_group())
        .index_projecting("keys", by_group(), Projected::KeysOnly)
        .expiring_by("until")
}

fn id(id: &str) -> Item {
    Item::new().with("id", id)
}

/// An item that expires ten seconds after the start.
fn fleeting(name: &str) -> Item {
    id(name).with("group", "g").with("n", 5).with("until", START_S + 10)
}

#[tokio::test]
async fn an_expired_item_is_hidden_and_blocks_no_write() {
    let (tasks, endpoint) = dynoxide().await;
    let (clock, time) = Clock::virtual_at(Timestamp::from_seconds(START_S).unwrap());
    let tables = client_at(&endpoint, "", clock);
    tables.ensure_table(spec()).await.unwrap();
    for name in ["read", "put", "update", "delete", "transaction", "token"] {
        tables.put(Put::new(TABLE, fleeting(name))).await.unwrap();
    }
    let shown = |index: &str| Query::new(TABLE, "group", "g").index(index);
    let found = tables.query(shown("keys")).await.unwrap().items;
    assert!(found.contains(&id("read").with("group", "g")), "keys alone: {found:?}");
    let cut = Get::new(TABLE, id("read")).project(["n"]);
    assert_eq!(tables.get(cut).await.unwrap(), Some(Item::new().with("n", 5)));
    let dated = id("dated").with("until", Item::new().with("x", 1).with("y", 2));
    tables.put(Put::new(TABLE, dated)).await.unwrap();
    let part = Get { projection: vec![attr("until").field("x")], ..Get::new(TABLE, id("dated")) };
    let wanted = Item::new().with("until", Item::new().with("x", 1));
    assert_eq!(tables.get(part).await.unwrap(), Some(wanted));
    tables.delete(Delete::new(TABLE, id("dated"))).await.unwrap();

    time.advance(Duration::from_secs(10)).await;
    let get = || Get::new(TABLE, id("read"));
    assert_eq!(tables.get(get()).await.unwrap(), None);
    assert_eq!(tables.get(get().project(["n"])).await.unwrap(), None);
    let part = attr("until").field("x");
    let cut = Get { projection: vec![part], ..get() };
    assert_eq!(tables.get(cut).await.unwrap(), None, "a part of the expiry hides nothing");
    assert_eq!(tables.batch_get(vec![get()]).await.unwrap().items, []);
    assert_eq!(tables.transact_get(vec![get()]).await.unwrap(), [None]);
    assert_eq!(tables.scan(Scan::new(TABLE)).await.unwrap().items, []);
    for index in ["whole", "keys"] {
        assert_eq!(tables.query(shown(index)).await.unwrap().items, [], "{index}");
    }

    let guarded = || Put::new(TABLE, id("put")).when(attr("id").exists()).telling();
    let refused = tables.put(guarded()).await;
    assert!(matches!(refused, Err(Error::ConditionFailed { item: None })), "{refused:?}");
    let fresh = Put::new(TABLE, id("put")).when(attr("id").not_exists()).returning(Return::AllOld);
    assert_eq!(tables.put(fresh).await.unwrap(), None);
    let add = |name: &str| Update::new(TABLE, id(name)).add("n", 1);
    let made = tables.update(add("update").returning(Return::AllNew)).await.unwrap();
    assert_eq!(made, Some(id("update").with("n", 1)));
    let delete = table::Delete::new(TABLE, id("delete")).returning(Return::AllOld);
    assert_eq!(tables.delete(delete).await.unwrap(), None);
    let add_both = vec![add("transaction").into()];
    tables.transact_write(TransactWrite::new(add_both)).await.unwrap();
    let with_token = || TransactWrite::new(vec![add("token").into()]).token("token");
    tables.transact_write(with_token()).await.unwrap();
    time.advance(Duration::from_secs(5)).await;
    tables.transact_write(with_token()).await.unwrap();
    for name in ["transaction", "token"] {
        let item = tables.get(Get::new(TABLE, id(name))).await.unwrap();
        assert_eq!(item, Some(id(name).with("n", 1)), "{name}");
    }
    drop(tasks);
}

#[tokio::test]
async fn servers_with_different_prefixes_do_not_see_each_other() {
    let (_tasks, endpoint) = dynoxide().await;
    let one = client_at(&endpoint, "one-", Clock::real());
    let two = client_at(&endpoint, "two-", Clock::real());
    one.ensure_table(spec()).await.unwrap();
    assert_eq!(two.list_tables().await.unwrap(), Vec::<String>::new());
    let missing = two.get(Get::new(TABLE, id("a"))).await;
    assert!(matches!(&missing, Err(Error::NoSuchTable(name)) if name == TABLE), "{missing:?}");
    two.ensure_table(spec()).await.unwrap();
    one.put(Put::new(TABLE, id("a"))).await.unwrap();
    assert_eq!(two.get(Get::new(TABLE, id("a"))).await.unwrap(), None);
    assert_eq!(one.list_tables().await.unwrap(), [TABLE]);
}

#[tokio::test]
async fn instances_may_declare_a_table_together() {
    let (_tasks, endpoint): (Tasks, String) = dynoxide().await;
    let clients: Vec<_> = (0..4).map(|_| client_at(&endpoint, "", Clock::real())).collect();
    let [a, b, c, d] = clients.as_slice() else { panic!("there are four") };
    let (a, b, c, d) = tokio::join!(
        a.ensure_table(spec()),
        b.ensure_table(spec()),
        c.ensure_table(spec()),
        d.ensure_table(spec())
    );
    for declared in [a, b, c, d] {
        declared.unwrap();
    }
    let described = clients.first().unwrap().describe_table(TABLE).await.unwrap();
    assert_eq!(described.spec, spec());
}

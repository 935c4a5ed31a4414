//! Claims about time. A backend may be slower than this (DynamoDB takes days to delete expired
//! items), so they apply only to backends whose clock the test moves.

use std::pin::Pin;
use std::time::Duration;

use base::VirtualTime;
use table::limits::{EXPIRY_AGE_SECONDS_MAX, TOKEN_SECONDS};
use table::{
    Error, Get, Item, KeyAttribute, KeySpec, Put, Query, Return, Scan, TableSpec, Tables,
    TransactWrite, Update, Value, attr,
};

/// The start of the backend's clock, in seconds.
pub const START_S: u64 = 1_700_000_000;

/// A claim with its name.
pub type Claim = (
    &'static str,
    for<'a> fn(&'a dyn Tables, &'a VirtualTime) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
);

/// All claims, in an order in which time only moves forward.
pub fn all() -> Vec<Claim> {
    vec![
        ("an_item_is_gone_from_its_second", |tables, time| {
            Box::pin(an_item_is_gone_from_its_second(tables, time))
        }),
        ("what_is_no_time_to_come_does_not_expire", |tables, time| {
            Box::pin(what_is_no_time_to_come_does_not_expire(tables, time))
        }),
        ("a_token_is_remembered_for_ten_minutes", |tables, time| {
            Box::pin(a_token_is_remembered_for_ten_minutes(tables, time))
        }),
    ]
}

fn spec(name: &str) -> TableSpec {
    let by_group = KeySpec::simple(KeyAttribute::s("group"));
    TableSpec::new(name, KeySpec::simple(KeyAttribute::s("id")))
        .index("by-group", by_group)
        .expiring_by("until")
}

fn id(id: &str) -> Item {
    Item::new().with("id", id)
}

/// The number of items in a scan, in an index and in the description.
async fn counts(tables: &dyn Tables, table: &str) -> [u64; 3] {
    let scanned = tables.scan(Scan::new(table)).await.expect("the scan is valid").scanned;
    let group = Query::new(table, "group", "g").index("by-group");
    let indexed = tables.query(group).await.expect("the query is valid").scanned;
    let described = tables.describe_table(table).await.expect("the table is there");
    [scanned.into(), indexed.into(), described.items]
}

async fn an_item_is_gone_from_its_second(tables: &dyn Tables, time: &VirtualTime) {
    let table = "timed-second";
    tables.ensure_table(spec(table)).await.expect("the declaration is valid");
    let item = id("a").with("group", "g").with("until", START_S + 10);
    tables.put(Put::new(table, item.clone())).await.expect("the item is valid");
    time.advance(Duration::from_millis(9_999)).await;
    let get = || Get::new(table, id("a"));
    assert_eq!(tables.get(get()).await.expect("the key is valid"), Some(item.clone()));
    assert_eq!(counts(tables, table).await, [1, 1, 1]);
    time.advance(Duration::from_millis(1)).await;
    assert_eq!(tables.get(get()).await.expect("the key is valid"), None);
    let got = tables.batch_get(vec![get()]).await.expect("the batch is valid");
    assert_eq!((got.items, got.unprocessed), (Vec::new(), Vec::new()));
    assert_eq!(tables.transact_get(vec![get()]).await.expect("the key is valid"), [None]);
    let [scanned, indexed, _] = counts(tables, table).await;
    assert_eq!([scanned, indexed], [0, 0]);
    // For writes it is absent too.
    let guarded = Put::new(table, item).when(attr("id").exists()).telling();
    let answer = tables.put(guarded).await;
    assert!(matches!(answer, Err(Error::ConditionFailed { item: None })), "{answer:?}");
    let update = Update::new(table, id("a")).add("n", 1).returning(Return::AllNew);
    let made = tables.update(update).await.expect("the update is valid");
    assert_eq!(made, Some(id("a").with("n", 1)));
    time.advance(Duration::from_secs(2)).await;
    assert_eq!(counts(tables, table).await, [1, 0, 1]);
}

async fn what_is_no_time_to_come_does_not_expire(tables: &dyn Tables, time: &VirtualTime) {
    let table = "timed-wrong";
    tables.ensure_table(spec(table)).await.expect("the declaration is valid");
    let now = START_S + 12;
    let number = |text: &str| Value::N(text.parse().expect("the text is a number"));
    let staying: [(&str, Value); 8] = [
        ("zero", 0.into()),
        ("negative", (-5).into()),
        ("a text", (now - 1).to_string().into()),
        ("milliseconds", (now * 1000).into()),
        ("five years ago", (now - EXPIRY_AGE_SECONDS_MAX).into()),
        ("beyond all time", number("1E+30")),
        ("null", Value::Null),
        ("in a moment", (now + 1000).into()),
    ];
    let going: [(&str, Value); 3] = [
        ("almost five years ago", (now - EXPIRY_AGE_SECONDS_MAX + 60).into()),
        ("a fraction", number(&format!("{now}.9"))),
        ("now", now.into()),
    ];
    for (name, until) in staying.iter().chain(&going) {
        let item = id(name).with("group", "g").with("until", until.clone());
        tables.put(Put::new(table, item).returning(Return::None)).await.expect("it is valid");
    }
    assert_eq!(counts(tables, table).await, [8, 8, 11]);
    time.advance(Duration::from_secs(2)).await;
    assert_eq!(counts(tables, table).await, [8, 8, 8]);
    // Without the attribute nothing expires, and with it again existing items do.
    tables.put(Put::new(table, id("x").with("until", now))).await.expect("it is valid");
    let endless = TableSpec { ttl: None, ..spec(table) };
    tables.ensure_table(endless).await.expect("the declaration is valid");
    assert_eq!(counts(tables, table).await, [9, 8, 9]);
    tables.ensure_table(spec(table)).await.expect("the declaration is valid");
    assert_eq!(counts(tables, table).await, [8, 8, 9]);
}

async fn a_token_is_remembered_for_ten_minutes(tables: &dyn Tables, time: &VirtualTime) {
    let table = "timed-token";
    tables.ensure_table(spec(table)).await.expect("the declaration is valid");
    let add = || {
        let update = Update::new(table, id("a")).add("n", 1);
        TransactWrite::new(vec![update.into()]).token("timed")
    };
    let other = || TransactWrite::new(vec![Put::new(table, id("b")).into()]).token("timed");
    let n = async || tables.get(Get::new(table, id("a"))).await.expect("the key is valid");
    tables.transact_write(add()).await.expect("the transaction is valid");
    time.advance(Duration::from_secs(TOKEN_SECONDS - 1)).await;
    tables.transact_write(add()).await.expect("it has happened");
    assert_eq!(n().await, Some(id("a").with("n", 1)));
    let answer = tables.transact_write(other()).await;
    assert!(matches!(answer, Err(Error::TokenMismatch)), "{answer:?}");
    time.advance(Duration::from_secs(1)).await;
    tables.transact_write(other()).await.expect("the token is free");
    let answer = tables.transact_write(add()).await;
    assert!(matches!(answer, Err(Error::TokenMismatch)), "{answer:?}");
}

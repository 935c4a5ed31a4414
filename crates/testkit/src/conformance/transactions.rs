//! Transactions.

use table::limits::{ITEM_BYTES_MAX, TOKEN_BYTES_MAX, TRANSACT_BYTES_MAX, TRANSACT_MAX};
use table::{
    CancelReason, Check, Delete, Error, Get, Item, KeyAttribute, KeySpec, Put, Scan, TableSpec,
    Tables, TransactItem, TransactWrite, Update, attr,
};

use super::{
    assert_refused, assert_taken, declare, ensure, get, key, put, scan, text, text_and_number,
};

fn puts(table: &str, count: usize, item: impl Fn(i32) -> Item) -> TransactWrite {
    let items = (0..).take(count).map(item);
    TransactWrite::new(items.map(|item| Put::new(table, item).into()).collect())
}

async fn count(tables: &dyn Tables, table: &str) -> usize {
    scan(tables, Scan::new(table).project(["sk"])).await.items.len()
}

fn reasons(answer: Result<impl std::fmt::Debug, Error>) -> Vec<CancelReason> {
    match answer {
        Err(Error::TransactionCanceled { reasons }) => reasons,
        other => panic!("the transaction is cancelled: {other:?}"),
    }
}

pub(crate) async fn a_transaction_happens_whole_or_not_at_all(tables: &dyn Tables) {
    let (one, two) = ("transactions-one", "transactions-two");
    declare(tables, one).await;
    declare(tables, two).await;
    put(tables, one, key("a", 1).with("n", 1)).await;
    put(tables, two, key("a", 2)).await;
    let writes = |allowed: bool| -> TransactWrite {
        let guard = if allowed { attr("pk").not_exists() } else { attr("pk").exists() };
        TransactWrite::new(vec![
            Update::new(one, key("a", 1)).add("n", 1).into(),
            Delete::new(two, key("a", 2)).into(),
            Put::new(two, key("a", 3)).into(),
            Check::new(one, key("a", 4), guard).into(),
        ])
    };
    let states = async || {
        let first = get(tables, one, key("a", 1)).await;
        let second = get(tables, two, key("a", 2)).await.is_some();
        (first, second, get(tables, two, key("a", 3)).await.is_some())
    };
    assert_eq!(reasons(tables.transact_write(writes(false)).await).len(), 4);
    assert_eq!(states().await, (Some(key("a", 1).with("n", 1)), true, false));
    assert_taken(tables.transact_write(writes(true)).await, "nothing stands in its way");
    assert_eq!(states().await, (Some(key("a", 1).with("n", 2)), false, true));
}

pub(crate) async fn a_transaction_has_up_to_a_hundred_writes(tables: &dyn Tables) {
    let table = "transactions-count";
    declare(tables, table).await;
    let of = |count| puts(table, count, |number| key("a", number));
    assert_refused(tables.transact_write(of(TRANSACT_MAX + 1)).await, "101 writes");
    assert_refused(tables.transact_write(of(0)).await, "no writes");
    assert_eq!(count(tables, table).await, 0);
    assert_taken(tables.transact_write(of(TRANSACT_MAX)).await, "100 writes");
    assert_eq!(count(tables, table).await, TRANSACT_MAX);
}

pub(crate) async fn a_transaction_weighs_at_most_4_mb(tables: &dyn Tables) {
    let table = "transactions-weight";
    let spec = TableSpec::new(table, text_and_number());
    // The cost of an index does not count.
    ensure(tables, spec.index("by-name", KeySpec::simple(KeyAttribute::s("name")))).await;
    let item = |number| key("a", number).with("name", text(1000)).with("body", text(398_000));
    let fit = TRANSACT_BYTES_MAX / item(0).size();
    assert!(item(0).size() <= ITEM_BYTES_MAX);
    assert_refused(tables.transact_write(puts(table, fit + 1, item)).await, "more than 4 MB");
    assert_eq!(count(tables, table).await, 0);
    assert_taken(tables.transact_write(puts(table, fit, item)).await, "4 MB");
    assert_eq!(scan(tables, Scan::new(table).index("by-name").limit(1)).await.scanned, 1);
}

pub(crate) async fn a_transaction_names_an_item_once(tables: &dyn Tables) {
    let table = "transactions-once";
    declare(tables, table).await;
    let writes = || -> [TransactItem; 4] {
        [
            Put::new(table, key("a", 1)).into(),
            Update::new(table, key("a", 1)).set("x", 1).into(),
            Delete::new(table, key("a", 1)).into(),
            Check::new(table, key("a", 1), attr("pk").not_exists()).into(),
        ]
    };
    for first in writes() {
        for second in writes() {
            let transaction = TransactWrite::new(vec![first.clone(), second]);
            assert_refused(tables.transact_write(transaction).await, "one item twice");
        }
    }
    assert_eq!(count(tables, table).await, 0);
    let gets = vec![Get::new(table, key("a", 1)), Get::new(table, key("a", 1))];
    assert_refused(tables.transact_get(gets).await, "one item twice");
}

pub(crate) async fn a_cancelled_transaction_says_why(tables: &dyn Tables) {
    let table = "transactions-why";
    let spec = TableSpec::new(table, text_and_number());
    ensure(tables, spec.index("by-name", KeySpec::simple(KeyAttribute::s("name")))).await;
    let held = key("a", 1).with("text", "x");
    put(tables, table, held.clone()).await;
    let absent = || attr("pk").not_exists();
    let transaction = TransactWrite::new(vec![
        Put::new(table, key("b", 1)).into(),
        Put::new(table, key("a", 1)).when(absent()).telling().into(),
        Delete::new(table, key("c", 1)).when(!absent()).telling().into(),
        Update::new(table, key("b", 2)).set("y", attr("gone")).into(),
        Put::new(table, key("b", 3).with("name", 3)).into(),
        Put::new(table, Item::new().with("pk", "b")).into(),
        Update::new(table, key("b", 4)).set("sk", 5).into(),
        Check::new(table, key("b", 5).with("more", 1), absent()).into(),
    ]);
    let codes: Vec<_> = reasons(tables.transact_write(transaction).await);
    let returned_item = |at: usize| match codes.get(at) {
        Some(CancelReason::ConditionFailed { item }) => item.as_deref().cloned(),
        other => panic!("its condition fails: {other:?}"),
    };
    assert_eq!((returned_item(1), returned_item(2)), (Some(held), None));
    let codes: Vec<_> = codes.iter().map(CancelReason::code).collect();
    let (failed, wrong) = ("ConditionalCheckFailed", "ValidationError");
    assert_eq!(codes, ["None", failed, failed, wrong, wrong, wrong, wrong, wrong]);
    assert_eq!(count(tables, table).await, 1);
    // An invalid write fails the call itself.
    let empty: TransactItem = Update::new(table, key("b", 1)).into();
    let long = Put::new(table, key("b", 1).with("body", text(ITEM_BYTES_MAX))).into();
    let crossed = Check::new(table, key("b", 1), attr("x").between(2, 1)).into();
    for wrong in [empty, long, crossed, Put::new(table, key("", 1)).into()] {
        assert_refused(tables.transact_write(TransactWrite::new(vec![wrong])).await, "its form");
    }
    let missing = Put::new("transactions-no-table", key("a", 1)).into();
    let missing = tables.transact_write(TransactWrite::new(vec![missing])).await;
    assert!(matches!(missing, Err(Error::NoSuchTable(_))), "{missing:?}");
}

pub(crate) async fn a_token_makes_a_transaction_happen_once(tables: &dyn Tables) {
    let table = "transactions-token";
    declare(tables, table).await;
    let add = |by: i32, token: &str| {
        let update = Update::new(table, key("a", 1)).add("n", by).when(attr("stop").not_exists());
        TransactWrite::new(vec![update.into()]).token(token)
    };
    let n = async || get(tables, table, key("a", 1)).await;
    for _ in 0..3 {
        assert_taken(tables.transact_write(add(1, "token-1")).await, "the same again");
    }
    assert_eq!(n().await, Some(key("a", 1).with("n", 1)));
    let other = tables.transact_write(add(2, "token-1")).await;
    assert!(matches!(other, Err(Error::TokenMismatch)), "{other:?}");
    assert_taken(tables.transact_write(add(2, "token-2")).await, "another token");
    assert_eq!(n().await, Some(key("a", 1).with("n", 3)));
    // A transaction that was not committed does not use its token.
    put(tables, table, key("a", 1).with("n", 0).with("stop", true)).await;
    assert_eq!(reasons(tables.transact_write(add(5, "token-3")).await).len(), 1);
    put(tables, table, key("a", 1).with("n", 0)).await;
    assert_taken(tables.transact_write(add(5, "token-3")).await, "a token not spent");
    assert_eq!(n().await, Some(key("a", 1).with("n", 5)));
    let longest = "t".repeat(TOKEN_BYTES_MAX);
    assert_taken(tables.transact_write(add(1, &longest)).await, "36 characters");
    assert_refused(tables.transact_write(add(1, &(longest + "t"))).await, "37 characters");
    assert_refused(tables.transact_write(add(1, "")).await, "no characters");
}

pub(crate) async fn a_transaction_reads_in_the_order_asked(tables: &dyn Tables) {
    let table = "transactions-get";
    declare(tables, table).await;
    for number in 0..3 {
        put(tables, table, key("a", number).with("x", number)).await;
    }
    let gets = [2, 7, 0].map(|number| Get::new(table, key("a", number)).project(["x"]));
    let found = tables.transact_get(gets.to_vec()).await.expect("the gets are valid");
    let x = |number: i32| Some(Item::new().with("x", number));
    assert_eq!(found, [x(2), None, x(0)]);
    let of = |count: usize| -> Vec<Get> {
        (0..).take(count).map(|number| Get::new(table, key("a", number))).collect()
    };
    let found = tables.transact_get(of(TRANSACT_MAX)).await.expect("a hundred are fine");
    assert_eq!(found.iter().flatten().count(), 3);
    assert_refused(tables.transact_get(of(TRANSACT_MAX + 1)).await, "101 gets");
    assert_refused(tables.transact_get(Vec::new()).await, "no gets");
    let wrong = Get::new(table, Item::new().with("pk", "a"));
    let answer = tables.transact_get(vec![Get::new(table, key("a", 1)), wrong]).await;
    let codes: Vec<_> = reasons(answer).iter().map(CancelReason::code).collect();
    assert_eq!(codes, ["None", "ValidationError"]);
}

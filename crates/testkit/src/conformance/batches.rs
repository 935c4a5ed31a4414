//! Batches of reads and writes.

use table::limits::{BATCH_GET_BYTES_MAX, BATCH_GET_MAX, BATCH_WRITE_MAX, ITEM_BYTES_MAX};
use table::{BatchWrite, Error, Get, Item, Scan, Tables};

use super::{assert_refused, declare, key, put, scan, sort_keys, text};

/// As many keys as a batch of `count` needs.
fn keys(count: usize) -> impl Iterator<Item = Item> {
    (0..).take(count).map(|number| key("a", number))
}

fn puts(table: &str, count: usize) -> Vec<BatchWrite> {
    keys(count).map(|item| BatchWrite::Put { table: table.to_owned(), item }).collect()
}

pub(crate) async fn a_batch_gets_up_to_a_hundred_items(tables: &dyn Tables) {
    let (one, two) = ("batches-get", "batches-get-more");
    declare(tables, one).await;
    declare(tables, two).await;
    put(tables, one, key("a", 3).with("x", 1)).await;
    put(tables, two, key("a", 5).with("x", 2)).await;
    let gets = |count: usize| -> Vec<Get> {
        keys(count)
            .enumerate()
            .map(|(at, key)| Get::new(if at % 2 == 0 { two } else { one }, key))
            .collect()
    };
    put(tables, two, key("a", 4).with("x", 3)).await;
    let got = tables.batch_get(gets(BATCH_GET_MAX)).await.expect("a hundred are fine");
    let mut items = got.items;
    items.sort_by(|(left, _), (right, _)| left.cmp(right));
    let expected =
        [(one.to_owned(), key("a", 3).with("x", 1)), (two.to_owned(), key("a", 4).with("x", 3))];
    assert_eq!((items.as_slice(), got.unprocessed), (expected.as_slice(), Vec::new()));
    assert_refused(tables.batch_get(gets(BATCH_GET_MAX + 1)).await, "101 items");
    assert_refused(tables.batch_get(Vec::new()).await, "no items");
    let twice = vec![Get::new(one, key("a", 3)), Get::new(one, key("a", 3)).project(["x"])];
    assert_refused(tables.batch_get(twice).await, "one item twice");
    let missing = tables.batch_get(vec![Get::new("batches-no-table", key("a", 1))]).await;
    assert!(matches!(missing, Err(Error::NoSuchTable(_))), "{missing:?}");
}

pub(crate) async fn a_batch_answers_up_to_16_mb(tables: &dyn Tables) {
    let table = "batches-bytes";
    declare(tables, table).await;
    let body = text(ITEM_BYTES_MAX - 100);
    let count = BATCH_GET_BYTES_MAX / ITEM_BYTES_MAX + 5;
    for key in keys(count) {
        put(tables, table, key.with("body", body.clone())).await;
    }
    let mut left: Vec<Get> = keys(count).map(|key| Get::new(table, key)).collect();
    let (mut found, mut rounds) = (0, 0);
    while !left.is_empty() {
        let got = tables.batch_get(left).await.expect("the batch is valid");
        let bytes: usize = got.items.iter().map(|(_, item)| item.size()).sum();
        assert!(bytes <= BATCH_GET_BYTES_MAX + ITEM_BYTES_MAX, "{bytes} bytes");
        assert!(!got.items.is_empty(), "every round brings something");
        (found, rounds, left) = (found + got.items.len(), rounds + 1, got.unprocessed);
    }
    assert_eq!(found, count);
    assert!(rounds > 1, "more than 16 MB came at once");
}

pub(crate) async fn a_batch_writes_up_to_25_items(tables: &dyn Tables) {
    let table = "batches-write";
    declare(tables, table).await;
    let left = tables.batch_write(puts(table, BATCH_WRITE_MAX)).await;
    assert_eq!(left.expect("25 are fine"), []);
    assert_eq!(scan(tables, Scan::new(table)).await.items.len(), BATCH_WRITE_MAX);
    assert_refused(tables.batch_write(puts(table, BATCH_WRITE_MAX + 1)).await, "26 writes");
    assert_refused(tables.batch_write(Vec::new()).await, "no writes");
    let gone =
        (1..20).map(|number| BatchWrite::Delete { table: table.to_owned(), key: key("a", number) });
    let more = BatchWrite::Put { table: table.to_owned(), item: key("a", 30) };
    let left = tables.batch_write(gone.chain([more]).collect()).await;
    assert_eq!(left.expect("the batch is valid"), []);
    let rest = sort_keys(&scan(tables, Scan::new(table)).await.items);
    assert_eq!(rest, ["0", "20", "21", "22", "23", "24", "30"]);
}

pub(crate) async fn a_batch_with_a_wrong_write_does_nothing(tables: &dyn Tables) {
    let table = "batches-wrong";
    declare(tables, table).await;
    let with = |write: BatchWrite| -> Vec<BatchWrite> {
        puts(table, 3).into_iter().chain([write]).collect()
    };
    let put = |item: Item| BatchWrite::Put { table: table.to_owned(), item };
    let delete = |key: Item| BatchWrite::Delete { table: table.to_owned(), key };
    let wrong = [
        ("one item twice", put(key("a", 1).with("x", 1))),
        ("a put and a delete of one item", delete(key("a", 1))),
        ("an item without sort key", put(Item::new().with("pk", "a"))),
        ("an item too large", put(key("a", 9).with("body", text(ITEM_BYTES_MAX)))),
        ("a key with more", delete(key("a", 9).with("x", 1))),
    ];
    for (what, write) in wrong {
        assert_refused(tables.batch_write(with(write)).await, what);
    }
    let missing = BatchWrite::Put { table: "batches-no-table".to_owned(), item: key("a", 9) };
    let missing = tables.batch_write(with(missing)).await;
    assert!(matches!(missing, Err(Error::NoSuchTable(_))), "{missing:?}");
    assert_eq!(scan(tables, Scan::new(table)).await.items, []);
}

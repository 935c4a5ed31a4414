//! The room that deleted items took is used again, and given back.

use std::path::Path;

use table::{BatchWrite, Item, KeyAttribute, KeySpec, Options, TableSpec, Tables};
use testkit::depth;
use testkit::store::{self, START, Store, small};

use super::assert_sound;

const PAD: usize = 50_000;

fn key(number: u64) -> Item {
    Item::new().with("id", format!("id-{number:05}"))
}

async fn write_all(store: &Store, count: u64, write: impl Fn(u64) -> BatchWrite) {
    let numbers: Vec<u64> = (0..count).collect();
    for some in numbers.chunks(25) {
        let undone = store.batch_write(some.iter().map(|number| write(*number)).collect()).await;
        assert_eq!(undone.unwrap(), []);
    }
    store.settle().await.unwrap();
}

async fn fill(store: &Store, count: u64) {
    let table = || "things".to_owned();
    let item = |number| key(number).with("pad", "p".repeat(PAD));
    write_all(store, count, |number| BatchWrite::Put { table: table(), item: item(number) }).await;
}

async fn empty(store: &Store, count: u64) {
    let table = || "things".to_owned();
    write_all(store, count, |number| BatchWrite::Delete { table: table(), key: key(number) }).await;
}

async fn open(path: &Path) -> Store {
    // Not the smallest memory: a round for every megabyte would only take time.
    let options = Options { memory_mib: 4, ..small(path) };
    let store = Store::open(options, START).await.unwrap();
    let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
    store.ensure_table(spec).await.unwrap();
    store
}

fn tree_bytes(path: &Path) -> u64 {
    std::fs::metadata(path.join("settled/data.mdb")).unwrap().len()
}

#[testkit::test]
async fn what_deleted_items_took_is_used_again() {
    const ITEMS: u64 = 200;
    let directory = store::quick_directory();
    let store = open(directory.path()).await;
    fill(&store, ITEMS).await;
    empty(&store, ITEMS).await;
    fill(&store, ITEMS).await;
    let twice = tree_bytes(directory.path());
    for _ in 0..depth::pick(2, 10) {
        empty(&store, ITEMS).await;
        fill(&store, ITEMS).await;
    }
    let often = tree_bytes(directory.path());
    assert!(often <= twice + twice / 4, "{often} bytes in the end, {twice} after two times");
    assert_sound(&store).await;
}

#[testkit::test]
async fn what_deleted_items_took_is_given_back_at_the_next_start() {
    /// Enough that giving room back is worth a copy.
    const ITEMS: u64 = 1500;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fill(&store, ITEMS).await;
    let full = tree_bytes(directory.path());
    empty(&store, ITEMS).await;
    assert_sound(&store).await;
    store.close().unwrap();
    drop(store);
    let store = open(directory.path()).await;
    let left = tree_bytes(directory.path());
    assert!(left < full / 20, "{left} bytes are left of {full}");
    fill(&store, 100).await;
    assert_sound(&store).await;
}

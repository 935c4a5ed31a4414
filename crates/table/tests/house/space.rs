//! The room that deleted items took is used again, and given back.

use std::path::Path;

use table::{BatchWrite, Item, KeyAttribute, KeySpec, TableSpec, Tables};

use super::support::{House, START, assert_sound, small, try_open};

/// Enough that giving room back is worth a copy.
const ITEMS: u64 = 3000;
const PAD: usize = 25_000;

fn key(number: u64) -> Item {
    Item::new().with("id", format!("id-{number:05}"))
}

async fn write_all(house: &House, write: impl Fn(u64) -> BatchWrite) {
    let numbers: Vec<u64> = (0..ITEMS).collect();
    for some in numbers.chunks(25) {
        let undone = house.batch_write(some.iter().map(|number| write(*number)).collect()).await;
        assert_eq!(undone.unwrap(), []);
    }
    house.settle().await.unwrap();
}

async fn fill(house: &House) {
    let item = |number| key(number).with("pad", "p".repeat(PAD));
    write_all(house, |number| BatchWrite::Put { table: "things".to_owned(), item: item(number) })
        .await;
}

async fn empty(house: &House) {
    write_all(house, |number| BatchWrite::Delete { table: "things".to_owned(), key: key(number) })
        .await;
}

async fn open(path: &Path) -> House {
    let house = try_open(small(path), START).await.unwrap();
    let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
    house.ensure_table(spec).await.unwrap();
    house
}

fn tree_bytes(path: &Path) -> u64 {
    std::fs::metadata(path.join("settled/data.mdb")).unwrap().len()
}

#[tokio::test]
async fn what_deleted_items_took_is_used_again_and_given_back_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let house = open(directory.path()).await;
    fill(&house).await;
    empty(&house).await;
    fill(&house).await;
    let twice = tree_bytes(directory.path());
    for _ in 0..2 {
        empty(&house).await;
        fill(&house).await;
    }
    let often = tree_bytes(directory.path());
    assert!(often <= twice + twice / 4, "{often} bytes after four times, {twice} after two");
    empty(&house).await;
    assert_sound(&house).await;
    house.close().unwrap();
    drop(house);
    let house = open(directory.path()).await;
    let left = tree_bytes(directory.path());
    assert!(left < twice / 20, "{left} bytes are left of {twice}");
    fill(&house).await;
    assert_sound(&house).await;
}

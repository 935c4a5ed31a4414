//! What every backend of the `Tables` port promises (`testkit::conformance`), tried on the engine in
//! memory and on disk.

use base::{Clock, Timestamp};
use table::{Options, Tables};
use testkit::conformance::{self, timed};
use testkit::store::{Place, Store};

#[testkit::test]
async fn a_house_in_memory_keeps_every_promise() {
    let store = open(Place::Memory).await;
    try_all(&store).await;
}

#[testkit::test]
async fn a_house_on_disk_keeps_every_promise() {
    let directory = tempfile::tempdir().unwrap();
    // A small memory, so that large items are settled while they are read.
    let path = directory.path().to_owned();
    let options = Options { path, memory_mib: 1, ..Options::default() };
    let store = open(Place::Disk(options)).await;
    try_all(&store).await;
    store.close().unwrap();
}

async fn open(place: Place) -> Store {
    let start = Timestamp::from_seconds(timed::START_S).unwrap();
    let (clock, time) = Clock::virtual_at(start);
    Store::on(place, clock, time).await.unwrap()
}

async fn try_all(store: &Store) {
    let tables: &dyn Tables = &store.tables;
    for (name, claim) in conformance::all() {
        println!("{name}");
        claim(tables).await;
    }
    for (name, claim) in timed::all() {
        println!("{name}");
        claim(tables, &store.time).await;
    }
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}

//! Stores for tests: small, on a disk that breaks, at a time that stands still.

use std::path::Path;
use std::sync::Arc;

use base::{Clock, Tasks, Timestamp, VirtualTime};

use crate::embedded::settled::Tree;
use crate::embedded::{Embedded, Engine, MemoryDisk};
use crate::error::Error;
use crate::options::Options;
use crate::port::{Get, Put, Tables};
use crate::spec::{KeyAttribute, KeySpec, TableSpec};
use crate::value::{Item, Value};

/// When stores open.
pub(super) const START_MS: u64 = 1_800_000_000_000;

/// A store with everything that it needs to go on.
pub(super) struct SmallStore {
    pub(super) tables: Embedded,
    pub(super) time: VirtualTime,
    tasks: Tasks,
}

impl std::ops::Deref for SmallStore {
    type Target = Embedded;

    fn deref(&self) -> &Embedded {
        &self.tables
    }
}

impl Drop for SmallStore {
    fn drop(&mut self) {
        let panicked = self.tasks.panicked();
        assert!(std::thread::panicking() || panicked.is_empty(), "tasks panicked: {panicked:?}");
    }
}

/// The smallest there are, so that a test meets every border soon.
pub(super) fn small() -> Options {
    Options { memory_mib: 1, segment_mib: 1, ..Options::default() }
}

/// Opens the store on `disk`, or says why not.
pub(super) async fn try_open(disk: &MemoryDisk) -> Result<SmallStore, Error> {
    try_open_with_tree(disk, None).await
}

/// The same with a tree in `settled`, so that the log breaks and the tree is real.
pub(super) async fn try_open_with_tree(
    disk: &MemoryDisk,
    settled: Option<&Path>,
) -> Result<SmallStore, Error> {
    let (clock, time) = Clock::virtual_at(Timestamp::from_millis(START_MS));
    let tasks = Tasks::new();
    let tree = settled.map(Tree::open).transpose()?;
    let store = Engine::start(None, tree, Arc::new(disk.clone()), small(), clock)?;
    let tables = store.finish_opening(&tasks).await?;
    Ok(SmallStore { tables, time, tasks })
}

/// Opens the store on `disk` and declares `things`.
pub(super) async fn open(disk: &MemoryDisk) -> SmallStore {
    open_with_tree(disk, None).await
}

/// The same with a tree in `settled`.
pub(super) async fn open_with_tree(disk: &MemoryDisk, settled: Option<&Path>) -> SmallStore {
    let store = try_open_with_tree(disk, settled).await.unwrap();
    store.ensure_table(things()).await.unwrap();
    store
}

/// A table with everything that a row can drag along.
pub(super) fn things() -> TableSpec {
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
    let by_group = KeySpec::composite(KeyAttribute::s("group"), KeyAttribute::n("rank"));
    TableSpec::new("things", key).index("by-group", by_group).expiring_by("gone")
}

/// The key of thing `number`.
pub(super) fn key(number: i64) -> Item {
    Item::new().with("pk", format!("p{}", number % 3)).with("sk", number)
}

/// Thing `number` with that body.
pub(super) fn thing(number: i64, body: impl Into<Value>) -> Item {
    key(number).with("group", "all").with("rank", number).with("body", body)
}

/// Writes thing `number`.
pub(super) async fn put(
    store: &Embedded,
    number: i64,
    body: impl Into<Value>,
) -> Result<Option<Item>, Error> {
    store.put(Put::new("things", thing(number, body))).await
}

/// The body of thing `number`, if it is there.
pub(super) async fn body(store: &Embedded, number: i64) -> Option<Value> {
    let found = store.get(Get::new("things", key(number))).await.unwrap();
    found.map(|item| item.get("body").unwrap().clone())
}

/// Asserts that a full check finds nothing.
#[track_caller]
pub(super) fn assert_sound(store: &Embedded) {
    assert_eq!(store.engine.check().unwrap().problems, Vec::<String>::new());
}

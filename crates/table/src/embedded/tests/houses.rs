//! Houses for tests: small, on a disk that breaks, at a time that stands still.

use base::{Clock, Tasks, Timestamp};

use crate::embedded::{Embedded, MemoryDisk};
use crate::options::Options;
use crate::port::{Get, Put, Tables};
use crate::spec::{KeyAttribute, KeySpec, TableSpec};
use crate::value::{Item, Value};

/// A house with everything it needs to go on living.
pub(super) struct House {
    pub(super) tables: Embedded,
    _tasks: Tasks,
}

impl std::ops::Deref for House {
    type Target = Embedded;

    fn deref(&self) -> &Embedded {
        &self.tables
    }
}

/// The smallest there are, so that a test meets every border soon.
pub(super) fn small() -> Options {
    Options { memory_mib: 1, segment_mib: 1, ..Options::default() }
}

/// Opens the house on `disk`, or tells why not.
pub(super) async fn try_open(disk: &MemoryDisk) -> Result<House, crate::Error> {
    let start = Timestamp::from_millis(1_800_000_000_000);
    let (clock, _) = Clock::virtual_at(start);
    let tasks = Tasks::new();
    let tables = Embedded::on_memory_disk(disk.clone(), small(), clock, &tasks).await?;
    Ok(House { tables, _tasks: tasks })
}

/// Opens the house on `disk` and declares `things`.
pub(super) async fn open(disk: &MemoryDisk) -> House {
    let house = try_open(disk).await.unwrap();
    house.ensure_table(things()).await.unwrap();
    house
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
    house: &Embedded,
    number: i64,
    body: impl Into<Value>,
) -> Result<Option<Item>, crate::Error> {
    house.put(Put::new("things", thing(number, body))).await
}

/// The body of thing `number`, if it is there.
pub(super) async fn body(house: &Embedded, number: i64) -> Option<Value> {
    let found = house.get(Get::new("things", key(number))).await.unwrap();
    found.map(|item| item.get("body").unwrap().clone())
}

/// Asserts that a full check finds nothing.
#[track_caller]
pub(super) fn assert_sound(house: &Embedded) {
    assert_eq!(house.engine.check().unwrap().problems, Vec::<String>::new());
}

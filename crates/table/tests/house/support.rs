//! Houses on real files, at a time that the test moves.

use std::collections::BTreeMap;
use std::path::Path;

use base::{Clock, Tasks, Timestamp, VirtualTime};
use table::{Embedded, Error, Item, Options, Scan, Tables};

/// When the first house of a test opens.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// An open house.
pub(crate) struct House {
    pub(crate) tables: Embedded,
    pub(crate) clock: Clock,
    pub(crate) time: VirtualTime,
    _tasks: Tasks,
}

impl std::ops::Deref for House {
    type Target = Embedded;

    fn deref(&self) -> &Embedded {
        &self.tables
    }
}

/// The smallest there is, so that a test meets every border soon.
pub(crate) fn small(path: &Path) -> Options {
    Options { path: path.to_owned(), memory_mib: 1, segment_mib: 1, ..Options::default() }
}

/// Opens a house at `now`, or tells why not.
pub(crate) async fn try_open(options: Options, now: Timestamp) -> Result<House, Error> {
    let (clock, time) = Clock::virtual_at(now);
    let tasks = Tasks::new();
    let tables = Embedded::open(options, clock.clone(), &tasks).await?;
    Ok(House { tables, clock, time, _tasks: tasks })
}

/// Opens a small house at `START`.
pub(crate) async fn open(path: &Path) -> House {
    try_open(small(path), START).await.unwrap()
}

/// A house in memory.
pub(crate) async fn in_memory() -> House {
    let (clock, time) = Clock::virtual_at(START);
    let tasks = Tasks::new();
    let tables = Embedded::in_memory(clock.clone(), &tasks).await.unwrap();
    House { tables, clock, time, _tasks: tasks }
}

/// All items of a table that are to be seen, by the text attribute `id`.
pub(crate) async fn scan(house: &Embedded, table: &str) -> BTreeMap<String, Item> {
    let mut items = BTreeMap::new();
    let mut scan = Scan::new(table);
    loop {
        let page = house.scan(scan.clone()).await.unwrap();
        for item in page.items {
            let id = item.get("id").unwrap().as_s().unwrap().to_owned();
            assert!(items.insert(id, item).is_none(), "a scan told an item twice");
        }
        match page.last_key {
            Some(last) => scan.start_after = Some(last),
            None => return items,
        }
    }
}

/// Asserts that a full check finds nothing.
pub(crate) async fn assert_sound(house: &Embedded) {
    assert_eq!(house.check().await.unwrap().problems, Vec::<String>::new());
}

/// The names of the files in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

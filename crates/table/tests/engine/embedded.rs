//! The store's files and its past: damage, restores to an instant, what concurrent readers and
//! writers see, the feed, and the space it takes.

mod damage;
mod feed;
mod history;
mod instants;
mod items;
mod looks;
mod losses;
mod past;
mod private;
mod retention;
mod space;
mod transactions;
mod views;

use std::collections::BTreeMap;
use std::path::Path;

use table::{Embedded, Item, Scan, Tables};

/// All items of a table that are to be seen, by the text attribute `id`.
async fn scan(store: &Embedded, table: &str) -> BTreeMap<String, Item> {
    let mut items = BTreeMap::new();
    let mut scan = Scan::new(table);
    loop {
        let page = store.scan(scan.clone()).await.unwrap();
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
async fn assert_sound(store: &Embedded) {
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}

/// The names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

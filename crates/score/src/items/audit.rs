//! The audit's chain in the table.

use table::{Get, Item, Put, Query, SortCondition, TransactItem, Value, attr};

use super::{ROOM, number, text, time};
use crate::model::audit::{Entry, Head};

/// Reads the end of the chain.
pub(crate) fn get_head() -> Get {
    Get::new(ROOM, key("HEAD"))
}

/// Entries behind a number, the oldest first.
pub(crate) fn query_entries(after: u64, limit: u32) -> Query {
    // Digits sort before the head's letters.
    let stretch = SortCondition::between(place(after.saturating_add(1)), "9".repeat(20));
    Query::new(ROOM, "pk", "AUDIT").sort("sk", stretch).limit(limit).consistent()
}

/// Appends an entry, if the chain still ends where it is sealed to.
pub(crate) fn append(entry: &Entry) -> [TransactItem; 2] {
    let head = key("HEAD").with("number", entry.number).with("hash", entry.hash.as_str());
    let unchanged = match entry.number {
        1 => attr("pk").not_exists(),
        number => attr("number").eq(number - 1).and(attr("hash").eq(entry.previous.as_str())),
    };
    let detail =
        entry.detail.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    let item = key(&place(entry.number))
        .with("number", entry.number)
        .with("at", entry.at.to_string())
        .with("actor", entry.actor.as_str())
        .with("action", entry.action.as_str())
        .with("detail", Value::M(detail.collect()))
        .with("previous", entry.previous.as_str())
        .with("hash", entry.hash.as_str());
    let new = attr("pk").not_exists();
    [Put::new(ROOM, head).when(unchanged).into(), Put::new(ROOM, item).when(new).into()]
}

/// The end of the chain in its item.
pub(crate) fn read_head(item: &Item) -> Option<Head> {
    Some(Head { number: number(item, "number")?, hash: text(item, "hash")? })
}

/// The entry in an item.
pub(crate) fn read_entry(item: &Item) -> Option<Entry> {
    let Some(Value::M(detail)) = item.get("detail") else { return None };
    let detail =
        detail.iter().filter_map(|(name, value)| Some((name.to_owned(), value.as_s()?.to_owned())));
    Some(Entry {
        number: number(item, "number")?,
        at: time(item, "at")?,
        actor: text(item, "actor")?,
        action: text(item, "action")?,
        detail: detail.collect(),
        previous: text(item, "previous")?,
        hash: text(item, "hash")?,
    })
}

fn key(sk: &str) -> Item {
    Item::new().with("pk", "AUDIT").with("sk", sk)
}

fn place(number: u64) -> String {
    format!("{number:020}")
}

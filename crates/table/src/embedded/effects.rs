//! From one changed item to all rows that change with it.
//!
//! A row's index rows follow from the row alone, and when to be reminded of it from its expiry
//! before and after. This is the only place that knows how, and both the first application of a
//! write and its replay from the log go through it, so that they cannot differ.

use std::borrow::Cow;
use std::sync::LazyLock;

use bytes::Bytes;

use super::arena::Arena;
use super::catalog::Table;
use super::commit::Change;
use super::keys::index_key;
use super::memtable::Counts;
use super::row::{self, RowHead};
use super::stamps::Stamps;
use crate::error::Error;
use crate::value::Item;

/// An item as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Stored<'a> {
    /// Its bytes.
    pub(crate) row: Bytes,
    /// What they say without being decoded.
    pub(crate) head: RowHead,
    /// What they decode to.
    pub(crate) item: Cow<'a, Item>,
}

impl<'a> Stored<'a> {
    /// Reads the row stored under a key.
    pub(crate) fn read(key: &[u8], row: Bytes) -> Result<Stored<'static>, Error> {
        let (head, item) = (row::head(&row)?, Cow::Owned(row::decode_row(key, &row)?));
        Ok(Stored { row, head, item })
    }

    /// Reads the row stored under a key as far as `replace` needs it: without indexes, nobody asks
    /// for the item.
    pub(crate) fn read_for(
        table: &Table,
        key: &[u8],
        row: Bytes,
    ) -> Result<Stored<'static>, Error> {
        static NOTHING: LazyLock<Item> = LazyLock::new(Item::new);
        match table.numbers.is_empty() {
            true => Ok(Stored { head: row::head(&row)?, row, item: Cow::Borrowed(&*NOTHING) }),
            false => Stored::read(key, row),
        }
    }

    /// An item about to be stored in `table` under its key, its bytes in `arena`.
    pub(crate) fn new(
        table: &Table,
        key: &[u8],
        item: Cow<'a, Item>,
        arena: &mut Arena,
    ) -> Stored<'a> {
        let row = row::encode_row(key, &item, table.spec.ttl.as_deref(), arena);
        let head = row::head(&row).expect("a row just encoded has a head");
        Stored { row, head, item }
    }
}

/// Adds to `change` what becomes of the rows when `old` gives way to `new`.
pub(crate) fn replace(
    table: &Table,
    key: &Bytes,
    old: Option<&Stored<'_>>,
    new: Option<&Stored<'_>>,
    change: &mut Change,
) {
    change.versions.push((key.clone(), new.map(|new| new.row.clone()), old.is_none()));
    change.stamps.push(Stamps::of(key));
    for (number, index) in table.indexes() {
        let entry =
            |stored: &Stored<'_>| index_key(table.id, number, &index.key, &stored.item, key);
        let (left, right) = (old.and_then(entry), new.and_then(entry));
        // An entry that stays leads to another item all the same.
        change.stamps.extend([&left, &right].into_iter().flatten().map(|entry| Stamps::of(entry)));
        move_entry(left, right, key.clone(), change);
    }
    let expiry = |stored: Option<&Stored<'_>>| stored.map_or(0, |stored| stored.head.expiry);
    change.reminders.postpone(table.id, expiry(old), expiry(new), key);
    let weigh = |stored: Option<&Stored<'_>>| {
        stored.map_or((0, 0), |stored| (1, i64::from(stored.head.size)))
    };
    let ((items_before, bytes_before), (items, bytes)) = (weigh(old), weigh(new));
    let counts = Counts { items: items - items_before, bytes: bytes - bytes_before };
    change.count(table.id, counts);
    change.weight += new.map_or(0, |new| new.head.size as usize);
}

/// A derived row moves from one key to another; where it stays, nothing is written.
fn move_entry(old: Option<Vec<u8>>, new: Option<Vec<u8>>, value: Bytes, change: &mut Change) {
    if old == new {
        return;
    }
    if let Some(old) = old {
        change.versions.push((Bytes::from(old), None, false));
    }
    if let Some(new) = new {
        change.versions.push((Bytes::from(new), Some(value), true));
    }
}

/// Adds to `change` what becomes of a stored item when its table's declaration changes: entries
/// of new indexes, and another expiry.
pub(crate) fn redeclare(
    before: &Table,
    after: &Table,
    key: &Bytes,
    old: &Stored<'_>,
    change: &mut Change,
) {
    let new = Stored::new(after, key, Cow::Borrowed(&old.item), &mut change.arena);
    if new.row != old.row {
        change.versions.push((key.clone(), Some(new.row.clone()), false));
    }
    for (number, index) in after.indexes() {
        if !before.numbers.contains(&number) {
            let entry = index_key(after.id, number, &index.key, &old.item, key);
            move_entry(None, entry, key.clone(), change);
        }
    }
    change.reminders.postpone(after.id, old.head.expiry, new.head.expiry, key);
}

//! The settled store alone, with nothing of the engine around it: what the bench measures the
//! engine against.

use std::path::Path;

use bytes::Bytes;

use super::catalog::{Table, table_key};
use super::disk::gently::Urgency;
use super::keys;
use super::row::decode_row;
use super::settled::{Settled, Tree};
use crate::error::Error;
use crate::value::{Item, Value};

/// A tree, read and written directly.
pub struct BareTree {
    tree: Tree,
    table: Option<Table>,
}

impl BareTree {
    /// An empty tree in `directory`.
    pub fn create(directory: &Path) -> Result<BareTree, Error> {
        Ok(BareTree { tree: Tree::open(directory)?, table: None })
    }

    /// The tree of the closed house in `path`, to read its table `name`.
    pub fn of_house(path: &Path, name: &str) -> Result<BareTree, Error> {
        let tree = Tree::open(&path.join("settled"))?;
        let row = tree.view()?.get(&table_key(name))?.map(<[u8]>::to_vec);
        let table = row.and_then(|row| serde_json::from_slice(&row).ok());
        Ok(BareTree { tree, table })
    }

    /// Writes rows in one synced transaction. They must be sorted.
    pub fn settle(&self, rows: Vec<(Bytes, Bytes)>) -> Result<(), Error> {
        let rows = rows.into_iter().map(|(key, value)| (key, Some(value)));
        self.tree.settle(rows, &[], &Settled::default(), || Urgency::High)?;
        self.tree.write_back(|| Urgency::High)
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.tree.space().0
    }

    /// The bytes under a key; how many there are.
    pub fn get_raw(&self, key: &[u8]) -> Result<usize, Error> {
        Ok(self.tree.view()?.get(key)?.map_or(0, <[u8]>::len))
    }

    /// How many bytes the first `limit` rows from `key` on have.
    pub fn range_raw(&self, key: &[u8], limit: usize) -> Result<usize, Error> {
        let view = self.tree.view()?;
        let range = keys::KeyRange {
            start: std::ops::Bound::Included(key.to_vec()),
            end: std::ops::Bound::Unbounded,
        };
        let rows = view.range(&range, false)?.take(limit);
        rows.map(|row| row.map(|(_, value)| value.len())).sum()
    }

    /// The item under `key`, decoded.
    pub fn get(&self, key: &Item) -> Result<Option<Item>, Error> {
        let Some(table) = &self.table else { return Ok(None) };
        let key = keys::row_key(table.id, &table.spec.key, key)?;
        let view = self.tree.view()?;
        view.get(&key)?.map(|row| decode_row(&key, row)).transpose()
    }

    /// The first `limit` items of a partition, decoded.
    pub fn query(&self, partition: &Value, limit: usize) -> Result<Vec<Item>, Error> {
        let Some(table) = &self.table else { return Ok(Vec::new()) };
        let range = keys::query_range(table.id, 0, partition, None);
        let view = self.tree.view()?;
        let rows = view.range(&range, false)?.take(limit);
        rows.map(|row| row.and_then(|(key, row)| decode_row(&key, row))).collect()
    }
}

//! Which tables there are, and under which numbers their rows live.
//!
//! Table 0 is the catalog's own: its rows lie under `[0 0 0 0 | 0] name`, and `[0 0 0 0 | 1]`
//! holds the next free number. They travel through log, memtable and tree like all rows, so that
//! a restore brings back the tables with their contents. Numbers of tables and indexes are never
//! used again: rows of a dropped table cannot show up in a new one.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::keys::{KeyRange, index_space, scan_range};
use super::state::{EPHEMERAL_BIT, Snapshot};
use crate::error::Error;
use crate::spec::{Durability, IndexSpec, KeyAttribute, KeySpec, TableSpec};

/// The catalog's own table.
pub(crate) const CATALOG: u32 = 0;
/// Names with this beginning are the engine's own and not shown.
pub(crate) const OWN_PREFIX: &str = "_nagaya.";
/// Remembers idempotency tokens.
pub(crate) const TOKENS: &str = "_nagaya.tokens";

/// A table and its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// Its number.
    pub(crate) id: u32,
    /// Its declaration.
    pub(crate) spec: TableSpec,
    /// When it was created, milliseconds of Unix time.
    pub(crate) created_ms: u64,
    /// The number of each index, in the order of `spec.indexes`.
    pub(crate) numbers: Vec<usize>,
    /// The next free index number.
    pub(crate) next_number: usize,
}

/// All tables; replaced as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    by_name: BTreeMap<String, Arc<Table>>,
    by_id: BTreeMap<u32, Arc<Table>>,
    next_id: u32,
}

/// The declaration of the table that remembers tokens.
pub(crate) fn tokens_spec() -> TableSpec {
    TableSpec::new(TOKENS, KeySpec::simple(KeyAttribute::s("token"))).expiring_by("expires")
}

impl Table {
    /// The indexes with their numbers.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (usize, &IndexSpec)> {
        self.numbers.iter().copied().zip(&self.spec.indexes)
    }

    /// The space and declaration of an index.
    pub(crate) fn index(&self, name: &str) -> Result<(u8, &IndexSpec), Error> {
        let mut indexes = self.indexes();
        let found = indexes.find(|(_, index)| index.name == name);
        let (number, index) = found.ok_or_else(|| Error::NoSuchIndex {
            table: self.spec.name.clone(),
            index: name.to_owned(),
        })?;
        Ok((index_space(number), index))
    }

    /// Whether its rows end with the process.
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.id & EPHEMERAL_BIT != 0
    }

    /// This table as `spec` wants it. Unchanged indexes keep their numbers.
    pub(crate) fn become_like(&self, spec: TableSpec) -> Result<Table, Error> {
        if self.spec.key != spec.key || self.spec.durability != spec.durability {
            return Err(Error::TableDiffers(spec.name));
        }
        let mut next_number = self.next_number;
        let numbers = spec.indexes.iter().map(|wanted| {
            let same =
                self.indexes().find(|(_, held)| held.name == wanted.name && held.key == wanted.key);
            same.map_or_else(
                || {
                    next_number += 1;
                    next_number - 1
                },
                |(number, _)| number,
            )
        });
        let numbers = numbers.collect();
        Ok(Table { id: self.id, spec, created_ms: self.created_ms, numbers, next_number })
    }

    /// The ranges of indexes that `self` has and `next` has not.
    pub(crate) fn dropped_indexes(&self, next: &Table) -> Vec<KeyRange> {
        let gone = self.numbers.iter().filter(|number| !next.numbers.contains(number));
        gone.map(|number| scan_range(self.id, index_space(*number), None)).collect()
    }

    /// The row under which the catalog keeps this table.
    pub(crate) fn row(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).expect("a declaration always has a JSON form"))
    }
}

impl Catalog {
    /// Reads the catalog out of the rows.
    pub(crate) fn load(snapshot: &Snapshot<'_>) -> Result<Catalog, Error> {
        let mut catalog = Catalog { next_id: 1, ..Catalog::default() };
        if let Some(row) = snapshot.get(&next_id_key())? {
            catalog.set_next_id(&row)?;
        }
        let range = scan_range(CATALOG, 0, None);
        for row in snapshot.range(&range, false)? {
            let (_, row) = row?;
            let table: Table = serde_json::from_slice(&row).map_err(|_| unreadable("table"))?;
            catalog.insert(Arc::new(table));
        }
        Ok(catalog)
    }

    /// The table of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Table>> {
        self.by_name.get(name)
    }

    /// The table of that name, or that there is none.
    pub(crate) fn get(&self, name: &str) -> Result<&Arc<Table>, Error> {
        self.find(name).ok_or_else(|| Error::NoSuchTable(name.to_owned()))
    }

    /// The table of that number.
    pub(crate) fn by_id(&self, id: u32) -> Option<&Arc<Table>> {
        self.by_id.get(&id)
    }

    /// All tables by name.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.by_name.values()
    }

    /// A new table under the next free number.
    pub(crate) fn create(&mut self, spec: TableSpec, created_ms: u64) -> Arc<Table> {
        let class = match spec.durability {
            Durability::Durable => 0,
            Durability::Ephemeral => EPHEMERAL_BIT,
        };
        let numbers: Vec<usize> = (0..spec.indexes.len()).collect();
        let next_number = numbers.len();
        let id = self.next_id | class;
        self.next_id += 1;
        let table = Arc::new(Table { id, spec, created_ms, numbers, next_number });
        self.insert(Arc::clone(&table));
        table
    }

    /// Adds or replaces a table.
    pub(crate) fn insert(&mut self, table: Arc<Table>) {
        self.by_name.insert(table.spec.name.clone(), Arc::clone(&table));
        self.by_id.insert(table.id, table);
    }

    /// Removes a table.
    pub(crate) fn remove(&mut self, table: &Table) {
        self.by_name.remove(&table.spec.name);
        self.by_id.remove(&table.id);
    }

    /// Takes the next free number from the row that keeps it.
    pub(crate) fn set_next_id(&mut self, row: &[u8]) -> Result<(), Error> {
        self.next_id = serde_json::from_slice(row).map_err(|_| unreadable("next number"))?;
        Ok(())
    }

    /// The row under which the next free number is kept.
    pub(crate) fn next_id_row(&self) -> (Bytes, Bytes) {
        (next_id_key(), Bytes::from(self.next_id.to_string()))
    }
}

/// The key under which the catalog keeps a table.
pub(crate) fn table_key(name: &str) -> Bytes {
    let mut key = vec![0; 5];
    key.extend_from_slice(name.as_bytes());
    Bytes::from(key)
}

/// The key under which the next free number is kept.
fn next_id_key() -> Bytes {
    Bytes::from_static(&[0, 0, 0, 0, 1])
}

fn unreadable(what: &str) -> Error {
    Error::Corrupt {
        file: "settled".to_owned(),
        offset: 0,
        what: format!("the catalog holds a {what} that cannot be read"),
    }
}

//! What DynamoDB remembers of a table and the engine has no use for: tags, capacity, the stream's
//! view. Kept in a table of the door's own, which is not shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use table::{Error, Get, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables, from_item, to_item};

use super::Door;
use super::fault::Fault;

/// Read and write units.
pub(super) type Units = (u64, u64);

/// What is remembered of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The table.
    pub(super) name: String,
    /// Of the table when it is billed by capacity; none when by request.
    pub(super) units: Option<Units>,
    /// Of its indexes.
    pub(super) index_units: BTreeMap<String, Units>,
    /// Its stream, if it has one.
    pub(super) stream: Option<Stream>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) is_protected: bool,
    /// `STANDARD` or `STANDARD_INFREQUENT_ACCESS`.
    pub(super) class: Option<String>,
    /// Whether it may be restored to any instant.
    pub(super) point_in_time: bool,
    /// When it was last made to be billed by request; of tables that always were, nothing.
    #[serde(default)]
    pub(super) pay_per_request_ms: Option<u64>,
    /// When the units of the table changed.
    #[serde(default)]
    pub(super) scaled: Scaled,
    /// When those of its indexes did.
    #[serde(default)]
    pub(super) indexes_scaled: BTreeMap<String, Scaled>,
}

/// When units last changed, if they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scaled {
    /// When one of them grew.
    pub(super) increased_ms: Option<u64>,
    /// When one of them shrank.
    pub(super) decreased_ms: Option<u64>,
}

impl Scaled {
    /// Remembers a change.
    pub(super) fn change(&mut self, from: Units, to: Units, now_ms: u64) {
        if to.0 > from.0 || to.1 > from.1 {
            self.increased_ms = Some(now_ms);
        }
        if to.0 < from.0 || to.1 < from.1 {
            self.decreased_ms = Some(now_ms);
        }
    }
}

/// The stream of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stream {
    /// When it was switched on; its name.
    pub(super) label: String,
    /// What its records show: `KEYS_ONLY` and so on.
    pub(super) view: String,
    /// The last change before it was switched on.
    pub(super) after: u64,
    /// The last change before it was switched off, if it was.
    pub(super) until: Option<u64>,
}

/// The declaration of the door's own table.
pub(super) fn spec() -> TableSpec {
    TableSpec::new("door", KeySpec::simple(KeyAttribute::s("name")))
}

impl Door {
    /// What is remembered of a table; little, of tables that were not made through the door.
    pub(super) async fn load_meta(&self, table: &str) -> Result<Meta, Fault> {
        let key = Item::new().with("name", table);
        match self.store.get(Get::new(self.own.as_str(), key)).await? {
            Some(item) => Ok(from_item(item)?),
            None => Ok(Meta { name: table.to_owned(), ..Meta::default() }),
        }
    }

    /// Remembers.
    pub(super) async fn save_meta(&self, meta: &Meta) -> Result<(), Fault> {
        self.store.put(Put::new(self.own.as_str(), to_item(meta)?)).await?;
        Ok(())
    }

    /// Forgets.
    pub(super) async fn drop_meta(&self, table: &str) -> Result<(), Error> {
        let key = Item::new().with("name", table);
        self.store.delete(table::Delete::new(self.own.as_str(), key)).await?;
        Ok(())
    }
}

//! Properties of a table that DynamoDB stores and the engine does not need: tags, capacity, the
//! view of the stream. They are stored in the door's own table, which is hidden.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use table::{Error, Get, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables, from_item, to_item};

use super::Door;
use super::fault::Fault;

/// Read and write units.
pub(super) type Units = (u64, u64);

/// The stored properties of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The name of the table.
    pub(super) name: String,
    /// The units of a table billed by capacity; none if it is billed by request.
    pub(super) units: Option<Units>,
    /// The units of its indexes.
    pub(super) index_units: BTreeMap<String, Units>,
    /// Its stream, if it has one.
    pub(super) stream: Option<Stream>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) is_protected: bool,
    /// `STANDARD` or `STANDARD_INFREQUENT_ACCESS`.
    pub(super) class: Option<String>,
    /// Whether point-in-time restore is switched on.
    pub(super) point_in_time: bool,
    /// When the table was last switched to billing by request; none if it always was.
    #[serde(default)]
    pub(super) pay_per_request_ms: Option<u64>,
    /// When the units of the table changed.
    #[serde(default)]
    pub(super) scaled: UnitChanges,
    /// When the units of its indexes changed.
    #[serde(default)]
    pub(super) indexes_scaled: BTreeMap<String, UnitChanges>,
}

/// When units last changed, if they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnitChanges {
    /// The time of the last increase.
    pub(super) increased_ms: Option<u64>,
    /// The time of the last decrease.
    pub(super) decreased_ms: Option<u64>,
}

impl UnitChanges {
    /// Records a change.
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
    /// The time at which it was switched on, which is also its name.
    pub(super) label: String,
    /// The contents of its records: `KEYS_ONLY` and so on.
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
    /// The stored properties of a table; mostly defaults for tables that were not created through
    /// the door.
    pub(super) async fn load_meta(&self, table: &str) -> Result<Meta, Fault> {
        let key = Item::new().with("name", table);
        match self.store.get(Get::new(self.own.as_str(), key)).await? {
            Some(item) => Ok(from_item(item)?),
            None => Ok(Meta { name: table.to_owned(), ..Meta::default() }),
        }
    }

    /// Stores the properties.
    pub(super) async fn save_meta(&self, meta: &Meta) -> Result<(), Fault> {
        self.store.put(Put::new(self.own.as_str(), to_item(meta)?)).await?;
        Ok(())
    }

    /// Deletes the properties.
    pub(super) async fn drop_meta(&self, table: &str) -> Result<(), Error> {
        let key = Item::new().with("name", table);
        self.store.delete(table::Delete::new(self.own.as_str(), key)).await?;
        Ok(())
    }
}

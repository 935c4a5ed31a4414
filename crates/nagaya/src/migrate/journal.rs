//! How far a migration is, in a table at its target.
//!
//! ```text
//!   pk           attributes
//!   <table>      items    how many are copied
//!                after    the last key that is, as JSON; none at the beginning and at the end
//!                done     whether that is all
//! ```

use std::sync::Arc;

use table::{
    Get, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables, Value, item_from_json, item_to_json,
};

use crate::Error;

/// Its name. A house has no table of that name of its own.
pub(crate) const TABLE: &str = "nagaya_migration";

pub(super) struct Journal {
    pub(super) store: Arc<dyn Tables>,
}

/// How far one table is.
#[derive(Debug, Default)]
pub(super) struct Noted {
    pub(super) items: u64,
    pub(super) last_key: Option<Item>,
    pub(super) is_done: bool,
}

impl Journal {
    pub(super) async fn open(&self) -> Result<(), Error> {
        let key = KeySpec::simple(KeyAttribute::s("pk"));
        Ok(self.store.ensure_table(TableSpec::new(TABLE, key)).await?)
    }

    pub(super) async fn remove(&self) -> Result<(), Error> {
        Ok(self.store.delete_table(TABLE).await?)
    }

    pub(super) async fn find(&self, table: &str) -> Result<Option<Noted>, Error> {
        let get = Get::new(TABLE, Item::new().with("pk", table));
        let Some(item) = self.store.get(get).await? else { return Ok(None) };
        let unreadable = || table::Error::Io {
            context: format!("table `{TABLE}` tells of `{table}`"),
            cause: "its item cannot be read".to_owned(),
        };
        let items = match item.get("items") {
            Some(Value::N(items)) => items.to_i64().and_then(|items| u64::try_from(items).ok()),
            Some(_) | None => None,
        };
        let items = items.ok_or_else(unreadable)?;
        let last_key = match item.get("after") {
            Some(Value::S(text)) => {
                let json = serde_json::from_str(text).map_err(|_| unreadable())?;
                Some(item_from_json(&json).map_err(|_| unreadable())?)
            }
            Some(_) => return Err(unreadable().into()),
            None => None,
        };
        let is_done = item.get("done") == Some(&Value::Bool(true));
        Ok(Some(Noted { items, last_key, is_done }))
    }

    pub(super) async fn note(&self, table: &str, noted: &Noted) -> Result<(), Error> {
        let item = Item::new().with("pk", table).with("items", noted.items);
        let item = item.with("done", noted.is_done);
        let item = match &noted.last_key {
            Some(key) => item.with("after", item_to_json(key).to_string()),
            None => item,
        };
        self.store.put(Put::new(TABLE, item)).await?;
        Ok(())
    }
}

//! Single items: get, put, delete.

use serde_json::Value as Json;
use table::plain::{self, Plain};
use table::{Delete, Get, Item, Return, TableSpec, item_from_json, item_to_json, put_shown};

use super::request::Format;
use super::{Desk, Key, SECRETS};
use crate::Error;

impl Desk {
    pub(super) async fn get(
        &self,
        table: &str,
        key: &Key,
        format: Format,
        at: Option<&str>,
    ) -> Result<(), Error> {
        let found = match at {
            None => {
                let spec = self.spec(table).await?;
                self.store.get(Get::new(table, key.read(&spec.key)?)).await?
            }
            Some(at) => self.get_past(table, key, at).await?,
        };
        let item = found.ok_or_else(|| Error::NoSuchItem { table: table.to_owned() })?;
        self.say(line_of(table, &item, format)).await
    }

    pub(super) async fn put(&self, table: &str, item: &str, format: Format) -> Result<(), Error> {
        let spec = self.spec_for_writing(table).await?;
        let item = read_item(item, format, &spec)?;
        let replaced = put_shown(&*self.store, &SECRETS, &spec, item).await?;
        self.note(if replaced.is_some() { "replaced an item" } else { "added an item" }).await
    }

    pub(super) async fn delete(&self, table: &str, key: &Key) -> Result<(), Error> {
        let spec = self.spec(table).await?;
        let delete = Delete::new(table, key.read(&spec.key)?).returning(Return::AllOld);
        let deleted = self.store.delete(delete).await?;
        self.note(if deleted.is_some() { "deleted an item" } else { "there was no such item" })
            .await
    }
}

/// An item as a line, without its secrets.
pub(super) fn line_of(table: &str, item: &Item, format: Format) -> String {
    let item = SECRETS.shown(table, item);
    match format {
        Format::Json => plain::write(&item),
        Format::Dynamodb => item_to_json(&item).to_string(),
    }
}

/// An item from its text; DynamoDB's JSON may stand in `{"Item": …}`, as in DynamoDB's exports.
pub(super) fn read_item(text: &str, format: Format, spec: &TableSpec) -> Result<Item, Error> {
    match format {
        Format::Json => Ok(Plain::parse(text)?.into_item(spec)?),
        Format::Dynamodb => read_typed(text),
    }
}

/// An item from DynamoDB's JSON, bare or as in exports.
pub(crate) fn read_typed(text: &str) -> Result<Item, Error> {
    let json: Json = serde_json::from_str(text)
        .map_err(|cause| table::Error::Invalid(format!("not JSON: {cause}")))?;
    let wrapped = json.as_object().filter(|fields| fields.len() == 1);
    let wrapped = wrapped.and_then(|fields| fields.get("Item"));
    Ok(item_from_json(wrapped.unwrap_or(&json))?)
}

//! Tables: CreateTable, UpdateTable, DescribeTable, ListTables, DeleteTable.
//!
//! The engine's declarations change at once, so a table is active as soon as its call is answered.

mod declare;
mod describe;
mod update;

use serde::Deserialize;
use table::Tables;

pub(super) use self::declare::{CreateTable, Tag, Throughput, read_billing};
pub(super) use self::describe::{
    Description, seconds, table_id, write_indexes, write_key, write_units,
};

use super::Door;
use super::fault::{Fault, Kind};
use super::names::TableName;
use super::write::Out;

/// Names in one answer of ListTables.
const LISTED_MAX: usize = 100;

/// A request that names a table and nothing else.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct OneTable {
    pub(super) table_name: Option<TableName>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListTables {
    exclusive_start_table_name: Option<String>,
    limit: Option<i64>,
}

impl Door {
    pub(super) async fn create_table(&self, request: CreateTable) -> Result<String, Fault> {
        let (spec, mut meta) = request.read(self)?;
        // Before anything is remembered of it.
        spec.check()?;
        let name = spec.name.clone();
        let _one_at_a_time = self.declaring.lock().await;
        if self.store.with_spec(&name, |_| ()).is_ok() {
            return Err(Fault::new(Kind::InUse, format!("Table already exists: {name}")));
        }
        if let Some(stream) = &mut meta.stream {
            stream.after = self.store.last_change();
        }
        // First what is remembered: a table without it would be another than was asked for.
        self.save_meta(&meta).await?;
        self.store.ensure_table(spec).await?;
        self.tell("TableDescription", &name, "ACTIVE").await
    }

    pub(super) async fn describe_table(&self, request: OneTable) -> Result<String, Fault> {
        let name = self.name_of(request.table_name)?;
        self.tell("Table", &name, "ACTIVE").await
    }

    pub(super) async fn list_tables(&self, request: ListTables) -> Result<String, Fault> {
        let limit = match request.limit {
            None => LISTED_MAX,
            Some(limit) => match usize::try_from(limit) {
                Ok(limit @ 1..=LISTED_MAX) => limit,
                Ok(0) | Err(_) => {
                    let rule = "have value greater than or equal to 1";
                    return Err(Fault::constraint(&format!("'{limit}'"), "limit", rule));
                }
                Ok(_) => {
                    let rule = "have value less than or equal to 100";
                    return Err(Fault::constraint(&format!("'{limit}'"), "limit", rule));
                }
            },
        };
        let start = request.exclusive_start_table_name.unwrap_or_default();
        let mut names = self.store.list_tables().await?;
        names.retain(|name| *name > start && self.shows(name));
        let more = names.len() > limit;
        names.truncate(limit);
        let mut out = Out::new();
        out.raw("{").field("TableNames").raw("[").list(&names, |out, name| {
            out.text(name);
        });
        out.raw("]");
        if let Some(last) = names.last().filter(|_| more) {
            out.field("LastEvaluatedTableName").text(last);
        }
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) async fn delete_table(&self, request: OneTable) -> Result<String, Fault> {
        let name = self.name_of(request.table_name)?;
        let _one_at_a_time = self.declaring.lock().await;
        if self.load_meta(&name).await?.is_protected {
            return Err(Fault::invalid(
                "Resource cannot be deleted as it is currently protected against deletion. \
                 Disable deletion protection first.",
            ));
        }
        let answer = self.tell("TableDescription", &name, "DELETING").await?;
        self.store.delete_table(&name).await?;
        self.drop_meta(&name).await?;
        Ok(answer)
    }

    /// The description of a table as the one field of an answer.
    pub(super) async fn tell(
        &self,
        field: &str,
        name: &str,
        status: &str,
    ) -> Result<String, Fault> {
        let described = self.store.describe_table(name).await;
        let described = described.map_err(|error| match error {
            table::Error::NoSuchTable(name) => Fault::no_table(&name),
            other => other.into(),
        })?;
        let meta = self.load_meta(name).await?;
        let mut out = Out::new();
        out.raw("{").field(field);
        let counts = self.count_indexes(&described).await?;
        Description { table: &described, meta: &meta, status, counts: &counts }.write(&mut out);
        out.raw("}");
        Ok(out.finish())
    }
}

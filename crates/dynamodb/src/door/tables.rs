//! Operations on tables: CreateTable, UpdateTable, DescribeTable, ListTables, DeleteTable.
//!
//! The engine changes declarations at once, so a table is active as soon as its call returns.

mod declare;
mod define;
mod describe;
mod update;

use serde::Deserialize;
use table::Tables;

pub(super) use self::declare::{CreateTable, read_billing};
pub(super) use self::define::{Throughput, check_attribute_name, check_mode};
pub(super) use self::describe::{
    Description, seconds, table_id, write_indexes, write_key, write_units,
};

use super::Door;
use super::fault::{Fault, Faults, Kind, check_range};
use super::names::{TableName, check_short_name, check_table};
use super::read::Request;
use super::write::JsonWriter;

/// Names in one response of ListTables, and likewise of backups and streams, as in DynamoDB.
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

impl Request for OneTable {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.table_name, "tableName"));
    }
}

impl Request for ListTables {
    fn check(&self, faults: &mut Faults) {
        faults.see(read_limit(self.limit));
        if let Some(start) = &self.exclusive_start_table_name {
            faults.see(check_short_name(start, "exclusiveStartTableName"));
        }
    }
}

/// The number of entries in a response.
pub(super) fn read_limit(limit: Option<i64>) -> Result<usize, Fault> {
    let most = i64::try_from(LISTED_MAX).unwrap_or(i64::MAX);
    check_range(limit, "limit", 1, most)?;
    Ok(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(LISTED_MAX))
}

impl Door {
    pub(super) async fn create_table(&self, request: CreateTable) -> Result<String, Fault> {
        let (spec, mut meta) = request.read(self)?;
        // Before any property is stored.
        spec.check()?;
        let name = spec.name.clone();
        let _one_at_a_time = self.table_lock.lock().await;
        if self.store.with_spec(&name, |_| ()).is_ok() {
            return Err(Fault::new(Kind::InUse, format!("Table already exists: {name}")));
        }
        if let Some(stream) = &mut meta.stream {
            stream.after = self.store.last_change();
        }
        // The properties first: a table without them would differ from the request.
        self.save_meta(&meta).await?;
        self.store.ensure_table(spec).await?;
        self.describe_as("TableDescription", &name, "ACTIVE").await
    }

    pub(super) async fn describe_table(&self, request: OneTable) -> Result<String, Fault> {
        let name = self.name_of(request.table_name)?;
        self.describe_as("Table", &name, "ACTIVE").await
    }

    pub(super) async fn list_tables(&self, request: ListTables) -> Result<String, Fault> {
        let limit = read_limit(request.limit)?;
        let start = request.exclusive_start_table_name.unwrap_or_default();
        let mut names = self.store.list_tables().await?;
        names.retain(|name| *name > start && self.shows(name));
        let more = names.len() > limit;
        names.truncate(limit);
        let mut out = JsonWriter::new();
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
        let _one_at_a_time = self.table_lock.lock().await;
        if self.load_meta(&name).await?.is_protected {
            return Err(Fault::invalid(
                "Resource cannot be deleted as it is currently protected against deletion. \
                 Disable deletion protection first.",
            ));
        }
        let answer = self.describe_as("TableDescription", &name, "DELETING").await?;
        self.store.delete_table(&name).await?;
        self.drop_meta(&name).await?;
        Ok(answer)
    }

    /// The description of a table as the only field of a response.
    pub(super) async fn describe_as(
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
        let mut out = JsonWriter::new();
        out.raw("{").field(field);
        let counts = self.count_indexes(&described).await?;
        Description { table: &described, meta: &meta, status, counts: &counts }.write(&mut out);
        out.raw("}");
        Ok(out.finish())
    }
}

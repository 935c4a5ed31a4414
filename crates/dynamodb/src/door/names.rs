//! Names of tables and other resources, and the long form in which DynamoDB's tools hand them
//! around: `arn:aws:dynamodb:us-east-1:000000000000:table/things/stream/2026-11-16T10:15:00.000`.

use serde::Deserialize;
use table::Embedded;

use super::Door;
use super::fault::{Fault, Kind};

const PREFIX: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/";

/// A table, by its name or its long form.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(super) struct TableName(String);

impl From<String> for TableName {
    fn from(name: String) -> TableName {
        TableName(match name.starts_with("arn:") {
            true => table_of(&name).map_or(name.clone(), str::to_owned),
            false => name,
        })
    }
}

impl Door {
    /// The name of a table that a caller may see.
    pub(super) fn name_of(&self, name: Option<TableName>) -> Result<String, Fault> {
        let TableName(name) = name.ok_or_else(|| Fault::missing("tableName"))?;
        if name.is_empty() {
            return Err(Fault::constraint(
                "''",
                "tableName",
                "have length greater than or equal to 1",
            ));
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if !name.bytes().all(fits) {
            return Err(Fault::constraint(
                &format!("'{name}'"),
                "tableName",
                "satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
            ));
        }
        if !self.shows(&name) {
            return Err(Fault::new(Kind::NoSuchResource, "Requested resource not found"));
        }
        Ok(name)
    }

    /// Whether a table can be reached.
    pub(super) fn shows(&self, name: &str) -> bool {
        !Embedded::is_hidden(name)
            && !self.secrets.touches_table(name)
            && !self.restoring.read().contains(name)
    }
}

/// The long form of a table.
pub(super) fn table_arn(table: &str) -> String {
    format!("{PREFIX}{table}")
}

/// The long form of an index.
pub(super) fn index_arn(table: &str, index: &str) -> String {
    format!("{PREFIX}{table}/index/{index}")
}

/// The long form of a stream.
pub(super) fn stream_arn(table: &str, label: &str) -> String {
    format!("{PREFIX}{table}/stream/{label}")
}

/// The long form of a backup.
pub(super) fn backup_arn(table: &str, id: &str) -> String {
    format!("{PREFIX}{table}/backup/{id}")
}

/// The table in a long form.
pub(super) fn table_of(arn: &str) -> Option<&str> {
    let (_, rest) = arn.split_once(":table/")?;
    Some(rest.split('/').next().unwrap_or(rest))
}

/// What stands behind `kind` in a long form: the label of a stream, the id of a backup.
pub(super) fn part_of<'a>(arn: &'a str, kind: &str) -> Option<&'a str> {
    let (_, rest) = arn.split_once(":table/")?;
    let mut parts = rest.splitn(3, '/').skip(1);
    (parts.next()? == kind).then(|| parts.next()).flatten()
}

//! Names of tables and other resources, and their ARNs, which DynamoDB's tools pass around:
//! `arn:aws:dynamodb:us-east-1:000000000000:table/things/stream/2026-11-16T10:15:00.000`.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::Deserialize;
use table::Embedded;
use table::limits::{NAME_CHARS_MAX, NAME_CHARS_MIN};

use super::Door;
use super::fault::{Fault, Kind};

const PREFIX: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/";
/// The length of an ARN, as in DynamoDB.
const ARN_BYTES: RangeInclusive<usize> = 37..=1024;

/// A table, by its name or its ARN.
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
        check_table(&name, "tableName")?;
        let TableName(name) = name.ok_or_else(|| Fault::missing("tableName"))?;
        if !self.shows(&name) {
            return Err(Fault::new(Kind::NoSuchResource, "Requested resource not found"));
        }
        Ok(name)
    }

    /// Whether callers may see a table.
    pub(super) fn shows(&self, name: &str) -> bool {
        !Embedded::is_hidden(name)
            && !self.secrets.touches_table(name)
            && !self.restoring.read().contains(name)
    }
}

/// Checks that a parameter is a possible table name.
pub(super) fn check_table(name: &Option<TableName>, at: impl Display) -> Result<(), Fault> {
    match name {
        None => Err(Fault::missing(at)),
        Some(TableName(name)) if name.is_empty() => {
            Err(Fault::constraint("''", at, "have length greater than or equal to 1"))
        }
        Some(TableName(name)) => check_letters(name, at),
    }
}

/// Checks that a parameter is a possible name of an index or a backup.
pub(super) fn check_short_name(name: &str, at: impl Display) -> Result<(), Fault> {
    check_length(name, &at, NAME_CHARS_MIN..=NAME_CHARS_MAX)?;
    check_letters(name, at)
}

fn check_letters(name: &str, at: impl Display) -> Result<(), Fault> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if name.bytes().all(fits) {
        return Ok(());
    }
    let rule = "satisfy regular expression pattern: [a-zA-Z0-9_.-]+";
    Err(Fault::constraint(&format!("'{name}'"), at, rule))
}

/// The ARN of a table.
pub(super) fn table_arn(table: &str) -> String {
    format!("{PREFIX}{table}")
}

/// The ARN of an index.
pub(super) fn index_arn(table: &str, index: &str) -> String {
    format!("{PREFIX}{table}/index/{index}")
}

/// The ARN of a stream.
pub(super) fn stream_arn(table: &str, label: &str) -> String {
    format!("{PREFIX}{table}/stream/{label}")
}

/// The ARN of a backup.
pub(super) fn backup_arn(table: &str, id: &str) -> String {
    format!("{PREFIX}{table}/backup/{id}")
}

/// The table in an ARN.
pub(super) fn table_of(arn: &str) -> Option<&str> {
    let rest = resource_of(arn)?;
    rest.split('/').next().filter(|name| !name.is_empty())
}

/// The part of an ARN after `kind`: the label of a stream, the id of a backup.
pub(super) fn part_of<'a>(arn: &'a str, kind: &str) -> Option<&'a str> {
    let mut parts = resource_of(arn)?.splitn(3, '/').skip(1);
    let part = (parts.next()? == kind).then(|| parts.next()).flatten();
    part.filter(|part| !part.is_empty())
}

/// The part after `table/`. Any region and account are accepted: there is one server.
fn resource_of(arn: &str) -> Option<&str> {
    let rest = arn.strip_prefix("arn:aws:dynamodb:")?;
    let mut parts = rest.splitn(3, ':');
    let (region, account) = (parts.next()?, parts.next()?);
    let is_account = account.bytes().all(|byte| byte.is_ascii_digit());
    let fits = !region.is_empty() && !account.is_empty() && is_account;
    parts.next()?.strip_prefix("table/").filter(|_| fits)
}

/// Checks that an optional parameter is a possible ARN of a stream or a backup.
pub(super) fn check_arn(arn: &Option<String>, at: &str) -> Result<(), Fault> {
    let Some(arn) = arn else { return Ok(()) };
    check_length(arn, at, ARN_BYTES)
}

/// Checks the length of a text in bytes.
pub(super) fn check_length(
    text: &str,
    at: impl Display,
    bytes: RangeInclusive<usize>,
) -> Result<(), Fault> {
    let rule = match text.len() {
        length if length < *bytes.start() => {
            format!("have length greater than or equal to {}", bytes.start())
        }
        length if length > *bytes.end() => {
            format!("have length less than or equal to {}", bytes.end())
        }
        _ => return Ok(()),
    };
    Err(Fault::constraint(&format!("'{text}'"), at, &rule))
}

//! Backups of a table, and its past states: CreateBackup, DescribeBackup, ListBackups,
//! DeleteBackup, DescribeContinuousBackups, UpdateContinuousBackups. `backups/restore.rs` restores.
//!
//! A backup is a table of the store with the items as of one instant, and a record in the door's
//! table. So it is as durable as all other data, and part of the server's own backups.
//!
//! - **Invariant:** the record is written before its table and deleted after it. So the door finds
//!   a half-made backup after a crash and removes it when it opens.

mod restore;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use table::{Error, Get, Item, Put, Scan, TableSpec, Tables, from_item, to_item};

use super::Door;
use super::fault::{Fault, Faults, Kind};
use super::meta::{Meta, UnitChanges, Units};
use super::names::{
    TableName, backup_arn, check_arn, check_short_name, check_table, part_of, table_arn,
};
use super::read::Request;
use super::tables::{
    OneTable, read_limit, seconds, table_id, write_indexes, write_key, write_units,
};
use super::write::JsonWriter;

/// The prefix of record names; no table name contains a slash.
const RECORDS: &str = "backup/";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct CreateBackup {
    table_name: Option<TableName>,
    backup_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct OneBackup {
    backup_arn: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListBackups {
    table_name: Option<TableName>,
    limit: Option<i64>,
    time_range_lower_bound: Option<f64>,
    time_range_upper_bound: Option<f64>,
    exclusive_start_backup_arn: Option<String>,
    backup_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UpdateContinuousBackups {
    table_name: Option<TableName>,
    point_in_time_recovery_specification: Option<Specification>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Specification {
    point_in_time_recovery_enabled: Option<bool>,
}

impl Request for CreateBackup {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.table_name, "tableName"));
        faults.require(&self.backup_name, "backupName");
        if let Some(title) = &self.backup_name {
            faults.see(check_short_name(title, "backupName"));
        }
    }
}

impl Request for OneBackup {
    fn check(&self, faults: &mut Faults) {
        faults.require(&self.backup_arn, "backupArn");
        faults.see(check_arn(&self.backup_arn, "backupArn"));
    }
}

impl Request for ListBackups {
    fn check(&self, faults: &mut Faults) {
        if self.table_name.is_some() {
            faults.see(check_table(&self.table_name, "tableName"));
        }
        faults.see(read_limit(self.limit));
        faults.see(check_arn(&self.exclusive_start_backup_arn, "exclusiveStartBackupArn"));
        faults.see(is_listed(self.backup_type.as_deref()));
    }
}

impl Request for UpdateContinuousBackups {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.table_name, "tableName"));
        let at = "pointInTimeRecoverySpecification";
        faults.require(&self.point_in_time_recovery_specification, at);
        if let Some(wanted) = &self.point_in_time_recovery_specification {
            let at = format_args!("{at}.pointInTimeRecoveryEnabled");
            faults.require(&wanted.point_in_time_recovery_enabled, at);
        }
    }
}

/// The record of a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Backup {
    /// The key of the record: [`RECORDS`] and the id.
    name: String,
    id: String,
    /// The name that the caller gave it.
    title: String,
    created_ms: u64,
    /// Whether it is complete and not being deleted.
    is_available: bool,
    /// The declaration of the table in the backup, and when that table was created.
    spec: TableSpec,
    table_created_ms: u64,
    units: Option<Units>,
    index_units: BTreeMap<String, Units>,
    items: u64,
    bytes: u64,
}

impl Backup {
    fn arn(&self) -> String {
        backup_arn(&self.spec.name, &self.id)
    }

    /// The declaration of the table with its items, without the prefix of the store's own tables:
    /// without indexes and without expiry.
    fn holder(&self) -> TableSpec {
        TableSpec::new(format!("backup-{}", self.id), self.spec.key.clone())
    }

    fn write_details(&self, out: &mut JsonWriter, status: &str) {
        out.raw("{").field("BackupArn").text(&self.arn());
        out.field("BackupName").text(&self.title);
        out.field("BackupSizeBytes").plain(self.bytes);
        out.field("BackupStatus").text(status).field("BackupType").text("USER");
        out.field("BackupCreationDateTime").plain(seconds(self.created_ms)).raw("}");
    }

    fn describe(&self, status: &str) -> String {
        let spec = &self.spec;
        let mut out = JsonWriter::new();
        out.raw("{").field("BackupDescription").raw("{").field("BackupDetails");
        self.write_details(&mut out, status);
        out.field("SourceTableDetails").raw("{").field("TableName").text(&spec.name);
        out.field("TableId").text(&table_id(&spec.name, self.table_created_ms));
        out.field("TableArn").text(&table_arn(&spec.name));
        out.field("TableSizeBytes").plain(self.bytes).field("ItemCount").plain(self.items);
        out.field("TableCreationDateTime").plain(seconds(self.table_created_ms));
        out.field("BillingMode");
        out.text(if self.units.is_some() { "PROVISIONED" } else { "PAY_PER_REQUEST" });
        out.field("ProvisionedThroughput");
        write_units(&mut out, self.units, UnitChanges::default());
        out.field("KeySchema");
        write_key(&mut out, &spec.key);
        out.raw("}").field("SourceTableFeatureDetails").raw("{");
        write_indexes(&mut out, spec, |out, index| {
            if !index.local {
                out.field("ProvisionedThroughput");
                let units = self.index_units.get(&index.name).copied();
                write_units(out, units, UnitChanges::default());
            }
        });
        if let Some(attribute) = &spec.ttl {
            out.field("TimeToLiveDescription").raw("{\"TimeToLiveStatus\":\"ENABLED\"");
            out.field("AttributeName").text(attribute).raw("}");
        }
        out.raw("}}}");
        out.finish()
    }
}

impl Door {
    pub(super) async fn create_backup(&self, request: CreateBackup) -> Result<String, Fault> {
        let table = self.name_of(request.table_name)?;
        let title = request.backup_name.unwrap_or_default();
        let described = self.store.describe_table(&table).await.map_err(|_| not_found(&table))?;
        let meta = self.load_meta(&table).await?;
        let now = self.clock.now().millis();
        let id = format!("{now:014}-{}", base::hex(&self.random.bytes::<4>()));
        let mut backup = Backup {
            name: format!("{RECORDS}{id}"),
            id,
            title,
            created_ms: now,
            is_available: false,
            spec: described.spec,
            table_created_ms: described.created_ms,
            units: meta.units,
            index_units: meta.index_units,
            items: 0,
            bytes: 0,
        };
        self.save_backup(&backup).await?;
        let holder = self.store.ensure_hidden(backup.holder()).await?;
        if let Err(error) = self.store.copy_table(&table, &self.store, &holder).await {
            self.remove_backup(&backup).await?;
            return Err(error.into());
        }
        let held = self.store.describe_table(&holder).await?;
        (backup.items, backup.bytes, backup.is_available) = (held.items, held.bytes, true);
        self.save_backup(&backup).await?;
        let mut out = JsonWriter::new();
        out.raw("{").field("BackupDetails");
        backup.write_details(&mut out, "AVAILABLE");
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) async fn describe_backup(&self, request: OneBackup) -> Result<String, Fault> {
        Ok(self.load_backup(request.backup_arn).await?.describe("AVAILABLE"))
    }

    pub(super) async fn delete_backup(&self, request: OneBackup) -> Result<String, Fault> {
        let mut backup = self.load_backup(request.backup_arn).await?;
        backup.is_available = false;
        self.save_backup(&backup).await?;
        self.remove_backup(&backup).await?;
        Ok(backup.describe("DELETED"))
    }

    pub(super) fn list_backups(&self, request: ListBackups) -> Result<String, Fault> {
        let limit = read_limit(request.limit)?;
        let is_listed = is_listed(request.backup_type.as_deref())?;
        let table = request.table_name.map(|name| self.name_of(Some(name))).transpose()?;
        let start = match request.exclusive_start_backup_arn.as_deref() {
            Some(arn) => Some(part_of(arn, "backup").ok_or_else(|| no_backup(arn))?.to_owned()),
            None => None,
        };
        let (lower, upper) = (request.time_range_lower_bound, request.time_range_upper_bound);
        let mut backups = self.load_backups()?;
        backups.retain(|backup| {
            let created = backup.created_ms as f64 / 1000.0;
            is_listed
                && backup.is_available
                && table.as_ref().is_none_or(|table| *table == backup.spec.name)
                && self.shows(&backup.spec.name)
                && start.as_ref().is_none_or(|start| *start < backup.id)
                && lower.is_none_or(|lower| lower <= created)
                && upper.is_none_or(|upper| created < upper)
        });
        let has_more = backups.len() > limit;
        backups.truncate(limit);
        let mut out = JsonWriter::new();
        out.raw("{").field("BackupSummaries").raw("[").list(&backups, |out, backup| {
            let table = &backup.spec.name;
            out.raw("{").field("TableName").text(table);
            out.field("TableId").text(&table_id(table, backup.table_created_ms));
            out.field("TableArn").text(&table_arn(table)).field("BackupArn").text(&backup.arn());
            out.field("BackupName").text(&backup.title);
            out.field("BackupCreationDateTime").plain(seconds(backup.created_ms));
            out.field("BackupStatus").text("AVAILABLE").field("BackupType").text("USER");
            out.field("BackupSizeBytes").plain(backup.bytes).raw("}");
        });
        out.raw("]");
        if let Some(last) = backups.last().filter(|_| has_more) {
            out.field("LastEvaluatedBackupArn").text(&last.arn());
        }
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) async fn describe_continuous_backups(
        &self,
        request: OneTable,
    ) -> Result<String, Fault> {
        let table = self.name_of(request.table_name)?;
        self.write_continuous_backups(&table).await
    }

    pub(super) async fn update_continuous_backups(
        &self,
        request: UpdateContinuousBackups,
    ) -> Result<String, Fault> {
        let table = self.name_of(request.table_name)?;
        {
            let _one_at_a_time = self.table_lock.lock().await;
            self.store.with_spec(&table, |_| ()).map_err(|_| not_found(&table))?;
            let wanted = request.point_in_time_recovery_specification;
            let enabled = wanted.and_then(|wanted| wanted.point_in_time_recovery_enabled);
            let enabled = enabled.unwrap_or_default();
            let meta = Meta { point_in_time: enabled, ..self.load_meta(&table).await? };
            self.save_meta(&meta).await?;
        }
        self.write_continuous_backups(&table).await
    }

    async fn write_continuous_backups(&self, table: &str) -> Result<String, Fault> {
        let described = self.store.describe_table(table).await.map_err(|_| not_found(table))?;
        let meta = self.load_meta(table).await?;
        let mut out = JsonWriter::new();
        out.raw("{\"ContinuousBackupsDescription\":{\"ContinuousBackupsStatus\":\"ENABLED\"");
        out.field("PointInTimeRecoveryDescription").raw("{").field("PointInTimeRecoveryStatus");
        out.text(if meta.point_in_time { "ENABLED" } else { "DISABLED" });
        if let Some(begins) = self.store.past_begins_ms()?.filter(|_| meta.point_in_time) {
            let begins = begins.max(described.created_ms);
            out.field("EarliestRestorableDateTime").plain(seconds(begins));
            out.field("LatestRestorableDateTime").plain(seconds(self.clock.now().millis()));
        }
        out.raw("}}}");
        Ok(out.finish())
    }

    /// Removes backups that a crash left half made or half deleted.
    pub(super) async fn tidy_backups(&self) -> Result<(), Error> {
        for backup in self.load_backups()?.iter().filter(|backup| !backup.is_available) {
            self.remove_backup(backup).await?;
        }
        self.tidy_restores().await
    }

    async fn load_backup(&self, arn: Option<String>) -> Result<Backup, Fault> {
        let arn = arn.ok_or_else(|| Fault::missing("backupArn"))?;
        let id = part_of(&arn, "backup").ok_or_else(|| no_backup(&arn))?;
        let key = Item::new().with("name", format!("{RECORDS}{id}"));
        let found = self.store.get(Get::new(self.own.as_str(), key)).await?;
        let backup: Option<Backup> = found.map(from_item).transpose()?;
        let backup = backup.filter(|backup| backup.is_available && self.shows(&backup.spec.name));
        backup.ok_or_else(|| no_backup(&arn))
    }

    /// All backups, oldest first.
    fn load_backups(&self) -> Result<Vec<Backup>, Error> {
        let records = self.load_records(RECORDS)?;
        let mut backups: Vec<Backup> =
            records.into_iter().map(from_item).collect::<Result<_, _>>()?;
        backups.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(backups)
    }

    /// The records in the door's table with this prefix.
    fn load_records(&self, prefix: &str) -> Result<Vec<Item>, Error> {
        let (mut records, mut start) = (Vec::new(), None);
        loop {
            let scan = Scan { start_after: start, ..Scan::new(self.own.as_str()) };
            let page = self.store.scan_page(&scan)?;
            let is_wanted = |item: &Item| {
                item.get("name").and_then(table::Value::as_s).is_some_and(|s| s.starts_with(prefix))
            };
            records.extend(page.items.into_iter().filter(is_wanted));
            start = page.last_key;
            if start.is_none() {
                return Ok(records);
            }
        }
    }

    async fn save_backup(&self, backup: &Backup) -> Result<(), Fault> {
        self.store.put(Put::new(self.own.as_str(), to_item(backup)?)).await?;
        Ok(())
    }

    async fn remove_backup(&self, backup: &Backup) -> Result<(), Error> {
        let holder = self.store.ensure_hidden(backup.holder()).await?;
        self.store.delete_table(&holder).await?;
        self.drop_meta(&backup.name).await
    }
}

/// Whether backups of this type are listed. All backups of the door have one type.
fn is_listed(kind: Option<&str>) -> Result<bool, Fault> {
    match kind {
        None | Some("USER" | "ALL") => Ok(true),
        Some("SYSTEM" | "AWS_BACKUP") => Ok(false),
        Some(other) => Err(Fault::no_choice(other, "backupType", "USER, SYSTEM, AWS_BACKUP, ALL")),
    }
}

fn not_found(table: &str) -> Fault {
    Fault::new(Kind::NoSuchTable, format!("Table not found: {table}"))
}

fn no_backup(arn: &str) -> Fault {
    Fault::new(Kind::NoSuchBackup, format!("Backup not found: {arn}"))
}

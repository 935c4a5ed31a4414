//! Creates a table from a backup or from a past state: RestoreTableFromBackup,
//! RestoreTableToPointInTime.
//!
//! The table is hidden until it is complete. Expiry, tags and the stream are not restored, as in
//! DynamoDB.

use std::collections::BTreeMap;

use serde::Deserialize;
use table::limits::INDEXES_MAX;
use table::{Embedded, Error, Put, TableSpec, Tables};

use super::not_found;
use crate::door::Door;
use crate::door::bounded::BoundedList;
use crate::door::fault::{Fault, Faults, Kind};
use crate::door::meta::{Meta, Units};
use crate::door::names::{TableName, check_arn, check_table};
use crate::door::read::Request;
use crate::door::tables::{Throughput, check_mode, read_billing};
use crate::door::transactions::check_at_most;

/// The prefix of the names of records about tables under restoration.
const RECORDS: &str = "restoring/";

/// A restore from a backup or to an instant. Each uses some of these fields.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct Restore {
    backup_arn: Option<String>,
    source_table_arn: Option<TableName>,
    source_table_name: Option<TableName>,
    target_table_name: Option<TableName>,
    use_latest_restorable_time: Option<bool>,
    restore_date_time: Option<f64>,
    // Settings in which the new table differs.
    billing_mode_override: Option<String>,
    provisioned_throughput_override: Option<Throughput>,
    global_secondary_index_override: Option<BoundedList<IndexName, INDEXES_MAX>>,
    local_secondary_index_override: Option<BoundedList<IndexName, INDEXES_MAX>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct IndexName {
    index_name: Option<String>,
}

impl Request for Restore {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.target_table_name, "targetTableName"));
        faults.see(check_arn(&self.backup_arn, "backupArn"));
        faults.see(check_mode(self.billing_mode_override.as_deref()));
        if let Some(throughput) = &self.provisioned_throughput_override {
            throughput.check("provisionedThroughputOverride", faults);
        }
        for (at, indexes) in [
            ("globalSecondaryIndexOverride", &self.global_secondary_index_override),
            ("localSecondaryIndexOverride", &self.local_secondary_index_override),
        ] {
            let Some(indexes) = indexes else { continue };
            faults.see(check_at_most(indexes, at));
            for (index, number) in indexes.iter().zip(1..) {
                faults.require(&index.index_name, format_args!("{at}.{number}.member.indexName"));
            }
        }
    }
}

/// The source of a restore.
struct Source<'a> {
    house: &'a Embedded,
    /// The table with the items.
    holder: &'a str,
    spec: TableSpec,
    units: Option<Units>,
    index_units: BTreeMap<String, Units>,
}

impl Door {
    pub(in crate::door) async fn restore_from_backup(
        &self,
        mut request: Restore,
    ) -> Result<String, Fault> {
        let target = self.name_of(request.target_table_name.take())?;
        let backup = self.load_backup(request.backup_arn.take()).await?;
        let holder = self.store.ensure_hidden(backup.holder()).await?;
        let source = Source {
            house: &self.store,
            holder: &holder,
            spec: backup.spec,
            units: backup.units,
            index_units: backup.index_units,
        };
        self.restore(source, target, request).await
    }

    pub(in crate::door) async fn restore_to_point_in_time(
        &self,
        mut request: Restore,
    ) -> Result<String, Fault> {
        let target = self.name_of(request.target_table_name.take())?;
        let source = request.source_table_name.take().or(request.source_table_arn.take());
        let table = self.name_of(source)?;
        let now = self.clock.now().millis();
        let created = self.store.describe_table(&table).await.map_err(|_| not_found(&table))?;
        let meta = self.load_meta(&table).await?;
        if !meta.point_in_time {
            let message = format!("Point in time recovery is not enabled for table '{table}'");
            return Err(Fault::new(Kind::NoPointInTime, message));
        }
        let at = match (request.use_latest_restorable_time, request.restore_date_time) {
            (Some(true), None) => now,
            (_, Some(seconds)) if request.use_latest_restorable_time != Some(true) => {
                (seconds * 1000.0) as u64
            }
            (_, _) => {
                return Err(Fault::invalid(
                    "Either RestoreDateTime or UseLatestRestorableTime is required, and only one",
                ));
            }
        };
        let begins = self.store.past_begins_ms()?.map(|begins| begins.max(created.created_ms));
        if at > now || begins.is_none_or(|begins| at < begins) {
            return Err(Fault::new(Kind::WrongInstant, "Invalid restore time"));
        }
        // The store opens one past state at a time.
        let _one_at_a_time = self.past_lock.lock().await;
        let past = self.store.at_instant(at).await?;
        let spec = past.house().with_spec(&table, TableSpec::clone);
        let source = Source {
            house: past.house(),
            holder: &table,
            spec: spec.map_err(|_| Fault::new(Kind::WrongInstant, "Invalid restore time"))?,
            units: meta.units,
            index_units: meta.index_units,
        };
        self.restore(source, target, request).await
    }

    async fn restore(
        &self,
        source: Source<'_>,
        target: String,
        request: Restore,
    ) -> Result<String, Fault> {
        let (spec, meta) = request.read(&source, &target)?;
        let record = format!("{RECORDS}{target}");
        {
            let _one_at_a_time = self.table_lock.lock().await;
            let is_taken = self.store.with_spec(&target, |_| ()).is_ok();
            if is_taken || !self.restoring.write().insert(target.clone()) {
                let message = format!("Table already exists: {target}");
                return Err(Fault::new(Kind::TableExists, message));
            }
        }
        let restored = async {
            let item = table::Item::new().with("name", record.as_str());
            self.store.put(Put::new(self.own.as_str(), item)).await?;
            self.save_meta(&meta).await?;
            self.store.ensure_table(spec).await?;
            source.house.copy_table(source.holder, &self.store, &target).await?;
            self.drop_meta(&record).await?;
            Ok::<_, Fault>(())
        };
        let restored = restored.await;
        if restored.is_err() {
            self.undo_restore(&target).await?;
        }
        self.restoring.write().remove(&target);
        restored?;
        self.describe_as("TableDescription", &target, "ACTIVE").await
    }

    async fn undo_restore(&self, target: &str) -> Result<(), Error> {
        if self.store.with_spec(target, |_| ()).is_ok() {
            self.store.delete_table(target).await?;
        }
        self.drop_meta(target).await?;
        self.drop_meta(&format!("{RECORDS}{target}")).await
    }

    /// Removes tables whose restore did not finish.
    pub(super) async fn tidy_restores(&self) -> Result<(), Error> {
        for record in self.load_records(RECORDS)? {
            let name = record.get("name").and_then(table::Value::as_s).unwrap_or_default();
            self.undo_restore(name.strip_prefix(RECORDS).unwrap_or(name)).await?;
        }
        Ok(())
    }
}

impl Restore {
    /// The declaration of the new table, and its record in the door's table.
    fn read(self, source: &Source<'_>, target: &str) -> Result<(TableSpec, Meta), Fault> {
        let mut spec = TableSpec::new(target, source.spec.key.clone());
        let wanted = [
            (true, self.local_secondary_index_override),
            (false, self.global_secondary_index_override),
        ];
        for (local, wanted) in wanted {
            let wanted: Option<Vec<String>> =
                wanted.map(|wanted| wanted.into_iter().flat_map(|one| one.index_name).collect());
            let held = || source.spec.indexes.iter().filter(move |index| index.local == local);
            let is_held = |name: &&String| held().any(|index| index.name == **name);
            if let Some(name) = wanted.iter().flatten().find(|name| !is_held(name)) {
                return Err(Fault::invalid(format!(
                    "One or more parameter values were invalid: the source has no index {name}"
                )));
            }
            let is_wanted =
                |name: &String| wanted.as_ref().is_none_or(|wanted| wanted.contains(name));
            spec.indexes.extend(held().filter(|index| is_wanted(&index.name)).cloned());
        }
        let mode = self.billing_mode_override.as_deref();
        let units = match (mode, self.provisioned_throughput_override) {
            (None, None) => source.units,
            (mode, throughput) => read_billing(mode, throughput, source.units)?,
        };
        let mut index_units = source.index_units.clone();
        index_units.retain(|name, _| units.is_some() && spec.find_index(name).is_some());
        Ok((spec, Meta { name: target.to_owned(), units, index_units, ..Meta::default() }))
    }
}

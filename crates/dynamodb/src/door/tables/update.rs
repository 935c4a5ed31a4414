//! UpdateTable: changes the indexes and the stored properties.

use serde::Deserialize;
use table::{IndexSpec, TableSpec, Tables};

use super::declare::{GLOBAL_MAX, check_counts, check_distinct, table_units_unwanted};
use super::define::{
    AttributeDefinition, Definitions, INVALID, IndexDefinition, StreamSpecification, Throughput,
    check_attributes, check_class, check_index_name, check_mode, units_unwanted, units_wanted,
};
use crate::door::Door;
use crate::door::bounded::BoundedList;
use crate::door::fault::{Fault, Faults, Kind};
use crate::door::meta::{Meta, Units};
use crate::door::names::{TableName, check_table};
use crate::door::read::Request;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct UpdateTable {
    table_name: Option<TableName>,
    attribute_definitions: Option<Definitions>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Throughput>,
    global_secondary_index_updates: Option<BoundedList<IndexUpdate, GLOBAL_MAX>>,
    stream_specification: Option<StreamSpecification>,
    table_class: Option<String>,
    deletion_protection_enabled: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct IndexUpdate {
    create: Option<IndexDefinition>,
    update: Option<IndexThroughput>,
    delete: Option<DeletedIndex>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct IndexThroughput {
    index_name: Option<String>,
    provisioned_throughput: Option<Throughput>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DeletedIndex {
    index_name: Option<String>,
}

impl Request for UpdateTable {
    fn check(&self, faults: &mut Faults) {
        check_attributes(&self.attribute_definitions, faults);
        faults.see(check_table(&self.table_name, "tableName"));
        faults.see(check_mode(self.billing_mode.as_deref()));
        if let Some(throughput) = &self.provisioned_throughput {
            throughput.check("provisionedThroughput", faults);
        }
        for (update, number) in self.global_secondary_index_updates.iter().flatten().zip(1..) {
            update.check(&format!("globalSecondaryIndexUpdates.{number}.member"), faults);
        }
        if let Some(stream) = &self.stream_specification {
            stream.check(faults);
        }
        faults.see(check_class(self.table_class.as_deref()));
    }
}

impl IndexUpdate {
    /// Records an invalid update. `at` is its place.
    fn check(&self, at: &str, faults: &mut Faults) {
        if let Some(index) = &self.update {
            check_index_name(&index.index_name, &format!("{at}.update.indexName"), faults);
            let at = format!("{at}.update.provisionedThroughput");
            faults.require(&index.provisioned_throughput, &at);
            if let Some(throughput) = &index.provisioned_throughput {
                throughput.check(&at, faults);
            }
        }
        if let Some(index) = &self.create {
            index.check(&format!("{at}.create"), faults);
        }
        if let Some(index) = &self.delete {
            check_index_name(&index.index_name, &format!("{at}.delete.indexName"), faults);
        }
    }
}

impl Door {
    pub(in crate::door) async fn update_table(
        &self,
        mut request: UpdateTable,
    ) -> Result<String, Fault> {
        let name = self.name_of(request.table_name.take())?;
        let _one_at_a_time = self.table_lock.lock().await;
        let spec = self.store.with_spec(&name, TableSpec::clone);
        let before = spec.map_err(|_| Fault::no_table(&name))?;
        let mut meta = self.load_meta(&name).await?;
        let mut spec = before.clone();
        request.change(self, &mut spec, &mut meta)?;
        spec.check()?;
        self.save_meta(&meta).await?;
        if spec != before {
            self.store.ensure_table(spec).await?;
        }
        self.describe_as("TableDescription", &name, "ACTIVE").await
    }
}

impl UpdateTable {
    fn change(self, door: &Door, spec: &mut TableSpec, meta: &mut Meta) -> Result<(), Fault> {
        let updates = self.global_secondary_index_updates.unwrap_or_default();
        let nothing = updates.is_empty()
            && self.billing_mode.is_none()
            && self.provisioned_throughput.is_none()
            && self.stream_specification.is_none()
            && self.table_class.is_none()
            && self.deletion_protection_enabled.is_none();
        if nothing {
            return Err(Fault::invalid(
                "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
                 GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required",
            ));
        }
        let now_ms = door.clock.now().millis();
        let was_provisioned = meta.units.is_some();
        change_billing(self.billing_mode.as_deref(), self.provisioned_throughput, meta, now_ms)?;
        let definitions = self.attribute_definitions.unwrap_or_default();
        check_distinct(&definitions)?;
        let come_and_go =
            |update: &&IndexUpdate| update.create.is_some() || update.delete.is_some();
        if updates.len() > GLOBAL_MAX || updates.iter().filter(come_and_go).count() > 1 {
            return Err(Fault::new(
                Kind::LimitExceeded,
                "Subscriber limit exceeded: Only 1 online index can be created or deleted \
                 simultaneously per table",
            ));
        }
        for update in updates {
            update.change(&definitions, spec, meta, now_ms)?;
        }
        let globals: Vec<&IndexSpec> = spec.indexes.iter().filter(|index| !index.local).collect();
        check_counts(0, globals.len())?;
        if meta.units.is_some() && !was_provisioned {
            let names = globals.iter().map(|index| index.name.as_str());
            let lacking: Vec<&str> =
                names.filter(|name| !meta.index_units.contains_key(*name)).collect();
            if !lacking.is_empty() {
                return Err(units_wanted(&lacking));
            }
        }
        if let Some(stream) = self.stream_specification {
            change_stream(door, stream, spec, meta)?;
        }
        if let Some(class) = self.table_class {
            meta.class = Some(class);
        }
        if let Some(protected) = self.deletion_protection_enabled {
            meta.is_protected = protected;
        }
        Ok(())
    }
}

impl IndexUpdate {
    fn change(
        self,
        definitions: &[AttributeDefinition],
        spec: &mut TableSpec,
        meta: &mut Meta,
        now_ms: u64,
    ) -> Result<(), Fault> {
        match (self.create, self.update, self.delete) {
            (Some(index), None, None) => {
                if spec.find_index(index.name()).is_some() {
                    return Err(Fault::invalid(format!(
                        "Attempting to create an index which already exists: {}",
                        index.name()
                    )));
                }
                let units = index.read_units(meta.units.is_some())?;
                meta.index_units.extend(units.map(|units| (index.name().to_owned(), units)));
                spec.indexes.push(index.read(&spec.key, definitions, false)?);
            }
            (None, Some(index), None) => {
                find_index(spec, index.index_name.as_deref().unwrap_or_default())?;
                index.change(meta, now_ms)?;
            }
            (None, None, Some(index)) => {
                let name = index.index_name.unwrap_or_default();
                find_index(spec, &name)?;
                spec.indexes.retain(|held| held.name != name || held.local);
                meta.index_units.remove(&name);
                meta.indexes_scaled.remove(&name);
            }
            (_, _, _) => {
                return Err(Fault::invalid(
                    "One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate \
                     members must be specified: Create, Update or Delete",
                ));
            }
        }
        Ok(())
    }
}

impl IndexThroughput {
    fn change(self, meta: &mut Meta, now_ms: u64) -> Result<(), Fault> {
        let name = self.index_name.unwrap_or_default();
        let wanted = self.provisioned_throughput;
        let throughput = wanted.ok_or_else(|| Fault::missing("provisionedThroughput"))?;
        if meta.units.is_none() {
            return Err(units_unwanted(&name));
        }
        let units = throughput.units().map_err(|_| {
            Fault::invalid(
                "This operation cannot be performed with given input values. Please contact \
                 DynamoDB service team for more info: Action Blocked: IndexUpdate",
            )
        })?;
        let before = meta.index_units.get(&name).copied();
        if before == Some(units) {
            return Err(unchanged(&format!("index {name}"), "index", units));
        }
        if let Some(before) = before {
            meta.indexes_scaled.entry(name.clone()).or_default().change(before, units, now_ms);
        }
        meta.index_units.insert(name, units);
        Ok(())
    }
}

/// Changes the billing of the table.
fn change_billing(
    mode: Option<&str>,
    throughput: Option<Throughput>,
    meta: &mut Meta,
    now_ms: u64,
) -> Result<(), Fault> {
    let units = throughput.map(Throughput::units).transpose()?;
    match (mode, units, meta.units) {
        (Some("PROVISIONED"), None, _) => {
            return Err(Fault::invalid(format!(
                "{INVALID} ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
            )));
        }
        (Some("PAY_PER_REQUEST"), Some(_), _) | (None, Some(_), None) => {
            return Err(table_units_unwanted());
        }
        (_, Some(units), Some(before)) if units == before => {
            return Err(unchanged("table", "table", units));
        }
        (_, Some(units), before) => {
            if let Some(before) = before {
                meta.scaled.change(before, units, now_ms);
            }
            meta.units = Some(units);
        }
        (Some("PAY_PER_REQUEST"), None, Some(_)) => {
            meta.units = None;
            meta.index_units.clear();
            meta.pay_per_request_ms = Some(now_ms);
        }
        (_, None, _) => {}
    }
    Ok(())
}

/// The error for units that the table or index already has. `what` names it.
fn unchanged(what: &str, kind: &str, (read, write): Units) -> Fault {
    Fault::invalid(format!(
        "The provisioned throughput for the {what} will not change. The requested value equals \
         the current value. Current ReadCapacityUnits provisioned for the {kind}: {read}. \
         Requested ReadCapacityUnits: {read}. Current WriteCapacityUnits provisioned for the \
         {kind}: {write}. Requested WriteCapacityUnits: {write}. Refer to the Amazon DynamoDB \
         Developer Guide for current limits and how to request higher limits."
    ))
}

fn find_index(spec: &TableSpec, name: &str) -> Result<(), Fault> {
    match spec.find_index(name) {
        Some((_, index)) if !index.local => Ok(()),
        Some(_) | None => Err(Fault::new(
            Kind::NoSuchResource,
            format!("Requested resource not found: Index: {name} not found"),
        )),
    }
}

fn change_stream(
    door: &Door,
    wanted: StreamSpecification,
    spec: &mut TableSpec,
    meta: &mut Meta,
) -> Result<(), Fault> {
    let is_on = meta.stream.as_ref().is_some_and(|stream| stream.until.is_none());
    match (wanted.is_wanted(), is_on) {
        (true, true) => Err(Fault::invalid(format!(
            "Table already has an enabled stream: TableName: {}",
            spec.name
        ))),
        (false, false) => {
            Err(Fault::invalid(format!("Table has no stream to disable: TableName: {}", spec.name)))
        }
        (true, false) => {
            meta.stream = wanted.read(door)?;
            spec.old_images = true;
            Ok(())
        }
        (false, true) => {
            if let Some(stream) = &mut meta.stream {
                stream.until = Some(door.store.last_change());
            }
            Ok(())
        }
    }
}

//! UpdateTable: indexes come and go, and what is remembered changes.

use serde::Deserialize;
use table::{TableSpec, Tables};

use super::declare::{
    AttributeDefinition, IndexDefinition, StreamSpecification, Throughput, check_counts,
    read_billing, read_class,
};
use crate::door::Door;
use crate::door::fault::{Fault, Kind};
use crate::door::meta::Meta;
use crate::door::names::TableName;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct UpdateTable {
    table_name: Option<TableName>,
    attribute_definitions: Option<Vec<AttributeDefinition>>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Throughput>,
    global_secondary_index_updates: Option<Vec<IndexUpdate>>,
    stream_specification: Option<StreamSpecification>,
    table_class: Option<String>,
    deletion_protection_enabled: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct IndexUpdate {
    create: Option<IndexDefinition>,
    update: Option<IndexThroughput>,
    delete: Option<IndexName>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct IndexThroughput {
    index_name: String,
    provisioned_throughput: Throughput,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct IndexName {
    index_name: String,
}

impl Door {
    pub(in crate::door) async fn update_table(
        &self,
        mut request: UpdateTable,
    ) -> Result<String, Fault> {
        let name = self.name_of(request.table_name.take())?;
        let _one_at_a_time = self.declaring.lock().await;
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
        self.tell("TableDescription", &name, "ACTIVE").await
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
        if self.billing_mode.is_some() || self.provisioned_throughput.is_some() {
            let (mode, throughput) = (self.billing_mode.as_deref(), self.provisioned_throughput);
            meta.units = read_billing(mode, throughput, meta.units)?;
        }
        let definitions = self.attribute_definitions.unwrap_or_default();
        let come_and_go =
            |update: &&IndexUpdate| update.create.is_some() || update.delete.is_some();
        if updates.iter().filter(come_and_go).count() > 1 {
            return Err(Fault::new(
                Kind::LimitExceeded,
                "Subscriber limit exceeded: Only 1 online index can be created or deleted \
                 simultaneously per table",
            ));
        }
        for update in updates {
            update.change(&definitions, spec, meta)?;
        }
        check_counts(0, spec.indexes.iter().filter(|index| !index.local).count())?;
        if let Some(stream) = self.stream_specification {
            change_stream(door, stream, spec, meta)?;
        }
        if let Some(class) = read_class(self.table_class)? {
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
    ) -> Result<(), Fault> {
        match (self.create, self.update, self.delete) {
            (Some(index), None, None) => {
                if spec.find_index(&index.index_name).is_some() {
                    return Err(Fault::invalid(format!(
                        "Attempting to create an index which already exists: {}",
                        index.index_name
                    )));
                }
                let units = index.provisioned_throughput.map(Throughput::units).transpose()?;
                meta.index_units.extend(units.map(|units| (index.index_name.clone(), units)));
                spec.indexes.push(index.read(&spec.key, definitions, false)?);
            }
            (None, Some(index), None) => {
                find_index(spec, &index.index_name)?;
                let units = index.provisioned_throughput.units()?;
                meta.index_units.insert(index.index_name, units);
            }
            (None, None, Some(index)) => {
                find_index(spec, &index.index_name)?;
                spec.indexes.retain(|held| held.name != index.index_name || held.local);
                meta.index_units.remove(&index.index_name);
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
    match (wanted.stream_enabled, is_on) {
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

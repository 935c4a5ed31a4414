//! CreateTable: turns a request into a declaration.

use std::collections::BTreeSet;

use serde::Deserialize;
use table::TableSpec;
use table::limits::{NAME_CHARS_MAX, NAME_CHARS_MIN};

use super::define::{
    AttributeDefinition, Definitions, INVALID, IndexDefinition, KeySchema, StreamSpecification,
    Throughput, check_attributes, check_class, check_key, check_mode, key_spec,
};
use crate::door::Door;
use crate::door::bounded::BoundedList;
use crate::door::fault::{Fault, Faults};
use crate::door::meta::{Meta, Units};
use crate::door::names::{TableName, check_table};
use crate::door::read::Request;
use crate::door::tags::{Tags, add_tags, check_tags};

/// Local indexes of one table, as in DynamoDB.
const LOCAL_MAX: usize = 5;
/// Global indexes of one table, as in DynamoDB.
pub(super) const GLOBAL_MAX: usize = 20;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct CreateTable {
    table_name: Option<TableName>,
    attribute_definitions: Option<Definitions>,
    key_schema: Option<KeySchema>,
    local_secondary_indexes: Option<BoundedList<IndexDefinition, LOCAL_MAX>>,
    global_secondary_indexes: Option<BoundedList<IndexDefinition, GLOBAL_MAX>>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Throughput>,
    stream_specification: Option<StreamSpecification>,
    tags: Option<Tags>,
    table_class: Option<String>,
    deletion_protection_enabled: Option<bool>,
}

impl Request for CreateTable {
    fn check(&self, faults: &mut Faults) {
        faults.require(&self.attribute_definitions, "attributeDefinitions");
        check_attributes(&self.attribute_definitions, faults);
        faults.see(check_table(&self.table_name, "tableName"));
        faults.see(check_mode(self.billing_mode.as_deref()));
        if let Some(throughput) = &self.provisioned_throughput {
            throughput.check("provisionedThroughput", faults);
        }
        check_key(&self.key_schema, "keySchema", faults);
        let globals = self.global_secondary_indexes.iter().flatten();
        let locals = self.local_secondary_indexes.iter().flatten();
        for (index, number) in globals.zip(1..) {
            index.check(&format!("globalSecondaryIndexes.{number}.member"), faults);
        }
        for (index, number) in locals.zip(1..) {
            index.check(&format!("localSecondaryIndexes.{number}.member"), faults);
        }
        if let Some(stream) = &self.stream_specification {
            stream.check(faults);
        }
        check_tags(&self.tags, faults);
        faults.see(check_class(self.table_class.as_deref()));
    }
}

impl CreateTable {
    /// The declaration, and the properties to store with it.
    pub(in crate::door) fn read(self, door: &Door) -> Result<(TableSpec, Meta), Fault> {
        let name = door.name_of(self.table_name)?;
        if !(NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&name.len()) {
            return Err(Fault::invalid(format!(
                "TableName must be at least {NAME_CHARS_MIN} characters long and at most \
                 {NAME_CHARS_MAX} characters long"
            )));
        }
        let definitions = self.attribute_definitions.unwrap_or_default();
        check_distinct(&definitions)?;
        let schema = self.key_schema.unwrap_or_default();
        let locals = self.local_secondary_indexes.unwrap_or_default();
        let globals = self.global_secondary_indexes.unwrap_or_default();
        check_counts(locals.len(), globals.len())?;
        let key = key_spec(&schema, &definitions)?;
        if !locals.is_empty() && key.sort.is_none() {
            return Err(Fault::invalid(format!(
                "{INVALID} Table KeySchema does not have a range key, which is required when \
                 specifying a LocalSecondaryIndex"
            )));
        }
        let units = read_billing(self.billing_mode.as_deref(), self.provisioned_throughput, None)?;
        let mut meta = Meta {
            name: name.clone(),
            units,
            pay_per_request_ms: units.is_none().then(|| door.clock.now().millis()),
            is_protected: self.deletion_protection_enabled.unwrap_or(false),
            class: self.table_class,
            ..Meta::default()
        };
        add_tags(&mut meta.tags, self.tags.unwrap_or_default())?;
        let mut spec = TableSpec::new(name, key);
        for index in locals {
            spec.indexes.push(index.read(&spec.key, &definitions, true)?);
        }
        for index in globals {
            let units = index.read_units(units.is_some())?;
            meta.index_units.extend(units.map(|units| (index.name().to_owned(), units)));
            spec.indexes.push(index.read(&spec.key, &definitions, false)?);
        }
        if let Some(stream) = self.stream_specification {
            meta.stream = stream.read(door)?;
            spec.old_images = meta.stream.is_some();
        }
        check_names(&spec)?;
        check_definitions(&spec, &definitions)?;
        Ok((spec, meta))
    }
}

/// Checks that index names are unique.
fn check_names(spec: &TableSpec) -> Result<(), Fault> {
    let mut names = BTreeSet::new();
    match spec.indexes.iter().find(|index| !names.insert(&index.name)) {
        Some(index) => {
            Err(Fault::invalid(format!("{INVALID} Duplicate index name: {}", index.name)))
        }
        None => Ok(()),
    }
}

/// The requested capacity: units, or none for billing by request. `before` is the table's current
/// capacity.
pub(in crate::door) fn read_billing(
    mode: Option<&str>,
    throughput: Option<Throughput>,
    before: Option<Units>,
) -> Result<Option<Units>, Fault> {
    match (mode, throughput) {
        (Some("PAY_PER_REQUEST"), None) => Ok(None),
        (Some("PAY_PER_REQUEST"), Some(_)) => Err(table_units_unwanted()),
        (None | Some("PROVISIONED"), Some(throughput)) => throughput.units().map(Some),
        (None | Some("PROVISIONED"), None) if before.is_some() => Ok(before),
        (None | Some("PROVISIONED"), None) => Err(Fault::invalid(format!(
            "{INVALID} ReadCapacityUnits and WriteCapacityUnits must both be specified when \
             BillingMode is PROVISIONED"
        ))),
        (Some(other), _) => {
            Err(Fault::no_choice(other, "billingMode", "PROVISIONED, PAY_PER_REQUEST"))
        }
    }
}

/// The error for units on a table that is billed by request.
pub(super) fn table_units_unwanted() -> Fault {
    Fault::invalid(format!(
        "{INVALID} Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when \
         BillingMode is PAY_PER_REQUEST"
    ))
}

pub(super) fn check_counts(locals: usize, globals: usize) -> Result<(), Fault> {
    if locals > LOCAL_MAX {
        return Err(Fault::invalid(format!(
            "{INVALID} Number of LocalSecondaryIndexes exceeds per-table limit of {LOCAL_MAX}"
        )));
    }
    if globals > GLOBAL_MAX {
        return Err(Fault::invalid(format!(
            "{INVALID} GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_MAX}"
        )));
    }
    Ok(())
}

/// Checks that no attribute is defined twice.
pub(super) fn check_distinct(definitions: &[AttributeDefinition]) -> Result<(), Fault> {
    let mut names = BTreeSet::new();
    match definitions.iter().map(AttributeDefinition::name).find(|name| !names.insert(*name)) {
        Some(name) => Err(Fault::invalid(format!(
            "{INVALID} Duplicate AttributeName in AttributeDefinitions: {name}"
        ))),
        None => Ok(()),
    }
}

/// Checks that every defined attribute is used.
fn check_definitions(spec: &TableSpec, definitions: &[AttributeDefinition]) -> Result<(), Fault> {
    let of_indexes = spec.indexes.iter().flat_map(|index| index.key.attributes());
    let used: BTreeSet<&str> =
        spec.key.attributes().chain(of_indexes).map(|one| one.name.as_str()).collect();
    let defined: BTreeSet<&str> = definitions.iter().map(AttributeDefinition::name).collect();
    if used == defined {
        return Ok(());
    }
    if spec.indexes.is_empty() {
        return Err(Fault::invalid(format!(
            "{INVALID} Number of attributes in KeySchema does not exactly match number of \
             attributes defined in AttributeDefinitions"
        )));
    }
    Err(Fault::invalid(format!(
        "{INVALID} Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: \
         [{}]",
        Vec::from_iter(defined).join(", "),
        Vec::from_iter(used).join(", ")
    )))
}

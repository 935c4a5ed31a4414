//! CreateTable: a request turned into a declaration.

use std::collections::BTreeSet;

use serde::Deserialize;
use table::limits::{NAME_CHARS_MAX, NAME_CHARS_MIN};
use table::{IndexSpec, KeyAttribute, KeySpec, KeyType, Projected, TableSpec};

use crate::door::Door;
use crate::door::fault::Fault;
use crate::door::meta::{Meta, Stream, Units};
use crate::door::names::TableName;

const INVALID: &str = "One or more parameter values were invalid:";
/// Local indexes of one table, as DynamoDB has it.
const LOCAL_MAX: usize = 5;
/// Global indexes of one table, as DynamoDB has it.
const GLOBAL_MAX: usize = 20;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct CreateTable {
    table_name: Option<TableName>,
    attribute_definitions: Option<Vec<AttributeDefinition>>,
    key_schema: Option<Vec<KeyElement>>,
    local_secondary_indexes: Option<Vec<IndexDefinition>>,
    global_secondary_indexes: Option<Vec<IndexDefinition>>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Throughput>,
    stream_specification: Option<StreamSpecification>,
    tags: Option<Vec<Tag>>,
    table_class: Option<String>,
    deletion_protection_enabled: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct AttributeDefinition {
    attribute_name: String,
    attribute_type: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct KeyElement {
    attribute_name: String,
    key_type: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct IndexDefinition {
    pub(super) index_name: String,
    key_schema: Option<Vec<KeyElement>>,
    projection: Option<Projection>,
    pub(super) provisioned_throughput: Option<Throughput>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Projection {
    projection_type: Option<String>,
    non_key_attributes: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct Throughput {
    read_capacity_units: i64,
    write_capacity_units: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct StreamSpecification {
    pub(super) stream_enabled: bool,
    pub(super) stream_view_type: Option<String>,
}

/// A tag of a table.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct Tag {
    pub(in crate::door) key: String,
    pub(in crate::door) value: String,
}

impl CreateTable {
    /// The declaration, and what is to be remembered beside it.
    pub(in crate::door) fn read(self, door: &Door) -> Result<(TableSpec, Meta), Fault> {
        let name = door.name_of(self.table_name)?;
        if !(NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&name.len()) {
            return Err(Fault::invalid(format!(
                "TableName must be at least {NAME_CHARS_MIN} characters long and at most \
                 {NAME_CHARS_MAX} characters long"
            )));
        }
        let definitions =
            self.attribute_definitions.ok_or_else(|| Fault::missing("attributeDefinitions"))?;
        let schema = self.key_schema.ok_or_else(|| Fault::missing("keySchema"))?;
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
        let mut meta = Meta {
            name: name.clone(),
            units: read_billing(self.billing_mode.as_deref(), self.provisioned_throughput, None)?,
            is_protected: self.deletion_protection_enabled.unwrap_or(false),
            class: read_class(self.table_class)?,
            tags: self.tags.into_iter().flatten().map(|tag| (tag.key, tag.value)).collect(),
            ..Meta::default()
        };
        let mut spec = TableSpec::new(name, key);
        for index in locals {
            spec.indexes.push(index.read(&spec.key, &definitions, true)?);
        }
        for index in globals {
            let units = index.provisioned_throughput.map(Throughput::units).transpose()?;
            meta.index_units.extend(units.map(|units| (index.index_name.clone(), units)));
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

/// No two indexes have one name.
fn check_names(spec: &TableSpec) -> Result<(), Fault> {
    let mut names = BTreeSet::new();
    match spec.indexes.iter().find(|index| !names.insert(&index.name)) {
        Some(index) => {
            Err(Fault::invalid(format!("{INVALID} Duplicate index name: {}", index.name)))
        }
        None => Ok(()),
    }
}

impl IndexDefinition {
    /// The declaration of an index on a table with this key.
    pub(super) fn read(
        self,
        table: &KeySpec,
        definitions: &[AttributeDefinition],
        local: bool,
    ) -> Result<IndexSpec, Fault> {
        let name = self.index_name;
        let schema = self.key_schema.ok_or_else(|| Fault::missing("keySchema"))?;
        let key = key_spec(&schema, definitions)?;
        if local && key.sort.is_none() {
            return Err(Fault::invalid(format!(
                "{INVALID} Index KeySchema does not have a range key for index: {name}"
            )));
        }
        if local && key.partition != table.partition {
            return Err(Fault::invalid(format!(
                "{INVALID} Index KeySchema does not have the same leading hash key as table \
                 KeySchema for index: {name}. index hash key: {}, table hash key: {}",
                key.partition.name, table.partition.name
            )));
        }
        let projection = self.projection.ok_or_else(|| Fault::missing("projection"))?.read()?;
        Ok(IndexSpec { name, key, projection, local })
    }
}

impl Projection {
    fn read(self) -> Result<Projected, Fault> {
        let names = self.non_key_attributes;
        let stray = |kind: &str| {
            Fault::invalid(format!(
                "{INVALID} ProjectionType is {kind}, but NonKeyAttributes is specified"
            ))
        };
        match (self.projection_type.as_deref(), names) {
            (Some("ALL"), None) => Ok(Projected::All),
            (Some("KEYS_ONLY"), None) => Ok(Projected::KeysOnly),
            (Some(kind @ ("ALL" | "KEYS_ONLY")), Some(_)) => Err(stray(kind)),
            (Some("INCLUDE"), Some(names)) if names.is_empty() => {
                let rule = "have length greater than or equal to 1";
                Err(Fault::constraint("'[]'", "projection.nonKeyAttributes", rule))
            }
            (Some("INCLUDE"), Some(names)) => Ok(Projected::Include(names)),
            (Some("INCLUDE"), None) => Err(Fault::invalid(format!(
                "{INVALID} ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
            ))),
            (Some(other), _) => {
                Err(Fault::no_choice(other, "projectionType", "ALL, INCLUDE, KEYS_ONLY"))
            }
            (None, _) => Err(Fault::invalid(format!("{INVALID} Unknown ProjectionType: null"))),
        }
    }
}

impl Throughput {
    /// Read and write units, each at least 1.
    pub(in crate::door) fn units(self) -> Result<Units, Fault> {
        let unit = |value: i64, at: &str| match u64::try_from(value) {
            Ok(0) | Err(_) => Err(Fault::constraint(
                &format!("'{value}'"),
                &format!("provisionedThroughput.{at}"),
                "have value greater than or equal to 1",
            )),
            Ok(units) => Ok(units),
        };
        Ok((
            unit(self.read_capacity_units, "readCapacityUnits")?,
            unit(self.write_capacity_units, "writeCapacityUnits")?,
        ))
    }
}

impl StreamSpecification {
    /// The stream that is asked for; none if it is asked that there be none.
    pub(super) fn read(self, door: &Door) -> Result<Option<Stream>, Fault> {
        let view = match (self.stream_enabled, self.stream_view_type) {
            (false, None) => return Ok(None),
            (false, Some(_)) => {
                return Err(Fault::invalid(format!(
                    "{INVALID} Table is being created with a stream disabled, UpdateViewType \
                     should not be specified"
                )));
            }
            (true, view) => view.unwrap_or_else(|| "NEW_AND_OLD_IMAGES".to_owned()),
        };
        let known = ["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"];
        if !known.contains(&view.as_str()) {
            let choices = "NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY";
            return Err(Fault::no_choice(&view, "streamSpecification.streamViewType", choices));
        }
        let label = door.clock.now().to_string().trim_end_matches('Z').to_owned();
        Ok(Some(Stream { label, view, after: door.store.last_change(), until: None }))
    }
}

/// What is asked for of capacity: units, or none when every request is billed. `before` is what a
/// table has already.
pub(in crate::door) fn read_billing(
    mode: Option<&str>,
    throughput: Option<Throughput>,
    before: Option<Units>,
) -> Result<Option<Units>, Fault> {
    match (mode, throughput) {
        (Some("PAY_PER_REQUEST"), None) => Ok(None),
        (Some("PAY_PER_REQUEST"), Some(_)) => Err(Fault::invalid(format!(
            "{INVALID} Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when \
             BillingMode is PAY_PER_REQUEST"
        ))),
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

pub(super) fn read_class(class: Option<String>) -> Result<Option<String>, Fault> {
    match class.as_deref() {
        None | Some("STANDARD" | "STANDARD_INFREQUENT_ACCESS") => Ok(class),
        Some(other) => {
            Err(Fault::no_choice(other, "tableClass", "STANDARD, STANDARD_INFREQUENT_ACCESS"))
        }
    }
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

fn key_spec(schema: &[KeyElement], definitions: &[AttributeDefinition]) -> Result<KeySpec, Fault> {
    let attribute = |element: &KeyElement| {
        let name = &element.attribute_name;
        let defined = definitions.iter().find(|other| other.attribute_name == *name);
        let Some(defined) = defined else {
            let names = |names: Vec<&str>| names.join(", ");
            return Err(Fault::invalid(format!(
                "{INVALID} Some index key attributes are not defined in AttributeDefinitions. \
                 Keys: [{}], AttributeDefinitions: [{}]",
                names(schema.iter().map(|key| key.attribute_name.as_str()).collect()),
                names(definitions.iter().map(|one| one.attribute_name.as_str()).collect())
            )));
        };
        let kind = match defined.attribute_type.as_str() {
            "S" => KeyType::S,
            "N" => KeyType::N,
            "B" => KeyType::B,
            other => {
                let at = "attributeDefinitions.1.member.attributeType";
                return Err(Fault::no_choice(other, at, "B, N, S"));
            }
        };
        Ok(KeyAttribute { name: name.clone(), kind })
    };
    let (partition, sort) = match schema {
        [] => {
            let rule = "have length greater than or equal to 1";
            return Err(Fault::constraint("'[]'", "keySchema", rule));
        }
        [partition] => (partition, None),
        [partition, sort] => (partition, Some(sort)),
        [_, _, _, ..] => {
            let rule = "have length less than or equal to 2";
            return Err(Fault::constraint("'[...]'", "keySchema", rule));
        }
    };
    if partition.key_type != "HASH" {
        return Err(Fault::invalid(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ));
    }
    if sort.is_some_and(|sort| sort.attribute_name == partition.attribute_name) {
        return Err(Fault::invalid(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ));
    }
    if sort.is_some_and(|sort| sort.key_type != "RANGE") {
        return Err(Fault::invalid(
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ));
    }
    Ok(KeySpec { partition: attribute(partition)?, sort: sort.map(attribute).transpose()? })
}

/// Every attribute that is defined must be used.
fn check_definitions(spec: &TableSpec, definitions: &[AttributeDefinition]) -> Result<(), Fault> {
    let of_indexes = spec.indexes.iter().flat_map(|index| index.key.attributes());
    let used: BTreeSet<&str> =
        spec.key.attributes().chain(of_indexes).map(|one| one.name.as_str()).collect();
    let defined: BTreeSet<&str> =
        definitions.iter().map(|one| one.attribute_name.as_str()).collect();
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

//! The parts of a table's declaration: attributes, keys, indexes, capacity, streams. Each checks
//! DynamoDB's rules that need no look at the table.

use std::collections::BTreeSet;

use serde::Deserialize;
use table::{IndexSpec, KeyAttribute, KeySpec, KeyType, Projected};

use crate::door::Door;
use crate::door::bounded::BoundedList;
use crate::door::fault::{Fault, Faults, check_range};
use crate::door::meta::{Stream, Units};
use crate::door::names::check_short_name;
use crate::door::transactions::{check_at_most, check_list};

pub(super) const INVALID: &str = "One or more parameter values were invalid:";
/// Attributes of one key.
const KEY_MAX: usize = 2;
/// Defined attributes of a table. Each must be in a key, and a table with its indexes has 26 keys.
const DEFINITIONS_MAX: usize = 52;
/// The name of an attribute in a declaration, as in DynamoDB.
const ATTRIBUTE_NAME_BYTES_MAX: usize = 255;
/// Capacity units of a table or an index, as in DynamoDB.
const UNITS_MAX: u64 = 1_000_000_000_000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct AttributeDefinition {
    attribute_name: Option<String>,
    attribute_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct KeyElement {
    attribute_name: Option<String>,
    key_type: Option<String>,
}

/// `AttributeDefinitions`.
pub(in crate::door) type Definitions = BoundedList<AttributeDefinition, DEFINITIONS_MAX>;
/// `KeySchema`.
pub(in crate::door) type KeySchema = BoundedList<KeyElement, KEY_MAX>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct IndexDefinition {
    index_name: Option<String>,
    key_schema: Option<KeySchema>,
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
    read_capacity_units: Option<i64>,
    write_capacity_units: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::door) struct StreamSpecification {
    stream_enabled: Option<bool>,
    pub(super) stream_view_type: Option<String>,
}

/// Records invalid definitions of attributes.
pub(super) fn check_attributes(definitions: &Option<Definitions>, faults: &mut Faults) {
    if let Some(definitions) = definitions {
        faults.see(check_at_most(definitions, "attributeDefinitions"));
    }
    for (definition, number) in definitions.iter().flatten().zip(1..) {
        let at = |field: &str| format!("attributeDefinitions.{number}.member.{field}");
        check_attribute_name(&definition.attribute_name, &at("attributeName"), faults);
        faults.require(&definition.attribute_type, at("attributeType"));
        match definition.attribute_type.as_deref() {
            None | Some("S" | "N" | "B") => {}
            Some(other) => {
                faults.see::<()>(Err(Fault::no_choice(other, at("attributeType"), "B, N, S")));
            }
        }
    }
}

/// Records an attribute name that is missing, empty or too long.
pub(in crate::door) fn check_attribute_name(name: &Option<String>, at: &str, faults: &mut Faults) {
    faults.require(name, at);
    let Some(name) = name else { return };
    let rule = match name.len() {
        0 => "have length greater than or equal to 1".to_owned(),
        1..=ATTRIBUTE_NAME_BYTES_MAX => return,
        _ => format!("have length less than or equal to {ATTRIBUTE_NAME_BYTES_MAX}"),
    };
    faults.see::<()>(Err(Fault::constraint(&format!("'{name}'"), at, &rule)));
}

pub(super) fn check_key(schema: &Option<KeySchema>, at: &str, faults: &mut Faults) {
    faults.see(check_list(schema, at));
    for (element, number) in schema.iter().flatten().zip(1..) {
        let at = |field: &str| format!("{at}.{number}.member.{field}");
        check_attribute_name(&element.attribute_name, &at("attributeName"), faults);
        faults.require(&element.key_type, at("keyType"));
        match element.key_type.as_deref() {
            None | Some("HASH" | "RANGE") => {}
            Some(other) => {
                faults.see::<()>(Err(Fault::no_choice(other, at("keyType"), "HASH, RANGE")));
            }
        }
    }
}

impl IndexDefinition {
    /// Records an invalid definition. `at` is its place.
    pub(super) fn check(&self, at: &str, faults: &mut Faults) {
        check_key(&self.key_schema, &format!("{at}.keySchema"), faults);
        faults.require(&self.projection, format_args!("{at}.projection"));
        if let Some(projection) = &self.projection {
            projection.check(&format!("{at}.projection"), faults);
        }
        check_index_name(&self.index_name, &format!("{at}.indexName"), faults);
        if let Some(throughput) = &self.provisioned_throughput {
            throughput.check(&format!("{at}.provisionedThroughput"), faults);
        }
    }

    pub(super) fn name(&self) -> &str {
        self.index_name.as_deref().unwrap_or_default()
    }
}

/// Records an index name that is missing or invalid.
pub(super) fn check_index_name(name: &Option<String>, at: &str, faults: &mut Faults) {
    faults.require(name, at);
    if let Some(name) = name {
        faults.see(check_short_name(name, at));
    }
}

impl Projection {
    fn check(&self, at: &str, faults: &mut Faults) {
        match self.projection_type.as_deref() {
            None | Some("ALL" | "INCLUDE" | "KEYS_ONLY") => {}
            Some(other) => {
                let at = format_args!("{at}.projectionType");
                faults.see::<()>(Err(Fault::no_choice(other, at, "ALL, INCLUDE, KEYS_ONLY")));
            }
        }
        let Some(names) = &self.non_key_attributes else { return };
        let at = format_args!("{at}.nonKeyAttributes");
        if names.is_empty() {
            let rule = "have length greater than or equal to 1";
            faults.see::<()>(Err(Fault::constraint("'[]'", at, rule)));
        }
        let fits = |name: &String| (1..=ATTRIBUTE_NAME_BYTES_MAX).contains(&name.len());
        if !names.iter().all(fits) {
            let rule = format!(
                "satisfy constraint: [Member must have length less than or equal to \
                 {ATTRIBUTE_NAME_BYTES_MAX}, Member must have length greater than or equal to 1]"
            );
            faults.see::<()>(Err(Fault::constraint("'[...]'", at, &rule)));
        }
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
        let name = self.index_name.unwrap_or_default();
        let key = key_spec(&self.key_schema.unwrap_or_default(), definitions)?;
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
        let projection =
            self.projection.ok_or_else(|| Fault::missing("projection"))?.read(&name)?;
        Ok(IndexSpec { name, key, projection, local })
    }

    /// The units of a global index on a table that is billed by capacity, or by request.
    pub(super) fn read_units(&self, provisioned: bool) -> Result<Option<Units>, Fault> {
        match self.provisioned_throughput {
            Some(throughput) if provisioned => throughput.units().map(Some),
            Some(_) => Err(units_unwanted(self.name())),
            None if provisioned => Err(units_wanted(&[self.name()])),
            None => Ok(None),
        }
    }
}

/// The error for units on an index of a table that is billed by request.
pub(super) fn units_unwanted(index: &str) -> Fault {
    Fault::invalid(format!(
        "{INVALID} ProvisionedThroughput should not be specified for index: {index} when \
         BillingMode is PAY_PER_REQUEST"
    ))
}

/// The error for indexes without units on a table that is billed by capacity.
pub(super) fn units_wanted(indexes: &[&str]) -> Fault {
    let indexes = indexes.join(",");
    Fault::invalid(format!(
        "{INVALID} ProvisionedThroughput must be specified for index: {indexes}"
    ))
}

impl Projection {
    fn read(self, index: &str) -> Result<Projected, Fault> {
        let names = self.non_key_attributes;
        let mut seen = BTreeSet::new();
        if let Some(name) = names.iter().flatten().find(|name| !seen.insert(name.as_str())) {
            return Err(Fault::invalid(format!(
                "{INVALID} Duplicate value in NonKeyAttributes: {name} for index: {index}"
            )));
        }
        let stray = |kind: &str| {
            Fault::invalid(format!(
                "{INVALID} ProjectionType is {kind}, but NonKeyAttributes is specified"
            ))
        };
        match (self.projection_type.as_deref(), names) {
            (Some("ALL"), None) => Ok(Projected::All),
            (Some("KEYS_ONLY"), None) => Ok(Projected::KeysOnly),
            (Some(kind @ ("ALL" | "KEYS_ONLY")), Some(_)) => Err(stray(kind)),
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
    /// Records invalid units. `at` is their place.
    pub(in crate::door) fn check(&self, at: &str, faults: &mut Faults) {
        for (units, field) in [
            (self.write_capacity_units, "writeCapacityUnits"),
            (self.read_capacity_units, "readCapacityUnits"),
        ] {
            faults.require(&units, format_args!("{at}.{field}"));
            faults.see(check_range(units, format_args!("{at}.{field}"), 1, i64::MAX));
        }
    }

    /// Read and write units.
    pub(in crate::door) fn units(self) -> Result<Units, Fault> {
        let unit = |value: Option<i64>, name: &str| {
            let units = u64::try_from(value.unwrap_or_default()).unwrap_or_default();
            match units {
                0..=UNITS_MAX => Ok(units),
                _ => {
                    Err(Fault::invalid(format!("Given value {units} for {name} is out of bounds")))
                }
            }
        };
        Ok((
            unit(self.read_capacity_units, "ReadCapacityUnits")?,
            unit(self.write_capacity_units, "WriteCapacityUnits")?,
        ))
    }
}

impl StreamSpecification {
    /// Records an invalid stream.
    pub(super) fn check(&self, faults: &mut Faults) {
        faults.require(&self.stream_enabled, "streamSpecification.streamEnabled");
        match self.stream_view_type.as_deref() {
            None | Some("NEW_IMAGE" | "OLD_IMAGE" | "NEW_AND_OLD_IMAGES" | "KEYS_ONLY") => {}
            Some(other) => {
                let choices = "NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY";
                let at = "streamSpecification.streamViewType";
                faults.see::<()>(Err(Fault::no_choice(other, at, choices)));
            }
        }
    }

    /// Whether the table should have a stream.
    pub(super) fn is_wanted(&self) -> bool {
        self.stream_enabled.unwrap_or_default()
    }

    /// The requested stream; `None` if the request switches it off.
    pub(super) fn read(self, door: &Door) -> Result<Option<Stream>, Fault> {
        let view = match (self.is_wanted(), self.stream_view_type) {
            (false, None) => return Ok(None),
            (false, Some(_)) => {
                return Err(Fault::invalid(format!(
                    "{INVALID} Table is being created with a stream disabled, UpdateViewType \
                     should not be specified"
                )));
            }
            (true, view) => view.unwrap_or_else(|| "NEW_AND_OLD_IMAGES".to_owned()),
        };
        let label = door.clock.now().to_string().trim_end_matches('Z').to_owned();
        Ok(Some(Stream { label, view, after: door.store.last_change(), until: None }))
    }
}

/// Checks the billing mode.
pub(in crate::door) fn check_mode(mode: Option<&str>) -> Result<(), Fault> {
    match mode {
        None | Some("PROVISIONED" | "PAY_PER_REQUEST") => Ok(()),
        Some(other) => Err(Fault::no_choice(other, "billingMode", "PROVISIONED, PAY_PER_REQUEST")),
    }
}

/// Checks the table class.
pub(super) fn check_class(class: Option<&str>) -> Result<(), Fault> {
    match class {
        None | Some("STANDARD" | "STANDARD_INFREQUENT_ACCESS") => Ok(()),
        Some(other) => {
            Err(Fault::no_choice(other, "tableClass", "STANDARD, STANDARD_INFREQUENT_ACCESS"))
        }
    }
}

impl AttributeDefinition {
    pub(super) fn name(&self) -> &str {
        self.attribute_name.as_deref().unwrap_or_default()
    }
}

impl KeyElement {
    fn name(&self) -> &str {
        self.attribute_name.as_deref().unwrap_or_default()
    }

    fn is(&self, kind: &str) -> bool {
        self.key_type.as_deref() == Some(kind)
    }
}

pub(super) fn key_spec(
    schema: &[KeyElement],
    definitions: &[AttributeDefinition],
) -> Result<KeySpec, Fault> {
    let attribute = |element: &KeyElement| {
        let name = element.name();
        let defined = definitions.iter().find(|other| other.name() == name);
        let Some(defined) = defined else {
            let names = |names: Vec<&str>| names.join(", ");
            return Err(Fault::invalid(format!(
                "{INVALID} Some index key attributes are not defined in AttributeDefinitions. \
                 Keys: [{}], AttributeDefinitions: [{}]",
                names(schema.iter().map(KeyElement::name).collect()),
                names(definitions.iter().map(AttributeDefinition::name).collect())
            )));
        };
        let kind = match defined.attribute_type.as_deref() {
            Some("N") => KeyType::N,
            Some("B") => KeyType::B,
            // The check of the request allows no other word.
            Some(_) | None => KeyType::S,
        };
        Ok(KeyAttribute { name: name.to_owned(), kind })
    };
    let (partition, sort) = match schema {
        [partition] => (partition, None),
        [partition, sort] => (partition, Some(sort)),
        [] | [_, _, _, ..] => return Err(Fault::missing("keySchema")),
    };
    if !partition.is("HASH") {
        return Err(Fault::invalid(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ));
    }
    if sort.is_some_and(|sort| sort.name() == partition.name()) {
        return Err(Fault::invalid(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ));
    }
    if sort.is_some_and(|sort| !sort.is("RANGE")) {
        return Err(Fault::invalid(
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ));
    }
    Ok(KeySpec { partition: attribute(partition)?, sort: sort.map(attribute).transpose()? })
}

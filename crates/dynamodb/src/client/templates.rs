//! The tables as templates, for operators who create them before the server starts. They describe
//! the tables that [`Client`] would create by itself.
//!
//! [`Client`]: super::Client

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use table::{IndexSpec, KeySpec, KeyType, Projected, TableSpec};

use super::shape::stored_projection;

/// A CloudFormation template. The tables stay when the stack is deleted.
pub fn cloudformation(specs: &[TableSpec], prefix: &str) -> Json {
    let table = |spec: &TableSpec| {
        let mut table = json!({
            "TableName": format!("{prefix}{}", spec.name),
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes(spec, |name, kind| {
                json!({ "AttributeName": name, "AttributeType": kind })
            }),
            "KeySchema": schema(&spec.key),
        });
        let written = |index: &IndexSpec| {
            let (kind, others) = projection(spec, index);
            let mut projection = json!({ "ProjectionType": kind });
            set(&mut projection, "NonKeyAttributes", others.map(Json::from));
            json!({
                "IndexName": index.name,
                "KeySchema": schema(&index.key),
                "Projection": projection,
            })
        };
        set(&mut table, "GlobalSecondaryIndexes", indexes(spec, false, written));
        set(&mut table, "LocalSecondaryIndexes", indexes(spec, true, written));
        let ttl = spec.ttl.as_ref();
        let ttl = ttl.map(|name| json!({ "AttributeName": name, "Enabled": true }));
        set(&mut table, "TimeToLiveSpecification", ttl);
        json!({
            "Type": "AWS::DynamoDB::Table",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
            "Properties": table,
        })
    };
    let named = named(specs, |word, _| match word.split_at_checked(1) {
        Some((first, rest)) => format!("{}{rest}", first.to_uppercase()),
        None => word.to_owned(),
    });
    let resources: Map<String, Json> =
        named.into_iter().map(|(id, spec)| (id, table(spec))).collect();
    json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "The tables of a Nagaya house",
        "Resources": resources,
    })
}

/// A Terraform configuration in JSON.
pub fn terraform(specs: &[TableSpec], prefix: &str) -> Json {
    let table = |spec: &TableSpec| {
        let mut table = json!({
            "name": format!("{prefix}{}", spec.name),
            "billing_mode": "PAY_PER_REQUEST",
            "hash_key": spec.key.partition.name,
            "attribute": attributes(spec, |name, kind| json!({ "name": name, "type": kind })),
            "lifecycle": { "prevent_destroy": true },
        });
        set(&mut table, "range_key", range(&spec.key));
        let written = |index: &IndexSpec| {
            let (kind, others) = projection(spec, index);
            let mut block = json!({ "name": index.name, "projection_type": kind });
            // A local index has the partitions of the table.
            let partition = Json::from(index.key.partition.name.as_str());
            set(&mut block, "hash_key", Some(partition).filter(|_| !index.local));
            set(&mut block, "range_key", range(&index.key));
            set(&mut block, "non_key_attributes", others.map(Json::from));
            block
        };
        set(&mut table, "global_secondary_index", indexes(spec, false, written));
        set(&mut table, "local_secondary_index", indexes(spec, true, written));
        let ttl = spec.ttl.as_ref();
        set(&mut table, "ttl", ttl.map(|name| json!({ "attribute_name": name, "enabled": true })));
        table
    };
    let named = named(specs, |word, is_first| match is_first {
        true => word.to_lowercase(),
        false => format!("_{}", word.to_lowercase()),
    });
    let resources: Map<String, Json> =
        named.into_iter().map(|(id, spec)| (id, table(spec))).collect();
    json!({
        "terraform": { "required_providers": { "aws": { "source": "hashicorp/aws" } } },
        "resource": { "aws_dynamodb_table": resources },
    })
}

/// Tables by a name that templates accept: the words of their own names, capitalized. A number
/// distinguishes equal names.
fn named(
    specs: &[TableSpec],
    spell: impl Fn(&str, bool) -> String,
) -> BTreeMap<String, &TableSpec> {
    let mut named = BTreeMap::new();
    for spec in specs {
        let words = spec.name.split(|letter: char| !letter.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty()).enumerate();
        let id: String = words.map(|(place, word)| spell(word, place == 0)).collect();
        let ids = (2_u32..).map(|number| format!("{id}{number}"));
        let free = std::iter::once(id.clone()).chain(ids).find(|id| !named.contains_key(id));
        named.insert(free.unwrap_or(id), spec);
    }
    named
}

/// The indexes of one kind, if there are any.
fn indexes(spec: &TableSpec, local: bool, write: impl Fn(&IndexSpec) -> Json) -> Option<Json> {
    let held = spec.indexes.iter().filter(|index| index.local == local);
    let written: Vec<Json> = held.map(write).collect();
    (!written.is_empty()).then(|| Json::from(written))
}

/// All key attributes, by name.
fn attributes(spec: &TableSpec, write: impl Fn(&str, &str) -> Json) -> Vec<Json> {
    let keys = std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key));
    let kinds: BTreeMap<&str, KeyType> = keys
        .flat_map(KeySpec::attributes)
        .map(|attribute| (attribute.name.as_str(), attribute.kind))
        .collect();
    let word = |kind| match kind {
        KeyType::S => "S",
        KeyType::N => "N",
        KeyType::B => "B",
    };
    kinds.into_iter().map(|(name, kind)| write(name, word(kind))).collect()
}

fn schema(key: &KeySpec) -> Vec<Json> {
    let parts = key.attributes().zip(["HASH", "RANGE"]);
    parts
        .map(|(attribute, part)| json!({ "AttributeName": attribute.name, "KeyType": part }))
        .collect()
}

fn range(key: &KeySpec) -> Option<Json> {
    key.sort.as_ref().map(|sort| Json::from(sort.name.as_str()))
}

/// The projection of an index in DynamoDB's words.
fn projection(spec: &TableSpec, index: &IndexSpec) -> (&'static str, Option<Vec<String>>) {
    match stored_projection(spec, index) {
        Projected::All => ("ALL", None),
        Projected::KeysOnly => ("KEYS_ONLY", None),
        Projected::Include(names) => ("INCLUDE", Some(names)),
    }
}

/// Adds an optional field.
fn set(object: &mut Json, field: &str, value: Option<Json>) {
    if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
        object.insert(field.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use table::{KeyAttribute, KeySpec, Projected, TableSpec};

    use super::{cloudformation, terraform};

    fn specs() -> Vec<TableSpec> {
        let by_time = KeySpec::composite(KeyAttribute::s("room"), KeyAttribute::n("at"));
        vec![
            TableSpec::new("mesh", KeySpec::simple(KeyAttribute::b("pk"))),
            TableSpec::new("mesh-status", KeySpec::simple(KeyAttribute::s("id")))
                .index_projecting("by-time", by_time, Projected::KeysOnly)
                .expiring_by("until"),
            TableSpec::new("mesh_status", KeySpec::simple(KeyAttribute::s("id"))),
        ]
    }

    #[test]
    fn a_local_index_is_a_local_one_in_both() {
        let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
        let sort = KeyAttribute::n("score");
        let spec = TableSpec::new("scores", key).local_index("by-score", sort, Projected::All);
        let specs = [spec];
        let table = &cloudformation(&specs, "")["Resources"]["Scores"]["Properties"];
        assert_eq!(table.get("GlobalSecondaryIndexes"), None);
        assert_eq!(
            table["LocalSecondaryIndexes"],
            json!([{
                "IndexName": "by-score",
                "KeySchema": [
                    { "AttributeName": "pk", "KeyType": "HASH" },
                    { "AttributeName": "score", "KeyType": "RANGE" },
                ],
                "Projection": { "ProjectionType": "ALL" },
            }])
        );
        let table = &terraform(&specs, "")["resource"]["aws_dynamodb_table"]["scores"];
        assert_eq!(table.get("global_secondary_index"), None);
        let wanted =
            json!([{ "name": "by-score", "range_key": "score", "projection_type": "ALL" }]);
        assert_eq!(table["local_secondary_index"], wanted);
    }

    #[test]
    fn cloudformation_gets_what_the_client_would_make() {
        let template = cloudformation(&specs(), "test-");
        let resources = template["Resources"].as_object().unwrap();
        let names: Vec<&String> = resources.keys().collect();
        assert_eq!(names, ["Mesh", "MeshStatus", "MeshStatus2"]);
        assert_eq!(
            resources["MeshStatus"]["Properties"],
            json!({
                "TableName": "test-mesh-status",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [
                    { "AttributeName": "at", "AttributeType": "N" },
                    { "AttributeName": "id", "AttributeType": "S" },
                    { "AttributeName": "room", "AttributeType": "S" },
                ],
                "KeySchema": [{ "AttributeName": "id", "KeyType": "HASH" }],
                "GlobalSecondaryIndexes": [{
                    "IndexName": "by-time",
                    "KeySchema": [
                        { "AttributeName": "room", "KeyType": "HASH" },
                        { "AttributeName": "at", "KeyType": "RANGE" },
                    ],
                    "Projection": {
                        "ProjectionType": "INCLUDE", "NonKeyAttributes": ["until"],
                    },
                }],
                "TimeToLiveSpecification": { "AttributeName": "until", "Enabled": true },
            })
        );
        assert_eq!(resources["Mesh"]["Properties"].get("GlobalSecondaryIndexes"), None);
    }

    #[test]
    fn terraform_gets_the_same() {
        let configuration = terraform(&specs(), "test-");
        let tables = &configuration["resource"]["aws_dynamodb_table"];
        assert_eq!(
            tables["mesh_status"],
            json!({
                "name": "test-mesh-status",
                "billing_mode": "PAY_PER_REQUEST",
                "hash_key": "id",
                "attribute": [
                    { "name": "at", "type": "N" },
                    { "name": "id", "type": "S" },
                    { "name": "room", "type": "S" },
                ],
                "global_secondary_index": [{
                    "name": "by-time",
                    "hash_key": "room",
                    "range_key": "at",
                    "projection_type": "INCLUDE",
                    "non_key_attributes": ["until"],
                }],
                "ttl": { "attribute_name": "until", "enabled": true },
                "lifecycle": { "prevent_destroy": true },
            })
        );
        assert_eq!(tables["mesh"].get("range_key"), None);
        assert_eq!(tables["mesh_status2"]["name"], "test-mesh_status");
    }
}

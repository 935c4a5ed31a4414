//! Encodes a declaration for DynamoDB and decodes it again.
//!
//! Three parts of a `TableSpec` have no place in DynamoDB. The order of indexes is lost. An
//! ephemeral table is as durable as any other, and its changes are not kept. And an index of a
//! table with expiry always contains the expiry attribute, so that expired items can be recognized
//! (`expiry.rs`).

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndex, KeySchemaElement,
    KeyType as SdkKeyType, LocalSecondaryIndex, Projection, ProjectionType, ScalarAttributeType,
    TableDescription,
};
use table::{Error, IndexSpec, KeyAttribute, KeySpec, KeyType, Projected, TableSpec};

use super::batches::cannot_build;

/// The types of all key attributes of a declaration.
pub(super) fn definitions<'k>(
    keys: impl Iterator<Item = &'k KeySpec>,
) -> Result<Vec<AttributeDefinition>, Error> {
    let kinds: BTreeMap<&str, KeyType> = keys
        .flat_map(KeySpec::attributes)
        .map(|attribute| (attribute.name.as_str(), attribute.kind))
        .collect();
    let define = |(name, kind): (&str, KeyType)| {
        let kind = match kind {
            KeyType::S => ScalarAttributeType::S,
            KeyType::N => ScalarAttributeType::N,
            KeyType::B => ScalarAttributeType::B,
        };
        AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build()
    };
    kinds.into_iter().map(define).collect::<Result<_, _>>().map_err(cannot_build)
}

pub(super) fn schema(key: &KeySpec) -> Result<Vec<KeySchemaElement>, Error> {
    let parts = key.attributes().zip([SdkKeyType::Hash, SdkKeyType::Range]);
    let element = |(attribute, part): (&KeyAttribute, SdkKeyType)| {
        KeySchemaElement::builder().attribute_name(&attribute.name).key_type(part).build()
    };
    parts.map(element).collect::<Result<_, _>>().map_err(cannot_build)
}

/// An index as part of a new table.
pub(super) fn global_index(
    spec: &TableSpec,
    index: &IndexSpec,
) -> Result<GlobalSecondaryIndex, Error> {
    GlobalSecondaryIndex::builder()
        .index_name(&index.name)
        .set_key_schema(Some(schema(&index.key)?))
        .projection(projection(&stored_projection(spec, index)))
        .build()
        .map_err(cannot_build)
}

/// A local index as part of a new table: same partitions, another order.
pub(super) fn local_index(
    spec: &TableSpec,
    index: &IndexSpec,
) -> Result<LocalSecondaryIndex, Error> {
    LocalSecondaryIndex::builder()
        .index_name(&index.name)
        .set_key_schema(Some(schema(&index.key)?))
        .projection(projection(&stored_projection(spec, index)))
        .build()
        .map_err(cannot_build)
}

/// An index as an addition to an existing table.
pub(super) fn new_index(
    spec: &TableSpec,
    index: &IndexSpec,
) -> Result<CreateGlobalSecondaryIndexAction, Error> {
    CreateGlobalSecondaryIndexAction::builder()
        .index_name(&index.name)
        .set_key_schema(Some(schema(&index.key)?))
        .projection(projection(&stored_projection(spec, index)))
        .build()
        .map_err(cannot_build)
}

/// The attributes that the index has in DynamoDB: the declared ones and the expiry.
pub(super) fn stored_projection(spec: &TableSpec, index: &IndexSpec) -> Projected {
    let keys = || spec.key.attributes().chain(index.key.attributes());
    let ttl = spec.ttl.as_ref().filter(|ttl| keys().all(|key| key.name != **ttl));
    match (&index.projection, ttl) {
        (Projected::All, _) => Projected::All,
        (Projected::KeysOnly, None) => Projected::KeysOnly,
        (Projected::KeysOnly, Some(ttl)) => Projected::Include(vec![ttl.clone()]),
        (Projected::Include(names), ttl) => {
            let mut names: Vec<String> = names.iter().chain(ttl).cloned().collect();
            names.sort();
            names.dedup();
            Projected::Include(names)
        }
    }
}

fn projection(projected: &Projected) -> Projection {
    let projection = Projection::builder();
    match projected {
        Projected::All => projection.projection_type(ProjectionType::All),
        Projected::KeysOnly => projection.projection_type(ProjectionType::KeysOnly),
        Projected::Include(names) => projection
            .projection_type(ProjectionType::Include)
            .set_non_key_attributes(Some(names.clone())),
    }
    .build()
}

/// The declaration of an existing table: indexes by name, with their attributes in DynamoDB.
pub(super) fn read(
    name: &str,
    table: &TableDescription,
    ttl: Option<String>,
) -> Result<TableSpec, Error> {
    let kinds = || table.attribute_definitions().iter();
    let kind = |name: &str| {
        let definition = kinds().find(|definition| definition.attribute_name == name)?;
        match &definition.attribute_type {
            ScalarAttributeType::S => Some(KeyType::S),
            ScalarAttributeType::N => Some(KeyType::N),
            ScalarAttributeType::B => Some(KeyType::B),
            _ => None,
        }
    };
    let key = |schema: &[KeySchemaElement]| {
        let part = |part: SdkKeyType| {
            let element = schema.iter().find(|element| element.key_type == part)?;
            let name = element.attribute_name.clone();
            Some(KeyAttribute { kind: kind(&name)?, name })
        };
        let partition = part(SdkKeyType::Hash).ok_or_else(|| unreadable(name))?;
        Ok::<KeySpec, Error>(KeySpec { partition, sort: part(SdkKeyType::Range) })
    };
    let global = table.global_secondary_indexes().iter();
    let global = global.map(|it| (it.index_name(), it.key_schema(), it.projection(), false));
    let local = table.local_secondary_indexes().iter();
    let local = local.map(|it| (it.index_name(), it.key_schema(), it.projection(), true));
    let mut spec = TableSpec::new(name, key(table.key_schema())?);
    for (index, schema, projection, local) in global.chain(local) {
        let index = index.ok_or_else(|| unreadable(name))?.to_owned();
        let (key, projection) = (key(schema)?, projected(projection));
        spec.indexes.push(IndexSpec { name: index, key, projection, local });
    }
    spec.indexes.sort_by(|left, right| left.name.cmp(&right.name));
    spec.ttl = ttl;
    Ok(spec)
}

fn projected(projection: Option<&Projection>) -> Projected {
    match projection.and_then(Projection::projection_type) {
        Some(ProjectionType::KeysOnly) => Projected::KeysOnly,
        Some(ProjectionType::Include) => {
            let names = projection.map(Projection::non_key_attributes).unwrap_or_default();
            let mut names = names.to_vec();
            names.sort();
            Projected::Include(names)
        }
        Some(_) | None => Projected::All,
    }
}

fn unreadable(name: &str) -> Error {
    Error::Io {
        context: format!("dynamodb describes table `{name}`"),
        cause: "its key cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use table::{IndexSpec, KeyAttribute, KeySpec, Projected, TableSpec};

    use super::stored_projection;

    #[test]
    fn an_index_holds_the_expiry_unless_its_keys_do() {
        let by = |name: &str| KeySpec::simple(KeyAttribute::s(name));
        let index = |key: &str, projection| IndexSpec {
            name: "index".to_owned(),
            key: by(key),
            projection,
            local: false,
        };
        let endless = TableSpec::new("table", by("pk"));
        let spec = endless.clone().expiring_by("until");
        let include =
            |names: &[&str]| Projected::Include(names.iter().map(|&n| n.into()).collect());
        assert_eq!(
            stored_projection(&endless, &index("x", Projected::KeysOnly)),
            Projected::KeysOnly
        );
        assert_eq!(stored_projection(&spec, &index("x", Projected::All)), Projected::All);
        assert_eq!(stored_projection(&spec, &index("x", Projected::KeysOnly)), include(&["until"]));
        assert_eq!(
            stored_projection(&spec, &index("until", Projected::KeysOnly)),
            Projected::KeysOnly
        );
        assert_eq!(
            stored_projection(&spec, &index("x", include(&["z", "a"]))),
            include(&["a", "until", "z"])
        );
        assert_eq!(stored_projection(&spec, &index("x", include(&["until"]))), include(&["until"]));
    }
}

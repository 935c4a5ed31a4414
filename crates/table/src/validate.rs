//! The rules of the data model: what a table may be declared as, and what may be stored in it.
//!
//! Messages follow DynamoDB's wording, capitals included, because the door hands them on and
//! clients match them.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::expr::Path;
use crate::limits::{
    ATTRIBUTE_NAME_BYTES_MAX, DEPTH_MAX, INDEXES_MAX, ITEM_BYTES_MAX, NAME_CHARS_MAX,
    NAME_CHARS_MIN, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX,
};
use crate::spec::{KeyAttribute, KeySpec, KeyType, Projected, TableSpec};
use crate::value::{Item, Value};

/// Names of key attributes, longest, in bytes.
const KEY_NAME_BYTES_MAX: usize = 255;

/// A declaration that can be kept.
pub(crate) fn check_spec(spec: &TableSpec) -> Result<(), Error> {
    check_name("TableName", &spec.name)?;
    check_key_names(&spec.key)?;
    if spec.indexes.len() > INDEXES_MAX {
        let count = spec.indexes.len();
        return invalid(format!(
            "table `{}` has {count} indexes (at most {INDEXES_MAX})",
            spec.name
        ));
    }
    for (at, index) in spec.indexes.iter().enumerate() {
        check_name("IndexName", &index.name)?;
        check_key_names(&index.key)?;
        if spec.indexes.iter().take(at).any(|other| other.name == index.name) {
            return invalid(format!("Duplicate index name: {}", index.name));
        }
        if let Projected::Include(names) = &index.projection {
            check_included(&index.name, names)?;
        }
    }
    check_kinds(spec)?;
    match &spec.ttl {
        Some(name) if name.is_empty() => invalid("the TTL attribute has an empty name"),
        Some(_) | None => Ok(()),
    }
}

/// An item that may be stored in the table.
pub(crate) fn check_item(spec: &TableSpec, item: &Item) -> Result<(), Error> {
    check_keys(spec, item)?;
    check_alone(item)
}

/// The attributes of an item that are keys, of the table or of an index, are so that they can be.
pub(crate) fn check_keys(spec: &TableSpec, item: &Item) -> Result<(), Error> {
    for (attribute, part) in with_parts(&spec.key) {
        match item.get(&attribute.name) {
            Some(value) => check_key_value(attribute, value, part)?,
            None => {
                return invalid(format!(
                    "One or more parameter values were invalid: Missing the key {} in the item",
                    attribute.name
                ));
            }
        }
    }
    for index in &spec.indexes {
        for (attribute, part) in with_parts(&index.key) {
            if let Some(value) = item.get(&attribute.name) {
                check_index_value(&index.name, attribute, value, part)?;
            }
        }
    }
    Ok(())
}

/// An item that an update may leave in the table. The rules are the same; DynamoDB words two of
/// them otherwise.
pub(crate) fn check_updated(spec: &TableSpec, item: &Item) -> Result<(), Error> {
    for attribute in spec.indexes.iter().flat_map(|index| index.key.attributes()) {
        let value = item.get(&attribute.name).filter(|value| is_of(value, attribute.kind));
        if let Some(kind) = value.and_then(empty_kind) {
            return invalid(format!(
                "One or more parameter values are not valid. The update expression attempted to \
                 update a secondary index key to a value that is not supported. The \
                 AttributeValue for a key attribute cannot contain an empty {kind} value."
            ));
        }
    }
    if item.size() > ITEM_BYTES_MAX {
        return Err(update_too_large());
    }
    check_item(spec, item)
}

/// An update makes an item that is too large.
pub(crate) fn update_too_large() -> Error {
    Error::invalid("Item size to update has exceeded the maximum allowed size")
}

/// An item that may be stored in some table.
pub(crate) fn check_alone(item: &Item) -> Result<(), Error> {
    check_fields(item, 0)?;
    check_size(item)
}

/// No key attribute of the right type is empty, of the table or of an index.
pub(crate) fn check_not_empty(spec: &TableSpec, item: &Item) -> Result<(), Error> {
    let empty = |attribute: &KeyAttribute| {
        let value = item.get(&attribute.name).filter(|value| is_of(value, attribute.kind));
        value.filter(|value| empty_kind(value).is_some())
    };
    for (attribute, part) in with_parts(&spec.key) {
        if let Some(value) = empty(attribute) {
            check_key_value(attribute, value, part)?;
        }
    }
    for index in &spec.indexes {
        for (attribute, part) in with_parts(&index.key) {
            if let Some(value) = empty(attribute) {
                check_index_value(&index.name, attribute, value, part)?;
            }
        }
    }
    Ok(())
}

/// What an empty text or empty bytes are called.
fn empty_kind(value: &Value) -> Option<&'static str> {
    match value {
        Value::S(text) => text.is_empty().then_some("string"),
        Value::B(bytes) => bytes.is_empty().then_some("binary"),
        Value::N(_)
        | Value::Bool(_)
        | Value::Null
        | Value::M(_)
        | Value::L(_)
        | Value::Ss(_)
        | Value::Ns(_)
        | Value::Bs(_) => None,
    }
}

/// Exactly the key attributes, each fit to be one.
pub(crate) fn check_key(key: &KeySpec, item: &Item) -> Result<(), Error> {
    if item.len() != key.attributes().count() {
        return invalid("The provided key element does not match the schema");
    }
    for (attribute, part) in with_parts(key) {
        match item.get(&attribute.name) {
            Some(value) if is_of(value, attribute.kind) => check_key_value(attribute, value, part)?,
            Some(_) | None => {
                return invalid("The provided key element does not match the schema");
            }
        }
    }
    Ok(())
}

/// The key of an item, if it has one that fits.
pub(crate) fn key_of(key: &KeySpec, item: &Item) -> Option<Item> {
    let names = key.attributes().map(|attribute| attribute.name.as_str());
    let part = names.filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())));
    let part: Item = part.collect();
    check_key(key, &part).is_ok().then_some(part)
}

/// No path leads into a key attribute, of the table or of an index: they have no inside.
pub(crate) fn check_key_paths<'a>(
    spec: &TableSpec,
    paths: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Error> {
    for path in paths.into_iter().filter(|path| !path.steps.is_empty()) {
        let named = |key: &KeySpec| key.attributes().any(|attribute| attribute.name == path.root);
        let key = if named(&spec.key) {
            "Key"
        } else if spec.indexes.iter().any(|index| named(&index.key)) {
            "IndexKey"
        } else {
            continue;
        };
        return invalid(format!(
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not \
             allowed: {key}: {}",
            path.root
        ));
    }
    Ok(())
}

/// Where a query or scan may go on: exactly the keys of the table and of the index, if it reads one.
/// DynamoDB says no more of a key with other names, unless a table is scanned (`of_scan`), and of
/// one that does not fit the index.
pub(crate) fn check_start_key(
    key: &KeySpec,
    index: Option<&KeySpec>,
    start: &Item,
    of_scan: bool,
) -> Result<(), Error> {
    let prefixed =
        |error: Error| Error::invalid(format!("The provided starting key is invalid: {error}"));
    let keys = || std::iter::once(key).chain(index);
    let names: BTreeSet<&str> =
        keys().flat_map(KeySpec::attributes).map(|attribute| attribute.name.as_str()).collect();
    let fits = start.len() == names.len() && names.iter().all(|name| start.contains(name));
    if !fits && (index.is_some() || !of_scan) {
        return invalid("The provided starting key is invalid");
    }
    if !fits {
        let error = Error::invalid("The provided key element does not match the schema");
        return Err(prefixed(error));
    }
    let wrong = |attribute: &KeyAttribute| {
        start.get(&attribute.name).is_some_and(|value| !is_of(value, attribute.kind))
    };
    if index.is_some_and(|index| index.attributes().any(wrong)) {
        return invalid("The provided starting key is invalid");
    }
    for key in keys() {
        let names = key.attributes().map(|attribute| attribute.name.as_str());
        let part: Item =
            names.filter_map(|name| Some((name.to_owned(), start.get(name)?.clone()))).collect();
        check_key(key, &part).map_err(prefixed)?;
    }
    Ok(())
}

/// A value that may stand in an item: no empty set anywhere, not too deep.
pub(crate) fn check_value(value: &Value) -> Result<(), Error> {
    check_nested(value, 0)
}

/// `depth` is how many maps and lists `value` stands in.
fn check_nested(value: &Value, depth: usize) -> Result<(), Error> {
    if depth == DEPTH_MAX {
        return invalid(
            "Nesting Levels have exceeded supported limits: Attributes in the item have nested \
             levels beyond supported limit",
        );
    }
    match value {
        Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) | Value::Null => Ok(()),
        Value::M(map) => check_fields(map, depth + 1),
        Value::L(list) => list.iter().try_for_each(|value| check_nested(value, depth + 1)),
        Value::Ss(set) => check_set("An string set  may", set.len()),
        Value::Ns(set) => check_set("An number set  may", set.len()),
        Value::Bs(set) => check_set("Binary sets should", set.len()),
    }
}

/// The attributes of an item, or of a map in it that stands `depth` deep.
fn check_fields(map: &Item, depth: usize) -> Result<(), Error> {
    map.iter().try_for_each(|(name, value)| {
        if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
            return invalid(format!(
                "One or more parameter values were invalid: Attribute name is too large, must be \
                 at most {ATTRIBUTE_NAME_BYTES_MAX} bytes; size: {}",
                name.len()
            ));
        }
        check_nested(value, depth)
    })
}

fn check_set(subject: &str, len: usize) -> Result<(), Error> {
    if len == 0 {
        return invalid(format!(
            "One or more parameter values were invalid: {subject} not be empty"
        ));
    }
    Ok(())
}

fn check_size(item: &Item) -> Result<(), Error> {
    if item.size() > ITEM_BYTES_MAX {
        return invalid("Item size has exceeded the maximum allowed size");
    }
    Ok(())
}

/// The key's attributes, each with the part it plays.
fn with_parts(key: &KeySpec) -> impl Iterator<Item = (&KeyAttribute, Part)> {
    let sort = key.sort.as_ref().map(|attribute| (attribute, Part::Sort));
    std::iter::once((&key.partition, Part::Partition)).chain(sort)
}

/// Which half of a key.
#[derive(Clone, Copy)]
enum Part {
    Partition,
    Sort,
}

impl Part {
    fn bytes_max(self) -> usize {
        match self {
            Part::Partition => PARTITION_KEY_BYTES_MAX,
            Part::Sort => SORT_KEY_BYTES_MAX,
        }
    }

    fn too_long(self) -> &'static str {
        match self {
            Part::Partition => "Size of hashkey has exceeded the maximum size limit of 2048 bytes",
            Part::Sort => {
                "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
            }
        }
    }
}

fn check_key_value(attribute: &KeyAttribute, value: &Value, part: Part) -> Result<(), Error> {
    if !is_of(value, attribute.kind) {
        return invalid(format!(
            "One or more parameter values were invalid: Type mismatch for key {} expected: {} \
             actual: {}",
            attribute.name,
            kind_name(attribute.kind),
            value.kind().name()
        ));
    }
    check_key_bytes(attribute, value, part, "")
}

fn check_index_value(
    index: &str,
    attribute: &KeyAttribute,
    value: &Value,
    part: Part,
) -> Result<(), Error> {
    if !is_of(value, attribute.kind) {
        return invalid(format!(
            "One or more parameter values were invalid: Type mismatch for Index Key {} Expected: \
             {} Actual: {} IndexName: {index}",
            attribute.name,
            kind_name(attribute.kind),
            value.kind().name()
        ));
    }
    check_key_bytes(attribute, value, part, index)
}

/// Not empty and not too long; `index` is empty for the primary key.
fn check_key_bytes(
    attribute: &KeyAttribute,
    value: &Value,
    part: Part,
    index: &str,
) -> Result<(), Error> {
    let (len, kind) = match value {
        Value::S(text) => (text.len(), "string"),
        Value::B(bytes) => (bytes.len(), "binary"),
        Value::N(_)
        | Value::Bool(_)
        | Value::Null
        | Value::M(_)
        | Value::L(_)
        | Value::Ss(_)
        | Value::Ns(_)
        | Value::Bs(_) => return Ok(()),
    };
    let name = &attribute.name;
    if len == 0 && index.is_empty() {
        return invalid(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute \
             cannot contain an empty {kind} value. Key: {name}"
        ));
    }
    if len == 0 {
        return invalid(format!(
            "One or more parameter values are not valid. A value specified for a secondary index \
             key is not supported. The AttributeValue for a key attribute cannot contain an empty \
             {kind} value. IndexName: {index}, IndexKey: {name}"
        ));
    }
    if len <= part.bytes_max() {
        return Ok(());
    }
    let mut message = format!("One or more parameter values were invalid: {}", part.too_long());
    if !index.is_empty() {
        message.push_str(&format!(", IndexName: {index}, IndexKey: {name}"));
    }
    invalid(message)
}

fn is_of(value: &Value, kind: KeyType) -> bool {
    match kind {
        KeyType::S => matches!(value, Value::S(_)),
        KeyType::N => matches!(value, Value::N(_)),
        KeyType::B => matches!(value, Value::B(_)),
    }
}

fn kind_name(kind: KeyType) -> &'static str {
    match kind {
        KeyType::S => "S",
        KeyType::N => "N",
        KeyType::B => "B",
    }
}

fn check_name(what: &str, name: &str) -> Result<(), Error> {
    if !(NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&name.len()) {
        return invalid(format!(
            "{what} must be at least {NAME_CHARS_MIN} characters long and at most \
             {NAME_CHARS_MAX} characters long, but was {}: `{name}`",
            name.len()
        ));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !name.bytes().all(allowed) {
        return invalid(format!("{what} must satisfy the pattern [a-zA-Z0-9_.-]+: `{name}`"));
    }
    Ok(())
}

fn check_key_names(key: &KeySpec) -> Result<(), Error> {
    for attribute in key.attributes() {
        let len = attribute.name.len();
        if !(1..=KEY_NAME_BYTES_MAX).contains(&len) {
            return invalid(format!(
                "a key attribute's name has {len} bytes (1 to {KEY_NAME_BYTES_MAX})"
            ));
        }
    }
    if key.sort.as_ref().is_some_and(|sort| sort.name == key.partition.name) {
        return invalid(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        );
    }
    Ok(())
}

fn check_included(index: &str, names: &[String]) -> Result<(), Error> {
    if names.is_empty() {
        return invalid(format!("index `{index}` includes no attribute (at least 1)"));
    }
    if names.iter().any(String::is_empty) {
        return invalid(format!("index `{index}` includes an attribute with an empty name"));
    }
    Ok(())
}

/// One attribute has one type in all keys of a table; the TTL attribute, if it is in one, is a
/// number.
fn check_kinds(spec: &TableSpec) -> Result<(), Error> {
    let keys = std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key));
    let mut kinds = BTreeMap::new();
    for attribute in keys.flat_map(KeySpec::attributes) {
        let before = kinds.insert(&attribute.name, attribute.kind);
        if before.is_some_and(|before| before != attribute.kind) {
            return invalid(format!("Duplicate AttributeName: {} has two types", attribute.name));
        }
    }
    match &spec.ttl {
        Some(ttl) if kinds.get(ttl).is_some_and(|kind| *kind != KeyType::N) => {
            invalid(format!("the TTL attribute `{ttl}` is not a number in a key"))
        }
        Some(_) | None => Ok(()),
    }
}

fn invalid(message: impl Into<String>) -> Result<(), Error> {
    Err(Error::invalid(message))
}

#[cfg(test)]
mod tests;

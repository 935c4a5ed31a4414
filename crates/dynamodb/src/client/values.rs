//! Converts values of the port to those of the SDK and back.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use table::{Error, Item, Number, Value};

/// An item in the SDK's form.
pub(super) type Attributes = HashMap<String, AttributeValue>;

pub(super) fn to_attributes(item: &Item) -> Attributes {
    item.iter().map(|(name, value)| (name.to_owned(), to_attribute(value))).collect()
}

pub(super) fn to_attribute(value: &Value) -> AttributeValue {
    let blob = |bytes: &Bytes| Blob::new(bytes.as_ref());
    match value {
        Value::S(text) => AttributeValue::S(text.as_ref().to_owned()),
        Value::N(number) => AttributeValue::N(number.to_string()),
        Value::B(bytes) => AttributeValue::B(blob(bytes)),
        Value::Bool(truth) => AttributeValue::Bool(*truth),
        Value::Null => AttributeValue::Null(true),
        Value::M(map) => AttributeValue::M(to_attributes(map)),
        Value::L(list) => AttributeValue::L(list.iter().map(to_attribute).collect()),
        Value::Ss(set) => AttributeValue::Ss(set.iter().cloned().collect()),
        Value::Ns(set) => AttributeValue::Ns(set.iter().map(Number::to_string).collect()),
        Value::Bs(set) => AttributeValue::Bs(set.iter().map(blob).collect()),
    }
}

/// # Errors
/// An attribute has a type or a number that this version does not know.
pub(super) fn from_attributes(attributes: Attributes) -> Result<Item, Error> {
    attributes.into_iter().map(|(name, value)| Ok((name, from_attribute(value)?))).collect()
}

fn from_attribute(value: AttributeValue) -> Result<Value, Error> {
    let bytes = |blob: Blob| Bytes::from(blob.into_inner());
    Ok(match value {
        AttributeValue::S(text) => Value::from(text),
        AttributeValue::N(text) => Value::N(Number::parse(&text)?),
        AttributeValue::B(blob) => Value::B(bytes(blob)),
        AttributeValue::Bool(truth) => Value::Bool(truth),
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::M(map) => Value::M(from_attributes(map)?),
        AttributeValue::L(list) => {
            Value::L(list.into_iter().map(from_attribute).collect::<Result<_, _>>()?)
        }
        AttributeValue::Ss(set) => Value::Ss(set.into_iter().collect()),
        AttributeValue::Ns(set) => {
            let numbers = set.iter().map(|text| Number::parse(text));
            Value::Ns(numbers.collect::<Result<BTreeSet<_>, _>>()?)
        }
        AttributeValue::Bs(set) => Value::Bs(set.into_iter().map(bytes).collect()),
        // The SDK may support new types before we do.
        other => {
            return Err(Error::Io {
                context: "dynamodb sent a value of an unknown type".to_owned(),
                cause: format!("{other:?}"),
            });
        }
    })
}

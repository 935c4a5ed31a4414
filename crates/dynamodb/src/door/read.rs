//! Parses requests straight into the types of the tables, without a JSON tree in between.
//!
//! - **Invariant:** no text makes the reader panic or recurse deeper than the limit of the JSON
//!   reader.
//! - A mark before the message distinguishes a text that breaks a rule of the data model from one
//!   that is not a request. The mark never leaves this file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use table::{Item, Number, Value};

use super::fault::{Fault, Faults, Kind};

/// Precedes messages about the data model.
const MARK: char = '\u{1}';

/// A request whose parameters can be checked one by one, before any lookup.
pub(super) trait Request {
    /// Records every parameter that breaks a rule.
    fn check(&self, faults: &mut Faults);
}

/// Parses and checks a request.
pub(super) fn request<'de, T: Deserialize<'de> + Request>(body: &'de [u8]) -> Result<T, Fault> {
    let request: T = json(body)?;
    let mut faults = Faults::default();
    request.check(&mut faults);
    faults.finish()?;
    Ok(request)
}

/// Parses a value that is not a request.
pub(super) fn json<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| fault(&error))
}

fn fault(error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    if let Some(message) = text.strip_prefix(MARK) {
        return Fault::invalid(message);
    }
    if text == "recursion limit exceeded" {
        return Fault::invalid(
            "Nesting Levels have exceeded supported limits: Attributes in the item have nested \
             levels beyond supported limit",
        );
    }
    let Some(rest) = text.strip_prefix("invalid type: ") else {
        return Fault::new(Kind::Serialization, "Could not parse request body into json");
    };
    let (found, expected) = rest.split_once(", expected ").unwrap_or((rest, ""));
    let target = match expected {
        "a boolean" => "Boolean",
        "i64" | "u64" | "i32" | "u32" => "Integer",
        _ => "String",
    };
    let found = match found.split(' ').next() {
        Some("map") => "Start of structure or map found where not expected".to_owned(),
        Some("sequence") => "Unexpected start of a list".to_owned(),
        Some("integer" | "floating") => format!("NUMBER_VALUE cannot be converted to {target}"),
        Some("boolean") if found.contains("true") => {
            format!("TRUE_VALUE cannot be converted to {target}")
        }
        Some("boolean") => format!("FALSE_VALUE cannot be converted to {target}"),
        Some("string") if expected == "a boolean" || target == "Integer" => {
            format!("STRING_VALUE cannot be converted to {target}")
        }
        _ => "Unexpected value type in payload".to_owned(),
    };
    Fault::new(Kind::Serialization, found)
}

fn invalid<E: serde::de::Error>(message: impl fmt::Display) -> E {
    E::custom(format_args!("{MARK}{message}"))
}

/// A value in a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonValue(pub(super) Value);

/// An item, or the key of one, in a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JsonItem(pub(super) Item);

/// `ExpressionAttributeValues`, and other maps of values whose first failure names its key.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonValues(pub(super) BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for JsonItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonItem, D::Error> {
        deserializer.deserialize_map(ItemVisitor).map(JsonItem)
    }
}

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonValue, D::Error> {
        deserializer.deserialize_map(ValueVisitor).map(JsonValue)
    }
}

impl<'de> Deserialize<'de> for JsonValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonValues, D::Error> {
        deserializer.deserialize_map(NamedValuesVisitor).map(JsonValues)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let mut attributes = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let JsonValue(value) = map.next_value()?;
            attributes.push((name, value));
        }
        Ok(attributes.into_iter().collect())
    }
}

struct NamedValuesVisitor;

impl<'de> Visitor<'de> for NamedValuesVisitor {
    type Value = BTreeMap<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let JsonValue(value) = map.next_value()?;
            values.insert(name, value);
        }
        Ok(values)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map that names a type")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut found = None;
        while let Some(kind) = map.next_key::<TypeTag>()? {
            if found.is_some() && kind != TypeTag::Unknown {
                return Err(invalid(
                    "Supplied AttributeValue has more than one datatypes set, must contain \
                     exactly one of the supported datatypes",
                ));
            }
            match kind.read(&mut map)? {
                Some(value) => found = Some(value),
                None => continue,
            }
        }
        found.ok_or_else(|| {
            invalid(
                "Supplied AttributeValue is empty, must contain exactly one of the supported \
                 datatypes",
            )
        })
    }
}

/// The name of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TypeTag {
    S,
    N,
    B,
    Bool,
    Null,
    M,
    L,
    Ss,
    Ns,
    Bs,
    Unknown,
}

impl TypeTag {
    /// The value under this type name; `None` if the name is unknown or the value is missing.
    fn read<'de, A: MapAccess<'de>>(self, map: &mut A) -> Result<Option<Value>, A::Error> {
        Ok(match self {
            TypeTag::S => map.next_value::<Option<String>>()?.map(Value::from),
            TypeTag::N => map.next_value::<Option<JsonNumber>>()?.map(|JsonNumber(n)| Value::N(n)),
            TypeTag::B => map.next_value::<Option<JsonBytes>>()?.map(|JsonBytes(b)| Value::B(b)),
            TypeTag::Bool => map.next_value::<Option<bool>>()?.map(Value::Bool),
            TypeTag::Null => match map.next_value::<Option<bool>>()? {
                Some(true) => Some(Value::Null),
                Some(false) => {
                    return Err(invalid(
                        "One or more parameter values were invalid: Null attribute value types \
                         must have the value of true",
                    ));
                }
                None => None,
            },
            TypeTag::M => map.next_value::<Option<JsonItem>>()?.map(|JsonItem(map)| Value::M(map)),
            TypeTag::L => map.next_value_seed(ListSeed)?.map(Value::L),
            TypeTag::Ss => map.next_value_seed(SetSeed::<String>(PhantomData))?.map(Value::Ss),
            TypeTag::Ns => map
                .next_value_seed(SetSeed::<JsonNumber>(PhantomData))?
                .map(|set| Value::Ns(set.into_iter().map(|JsonNumber(number)| number).collect())),
            TypeTag::Bs => map
                .next_value_seed(SetSeed::<JsonBytes>(PhantomData))?
                .map(|set| Value::Bs(set.into_iter().map(|JsonBytes(bytes)| bytes).collect())),
            TypeTag::Unknown => {
                map.next_value::<IgnoredAny>()?;
                None
            }
        })
    }
}

impl<'de> Deserialize<'de> for TypeTag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TypeTag, D::Error> {
        deserializer.deserialize_identifier(TypeTagVisitor)
    }
}

struct TypeTagVisitor;

impl Visitor<'_> for TypeTagVisitor {
    type Value = TypeTag;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a type")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<TypeTag, E> {
        Ok(match name {
            "S" => TypeTag::S,
            "N" => TypeTag::N,
            "B" => TypeTag::B,
            "BOOL" => TypeTag::Bool,
            "NULL" => TypeTag::Null,
            "M" => TypeTag::M,
            "L" => TypeTag::L,
            "SS" => TypeTag::Ss,
            "NS" => TypeTag::Ns,
            "BS" => TypeTag::Bs,
            _ => TypeTag::Unknown,
        })
    }
}

/// A number, which is a string on the wire.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct JsonNumber(Number);

impl<'de> Deserialize<'de> for JsonNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonNumber, D::Error> {
        deserializer.deserialize_str(NumberVisitor).map(JsonNumber)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Number, E> {
        Number::parse(text).map_err(invalid)
    }
}

/// Bytes, which are a Base64 string on the wire.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct JsonBytes(Bytes);

impl<'de> Deserialize<'de> for JsonBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonBytes, D::Error> {
        deserializer.deserialize_str(BytesVisitor).map(JsonBytes)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Bytes, E> {
        let bytes = STANDARD.decode(text);
        bytes
            .map(Bytes::from)
            .map_err(|_| E::invalid_type(serde::de::Unexpected::Other("bytes"), &"Base64 text"))
    }
}

struct ListSeed;

impl<'de> DeserializeSeed<'de> for ListSeed {
    type Value = Option<Vec<Value>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let list: Option<Vec<JsonValue>> = Option::deserialize(deserializer)?;
        Ok(list.map(|list| list.into_iter().map(|JsonValue(value)| value).collect()))
    }
}

struct SetSeed<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Ord> DeserializeSeed<'de> for SetSeed<T> {
    type Value = Option<BTreeSet<T>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Deserialize<'de> + Ord> Visitor<'de> for SetSeed<T> {
    type Value = Option<BTreeSet<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut set = BTreeSet::new();
        while let Some(element) = list.next_element()? {
            if !set.insert(element) {
                return Err(invalid(
                    "One or more parameter values were invalid: Input collection contains \
                     duplicates.",
                ));
            }
        }
        Ok(Some(set))
    }
}

//! Requests read straight into the tables' own types: no tree of JSON in between.
//!
//! - **Invariant:** no text makes the reader panic or go deeper than the JSON reader's own bound.
//! - A text that breaks a rule of the data model is told apart from one that is no request at all
//!   by a mark before the message, which never leaves this file.

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

/// Stands before messages about the data model.
const MARK: char = '\u{1}';

/// A request whose parameters can be judged one by one, before anything is looked up.
pub(super) trait Request {
    /// Notes every parameter that breaks a rule.
    fn check(&self, faults: &mut Faults);
}

/// Reads a request.
pub(super) fn request<'de, T: Deserialize<'de> + Request>(body: &'de [u8]) -> Result<T, Fault> {
    let request: T = json(body)?;
    let mut faults = Faults::default();
    request.check(&mut faults);
    faults.finish()?;
    Ok(request)
}

/// Reads what is no request.
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

/// `ExpressionAttributeValues`, and other maps of values in which the first fault names its key.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonValues(pub(super) BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for JsonItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonItem, D::Error> {
        deserializer.deserialize_map(Items).map(JsonItem)
    }
}

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonValue, D::Error> {
        deserializer.deserialize_map(Values).map(JsonValue)
    }
}

impl<'de> Deserialize<'de> for JsonValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonValues, D::Error> {
        deserializer.deserialize_map(NamedValues).map(JsonValues)
    }
}

struct Items;

impl<'de> Visitor<'de> for Items {
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

struct NamedValues;

impl<'de> Visitor<'de> for NamedValues {
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

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map that names a type")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut found = None;
        while let Some(kind) = map.next_key::<Tag>()? {
            if found.is_some() && kind != Tag::Unknown {
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
enum Tag {
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

impl Tag {
    /// The value under this name; none when the name means nothing or nothing stands there.
    fn read<'de, A: MapAccess<'de>>(self, map: &mut A) -> Result<Option<Value>, A::Error> {
        Ok(match self {
            Tag::S => map.next_value::<Option<String>>()?.map(Value::from),
            Tag::N => map.next_value::<Option<JsonNumber>>()?.map(|JsonNumber(n)| Value::N(n)),
            Tag::B => map.next_value::<Option<JsonBytes>>()?.map(|JsonBytes(b)| Value::B(b)),
            Tag::Bool => map.next_value::<Option<bool>>()?.map(Value::Bool),
            Tag::Null => match map.next_value::<Option<bool>>()? {
                Some(true) => Some(Value::Null),
                Some(false) => {
                    return Err(invalid(
                        "One or more parameter values were invalid: Null attribute value types \
                         must have the value of true",
                    ));
                }
                None => None,
            },
            Tag::M => map.next_value::<Option<JsonItem>>()?.map(|JsonItem(map)| Value::M(map)),
            Tag::L => map.next_value_seed(Lists)?.map(Value::L),
            Tag::Ss => map.next_value_seed(Sets::<String>(PhantomData))?.map(Value::Ss),
            Tag::Ns => map
                .next_value_seed(Sets::<JsonNumber>(PhantomData))?
                .map(|set| Value::Ns(set.into_iter().map(|JsonNumber(number)| number).collect())),
            Tag::Bs => map
                .next_value_seed(Sets::<JsonBytes>(PhantomData))?
                .map(|set| Value::Bs(set.into_iter().map(|JsonBytes(bytes)| bytes).collect())),
            Tag::Unknown => {
                map.next_value::<IgnoredAny>()?;
                None
            }
        })
    }
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tag, D::Error> {
        deserializer.deserialize_identifier(Tags)
    }
}

struct Tags;

impl Visitor<'_> for Tags {
    type Value = Tag;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a type")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Tag, E> {
        Ok(match name {
            "S" => Tag::S,
            "N" => Tag::N,
            "B" => Tag::B,
            "BOOL" => Tag::Bool,
            "NULL" => Tag::Null,
            "M" => Tag::M,
            "L" => Tag::L,
            "SS" => Tag::Ss,
            "NS" => Tag::Ns,
            "BS" => Tag::Bs,
            _ => Tag::Unknown,
        })
    }
}

/// A number, which stands in a string.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct JsonNumber(Number);

impl<'de> Deserialize<'de> for JsonNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonNumber, D::Error> {
        deserializer.deserialize_str(Numbers).map(JsonNumber)
    }
}

struct Numbers;

impl Visitor<'_> for Numbers {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Number, E> {
        Number::parse(text).map_err(invalid)
    }
}

/// Bytes, which stand in a string as Base64.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct JsonBytes(Bytes);

impl<'de> Deserialize<'de> for JsonBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonBytes, D::Error> {
        deserializer.deserialize_str(Binaries).map(JsonBytes)
    }
}

struct Binaries;

impl Visitor<'_> for Binaries {
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

struct Lists;

impl<'de> DeserializeSeed<'de> for Lists {
    type Value = Option<Vec<Value>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let list: Option<Vec<JsonValue>> = Option::deserialize(deserializer)?;
        Ok(list.map(|list| list.into_iter().map(|JsonValue(value)| value).collect()))
    }
}

struct Sets<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Ord> DeserializeSeed<'de> for Sets<T> {
    type Value = Option<BTreeSet<T>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Deserialize<'de> + Ord> Visitor<'de> for Sets<T> {
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

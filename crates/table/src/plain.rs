//! Items as plain JSON: what people write by hand, and what most programs read.
//!
//! Numbers keep all their 38 digits, on the way in and out, so they never pass through a float.
//! Plain JSON has no word for bytes and sets: bytes become Base64 texts and sets become lists.
//! Read back, a text stays a text and a list a list, unless the key's declaration knows better.

use std::collections::BTreeMap;

use crate::limits::DEPTH_MAX;
use crate::{Error, Item, KeySpec, KeyType, Number, TableSpec, Value};
use serde_json::value::RawValue;

/// Plain JSON of an object, whose numbers are still as they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Plain {
    fields: BTreeMap<String, Value>,
}

impl Plain {
    /// Reads one object.
    ///
    /// # Errors
    /// It is no JSON, no object, or no item could hold it.
    pub fn parse(text: &str) -> Result<Plain, Error> {
        Ok(Plain { fields: read_fields(text, 0)? })
    }

    /// The item for a table with this declaration: texts in numeric or binary keys are read as
    /// such.
    ///
    /// # Errors
    /// Such a text is no number, or no Base64.
    pub fn into_item(self, spec: &TableSpec) -> Result<Item, Error> {
        let mut item: Item = self.fields.into_iter().collect();
        let keys = std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key));
        for attribute in keys.flat_map(KeySpec::attributes) {
            if attribute.kind != KeyType::S
                && let Some(value) = item.get_mut(&attribute.name)
                && let Value::S(text) = value
            {
                *value = attribute.read(text)?;
            }
        }
        Ok(item)
    }
}

fn read_fields(text: &str, depth: usize) -> Result<BTreeMap<String, Value>, Error> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(not_json)?;
    let read = |(name, raw): (String, &RawValue)| Ok((name, read_value(raw, depth + 1)?));
    fields.into_iter().map(read).collect()
}

fn read_value(raw: &RawValue, depth: usize) -> Result<Value, Error> {
    let text = raw.get();
    // A stored item is not deeper, and what is much deeper would exhaust the stack.
    if depth > DEPTH_MAX {
        return Err(wrong(&format!("maps and lists stand more than {DEPTH_MAX} deep")));
    }
    Ok(match text.bytes().next() {
        Some(b'{') => Value::M(read_fields(text, depth)?.into_iter().collect()),
        Some(b'[') => {
            let list: Vec<&RawValue> = serde_json::from_str(text).map_err(not_json)?;
            let list = list.into_iter().map(|raw| read_value(raw, depth + 1));
            Value::L(list.collect::<Result<_, _>>()?)
        }
        Some(b'"') => Value::from(serde_json::from_str::<String>(text).map_err(not_json)?),
        Some(b't' | b'f') => Value::Bool(text == "true"),
        Some(b'n') => Value::Null,
        Some(_) | None => Value::N(Number::parse(text)?),
    })
}

/// An item as one line of plain JSON.
pub fn write(item: &Item) -> String {
    let mut line = String::new();
    write_map(&mut line, item);
    line
}

/// Whether an item holds what plain JSON cannot say, in any depth.
pub fn is_lossy(item: &Item) -> bool {
    fn loses(value: &Value) -> bool {
        match value {
            Value::B(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => true,
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::Null => false,
            Value::M(map) => is_lossy(map),
            Value::L(list) => list.iter().any(loses),
        }
    }
    item.iter().any(|(_, value)| loses(value))
}

fn write_map(line: &mut String, map: &Item) {
    line.push('{');
    for (number, (name, value)) in map.iter().enumerate() {
        if number > 0 {
            line.push(',');
        }
        write_text(line, name);
        line.push(':');
        write_value(line, value);
    }
    line.push('}');
}

fn write_value(line: &mut String, value: &Value) {
    match value {
        Value::S(text) => write_text(line, text),
        Value::N(number) => line.push_str(&number.to_string()),
        Value::Bool(truth) => line.push_str(if *truth { "true" } else { "false" }),
        Value::Null => line.push_str("null"),
        Value::M(map) => write_map(line, map),
        Value::L(list) => write_list(line, list, write_value),
        Value::Ns(set) => {
            write_list(line, set, |line, number| line.push_str(&number.to_string()));
        }
        Value::B(_) | Value::Ss(_) | Value::Bs(_) => {
            // The typed form already has them as texts.
            let typed = crate::value_to_json(value);
            let texts = typed.as_object().and_then(|typed| typed.values().next());
            line.push_str(&texts.expect("a typed value has one field").to_string());
        }
    }
}

fn write_list<T>(
    line: &mut String,
    list: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    line.push('[');
    for (number, element) in list.into_iter().enumerate() {
        if number > 0 {
            line.push(',');
        }
        write(line, element);
    }
    line.push(']');
}

fn write_text(line: &mut String, text: &str) {
    line.push_str(&serde_json::Value::from(text).to_string());
}

fn not_json(cause: serde_json::Error) -> Error {
    wrong(&format!("not JSON: {cause}"))
}

fn wrong(what: &str) -> Error {
    Error::Invalid(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Plain, is_lossy, write};
    use crate::{Item, KeyAttribute, KeySpec, TableSpec, item_from_json};
    use bytes::Bytes;

    fn spec() -> TableSpec {
        let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
        TableSpec::new("things", key).index("by-b", KeySpec::simple(KeyAttribute::b("b")))
    }

    fn read(text: &str) -> Result<Item, String> {
        let item = Plain::parse(text).and_then(|plain| plain.into_item(&spec()));
        item.map_err(|error| error.to_string())
    }

    #[test]
    fn plain_json_comes_back_with_every_digit() {
        let line = r#"{"deep":[{"map":{}},[],"",null],"n":12345678901234567890123456789012345678,"no":false,"pk":"名前\n\"","small":-0.00000000000000000000000000000000000000000000001}"#;
        let item = read(line).unwrap();
        assert_eq!(write(&item), line);
        assert!(!is_lossy(&item));
        assert_eq!(
            write(&read(r#" { "a" : 1.50e2 , "b" : true } "#).unwrap()),
            r#"{"a":150,"b":true}"#
        );
    }

    #[test]
    fn texts_in_keys_take_the_keys_types_and_others_stay_texts() {
        let item = read(r#"{"pk":"1","sk":"2","b":"AP8=","c":"3"}"#).unwrap();
        let expected = Item::new().with("pk", "1").with("sk", 2).with("c", "3");
        assert_eq!(item, expected.with("b", Bytes::from_static(&[0, 255])));
        assert!(read(r#"{"sk":"two"}"#).unwrap_err().contains("`sk` is a number, not `two`"));
    }

    #[test]
    fn what_plain_json_cannot_say_is_written_as_texts_and_lists() {
        for (typed, plain) in [
            (r#"{"a":{"B":"AP8="}}"#, r#"{"a":"AP8="}"#),
            (r#"{"a":{"SS":["x","y"]}}"#, r#"{"a":["x","y"]}"#),
            (r#"{"a":{"NS":["1","2"]}}"#, r#"{"a":[1,2]}"#),
            (r#"{"a":{"L":[{"M":{"b":{"BS":["AA=="]}}}]}}"#, r#"{"a":[{"b":["AA=="]}]}"#),
        ] {
            let item = item_from_json(&serde_json::from_str(typed).unwrap()).unwrap();
            assert_eq!(write(&item), plain);
            assert!(is_lossy(&item), "{typed}");
        }
    }

    #[test]
    fn what_is_no_item_is_refused_with_its_reason() {
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(40), "]".repeat(40));
        let hostile = format!(r#"{{"a":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        for (text, told) in [
            ("7", "not JSON: "),
            ("{", "not JSON: "),
            (r#"{"a":1} {"b":2}"#, "not JSON: trailing characters"),
            (r#"{"a":123456789012345678901234567890123456789}"#, "38"),
            (deep.as_str(), "more than 32 deep"),
            (hostile.as_str(), "more than 32 deep"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(told), "{message}");
        }
    }
}

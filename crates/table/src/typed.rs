//! Items from and to plain Rust types, by serde and serde_dynamo's conventions: a struct is an
//! item, an `Option` that is none is null, a `Vec` is a list; sets ask for
//! `#[serde(with = "serde_dynamo::string_set")]` and its kin.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_dynamo::AttributeValue;

use crate::error::Error;
use crate::number::Number;
use crate::value::{Item, Value};

/// The item of a struct or map.
pub fn to_item<T: Serialize>(typed: &T) -> Result<Item, Error> {
    let item: serde_dynamo::Item = serde_dynamo::to_item(typed).map_err(misfit)?;
    read_map(item.into_inner())
}

/// The struct or map of an item.
pub fn from_item<T: DeserializeOwned>(item: Item) -> Result<T, Error> {
    serde_dynamo::from_item(write_map(item)).map_err(misfit)
}

fn read_map(map: HashMap<String, AttributeValue>) -> Result<Item, Error> {
    map.into_iter().map(|(name, value)| Ok((name, read_value(value)?))).collect()
}

fn read_value(value: AttributeValue) -> Result<Value, Error> {
    Ok(match value {
        AttributeValue::S(text) => Value::from(text),
        AttributeValue::N(text) => Value::N(Number::parse(&text)?),
        AttributeValue::B(bytes) => Value::B(bytes.into()),
        AttributeValue::Bool(truth) => Value::Bool(truth),
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::M(map) => Value::M(read_map(map)?),
        AttributeValue::L(list) => {
            Value::L(list.into_iter().map(read_value).collect::<Result<_, _>>()?)
        }
        AttributeValue::Ss(texts) => Value::Ss(read_set(texts, Ok)?),
        AttributeValue::Ns(texts) => Value::Ns(read_set(texts, |text| Number::parse(&text))?),
        AttributeValue::Bs(set) => Value::Bs(read_set(set, |bytes| Ok(Bytes::from(bytes)))?),
    })
}

fn read_set<T, U: Ord>(
    elements: Vec<T>,
    read: impl Fn(T) -> Result<U, Error>,
) -> Result<BTreeSet<U>, Error> {
    let count = elements.len();
    let set: BTreeSet<U> = elements.into_iter().map(read).collect::<Result<_, _>>()?;
    if set.len() < count {
        return Err(Error::invalid(
            "One or more parameter values were invalid: Input collection contains duplicates",
        ));
    }
    Ok(set)
}

fn write_map(item: Item) -> HashMap<String, AttributeValue> {
    item.into_iter().map(|(name, value)| (name.into(), write_value(value))).collect()
}

fn write_value(value: Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text.as_ref().to_owned()),
        Value::N(number) => AttributeValue::N(number.to_string()),
        Value::B(bytes) => AttributeValue::B(bytes.into()),
        Value::Bool(truth) => AttributeValue::Bool(truth),
        Value::Null => AttributeValue::Null(true),
        Value::M(map) => AttributeValue::M(write_map(map)),
        Value::L(list) => AttributeValue::L(list.into_iter().map(write_value).collect()),
        Value::Ss(set) => AttributeValue::Ss(set.into_iter().collect()),
        Value::Ns(set) => AttributeValue::Ns(set.iter().map(Number::to_string).collect()),
        Value::Bs(set) => AttributeValue::Bs(set.into_iter().map(Vec::from).collect()),
    }
}

fn misfit(cause: serde_dynamo::Error) -> Error {
    Error::invalid(format!("the item and its type do not fit: {cause}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::{from_item, to_item};
    use crate::json::item_to_json;
    use crate::value::{Item, Value};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Person {
        id: String,
        age: u64,
        height: f64,
        debt: i64,
        nick: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        scores: Vec<i32>,
        links: BTreeMap<String, bool>,
        #[serde(with = "serde_dynamo::string_set")]
        tags: Vec<String>,
        #[serde(with = "serde_dynamo::number_set")]
        lucky: Vec<u8>,
        mood: Mood,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Mood {
        Calm,
        Busy { since: u32 },
    }

    fn person() -> Person {
        Person {
            id: "ada".to_owned(),
            age: u64::MAX,
            height: 1.65,
            debt: i64::MIN,
            nick: None,
            note: None,
            scores: vec![3, -1],
            links: BTreeMap::from([("home".to_owned(), true)]),
            tags: vec!["a".to_owned(), "b".to_owned()],
            lucky: vec![3, 7],
            mood: Mood::Busy { since: 5 },
        }
    }

    #[test]
    fn a_struct_comes_back_as_it_was() {
        let calm = Person { mood: Mood::Calm, nick: Some(String::new()), ..person() };
        for person in [person(), calm] {
            let item = to_item(&person).unwrap();
            assert_eq!(from_item::<Person>(item).unwrap(), person);
        }
    }

    #[test]
    fn the_item_is_serde_dynamos() {
        let item = to_item(&person()).unwrap();
        let expected = serde_json::json!({
            "id": {"S": "ada"},
            "age": {"N": "18446744073709551615"},
            "height": {"N": "1.65"},
            "debt": {"N": "-9223372036854775808"},
            "nick": {"NULL": true},
            "scores": {"L": [{"N": "3"}, {"N": "-1"}]},
            "links": {"M": {"home": {"BOOL": true}}},
            "tags": {"SS": ["a", "b"]},
            "lucky": {"NS": ["3", "7"]},
            "mood": {"M": {"Busy": {"M": {"since": {"N": "5"}}}}},
        });
        assert_eq!(item_to_json(&item), expected);
    }

    #[test]
    fn a_misfit_is_told() {
        assert!(to_item(&7).is_err());
        let twice = Person { tags: vec!["a".to_owned(), "a".to_owned()], ..person() };
        assert!(to_item(&twice).unwrap_err().to_string().contains("duplicates"));
        let infinite = Person { height: f64::INFINITY, ..person() };
        assert!(to_item(&infinite).unwrap_err().to_string().contains("numeric value"));
        let item = to_item(&person()).unwrap();
        let message = from_item::<Person>(item.with("age", "old")).unwrap_err().to_string();
        assert!(message.contains("do not fit"), "{message}");
        assert!(from_item::<Person>(Item::new().with("id", Value::Null)).is_err());
    }
}

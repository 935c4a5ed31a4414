//! Expressions on trial: rule by rule with what DynamoDB answers, and by laws over random trees.

mod conditions;
mod fuzz;
mod laws;
mod parsing;
mod paths;
mod strategies;
mod updates;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::error::Error;
use crate::expr::parse::Placeholders;
use crate::json::{item_from_json, value_from_json};
use crate::value::Item;

/// An item from DynamoDB's JSON.
fn item(json: Json) -> Item {
    item_from_json(&json).unwrap()
}

/// Placeholders from `{"#n": "name", ":v": {"S": "text"}}`.
fn placeholders(json: &Json) -> Placeholders {
    let mut names = BTreeMap::new();
    let mut values = BTreeMap::new();
    for (key, meaning) in json.as_object().unwrap() {
        match meaning {
            Json::String(name) => {
                names.insert(key.clone(), name.clone());
            }
            _ => {
                values.insert(key.clone(), value_from_json(meaning).unwrap());
            }
        }
    }
    Placeholders::new(names, values)
}

fn message<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Err(Error::Invalid(message)) => message,
        other => panic!("not refused: {other:?}"),
    }
}

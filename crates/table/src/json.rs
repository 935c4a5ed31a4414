//! DynamoDB's JSON: every value as an object of one field that names its type, `{"S": "x"}`.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value as Json, json};

use crate::error::Error;
use crate::number::Number;
use crate::value::{Item, Value};

/// An item as DynamoDB's JSON.
pub fn item_to_json(item: &Item) -> Json {
    let fields = item.iter().map(|(name, value)| (name.to_owned(), value_to_json(value)));
    Json::Object(fields.collect())
}

/// An item from DynamoDB's JSON.
pub fn item_from_json(json: &Json) -> Result<Item, Error> {
    let fields = json.as_object().ok_or_else(|| wrong(json, "an object of attributes"))?;
    fields.iter().map(|(name, value)| Ok((name.clone(), value_from_json(value)?))).collect()
}

/// A value as DynamoDB's JSON.
pub fn value_to_json(value: &Value) -> Json {
    let content = match value {
        Value::S(text) => json!(**text),
        Value::N(number) => json!(number.to_string()),
        Value::B(bytes) => json!(STANDARD.encode(bytes)),
        Value::Bool(truth) => json!(truth),
        Value::Null => json!(true),
        Value::M(map) => item_to_json(map),
        Value::L(list) => list.iter().map(value_to_json).collect(),
        Value::Ss(set) => json!(set),
        Value::Ns(set) => set.iter().map(Number::to_string).collect(),
        Value::Bs(set) => set.iter().map(|bytes| STANDARD.encode(bytes)).collect(),
    };
    Json::Object(Map::from_iter([(value.kind().name().to_owned(), content)]))
}

/// A value from DynamoDB's JSON.
pub fn value_from_json(json: &Json) -> Result<Value, Error> {
    let fields = json.as_object().ok_or_else(|| wrong(json, "an object that names a type"))?;
    let mut fields = fields.iter();
    let (kind, content) = match (fields.next(), fields.next()) {
        (Some(field), None) => field,
        (None, _) => {
            return Err(Error::invalid(
                "Supplied AttributeValue is empty, must contain exactly one of the supported \
                 datatypes",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(Error::invalid(
                "Supplied AttributeValue has more than one datatypes set, must contain exactly \
                 one of the supported datatypes",
            ));
        }
    };
    Ok(match kind.as_str() {
        "S" => Value::from(text(content)?),
        "N" => Value::N(Number::parse(text(content)?)?),
        "B" => Value::B(binary(content)?),
        "BOOL" => Value::Bool(content.as_bool().ok_or_else(|| wrong(content, "true or false"))?),
        "NULL" => match content {
            Json::Bool(true) => Value::Null,
            _ => {
                return Err(Error::invalid(
                    "One or more parameter values were invalid: Null attribute value types must \
                     have the value of true",
                ));
            }
        },
        "M" => Value::M(item_from_json(content)?),
        "L" => Value::L(array(content)?.iter().map(value_from_json).collect::<Result<_, _>>()?),
        "SS" => Value::Ss(set(content, |json| Ok(text(json)?.to_owned()))?),
        "NS" => Value::Ns(set(content, |json| Number::parse(text(json)?))?),
        "BS" => Value::Bs(set(content, binary)?),
        _ => {
            return Err(Error::invalid(format!(
                "`{kind}` is no type of a value (S, N, B, BOOL, NULL, M, L, SS, NS or BS)"
            )));
        }
    })
}

fn set<T: Ord>(
    json: &Json,
    read: impl Fn(&Json) -> Result<T, Error>,
) -> Result<BTreeSet<T>, Error> {
    let mut set = BTreeSet::new();
    for element in array(json)? {
        if !set.insert(read(element)?) {
            return Err(Error::invalid(format!(
                "One or more parameter values were invalid: Input collection {json} contains \
                 duplicates."
            )));
        }
    }
    if set.is_empty() {
        return Err(Error::invalid(
            "One or more parameter values were invalid: a set may not be empty",
        ));
    }
    Ok(set)
}

fn array(json: &Json) -> Result<&Vec<Json>, Error> {
    json.as_array().ok_or_else(|| wrong(json, "an array"))
}

fn text(json: &Json) -> Result<&str, Error> {
    json.as_str().ok_or_else(|| wrong(json, "a string"))
}

fn binary(json: &Json) -> Result<Bytes, Error> {
    let bytes = STANDARD.decode(text(json)?);
    bytes.map(Bytes::from).map_err(|_| wrong(json, "Base64 text"))
}

fn wrong(json: &Json, expected: &str) -> Error {
    let kind = match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    };
    Error::invalid(format!("{kind} stands where {expected} should"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use proptest::prop_assert_eq;
    use serde_json::json;

    use super::{item_from_json, item_to_json, value_from_json};
    use crate::samples;

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn an_item_comes_back_from_its_text(item in samples::item()) {
            let text = item_to_json(&item).to_string();
            prop_assert_eq!(item_from_json(&serde_json::from_str(&text).unwrap()).unwrap(), item);
        }
    }

    #[test]
    fn the_form_is_dynamodbs() {
        let json = json!({
            "s": {"S": "x"},
            "n": {"N": "-1.5"},
            "b": {"B": "AP8="},
            "bool": {"BOOL": false},
            "null": {"NULL": true},
            "m": {"M": {"inner": {"L": [{"S": ""}, {"N": "7"}]}}},
            "ss": {"SS": ["a", "b"]},
            "ns": {"NS": ["1", "2"]},
            "bs": {"BS": ["AA==", "AQ=="]},
        });
        let item = item_from_json(&json).unwrap();
        assert_eq!(item.len(), 9);
        assert_eq!(item_to_json(&item), json);
    }

    #[test]
    fn what_is_no_value_is_refused_with_its_reason() {
        for (json, part) in [
            (json!("x"), "a string stands where an object"),
            (json!({}), "is empty"),
            (json!({"S": "x", "N": "1"}), "more than one datatypes"),
            (json!({"X": "x"}), "`X` is no type"),
            (json!({"S": 1}), "a number stands where a string should"),
            (json!({"N": 1}), "a number stands where a string should"),
            (json!({"N": "one"}), "cannot be converted to a numeric value: one"),
            (json!({"B": "?"}), "Base64"),
            (json!({"BOOL": "true"}), "true or false"),
            (json!({"NULL": false}), "must have the value of true"),
            (json!({"L": {}}), "an object stands where an array should"),
            (json!({"M": []}), "an array stands where an object"),
            (json!({"SS": []}), "may not be empty"),
            (json!({"SS": ["a", "a"]}), "contains duplicates"),
            (json!({"NS": ["1", "1.0"]}), "contains duplicates"),
            (json!({"BS": ["AA==", "AA=="]}), "contains duplicates"),
            (json!({"L": [{"M": {"deep": {"NS": []}}}]}), "may not be empty"),
        ] {
            let message = value_from_json(&json).unwrap_err().to_string();
            assert!(message.contains(part), "{json}: `{message}`");
        }
    }
}

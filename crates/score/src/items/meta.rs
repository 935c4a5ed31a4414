//! What a player sends along: any JSON object within bounds, kept as a map.

use serde_json::{Map, Number as JsonNumber, Value as Json};
use table::{Number, Value};

use crate::error::Error;
use crate::limits::{META_BYTES_MAX, META_DEPTH_MAX};

/// The stored form of `meta`.
pub(crate) fn from_json(meta: &Map<String, Json>) -> Result<Value, Error> {
    let bytes = serde_json::to_string(meta).map_or(usize::MAX, |text| text.len());
    if bytes > META_BYTES_MAX {
        let told = format!("meta has {bytes} bytes, at most {META_BYTES_MAX} allowed");
        return Err(Error::invalid(told));
    }
    map(meta, META_DEPTH_MAX)
}

/// The JSON of what is stored.
pub(crate) fn to_json(value: &Value) -> Json {
    match value {
        Value::S(text) => Json::String(text.as_ref().to_owned()),
        Value::N(number) => {
            let number: Option<JsonNumber> = number.to_string().parse().ok();
            number.map_or(Json::Null, Json::Number)
        }
        Value::Bool(truth) => Json::Bool(*truth),
        Value::M(map) => Json::Object(
            map.iter().map(|(name, value)| (name.to_owned(), to_json(value))).collect(),
        ),
        Value::L(list) => Json::Array(list.iter().map(to_json).collect()),
        // Nobody can send these.
        Value::Null | Value::B(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => Json::Null,
    }
}

fn map(meta: &Map<String, Json>, depth: usize) -> Result<Value, Error> {
    let depth = deeper(depth)?;
    let pairs = meta.iter().map(|(name, json)| Ok((name.clone(), value(json, depth)?)));
    Ok(Value::M(pairs.collect::<Result<_, Error>>()?))
}

fn value(json: &Json, depth: usize) -> Result<Value, Error> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::String(text) => Value::from(text.as_str()),
        Json::Number(number) => {
            let told = || Error::invalid(format!("meta holds the number {number}"));
            Value::N(Number::parse(&number.to_string()).map_err(|_| told())?)
        }
        Json::Array(list) => {
            let depth = deeper(depth)?;
            let list = list.iter().map(|json| value(json, depth));
            Value::L(list.collect::<Result<_, Error>>()?)
        }
        Json::Object(object) => map(object, depth)?,
    })
}

fn deeper(depth: usize) -> Result<usize, Error> {
    let told = || Error::invalid(format!("meta is deeper than {META_DEPTH_MAX}"));
    depth.checked_sub(1).ok_or_else(told)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{from_json, to_json};

    #[test]
    fn meta_comes_back_as_it_was_sent() {
        let meta = json!({"a": [1, -2.5, true, null, {"名": "x"}], "b": {}});
        assert_eq!(to_json(&from_json(meta.as_object().unwrap()).unwrap()), meta);
    }

    #[test]
    fn meta_has_bounds() {
        let told = |meta: serde_json::Value| {
            from_json(meta.as_object().unwrap()).map_err(|error| error.to_string())
        };
        assert!(told(json!({"a": [[[[1]]]]})).is_ok());
        assert_eq!(told(json!({"a": [[[[[1]]]]]})), Err("meta is deeper than 5".to_owned()));
        let long = told(json!({"a": "x".repeat(2041)}));
        assert_eq!(long, Err("meta has 2049 bytes, at most 2048 allowed".to_owned()));
        assert!(told(json!({"a": "x".repeat(2040)})).is_ok());
    }
}

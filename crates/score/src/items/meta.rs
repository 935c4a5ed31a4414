//! What a player sends along: any JSON object within bounds, kept as a map.
//!
//! Numbers keep all the digits that the store holds (38), on the way in and out: they never pass
//! through a float.

use serde_json::value::RawValue;
use table::plain::{self, Plain};
use table::{Item, Value};

use crate::error::Error;
use crate::limits::{META_BYTES_MAX, META_DEPTH_MAX};

/// The `meta` of a play that has none.
pub(crate) fn empty() -> Value {
    Value::M(std::iter::empty::<(String, Value)>().collect())
}

/// The stored form of a `meta`, which is the text of a JSON object.
pub(crate) fn read(text: &str) -> Result<Value, Error> {
    let wrong = |error: table::Error| Error::invalid(format!("meta: {error}"));
    let meta = Plain::parse(text).map_err(wrong)?;
    let meta = meta.into_item(&super::scores()).map_err(wrong)?;
    let bytes = plain::write(&meta).len();
    if bytes > META_BYTES_MAX {
        let told = format!("meta has {bytes} bytes, at most {META_BYTES_MAX} allowed");
        return Err(Error::invalid(told));
    }
    let meta =
        Value::M(meta.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect());
    if depth(&meta) > META_DEPTH_MAX {
        return Err(Error::invalid(format!("meta is deeper than {META_DEPTH_MAX}")));
    }
    Ok(meta)
}

/// The JSON of what is stored. Rows of early versions have no `meta`: theirs is empty.
pub(crate) fn write(meta: Option<&Value>) -> Box<RawValue> {
    let fields: Item = match meta {
        Some(Value::M(map)) => {
            map.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
        }
        Some(_) | None => Item::new(),
    };
    RawValue::from_string(plain::write(&fields)).expect("plain JSON is JSON")
}

/// How many maps and lists stand inside each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::M(map) => 1 + map.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        Value::L(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{read, write};

    #[test]
    fn meta_comes_back_as_it_was_sent() {
        for text in [
            r#"{"a":[1,-2.5,true,null,{"名":"x"}],"b":{}}"#,
            r#"{"digits":12345678901234567890123456789012345678,"small":-0.00000000000000000012345678901234567891}"#,
            "{}",
        ] {
            assert_eq!(write(Some(&read(text).unwrap())).get(), text);
        }
        assert_eq!(write(None).get(), "{}");
    }

    #[test]
    fn meta_has_bounds() {
        let told = |meta: serde_json::Value| read(&meta.to_string()).map_err(|it| it.to_string());
        assert!(told(json!({"a": [[[[1]]]]})).is_ok());
        assert_eq!(told(json!({"a": [[[[[1]]]]]})), Err("meta is deeper than 5".to_owned()));
        let long = told(json!({"a": "x".repeat(2041)}));
        assert_eq!(long, Err("meta has 2049 bytes, at most 2048 allowed".to_owned()));
        assert!(told(json!({"a": "x".repeat(2040)})).is_ok());
        let digits = read(&format!("{{\"a\": {}1}}", "1".repeat(38))).unwrap_err().to_string();
        assert!(digits.starts_with("meta: "), "{digits}");
    }
}

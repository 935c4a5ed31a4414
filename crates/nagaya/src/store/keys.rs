//! Keys as people write them: `pk=value`, typed by the table's declaration.

use serde::{Deserialize, Serialize};
use table::{Item, KeySpec};

use crate::Error;

/// A primary key as it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Key {
    /// Names with the texts of their values.
    Pairs(Vec<(String, String)>),
    /// DynamoDB's JSON.
    Typed(serde_json::Value),
}

impl Key {
    /// The key for a table with this declaration.
    pub(super) fn read(&self, key: &KeySpec) -> Result<Item, Error> {
        let pairs = match self {
            Key::Pairs(pairs) => pairs,
            Key::Typed(json) => return Ok(table::item_from_json(json)?),
        };
        let mut item = Item::new();
        for (name, text) in pairs {
            let attribute = key.attributes().find(|attribute| attribute.name == *name);
            let attribute = attribute.ok_or_else(|| misfit(name, "is not in it", key))?;
            if item.insert(name.as_str(), attribute.read(text)?).is_some() {
                return Err(misfit(name, "is there twice", key));
            }
        }
        match key.attributes().find(|attribute| !item.contains(&attribute.name)) {
            None => Ok(item),
            Some(missing) => Err(misfit(&missing.name, "is missing", key)),
        }
    }
}

fn misfit(name: &str, what: &str, key: &KeySpec) -> Error {
    Error::Store(table::Error::Invalid(format!("the key is {key}: `{name}` {what}")))
}

#[cfg(test)]
mod tests {
    use table::{Item, KeyAttribute, KeySpec, Number};

    use super::Key;

    fn read(key: &KeySpec, pairs: &[(&str, &str)]) -> Result<Item, String> {
        let pairs = pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Key::Pairs(pairs.collect()).read(key).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_take_the_types_of_the_key() {
        let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
        let number = Number::parse("-0.5").unwrap();
        let expected = Item::new().with("pk", "7").with("sk", number);
        assert_eq!(read(&key, &[("sk", "-0.50"), ("pk", "7")]), Ok(expected));
        let binary = KeySpec::simple(KeyAttribute::b("pk"));
        let expected = Item::new().with("pk", bytes::Bytes::from_static(&[0, 255]));
        assert_eq!(read(&binary, &[("pk", "AP8=")]), Ok(expected));
    }

    #[test]
    fn a_key_that_does_not_fit_is_told_with_the_one_that_would() {
        let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
        for (pairs, told) in [
            (vec![("pk", "a")], "the key is pk (S), sk (N): `sk` is missing"),
            (vec![("id", "a")], "the key is pk (S), sk (N): `id` is not in it"),
            (vec![("pk", "a"), ("pk", "b")], "the key is pk (S), sk (N): `pk` is there twice"),
            (vec![("pk", "a"), ("sk", "b")], "`sk` is a number, not `b`"),
        ] {
            assert_eq!(read(&key, &pairs), Err(told.to_owned()));
        }
        let binary = KeySpec::simple(KeyAttribute::b("pk"));
        let told = "`pk` is binary, which is written in Base64, not `?`";
        assert_eq!(read(&binary, &[("pk", "?")]), Err(told.to_owned()));
    }
}

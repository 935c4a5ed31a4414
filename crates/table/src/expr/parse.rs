//! Expressions read from DynamoDB's text.
//!
//! One reader moves over the tokens (`parse/reader.rs`); conditions, updates and key conditions
//! have a file each. What comes back has passed every check that needs no item and no table.
//! Messages are DynamoDB's, because its clients match on them.

mod actions;
mod condition;
mod key;
mod reader;
mod tokens;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::expr::path::check_paths;
use crate::expr::{Actions, Condition, KeyCondition, Path};
use crate::limits::{
    ATTRIBUTE_NAME_BYTES_MAX, EXPANDED_BYTES_MAX, EXPRESSION_BYTES_MAX, ITEM_BYTES_MAX,
    PLACEHOLDER_BYTES_MAX,
};
use crate::spec::KeySpec;
use crate::value::Value;

use reader::Reader;

/// The names and values that the expressions of one request stand in for, and which of them were
/// used.
#[derive(Clone, Debug, Default)]
pub struct Placeholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, Value>,
    used: RefCell<BTreeSet<String>>,
    /// How many bytes of names and values the expressions hold so far.
    expanded: Cell<usize>,
}

impl Placeholders {
    /// `ExpressionAttributeNames` and `ExpressionAttributeValues`, each with its sign: `#n`, `:v`.
    pub fn new(names: BTreeMap<String, String>, values: BTreeMap<String, Value>) -> Placeholders {
        Placeholders { names, values, ..Placeholders::default() }
    }

    /// These as a further part of a request whose other parts have expressions of so many bytes,
    /// as [`Placeholders::expanded`] told: all parts together have one bound.
    #[must_use]
    pub fn after(self, expanded: usize) -> Placeholders {
        self.expanded.set(expanded);
        self
    }

    /// How many bytes of names and values the expressions of the request hold so far.
    pub fn expanded(&self) -> usize {
        self.expanded.get()
    }

    /// Refuses more than one request may bring; to be called before any expression is read.
    ///
    /// # Errors
    /// What is too large.
    pub fn check_size(&self) -> Result<(), Error> {
        let mut all = 0;
        for (key, name) in &self.names {
            if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
                return Err(too_large("ExpressionAttributeNames", key, name.len()));
            }
            all += key.len() + name.len();
        }
        for (key, value) in &self.values {
            let size = value.size();
            if size > ITEM_BYTES_MAX {
                return Err(too_large("ExpressionAttributeValues", key, size));
            }
            all += key.len() + size;
        }
        if all > PLACEHOLDER_BYTES_MAX {
            return Err(Error::invalid(format!(
                "The names and values of the expressions exceed {PLACEHOLDER_BYTES_MAX} bytes; \
                 size: {all}"
            )));
        }
        Ok(())
    }

    /// Those that no expression read so far has used.
    pub fn unused(&self) -> Vec<&str> {
        let used = self.used.borrow();
        let all = self.names.keys().chain(self.values.keys());
        all.filter(|name| !used.contains(*name)).map(String::as_str).collect()
    }

    /// Refuses leftovers as DynamoDB does; to be called when all expressions are read.
    pub fn check_used(&self) -> Result<(), Error> {
        let unused = self.unused();
        for (sign, map) in [('#', "ExpressionAttributeNames"), (':', "ExpressionAttributeValues")] {
            let keys: Vec<&str> =
                unused.iter().copied().filter(|key| key.starts_with(sign)).collect();
            if !keys.is_empty() {
                return Err(Error::invalid(format!(
                    "Value provided in {map} unused in expressions: keys: {{{}}}",
                    keys.join(", ")
                )));
            }
        }
        Ok(())
    }

    fn find_name(&self, placeholder: &str) -> Result<Option<String>, Error> {
        self.used.borrow_mut().insert(placeholder.to_owned());
        let Some(name) = self.names.get(placeholder) else { return Ok(None) };
        self.expand(name.len())?;
        Ok(Some(name.clone()))
    }

    fn find_value(&self, placeholder: &str) -> Result<Option<Value>, Error> {
        self.used.borrow_mut().insert(placeholder.to_owned());
        let Some(value) = self.values.get(placeholder) else { return Ok(None) };
        self.expand(value.size())?;
        Ok(Some(value.clone()))
    }

    fn expand(&self, bytes: usize) -> Result<(), Error> {
        let expanded = self.expanded.get() + bytes;
        if expanded > EXPANDED_BYTES_MAX {
            return Err(Error::invalid(format!(
                "The expression uses large names or values too often; bytes with every \
                 placeholder written out: more than {EXPANDED_BYTES_MAX}"
            )));
        }
        self.expanded.set(expanded);
        Ok(())
    }
}

fn too_large(map: &str, key: &str, size: usize) -> Error {
    Error::invalid(format!("{map} contains a member that is too large; key: {key}, size: {size}"))
}

/// Reads a `ConditionExpression`.
pub fn parse_condition(text: &str, placeholders: &Placeholders) -> Result<Condition, Error> {
    within("ConditionExpression", checked_condition(text, placeholders))
}

/// Reads a `FilterExpression`: the same language under another name.
pub fn parse_filter(text: &str, placeholders: &Placeholders) -> Result<Condition, Error> {
    within("FilterExpression", checked_condition(text, placeholders))
}

/// Reads an `UpdateExpression`. Whether it touches the key is for the table to say.
pub fn parse_actions(text: &str, placeholders: &Placeholders) -> Result<Actions, Error> {
    let read = read(text, placeholders, actions::actions).and_then(|actions| {
        actions.check_form()?;
        Ok(actions)
    });
    within("UpdateExpression", read)
}

/// Reads a `KeyConditionExpression` on a table or index with this key.
pub fn parse_key_condition(
    text: &str,
    placeholders: &Placeholders,
    key: &KeySpec,
) -> Result<KeyCondition, Error> {
    let condition = within("KeyConditionExpression", checked_condition(text, placeholders))?;
    let condition = key::key_condition(&condition, key)?;
    condition.check(key)?;
    Ok(condition)
}

/// Reads a `ProjectionExpression`.
pub fn parse_projection(text: &str, placeholders: &Placeholders) -> Result<Vec<Path>, Error> {
    let read = read(text, placeholders, |reader| reader.list(Reader::path)).and_then(|paths| {
        check_paths(&paths)?;
        Ok(paths)
    });
    within("ProjectionExpression", read)
}

fn checked_condition(text: &str, placeholders: &Placeholders) -> Result<Condition, Error> {
    let condition = read(text, placeholders, condition::condition)?;
    condition.check()?;
    Ok(condition)
}

fn read<'a, T>(
    text: &'a str,
    placeholders: &'a Placeholders,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<T, Error> {
    if text.is_empty() {
        return Err(Error::invalid("The expression can not be empty;"));
    }
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(Error::invalid(format!(
            "Expression size has exceeded the maximum allowed size; expression size: {}",
            text.len()
        )));
    }
    let mut reader = Reader::new(text, placeholders);
    let tree = read(&mut reader)?;
    reader.finish()?;
    Ok(tree)
}

/// Says which expression of the request was refused.
fn within<T>(place: &str, read: Result<T, Error>) -> Result<T, Error> {
    read.map_err(|error| match error {
        Error::Invalid(message) => Error::Invalid(format!("Invalid {place}: {message}")),
        other => other,
    })
}

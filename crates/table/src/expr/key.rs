//! Key conditions: whether one fits the key of a table or index.

use crate::error::Error;
use crate::expr::condition::{begins_with, check_bounds, wrong_operand};
use crate::expr::{Comparator, KeyCondition, SortCondition};
use crate::spec::{KeyAttribute, KeySpec, KeyType};
use crate::value::{Value, ValueType};

impl KeyCondition {
    /// Whether DynamoDB would query a table or index with this key so.
    pub(crate) fn check(&self, key: &KeySpec) -> Result<(), Error> {
        let (name, value) = &self.partition;
        if *name != key.partition.name {
            return Err(missed(&key.partition.name));
        }
        check_kind(&key.partition, value)?;
        match (&self.sort, &key.sort) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(Error::invalid("Query key condition not supported")),
            (Some((name, _)), Some(attribute)) if *name != attribute.name => {
                Err(missed(&attribute.name))
            }
            (Some((_, condition)), Some(attribute)) => condition.check(attribute),
        }
    }
}

impl SortCondition {
    /// Whether it holds of a key's value.
    pub(crate) fn holds(&self, value: &Value) -> bool {
        let compare =
            |comparator: Comparator, other: &Value| comparator.holds(Some(value), Some(other));
        match self {
            SortCondition::Eq(other) => compare(Comparator::Eq, other),
            SortCondition::Lt(other) => compare(Comparator::Lt, other),
            SortCondition::Le(other) => compare(Comparator::Le, other),
            SortCondition::Gt(other) => compare(Comparator::Gt, other),
            SortCondition::Ge(other) => compare(Comparator::Ge, other),
            SortCondition::Between(low, high) => {
                compare(Comparator::Ge, low) && compare(Comparator::Le, high)
            }
            SortCondition::BeginsWith(prefix) => begins_with(value, prefix),
        }
    }

    fn check(&self, attribute: &KeyAttribute) -> Result<(), Error> {
        match self {
            SortCondition::Eq(value)
            | SortCondition::Lt(value)
            | SortCondition::Le(value)
            | SortCondition::Gt(value)
            | SortCondition::Ge(value) => check_kind(attribute, value),
            SortCondition::Between(low, high) => {
                check_bounds(low, high)?;
                check_kind(attribute, low)
            }
            SortCondition::BeginsWith(prefix) => {
                let kind = prefix.kind();
                if !matches!(kind, ValueType::S | ValueType::B) {
                    return Err(wrong_operand("operator or function", "begins_with", kind.name()));
                }
                check_kind(attribute, prefix)
            }
        }
    }
}

/// DynamoDB's complaint about a key attribute without a condition.
pub(crate) fn missed(attribute: &str) -> Error {
    Error::invalid(format!("Query condition missed key schema element: {attribute}"))
}

fn check_kind(attribute: &KeyAttribute, value: &Value) -> Result<(), Error> {
    let wanted = match attribute.kind {
        KeyType::S => ValueType::S,
        KeyType::N => ValueType::N,
        KeyType::B => ValueType::B,
    };
    if value.kind() == wanted {
        return Ok(());
    }
    Err(Error::invalid(
        "One or more parameter values were invalid: Condition parameter type does not match \
         schema type",
    ))
}

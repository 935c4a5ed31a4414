//! Key conditions: a condition that pins the partition and maybe bounds the sort key.

use crate::error::Error;
use crate::expr::key::missed;
use crate::expr::{Comparator, Condition, KeyCondition, Operand, SortCondition};
use crate::spec::KeySpec;
use crate::value::Value;

/// What `condition` says about `key`. Conditions may stand in either order, and a comparison may
/// have its value on either side.
pub(super) fn key_condition(condition: &Condition, key: &KeySpec) -> Result<KeyCondition, Error> {
    let mut found = Vec::new();
    collect(condition, &mut found)?;
    let simple = key.sort.is_none() && found.len() > 1;
    let partition = match take(&mut found, &key.partition.name) {
        Some(_) if simple => return Err(unsupported()),
        Some(SortCondition::Eq(value)) => value,
        Some(_) => return Err(unsupported()),
        None => return Err(missed(&key.partition.name)),
    };
    let sort = match &key.sort {
        None => None,
        Some(attribute) => {
            let condition = take(&mut found, &attribute.name);
            if condition.is_none() && !found.is_empty() {
                return Err(missed(&attribute.name));
            }
            condition.map(|condition| (attribute.name.clone(), condition))
        }
    };
    if !found.is_empty() {
        return Err(unsupported());
    }
    Ok(KeyCondition { partition: (key.partition.name.clone(), partition), sort })
}

fn collect(condition: &Condition, found: &mut Vec<(String, SortCondition)>) -> Result<(), Error> {
    let (name, condition) = match condition {
        Condition::And(left, right) => {
            collect(left, found)?;
            return collect(right, found);
        }
        Condition::Compare(left, comparator, right) => compare(left, *comparator, right)?,
        Condition::Between(attribute, low, high) => {
            let name = first_operand(attribute, "BETWEEN")?;
            (name, SortCondition::Between(literal(low)?, literal(high)?))
        }
        Condition::BeginsWith(attribute, prefix) => {
            let name = first_operand(attribute, "begins_with")?;
            (name, SortCondition::BeginsWith(literal(prefix)?))
        }
        Condition::Or(..) => return Err(misplaced("OR")),
        Condition::Not(_) => return Err(misplaced("NOT")),
        Condition::In(..) => return Err(misplaced("IN")),
        Condition::Exists(_) => return Err(misplaced("attribute_exists")),
        Condition::NotExists(_) => return Err(misplaced("attribute_not_exists")),
        Condition::Type(..) => return Err(misplaced("attribute_type")),
        Condition::Contains(..) => return Err(misplaced("contains")),
    };
    if found.iter().any(|(other, _)| *other == name) {
        return Err(Error::invalid(
            "KeyConditionExpressions must only contain one condition per key",
        ));
    }
    found.push((name, condition));
    Ok(())
}

fn compare(
    left: &Operand,
    comparator: Comparator,
    right: &Operand,
) -> Result<(String, SortCondition), Error> {
    let reversed = matches!(left, Operand::Value(_));
    let (attribute, value) = if reversed { (right, left) } else { (left, right) };
    let name = attribute_name(attribute)?;
    let value = literal(value)?;
    let condition = match (comparator, reversed) {
        (Comparator::Eq, _) => SortCondition::Eq(value),
        (Comparator::Lt, false) | (Comparator::Gt, true) => SortCondition::Lt(value),
        (Comparator::Le, false) | (Comparator::Ge, true) => SortCondition::Le(value),
        (Comparator::Gt, false) | (Comparator::Lt, true) => SortCondition::Gt(value),
        (Comparator::Ge, false) | (Comparator::Le, true) => SortCondition::Ge(value),
        (Comparator::Ne, _) => return Err(misplaced("<>")),
    };
    Ok((name, condition))
}

fn first_operand(operand: &Operand, name: &str) -> Result<String, Error> {
    match operand {
        Operand::Path(_) | Operand::Size(_) => attribute_name(operand),
        Operand::Value(_) => Err(Error::invalid(format!(
            "Invalid condition in KeyConditionExpression: {name} operator must have the key \
             attribute as its first operand"
        ))),
    }
}

fn attribute_name(operand: &Operand) -> Result<String, Error> {
    match operand {
        Operand::Path(path) if path.steps.is_empty() => Ok(path.root.clone()),
        Operand::Path(_) => Err(Error::invalid(
            "KeyConditionExpressions cannot have conditions on nested attributes",
        )),
        Operand::Size(_) => Err(nested_operation()),
        Operand::Value(_) => Err(Error::invalid(
            "Invalid condition in KeyConditionExpression: No key attribute specified",
        )),
    }
}

fn literal(operand: &Operand) -> Result<Value, Error> {
    match operand {
        Operand::Value(value) => Ok(value.clone()),
        Operand::Path(_) => Err(Error::invalid(
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one \
             condition",
        )),
        Operand::Size(_) => Err(nested_operation()),
    }
}

fn take(found: &mut Vec<(String, SortCondition)>, name: &str) -> Option<SortCondition> {
    let index = found.iter().position(|(other, _)| other == name)?;
    Some(found.remove(index).1)
}

fn nested_operation() -> Error {
    Error::invalid("KeyConditionExpressions cannot contain nested operations")
}

fn misplaced(operator: &str) -> Error {
    Error::invalid(format!("Invalid operator used in KeyConditionExpression: {operator}"))
}

fn unsupported() -> Error {
    Error::invalid("Query key condition not supported")
}

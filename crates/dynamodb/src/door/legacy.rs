//! The parameters from before expressions, turned into the same trees.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use serde::Deserialize;
use table::limits::EXPRESSION_OPERATORS_MAX;
use table::{
    Actions, Comparator, Condition, Error, KeyCondition, KeySpec, Operand, Path, SetValue,
    SortCondition, Term, Value, ValueType,
};

use super::bounded::BoundedMap;
use super::fault::{Fault, Faults};
use super::read::JsonValue;

const INVALID: &str = "One or more parameter values were invalid:";
/// Names in `AttributesToGet`, as in DynamoDB.
const ATTRIBUTES_MAX: usize = 255;
/// The values of `ComparisonOperator`.
const OPERATORS: &str =
    "IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS";

/// `Expected`, by attribute.
pub(super) type Expected = BoundedMap<ExpectedValue, EXPRESSION_OPERATORS_MAX>;
/// `QueryFilter`, `ScanFilter` and `KeyConditions`, by attribute.
pub(super) type Filters = BoundedMap<Filter, EXPRESSION_OPERATORS_MAX>;
/// `AttributeUpdates`, by attribute.
pub(super) type Updates = BTreeMap<String, AttributeUpdate>;

/// The expectation about one attribute.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExpectedValue {
    value: Option<JsonValue>,
    exists: Option<bool>,
    comparison_operator: Option<String>,
    attribute_value_list: Option<Vec<JsonValue>>,
}

/// The filter of one attribute.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Filter {
    comparison_operator: Option<String>,
    #[serde(default)]
    attribute_value_list: Option<Vec<JsonValue>>,
}

/// The update of one attribute.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AttributeUpdate {
    value: Option<JsonValue>,
    action: Option<String>,
}

/// A `ConditionalOperator` without conditions to join.
pub(super) fn lonely_operator() -> Fault {
    Fault::invalid("ConditionalOperator cannot be used without Filter or Expected")
}

/// A failure of `AttributeUpdates`, in its words from before expressions.
pub(super) fn in_older_words(error: Error) -> Fault {
    match error {
        Error::Invalid(message) if message.contains("incorrect data type") => {
            Fault::invalid("Type mismatch for attribute to update")
        }
        other => other.into(),
    }
}

/// Checks that every filter has an existing operator. `at` is the name of the parameter.
pub(super) fn check_filters(filters: &Option<Filters>, at: &str, faults: &mut Faults) {
    for (name, filter) in filters.iter().flatten() {
        let at = format_args!("{at}.{name}.member.comparisonOperator");
        match filter.comparison_operator.as_deref() {
            None => faults.see::<()>(Err(Fault::missing(at))),
            Some(word) if !OPERATORS.split(", ").any(|known| known == word) => {
                faults.see::<()>(Err(Fault::no_choice(word, at, OPERATORS)));
            }
            Some(_) => {}
        }
    }
}

/// The condition of `Expected`.
pub(super) fn expected(
    expected: Expected,
    operator: Option<&str>,
) -> Result<Option<Condition>, Fault> {
    let conditions = expected.into_iter().map(|(name, expected)| expected.condition(name));
    join(conditions.collect::<Result<_, _>>()?, operator)
}

/// The condition of filters.
pub(super) fn filters(
    filters: Filters,
    operator: Option<&str>,
) -> Result<Option<Condition>, Fault> {
    let conditions = filters.into_iter().map(|(name, filter)| filter.condition(name));
    join(conditions.collect::<Result<_, _>>()?, operator)
}

/// The key condition of `KeyConditions`.
pub(super) fn key_conditions(filters: Filters, key: &KeySpec) -> Result<KeyCondition, Fault> {
    let (mut partition, mut sort) = (None, None);
    let count = filters.len();
    for (name, filter) in filters {
        let condition = filter.condition(name.clone())?;
        if name == key.partition.name {
            // A condition that no index supports is reported before one that only this key does not
            // support.
            sort_condition(condition.clone())?;
            partition = Some(condition);
        } else if key.sort.as_ref().is_some_and(|attribute| attribute.name == name) {
            sort = Some((name, sort_condition(condition)?));
        }
    }
    if count != usize::from(partition.is_some()) + usize::from(sort.is_some()) {
        let missed = match (&partition, &key.sort) {
            (Some(_), Some(attribute)) => &attribute.name,
            (_, _) => &key.partition.name,
        };
        return Err(Fault::invalid(format!("Query condition missed key schema element: {missed}")));
    }
    match partition {
        Some(Condition::Compare(_, Comparator::Eq, Operand::Value(value))) => {
            Ok(KeyCondition { partition: (key.partition.name.clone(), value), sort })
        }
        Some(_) => Err(Fault::invalid("Query key condition not supported")),
        None => Err(Fault::invalid(format!(
            "Query condition missed key schema element: {}",
            key.partition.name
        ))),
    }
}

fn sort_condition(condition: Condition) -> Result<SortCondition, Fault> {
    Ok(match condition {
        Condition::Compare(_, Comparator::Eq, Operand::Value(value)) => SortCondition::Eq(value),
        Condition::Compare(_, Comparator::Lt, Operand::Value(value)) => SortCondition::Lt(value),
        Condition::Compare(_, Comparator::Le, Operand::Value(value)) => SortCondition::Le(value),
        Condition::Compare(_, Comparator::Gt, Operand::Value(value)) => SortCondition::Gt(value),
        Condition::Compare(_, Comparator::Ge, Operand::Value(value)) => SortCondition::Ge(value),
        Condition::Between(_, Operand::Value(low), Operand::Value(high)) => {
            SortCondition::Between(low, high)
        }
        Condition::BeginsWith(_, Operand::Value(prefix)) => SortCondition::BeginsWith(prefix),
        _ => {
            return Err(Fault::invalid(
                "Attempted conditional constraint is not an indexable operation",
            ));
        }
    })
}

/// Checks the number of names in `AttributesToGet`, if it is present.
pub(super) fn check_attributes(names: Option<&[String]>, at: impl Display) -> Result<(), Fault> {
    match names.map(<[String]>::len) {
        None | Some(1..=ATTRIBUTES_MAX) => Ok(()),
        Some(0) => Err(Fault::constraint("'[]'", at, "have length greater than or equal to 1")),
        Some(_) => {
            let rule = format!("have length less than or equal to {ATTRIBUTES_MAX}");
            Err(Fault::constraint("'[...]'", at, &rule))
        }
    }
}

/// The paths of `AttributesToGet`.
pub(super) fn attributes(names: Vec<String>) -> Result<Vec<Path>, Fault> {
    check_attributes(Some(&names), "attributesToGet")?;
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(Fault::invalid(format!("{INVALID} Duplicate value in attribute name: {name}")));
    }
    Ok(names.into_iter().map(Path::from).collect())
}

/// The actions of `AttributeUpdates`.
pub(super) fn updates(updates: Updates) -> Result<Actions, Fault> {
    let mut actions = Actions::default();
    for (name, update) in updates {
        let path = Path::from(name);
        let value = update.value.map(|JsonValue(value)| value);
        match (update.action.as_deref().unwrap_or("PUT"), value) {
            ("PUT", Some(value)) => actions.set.push((path, SetValue::Term(Term::Value(value)))),
            ("ADD", Some(Value::L(list))) => {
                // The older language also appends to lists, which expressions do in another way.
                let empty = Term::Value(Value::L(Vec::new()));
                let before = Term::IfNotExists(path.clone(), Box::new(empty));
                let more = Term::Value(Value::L(list));
                let value = Term::ListAppend(Box::new(before), Box::new(more));
                actions.set.push((path, SetValue::Term(value)));
            }
            ("ADD", Some(value @ (Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_)))) => {
                actions.add.push((path, value));
            }
            ("ADD", Some(value)) => {
                return Err(Fault::invalid(format!(
                    "{INVALID} ADD action is not supported for the type {}",
                    value.kind().name()
                )));
            }
            ("DELETE", None) => actions.remove.push(path),
            ("DELETE", Some(value @ (Value::Ss(_) | Value::Ns(_) | Value::Bs(_)))) => {
                actions.delete.push((path, value));
            }
            ("DELETE", Some(value)) => {
                return Err(Fault::invalid(format!(
                    "{INVALID} DELETE action with value is not supported for the type {}",
                    value.kind().name()
                )));
            }
            ("PUT" | "ADD", None) => {
                return Err(Fault::invalid(format!(
                    "{INVALID} Only DELETE action is allowed when no attribute value is specified"
                )));
            }
            (action, _) => {
                let at = format!("attributeUpdates.{}.member.action", path.root);
                return Err(Fault::no_choice(action, &at, "ADD, DELETE, PUT"));
            }
        }
    }
    Ok(actions)
}

impl ExpectedValue {
    fn condition(self, name: String) -> Result<Condition, Fault> {
        let wrong =
            |what: &str| Err(Fault::invalid(format!("{INVALID} {what} for Attribute: {name}")));
        let value = self.value.map(|JsonValue(value)| value);
        match (self.comparison_operator, self.exists, value, self.attribute_value_list) {
            (Some(_), Some(_), _, _) => {
                wrong("Exists and ComparisonOperator cannot be used together")
            }
            (_, _, Some(_), Some(_)) => {
                wrong("Value and AttributeValueList cannot be used together")
            }
            (None, _, _, Some(_)) => {
                wrong("AttributeValueList can only be used with a ComparisonOperator")
            }
            (Some(operator), None, None, None) if !matches!(&*operator, "NULL" | "NOT_NULL") => {
                wrong(&format!(
                    "Value or AttributeValueList must be used with ComparisonOperator: {operator}"
                ))
            }
            (Some(operator), None, value, list) => {
                let listed = list.into_iter().flatten().map(|JsonValue(value)| value);
                compare(name, &operator, value.into_iter().chain(listed).collect())
            }
            (None, Some(false), None, None) => Ok(Condition::NotExists(Path::from(name))),
            (None, Some(false), Some(_), None) => {
                wrong("Value cannot be used when Exists is false")
            }
            (None, Some(true), None, None) => wrong("Value must be provided when Exists is true"),
            (None, None, None, None) => wrong("Value must be provided when Exists is null"),
            (None, _, Some(value), None) => Ok(Condition::Compare(
                Operand::Path(Path::from(name)),
                Comparator::Eq,
                Operand::Value(value),
            )),
        }
    }
}

impl Filter {
    fn condition(self, name: String) -> Result<Condition, Fault> {
        let Some(operator) = self.comparison_operator else {
            return Err(Fault::missing("comparisonOperator"));
        };
        let values = self.attribute_value_list.into_iter().flatten();
        compare(name, &operator, values.map(|JsonValue(value)| value).collect())
    }
}

/// The condition of an operator with these values.
fn compare(name: String, operator: &str, values: Vec<Value>) -> Result<Condition, Fault> {
    check_values(operator, &values)?;
    let path = Path::from(name);
    let left = Operand::Path(path.clone());
    let comparator = match operator {
        "NULL" => return Ok(Condition::NotExists(path)),
        "NOT_NULL" => return Ok(Condition::Exists(path)),
        "EQ" => Some(Comparator::Eq),
        "NE" => Some(Comparator::Ne),
        "LE" => Some(Comparator::Le),
        "LT" => Some(Comparator::Lt),
        "GE" => Some(Comparator::Ge),
        "GT" => Some(Comparator::Gt),
        _ => None,
    };
    let mut operands = values.into_iter().map(Operand::Value);
    let mut next = || operands.next().expect("the values were counted");
    Ok(match (comparator, operator) {
        (Some(comparator), _) => Condition::Compare(left, comparator, next()),
        (None, "BETWEEN") => Condition::Between(left, next(), next()),
        (None, "BEGINS_WITH") => Condition::BeginsWith(left, next()),
        (None, "CONTAINS") => Condition::Contains(left, next()),
        (None, "NOT_CONTAINS") => {
            // An absent attribute matches neither CONTAINS nor NOT_CONTAINS.
            Condition::Exists(path).and(!Condition::Contains(left, next()))
        }
        (None, _) => Condition::In(left, operands.collect()),
    })
}

fn check_values(operator: &str, values: &[Value]) -> Result<(), Fault> {
    let counts = match operator {
        "NULL" | "NOT_NULL" => 0..=0,
        "EQ" | "NE" | "LE" | "LT" | "GE" | "GT" | "CONTAINS" | "NOT_CONTAINS" | "BEGINS_WITH" => {
            1..=1
        }
        "BETWEEN" => 2..=2,
        "IN" => 1..=usize::MAX,
        _ => {
            return Err(Fault::no_choice(operator, "comparisonOperator", OPERATORS));
        }
    };
    if !counts.contains(&values.len()) {
        return Err(Fault::invalid(format!(
            "{INVALID} Invalid number of argument(s) for the {operator} ComparisonOperator"
        )));
    }
    let kinds: Vec<ValueType> = values.iter().map(Value::kind).collect();
    let scalar = |kind: &&ValueType| matches!(kind, ValueType::S | ValueType::N | ValueType::B);
    let unfit = match operator {
        "LE" | "LT" | "GE" | "GT" | "BETWEEN" | "IN" => kinds.iter().find(|kind| !scalar(kind)),
        "CONTAINS" | "NOT_CONTAINS" => kinds
            .iter()
            .find(|kind| !scalar(kind) && !matches!(kind, ValueType::Bool | ValueType::Null)),
        "BEGINS_WITH" => kinds.iter().find(|kind| !matches!(kind, ValueType::S | ValueType::B)),
        _ => None,
    };
    if let Some(kind) = unfit {
        return Err(Fault::invalid(format!(
            "{INVALID} ComparisonOperator {operator} is not valid for {} AttributeValue type",
            kind.name()
        )));
    }
    if kinds.iter().any(|kind| Some(kind) != kinds.first()) {
        return Err(Fault::invalid(format!(
            "{INVALID} AttributeValues inside AttributeValueList must be of same type"
        )));
    }
    match values {
        [low, high] if operator == "BETWEEN" && is_above(low, high) => Err(Fault::invalid(
            "The BETWEEN condition was provided a range where the lower bound is greater than the \
             upper bound",
        )),
        _ => Ok(()),
    }
}

/// Whether a value is greater than another of its type.
fn is_above(low: &Value, high: &Value) -> bool {
    match (low, high) {
        (Value::S(low), Value::S(high)) => low > high,
        (Value::N(low), Value::N(high)) => low > high,
        (Value::B(low), Value::B(high)) => low > high,
        (_, _) => false,
    }
}

/// Whether one of several conditions is enough.
pub(super) fn check_joint(operator: Option<&str>) -> Result<bool, Fault> {
    match operator {
        None | Some("AND") => Ok(false),
        Some("OR") => Ok(true),
        Some(other) => Err(Fault::no_choice(other, "conditionalOperator", "OR, AND")),
    }
}

fn join(conditions: Vec<Condition>, operator: Option<&str>) -> Result<Option<Condition>, Fault> {
    let either = check_joint(operator)?;
    // Each condition is one level of the resulting tree, and the tree is walked by recursion.
    if conditions.len() > EXPRESSION_OPERATORS_MAX {
        return Err(Fault::invalid(format!(
            "{INVALID} Number of conditions exceeds the limit of {EXPRESSION_OPERATORS_MAX}"
        )));
    }
    if operator.is_some() && conditions.is_empty() {
        return Err(lonely_operator());
    }
    if operator.is_some() && conditions.len() == 1 {
        return Err(Fault::invalid(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements",
        ));
    }
    Ok(conditions.into_iter().reduce(|one, other| {
        let (one, other) = (Box::new(one), Box::new(other));
        if either { Condition::Or(one, other) } else { Condition::And(one, other) }
    }))
}

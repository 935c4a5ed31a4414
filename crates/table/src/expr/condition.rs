//! Conditions: what DynamoDB would refuse to try, and whether one holds of an item.
//!
//! Refusals are in DynamoDB's own words, since a client of the door matches on them.

use std::borrow::Cow;
use std::cmp::Ordering;

use memchr::memmem;

use crate::error::Error;
use crate::expr::{Comparator, Condition, Operand, Path};
use crate::limits::IN_OPERANDS_MAX;
use crate::number::Number;
use crate::validate::check_value;
use crate::value::{Item, Value, ValueType};

impl Condition {
    /// Whether DynamoDB would take this condition at all; looks at no item.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for leaf in self.leaves() {
            match leaf {
                Leaf::Path(path) => path.check()?,
                Leaf::Value(value) => check_value(value)?,
            }
        }
        self.check_operands()
    }

    /// Where the condition looks.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.leaves().into_iter().filter_map(|leaf| match leaf {
            Leaf::Path(path) => Some(path),
            Leaf::Value(_) => None,
        })
    }

    fn leaves(&self) -> Vec<Leaf<'_>> {
        match self {
            Condition::Compare(left, _, right)
            | Condition::BeginsWith(left, right)
            | Condition::Contains(left, right) => vec![left.leaf(), right.leaf()],
            Condition::Between(value, low, high) => vec![value.leaf(), low.leaf(), high.leaf()],
            Condition::In(value, choices) => {
                std::iter::once(value).chain(choices).map(Operand::leaf).collect()
            }
            Condition::Exists(path) | Condition::NotExists(path) => vec![Leaf::Path(path)],
            Condition::Type(value, _) => vec![value.leaf()],
            Condition::And(left, right) | Condition::Or(left, right) => {
                let mut leaves = left.leaves();
                leaves.extend(right.leaves());
                leaves
            }
            Condition::Not(condition) => condition.leaves(),
        }
    }

    fn check_operands(&self) -> Result<(), Error> {
        match self {
            Condition::Compare(left, comparator, right) => {
                check_distinct(comparator.symbol(), left, [right])?;
                if comparator.orders() {
                    check_ordered(comparator.symbol(), [left, right])?;
                }
                Ok(())
            }
            Condition::Between(value, low, high) => {
                check_distinct("BETWEEN", value, [low, high])?;
                check_ordered("BETWEEN", [value, low, high])?;
                match (low, high) {
                    (Operand::Value(low), Operand::Value(high)) => check_bounds(low, high),
                    (_, _) => Ok(()),
                }
            }
            Condition::In(value, choices) => {
                check_choices(choices.len())?;
                check_distinct("IN", value, choices)
            }
            Condition::Exists(_) | Condition::NotExists(_) | Condition::Type(..) => Ok(()),
            Condition::BeginsWith(value, prefix) => {
                check_distinct("begins_with", value, [prefix])?;
                check_literals("operator or function", "begins_with", [value, prefix], |kind| {
                    matches!(kind, ValueType::S | ValueType::B)
                })
            }
            Condition::Contains(value, element) => check_distinct("contains", value, [element]),
            Condition::And(left, right) | Condition::Or(left, right) => {
                left.check_operands()?;
                right.check_operands()
            }
            Condition::Not(condition) => condition.check_operands(),
        }
    }

    /// Whether the condition holds of `item`; without an item every path leads nowhere.
    pub(crate) fn holds(&self, item: Option<&Item>) -> bool {
        let there = |path: &Path| item.and_then(|item| path.find(item));
        match self {
            Condition::Compare(left, comparator, right) => {
                comparator.holds(left.resolve(item).as_deref(), right.resolve(item).as_deref())
            }
            Condition::Between(value, low, high) => {
                let value = value.resolve(item);
                Comparator::Ge.holds(value.as_deref(), low.resolve(item).as_deref())
                    && Comparator::Le.holds(value.as_deref(), high.resolve(item).as_deref())
            }
            Condition::In(value, choices) => {
                let value = value.resolve(item);
                choices.iter().any(|choice| {
                    Comparator::Eq.holds(value.as_deref(), choice.resolve(item).as_deref())
                })
            }
            Condition::Exists(path) => there(path).is_some(),
            Condition::NotExists(path) => there(path).is_none(),
            Condition::Type(value, kind) => {
                value.resolve(item).is_some_and(|value| value.kind() == *kind)
            }
            Condition::BeginsWith(value, prefix) => {
                match (value.resolve(item).as_deref(), prefix.resolve(item).as_deref()) {
                    (Some(value), Some(prefix)) => begins_with(value, prefix),
                    (_, None) | (None, _) => false,
                }
            }
            Condition::Contains(value, element) => {
                match (value.resolve(item).as_deref(), element.resolve(item).as_deref()) {
                    (Some(value), Some(element)) => contains(value, element),
                    (_, None) | (None, _) => false,
                }
            }
            Condition::And(left, right) => left.holds(item) && right.holds(item),
            Condition::Or(left, right) => left.holds(item) || right.holds(item),
            Condition::Not(condition) => !condition.holds(item),
        }
    }
}

impl Comparator {
    /// As it stands in an expression.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Comparator::Eq => "=",
            Comparator::Ne => "<>",
            Comparator::Lt => "<",
            Comparator::Le => "<=",
            Comparator::Gt => ">",
            Comparator::Ge => ">=",
        }
    }

    fn orders(self) -> bool {
        match self {
            Comparator::Eq | Comparator::Ne => false,
            Comparator::Lt | Comparator::Le | Comparator::Gt | Comparator::Ge => true,
        }
    }

    /// Nothing is equal to what is not there, so `<>` holds of it and every other comparison
    /// fails.
    pub(crate) fn holds(self, left: Option<&Value>, right: Option<&Value>) -> bool {
        let (Some(left), Some(right)) = (left, right) else {
            return self == Comparator::Ne;
        };
        let order = || order(left, right);
        match self {
            Comparator::Eq => left == right,
            Comparator::Ne => left != right,
            Comparator::Lt => order().is_some_and(Ordering::is_lt),
            Comparator::Le => order().is_some_and(Ordering::is_le),
            Comparator::Gt => order().is_some_and(Ordering::is_gt),
            Comparator::Ge => order().is_some_and(Ordering::is_ge),
        }
    }
}

impl Operand {
    fn resolve<'a>(&'a self, item: Option<&'a Item>) -> Option<Cow<'a, Value>> {
        match self {
            Operand::Path(path) => path.find(item?).map(Cow::Borrowed),
            Operand::Value(value) => Some(Cow::Borrowed(value)),
            Operand::Size(path) => size(path.find(item?)?).map(|size| Cow::Owned(size.into())),
        }
    }

    fn leaf(&self) -> Leaf<'_> {
        match self {
            Operand::Path(path) | Operand::Size(path) => Leaf::Path(path),
            Operand::Value(value) => Leaf::Value(value),
        }
    }
}

/// What an operand comes down to.
enum Leaf<'a> {
    Path(&'a Path),
    Value(&'a Value),
}

/// What `size()` answers, for the types that have one: UTF-16 units of text, bytes of binary,
/// elements of sets, lists and maps.
pub(crate) fn size(value: &Value) -> Option<Number> {
    let size = match value {
        Value::S(text) => text.encode_utf16().count(),
        Value::B(bytes) => bytes.len(),
        Value::M(map) => map.len(),
        Value::L(list) => list.len(),
        Value::Ss(set) => set.len(),
        Value::Ns(set) => set.len(),
        Value::Bs(set) => set.len(),
        Value::N(_) | Value::Bool(_) | Value::Null => return None,
    };
    u64::try_from(size).ok().map(Number::from)
}

/// Only texts, numbers and bytes have an order, each among themselves.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::S(left), Value::S(right)) => Some(left.cmp(right)),
        (Value::N(left), Value::N(right)) => Some(left.cmp(right)),
        (Value::B(left), Value::B(right)) => Some(left.cmp(right)),
        (_, _) => None,
    }
}

pub(crate) fn begins_with(value: &Value, prefix: &Value) -> bool {
    match (value, prefix) {
        (Value::S(value), Value::S(prefix)) => value.starts_with(&**prefix),
        (Value::B(value), Value::B(prefix)) => value.starts_with(prefix),
        (_, _) => false,
    }
}

fn contains(value: &Value, element: &Value) -> bool {
    match (value, element) {
        (Value::S(text), Value::S(part)) => text.contains(&**part),
        (Value::B(bytes), Value::B(part)) => memmem::find(bytes, part).is_some(),
        (Value::Ss(set), Value::S(text)) => set.contains(&**text),
        (Value::Ns(set), Value::N(number)) => set.contains(number),
        (Value::Bs(set), Value::B(bytes)) => set.contains(bytes),
        (Value::L(list), element) => list.contains(element),
        (_, _) => false,
    }
}

fn check_distinct<'a>(
    name: &str,
    first: &Operand,
    others: impl IntoIterator<Item = &'a Operand>,
) -> Result<(), Error> {
    match first {
        Operand::Path(path) if others.into_iter().any(|other| other == first) => {
            Err(Error::invalid(format!(
                "The first operand must be distinct from the remaining operands for this \
                 operator or function; operator: {name}, first operand: {path}"
            )))
        }
        Operand::Path(_) | Operand::Value(_) | Operand::Size(_) => Ok(()),
    }
}

fn check_ordered<'a>(
    name: &str,
    operands: impl IntoIterator<Item = &'a Operand>,
) -> Result<(), Error> {
    check_literals("operator", name, operands, |kind| {
        matches!(kind, ValueType::S | ValueType::N | ValueType::B)
    })
}

fn check_literals<'a>(
    what: &str,
    name: &str,
    operands: impl IntoIterator<Item = &'a Operand>,
    allowed: impl Fn(ValueType) -> bool,
) -> Result<(), Error> {
    for operand in operands {
        let kind = match operand {
            Operand::Path(_) => continue,
            Operand::Value(value) => value.kind(),
            Operand::Size(_) => ValueType::N,
        };
        if !allowed(kind) {
            return Err(wrong_operand(what, name, kind.name()));
        }
    }
    Ok(())
}

/// DynamoDB's refusal of a literal whose type an operator or function cannot take.
pub(crate) fn wrong_operand(what: &str, name: &str, kind: &str) -> Error {
    Error::invalid(format!(
        "Incorrect operand type for operator or function; {what}: {name}, operand type: {kind}"
    ))
}

fn check_choices(choices: usize) -> Result<(), Error> {
    match choices {
        0 => Err(Error::invalid("an IN needs at least 1 operand")),
        1..=IN_OPERANDS_MAX => Ok(()),
        _ => Err(Error::invalid(format!(
            "The IN operator is provided with too many operands; number of operands: {choices}"
        ))),
    }
}

/// Whether two literals can bound a `BETWEEN`.
pub(crate) fn check_bounds(low: &Value, high: &Value) -> Result<(), Error> {
    let rule = match order(low, high) {
        None => "same data type for lower and upper bounds",
        Some(Ordering::Greater) => "upper bound to be greater than or equal to lower bound",
        Some(Ordering::Less | Ordering::Equal) => return Ok(()),
    };
    Err(Error::invalid(format!(
        "The BETWEEN operator requires {rule}; lower bound operand: AttributeValue: {}, upper \
         bound operand: AttributeValue: {}",
        literal(low),
        literal(high)
    )))
}

/// As DynamoDB shows a literal that can stand in an order.
fn literal(value: &Value) -> String {
    let kind = value.kind().name();
    match value {
        Value::S(text) => format!("{{{kind}:{text}}}"),
        Value::N(number) => format!("{{{kind}:{number}}}"),
        Value::B(_)
        | Value::Bool(_)
        | Value::Null
        | Value::M(_)
        | Value::L(_)
        | Value::Ss(_)
        | Value::Ns(_)
        | Value::Bs(_) => format!("{{{kind}}}"),
    }
}

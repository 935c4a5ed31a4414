//! The typed builder: conditions and update values written as Rust.
//!
//! ```text
//! attr("age").ge(18).and(attr("name").begins_with("A"))
//! update.set("visits", attr("visits").or(0).plus(1)).set("log", attr("log").append(["in"]))
//! ```
//!
//! A bare text is always a value; only [`attr`] makes a path. What an operator cannot take is
//! either not offered by the types or refused when the request is checked.

use bytes::Bytes;

use crate::expr::{Comparator, Condition, Operand, Path, SetValue, SortCondition, Term};
use crate::number::Number;
use crate::value::{Item, Value, ValueType};

/// The attribute `name`: where conditions and update values start.
pub fn attr(name: impl Into<String>) -> Path {
    Path::from(name.into())
}

/// The size of the value at a path; good for comparing only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size(Path);

macro_rules! comparisons {
    ($($subject:ty),*) => {$(
        impl $subject {
            /// `self = other`
            pub fn eq(self, other: impl Into<Operand>) -> Condition {
                Condition::Compare(self.into(), Comparator::Eq, other.into())
            }

            /// `self <> other`; holds also when one of them is missing.
            pub fn ne(self, other: impl Into<Operand>) -> Condition {
                Condition::Compare(self.into(), Comparator::Ne, other.into())
            }

            /// `self < other`
            pub fn lt(self, other: impl Into<Operand>) -> Condition {
                Condition::Compare(self.into(), Comparator::Lt, other.into())
            }

            /// `self <= other`
            pub fn le(self, other: impl Into<Operand>) -> Condition {
                Condition::Compare(self.into(), Comparator::Le, other.into())
            }

            /// `self > other`
            pub fn gt(self, other: impl Into<Operand>) -> Condition {
                Condition::Compare(self.into(), Comparator::Gt, other.into())
            }

            /// `self >= other`
            pub fn ge(self, other: impl Into<Operand>) -> Condition {
                Condition::Compare(self.into(), Comparator::Ge, other.into())
            }

            /// `self BETWEEN low AND high`, both ends included.
            pub fn between(
                self,
                low: impl Into<Operand>,
                high: impl Into<Operand>,
            ) -> Condition {
                Condition::Between(self.into(), low.into(), high.into())
            }

            /// `self IN (…)`
            pub fn is_in<O: Into<Operand>>(
                self,
                choices: impl IntoIterator<Item = O>,
            ) -> Condition {
                Condition::In(self.into(), choices.into_iter().map(Into::into).collect())
            }
        }
    )*};
}

comparisons!(Path, Size);

impl Path {
    /// `attribute_exists(self)`
    pub fn exists(self) -> Condition {
        Condition::Exists(self)
    }

    /// `attribute_not_exists(self)`
    pub fn not_exists(self) -> Condition {
        Condition::NotExists(self)
    }

    /// `attribute_type(self, kind)`
    pub fn is_type(self, kind: ValueType) -> Condition {
        Condition::Type(self.into(), kind)
    }

    /// `begins_with(self, prefix)` for texts.
    pub fn begins_with(self, prefix: impl Into<String>) -> Condition {
        Condition::BeginsWith(self.into(), Operand::Value(Value::from(prefix.into())))
    }

    /// `contains(self, part)`: a text in a text, an element in a set or list.
    pub fn contains(self, part: impl Into<Operand>) -> Condition {
        Condition::Contains(self.into(), part.into())
    }

    /// `size(self)`
    pub fn size(self) -> Size {
        Size(self)
    }

    /// `if_not_exists(self, otherwise)`
    pub fn or(self, otherwise: impl Into<Term>) -> Term {
        Term::IfNotExists(self, Box::new(otherwise.into()))
    }
}

macro_rules! update_values {
    ($($subject:ty),*) => {$(
        impl $subject {
            /// `self + other`
            pub fn plus(self, other: impl Into<Term>) -> SetValue {
                SetValue::Plus(self.into(), other.into())
            }

            /// `self - other`
            pub fn minus(self, other: impl Into<Term>) -> SetValue {
                SetValue::Minus(self.into(), other.into())
            }

            /// `list_append(self, elements)`
            pub fn append<V: Into<Value>>(self, elements: impl IntoIterator<Item = V>) -> Term {
                Term::ListAppend(Box::new(self.into()), Box::new(list(elements)))
            }

            /// `list_append(elements, self)`
            pub fn prepend<V: Into<Value>>(self, elements: impl IntoIterator<Item = V>) -> Term {
                Term::ListAppend(Box::new(list(elements)), Box::new(self.into()))
            }
        }
    )*};
}

update_values!(Path, Term);

fn list<V: Into<Value>>(elements: impl IntoIterator<Item = V>) -> Term {
    Term::Value(Value::L(elements.into_iter().map(Into::into).collect()))
}

impl Condition {
    /// Both hold.
    #[must_use]
    pub fn and(self, other: Condition) -> Condition {
        Condition::And(Box::new(self), Box::new(other))
    }

    /// At least one holds.
    #[must_use]
    pub fn or(self, other: Condition) -> Condition {
        Condition::Or(Box::new(self), Box::new(other))
    }
}

impl std::ops::Not for Condition {
    type Output = Condition;

    /// It does not hold.
    fn not(self) -> Condition {
        Condition::Not(Box::new(self))
    }
}

impl SortCondition {
    /// `= value`
    pub fn eq(value: impl Into<Value>) -> SortCondition {
        SortCondition::Eq(value.into())
    }

    /// `< value`
    pub fn lt(value: impl Into<Value>) -> SortCondition {
        SortCondition::Lt(value.into())
    }

    /// `<= value`
    pub fn le(value: impl Into<Value>) -> SortCondition {
        SortCondition::Le(value.into())
    }

    /// `> value`
    pub fn gt(value: impl Into<Value>) -> SortCondition {
        SortCondition::Gt(value.into())
    }

    /// `>= value`
    pub fn ge(value: impl Into<Value>) -> SortCondition {
        SortCondition::Ge(value.into())
    }

    /// `BETWEEN low AND high`, both ends included.
    pub fn between(low: impl Into<Value>, high: impl Into<Value>) -> SortCondition {
        SortCondition::Between(low.into(), high.into())
    }

    /// `begins_with(…, prefix)`
    pub fn begins_with(prefix: impl Into<Value>) -> SortCondition {
        SortCondition::BeginsWith(prefix.into())
    }
}

impl From<Path> for Operand {
    fn from(path: Path) -> Operand {
        Operand::Path(path)
    }
}

impl From<Size> for Operand {
    fn from(size: Size) -> Operand {
        Operand::Size(size.0)
    }
}

impl From<Path> for Term {
    fn from(path: Path) -> Term {
        Term::Path(path)
    }
}

impl From<Path> for SetValue {
    fn from(path: Path) -> SetValue {
        SetValue::Term(Term::Path(path))
    }
}

impl From<Term> for SetValue {
    fn from(term: Term) -> SetValue {
        SetValue::Term(term)
    }
}

/// Each type by name: `From<V: Into<Value>>` would clash with the paths above.
macro_rules! from_values {
    ($($value:ty),*) => {$(
        impl From<$value> for Operand {
            fn from(value: $value) -> Operand {
                Operand::Value(value.into())
            }
        }

        impl From<$value> for Term {
            fn from(value: $value) -> Term {
                Term::Value(value.into())
            }
        }

        impl From<$value> for SetValue {
            fn from(value: $value) -> SetValue {
                SetValue::Term(Term::Value(value.into()))
            }
        }
    )*};
}

from_values!(Value, &str, String, Number, bool, Bytes, Item, Vec<Value>, i32, i64, u32, u64);

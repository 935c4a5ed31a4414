//! Expressions: one syntax tree with four uses.
//!
//! The tree is built by typed code (`build.rs`), checked against items (`condition.rs`,
//! `actions.rs`), written as DynamoDB's expression text (`render.rs`) and read from it
//! (`parse.rs`). This file holds the tree alone.

pub(crate) mod actions;
pub(crate) mod build;
pub(crate) mod condition;
pub(crate) mod key;
pub(crate) mod parse;
pub(crate) mod path;
pub(crate) mod render;
pub(crate) mod reserved;
pub(crate) mod spelling;
#[cfg(test)]
mod tests;

use crate::value::{Value, ValueType};

/// A document path: an attribute, then steps into maps and lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The top-level attribute.
    pub root: String,
    /// Steps below it, outermost first.
    pub steps: Vec<Step>,
}

/// One step of a document path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into a map, by name.
    Field(String),
    /// Into a list, by position.
    Index(u32),
}

/// What a condition compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value at a path. A path that leads nowhere equals nothing: `<>` holds of it, and no
    /// other comparison does.
    Path(Path),
    /// A value given by the caller.
    Value(Value),
    /// The size of the value at a path.
    Size(Path),
}

/// How two operands are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A condition or a filter on one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `a = b` and its kin.
    Compare(Operand, Comparator, Operand),
    /// `a BETWEEN low AND high`, both ends included.
    Between(Operand, Operand, Operand),
    /// `a IN (b, c, …)`
    In(Operand, Vec<Operand>),
    /// `attribute_exists(path)`
    Exists(Path),
    /// `attribute_not_exists(path)`
    NotExists(Path),
    /// `attribute_type(a, type)`
    Type(Operand, ValueType),
    /// `begins_with(a, prefix)`
    BeginsWith(Operand, Operand),
    /// `contains(a, element)`
    Contains(Operand, Operand),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// At least one holds.
    Or(Box<Condition>, Box<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

/// What an update does to an item. All clauses read the item as it was before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// `SET path = value`
    pub set: Vec<(Path, SetValue)>,
    /// `REMOVE path`
    pub remove: Vec<Path>,
    /// `ADD path value`: to a number, or into a set.
    pub add: Vec<(Path, Value)>,
    /// `DELETE path set`: out of a set.
    pub delete: Vec<(Path, Value)>,
}

/// The right side of one `SET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// A value as it is.
    Term(Term),
    /// The sum of two numbers.
    Plus(Term, Term),
    /// The difference of two numbers.
    Minus(Term, Term),
}

/// A value inside a `SET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// The value at a path; it must be there.
    Path(Path),
    /// A value given by the caller.
    Value(Value),
    /// `if_not_exists(path, otherwise)`
    IfNotExists(Path, Box<Term>),
    /// `list_append(first, second)`
    ListAppend(Box<Term>, Box<Term>),
}

/// Which items of a table or index a query reads: one partition, and maybe a stretch of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCondition {
    /// The partition attribute and its value.
    pub partition: (String, Value),
    /// The sort attribute and what must hold of it.
    pub sort: Option<(String, SortCondition)>,
}

/// What must hold of a sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortCondition {
    /// `= value`
    Eq(Value),
    /// `< value`
    Lt(Value),
    /// `<= value`
    Le(Value),
    /// `> value`
    Gt(Value),
    /// `>= value`
    Ge(Value),
    /// `BETWEEN low AND high`, both ends included
    Between(Value, Value),
    /// `begins_with(…, prefix)`
    BeginsWith(Value),
}

//! Expressions written as DynamoDB's text.
//!
//! Every name and value becomes a placeholder, so no name needs quoting and no word is reserved.
//! What is written here reads back (`parse.rs`) as the same tree; parentheses stand only where
//! that needs them, because DynamoDB refuses redundant ones.

use std::collections::BTreeMap;

use crate::expr::{
    Actions, Condition, KeyCondition, Operand, Path, SetValue, SortCondition, Step, Term,
};
use crate::value::Value;

/// Writes the expressions of one request and collects their placeholders.
#[derive(Clone, Debug, Default)]
pub struct Renderer {
    /// `ExpressionAttributeNames`: placeholder to name.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`: placeholder to value.
    pub values: BTreeMap<String, Value>,
    /// The placeholder of each name, so that a name used twice has one.
    placeholders: BTreeMap<String, String>,
}

impl Renderer {
    /// A renderer that has seen no expression.
    pub fn new() -> Renderer {
        Renderer::default()
    }

    /// For `ConditionExpression` and `FilterExpression`.
    pub fn condition(&mut self, condition: &Condition) -> String {
        self.bound_condition(condition, Binding::Or)
    }

    /// For `UpdateExpression`; empty when there is no action.
    pub fn actions(&mut self, actions: &Actions) -> String {
        let set = actions.set.iter().map(|(path, value)| {
            let path = self.path(path);
            format!("{path} = {}", self.set_value(value))
        });
        let set = clause("SET", set.collect());
        let remove = actions.remove.iter().map(|path| self.path(path));
        let remove = clause("REMOVE", remove.collect());
        let add = actions.add.iter().map(|(path, value)| self.pair(path, value));
        let add = clause("ADD", add.collect());
        let delete = actions.delete.iter().map(|(path, value)| self.pair(path, value));
        let delete = clause("DELETE", delete.collect());
        [set, remove, add, delete].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// For `KeyConditionExpression`.
    pub fn key_condition(&mut self, key: &KeyCondition) -> String {
        let (name, value) = &key.partition;
        let partition = format!("{} = {}", self.name(name), self.value(value));
        match &key.sort {
            None => partition,
            Some((name, condition)) => {
                format!("{partition} AND {}", self.sort_condition(name, condition))
            }
        }
    }

    /// For `ProjectionExpression`.
    pub fn projection(&mut self, paths: &[Path]) -> String {
        paths.iter().map(|path| self.path(path)).collect::<Vec<_>>().join(", ")
    }

    fn bound_condition(&mut self, condition: &Condition, place: Binding) -> String {
        let (text, binding) = match condition {
            Condition::Or(left, right) => {
                let left = self.bound_condition(left, Binding::Or);
                (format!("{left} OR {}", self.bound_condition(right, Binding::And)), Binding::Or)
            }
            Condition::And(left, right) => {
                let left = self.bound_condition(left, Binding::And);
                (format!("{left} AND {}", self.bound_condition(right, Binding::Not)), Binding::And)
            }
            Condition::Not(inner) => {
                (format!("NOT {}", self.bound_condition(inner, Binding::Tight)), Binding::Not)
            }
            Condition::Compare(..)
            | Condition::Between(..)
            | Condition::In(..)
            | Condition::Exists(_)
            | Condition::NotExists(_)
            | Condition::Type(..)
            | Condition::BeginsWith(..)
            | Condition::Contains(..) => return self.simple_condition(condition),
        };
        if binding < place { format!("({text})") } else { text }
    }

    fn simple_condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Compare(left, comparator, right) => {
                let left = self.operand(left);
                format!("{left} {} {}", comparator.symbol(), self.operand(right))
            }
            Condition::Between(value, low, high) => {
                let (value, low) = (self.operand(value), self.operand(low));
                format!("{value} BETWEEN {low} AND {}", self.operand(high))
            }
            Condition::In(value, choices) => {
                let value = self.operand(value);
                let choices: Vec<String> = choices.iter().map(|one| self.operand(one)).collect();
                format!("{value} IN ({})", choices.join(", "))
            }
            Condition::Exists(path) => format!("attribute_exists({})", self.path(path)),
            Condition::NotExists(path) => format!("attribute_not_exists({})", self.path(path)),
            Condition::Type(value, kind) => {
                let value = self.operand(value);
                format!("attribute_type({value}, {})", self.value(&Value::from(kind.name())))
            }
            Condition::BeginsWith(value, prefix) => {
                let value = self.operand(value);
                format!("begins_with({value}, {})", self.operand(prefix))
            }
            Condition::Contains(value, element) => {
                let value = self.operand(value);
                format!("contains({value}, {})", self.operand(element))
            }
            Condition::And(..) | Condition::Or(..) | Condition::Not(_) => self.condition(condition),
        }
    }

    fn sort_condition(&mut self, name: &str, condition: &SortCondition) -> String {
        let name = self.name(name);
        match condition {
            SortCondition::Eq(value) => format!("{name} = {}", self.value(value)),
            SortCondition::Lt(value) => format!("{name} < {}", self.value(value)),
            SortCondition::Le(value) => format!("{name} <= {}", self.value(value)),
            SortCondition::Gt(value) => format!("{name} > {}", self.value(value)),
            SortCondition::Ge(value) => format!("{name} >= {}", self.value(value)),
            SortCondition::Between(low, high) => {
                let low = self.value(low);
                format!("{name} BETWEEN {low} AND {}", self.value(high))
            }
            SortCondition::BeginsWith(prefix) => {
                format!("begins_with({name}, {})", self.value(prefix))
            }
        }
    }

    fn operand(&mut self, operand: &Operand) -> String {
        match operand {
            Operand::Path(path) => self.path(path),
            Operand::Value(value) => self.value(value),
            Operand::Size(path) => format!("size({})", self.path(path)),
        }
    }

    fn set_value(&mut self, value: &SetValue) -> String {
        match value {
            SetValue::Term(term) => self.term(term),
            SetValue::Plus(left, right) => {
                let left = self.term(left);
                format!("{left} + {}", self.term(right))
            }
            SetValue::Minus(left, right) => {
                let left = self.term(left);
                format!("{left} - {}", self.term(right))
            }
        }
    }

    fn term(&mut self, term: &Term) -> String {
        match term {
            Term::Path(path) => self.path(path),
            Term::Value(value) => self.value(value),
            Term::IfNotExists(path, otherwise) => {
                let path = self.path(path);
                format!("if_not_exists({path}, {})", self.term(otherwise))
            }
            Term::ListAppend(first, second) => {
                let first = self.term(first);
                format!("list_append({first}, {})", self.term(second))
            }
        }
    }

    fn pair(&mut self, path: &Path, value: &Value) -> String {
        let path = self.path(path);
        format!("{path} {}", self.value(value))
    }

    fn path(&mut self, path: &Path) -> String {
        let mut text = self.name(&path.root);
        for step in &path.steps {
            match step {
                Step::Field(name) => {
                    text.push('.');
                    text.push_str(&self.name(name));
                }
                Step::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }

    fn name(&mut self, name: &str) -> String {
        if let Some(placeholder) = self.placeholders.get(name) {
            return placeholder.clone();
        }
        let placeholder = format!("#n{}", self.names.len());
        self.names.insert(placeholder.clone(), name.to_owned());
        self.placeholders.insert(name.to_owned(), placeholder.clone());
        placeholder
    }

    fn value(&mut self, value: &Value) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.insert(placeholder.clone(), value.clone());
        placeholder
    }
}

/// How tightly an operator binds; a looser one needs parentheses in a tighter place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
    /// Nothing but a comparison, a function or a bracket: not every reader of the language takes
    /// `NOT NOT`.
    Tight,
}

fn clause(keyword: &str, parts: Vec<String>) -> Option<String> {
    (!parts.is_empty()).then(|| format!("{keyword} {}", parts.join(", ")))
}

//! The expressions of a request, and the older parameters that they replace.
//!
//! A request uses either expressions or the older parameters. Only `KeyConditions` may be combined
//! with expressions.

use std::collections::BTreeMap;

use table::{
    Actions, Condition, KeyCondition, KeySpec, Path, Placeholders, parse_actions, parse_condition,
    parse_filter, parse_key_condition, parse_projection,
};

use super::fault::Fault;
use super::legacy::{self, Expected, Filters, Updates};
use super::read::JsonValues;

/// The placeholders for names in a request.
pub(super) type Names = BTreeMap<String, String>;

/// The placeholders of one request's expressions.
pub(super) struct Expressions {
    placeholders: Placeholders,
}

impl Expressions {
    /// Checks the placeholders. `used` are the expressions of the request, `possible` the
    /// expressions that could have used values, and `older` the parameters from before expressions.
    pub(super) fn new(
        names: Option<Names>,
        values: Option<JsonValues>,
        used: &[(&str, bool)],
        possible: &[&str],
        older: &[(&str, bool)],
    ) -> Result<Expressions, Fault> {
        let present = |all: &[(&str, bool)]| -> Vec<String> {
            all.iter().filter(|(_, is)| *is).map(|(name, _)| (*name).to_owned()).collect()
        };
        let (used, older) = (present(used), present(older));
        if !used.is_empty() && !older.is_empty() {
            return Err(Fault::invalid(format!(
                "Can not use both expression and non-expression parameters in the same request: \
                 Non-expression parameters: {{{}}} Expression parameters: {{{}}}",
                older.join(", "),
                used.join(", ")
            )));
        }
        if names.is_some() && used.is_empty() {
            return Err(Fault::invalid(
                "ExpressionAttributeNames can only be specified when using expressions",
            ));
        }
        if values.is_some() && used.is_empty() {
            let null: Vec<String> = possible.iter().map(|name| format!("{name} is null")).collect();
            return Err(Fault::invalid(format!(
                "ExpressionAttributeValues can only be specified when using expressions: {}",
                null.join(" and ")
            )));
        }
        let values = values.map(|JsonValues(values)| values);
        check_keys("ExpressionAttributeNames", '#', names.as_ref())?;
        check_keys("ExpressionAttributeValues", ':', values.as_ref())?;
        let placeholders = Placeholders::new(names.unwrap_or_default(), values.unwrap_or_default());
        placeholders.check_size()?;
        Ok(Expressions { placeholders })
    }

    pub(super) fn condition(&self, text: Option<&str>) -> Result<Option<Condition>, Fault> {
        let read = text.map(|text| parse_condition(text, &self.placeholders));
        Ok(read.transpose()?)
    }

    pub(super) fn filter(&self, text: Option<&str>) -> Result<Option<Condition>, Fault> {
        Ok(text.map(|text| parse_filter(text, &self.placeholders)).transpose()?)
    }

    pub(super) fn actions(&self, text: Option<&str>) -> Result<Option<Actions>, Fault> {
        Ok(text.map(|text| parse_actions(text, &self.placeholders)).transpose()?)
    }

    pub(super) fn projection(&self, text: Option<&str>) -> Result<Vec<Path>, Fault> {
        let read = text.map(|text| parse_projection(text, &self.placeholders));
        Ok(read.transpose()?.unwrap_or_default())
    }

    pub(super) fn key(&self, text: &str, key: &KeySpec) -> Result<KeyCondition, Fault> {
        Ok(parse_key_condition(text, &self.placeholders, key)?)
    }

    /// The same placeholders for a further part of a request whose other parts have `expanded`
    /// bytes of expressions.
    pub(super) fn after(self, expanded: usize) -> Expressions {
        Expressions { placeholders: self.placeholders.after(expanded) }
    }

    /// Refuses unused placeholders. Call it after all expressions are parsed. Returns the size of
    /// all names and values in the request's expressions so far, in bytes.
    pub(super) fn finish(&self) -> Result<usize, Fault> {
        self.placeholders.check_used()?;
        Ok(self.placeholders.expanded())
    }
}

fn check_keys<T>(what: &str, sign: char, map: Option<&BTreeMap<String, T>>) -> Result<(), Fault> {
    let Some(map) = map else { return Ok(()) };
    if map.is_empty() {
        return Err(Fault::invalid(format!("{what} must not be empty")));
    }
    let fits = |key: &&String| {
        let name = key.strip_prefix(sign);
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        name.is_some_and(|name| !name.is_empty() && name.bytes().all(letter))
    };
    match map.keys().find(|key| !fits(key)) {
        Some(key) => Err(Fault::invalid(format!(
            "{what} contains invalid key: Syntax error; key: \"{key}\""
        ))),
        None => Ok(()),
    }
}

/// The condition of a write, in either language.
pub(super) struct Conditions<'a> {
    pub(super) expression: Option<&'a str>,
    pub(super) expected: Option<Expected>,
    pub(super) operator: Option<&'a str>,
}

impl Conditions<'_> {
    /// The older parameters, and whether the request has them.
    pub(super) fn older(&self) -> [(&'static str, bool); 2] {
        [("Expected", self.expected.is_some()), ("ConditionalOperator", self.operator.is_some())]
    }

    /// For a request in which only the condition uses placeholders.
    pub(super) fn read_alone(
        self,
        names: Option<Names>,
        values: Option<JsonValues>,
    ) -> Result<Option<Condition>, Fault> {
        let used = [("ConditionExpression", self.expression.is_some())];
        let older = self.older();
        let expressions = Expressions::new(names, values, &used, &["ConditionExpression"], &older)?;
        let condition = self.read(&expressions)?;
        expressions.finish()?;
        Ok(condition)
    }

    pub(super) fn read(self, expressions: &Expressions) -> Result<Option<Condition>, Fault> {
        match self.expected {
            Some(expected) => legacy::expected(expected, self.operator),
            None if self.operator.is_some() => Err(legacy::lonely_operator()),
            None => expressions.condition(self.expression),
        }
    }
}

/// The filter of a read, in either language.
pub(super) fn filter(
    expressions: &Expressions,
    expression: Option<&str>,
    filters: Option<Filters>,
    operator: Option<&str>,
) -> Result<Option<Condition>, Fault> {
    match filters {
        Some(filters) => legacy::filters(filters, operator),
        None if operator.is_some() => Err(legacy::lonely_operator()),
        None => expressions.filter(expression),
    }
}

/// The wanted attributes, in either language.
pub(super) fn projection(
    expressions: &Expressions,
    expression: Option<&str>,
    attributes: Option<Vec<String>>,
) -> Result<Vec<Path>, Fault> {
    match attributes {
        Some(names) => legacy::attributes(names),
        None => expressions.projection(expression),
    }
}

/// The actions of an update, in either language.
pub(super) fn actions(
    expressions: &Expressions,
    expression: Option<&str>,
    updates: Option<Updates>,
) -> Result<Actions, Fault> {
    match updates {
        Some(updates) => legacy::updates(updates),
        None => Ok(expressions.actions(expression)?.unwrap_or_default()),
    }
}

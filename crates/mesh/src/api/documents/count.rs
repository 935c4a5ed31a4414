//! What a document grows to once its fragments are expanded, before anything expands them.
//!
//! A fragment that two others spread twice each counts four times, so a document of n bytes can
//! stand for 2^n fields. [`Count`] adds up what each fragment stands for once, and from then on
//! knows it: its work is linear in the document. Only a document that is small enough is expanded,
//! by [`Expansion`] and then by the library.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_graphql::Positioned;
use async_graphql::parser::types::{
    Directive, ExecutableDocument, Selection, SelectionSet, VariableDefinition,
};
use async_graphql_value::{ConstValue, Value};
use serde_json::Value as Json;

use crate::limits::{
    DEPTH_MAX, FIELDS_MAX, LEVELS_MAX, PARTS_MAX, REPEATED_FIELDS_MAX, VALUE_BYTES,
    VARIABLE_BYTES_MAX, VARIABLES_MAX,
};

/// Why a document is not validated, or a request not executed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Excess {
    /// A fragment contains itself.
    #[error("fragment `{0}` spreads itself")]
    Cycle(String),
    /// Selections and fragments are nested too deep.
    #[error("selections and fragments are more than {LEVELS_MAX} levels inside each other")]
    Levels,
    /// Fields are nested too deep.
    #[error("the document has fields inside each other {0} levels deep, more than {DEPTH_MAX}")]
    Depth(usize),
    /// It asks for too many fields.
    #[error("the document asks for {0} fields with its fragments, more than {FIELDS_MAX}")]
    Fields(usize),
    /// It has too many parts.
    #[error("the document has {0} parts with its fragments, more than {PARTS_MAX}")]
    Parts(usize),
    /// It asks for the same fields too often.
    #[error("the document repeats fields {0} times, more than {REPEATED_FIELDS_MAX}")]
    Repeated(usize),
    /// It declares too many variables.
    #[error("the document declares {0} variables, more than {VARIABLES_MAX}")]
    Variables(usize),
    /// The variables of a request, where the document uses them, are too large.
    #[error("the variables take {0} bytes where they are used, more than {VARIABLE_BYTES_MAX}")]
    VariableBytes(usize),
}

/// How often a document uses which variable.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    variables: BTreeMap<String, Use>,
}

#[derive(Debug, Default)]
struct Use {
    times: usize,
    /// Memory of the value that stands in for one that a request does not give.
    default_bytes: usize,
}

impl Uses {
    /// Checks that the variables of a request are not too large where the document uses them.
    pub(crate) fn check(&self, variables: Option<&Json>) -> Result<(), Excess> {
        let bytes = self.variables.iter().map(|(name, used)| {
            let given = variables.and_then(|variables| variables.get(name));
            used.times.saturating_mul(given.map_or(used.default_bytes, json_bytes))
        });
        let bytes = bytes.fold(0_usize, usize::saturating_add);
        if bytes > VARIABLE_BYTES_MAX { Err(Excess::VariableBytes(bytes)) } else { Ok(()) }
    }
}

/// Checks the bounds of a document, and tells how it uses its variables.
pub(super) fn check(document: &ExecutableDocument) -> Result<Uses, Excess> {
    let operations = || document.operations.iter().map(|(_, operation)| &operation.node);
    let definitions = || operations().flat_map(|operation| &operation.variable_definitions);
    let variables = definitions().count();
    if variables > VARIABLES_MAX {
        return Err(Excess::Variables(variables));
    }
    let mut count = Count { document, known: HashMap::new() };
    let mut cost = Cost::default();
    for operation in operations() {
        cost.add(count.selections(&operation.selection_set.node, 1)?);
        cost.add_parts(directives(&operation.directives));
    }
    if cost.depth > DEPTH_MAX {
        return Err(Excess::Depth(cost.depth));
    }
    if cost.fields > FIELDS_MAX {
        return Err(Excess::Fields(cost.fields));
    }
    for name in document.fragments.keys() {
        cost.add(count.fragment(name, 1)?);
    }
    for definition in definitions() {
        cost.add_parts(1 + directives(&definition.node.directives));
        cost.add_parts(default_of(&definition.node).map_or(0, |value| weigh(value).parts));
    }
    if cost.parts > PARTS_MAX {
        return Err(Excess::Parts(cost.parts));
    }
    let mut expansion = Expansion { document, uses: Uses::default(), repeated: 0 };
    for operation in operations() {
        expansion.directives(&operation.directives);
        expansion.selections(&operation.selection_set.node, &mut HashSet::new());
    }
    if expansion.repeated > REPEATED_FIELDS_MAX {
        return Err(Excess::Repeated(expansion.repeated));
    }
    let mut uses = expansion.uses;
    for definition in definitions() {
        let used = uses.variables.get_mut(definition.node.name.node.as_str());
        if let (Some(used), Some(value)) = (used, default_of(&definition.node)) {
            used.default_bytes = used.default_bytes.max(weigh(value).bytes);
        }
    }
    Ok(uses)
}

/// What selections stand for.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    fields: usize,
    parts: usize,
    /// Fields inside each other.
    depth: usize,
    /// Selections and fragments inside each other.
    levels: usize,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.fields = self.fields.saturating_add(other.fields);
        self.add_parts(other.parts);
        self.depth = self.depth.max(other.depth);
        self.levels = self.levels.max(other.levels);
    }

    fn add_parts(&mut self, parts: usize) {
        self.parts = self.parts.saturating_add(parts);
    }

    /// The same one level further in.
    fn inside(self) -> Cost {
        Cost { levels: self.levels + 1, ..self }
    }
}

/// Adds up what fragments stand for, each once.
struct Count<'d> {
    document: &'d ExecutableDocument,
    /// Fragments by name; without a cost while it is being added up.
    known: HashMap<&'d str, Option<Cost>>,
}

impl<'d> Count<'d> {
    /// The cost of selections that stand on a level, counted from 1.
    fn selections(&mut self, set: &'d SelectionSet, level: usize) -> Result<Cost, Excess> {
        // A chain of fragments is followed before its length is known.
        if level > LEVELS_MAX {
            return Err(Excess::Levels);
        }
        let mut cost = Cost { levels: 1, ..Cost::default() };
        for selection in &set.items {
            let mut one = match &selection.node {
                Selection::Field(field) if field.node.selection_set.node.items.is_empty() => {
                    Cost { fields: 1, depth: 1, ..Cost::default() }
                }
                Selection::Field(field) => {
                    let below = self.selections(&field.node.selection_set.node, level + 1)?;
                    let (fields, depth) = (below.fields.saturating_add(1), below.depth + 1);
                    Cost { fields, depth, ..below }.inside()
                }
                Selection::InlineFragment(inline) => {
                    self.selections(&inline.node.selection_set.node, level + 1)?.inside()
                }
                Selection::FragmentSpread(spread) => {
                    self.fragment(&spread.node.fragment_name.node, level + 1)?.inside()
                }
            };
            if let Selection::Field(field) = &selection.node {
                one.add_parts(arguments(&field.node.arguments));
            }
            one.add_parts(1 + directives(selection.node.directives()));
            cost.add(one);
        }
        Ok(cost)
    }

    /// The cost of a fragment that is spread on a level. One that is not defined costs nothing:
    /// validation refuses it.
    fn fragment(&mut self, name: &'d str, level: usize) -> Result<Cost, Excess> {
        match self.known.get(name) {
            Some(Some(cost)) if level + cost.levels > LEVELS_MAX + 1 => return Err(Excess::Levels),
            Some(Some(cost)) => return Ok(*cost),
            Some(None) => return Err(Excess::Cycle(name.to_owned())),
            None => {}
        }
        let Some(fragment) = self.document.fragments.get(name) else { return Ok(Cost::default()) };
        self.known.insert(name, None);
        let mut cost = self.selections(&fragment.node.selection_set.node, level)?;
        cost.add_parts(directives(&fragment.node.directives));
        self.known.insert(name, Some(cost));
        Ok(cost)
    }
}

/// Goes through a document as it is executed. Its work is what [`Count`] has bounded.
struct Expansion<'d> {
    document: &'d ExecutableDocument,
    uses: Uses,
    repeated: usize,
}

impl<'d> Expansion<'d> {
    /// Goes through selections; `names` are those of the fields before, in the same object.
    fn selections(&mut self, set: &'d SelectionSet, names: &mut HashSet<&'d str>) {
        for selection in &set.items {
            self.directives(selection.node.directives());
            match &selection.node {
                Selection::Field(field) => {
                    self.repeated += usize::from(!names.insert(&field.node.name.node));
                    for (_, value) in &field.node.arguments {
                        self.value(&value.node);
                    }
                    self.selections(&field.node.selection_set.node, &mut HashSet::new());
                }
                Selection::InlineFragment(inline) => {
                    self.selections(&inline.node.selection_set.node, names);
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    if let Some(fragment) = self.document.fragments.get(name) {
                        self.selections(&fragment.node.selection_set.node, names);
                    }
                }
            }
        }
    }

    fn directives(&mut self, directives: &[Positioned<Directive>]) {
        for (_, value) in directives.iter().flat_map(|directive| &directive.node.arguments) {
            self.value(&value.node);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Variable(name) => {
                self.uses.variables.entry(name.to_string()).or_default().times += 1;
            }
            Value::List(values) => values.iter().for_each(|value| self.value(value)),
            Value::Object(values) => values.values().for_each(|value| self.value(value)),
            Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Boolean(_)
            | Value::Binary(_)
            | Value::Enum(_) => {}
        }
    }
}

/// The parts of directives.
fn directives(directives: &[Positioned<Directive>]) -> usize {
    let each = directives.iter().map(|directive| 1 + arguments(&directive.node.arguments));
    each.sum()
}

/// The parts of arguments.
fn arguments<N>(arguments: &[(N, Positioned<Value>)]) -> usize {
    arguments.iter().map(|(_, value)| 1 + parts(&value.node)).sum()
}

/// The parts of a value.
fn parts(value: &Value) -> usize {
    match value {
        Value::List(values) => 1 + values.iter().map(parts).sum::<usize>(),
        Value::Object(values) => 1 + values.values().map(parts).sum::<usize>(),
        _ => 1,
    }
}

fn default_of(definition: &VariableDefinition) -> Option<&ConstValue> {
    definition.default_value.as_ref().map(|value| &value.node)
}

/// What a value without variables takes.
#[derive(Default)]
struct Weight {
    parts: usize,
    bytes: usize,
}

fn weigh(value: &ConstValue) -> Weight {
    let own = |text: usize| Weight { parts: 1, bytes: VALUE_BYTES + text };
    let add = |sum: Weight, one: Weight| Weight {
        parts: sum.parts + one.parts,
        bytes: sum.bytes + one.bytes,
    };
    match value {
        ConstValue::String(text) => own(text.len()),
        ConstValue::List(values) => values.iter().map(weigh).fold(own(0), add),
        ConstValue::Object(values) => {
            let names = values.keys().map(|name| name.len()).sum();
            values.values().map(weigh).fold(own(names), add)
        }
        _ => own(0),
    }
}

/// Memory of a value that a request gives.
fn json_bytes(value: &Json) -> usize {
    let inside: usize = match value {
        Json::String(text) => text.len(),
        Json::Array(values) => values.iter().map(json_bytes).sum(),
        Json::Object(values) => {
            values.iter().map(|(name, value)| name.len() + json_bytes(value)).sum()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    };
    VALUE_BYTES + inside
}

#[cfg(test)]
mod tests;

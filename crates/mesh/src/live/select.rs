//! Selections: which fields of a push a subscriber asked for, and the push through them.
//!
//! Executing GraphQL for each subscriber would cost more than everything else together. So a
//! subscription's document is validated once by the library (`schema.rs`), turned into a
//! [`Selection`], and from then on a push is written through it as text. Equal selections are
//! equal values, whatever their documents looked like.

use std::collections::HashSet;

use async_graphql::parser::parse_query;
use async_graphql::parser::types::{
    Directive, ExecutableDocument, Field, Selection as Chosen, SelectionSet,
};
use async_graphql::{Name, Variables};
use async_graphql_value::{ConstValue, Value};
use base::Timestamp;
use serde_json::to_string;

use crate::live::{Body, Push, PushedEvent};

/// A root field of a subscription, with what is selected of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Selection {
    /// The response key, as JSON with its colon.
    key: String,
    root: Root,
    fields: Vec<Selected>,
}

/// What the subscription fields give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    /// `onMessageInGroup`
    Message,
    /// `onDataUpdateInGroup`
    DataUpdate,
    /// `onBatchEventInGroup`
    BatchEvent,
    /// `onGroupDissolve`
    Dissolve,
}

impl Root {
    /// The root field of that name.
    pub(crate) fn named(name: &str) -> Option<Root> {
        match name {
            "onMessageInGroup" => Some(Root::Message),
            "onDataUpdateInGroup" => Some(Root::DataUpdate),
            "onBatchEventInGroup" => Some(Root::BatchEvent),
            "onGroupDissolve" => Some(Root::Dissolve),
            _ => None,
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Root::Message => "MeshMessage",
            Root::DataUpdate => "NodeStatus",
            Root::BatchEvent => "BatchEvent",
            Root::Dissolve => "GroupDissolvePayload",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Selected {
    /// The response key, as JSON with its colon.
    key: String,
    name: String,
    fields: Vec<Selected>,
}

/// Where a selection is taken from.
pub(crate) struct Source<'a> {
    pub(crate) document: &'a ExecutableDocument,
    pub(crate) variables: &'a Variables,
}

impl Selection {
    /// The selection of a validated subscription's root field.
    pub(crate) fn of(source: &Source<'_>, field: &Field) -> Option<Selection> {
        let root = Root::named(&field.name.node)?;
        let fields = source.fields(&field.selection_set.node, root.type_name());
        Some(Selection { key: response_key(field), root, fields })
    }

    /// Everything that there is.
    pub(crate) fn whole() -> Selection {
        const DOCUMENT: &str = "subscription { onMessageInGroup {
            groupId domain
            nodeStatus { nodeId groupId domain data { key value } timestamp }
            batchEvent {
                events {
                    name firedByNodeId groupId domain payload timestamp cursor orderKey
                }
                firedByNodeId groupId domain timestamp
            }
            groupDissolve { groupId domain message }
        } }";
        let document = parse_query(DOCUMENT).expect("the document is good GraphQL");
        let source = Source { document: &document, variables: &Variables::default() };
        let operation = document.operations.iter().next().map(|(_, operation)| operation);
        let items = operation.map(|operation| &operation.node.selection_set.node.items);
        let selection =
            items.and_then(|items| items.first()).and_then(|chosen| match &chosen.node {
                Chosen::Field(field) => Selection::of(&source, &field.node),
                Chosen::InlineFragment(_) | Chosen::FragmentSpread(_) => None,
            });
        selection.expect("the document has one field of the schema")
    }

    /// The `payload` of a push, or nothing if this selection has nothing to do with it.
    pub(crate) fn render(&self, push: &Push) -> Option<String> {
        let mut out = String::with_capacity(256);
        out.push_str("{\"data\":{");
        out.push_str(&self.key);
        let writer = Writer { push };
        match (self.root, &push.body) {
            (Root::Message, _) => writer.message(&self.fields, &mut out),
            (Root::DataUpdate, Body::Status { .. }) => writer.status(&self.fields, &mut out),
            (Root::BatchEvent, Body::Events { .. }) => writer.batch(&self.fields, &mut out),
            (Root::Dissolve, Body::Dissolve { .. }) => writer.dissolve(&self.fields, &mut out),
            (Root::DataUpdate | Root::BatchEvent | Root::Dissolve, _) => return None,
        }
        out.push_str("}}");
        Some(out)
    }
}

impl Source<'_> {
    fn fields(&self, set: &SelectionSet, type_name: &str) -> Vec<Selected> {
        let mut fields = Vec::new();
        self.collect(set, type_name, &mut HashSet::new(), &mut fields);
        fields
    }

    /// Fields in the order in which they are answered; the same response key once, with all that
    /// is selected of it.
    fn collect(
        &self,
        set: &SelectionSet,
        type_name: &str,
        spread: &mut HashSet<Name>,
        into: &mut Vec<Selected>,
    ) {
        for chosen in &set.items {
            match &chosen.node {
                Chosen::Field(field) => {
                    if self.is_wanted(field.node.directives.iter().map(|d| &d.node)) {
                        self.add(&field.node, type_name, into);
                    }
                }
                Chosen::InlineFragment(inline) => {
                    let on = inline.node.type_condition.as_ref();
                    let fits = on.is_none_or(|on| on.node.on.node == type_name);
                    if fits && self.is_wanted(inline.node.directives.iter().map(|d| &d.node)) {
                        self.collect(&inline.node.selection_set.node, type_name, spread, into);
                    }
                }
                Chosen::FragmentSpread(named) => {
                    let name = &named.node.fragment_name.node;
                    let wanted = self.is_wanted(named.node.directives.iter().map(|d| &d.node));
                    let Some(fragment) = self.document.fragments.get(name) else { continue };
                    let fits = fragment.node.type_condition.node.on.node == type_name;
                    if wanted && fits && spread.insert(name.clone()) {
                        self.collect(&fragment.node.selection_set.node, type_name, spread, into);
                    }
                }
            }
        }
    }

    fn add(&self, field: &Field, type_name: &str, into: &mut Vec<Selected>) {
        let name = field.name.node.to_string();
        let below = type_of(type_name, &name);
        let set = &field.selection_set.node;
        let fields = below.map_or_else(Vec::new, |below| self.fields(set, below));
        let key = response_key(field);
        match into.iter_mut().find(|known| known.key == key) {
            None => into.push(Selected { key, name, fields }),
            Some(known) => merge(&mut known.fields, fields),
        }
    }

    /// Whether `@skip` and `@include` let it be.
    fn is_wanted<'d>(&self, directives: impl Iterator<Item = &'d Directive>) -> bool {
        let mut wanted = true;
        for directive in directives {
            let holds =
                directive.get_argument("if").is_some_and(|condition| match &condition.node {
                    Value::Boolean(holds) => *holds,
                    Value::Variable(name) => {
                        matches!(self.variables.get(name), Some(ConstValue::Boolean(true)))
                    }
                    _ => false,
                });
            match directive.name.node.as_str() {
                "skip" => wanted &= !holds,
                "include" => wanted &= holds,
                _ => {}
            }
        }
        wanted
    }
}

fn merge(known: &mut Vec<Selected>, more: Vec<Selected>) {
    for field in more {
        match known.iter_mut().find(|held| held.key == field.key) {
            None => known.push(field),
            Some(held) => merge(&mut held.fields, field.fields),
        }
    }
}

fn response_key(field: &Field) -> String {
    let key = field.alias.as_ref().unwrap_or(&field.name);
    format!("\"{}\":", key.node)
}

/// The type of a field that is an object.
fn type_of(type_name: &str, field: &str) -> Option<&'static str> {
    match (type_name, field) {
        ("MeshMessage", "nodeStatus") => Some("NodeStatus"),
        ("MeshMessage", "batchEvent") => Some("BatchEvent"),
        ("MeshMessage", "groupDissolve") => Some("GroupDissolvePayload"),
        ("MeshMessage" | "NodeStatus", "data") => Some("SensorData"),
        ("MeshMessage" | "BatchEvent", "events") => Some("Event"),
        _ => None,
    }
}

/// Writes a push as JSON through selections. The names were validated before: one that is not
/// known here is null.
struct Writer<'a> {
    push: &'a Push,
}

impl Writer<'_> {
    fn message(&self, fields: &[Selected], out: &mut String) {
        object(fields, out, |field, out| match (field.name.as_str(), &self.push.body) {
            ("__typename", _) => out.push_str("\"MeshMessage\""),
            ("nodeStatus", Body::Status { .. }) => self.status(&field.fields, out),
            ("batchEvent", Body::Events { .. }) => self.batch(&field.fields, out),
            ("groupDissolve", Body::Dissolve { .. }) => self.dissolve(&field.fields, out),
            ("nodeId" | "data" | "timestamp", Body::Status { .. }) => self.status_field(field, out),
            ("events" | "firedByNodeId" | "timestamp", Body::Events { .. }) => {
                self.batch_field(field, out);
            }
            ("message", Body::Dissolve { message }) => text(message, out),
            (name, _) => self.common(name, out),
        });
    }

    fn status(&self, fields: &[Selected], out: &mut String) {
        object(fields, out, |field, out| match field.name.as_str() {
            "__typename" => out.push_str("\"NodeStatus\""),
            "nodeId" | "data" | "timestamp" => self.status_field(field, out),
            name => self.common(name, out),
        });
    }

    fn status_field(&self, field: &Selected, out: &mut String) {
        let Body::Status { node_id, data, timestamp_ms, .. } = &self.push.body else {
            return out.push_str("null");
        };
        match field.name.as_str() {
            "nodeId" => text(node_id, out),
            "timestamp" => time(*timestamp_ms, out),
            _ => list(data, out, |(key, value), out| {
                object(&field.fields, out, |field, out| match field.name.as_str() {
                    "__typename" => out.push_str("\"SensorData\""),
                    "key" => text(key, out),
                    "value" => text(value, out),
                    _ => out.push_str("null"),
                });
            }),
        }
    }

    fn batch(&self, fields: &[Selected], out: &mut String) {
        object(fields, out, |field, out| match field.name.as_str() {
            "__typename" => out.push_str("\"BatchEvent\""),
            "events" | "firedByNodeId" | "timestamp" => self.batch_field(field, out),
            name => self.common(name, out),
        });
    }

    fn batch_field(&self, field: &Selected, out: &mut String) {
        let Body::Events { fired_by, events, timestamp_ms } = &self.push.body else {
            return out.push_str("null");
        };
        match field.name.as_str() {
            "firedByNodeId" => text(fired_by, out),
            "timestamp" => time(*timestamp_ms, out),
            _ => list(events, out, |event, out| self.event(event, &field.fields, out)),
        }
    }

    fn event(&self, event: &PushedEvent, fields: &[Selected], out: &mut String) {
        object(fields, out, |field, out| match field.name.as_str() {
            "__typename" => out.push_str("\"Event\""),
            "name" => text(&event.name, out),
            "firedByNodeId" => text(&event.fired_by, out),
            "payload" => maybe(event.payload.as_deref(), out),
            "timestamp" => time(event.timestamp_ms, out),
            "cursor" => text(&event.cursor, out),
            "orderKey" => maybe(event.order_key.as_deref(), out),
            name => self.common(name, out),
        });
    }

    fn dissolve(&self, fields: &[Selected], out: &mut String) {
        object(fields, out, |field, out| match (field.name.as_str(), &self.push.body) {
            ("__typename", _) => out.push_str("\"GroupDissolvePayload\""),
            ("message", Body::Dissolve { message }) => text(message, out),
            (name, _) => self.common(name, out),
        });
    }

    fn common(&self, name: &str, out: &mut String) {
        match name {
            "groupId" => text(&self.push.group_id, out),
            "domain" => text(&self.push.domain, out),
            _ => out.push_str("null"),
        }
    }
}

fn object(fields: &[Selected], out: &mut String, write: impl Fn(&Selected, &mut String)) {
    out.push('{');
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        out.push_str(&field.key);
        write(field, out);
    }
    out.push('}');
}

fn list<T>(items: &[T], out: &mut String, write: impl Fn(&T, &mut String)) {
    out.push('[');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

fn text(text: &str, out: &mut String) {
    out.push_str(&to_string(text).expect("a text always has a JSON form"));
}

fn maybe(optional: Option<&str>, out: &mut String) {
    match optional {
        Some(some) => text(some, out),
        None => out.push_str("null"),
    }
}

fn time(millis: u64, out: &mut String) {
    text(&Timestamp::from_millis(millis).to_string(), out);
}

//! Schemas in words, with links, and an example of each.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::page::text;
use super::words::Words;

/// How deep an example goes: a schema may hold itself.
const DEPTH_MAX: usize = 6;

/// A named schema.
pub(super) fn render(room: &str, name: &str, schema: &Value, words: &Words) -> Markup {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|list| list.iter().any(|word| word == name));
    html! {
        article .schema #{ (room) "-schema-" (name) } {
            h4 { (name) }
            @if let Some(description) = text(Some(schema), "description") { p lang="en" { (description) } }
            @if let Some(properties) = properties {
                div .wide tabindex="0" { table {
                    thead { tr {
                        th scope="col" { (words.member) } th scope="col" { (words.kind) }
                        th scope="col" { (words.meaning) }
                    } }
                    tbody {
                        @for (name, property) in properties {
                            tr {
                                td {
                                    code { (name) }
                                    @if is_required(name) { " " span .required { (words.required) } }
                                }
                                td { (kind(room, Some(property), words)) }
                                td lang="en" { (text(Some(property), "description").unwrap_or_default()) }
                            }
                        }
                    }
                } }
            } @else {
                p { (kind(room, Some(schema), words)) }
            }
            details {
                summary { (words.as_schema) }
                pre { code { (pretty(schema)) } }
            }
        }
    }
}

/// What a value is, in a few words.
pub(super) fn kind(room: &str, schema: Option<&Value>, words: &Words) -> Markup {
    let Some(schema) = schema else { return html! {} };
    if let Some(name) = text(Some(schema), "$ref").and_then(|path| path.rsplit('/').next()) {
        return html! { a href={ "#" (room) "-schema-" (name) } { (name) } };
    }
    for (key, word) in [("oneOf", words.or), ("anyOf", words.or), ("allOf", words.and)] {
        if let Some(list) = schema.get(key).and_then(Value::as_array) {
            return html! {
                @for (index, part) in list.iter().enumerate() {
                    @if index > 0 { (word) }
                    (kind(room, Some(part), words))
                }
            };
        }
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        return html! {
            @for (index, value) in list.iter().enumerate() {
                @if index > 0 { " | " }
                code { (value.to_string()) }
            }
        };
    }
    let types = types(schema);
    html! {
        @if types.contains(&"array") {
            (words.list_of.0) (kind(room, schema.get("items"), words)) (words.list_of.1)
        } @else {
            (types.join(words.or))
        }
        @if let Some(format) = text(Some(schema), "format") { " (" (format) ")" }
        @for (key, sign) in [("minimum", "≥"), ("maximum", "≤"), ("minLength", "length ≥"), ("maxLength", "length ≤"), ("maxItems", "items ≤"), ("pattern", "like")] {
            @if let Some(bound) = schema.get(key) {
                ", " (sign) " " (bound.as_str().map_or_else(|| bound.to_string(), str::to_owned))
            }
        }
    }
}

/// A value that the schema allows, as far as it tells.
pub(super) fn example(api: &Value, schema: Option<&Value>) -> Value {
    example_within(api, schema, DEPTH_MAX)
}

fn example_within(api: &Value, schema: Option<&Value>, depth: usize) -> Value {
    let Some(schema) = schema.filter(|_| depth > 0) else { return Value::Null };
    let within = |schema: Option<&Value>| example_within(api, schema, depth - 1);
    if let Some(example) = schema.get("example").or_else(|| schema.get("default")) {
        return example.clone();
    }
    if let Some(example) = schema.pointer("/examples/0").or_else(|| schema.pointer("/enum/0")) {
        return example.clone();
    }
    if let Some(path) = text(Some(schema), "$ref") {
        return within(api.pointer(path.trim_start_matches('#')));
    }
    for key in ["oneOf", "anyOf"] {
        let list = schema.get(key).and_then(Value::as_array);
        if let Some(part) = list.and_then(|list| list.iter().find(|part| types(part) != ["null"])) {
            return within(Some(part));
        }
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        let parts = parts.iter().map(|part| within(Some(part)));
        return parts
            .filter_map(|part| part.as_object().cloned())
            .flatten()
            .collect::<Map<_, _>>()
            .into();
    }
    match types(schema).first().copied() {
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let members = properties.into_iter().flatten();
            members
                .map(|(name, part)| (name.clone(), within(Some(part))))
                .collect::<Map<_, _>>()
                .into()
        }
        Some("array") => Value::Array(vec![within(schema.get("items"))]),
        Some("string") => Value::from("text"),
        Some("integer" | "number") => Value::from(1),
        Some("boolean") => Value::from(true),
        Some(_) | None => Value::Null,
    }
}

/// The schema's types; OpenAPI 3.1 allows one or a list.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(_) | None if schema.get("properties").is_some() => vec!["object"],
        Some(_) | None => vec!["any"],
    }
}

fn pretty(schema: &Value) -> String {
    serde_json::to_string_pretty(schema).expect("what was JSON is JSON")
}

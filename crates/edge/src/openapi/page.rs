//! The page: rooms, their operations, their schemas.

use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::graphql::{Field, GraphQl, Types, base as base_type};
use super::operation::{self, Operation};
use super::words::Words;
use super::{Document, Documents, ICON_PATH, path, schema, trial};
use crate::Language;

pub(super) fn render(documents: &Documents, words: &Words, base: &str) -> Markup {
    // A room that describes nothing has nothing to show.
    let shows =
        |document: &&Document| document.graphql.is_some() || !operations(document).is_empty();
    let shown = || documents.list.iter().filter(shows);
    html! {
        (DOCTYPE)
        html lang=(words.language.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (words.title) " · Nagaya" }
                link rel="icon" type="image/svg+xml" href=(ICON_PATH);
                link rel="stylesheet" href=(documents.style_path);
                script type="module" src=(documents.module_path) {}
            }
            body data-said=(words.said()) {
                a .skip href="#content" { (words.skip) }
                nav aria-label=(words.rooms) {
                    p .brand { a href="/" title=(words.home) { "長屋 " span { "Nagaya" } } }
                    p .languages { @for other in Language::ALL {
                        a href={ "?lang=" (other.tag()) } lang=(other.tag()) hreflang=(other.tag())
                            aria-current=[(other == words.language).then_some("true")] { (other.name()) }
                    } }
                    @for document in shown() { (index(document, words)) }
                }
                main #content {
                    header {
                        h1 { (words.heading) }
                        p { (words.lead) }
                        p { (words.base) " " code { (base) } }
                        div .toolbar .scripted role="search" {
                            label .unseen for="search" { (words.search) }
                            input #search type="search" placeholder=(words.search) autocomplete="off" spellcheck="false";
                            button #unfold type="button" { (words.unfold) }
                            button #fold type="button" { (words.fold) }
                        }
                        p #found .soft role="status" {}
                    }
                    @for document in shown() { (room(document, words, base)) }
                }
            }
        }
    }
}

fn index(document: &Document, words: &Words) -> Markup {
    html! {
        h2 { a href={ "#" (document.room) } { (title(document, words)) } }
        ul {
            @for operation in operations(document) {
                li {
                    a href={ "#" (operation.anchor) } {
                        span .method .{ "m-" (operation.method) } { (operation.method) }
                        " " (operation.path)
                    }
                }
            }
            @if let Some(graphql) = &document.graphql {
                @let types = Types::read(&graphql.sdl);
                @for (root, _, kind) in roots(words) { @for field in types.fields(root) {
                    li { a href={ "#" (document.room) "-" (kind) "-" (field.name) } {
                        span .method .{ "m-" (kind) } { (kind) } " " (field.name)
                    } }
                } }
            }
        }
    }
}

fn room(document: &Document, words: &Words, base: &str) -> Markup {
    let info = document.api.get("info");
    let schemas = document.api.pointer("/components/schemas").and_then(Value::as_object);
    let all = operations(document);
    html! {
        section .room #(document.room) {
            h2 { (title(document, words)) }
            p .about {
                @if let Some(version) = text(info, "version") {
                    span .version { (words.version) " " (version) } " "
                }
                @if !all.is_empty() { a href=(path(document.room)) { (path(document.room)) } }
            }
            @match (words.language, document.japanese) {
                (Language::Ja, Some((_, purpose))) => p { (purpose) },
                (Language::Ja | Language::En, _) => {
                    @if let Some(about) = text(info, "description") { p lang="en" { (about) } }
                    @else if let Some(schema) = &document.graphql { p lang="en" { (schema.about) } }
                }
            }
            (trial::credentials(document, words))
            @if let Some(schema) = &document.graphql { (graphql(document, schema, words)) }
            @for operation in &all { (operation::render(operation, document, words, base)) }
            @if let Some(schemas) = schemas.filter(|schemas| !all.is_empty() && !schemas.is_empty()) {
                details .schemas {
                    summary { h3 { (words.schemas) " (" (schemas.len()) ")" } }
                    @for (name, schema) in schemas { (schema::render(document.room, name, schema, words)) }
                }
            }
        }
    }
}

/// The root types of GraphQL: the type, what it is called here, and its word in a document.
fn roots(words: &Words) -> [(&'static str, &'static str, &'static str); 3] {
    [
        ("Query", words.queries, "query"),
        ("Mutation", words.mutations, "mutation"),
        ("Subscription", words.subscriptions, "subscription"),
    ]
}

/// A GraphQL interface: its operations in groups, and the schema.
fn graphql(document: &Document, schema: &GraphQl, words: &Words) -> Markup {
    let types = Types::read(&schema.sdl);
    html! {
        p {
            code { "POST " (schema.endpoint) } " "
            a href=(schema.schema) download="schema.graphql" { (words.download) }
        }
        @for (root, called, kind) in roots(words) {
            @let fields = types.fields(root);
            @if !fields.is_empty() {
                h3 .group { (called) }
                @for field in fields {
                    (graphql_field(document, schema, &types, kind, field, words))
                }
            }
        }
        details .schemas {
            summary { h3 { (words.whole_schema) } }
            pre tabindex="0" { code { (schema.sdl) } }
        }
    }
}

fn graphql_field(
    document: &Document,
    schema: &GraphQl,
    types: &Types,
    kind: &str,
    field: &Field,
    words: &Words,
) -> Markup {
    let sent = types.document(kind, field);
    let variables = types.variables(field);
    let variables = serde_json::to_string_pretty(&variables).expect("what was JSON is JSON");
    let searched = format!("{kind} {} {}", field.name, field.about).to_lowercase();
    html! {
        details .operation #{ (document.room) "-" (kind) "-" (field.name) } data-words=(searched) {
            summary {
                h3 {
                    span .method .{ "m-" (kind) } { (kind) }
                    " " code { (field.name) }
                }
                span .summary lang="en" { (field.about) }
            }
            @if !field.arguments.is_empty() {
                h4 { (words.parameters) }
                dl .answers { @for (name, of) in &field.arguments {
                    dt { code { (name) } } dd { code { (of) } }
                } }
            }
            h4 { (words.answer) }
            p { code { (field.answer) } }
            @if !types.fields(base_type(&field.answer)).is_empty() {
                ul .contents { @for member in types.fields(base_type(&field.answer)) {
                    li { code { (member.name) ": " (member.answer) } " " span lang="en" { (member.about) } }
                } }
            }
            @if kind == "subscription" {
                p .soft { (words.by_socket) }
                pre tabindex="0" { code { (sent) } }
            } @else {
                (trial::graphql(schema.endpoint, document.room, &format!("{kind} {}", field.name),
                    [&sent, &variables], kind == "mutation", words))
            }
        }
    }
}

fn operations(document: &Document) -> Vec<Operation<'_>> {
    let paths = document.api.get("paths").and_then(Value::as_object);
    paths
        .into_iter()
        .flatten()
        .flat_map(|(path, item)| Operation::all(document.room, path, item))
        .collect()
}

fn title<'d>(document: &'d Document, words: &Words) -> &'d str {
    if let (Language::Ja, Some((title, _))) = (words.language, document.japanese) {
        return title;
    }
    let named = || document.graphql.as_ref().map(|schema| schema.title);
    text(document.api.get("info"), "title").or_else(named).unwrap_or(document.room)
}

/// A text member that says something.
pub(super) fn text<'v>(value: Option<&'v Value>, key: &str) -> Option<&'v str> {
    value?.get(key)?.as_str().filter(|text| !text.is_empty())
}

//! The page: rooms, their operations, their schemas.

use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::operation::{self, Operation};
use super::{Document, Documents, ICON_PATH, path, schema};

pub(super) fn render(documents: &Documents, base: &str) -> Markup {
    // A room that describes nothing has nothing to show.
    let shown = || documents.list.iter().filter(|document| !operations(document).is_empty());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "The house's interfaces" }
                link rel="icon" type="image/svg+xml" href=(ICON_PATH);
                link rel="stylesheet" href=(documents.style_path);
            }
            body {
                a .skip href="#content" { "Skip to the content" }
                nav aria-label="Rooms" {
                    p .brand { "長屋 " span { "Nagaya" } }
                    @for document in shown() { (index(document)) }
                }
                main #content {
                    header {
                        h1 { "Interfaces" }
                        p {
                            "Every room of this house describes itself in OpenAPI 3.1. "
                            "This page shows the same documents. Base address: "
                            code { (base) } "."
                        }
                    }
                    @for document in shown() { (room(document, base)) }
                }
            }
        }
    }
}

fn index(document: &Document) -> Markup {
    html! {
        h2 { a href={ "#" (document.room) } { (title(document)) } }
        ul {
            @for operation in operations(document) {
                li {
                    a href={ "#" (operation.anchor) } {
                        span .method .{ "m-" (operation.method) } { (operation.method) }
                        " " (operation.path)
                    }
                }
            }
        }
    }
}

fn room(document: &Document, base: &str) -> Markup {
    let info = document.api.get("info");
    let schemas = document.api.pointer("/components/schemas").and_then(Value::as_object);
    html! {
        section .room #(document.room) {
            h2 { (title(document)) }
            p .about {
                @if let Some(version) = text(info, "version") {
                    span .version { "version " (version) } " "
                }
                a href=(path(document.room)) { (path(document.room)) }
            }
            @if let Some(description) = text(info, "description") { p { (description) } }
            @for operation in operations(document) {
                (operation::render(&operation, document, base))
            }
            @if let Some(schemas) = schemas.filter(|schemas| !schemas.is_empty()) {
                h3 { "Schemas" }
                @for (name, schema) in schemas { (schema::render(document.room, name, schema)) }
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

fn title(document: &Document) -> &str {
    text(document.api.get("info"), "title").unwrap_or(document.room)
}

/// A text member that says something.
pub(super) fn text<'v>(value: Option<&'v Value>, key: &str) -> Option<&'v str> {
    value?.get(key)?.as_str().filter(|text| !text.is_empty())
}

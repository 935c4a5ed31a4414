//! The page: rooms, their operations, their schemas.

use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::operation::{self, Operation};
use super::words::Words;
use super::{Document, Documents, ICON_PATH, path, schema};
use crate::Language;

pub(super) fn render(documents: &Documents, words: &Words, base: &str) -> Markup {
    // A room that describes nothing has nothing to show.
    let shown = || documents.list.iter().filter(|document| !operations(document).is_empty());
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
            }
            body {
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
        }
    }
}

fn room(document: &Document, words: &Words, base: &str) -> Markup {
    let info = document.api.get("info");
    let schemas = document.api.pointer("/components/schemas").and_then(Value::as_object);
    html! {
        section .room #(document.room) {
            h2 { (title(document, words)) }
            p .about {
                @if let Some(version) = text(info, "version") {
                    span .version { (words.version) " " (version) } " "
                }
                a href=(path(document.room)) { (path(document.room)) }
            }
            @match (words.language, document.japanese) {
                (Language::Ja, Some((_, purpose))) => p { (purpose) },
                (Language::Ja | Language::En, _) =>
                    @if let Some(about) = text(info, "description") { p lang="en" { (about) } },
            }
            @for operation in operations(document) {
                (operation::render(&operation, document, words, base))
            }
            @if let Some(schemas) = schemas.filter(|schemas| !schemas.is_empty()) {
                h3 { (words.schemas) }
                @for (name, schema) in schemas { (schema::render(document.room, name, schema, words)) }
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
    text(document.api.get("info"), "title").unwrap_or(document.room)
}

/// A text member that says something.
pub(super) fn text<'v>(value: Option<&'v Value>, key: &str) -> Option<&'v str> {
    value?.get(key)?.as_str().filter(|text| !text.is_empty())
}

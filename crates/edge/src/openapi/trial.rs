//! The forms by which the page sends calls. They are nothing without the module (`page.js`), so
//! they are not shown without it.

use maud::{Markup, html};
use serde_json::Value;

use super::Document;
use super::operation::{self, Operation};
use super::page::text;
use super::words::Words;

/// Methods that change nothing: their calls are sent without a question.
const SAFE: [&str; 3] = ["get", "head", "options"];

/// What a room's calls present, for all of its forms together. It stays in the page.
pub(super) fn credentials(document: &Document, words: &Words) -> Markup {
    let schemes = document.api.pointer("/components/securitySchemes").and_then(Value::as_object);
    let graphql = document.graphql.is_some().then_some(("key", "x-api-key", ""));
    let headers = schemes.into_iter().flatten().filter_map(|(name, scheme)| {
        let (header, prefix) = header(scheme)?;
        Some((name.as_str(), header, prefix))
    });
    let fields: Vec<_> = headers.chain(graphql).collect();
    let has_cookie = schemes.is_some_and(|schemes| schemes.contains_key("operator"));
    html! {
        @if !fields.is_empty() {
            fieldset .credentials .scripted {
                legend { (words.credentials) }
                p .soft { (words.credentials_hint) }
                @if has_cookie {
                    p .soft { (words.operator_hint) " " a href="/console/sign-in?next=/openapi" { (words.sign_in) } }
                }
                div .fields { @for (name, header, prefix) in fields {
                    label {
                        span { (scheme_name(name, words)) " " code { (header) } }
                        input type="password" autocomplete="off" spellcheck="false"
                            data-room=(document.room) data-scheme=(name)
                            data-header=(header) data-prefix=(prefix);
                    }
                } }
            }
        }
    }
}

/// The header of a scheme, and what stands in it before the secret.
fn header(scheme: &Value) -> Option<(&str, &'static str)> {
    match (text(Some(scheme), "type")?, text(Some(scheme), "in"), text(Some(scheme), "scheme")) {
        ("apiKey", Some("header"), _) => Some((text(Some(scheme), "name")?, "")),
        ("http", _, Some(word)) if word.eq_ignore_ascii_case("bearer") => {
            Some(("authorization", "Bearer "))
        }
        _ => None,
    }
}

/// A scheme as people call it.
pub(super) fn scheme_name<'n>(name: &'n str, words: &Words) -> &'n str {
    let known = words.schemes.iter().find(|(known, _)| *known == name);
    known.map_or(name, |(_, called)| called)
}

/// The form of one operation.
pub(super) fn form(operation: &Operation<'_>, document: &Document, words: &Words) -> Markup {
    // A socket is no answer that a page can show.
    if operation.answers("101") {
        return html! {};
    }
    let schemes = operation.schemes(document).join(" ");
    let content = operation.content();
    let is_safe = SAFE.contains(&operation.method);
    let question = words
        .ask
        .replace("{call}", &format!("{} {}", operation.method.to_uppercase(), operation.path));
    html! {
        form .trial .scripted data-method=(operation.method) data-path=(operation.path)
            data-room=(document.room) data-schemes=(schemes)
            data-media=[content.as_ref().map(|(media, _)| *media)]
            data-ask=[(!is_safe).then_some(question)] {
            h4 { (words.try_it) }
            @if !operation.parameters.is_empty() {
                div .fields { @for parameter in &operation.parameters {
                    (field(parameter, document, words))
                } }
            }
            @if let Some((media, example)) = &content {
                label .wide-field {
                    span { (words.body) " " code { (media) } }
                    textarea name="body" spellcheck="false" rows=(lines(example)) { (example) }
                }
            }
            (send(&format!("{} {}", operation.method.to_uppercase(), operation.path), words))
        }
    }
}

/// The form of a GraphQL operation.
pub(super) fn graphql(
    endpoint: &str,
    room: &str,
    name: &str,
    [document, variables]: [&str; 2],
    asks: bool,
    words: &Words,
) -> Markup {
    let question = words.ask.replace("{call}", name);
    html! {
        form .trial .scripted data-method="post" data-path=(endpoint) data-room=(room)
            data-schemes="key" data-media="application/json" data-graphql="true"
            data-ask=[asks.then_some(question)] {
            h4 { (words.try_it) }
            label .wide-field {
                span { (words.document) }
                textarea name="document" spellcheck="false" rows=(lines(document)) { (document) }
            }
            label .wide-field {
                span { (words.variables) }
                textarea name="variables" spellcheck="false" rows=(lines(variables)) { (variables) }
            }
            (send(name, words))
        }
    }
}

fn send(call: &str, words: &Words) -> Markup {
    html! {
        p .row {
            button type="submit" { (words.send) span .unseen { " " (call) } }
            button type="button" .stop hidden { (words.stop) span .unseen { " " (call) } }
        }
        div .outcome hidden {
            p .status role="status" {}
            details { summary { (words.headers) } pre .headers tabindex="0" {} }
            pre .answer tabindex="0" role="group" aria-label=(words.answer) {}
        }
    }
}

fn field(parameter: &Value, document: &Document, words: &Words) -> Markup {
    let is_required = operation::is_required(parameter);
    let (name, place) = (
        text(Some(parameter), "name").unwrap_or_default(),
        text(Some(parameter), "in").unwrap_or_default(),
    );
    let value = match (operation::example(parameter, document), is_required) {
        (Some(example), true) => example,
        (_, _) => String::new(),
    };
    html! {
        label {
            span {
                code { (name) } " " span .soft { (place) }
                @if is_required { " " span .required { (words.required) } }
            }
            input name=(name) data-in=(place) value=(value) required[is_required]
                autocomplete="off" spellcheck="false";
        }
    }
}

/// As high as its text, within reason.
fn lines(text: &str) -> usize {
    text.lines().count().clamp(2, 20)
}

//! One operation: what it takes, what it answers, and how to try it.

use maud::{Markup, html};
use serde_json::Value;

use super::page::text;
use super::words::Words;
use super::{Document, schema, trial};

/// The methods of a path item; its other members describe the path.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

pub(super) struct Operation<'v> {
    pub(super) method: &'static str,
    pub(super) path: &'v str,
    pub(super) anchor: String,
    value: &'v Value,
    /// Those of the whole path, and its own.
    pub(super) parameters: Vec<&'v Value>,
}

impl<'v> Operation<'v> {
    /// All operations at one path.
    pub(super) fn all(room: &str, path: &'v str, item: &'v Value) -> Vec<Operation<'v>> {
        let parameters = |value: &'v Value| {
            value.get("parameters").and_then(Value::as_array).into_iter().flatten()
        };
        let operation = |method: &'static str| {
            let value = item.get(method)?;
            let word: String = path
                .chars()
                .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
                .collect();
            let parameters = parameters(item).chain(parameters(value)).collect();
            Some(Operation {
                method,
                path,
                anchor: format!("{room}-{method}{word}"),
                value,
                parameters,
            })
        };
        METHODS.into_iter().filter_map(operation).collect()
    }

    fn parameters_in(&self, place: &str) -> impl Iterator<Item = &'v Value> {
        self.parameters.iter().copied().filter(move |p| text(Some(p), "in") == Some(place))
    }
}

impl<'v> Operation<'v> {
    /// Whether an answer of this status is described.
    pub(super) fn answers(&self, status: &str) -> bool {
        self.value.get("responses").is_some_and(|responses| responses.get(status).is_some())
    }

    /// The schemes of which a caller needs one. A name that is empty is for everyone.
    pub(super) fn schemes(&self, document: &'v Document) -> Vec<&'v str> {
        let needed = self.value.get("security").or_else(|| document.api.get("security"));
        let needed = needed.and_then(Value::as_array).into_iter().flatten();
        let first = |one: &'v Value| one.as_object().map(|one| one.keys().next());
        needed.filter_map(first).map(|name| name.map_or("", String::as_str)).collect()
    }

    /// The media type of the body, and an example of it as text.
    pub(super) fn content(&self) -> Option<(&'v str, String)> {
        let contents = self.value.pointer("/requestBody/content").and_then(Value::as_object)?;
        let (media, content) = contents.iter().next()?;
        let example = content.get("example").cloned().unwrap_or_default();
        let text = match example {
            Value::String(text) => text,
            other => serde_json::to_string_pretty(&other).expect("what was JSON is JSON"),
        };
        Some((media, text))
    }
}

pub(super) fn render(
    operation: &Operation<'_>,
    document: &Document,
    words: &Words,
    base: &str,
) -> Markup {
    let value = Some(operation.value);
    let is_deprecated = operation.value.get("deprecated").and_then(Value::as_bool) == Some(true);
    let summary = text(value, "summary").or_else(|| text(value, "description")).unwrap_or_default();
    let searched = format!("{} {} {summary}", operation.method, operation.path).to_lowercase();
    html! {
        details .operation #(operation.anchor) data-words=(searched) {
            summary {
                h3 {
                    span .method .{ "m-" (operation.method) } { (operation.method) }
                    " " code { (operation.path) }
                    @if is_deprecated { " " span .deprecated { (words.deprecated) } }
                }
                span .summary lang="en" { (summary) }
            }
            @if let Some(description) = text(value, "description").filter(|text| *text != summary) {
                p lang="en" { (description) }
            }
            (callers(operation, document, words))
            (parameters(operation, document, words))
            (request_body(operation, document, words))
            (responses(operation, document, words))
            (trial::form(operation, document, words))
            h4 { (words.by_shell) }
            pre .curl tabindex="0" { code { (curl(operation, document, base)) } }
        }
    }
}

/// Who may call the operation.
fn callers(operation: &Operation<'_>, document: &Document, words: &Words) -> Markup {
    let schemes = operation.schemes(document);
    html! {
        p .callers {
            strong { (words.callers) } " "
            @if schemes.is_empty() { (words.everyone) }
            @for (index, scheme) in schemes.iter().enumerate() {
                @if index > 0 { (words.or) }
                @if scheme.is_empty() { (words.everyone) }
                @else { (trial::scheme_name(scheme, words)) }
            }
        }
    }
}

fn parameters(operation: &Operation<'_>, document: &Document, words: &Words) -> Markup {
    html! {
        @if !operation.parameters.is_empty() {
            h4 { (words.parameters) }
            div .wide tabindex="0" { table {
                thead { tr {
                    th scope="col" { (words.name) } th scope="col" { (words.place) }
                    th scope="col" { (words.kind) } th scope="col" { (words.meaning) }
                } }
                tbody {
                    @for parameter in &operation.parameters {
                        tr {
                            td {
                                code { (text(Some(parameter), "name").unwrap_or_default()) }
                                @if is_required(parameter) { " " span .required { (words.required) } }
                            }
                            td { (text(Some(parameter), "in").unwrap_or_default()) }
                            td { (schema::kind(document.room, parameter.get("schema"), words)) }
                            td lang="en" { (text(Some(parameter), "description").unwrap_or_default()) }
                        }
                    }
                }
            } }
        }
    }
}

fn request_body(operation: &Operation<'_>, document: &Document, words: &Words) -> Markup {
    let body = operation.value.get("requestBody");
    html! {
        @if let Some(body) = body {
            h4 {
                (words.body)
                @if is_required(body) { " " span .required { (words.required) } }
            }
            @if let Some(description) = text(Some(body), "description") { p lang="en" { (description) } }
            (contents(body, document, words))
        }
    }
}

fn responses(operation: &Operation<'_>, document: &Document, words: &Words) -> Markup {
    let responses = operation.value.get("responses").and_then(Value::as_object);
    html! {
        @if let Some(responses) = responses.filter(|responses| !responses.is_empty()) {
            h4 { (words.answers) }
            dl .answers {
                @for (status, response) in responses {
                    dt { code .{ "s" (status.get(..1).unwrap_or_default()) } { (status) } }
                    dd {
                        span lang="en" { (text(Some(response), "description").unwrap_or_default()) }
                        (contents(response, document, words))
                    }
                }
            }
        }
    }
}

/// Media types and what they hold.
fn contents(value: &Value, document: &Document, words: &Words) -> Markup {
    let contents = value.get("content").and_then(Value::as_object);
    html! {
        @if let Some(contents) = contents {
            ul .contents {
                @for (media_type, content) in contents {
                    li {
                        code { (media_type) } " "
                        (schema::kind(document.room, content.get("schema"), words))
                    }
                }
            }
        }
    }
}

pub(super) fn is_required(value: &Value) -> bool {
    value.get("required").and_then(Value::as_bool) == Some(true)
}

/// A line for a shell. Everything that is not ours stands in single quotes.
fn curl(operation: &Operation<'_>, document: &Document, base: &str) -> String {
    let mut target = operation.path.to_owned();
    for parameter in operation.parameters_in("path") {
        let name = text(Some(parameter), "name").unwrap_or_default();
        target = target.replace(&format!("{{{name}}}"), &sample(parameter, document));
    }
    let query: Vec<String> = operation
        .parameters_in("query")
        .filter(|parameter| is_required(parameter))
        .map(|parameter| {
            let name = text(Some(parameter), "name").unwrap_or_default();
            format!("{name}={}", sample(parameter, document))
        })
        .collect();
    let separator = if query.is_empty() { "" } else { "?" };
    let mut line = "curl".to_owned();
    match operation.method {
        "get" => {}
        "head" => line.push_str(" --head"),
        method => line.push_str(&format!(" -X {}", method.to_uppercase())),
    }
    line.push_str(&format!(
        " {}",
        quoted(&format!("{base}{target}{separator}{}", query.join("&")))
    ));
    for parameter in operation.parameters_in("header").filter(|parameter| is_required(parameter)) {
        let name = text(Some(parameter), "name").unwrap_or_default();
        line.push_str(&header(&format!("{name}: {}", sample(parameter, document))));
    }
    if let Some(credential) = credential(operation, document) {
        line.push_str(&header(&credential));
    }
    if let Some((media_type, body)) = operation.content() {
        line.push_str(&header(&format!("content-type: {media_type}")));
        line.push_str(&format!(" \\\n  -d {}", quoted(&body)));
    }
    line
}

fn header(text: &str) -> String {
    format!(" \\\n  -H {}", quoted(text))
}

/// A parameter's example, or its name in capitals to be replaced.
fn sample(parameter: &Value, document: &Document) -> String {
    let name = || text(Some(parameter), "name").unwrap_or_default().to_uppercase();
    example(parameter, document).unwrap_or_else(name)
}

/// A parameter's example, if there is one.
pub(super) fn example(parameter: &Value, document: &Document) -> Option<String> {
    let example = parameter.get("example").or_else(|| parameter.pointer("/schema/example"));
    match example {
        Some(Value::String(example)) => Some(example.clone()),
        Some(example) => Some(example.to_string()),
        None => match schema::example(&document.api, parameter.get("schema")) {
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        },
    }
}

/// The header that the first of the operation's security schemes wants which a shell can send.
fn credential(operation: &Operation<'_>, document: &Document) -> Option<String> {
    let schemes = operation.schemes(document);
    if schemes.contains(&"") {
        return None;
    }
    schemes.iter().find_map(|name| credential_of(name, document))
}

fn credential_of(name: &str, document: &Document) -> Option<String> {
    let scheme = document.api.pointer("/components/securitySchemes")?.get(name)?;
    match (text(Some(scheme), "type")?, text(Some(scheme), "in"), text(Some(scheme), "scheme")) {
        ("apiKey", Some("header"), _) => Some(format!("{}: KEY", text(Some(scheme), "name")?)),
        ("http", _, Some(scheme)) if scheme.eq_ignore_ascii_case("bearer") => {
            Some("authorization: Bearer TOKEN".to_owned())
        }
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

//! Every JSON answer of a test against the room's own description: its path, its status and its
//! schema must be there, and it must be what they say.

use serde_json::Value as Json;
use testkit::Answer;

use super::Talk;

/// Checks an answer to a call of the interface. Pages and files have no schema.
#[track_caller]
pub(super) fn check(api: &Json, method: &str, path: &str, answer: &Answer) {
    let path = path.split('?').next().unwrap_or_default();
    let is_called =
        ["/live/rooms", "/live/participants"].iter().any(|start| path.starts_with(start));
    let kind = answer.header("content-type").unwrap_or_default();
    if !is_called || !matches!(kind, "application/json" | "application/problem+json") {
        return;
    }
    let (method, status) = (method.to_lowercase(), answer.status.to_string());
    let place = format!("{method} {path} {status}: {}", answer.text());
    let operation = find(api, path).map(|item| &item[&method]).filter(|item| item.is_object());
    let operation = operation.unwrap_or_else(|| panic!("not described: {place}"));
    let schema = &operation["responses"][&status]["content"][kind]["schema"];
    assert!(schema.is_object(), "no schema for {kind}: {place}");
    let answer: Json = serde_json::from_slice(&answer.body).unwrap();
    if let Err(why) = fits(api, schema, &answer) {
        panic!("{why}: {place}");
    }
}

fn find<'a>(api: &'a Json, path: &str) -> Option<&'a Json> {
    let is_same = |template: &str| {
        let (mut ours, mut theirs) = (template.split('/'), path.split('/'));
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return true,
                (Some(word), Some(part)) if word == part || word.starts_with('{') => {}
                _ => return false,
            }
        }
    };
    let paths = api["paths"].as_object()?;
    // A word stands before a parameter: `rooms` is no room.
    let exact = paths.iter().find(|(template, _)| *template == path);
    exact.or_else(|| paths.iter().find(|(template, _)| is_same(template))).map(|(_, item)| item)
}

/// Whether a value is what a schema says. A field that the schema does not name is an error: it
/// would be an answer without a schema.
fn fits(api: &Json, schema: &Json, value: &Json) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let target = api.pointer(name.trim_start_matches('#'));
        return fits(api, target.ok_or(format!("no {name}"))?, value);
    }
    for form in ["oneOf", "anyOf"] {
        if let Some(any) = schema[form].as_array() {
            let fit = any.iter().any(|one| fits(api, one, value).is_ok());
            return if fit { Ok(()) } else { Err(format!("{value} is none of {any:?}")) };
        }
    }
    if let Some(all) = schema["allOf"].as_array() {
        return fits_all(api, all, value);
    }
    let types: Vec<&str> = match &schema["type"] {
        Json::String(one) => vec![one],
        Json::Array(many) => many.iter().filter_map(Json::as_str).collect(),
        _ => return Err(format!("{schema} names no type")),
    };
    let is = match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_u64() || number.is_i64() => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    if !types.contains(&is) {
        return Err(format!("{value} is {is}, not {types:?}"));
    }
    match value {
        Json::Array(items) => items.iter().try_for_each(|item| fits(api, &schema["items"], item)),
        Json::Object(_) => fits_all(api, std::slice::from_ref(schema), value),
        _ => Ok(()),
    }
}

/// An object of several parts: each field is in one of them, and none that must be there is missing.
fn fits_all(api: &Json, parts: &[Json], value: &Json) -> Result<(), String> {
    let resolved = parts.iter().map(|part| match part["$ref"].as_str() {
        Some(name) => api.pointer(name.trim_start_matches('#')).unwrap_or(part),
        None => part,
    });
    let parts: Vec<&Json> = resolved.collect();
    for (name, field) in value.as_object().ok_or(format!("{value} is no object"))? {
        let schema = parts.iter().map(|part| &part["properties"][name]).find(|it| it.is_object());
        let schema = schema.ok_or(format!("`{name}` has no schema"))?;
        fits(api, schema, field).map_err(|why| format!("`{name}`: {why}"))?;
    }
    let required = parts.iter().filter_map(|part| part["required"].as_array()).flatten();
    for name in required.filter_map(Json::as_str) {
        if value.get(name).is_none() {
            return Err(format!("`{name}` is missing"));
        }
    }
    Ok(())
}

#[testkit::test]
async fn every_answer_that_is_described_has_a_schema_and_every_field_says_what_it_is() {
    let talk = Talk::open().await;
    let api = testkit::ask(talk.address, "GET", "/live/openapi.json", &[], "").await.json();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                if ["101", "204"].contains(&status.as_str()) {
                    continue;
                }
                let content = response["content"].as_object();
                let kinds = content.unwrap_or_else(|| panic!("{method} {path} {status}"));
                for (kind, body) in kinds {
                    assert!(body["schema"].is_object(), "{method} {path} {status} {kind}");
                    let is_text = body["schema"]["type"] == "string";
                    assert!(!(kind.ends_with("json") && is_text), "{method} {path} {status}");
                }
            }
        }
    }
    for (name, schema) in api["components"]["schemas"].as_object().unwrap() {
        for (field, what) in schema["properties"].as_object().into_iter().flatten() {
            let says = what["description"].is_string() || what["$ref"].is_string();
            assert!(says, "{name}.{field} has no description");
        }
    }
}

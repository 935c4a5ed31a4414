//! Checks that an OpenAPI document describes every JSON response, says who may call each operation,
//! and has a valid example for every body.

use serde_json::Value as Json;

/// Responses without a body: a switch to a socket, no content, redirects, not modified.
const BODILESS: [&str; 6] = ["101", "204", "302", "303", "304", "307"];

/// The missing descriptions: every JSON response without a complete schema, and every response
/// without content that should have some.
pub fn undescribed(api: &Json) -> Vec<String> {
    let mut missing = Vec::new();
    for (path, item) in api["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
                let named = format!("{method} {path} {status}");
                let content = answer["content"].as_object().filter(|content| !content.is_empty());
                let Some(content) = content else {
                    let is_bodiless = BODILESS.contains(&status.as_str());
                    missing.extend((!is_bodiless).then(|| format!("{named} has no content")));
                    continue;
                };
                let json = content.iter().filter(|(kind, _)| kind.ends_with("json"));
                let why = json.filter_map(|(_, media)| why_not(api, &media["schema"], 0));
                missing.extend(why.map(|why| format!("{named}: {why}")));
            }
        }
    }
    missing
}

/// What is missing for somebody who wants to make a call: operations that do not say who may call
/// them, JSON bodies without an example, and examples that their own schema refuses.
pub fn untryable(api: &Json) -> Vec<String> {
    let mut missing = Vec::new();
    let whole = &api["security"];
    if api["servers"].as_array().is_none_or(Vec::is_empty) {
        missing.push("the document names no server".to_owned());
    }
    for (path, item) in api["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let named = format!("{method} {path}");
            let own = &operation["security"];
            let needed = if own.is_null() { whole } else { own };
            match needed.as_array() {
                None => missing.push(format!("{named} does not say who may call it")),
                Some(needed) => {
                    let names =
                        needed.iter().filter_map(Json::as_object).flat_map(|one| one.keys());
                    let schemes = api.pointer("/components/securitySchemes");
                    let is_known = |name: &str| schemes.is_some_and(|all| all.get(name).is_some());
                    let unknown = names.filter(|name| !is_known(name));
                    missing.extend(unknown.map(|name| format!("{named}: no scheme `{name}`")));
                }
            }
            let contents = operation.pointer("/requestBody/content").and_then(Json::as_object);
            let json = contents.into_iter().flatten().filter(|(kind, _)| kind.ends_with("json"));
            for (_, media) in json {
                match media.get("example") {
                    None => missing.push(format!("{named} has no example of its body")),
                    Some(example) => {
                        let why = why_refused(api, &media["schema"], example, 0);
                        missing.extend(why.map(|why| format!("{named}: {why}")));
                    }
                }
            }
        }
    }
    missing
}

/// Whether an operation may be called without any credential.
pub fn is_open(api: &Json, operation: &Json) -> bool {
    let own = &operation["security"];
    let needed = if own.is_null() { &api["security"] } else { own };
    let needed = needed.as_array().map(Vec::as_slice).unwrap_or_default();
    needed.is_empty() || needed.iter().any(|one| one.as_object().is_some_and(|one| one.is_empty()))
}

/// Why a schema refuses a value. It knows the words that our documents use, but for patterns and
/// formats.
fn why_refused(api: &Json, schema: &Json, value: &Json, depth: u32) -> Option<String> {
    if depth > DEPTH {
        return None;
    }
    let inner = |schema: &Json, value: &Json| why_refused(api, schema, value, depth + 1);
    if let Some(name) = schema["$ref"].as_str() {
        let Some(schema) = api.pointer(name.trim_start_matches('#')) else {
            return Some(format!("{name} is not in the document"));
        };
        return inner(schema, value);
    }
    if let Some(all) = schema["allOf"].as_array() {
        return all.iter().find_map(|part| inner(part, value));
    }
    for kind in ["oneOf", "anyOf"] {
        if let Some(some) = schema[kind].as_array() {
            let fits = some.iter().any(|part| inner(part, value).is_none());
            return (!fits).then(|| format!("{value} is none of {schema}"));
        }
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{value} is none of {}", schema["enum"]));
    }
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    let fits = |one: &Json| one == kind || (one == "number" && kind == "integer");
    let is_typed = match &schema["type"] {
        Json::Array(types) => types.iter().any(fits),
        Json::Null => true,
        one => fits(one),
    };
    if !is_typed {
        return Some(format!("{value} is no {}", schema["type"]));
    }
    why_out_of_bounds(schema, value).or_else(|| match value {
        Json::Array(items) => items.iter().find_map(|item| inner(&schema["items"], item)),
        Json::Object(members) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let lacks = required.filter_map(Json::as_str).find(|name| !members.contains_key(*name));
            let lacks = lacks.map(|name| format!("{value} has no `{name}`"));
            lacks.or_else(|| {
                members.iter().find_map(|(name, value)| match schema["properties"].get(name) {
                    Some(member) => inner(member, value),
                    None if schema["additionalProperties"] == false => {
                        Some(format!("`{name}` is no member"))
                    }
                    None => None,
                })
            })
        }
        _ => None,
    })
}

/// Why a value is too small or too large.
fn why_out_of_bounds(schema: &Json, value: &Json) -> Option<String> {
    let size = match value {
        Json::Number(number) => number.as_f64()?,
        Json::String(text) => text.chars().count() as f64,
        Json::Array(items) => items.len() as f64,
        _ => return None,
    };
    let (least, most) = match value {
        Json::Number(_) => ("minimum", "maximum"),
        Json::String(_) => ("minLength", "maxLength"),
        _ => ("minItems", "maxItems"),
    };
    let is_out = schema[least].as_f64().is_some_and(|least| size < least)
        || schema[most].as_f64().is_some_and(|most| size > most);
    is_out.then(|| format!("{value} is not from {} to {}", schema[least], schema[most]))
}

/// How deep a schema is followed. Those of the house are flatter; one that holds itself ends here.
const DEPTH: u32 = 16;

/// Why a schema is incomplete: an object must name its members, a list its items.
fn why_not(api: &Json, schema: &Json, depth: u32) -> Option<String> {
    if depth > DEPTH {
        return None;
    }
    let inner = |schema: &Json| why_not(api, schema, depth + 1);
    if let Some(name) = schema["$ref"].as_str() {
        return match api.pointer(name.trim_start_matches('#')) {
            Some(schema) => inner(schema),
            None => Some(format!("{name} is not in the document")),
        };
    }
    let parts = ["oneOf", "allOf", "anyOf"].iter().find_map(|kind| schema[*kind].as_array());
    if let Some(parts) = parts {
        return parts.iter().find_map(inner);
    }
    let types = match &schema["type"] {
        Json::Array(types) => types.clone(),
        one => vec![one.clone()],
    };
    types.iter().find_map(|one| match one.as_str() {
        Some("object") => {
            let members = schema["properties"].as_object();
            let others = Some(&schema["additionalProperties"]).filter(|others| others.is_object());
            match (members, others) {
                (None, None) => Some(format!("{schema} names no members")),
                (members, others) => {
                    let members = members.into_iter().flat_map(|members| members.values());
                    members.chain(others).find_map(inner)
                }
            }
        }
        Some("array") => inner(&schema["items"]),
        Some("string" | "integer" | "number" | "boolean" | "null") => None,
        _ => Some(format!("{schema} has no type")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{is_open, undescribed, untryable};

    fn document(answer: &Json) -> Json {
        json!({
            "paths": { "/a": { "get": { "responses": { "200": answer } } } },
            "components": { "schemas": {
                "Good": { "type": "object", "properties": { "x": { "type": ["string", "null"] } } },
                "Bad": { "type": "object", "properties": { "x": {} } },
            } },
        })
    }

    #[test]
    fn a_missing_description_is_found() {
        let of = |schema: Json| json!({ "content": { "application/json": { "schema": schema } } });
        let good = json!({ "$ref": "#/components/schemas/Good" });
        for described in [
            of(good.clone()),
            of(json!({ "type": "array", "items": good })),
            json!({ "content": { "text/plain": {} } }),
        ] {
            assert_eq!(undescribed(&document(&described)), [] as [&str; 0]);
        }
        for missing in [
            json!({}),
            of(json!({})),
            of(json!({ "type": "object" })),
            of(json!({ "type": "array" })),
            of(json!({ "$ref": "#/components/schemas/Bad" })),
            of(json!({ "$ref": "#/components/schemas/None" })),
            of(json!({ "oneOf": [good, { "type": "object" }] })),
        ] {
            assert_eq!(undescribed(&document(&missing)).len(), 1, "{missing}");
        }
    }

    fn call(example: &Json, security: &Json) -> Json {
        let content = json!({ "application/json": {
            "schema": { "$ref": "#/components/schemas/Body" }, "example": example,
        } });
        let mut operation = json!({ "requestBody": { "content": content } });
        if !security.is_null() {
            operation["security"] = security.clone();
        }
        json!({
            "servers": [{ "url": "/" }],
            "paths": { "/a": { "post": operation } },
            "components": {
                "securitySchemes": { "key": {} },
                "schemas": { "Body": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": { "type": "string", "minLength": 2 },
                        "count": { "type": ["integer", "null"], "maximum": 3 },
                        "kind": { "enum": ["a", "b"] },
                        "list": { "type": "array", "items": { "type": "boolean" }, "maxItems": 1 },
                    },
                    "additionalProperties": false,
                } },
            },
        })
    }

    #[test]
    fn a_call_that_cannot_be_tried_is_found() {
        let key = json!([{ "key": [] }]);
        for good in [
            json!({ "name": "ab" }),
            json!({ "name": "ab", "count": null, "kind": "b", "list": [true] }),
        ] {
            assert_eq!(untryable(&call(&good, &key)), [] as [&str; 0]);
        }
        for bad in [
            json!({}),
            json!({ "name": "a" }),
            json!({ "name": 1 }),
            json!({ "name": "ab", "count": 4 }),
            json!({ "name": "ab", "count": 0.5 }),
            json!({ "name": "ab", "kind": "c" }),
            json!({ "name": "ab", "list": [true, false] }),
            json!({ "name": "ab", "list": ["x"] }),
            json!({ "name": "ab", "other": 1 }),
        ] {
            assert_eq!(untryable(&call(&bad, &key)).len(), 1, "{bad}");
        }
        let good = json!({ "name": "ab" });
        for security in [json!(null), json!([{ "token": [] }])] {
            assert_eq!(untryable(&call(&good, &security)).len(), 1, "{security}");
        }
    }

    #[test]
    fn an_operation_is_open_if_nothing_is_enough() {
        let of = |security: Json| {
            let api = call(&json!({}), &security);
            is_open(&api, &api["paths"]["/a"]["post"])
        };
        assert!(of(json!([])) && of(json!([{}])) && of(json!([{ "key": [] }, {}])));
        assert!(!of(json!([{ "key": [] }])));
    }
}

//! Checks that an OpenAPI document describes every JSON response.

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

/// The depth to which a schema is followed. Ours are flatter; a recursive one ends here.
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

    use super::undescribed;

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
}

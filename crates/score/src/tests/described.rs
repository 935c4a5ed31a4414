//! The room's OpenAPI document: every answer that is JSON says what is in it.

use serde_json::Value as Json;

use super::Arcade;

/// Whether a schema says something: what a value is, or what is in it.
fn says_something(schema: &Json) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let is_list = schema.get("type").is_some_and(|kind| kind == "array");
    match schema.get("items") {
        Some(items) if is_list => says_something(items),
        _ => {
            ["$ref", "type", "oneOf", "allOf", "anyOf"].iter().any(|key| schema.contains_key(*key))
        }
    }
}

#[testkit::test]
async fn every_json_answer_has_a_schema() {
    let arcade = Arcade::alone_with_snake(10).await;
    let api = arcade.get("/openapi.json").await.json();
    let (mut silent, mut count) = (Vec::new(), 0);
    for (path, operations) in api["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let Some(responses) = operation["responses"].as_object() else { continue };
            for (status, response) in responses.iter().filter(|(status, _)| *status != "304") {
                count += 1;
                let content = response["content"].as_object();
                let is_said = content.is_some_and(|content| {
                    !content.is_empty()
                        && content.values().all(|content| says_something(&content["schema"]))
                });
                if !is_said {
                    silent.push(format!("{method} {path} {status}"));
                }
            }
        }
    }
    assert!(count > 50, "{count}");
    assert_eq!(silent, [] as [String; 0]);
    for (name, schema) in api["components"]["schemas"].as_object().unwrap() {
        let fields = schema["properties"].as_object().into_iter().flatten();
        for (field, schema) in fields {
            assert!(says_something(schema), "{name}.{field}");
        }
    }
}

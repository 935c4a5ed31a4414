//! The description of the room says of every answer what it looks like.

use serde_json::Value as Json;

use super::Trial;

/// Whether a schema says anything: a type, a reference, or one of several.
fn says_something(schema: &Json) -> bool {
    ["type", "$ref", "oneOf", "allOf", "anyOf"].iter().any(|word| schema.get(word).is_some())
}

#[testkit::test]
async fn every_json_answer_of_the_room_has_a_schema() {
    let (_trial, collector) = Trial::with_one().await;
    let api = collector.get("/openapi.json").await.json();
    let mut without = Vec::new();
    let mut answers = 0;
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().into_iter().flatten() {
                if response["content"].is_null() {
                    without.push(format!("{method} {path} {status}: no content"));
                }
                for (kind, content) in response["content"].as_object().into_iter().flatten() {
                    answers += 1;
                    if kind.contains("json") && !says_something(&content["schema"]) {
                        without.push(format!("{method} {path} {status}: {content}"));
                    }
                }
            }
        }
    }
    assert!(answers > 40, "{answers}");
    assert!(without.is_empty(), "{without:#?}");
    // Nor does a schema leave a field open that it names.
    for (name, schema) in api["components"]["schemas"].as_object().unwrap() {
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            assert!(says_something(schema), "{name}.{field}: {schema}");
        }
    }
}

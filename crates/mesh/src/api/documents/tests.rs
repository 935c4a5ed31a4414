//! Documents that cost more than they are long, at every way in.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::limits::{
    DOCUMENT_BYTES_KEPT_MAX, DOCUMENT_BYTES_MAX, ERRORS_MAX, VALIDATION_WITHIN, VALIDATIONS_MAX,
    VARIABLE_BYTES_MAX,
};
use crate::tests::Class;

const GOOD: &str = "mutation { createDomain }";

/// The document that stopped a server: the work doubles with each of its fragments.
pub(crate) fn doubling() -> String {
    let fragments = (0..25).map(|n| format!("fragment a{n} on Query{{...a{0} ...a{0}}}", n + 1));
    fragments.collect::<String>() + "fragment a25 on Query{__typename}{...a0}"
}

async fn refusal(class: &Class, query: &str) -> String {
    let (error_type, message) = class.refusal(query, json!({})).await;
    assert_eq!(error_type, "ValidationError", "{message}");
    message
}

#[testkit::test]
async fn a_document_is_refused_by_what_it_stands_for() {
    let class = Class::alone().await;
    assert!(doubling().len() < 1_100);
    let words = "the document asks for 33554432 fields with its fragments, more than 1000";
    assert_eq!(refusal(&class, &doubling()).await, words);
    let unused = doubling().replace("{...a0}", "{ __typename }");
    assert!(refusal(&class, &unused).await.contains("parts with its fragments"));
    let branching = "{...f} fragment f on Query{...g ...g} fragment g on Query{...f ...f}";
    assert!(refusal(&class, branching).await.contains("spreads itself"));
    assert!(class.ask(GOOD, json!({})).await.get("errors").is_none());
}

#[testkit::test]
async fn a_text_that_costs_more_than_its_length_is_not_parsed() {
    let class = Class::alone().await;
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(100_000), close.repeat(100_000));
        format!("{open}{close}")
    };
    for text in [
        deep("{a", "}"),
        format!("{{ a(b: {}) }}", deep("[", "]")),
        format!("{{ a(b: {}) }}", deep("{c:", "}")),
        format!("query($a: {}) {{ a }}", deep("[", "]")),
        format!("query($a: Int = {}) {{ a }}", deep("[", "]")),
        "{... ".repeat(100_000),
        // Each of the strings makes the parser look for its end in all of the rest.
        format!("{{ a(b: [{}]) }}", r#""\\"""" ""#.repeat(100_000)),
        format!("{{ {} }}", "a ".repeat(400_000)),
    ] {
        let message = refusal(&class, &text).await;
        assert!(message.starts_with("the document has "), "{message}");
    }
    assert!(class.ask(GOOD, json!({})).await.get("errors").is_none());
}

#[testkit::test]
async fn a_large_call_without_variables_is_within_the_bounds() {
    let class = Class::alone().await;
    let group = class.create("h", "local").await;
    let event =
        "{eventName: \"e\" payload: \"p\" firedAt: \"2027-01-15T08:00:00Z\" orderKey: \"k\"}";
    let query = format!(
        "mutation {{ fireEventsByNode(groupId: \"{group}\", domain: \"local\", nodeId: \"h\",
            events: [{}]) {{ groupId }} }}",
        event.repeat(1000)
    );
    assert_eq!(class.get(&query, json!({})).await["groupId"], json!(group));
}

/// What tools send to read a schema, as the reference implementation writes it.
fn introspection() -> String {
    let of_type = "kind name ofType { ".repeat(9) + "kind name" + &" }".repeat(9);
    format!(
        "query IntrospectionQuery {{
            __schema {{
                description queryType {{ name kind }} mutationType {{ name kind }}
                subscriptionType {{ name kind }} types {{ ...FullType }}
                directives {{ name description isRepeatable locations
                    args(includeDeprecated: true) {{ ...InputValue }} }}
            }}
        }}
        fragment FullType on __Type {{
            kind name description specifiedByURL
            fields(includeDeprecated: true) {{
                name description args(includeDeprecated: true) {{ ...InputValue }}
                type {{ ...TypeRef }} isDeprecated deprecationReason
            }}
            inputFields(includeDeprecated: true) {{ ...InputValue }}
            interfaces {{ ...TypeRef }}
            enumValues(includeDeprecated: true) {{
                name description isDeprecated deprecationReason
            }}
            possibleTypes {{ ...TypeRef }}
        }}
        fragment InputValue on __InputValue {{
            name description type {{ ...TypeRef }} defaultValue isDeprecated deprecationReason
        }}
        fragment TypeRef on __Type {{ {of_type} }}"
    )
}

#[testkit::test]
async fn the_introspection_of_tools_is_within_the_bounds() {
    let class = Class::alone().await;
    let schema = class.get(&introspection(), json!({})).await;
    assert!(schema["types"].as_array().is_some_and(|types| types.len() > 20), "{schema}");
}

#[testkit::test]
async fn a_variable_that_is_used_often_is_refused_before_it_is_copied() {
    let class = Class::alone().await;
    let text = "x".repeat(900_000);
    let uses = VARIABLE_BYTES_MAX / text.len() + 1;
    let query = format!(
        "query($d: String!) {{ {} }}",
        (0..uses)
            .map(|n| format!("a{n}: listGroupsByDomain(domain: $d) {{ id }} "))
            .collect::<String>()
    );
    let (error_type, message) = class.refusal(&query, json!({ "d": text })).await;
    assert_eq!(error_type, "ValidationError");
    assert!(message.starts_with("the variables take "), "{message}");
    assert!(class.ask(&query, json!({ "d": "local" })).await.get("errors").is_none());
}

#[testkit::test]
async fn an_answer_has_no_more_errors_than_anybody_reads() {
    let class = Class::alone().await;
    let wrong: String = (0..900).map(|number| format!("wrong{number} ")).collect();
    let answer = class.ask(&format!("{{ {wrong} }}"), json!({})).await;
    assert_eq!(answer["errors"].as_array().map(Vec::len), Some(ERRORS_MAX));
}

#[testkit::test]
async fn a_validation_that_does_not_end_stops_nothing_but_new_documents() {
    let class = Class::alone().await;
    let documents = &class.api.documents;
    documents.find(GOOD).await.unwrap();
    let places = u32::try_from(VALIDATIONS_MAX).unwrap();
    let endless = Arc::clone(&documents.places).acquire_many_owned(places).await.unwrap();
    assert!(documents.find(GOOD).await.is_ok(), "known documents need no place");
    let new = "mutation { new: createDomain }";
    let wait = VALIDATION_WITHIN.as_secs() + 1;
    let (answer, ()) = tokio::join!(class.ask(new, json!({})), class.pass(wait));
    assert_eq!(answer["data"], Json::Null);
    assert_eq!(answer["errors"][0]["errorType"], "ThrottlingException", "{answer}");
    drop(endless);
    assert!(class.ask(new, json!({})).await.get("errors").is_none());
}

#[testkit::test]
async fn documents_that_are_kept_have_a_size() {
    let class = Class::alone().await;
    let documents = &class.api.documents;
    for number in 0..40 {
        let padding = " ".repeat(DOCUMENT_BYTES_MAX - 40);
        documents.find(&format!("mutation {{ a{number}: createDomain }} {padding}")).await.unwrap();
        let known = documents.known.lock();
        let bytes: usize = known.documents.keys().map(String::len).sum();
        assert_eq!(bytes, known.text_bytes);
        assert!(bytes <= DOCUMENT_BYTES_KEPT_MAX && bytes > 0, "{bytes}");
    }
    documents.find(&format!("{GOOD} {}", " ".repeat(DOCUMENT_BYTES_MAX))).await.unwrap();
    assert!(documents.known.lock().documents.keys().all(|text| text.len() <= DOCUMENT_BYTES_MAX));
}

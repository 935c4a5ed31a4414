//! Malformed values at every argument of the mesh's schema: each is refused with a stable word.
//!
//! Introspection says which operations, arguments and input fields there are. Values go in as
//! variables, one malformed value in each request.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use testkit::{Served, program};

use super::{HOLE, bad_json, is_taken};

const SCHEMA: &str = "{ __schema { types { kind name inputFields { name type { ...T } } \
     fields { name type { ...T } args { name type { ...T } } } } } } \
     fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";

/// An argument, or a field of an input object: `events` or `events.eventName`.
struct Place {
    name: String,
    schema: Json,
}

/// Sends every malformed request: how many there were, and what is wrong about their answers.
pub(super) fn walk(house: &Served) -> (usize, Vec<String>) {
    let schema = ask(house, SCHEMA, &json!({}));
    let types = schema["data"]["__schema"]["types"].as_array().cloned().unwrap_or_default();
    let named = |name: &str| types.iter().find(|one| one["name"] == name).cloned().unwrap();
    let (mut asked, mut wrong) = (0, Vec::new());
    for (word, root) in [("query", "Query"), ("mutation", "Mutation")] {
        for field in named(root)["fields"].as_array().unwrap() {
            let call = Call::new(house, word, field);
            for place in places(field, &types) {
                for value in bad_json(&place.schema) {
                    asked += 1;
                    let answer = send(house, &call.body(&place.name, &value));
                    if let Some(complaint) =
                        complaint(&answer).filter(|_| !is_free(field, &place, &value))
                    {
                        let Place { name, .. } = &place;
                        wrong.push(format!("{} {name}: {value:.40}: {complaint}", field["name"]));
                    }
                }
            }
            // The malformed values were the reason, and no refusal did anything.
            let answer = ask(house, &call.document, &Json::from(call.valid));
            assert!(answer["errors"].is_null(), "{}: {answer}", call.document);
            // Nobody's rate is met.
            house.advance(Duration::from_secs(1));
        }
    }
    (asked, wrong)
}

/// A call that succeeds.
struct Call {
    document: String,
    valid: Map<String, Json>,
}

impl Call {
    /// A call of `field` on a living group with a node.
    fn new(house: &Served, word: &str, field: &Json) -> Call {
        let create =
            "mutation { createGroup(name: \"a\", hostId: \"host\", domain: \"local\") { id } }";
        let created = ask(house, create, &json!({}));
        let group = created["data"]["createGroup"]["id"].as_str().unwrap();
        let join = "mutation($group: ID!) { joinGroup(groupId: $group, domain: \"local\", nodeId: \"node\") { id } }";
        ask(house, join, &json!({ "group": group }));
        let mut valid = Map::new();
        for argument in field["args"].as_array().unwrap() {
            let name = argument["name"].as_str().unwrap();
            valid.insert(name.to_owned(), valid_value(name, group));
        }
        Call { document: document(word, field), valid }
    }

    /// The body of a request with `value`, which need not be JSON, at `place`.
    fn body(&self, place: &str, value: &str) -> String {
        let mut variables = Json::from(self.valid.clone());
        match place.split_once('.') {
            Some((list, field)) => variables[list][0][field] = json!(HOLE),
            None => variables[place] = json!(HOLE),
        }
        let body = json!({ "query": self.document, "variables": variables }).to_string();
        body.replace(&json!(HOLE).to_string(), value)
    }
}

/// A document with every argument as a variable.
fn document(word: &str, field: &Json) -> String {
    let name = field["name"].as_str().unwrap();
    let arguments = field["args"].as_array().unwrap();
    let spelled =
        |one: &Json| format!("${}: {}", one["name"].as_str().unwrap(), spell(&one["type"]));
    let passed = |one: &Json| format!("{0}: ${0}", one["name"].as_str().unwrap());
    let join = |parts: Vec<String>| match parts.is_empty() {
        true => String::new(),
        false => format!("({})", parts.join(", ")),
    };
    let variables = join(arguments.iter().map(spelled).collect());
    let passed = join(arguments.iter().map(passed).collect());
    let is_object = innermost(&field["type"])["kind"] == "OBJECT";
    let selection = if is_object { " { __typename }" } else { "" };
    format!("{word}{variables} {{ {name}{passed}{selection} }}")
}

/// A type as a document writes it.
fn spell(of: &Json) -> String {
    match of["kind"].as_str() {
        Some("NON_NULL") => format!("{}!", spell(&of["ofType"])),
        Some("LIST") => format!("[{}]", spell(&of["ofType"])),
        _ => of["name"].as_str().unwrap().to_owned(),
    }
}

fn innermost(of: &Json) -> &Json {
    if of["ofType"].is_object() { innermost(&of["ofType"]) } else { of }
}

/// Where a malformed value can stand in a call of `field`.
fn places(field: &Json, types: &[Json]) -> Vec<Place> {
    let mut places = Vec::new();
    for argument in field["args"].as_array().unwrap() {
        let name = argument["name"].as_str().unwrap();
        places.push(Place { name: name.to_owned(), schema: json_schema(&argument["type"]) });
        let inner = innermost(&argument["type"]);
        let input = types.iter().find(|one| one["name"] == inner["name"]).unwrap();
        for part in input["inputFields"].as_array().into_iter().flatten() {
            let name = format!("{name}.{}", part["name"].as_str().unwrap());
            places.push(Place { name, schema: json_schema(&part["type"]) });
        }
    }
    places
}

/// The JSON type of a GraphQL type. An id may be written as a number.
fn json_schema(of: &Json) -> Json {
    match (of["kind"].as_str(), of["name"].as_str()) {
        (Some("NON_NULL"), _) => json_schema(&of["ofType"]),
        (Some("LIST"), _) => json!({ "type": "array" }),
        (_, Some("Int")) => json!({ "type": "integer" }),
        (_, Some("Boolean")) => json!({ "type": "boolean" }),
        (_, name) => json!({ "type": "string", "isId": name == Some("ID") }),
    }
}

fn valid_value(name: &str, group: &str) -> Json {
    let event = json!({ "eventName": "go", "firedAt": "2026-04-01T09:30:00Z", "orderKey": "a" });
    match name {
        "groupId" => json!(group),
        "domain" => json!("local"),
        "hostId" => json!("host"),
        "nodeId" => json!("node"),
        "data" => json!([{ "key": "x", "value": "1" }]),
        "events" => json!([event]),
        "limit" => json!(10),
        "maxConnectionTimeSeconds" => json!(60),
        "useWebSocket" => json!(true),
        // The walk's group has none.
        "hostSecret" => Json::Null,
        "since" => json!("2026-04-01T09:30:00Z"),
        _ => json!("a"),
    }
}

/// Whether the contract takes this value: a text that any value may be, or an id that is a number.
fn is_free(field: &Json, place: &Place, value: &str) -> bool {
    let operation = format!("mesh {}", field["name"].as_str().unwrap_or_default());
    let is_number = place.schema["isId"] == true && value.parse::<u64>().is_ok();
    let is_text = value.starts_with('"');
    is_number || is_text && is_taken(&operation, &place.name, value)
}

fn complaint(answer: &Json) -> Option<String> {
    match answer["errors"][0]["errorType"].as_str() {
        None => Some(format!("no error: {answer}")),
        Some("InternalFailure" | "ThrottlingException") => Some(answer.to_string()),
        Some(_) => None,
    }
}

fn ask(house: &Served, query: &str, variables: &Json) -> Json {
    send(house, &json!({ "query": query, "variables": variables }).to_string())
}

fn send(house: &Served, body: &str) -> Json {
    let key = format!("x-api-key: {}\r\n", house.mesh_key());
    program::json(&house.ask("POST", "/mesh/graphql", &key, body))
}

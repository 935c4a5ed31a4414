//! Invalid requests are refused in the words of another implementation of DynamoDB, which took them
//! from AWS. Where the two differ, the case gives the reason.

use dynoxide::Database;
use serde_json::{Value as Json, json};

use super::differential::ask_other;
use super::{Trial, things};

/// An invalid request.
type Case = (&'static str, Json);

/// Messages in which the other implementation differs, by the end of ours, and the difference.
const DIFFERENT: [(&str, &str); 9] = [
    ("reserved keyword: size", "it takes the name for a function"),
    ("using expressions: ConditionExpression is null", "it leaves the reason out"),
    ("reserved keyword: name", "it does not name the expression"),
    ("operator: >, first operand: [sk]", "it looks at keys before it compares paths"),
    ("is not an indexable operation", "it has words of its own"),
    ("is not an indexable operation", "of both operators"),
    (
        "starting key is invalid: The provided key element does not match the schema",
        "it leaves the reason out",
    ),
    ("Segment: 2 is not less than TotalSegments: 2", "it leaves the numbers out"),
    ("lower bound is greater than the upper bound", "it takes older bounds in any order"),
];
/// The other implementation puts this before every message of the layer that checks parameters; the
/// door only before constraints on single parameters.
const PREFIX: &str = "1 validation error detected: ";

fn with(mut request: Json, more: &Json) -> Json {
    request["TableName"] = json!("things");
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

fn key() -> Json {
    json!({"pk": {"S": "a"}, "sk": {"N": "1"}})
}

fn items() -> Vec<Case> {
    let put = |item: Json, more: Json| with(json!({"Item": item}), &more);
    let update = |more: Json| with(json!({"Key": key()}), &more);
    let one = json!({":v": {"N": "1"}});
    vec![
        ("PutItem", put(json!({"pk": {"S": "a"}}), json!({}))),
        ("PutItem", put(json!({"pk": {"N": "1"}, "sk": {"N": "1"}}), json!({}))),
        ("PutItem", put(json!({"pk": {"S": ""}, "sk": {"N": "1"}}), json!({}))),
        ("PutItem", put(json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "at": {"S": "x"}}), json!({}))),
        ("PutItem", put(key(), json!({"ReturnValues": "ALL_NEW"}))),
        ("PutItem", put(key(), json!({"TableName": "nothing"}))),
        ("PutItem", put(key(), json!({"ConditionExpression": "a ="}))),
        ("PutItem", put(key(), json!({"ConditionExpression": "size = a"}))),
        ("PutItem", put(key(), json!({"ConditionExpression": "a = :v"}))),
        ("PutItem", put(key(), json!({"ConditionExpression": "#a = a"}))),
        ("PutItem", put(key(), json!({"ConditionExpression": "f(a)"}))),
        (
            "PutItem",
            put(
                key(),
                json!({"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeValues": one}),
            ),
        ),
        ("PutItem", put(key(), json!({"ExpressionAttributeValues": one}))),
        ("GetItem", with(json!({"Key": {"pk": {"S": "a"}}}), &json!({}))),
        ("GetItem", with(json!({"Key": key()}), &json!({"ProjectionExpression": "a, a.b"}))),
        ("GetItem", with(json!({"Key": key()}), &json!({"ProjectionExpression": ""}))),
        (
            "UpdateItem",
            update(json!({"UpdateExpression": "SET pk = :v", "ExpressionAttributeValues": one})),
        ),
        (
            "UpdateItem",
            update(json!({"UpdateExpression": "SET a = b + :v", "ExpressionAttributeValues": one})),
        ),
        (
            "UpdateItem",
            update(
                json!({"UpdateExpression": "SET a = :v SET b = :v", "ExpressionAttributeValues": one}),
            ),
        ),
        (
            "UpdateItem",
            update(
                json!({"UpdateExpression": "SET a = :v, a = :v", "ExpressionAttributeValues": one}),
            ),
        ),
        (
            "UpdateItem",
            update(
                json!({"UpdateExpression": "ADD a.b :v", "ExpressionAttributeValues": {":v": {"S": "x"}}}),
            ),
        ),
        (
            "UpdateItem",
            update(json!({"AttributeUpdates": {"a": {"Action": "ADD", "Value": {"S": "x"}}}})),
        ),
        ("UpdateItem", update(json!({"AttributeUpdates": {"a": {"Action": "PUT"}}}))),
        ("DeleteItem", with(json!({"Key": key()}), &json!({"Expected": {"a": {"Exists": true}}}))),
        ("DeleteItem", with(json!({"Key": key()}), &json!({"ConditionalOperator": "AND"}))),
    ]
}

fn pages() -> Vec<Case> {
    let eq = |value: Json| json!({"ComparisonOperator": "EQ", "AttributeValueList": [value]});
    let query = |text: &str, values: Json| {
        let values = if values.is_null() { json!({":p": {"S": "a"}}) } else { values };
        with(
            json!({"KeyConditionExpression": text, "ExpressionAttributeValues": values}),
            &json!({}),
        )
    };
    let older = |conditions: Json, more: Json| with(json!({"KeyConditions": conditions}), &more);
    let partition = eq(json!({"S": "a"}));
    vec![
        ("Query", query("sk = :p", Json::Null)),
        ("Query", query("pk > :p", Json::Null)),
        ("Query", query("pk = :p AND name = :p", Json::Null)),
        ("Query", query("pk = :p", json!({":p": {"N": "1"}}))),
        ("Query", with(json!({}), &json!({}))),
        ("Query", with(query("pk = :p", Json::Null), &json!({"IndexName": "nothing"}))),
        ("Query", with(query("pk = :p", Json::Null), &json!({"FilterExpression": "sk > sk"}))),
        ("Query", with(query("pk = :p", Json::Null), &json!({"Select": "SPECIFIC_ATTRIBUTES"}))),
        (
            "Query",
            with(query("pk = :p", Json::Null), &json!({"Select": "ALL_PROJECTED_ATTRIBUTES"})),
        ),
        (
            "Query",
            older(
                json!({"pk": {"ComparisonOperator": "NE", "AttributeValueList": [{"S": "a"}]}}),
                json!({}),
            ),
        ),
        (
            "Query",
            older(
                json!({"pk": {"ComparisonOperator": "GT", "AttributeValueList": [{"S": "a"}]}}),
                json!({}),
            ),
        ),
        (
            "Query",
            older(
                json!({"pk": partition, "sk": {"ComparisonOperator": "IN", "AttributeValueList": [{"N": "1"}]}}),
                json!({}),
            ),
        ),
        (
            "Query",
            older(json!({"pk": partition}), json!({"QueryFilter": {"sk": eq(json!({"N": "1"}))}})),
        ),
        ("Scan", with(json!({}), &json!({"Segment": 0}))),
        ("Scan", with(json!({}), &json!({"TotalSegments": 2}))),
        ("Scan", with(json!({}), &json!({"Segment": 2, "TotalSegments": 2}))),
        ("Scan", with(json!({}), &json!({"FilterExpression": "a IN ()"}))),
        ("Scan", with(json!({}), &json!({"ExclusiveStartKey": {"pk": {"S": "a"}}}))),
        ("Scan", with(json!({}), &json!({"IndexName": "by-kind", "ConsistentRead": true}))),
    ]
}

fn starts() -> Vec<Case> {
    let start = |text: &str, pk: &str, sk: &str| {
        with(
            json!({"KeyConditionExpression": text, "ExpressionAttributeValues":
                {":p": {"S": "a"}, ":n": {"N": "2"}}}),
            &json!({"ExclusiveStartKey": {"pk": {"S": pk}, "sk": {"N": sk}}}),
        )
    };
    let mut alone = start("pk = :p", "b", "1");
    alone["ExpressionAttributeValues"] = json!({":p": {"S": "a"}});
    let mut short = start("pk = :p AND sk < :n", "a", "1");
    short["ExclusiveStartKey"] = json!({"pk": {"S": "a"}});
    vec![
        ("Query", start("pk = :p AND sk < :n", "a", "3")),
        ("Query", start("pk = :p AND sk < :n", "b", "1")),
        ("Query", alone),
        ("Query", short),
    ]
}

fn older() -> Vec<Case> {
    let update = |updates: Json| with(json!({"Key": key()}), &json!({"AttributeUpdates": updates}));
    let scan = |operator: &str, values: Json| {
        let filter = json!({"a": {"ComparisonOperator": operator, "AttributeValueList": values}});
        with(json!({}), &json!({"ScanFilter": filter}))
    };
    vec![
        ("UpdateItem", update(json!({"kind": {"Value": {"S": ""}}}))),
        ("Scan", scan("CONTAINS", json!([{"SS": ["a"]}]))),
        ("Scan", scan("LE", json!([{"BOOL": true}]))),
        ("Scan", scan("BETWEEN", json!([{"N": "2"}, {"N": "1"}]))),
        ("Scan", with(json!({}), &json!({"ScanFilter": {}, "ConditionalOperator": "OR"}))),
    ]
}

fn several() -> Vec<Case> {
    let empty = json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "kind": {"S": ""}});
    let put = json!({"Put": {"TableName": "things", "Item": empty}});
    let mut added = with(json!({"Key": key()}), &json!({"UpdateExpression": "DELETE a :v"}));
    added["ExpressionAttributeValues"] = json!({":v": {"B": "YQ=="}});
    vec![
        ("BatchGetItem", json!({"RequestItems": {"things": {"Keys": []}}})),
        ("BatchWriteItem", json!({"RequestItems": {"things": []}})),
        ("TransactWriteItems", json!({"TransactItems": []})),
        ("TransactGetItems", json!({"TransactItems": []})),
        ("TransactWriteItems", json!({"TransactItems": [put]})),
        ("UpdateItem", added),
    ]
}

#[tokio::test]
async fn wrong_requests_are_refused_in_the_same_words() {
    let trial = Trial::with_things().await;
    let other = Database::memory().unwrap();
    other.create_table(serde_json::from_value(things()).unwrap()).unwrap();
    let mut surprises = Vec::new();
    let mut differing = 0;
    let cases = [items(), pages(), starts(), older(), several()].into_iter().flatten();
    for (operation, request) in cases {
        let bare = |(kind, words): (String, String)| {
            (kind, words.strip_prefix(PREFIX).map(str::to_owned).unwrap_or(words))
        };
        let ours = trial.ask(operation, request.clone()).await.map_err(bare);
        let theirs = ask_other(&other, operation, &request).map_err(bare);
        let Err((_, words)) = &ours else { panic!("{operation} {request} is taken") };
        let differs = DIFFERENT.iter().any(|(end, _)| words.ends_with(end));
        differing += usize::from(differs);
        if (ours == theirs) == differs {
            surprises
                .push(format!("{operation} {request}\n  ours   {ours:?}\n  theirs {theirs:?}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert_eq!(differing, DIFFERENT.len(), "a listed difference is met by nothing");
}

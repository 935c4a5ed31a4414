//! Requests that are small but would cost a lot of work. Before the limits, each of these took
//! minutes, gigabytes, or the whole process.

use serde_json::{Map, Value as Json, json};

use super::Trial;

/// An object with `count` attributes, each with this value.
fn attributes(count: usize, each: &Json) -> Json {
    let named = (0..count).map(|number| (format!("a{number}"), each.clone()));
    Json::Object(named.collect::<Map<_, _>>())
}

#[tokio::test]
async fn very_many_conditions_do_not_overflow_the_stack() {
    let trial = Trial::with_things().await;
    let filter = json!({"ComparisonOperator": "NOT_NULL"});
    let many = attributes(100_000, &filter);
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "1"}});
    for (operation, request) in [
        ("Scan", json!({"TableName": "things", "ScanFilter": many})),
        ("DeleteItem", json!({"TableName": "things", "Key": key, "Expected": many})),
    ] {
        let (kind, message) = trial.ask(operation, request).await.unwrap_err();
        assert_eq!(kind, "ValidationException", "{operation}");
        assert!(message.ends_with("conditions exceeds the limit of 300"), "{operation}: {message}");
    }
    let some = json!({"TableName": "things", "ScanFilter": attributes(300, &filter)});
    trial.ask("Scan", some).await.unwrap();
}

/// Decoded one by one, the empty elements of these lists would take gigabytes.
#[tokio::test]
async fn elements_past_the_bound_of_a_list_are_not_kept() {
    let trial = Trial::with_things().await;
    let list = |element: &str| format!("[{}]", vec![element; 1_000_000].join(","));
    for (operation, before, list, after) in [
        ("TransactWriteItems", r#"{"TransactItems":"#, list("{}"), "}"),
        ("TransactGetItems", r#"{"TransactItems":"#, list("{}"), "}"),
        ("BatchExecuteStatement", r#"{"Statements":"#, list("{}"), "}"),
        ("ExecuteTransaction", r#"{"TransactStatements":"#, list("{}"), "}"),
        ("BatchWriteItem", r#"{"RequestItems":{"things":"#, list("{}"), "}}"),
        ("BatchGetItem", r#"{"RequestItems":{"things":{"Keys":"#, list("{}"), "}}}"),
        ("CreateTable", r#"{"TableName":"abc","AttributeDefinitions":"#, list("{}"), "}"),
        ("UpdateTable", r#"{"TableName":"things","GlobalSecondaryIndexUpdates":"#, list("{}"), "}"),
    ] {
        let reply = trial.send(operation, &format!("{before}{list}{after}")).await;
        assert_eq!(reply.status, 400, "{operation}: {}", reply.body);
        assert!(!reply.body.contains("Serialization"), "{operation}: {}", reply.body);
        // The rest of the text is still parsed: a list that does not end is not a request.
        let reply = trial.send(operation, &format!("{before}{list}")).await;
        assert!(reply.body.contains("Serialization"), "{operation}: {}", reply.body);
    }
}

#[tokio::test]
async fn very_many_names_are_not_compared_with_each_other() {
    let trial = Trial::with_things().await;
    let names: Vec<String> = (0..300_000).map(|number| number.to_string()).collect();
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "1"}});
    let get = json!({"TableName": "things", "Key": key, "AttributesToGet": names});
    let (kind, message) = trial.ask("GetItem", get).await.unwrap_err();
    assert_eq!(kind, "ValidationException");
    assert!(message.ends_with("Member must have length less than or equal to 255"), "{message}");

    let removed = attributes(100_000, &json!({"Action": "DELETE"}));
    let update = json!({"TableName": "things", "Key": key, "AttributeUpdates": removed});
    assert_eq!(trial.ask("UpdateItem", update).await, Ok(json!({})));
}

#[tokio::test]
async fn bytes_that_are_nearly_alike_are_searched_once() {
    let trial = Trial::with_things().await;
    let zeros = |count: usize| "AAAA".repeat(count / 3);
    let item = json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "b": {"B": zeros(390 * 1024)}});
    trial.put(item).await;
    let text = vec!["contains(b, :v)"; 80].join(" OR ");
    let part = format!("{}AAAB", zeros(195 * 1024));
    let scan = json!({
        "TableName": "things", "FilterExpression": text,
        "ExpressionAttributeValues": {":v": {"B": part}},
    });
    assert_eq!(trial.ask("Scan", scan).await.unwrap()["Count"], 0);
}

#[tokio::test]
async fn the_parts_of_a_request_share_one_limit_on_expanded_placeholders() {
    let trial = Trial::with_things().await;
    let check = |number: usize| {
        let uses = vec![":v"; 100].join(",");
        json!({"ConditionCheck": {
            "TableName": "things",
            "Key": {"pk": {"S": "a"}, "sk": {"N": number.to_string()}},
            "ConditionExpression": format!("NOT a IN ({uses})"),
            "ExpressionAttributeValues": {":v": {"L": [{"S": "x".repeat(80 * 1024)}]}},
        }})
    };
    let transact = |count: usize| {
        let items: Vec<Json> = (0..count).map(check).collect();
        json!({"TransactItems": items})
    };
    trial.ask("TransactWriteItems", transact(2)).await.unwrap();
    let (kind, message) = trial.ask("TransactWriteItems", transact(3)).await.unwrap_err();
    assert_eq!(kind, "ValidationException");
    assert!(message.contains("uses large names or values too often"), "{message}");
}

#[tokio::test]
async fn a_name_has_at_most_65535_bytes() {
    let trial = Trial::with_things().await;
    for (bytes, is_taken) in [(65_535, true), (65_536, false)] {
        let name = "n".repeat(bytes);
        let scan = json!({
            "TableName": "things", "FilterExpression": "attribute_exists(#n)",
            "ExpressionAttributeNames": {"#n": name},
        });
        assert_eq!(trial.ask("Scan", scan).await.is_ok(), is_taken, "{bytes} in an expression");
        let key = json!({"pk": {"S": "a"}, "sk": {"N": "1"}});
        for (mut item, what) in [
            (key.clone(), "an item"),
            (json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "m": {"M": {}}}), "a map"),
        ] {
            let place = item.pointer_mut("/m/M");
            match place {
                Some(map) => map[&name] = json!({"N": "1"}),
                None => item[&name] = json!({"N": "1"}),
            }
            let put = json!({"TableName": "things", "Item": item});
            assert_eq!(trial.ask("PutItem", put).await.is_ok(), is_taken, "{bytes} in {what}");
        }
    }
}

#[tokio::test]
async fn a_statement_may_join_as_many_conditions_as_fit_it() {
    let trial = Trial::with_things().await;
    trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "1"}})).await;
    for joint in ["OR", "AND"] {
        let mut text = "SELECT * FROM things WHERE sk=1".to_owned();
        while text.len() + 8 <= 8192 {
            text += &format!(" {joint} a=1");
        }
        let answer = trial.ask("ExecuteStatement", json!({"Statement": text})).await.unwrap();
        let count = usize::from(joint == "OR");
        assert_eq!(answer["Items"].as_array().unwrap().len(), count, "{joint}");
    }
}

//! Query and Scan.

use serde_json::{Value as Json, json};

use super::Trial;

async fn filled() -> Trial {
    let trial = Trial::with_things().await;
    for number in 0..10 {
        trial
            .put(json!({
                "pk": {"S": "a"}, "sk": {"N": number.to_string()}, "at": {"N": (9 - number).to_string()},
                "kind": {"S": if number % 2 == 0 { "even" } else { "odd" }},
                "name": {"S": format!("n{number}")}, "rest": {"S": "r"},
            }))
            .await;
    }
    trial
}

fn query(more: Json) -> Json {
    let mut request = json!({
        "TableName": "things", "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "a"}},
    });
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

fn numbers(answer: &Json) -> Vec<i64> {
    let items = answer["Items"].as_array().unwrap().iter();
    items.map(|item| item["sk"]["N"].as_str().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn pages_follow_each_other_to_the_end() {
    let trial = filled().await;
    let mut start = None;
    let mut seen = Vec::new();
    loop {
        let mut request = query(json!({"Limit": 3, "ScanIndexForward": false}));
        if let Some(key) = start {
            request["ExclusiveStartKey"] = key;
        }
        let answer = trial.ask("Query", request).await.unwrap();
        assert_eq!(answer["Count"], answer["ScannedCount"]);
        seen.extend(numbers(&answer));
        match answer.get("LastEvaluatedKey") {
            Some(key) => start = Some(key.clone()),
            None => break,
        }
    }
    assert_eq!(seen, (0..10).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_filter_counts_the_examined_items_and_a_count_returns_none() {
    let trial = filled().await;
    let request = query(json!({
        "Select": "COUNT", "FilterExpression": "kind = :k",
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":k": {"S": "odd"}},
    }));
    let answer = trial.ask("Query", request).await.unwrap();
    assert_eq!(answer, json!({"Count": 5, "ScannedCount": 10}));
}

#[tokio::test]
async fn a_local_index_has_another_order_and_fetches_missing_attributes() {
    let trial = filled().await;
    let through = |more: Json| {
        let mut request = query(json!({"IndexName": "by-at", "Limit": 2, "ConsistentRead": true}));
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        request
    };
    let answer = trial.ask("Query", through(json!({}))).await.unwrap();
    assert_eq!(numbers(&answer), [9, 8]);
    assert_eq!(answer["Items"][0], json!({"pk": {"S": "a"}, "sk": {"N": "9"}, "at": {"N": "0"}}));
    let named = through(json!({"ProjectionExpression": "rest"}));
    let answer = trial.ask("Query", named).await.unwrap();
    assert_eq!(answer["Items"][0], json!({"rest": {"S": "r"}}));
    let whole = through(json!({"Select": "ALL_ATTRIBUTES"}));
    let answer = trial.ask("Query", whole).await.unwrap();
    assert_eq!(answer["Items"][0]["name"], json!({"S": "n9"}));
}

#[tokio::test]
async fn a_global_index_returns_only_its_own_attributes() {
    let trial = filled().await;
    let through = |more: Json| {
        let mut request = json!({
            "TableName": "things", "IndexName": "by-kind",
            "KeyConditions": {
                "kind": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "even"}]},
                "sk": {"ComparisonOperator": "GE", "AttributeValueList": [{"N": "6"}]},
            },
        });
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        request
    };
    let answer = trial.ask("Query", through(json!({}))).await.unwrap();
    assert_eq!(numbers(&answer), [6, 8]);
    assert_eq!(answer["Items"][0].as_object().unwrap().len(), 4, "keys of both, and the name");
    for (more, part) in [
        (json!({"Select": "ALL_ATTRIBUTES"}), "its projection type is not ALL"),
        (json!({"AttributesToGet": ["rest"]}), "does not project [rest]"),
        (json!({"ConsistentRead": true}), "Consistent reads are not supported on global"),
    ] {
        let (kind, message) = trial.ask("Query", through(more)).await.unwrap_err();
        assert_eq!(kind, "ValidationException");
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn the_segments_of_a_scan_divide_the_table() {
    let trial = Trial::with_things().await;
    for number in 0..40 {
        trial
            .put(json!({"pk": {"S": format!("p{number}")}, "sk": {"N": number.to_string()}}))
            .await;
    }
    let mut seen = Vec::new();
    for segment in 0..4 {
        let scan = json!({"TableName": "things", "Segment": segment, "TotalSegments": 4});
        seen.extend(numbers(&trial.ask("Scan", scan).await.unwrap()));
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..40).collect::<Vec<_>>());
    for (scan, part) in [
        (json!({"TableName": "things", "Segment": 0}), "TotalSegments parameter is required"),
        (json!({"TableName": "things", "Segment": 4, "TotalSegments": 4}), "zero-based"),
        (json!({"TableName": "things", "Limit": 0}), "greater than or equal to 1"),
    ] {
        let (_, message) = trial.ask("Scan", scan).await.unwrap_err();
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_page_ends_after_the_first_megabyte() {
    let trial = Trial::with_things().await;
    for number in 0..4 {
        let text = "x".repeat(380_000);
        trial
            .put(json!({"pk": {"S": "a"}, "sk": {"N": number.to_string()}, "text": {"S": text}}))
            .await;
    }
    let answer = trial.ask("Query", query(json!({}))).await.unwrap();
    assert_eq!(numbers(&answer), [0, 1, 2]);
    assert_eq!(answer["LastEvaluatedKey"]["sk"], json!({"N": "2"}));
}

#[tokio::test]
async fn whole_items_of_a_local_index_are_fetched_before_the_filter_and_charged_to_the_table() {
    let trial = filled().await;
    let whole = json!({
        "IndexName": "by-at", "Select": "ALL_ATTRIBUTES", "FilterExpression": "#n = :n",
        "ExpressionAttributeNames": {"#n": "name"},
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":n": {"S": "n3"}},
        "ConsistentRead": true, "ReturnConsumedCapacity": "INDEXES",
    });
    let answer = trial.ask("Query", query(whole)).await.unwrap();
    assert_eq!((numbers(&answer), &answer["ScannedCount"]), (vec![3], &json!(10)));
    let capacity = &answer["ConsumedCapacity"];
    assert_eq!(capacity["Table"]["CapacityUnits"], 10.0, "each fetch is a read of its own");
    assert_eq!(capacity["LocalSecondaryIndexes"]["by-at"]["CapacityUnits"], 1.0);
    assert_eq!(capacity["CapacityUnits"], 11.0);
    let scan = json!({
        "TableName": "things", "IndexName": "by-at", "Select": "ALL_ATTRIBUTES",
        "FilterExpression": "rest = :r", "ExpressionAttributeValues": {":r": {"S": "r"}},
    });
    assert_eq!(trial.ask("Scan", scan).await.unwrap()["Count"], 10);
    let held = query(json!({
        "IndexName": "by-at", "ProjectionExpression": "sk", "ReturnConsumedCapacity": "INDEXES",
    }));
    let answer = trial.ask("Query", held).await.unwrap();
    assert_eq!(answer["ConsumedCapacity"]["Table"]["CapacityUnits"], 0.0, "nothing is fetched");
}

#[tokio::test]
async fn a_local_index_contains_the_included_attributes() {
    let trial = Trial::new().await;
    let mut table = super::things();
    let projection = json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]});
    table["LocalSecondaryIndexes"][0]["Projection"] = projection.clone();
    let created = trial.ask("CreateTable", table).await.unwrap();
    let stored = &created["TableDescription"]["LocalSecondaryIndexes"][0]["Projection"];
    assert_eq!(*stored, projection);
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": "1"}, "at": {"N": "2"}, "name": {"S": "n"},
        "rest": {"S": "r"},
    });
    trial.put(item.clone()).await;
    let through = |more: Json| {
        let mut request = query(json!({"IndexName": "by-at"}));
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        request
    };
    let answer = trial.ask("Query", through(json!({}))).await.unwrap();
    let mut held = item.clone();
    held.as_object_mut().unwrap().remove("rest");
    assert_eq!(answer["Items"], json!([held]));
    let whole = through(json!({"Select": "ALL_ATTRIBUTES"}));
    assert_eq!(trial.ask("Query", whole).await.unwrap()["Items"], json!([item]));
    let named = through(json!({"ProjectionExpression": "rest"}));
    let answer = trial.ask("Query", named).await.unwrap();
    assert_eq!(answer["Items"], json!([{"rest": {"S": "r"}}]));
}

#[tokio::test]
async fn older_filters_apply_to_the_items_that_the_key_found() {
    let trial = filled().await;
    let odd = json!({"kind": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "odd"}]}});
    let partition = json!({"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}});
    let request = json!({
        "TableName": "things", "KeyConditions": partition, "QueryFilter": odd,
    });
    let answer = trial.ask("Query", request).await.unwrap();
    assert_eq!((numbers(&answer), &answer["ScannedCount"]), (vec![1, 3, 5, 7, 9], &json!(10)));
    let either = json!({
        "name": {"ComparisonOperator": "IN", "AttributeValueList": [{"S": "n2"}, {"S": "n4"}]},
        "sk": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "8"}]},
    });
    let request = json!({
        "TableName": "things", "ScanFilter": either, "ConditionalOperator": "OR",
    });
    assert_eq!(numbers(&trial.ask("Scan", request).await.unwrap()), [2, 4, 9]);
}

#[tokio::test]
async fn older_key_conditions_can_be_combined_with_expressions() {
    let trial = Trial::with_things().await;
    for number in 0..3 {
        let item = json!({"pk": {"S": "a"}, "sk": {"N": number.to_string()},
            "v": {"N": number.to_string()}, "w": {"S": "x"}});
        trial.put(item).await;
    }
    let eq = json!({"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]});
    let mut query = json!({
        "TableName": "things", "KeyConditions": {"pk": eq}, "ProjectionExpression": "sk",
        "FilterExpression": "v >= :v", "ExpressionAttributeValues": {":v": {"N": "1"}},
    });
    let answer = trial.ask("Query", query.clone()).await.unwrap();
    assert_eq!(answer["Items"], json!([{"sk": {"N": "1"}}, {"sk": {"N": "2"}}]));
    for (name, value) in [
        ("QueryFilter", json!({"w": {"ComparisonOperator": "NOT_NULL"}})),
        ("AttributesToGet", json!(["sk"])),
        ("ConditionalOperator", json!("AND")),
    ] {
        let mut both = query.clone();
        both[name] = value;
        let (kind, message) = trial.ask("Query", both).await.unwrap_err();
        assert_eq!(kind, "ValidationException");
        let part = format!("Non-expression parameters: {{{name}}} Expression parameters: {{");
        assert!(message.contains(&part), "{message}");
    }
    query["KeyConditionExpression"] = json!("pk = :v");
    let (_, message) = trial.ask("Query", query).await.unwrap_err();
    assert!(message.contains("Non-expression parameters: {KeyConditions}"), "{message}");
}

#[tokio::test]
async fn an_absent_attribute_matches_neither_contains_nor_not_contains() {
    let trial = Trial::with_things().await;
    for (number, value) in [(0, json!({"S": "abc"})), (1, json!({"S": "xyz"}))] {
        let item = json!({"pk": {"S": "a"}, "sk": {"N": number.to_string()}, "v": value});
        trial.put(item).await;
    }
    trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "2"}})).await;
    for (operator, found) in [("CONTAINS", "0"), ("NOT_CONTAINS", "1")] {
        let filter = json!({"ComparisonOperator": operator, "AttributeValueList": [{"S": "b"}]});
        let scan = json!({"TableName": "things", "ScanFilter": {"v": filter}});
        let answer = trial.ask("Scan", scan).await.unwrap();
        assert_eq!(answer["Count"], 1, "{operator}");
        assert_eq!(answer["Items"][0]["sk"]["N"], found, "{operator}");
    }
}

#[tokio::test]
async fn an_expression_can_test_the_type_of_a_placeholder_value() {
    let trial = Trial::with_things().await;
    trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "1"}})).await;
    for (kind, count) in [("N", 1), ("S", 0)] {
        let scan = json!({
            "TableName": "things", "FilterExpression": "attribute_type(:v, :t)",
            "ExpressionAttributeValues": {":v": {"N": "1"}, ":t": {"S": kind}},
        });
        assert_eq!(trial.ask("Scan", scan).await.unwrap()["Count"], count, "{kind}");
    }
}

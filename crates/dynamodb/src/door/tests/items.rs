//! One item: what comes back, and what is refused with which words.

use serde_json::{Value as Json, json};

use super::Trial;

#[tokio::test]
async fn an_item_of_every_type_comes_back_as_it_was() {
    let trial = Trial::with_things().await;
    let item = json!({
        "pk": {"S": "a \"quoted\" \u{1} text\n長屋"}, "sk": {"N": "-1.5"}, "b": {"B": "AP8="},
        "yes": {"BOOL": true}, "none": {"NULL": true},
        "map": {"M": {"list": {"L": [{"S": ""}, {"N": "7"}]}}},
        "ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1", "2"]}, "bs": {"BS": ["AA==", "AQ=="]},
    });
    trial.put(item.clone()).await;
    let key = json!({"pk": item["pk"], "sk": item["sk"]});
    let got = trial.ask("GetItem", json!({"TableName": "things", "Key": key})).await.unwrap();
    assert_eq!(got, json!({"Item": item}));
    let missing = json!({"pk": {"S": "b"}, "sk": {"N": "1"}});
    let got = trial.ask("GetItem", json!({"TableName": "things", "Key": missing})).await.unwrap();
    assert_eq!(got, json!({}));
}

#[tokio::test]
async fn an_update_returns_the_requested_values() {
    let trial = Trial::with_things().await;
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "1"}});
    let update = |returning: &str| {
        json!({
            "TableName": "things", "Key": key, "ReturnValues": returning,
            "UpdateExpression": "SET #n = if_not_exists(#n, :zero) + :one",
            "ExpressionAttributeNames": {"#n": "count"},
            "ExpressionAttributeValues": {":zero": {"N": "0"}, ":one": {"N": "1"}},
        })
    };
    for (returning, expected) in [
        ("UPDATED_OLD", json!({})),
        ("UPDATED_OLD", json!({"Attributes": {"count": {"N": "1"}}})),
        ("UPDATED_NEW", json!({"Attributes": {"count": {"N": "3"}}})),
        ("NONE", json!({})),
        (
            "ALL_OLD",
            json!({"Attributes": {"pk": {"S": "a"}, "sk": {"N": "1"}, "count": {"N": "4"}}}),
        ),
        (
            "ALL_NEW",
            json!({"Attributes": {"pk": {"S": "a"}, "sk": {"N": "1"}, "count": {"N": "6"}}}),
        ),
    ] {
        assert_eq!(trial.ask("UpdateItem", update(returning)).await, Ok(expected), "{returning}");
    }
}

#[tokio::test]
async fn a_failed_condition_returns_the_item_on_request() {
    let trial = Trial::with_things().await;
    let item = json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "v": {"S": "old"}});
    trial.put(item.clone()).await;
    let put = json!({
        "TableName": "things", "Item": item, "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    });
    let reply = trial.send("PutItem", &put.to_string()).await;
    let answer: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(reply.status, 400);
    assert_eq!(
        answer,
        json!({
            "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
            "message": "The conditional request failed",
            "Item": item,
        })
    );
    let checksum = crc32fast::hash(reply.body.as_bytes()).to_string();
    assert!(reply.headers.contains(&("x-amz-crc32", checksum)));
}

#[tokio::test]
async fn the_older_parameters_mean_the_same() {
    let trial = Trial::with_things().await;
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "1"}});
    let update = json!({
        "TableName": "things", "Key": key, "ReturnValues": "ALL_NEW",
        "AttributeUpdates": {
            "n": {"Action": "ADD", "Value": {"N": "2"}},
            "name": {"Action": "PUT", "Value": {"S": "x"}},
            "gone": {"Action": "DELETE"},
        },
        "Expected": {"n": {"Exists": false}},
    });
    let expected = json!({"Attributes": {
        "pk": {"S": "a"}, "sk": {"N": "1"}, "n": {"N": "2"}, "name": {"S": "x"},
    }});
    assert_eq!(trial.ask("UpdateItem", update.clone()).await, Ok(expected));
    let (kind, _) = trial.ask("UpdateItem", update).await.unwrap_err();
    assert_eq!(kind, "ConditionalCheckFailedException");
    let get = json!({"TableName": "things", "Key": key, "AttributesToGet": ["name"]});
    assert_eq!(trial.ask("GetItem", get).await, Ok(json!({"Item": {"name": {"S": "x"}}})));
    let delete = json!({
        "TableName": "things", "Key": key, "ConditionalOperator": "OR", "ReturnValues": "ALL_OLD",
        "Expected": {
            "n": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "9"}]},
            "name": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [{"S": "x"}]},
        },
    });
    assert!(trial.ask("DeleteItem", delete).await.unwrap().get("Attributes").is_some());
}

#[tokio::test]
async fn capacity_counts_the_larger_image_and_every_index_entry() {
    let trial = Trial::with_things().await;
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": "1"}, "at": {"N": "5"}, "kind": {"S": "k"},
        "name": {"S": "n"}, "text": {"S": "x".repeat(3000)},
    });
    let put = json!({"TableName": "things", "Item": item, "ReturnConsumedCapacity": "INDEXES",
        "ReturnItemCollectionMetrics": "SIZE"});
    let answer = trial.ask("PutItem", put).await.unwrap();
    assert_eq!(
        answer["ConsumedCapacity"],
        json!({
            "TableName": "things", "CapacityUnits": 5.0, "Table": {"CapacityUnits": 3.0},
            "LocalSecondaryIndexes": {"by-at": {"CapacityUnits": 1.0}},
            "GlobalSecondaryIndexes": {"by-kind": {"CapacityUnits": 1.0}},
        })
    );
    assert_eq!(
        answer["ItemCollectionMetrics"],
        json!({"ItemCollectionKey": {"pk": {"S": "a"}}, "SizeEstimateRangeGB": [0.0, 1.0]})
    );
    let get = json!({"TableName": "things", "Key": {"pk": {"S": "a"}, "sk": {"N": "1"}},
        "ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": "name"},
        "ReturnConsumedCapacity": "TOTAL"});
    let answer = trial.ask("GetItem", get).await.unwrap();
    assert_eq!(answer["ConsumedCapacity"], json!({"TableName": "things", "CapacityUnits": 0.5}));
}

fn wrongs() -> Vec<(&'static str, Json, &'static str, &'static str)> {
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "1"}});
    vec![
        (
            "GetItem",
            json!({"TableName": "things"}),
            "ValidationException",
            "1 validation error detected: Value null at 'key' failed to satisfy constraint: Member \
             must not be null",
        ),
        (
            "GetItem",
            json!({"TableName": "nowhere", "Key": key}),
            "ResourceNotFoundException",
            "Requested resource not found",
        ),
        (
            "GetItem",
            json!({"TableName": "_nagaya.door", "Key": {"name": {"S": "things"}}}),
            "ResourceNotFoundException",
            "Requested resource not found",
        ),
        (
            "GetItem",
            json!({"TableName": "things", "Key": {"pk": {"S": "a"}}}),
            "ValidationException",
            "The provided key element does not match the schema",
        ),
        (
            "GetItem",
            json!({"TableName": "things", "Key": {"pk": {}, "sk": {"N": "1"}}}),
            "ValidationException",
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            "PutItem",
            json!({"TableName": "things", "Item": {"pk": {"S": "a"}, "sk": {"N": "x"}}}),
            "ValidationException",
            "The parameter cannot be converted to a numeric value: x",
        ),
        (
            "PutItem",
            json!({"TableName": "things", "Item": {"pk": {"S": 1}}}),
            "SerializationException",
            "NUMBER_VALUE cannot be converted to String",
        ),
        (
            "PutItem",
            json!({"TableName": "things", "Item": key, "ReturnValues": "ALL_NEW"}),
            "ValidationException",
            "ReturnValues can only be ALL_OLD or NONE",
        ),
        (
            "DeleteItem",
            json!({"TableName": "things", "Key": key,
            "ExpressionAttributeNames": {"#a": "b"}}),
            "ValidationException",
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            "PutItem",
            json!({"TableName": "things", "Item": key, "ConditionExpression": "a = :v",
            "Expected": {}, "ExpressionAttributeValues": {":v": {"N": "1"}}}),
            "ValidationException",
            "Can not use both expression and non-expression parameters in the same request: \
             Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}",
        ),
        ("Nothing", json!({}), "UnknownOperationException", ""),
    ]
}

#[tokio::test]
async fn invalid_requests_are_refused_in_dynamodbs_words() {
    let trial = Trial::with_things().await;
    for (operation, request, kind, message) in wrongs() {
        let refused = trial.ask(operation, request.clone()).await.unwrap_err();
        assert_eq!((refused.0.as_str(), refused.1.as_str()), (kind, message), "{request}");
    }
    assert!(super::judge(&trial.send("GetItem", "{").await).is_err());
}

#[tokio::test]
async fn an_update_that_only_removes_creates_no_item() {
    let trial = Trial::with_things().await;
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "1"}});
    let set = json!({"ExpressionAttributeValues": {":s": {"SS": ["x"]}}});
    for (change, more) in [
        (json!({"UpdateExpression": "REMOVE x"}), json!({})),
        (json!({"UpdateExpression": "REMOVE x.y, z[3]"}), json!({})),
        (json!({"UpdateExpression": "DELETE x :s"}), set.clone()),
        (json!({"UpdateExpression": "REMOVE x.y DELETE z.x :s"}), set),
        (json!({"AttributeUpdates": {"x": {"Action": "DELETE"}}}), json!({})),
        (
            json!({"AttributeUpdates": {"x": {"Action": "DELETE", "Value": {"SS": ["x"]}}}}),
            json!({}),
        ),
    ] {
        let mut update = json!({"TableName": "things", "Key": key, "ReturnValues": "ALL_NEW"});
        for fields in [&change, &more] {
            for (name, value) in fields.as_object().unwrap() {
                update[name] = value.clone();
            }
        }
        assert_eq!(trial.ask("UpdateItem", update.clone()).await, Ok(json!({})), "{change}");
        let get = json!({"TableName": "things", "Key": key});
        assert_eq!(trial.ask("GetItem", get).await, Ok(json!({})), "{change}");
        if change.get("UpdateExpression").is_some() {
            update.as_object_mut().unwrap().remove("ReturnValues");
            let transaction = json!({"TransactItems": [{"Update": update}]});
            trial.ask("TransactWriteItems", transaction).await.unwrap();
        }
    }
    let described = trial.ask("DescribeTable", json!({"TableName": "things"})).await.unwrap();
    assert_eq!(described["Table"]["ItemCount"], 0);
}

#[tokio::test]
async fn a_zero_may_have_any_exponent() {
    let trial = Trial::with_things().await;
    let item = json!({"pk": {"S": "a"}, "sk": {"N": "0e1000"}, "v": {"N": "-0.00E-1000"}});
    trial.put(item).await;
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "0"}});
    let got = trial.ask("GetItem", json!({"TableName": "things", "Key": key})).await.unwrap();
    assert_eq!(got["Item"]["v"], json!({"N": "0"}));
}

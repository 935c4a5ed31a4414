//! Batches and transactions.

use serde_json::{Value as Json, json};

use super::Trial;

fn key(number: i64) -> Json {
    json!({"pk": {"S": "a"}, "sk": {"N": number.to_string()}})
}

#[tokio::test]
async fn a_batch_writes_and_reads_many() {
    let trial = Trial::with_things().await;
    let puts: Vec<Json> = (0..25).map(|n| json!({"PutRequest": {"Item": key(n)}})).collect();
    let write = json!({"RequestItems": {"things": puts}, "ReturnConsumedCapacity": "TOTAL"});
    let answer = trial.ask("BatchWriteItem", write).await.unwrap();
    assert_eq!(answer["UnprocessedItems"], json!({}));
    assert_eq!(answer["ConsumedCapacity"][0]["CapacityUnits"], 25.0);
    let delete = json!({"RequestItems": {"things": [{"DeleteRequest": {"Key": key(3)}}]}});
    trial.ask("BatchWriteItem", delete).await.unwrap();
    let keys: Vec<Json> = (0..30).map(key).collect();
    let read = json!({"RequestItems": {"things": {"Keys": keys}}});
    let answer = trial.ask("BatchGetItem", read).await.unwrap();
    assert_eq!(answer["Responses"]["things"].as_array().unwrap().len(), 24);
    assert_eq!(answer["UnprocessedKeys"], json!({}));
}

#[tokio::test]
async fn a_batch_that_is_refused_does_nothing() {
    let trial = Trial::with_things().await;
    let put = |item: Json| json!({"PutRequest": {"Item": item}});
    let many: Vec<Json> = (0..26).map(|n| put(key(n))).collect();
    for (writes, part) in [
        (json!([put(key(1)), put(json!({"pk": {"S": "a"}}))]), "Missing the key sk"),
        (json!([put(key(1)), put(key(1))]), "contains duplicates"),
        (json!(many), "Too many items requested"),
        (json!([]), "greater than or equal to 1"),
    ] {
        let write = json!({"RequestItems": {"things": writes}});
        let (kind, message) = trial.ask("BatchWriteItem", write).await.unwrap_err();
        assert_eq!(kind, "ValidationException");
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(trial.ask("Scan", json!({"TableName": "things"})).await.unwrap()["Count"], 0);
}

#[tokio::test]
async fn a_transaction_does_all_or_nothing_and_gives_its_reasons() {
    let trial = Trial::with_things().await;
    trial.put(key(1)).await;
    let transaction = |condition: &str| {
        json!({"TransactItems": [
            {"Put": {"TableName": "things", "Item": key(2)}},
            {"ConditionCheck": {"TableName": "things", "Key": key(1),
                "ConditionExpression": condition,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}},
            {"Update": {"TableName": "things", "Key": key(3),
                "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}}}},
        ], "ReturnConsumedCapacity": "TOTAL"})
    };
    let refused = transaction("attribute_not_exists(pk)").to_string();
    let reply = trial.send("TransactWriteItems", &refused).await;
    let answer: Json = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(
        answer["Message"],
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, \
         ConditionalCheckFailed, None]"
    );
    assert_eq!(
        answer["CancellationReasons"],
        json!([
            {"Code": "None"},
            {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed",
                "Item": key(1)},
            {"Code": "None"},
        ])
    );
    let done = trial.ask("TransactWriteItems", transaction("attribute_exists(pk)")).await.unwrap();
    assert_eq!(done["ConsumedCapacity"][0]["WriteCapacityUnits"], 6.0);
    let get = |number| json!({"Get": {"TableName": "things", "Key": key(number)}});
    let read = json!({"TransactItems": [get(3), get(9), get(2)]});
    let answer = trial.ask("TransactGetItems", read).await.unwrap();
    let mut third = key(3);
    third["n"] = json!({"N": "1"});
    assert_eq!(answer["Responses"], json!([{"Item": third}, {}, {"Item": key(2)}]));
}

#[tokio::test]
async fn a_token_makes_a_transaction_happen_once() {
    let trial = Trial::with_things().await;
    let transaction = |by: &str| {
        json!({"ClientRequestToken": "token", "TransactItems": [
            {"Update": {"TableName": "things", "Key": key(1), "UpdateExpression": "ADD n :by",
                "ExpressionAttributeValues": {":by": {"N": by}}}},
        ]})
    };
    for _ in 0..2 {
        trial.ask("TransactWriteItems", transaction("1")).await.unwrap();
    }
    let get = json!({"TableName": "things", "Key": key(1)});
    assert_eq!(trial.ask("GetItem", get).await.unwrap()["Item"]["n"], json!({"N": "1"}));
    let (kind, _) = trial.ask("TransactWriteItems", transaction("2")).await.unwrap_err();
    assert_eq!(kind, "IdempotentParameterMismatchException");
}

#[tokio::test]
async fn an_item_may_occur_only_once_in_a_transaction() {
    let trial = Trial::with_things().await;
    let put = json!({"Put": {"TableName": "things", "Item": key(1)}});
    let (_, message) =
        trial.ask("TransactWriteItems", json!({"TransactItems": [put, put]})).await.unwrap_err();
    assert_eq!(message, "Transaction request cannot include multiple operations on one item");
}

#[tokio::test]
async fn a_transaction_is_charged_for_the_indexes_it_changes() {
    let trial = Trial::with_things().await;
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": "1"}, "at": {"N": "5"}, "kind": {"S": "k"},
        "text": {"S": "x".repeat(1500)},
    });
    let request = json!({
        "TransactItems": [{"Put": {"TableName": "things", "Item": item}}],
        "ReturnConsumedCapacity": "INDEXES", "ReturnItemCollectionMetrics": "SIZE",
    });
    let answer = trial.ask("TransactWriteItems", request).await.unwrap();
    let capacity = &answer["ConsumedCapacity"][0];
    // Two units of the item, doubled, and one of each keys-only index, not doubled.
    assert_eq!(capacity["Table"]["WriteCapacityUnits"], json!(4.0));
    assert_eq!(capacity["LocalSecondaryIndexes"]["by-at"]["CapacityUnits"], json!(1.0));
    assert_eq!(capacity["GlobalSecondaryIndexes"]["by-kind"]["CapacityUnits"], json!(1.0));
    assert_eq!(capacity["CapacityUnits"], json!(6.0));
    let collection = &answer["ItemCollectionMetrics"]["things"][0];
    assert_eq!(collection["SizeEstimateRangeGB"], json!([0.0, 1.0]));
    assert_eq!(collection["ItemCollectionKey"], json!({"pk": {"S": "a"}}));
}

#[tokio::test]
async fn every_partition_is_measured_once() {
    let trial = Trial::with_things().await;
    let item = |pk: &str, sk: i64| json!({"pk": {"S": pk}, "sk": {"N": sk.to_string()}});
    let places = [("a", 1), ("b", 1), ("a", 2)];
    let puts = places.map(|(pk, sk)| json!({"PutRequest": {"Item": item(pk, sk)}}));
    let batch = json!({
        "RequestItems": {"things": puts}, "ReturnItemCollectionMetrics": "SIZE",
    });
    let puts = places.map(|(pk, sk)| json!({"Put": {"TableName": "things", "Item": item(pk, sk)}}));
    let mut writes = puts.to_vec();
    writes.push(json!({"ConditionCheck": {
        "TableName": "things", "Key": item("c", 1), "ConditionExpression": "attribute_not_exists(pk)",
    }}));
    let transaction = json!({"TransactItems": writes, "ReturnItemCollectionMetrics": "SIZE"});
    for (operation, request) in [("BatchWriteItem", batch), ("TransactWriteItems", transaction)] {
        let answer = trial.ask(operation, request).await.unwrap();
        let metrics = answer["ItemCollectionMetrics"]["things"].as_array().unwrap().iter();
        let keys: Vec<&Json> = metrics.map(|one| &one["ItemCollectionKey"]["pk"]["S"]).collect();
        assert_eq!(keys, ["a", "b"], "{operation}");
    }
}

//! Streams: every change once, in order, whatever else happens meanwhile.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Trial, things};

async fn streaming(view: &str) -> (Trial, Json) {
    let trial = Trial::new().await;
    let mut table = things();
    table["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": view});
    let created = trial.ask("CreateTable", table).await.unwrap();
    let arn = created["TableDescription"]["LatestStreamArn"].clone();
    let mut other = things();
    other["TableName"] = json!("others");
    trial.ask("CreateTable", other).await.unwrap();
    (trial, arn)
}

async fn iterator(trial: &Trial, arn: &Json, kind: &str) -> Json {
    let described = trial.ask("DescribeStream", json!({"StreamArn": arn})).await.unwrap();
    let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
    let request = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind});
    trial.ask("GetShardIterator", request).await.unwrap()["ShardIterator"].clone()
}

/// All records from an iterator on, and the iterator for the next ones.
async fn read(trial: &Trial, mut iterator: Json, limit: u32) -> (Vec<Json>, Json) {
    let mut records = Vec::new();
    loop {
        let request = json!({"ShardIterator": iterator, "Limit": limit});
        let answer = trial.ask("GetRecords", request).await.unwrap();
        let page = answer["Records"].as_array().unwrap().clone();
        iterator = answer["NextShardIterator"].clone();
        if page.is_empty() || iterator.is_null() {
            records.extend(page);
            return (records, iterator);
        }
        records.extend(page);
    }
}

#[tokio::test]
async fn every_change_is_read_once_in_order_with_its_images() {
    let (trial, arn) = streaming("NEW_AND_OLD_IMAGES").await;
    let late = iterator(&trial, &arn, "LATEST").await;
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "1"}});
    let item = json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "v": {"S": "x"}});
    trial.put(key.clone()).await;
    trial.ask("PutItem", json!({"TableName": "others", "Item": key})).await.unwrap();
    trial.put(item.clone()).await;
    trial.put(item.clone()).await;
    let puts: Vec<Json> = (2..6)
        .map(|n| {
            json!({"Put": {"TableName": "things",
            "Item": {"pk": {"S": "a"}, "sk": {"N": n.to_string()}}}})
        })
        .collect();
    trial.ask("TransactWriteItems", json!({"TransactItems": puts})).await.unwrap();
    trial.ask("DeleteItem", json!({"TableName": "things", "Key": key})).await.unwrap();

    let start = iterator(&trial, &arn, "TRIM_HORIZON").await;
    for limit in [1, 3, 1000] {
        let (records, _) = read(&trial, start.clone(), limit).await;
        let names: Vec<&str> =
            records.iter().map(|one| one["eventName"].as_str().unwrap()).collect();
        let expected = ["INSERT", "MODIFY", "INSERT", "INSERT", "INSERT", "INSERT", "REMOVE"];
        assert_eq!(names, expected, "by {limit}");
        assert_eq!(records[1]["dynamodb"]["OldImage"], key);
        assert_eq!(records[1]["dynamodb"]["NewImage"], item);
        assert_eq!(records[6]["dynamodb"]["Keys"], key);
        let numbers: Vec<&Json> =
            records.iter().map(|one| &one["dynamodb"]["SequenceNumber"]).collect();
        assert!(numbers.is_sorted_by(|one, other| one.as_str() < other.as_str()));
    }
    let (records, next) = read(&trial, late, 1000).await;
    assert_eq!(records.len(), 7);
    trial.put(item).await;
    let (records, _) = read(&trial, next, 1000).await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["dynamodb"]["Keys"], key);
}

#[tokio::test]
async fn a_stream_that_is_switched_off_ends() {
    let (trial, arn) = streaming("KEYS_ONLY").await;
    trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "1"}})).await;
    let listed = trial.ask("ListStreams", json!({"TableName": "things"})).await.unwrap();
    assert_eq!(listed["Streams"][0]["StreamArn"], arn);
    let off = json!({"TableName": "things", "StreamSpecification": {"StreamEnabled": false}});
    trial.ask("UpdateTable", off).await.unwrap();
    trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "2"}})).await;
    let start = iterator(&trial, &arn, "TRIM_HORIZON").await;
    let (records, next) = read(&trial, start, 1000).await;
    assert_eq!(records.len(), 1);
    assert!(records[0]["dynamodb"].get("NewImage").is_none());
    assert!(next.is_null());
}

#[tokio::test]
async fn streams_are_listed_beside_backups() {
    let (trial, arn) = streaming("KEYS_ONLY").await;
    let backup = json!({"TableName": "things", "BackupName": "first"});
    trial.ask("CreateBackup", backup).await.unwrap();
    let listed = trial.ask("ListStreams", json!({})).await.unwrap();
    assert_eq!(listed["Streams"].as_array().unwrap().len(), 1);
    assert_eq!(listed["Streams"][0]["StreamArn"], arn);
}

#[tokio::test]
async fn a_view_shows_the_images_it_is_named_after() {
    for (view, shown) in [
        ("KEYS_ONLY", (false, false)),
        ("NEW_IMAGE", (true, false)),
        ("OLD_IMAGE", (false, true)),
        ("NEW_AND_OLD_IMAGES", (true, true)),
    ] {
        let (trial, arn) = streaming(view).await;
        for text in ["x", "y"] {
            trial.put(json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "v": {"S": text}})).await;
        }
        let start = iterator(&trial, &arn, "TRIM_HORIZON").await;
        let (records, _) = read(&trial, start, 1000).await;
        let record = &records[1]["dynamodb"];
        let images = (record.get("NewImage").is_some(), record.get("OldImage").is_some());
        assert_eq!((images, &record["StreamViewType"]), (shown, &json!(view)));
    }
}

#[tokio::test]
async fn reading_begins_at_a_number_or_after_it() {
    let (trial, arn) = streaming("KEYS_ONLY").await;
    for number in 0..3 {
        trial.put(json!({"pk": {"S": "a"}, "sk": {"N": number.to_string()}})).await;
    }
    let (records, _) = read(&trial, iterator(&trial, &arn, "TRIM_HORIZON").await, 1000).await;
    let number = &records[1]["dynamodb"]["SequenceNumber"];
    let described = trial.ask("DescribeStream", json!({"StreamArn": arn})).await.unwrap();
    let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
    for (kind, from) in [("AT_SEQUENCE_NUMBER", 1), ("AFTER_SEQUENCE_NUMBER", 2)] {
        let mut request = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind});
        let (refused, _) = trial.ask("GetShardIterator", request.clone()).await.unwrap_err();
        assert_eq!(refused, "ValidationException", "{kind} without a number");
        request["SequenceNumber"] = number.clone();
        let answer = trial.ask("GetShardIterator", request).await.unwrap();
        let (found, _) = read(&trial, answer["ShardIterator"].clone(), 1000).await;
        assert_eq!(found, records[from..], "{kind}");
    }
}

#[tokio::test]
async fn an_item_that_expires_is_removed_by_the_service() {
    let (trial, arn) = streaming("KEYS_ONLY").await;
    let expiring = json!({"Enabled": true, "AttributeName": "until"});
    let expiring = json!({"TableName": "things", "TimeToLiveSpecification": expiring});
    trial.ask("UpdateTimeToLive", expiring).await.unwrap();
    let until = trial.door.clock.now().millis() / 1000 + 10;
    let item = json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "until": {"N": until.to_string()}});
    trial.put(item).await;
    trial.time.advance(Duration::from_secs(3600)).await;
    let start = iterator(&trial, &arn, "TRIM_HORIZON").await;
    let (records, _) = read(&trial, start, 1000).await;
    let names: Vec<&Json> = records.iter().map(|one| &one["eventName"]).collect();
    assert_eq!(names, ["INSERT", "REMOVE"]);
    let service = json!({"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"});
    assert_eq!(records[1]["userIdentity"], service);
    assert!(records[0].get("userIdentity").is_none());
}

async fn assert_refused(trial: &Trial, cases: Vec<(&str, Json, &str)>) {
    for (operation, request, part) in cases {
        let (kind, message) = trial.ask(operation, request.clone()).await.unwrap_err();
        assert_eq!(kind, "ValidationException", "{operation} {request}: {message}");
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn limits_and_names_of_streams_have_bounds() {
    let (trial, arn) = streaming("KEYS_ONLY").await;
    let table = arn.as_str().unwrap().split("/stream/").next().unwrap().to_owned();
    let at_most = "Member must have value less than or equal to 100";
    let cases = vec![
        ("ListStreams", json!({"Limit": 0}), "Member must have value greater than or equal to 1"),
        ("ListStreams", json!({"Limit": 101}), at_most),
        ("ListStreams", json!({"ExclusiveStartStreamArn": table}), "Invalid StreamArn"),
        ("DescribeStream", json!({"StreamArn": arn, "Limit": 101}), at_most),
        (
            "DescribeStream",
            json!({"StreamArn": "things"}),
            "Value 'things' at 'streamArn' failed to satisfy constraint: Member must have length \
             greater than or equal to 37",
        ),
        ("DescribeStream", json!({"StreamArn": table}), "Invalid StreamArn"),
        ("GetRecords", json!({"ShardIterator": "x", "Limit": 1001}), "less than or equal to 1000"),
    ];
    assert_refused(&trial, cases).await;
    let elsewhere = format!("{table}/stream/2026-11-16T10:15:00.001");
    let (kind, _) = trial.ask("DescribeStream", json!({"StreamArn": elsewhere})).await.unwrap_err();
    assert_eq!(kind, "ResourceNotFoundException");
}

#[tokio::test]
async fn a_number_is_allowed_only_for_iterators_that_begin_at_one() {
    let (trial, arn) = streaming("KEYS_ONLY").await;
    let shard = "shardId-00000000000000000000-00000000";
    let number = "0".repeat(21);
    let iterator = |kind: &str, number: Option<&str>| {
        json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind,
            "SequenceNumber": number})
    };
    let stray = "SequenceNumber should not be passed for this iterator type";
    let cases = vec![
        ("GetShardIterator", iterator("LATEST", Some(&number)), stray),
        ("GetShardIterator", iterator("TRIM_HORIZON", Some(&number)), stray),
        (
            "GetShardIterator",
            iterator("AT_SEQUENCE_NUMBER", Some("1")),
            "at 'sequenceNumber' failed to satisfy constraint: Member must have length greater \
             than or equal to 21",
        ),
        ("GetShardIterator", iterator("AT_SEQUENCE_NUMBER", None), "SequenceNumber cannot be null"),
    ];
    assert_refused(&trial, cases).await;
}

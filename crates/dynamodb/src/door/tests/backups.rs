//! Backups, and tables restored to an earlier state.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use serde_json::{Value as Json, json};
use table::{Embedded, Item, Put, Scan, Secrets, TableSpec, Tables, Value};
use tempfile::TempDir;
use testkit::wait;

use super::super::{Call, Door, Guard, TABLE_TASK};
use super::{judge, things};

/// A door on a store whose clock the test moves, in memory or on disk.
struct MovableHouse {
    door: Arc<Door>,
    time: VirtualTime,
    tasks: Tasks,
    _directory: Option<TempDir>,
}

impl MovableHouse {
    async fn new(on_disk: bool) -> MovableHouse {
        let start: Timestamp = "2026-11-16T10:15:00.000Z".parse().unwrap();
        let (clock, time) = Clock::virtual_at(start);
        let (tasks, directory) = (Tasks::new(), on_disk.then(|| TempDir::new().unwrap()));
        let store = match &directory {
            Some(directory) => {
                let path = directory.path().join("house");
                let options = table::Options { path, ..table::Options::default() };
                Embedded::open(options, clock.clone(), &tasks).await.unwrap()
            }
            None => Embedded::in_memory(clock.clone(), &tasks).await.unwrap(),
        };
        let door =
            Door::open(store, Guard::open(), Secrets::default(), clock, Random::seeded(1), &tasks);
        let house = MovableHouse { door: door.await.unwrap(), time, tasks, _directory: directory };
        house.ask("CreateTable", things()).await.unwrap();
        house
    }

    async fn ask(&self, operation: &str, body: Json) -> Result<Json, (String, String)> {
        let target = format!("DynamoDB_20120810.{operation}");
        let headers = |name: &str| (name == "x-amz-target").then_some(target.as_str());
        let body = body.to_string();
        let call = Call { method: "POST", path: "/", headers: &headers, body: body.as_bytes() };
        judge(&self.door.answer(call).await)
    }

    async fn put(&self, number: u32, note: &str) {
        let item = json!({
            "pk": {"S": "a"}, "sk": {"N": number.to_string()},
            "kind": {"S": note}, "name": {"S": note},
        });
        self.ask("PutItem", json!({"TableName": "things", "Item": item})).await.unwrap();
    }

    /// The notes of a table, ordered by number.
    async fn notes(&self, table: &str) -> Vec<String> {
        let answer = self.ask("Scan", json!({"TableName": table})).await.unwrap();
        let items = answer["Items"].as_array().unwrap().iter();
        items.map(|item| item["name"]["S"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for MovableHouse {
    fn drop(&mut self) {
        let panicked = self.tasks.panicked();
        assert!(std::thread::panicking() || panicked.is_empty(), "tasks panicked: {panicked:?}");
    }
}

#[tokio::test]
async fn a_backup_brings_a_table_back_as_it_was() {
    for on_disk in [false, true] {
        let house = MovableHouse::new(on_disk).await;
        for number in 0..60 {
            house.put(number, "old").await;
        }
        let made = json!({"TableName": "things", "BackupName": "first"});
        let made = house.ask("CreateBackup", made).await.unwrap();
        let arn = made["BackupDetails"]["BackupArn"].clone();
        house.put(0, "new").await;
        house.put(77, "new").await;
        let described = house.ask("DescribeBackup", json!({"BackupArn": arn})).await.unwrap();
        let source = &described["BackupDescription"]["SourceTableDetails"];
        assert_eq!(source["ItemCount"], 60);
        let features = &described["BackupDescription"]["SourceTableFeatureDetails"];
        assert_eq!(features["GlobalSecondaryIndexes"][0]["IndexName"], "by-kind");

        let restore = json!({"BackupArn": arn, "TargetTableName": "things"});
        let (kind, _) = house.ask("RestoreTableFromBackup", restore).await.unwrap_err();
        assert_eq!(kind, "TableAlreadyExistsException");
        house.ask("DeleteTable", json!({"TableName": "things"})).await.unwrap();
        let restore = json!({
            "BackupArn": arn, "TargetTableName": "again", "LocalSecondaryIndexOverride": [],
        });
        let restored = house.ask("RestoreTableFromBackup", restore).await.unwrap();
        assert_eq!(restored["TableDescription"]["TableStatus"], "ACTIVE");
        assert!(restored["TableDescription"].get("LocalSecondaryIndexes").is_none());
        assert_eq!(house.notes("again").await, vec!["old"; 60]);
        let query = json!({
            "TableName": "again", "IndexName": "by-kind", "Select": "COUNT",
            "KeyConditionExpression": "kind = :k",
            "ExpressionAttributeValues": {":k": {"S": "old"}},
        });
        assert_eq!(house.ask("Query", query).await.unwrap()["Count"], 60);

        let deleted = house.ask("DeleteBackup", json!({"BackupArn": arn})).await.unwrap();
        let details = &deleted["BackupDescription"]["BackupDetails"];
        assert_eq!(details["BackupStatus"], "DELETED");
        let (kind, _) = house.ask("DescribeBackup", json!({"BackupArn": arn})).await.unwrap_err();
        assert_eq!(kind, "BackupNotFoundException");
        let listed = house.ask("ListTables", json!({})).await.unwrap();
        assert_eq!(listed["TableNames"], json!(["again"]));
    }
}

#[tokio::test]
async fn a_table_is_restored_to_any_instant_since_it_was_made() {
    for on_disk in [false, true] {
        let house = MovableHouse::new(on_disk).await;
        let made = house.door.clock.now().millis();
        house.time.advance(Duration::from_secs(60)).await;
        for note in ["one", "two", "three"] {
            house.put(1, note).await;
            house.time.advance(Duration::from_secs(60)).await;
        }
        let restore = |target: &str, at_ms: u64| {
            json!({
                "SourceTableName": "things", "TargetTableName": target,
                "RestoreDateTime": at_ms as f64 / 1000.0,
            })
        };
        let operation = "RestoreTableToPointInTime";
        let (kind, _) = house.ask(operation, restore("early", made)).await.unwrap_err();
        assert_eq!(kind, "PointInTimeRecoveryUnavailableException");
        let enable = json!({
            "TableName": "things",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
        });
        let enabled = house.ask("UpdateContinuousBackups", enable).await.unwrap();
        let recovery = &enabled["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        assert_eq!(recovery["PointInTimeRecoveryStatus"], "ENABLED");
        assert_eq!(recovery["EarliestRestorableDateTime"], json!(made as f64 / 1000.0));
        for (target, after, wanted) in
            [("at-0", 59, None), ("at-1", 119, Some("one")), ("at-2", 120, Some("two"))]
        {
            let at = made + after * 1000;
            house.ask(operation, restore(target, at)).await.unwrap();
            assert_eq!(house.notes(target).await, Vec::from_iter(wanted), "{target}");
        }
        let latest = json!({
            "SourceTableName": "things", "TargetTableName": "latest",
            "UseLatestRestorableTime": true,
        });
        house.ask(operation, latest).await.unwrap();
        assert_eq!(house.notes("latest").await, ["three"]);
        for wrong in [made - 1, made + 3_600_000] {
            let (kind, _) = house.ask(operation, restore("wrong", wrong)).await.unwrap_err();
            assert_eq!(kind, "InvalidRestoreTimeException");
        }
    }
}

#[tokio::test]
async fn backups_are_listed_by_table_and_time_in_pages() {
    let house = MovableHouse::new(false).await;
    let other = json!({
        "TableName": "other", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    house.ask("CreateTable", other).await.unwrap();
    let start = house.door.clock.now().millis() as f64 / 1000.0;
    for (table, name) in [("things", "one"), ("other", "two"), ("things", "three")] {
        let create = json!({"TableName": table, "BackupName": name});
        house.ask("CreateBackup", create).await.unwrap();
        house.time.advance(Duration::from_secs(10)).await;
    }
    let names = async |request: Json| -> (Vec<String>, Json) {
        let answer = house.ask("ListBackups", request).await.unwrap();
        let all = answer["BackupSummaries"].as_array().unwrap().iter();
        let names = all.map(|one| one["BackupName"].as_str().unwrap().to_owned()).collect();
        (names, answer["LastEvaluatedBackupArn"].clone())
    };
    assert_eq!(names(json!({})).await.0, ["one", "two", "three"]);
    assert_eq!(names(json!({"TableName": "things"})).await.0, ["one", "three"]);
    assert_eq!(names(json!({"TimeRangeLowerBound": start + 5.0})).await.0, ["two", "three"]);
    assert_eq!(names(json!({"TimeRangeUpperBound": start + 5.0})).await.0, ["one"]);
    assert!(names(json!({"BackupType": "SYSTEM"})).await.0.is_empty());
    let (first, last) = names(json!({"Limit": 2})).await;
    assert_eq!(first, ["one", "two"]);
    let (rest, end) = names(json!({"ExclusiveStartBackupArn": last})).await;
    assert_eq!((rest, end), (vec!["three".to_owned()], Json::Null));
    for wrong in [json!({"TableName": "things", "BackupName": "x"}), json!({"TableName": "things"})]
    {
        let (kind, _) = house.ask("CreateBackup", wrong).await.unwrap_err();
        assert_eq!(kind, "ValidationException");
    }
    let (kind, _) = house
        .ask("CreateBackup", json!({"TableName": "no", "BackupName": "abc"}))
        .await
        .unwrap_err();
    assert_eq!(kind, "TableNotFoundException");
}

#[tokio::test]
async fn work_that_a_crash_left_half_done_is_removed_when_the_door_opens() {
    let house = MovableHouse::new(false).await;
    house.put(1, "old").await;
    for name in ["whole", "half"] {
        let create = json!({"TableName": "things", "BackupName": name});
        house.ask("CreateBackup", create).await.unwrap();
    }
    let (store, own) = (house.door.store.clone(), house.door.own.clone());
    // As if the power had failed before the last backup and a restored table were complete.
    let page = store.scan(Scan::new(own.as_str())).await.unwrap();
    let is_half = |item: &&Item| item.get("title").and_then(Value::as_s) == Some("half");
    let record = page.items.iter().find(is_half).unwrap().clone();
    let held = format!("backup-{}", record.get("id").and_then(Value::as_s).unwrap());
    let record = record.with("is_available", false);
    store.put(Put::new(own.as_str(), record)).await.unwrap();
    let item = Item::new().with("name", "restoring/things");
    store.put(Put::new(own.as_str(), item)).await.unwrap();
    let holder = |spec: &TableSpec| spec.name.clone();
    let prefix = own.strip_suffix("door").unwrap();
    assert!(store.with_spec(&format!("{prefix}{held}"), holder).is_ok());

    let (clock, tasks) = (house.door.clock.clone(), house.tasks.clone());
    drop(house);
    let random = Random::seeded(2);
    let door =
        Door::open(store.clone(), Guard::open(), Secrets::default(), clock, random, &tasks).await;
    assert!(store.with_spec(&format!("{prefix}{held}"), holder).is_err());
    assert!(store.with_spec("things", holder).is_err());
    let page = store.scan(Scan::new(own.as_str())).await.unwrap();
    assert_eq!(page.items.len(), 1, "the whole backup stays: {:?}", page.items);
    drop(door);
}

#[tokio::test]
async fn a_caller_that_disconnects_leaves_nothing_half_done() {
    let house = MovableHouse::new(false).await;
    house.put(1, "old").await;
    let create = json!({"TableName": "things", "BackupName": "first"});
    disconnect(&house, "CreateBackup", create).await;
    let listed = house.ask("ListBackups", json!({})).await.unwrap();
    let arn = listed["BackupSummaries"][0]["BackupArn"].clone();
    assert!(arn.is_string(), "{listed}");
    let restore = json!({"BackupArn": arn, "TargetTableName": "again"});
    disconnect(&house, "RestoreTableFromBackup", restore).await;
    assert_eq!(house.notes("again").await, ["old"]);
}

/// Sends a call, drops its future, and waits for the work that continues without the caller.
async fn disconnect(house: &MovableHouse, operation: &str, body: Json) {
    let mut call = Box::pin(house.ask(operation, body));
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "{operation} was done at once");
    drop(call);
    wait::until_async("the work to end", async || {
        let running = house.tasks.leftover();
        wait::holds(!running.iter().any(|name| name.starts_with(TABLE_TASK)), running)
    })
    .await;
}

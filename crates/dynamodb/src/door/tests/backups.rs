//! Backups, and tables as they were.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use serde_json::{Value as Json, json};
use table::{Embedded, Item, Put, Scan, Secrets, TableSpec, Tables, Value};
use tempfile::TempDir;
use testkit::wait;

use super::super::{Call, DECLARATION, Door, Guard};
use super::{judge, things};

/// A door on a house whose time can be moved, in memory or on disk.
struct Aging {
    door: Arc<Door>,
    time: VirtualTime,
    tasks: Tasks,
    _directory: Option<TempDir>,
}

impl Aging {
    async fn new(on_disk: bool) -> Aging {
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
        let aging = Aging { door: door.await.unwrap(), time, tasks, _directory: directory };
        aging.ask("CreateTable", things()).await.unwrap();
        aging
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

    /// The notes of a table in the order of their numbers.
    async fn notes(&self, table: &str) -> Vec<String> {
        let answer = self.ask("Scan", json!({"TableName": table})).await.unwrap();
        let items = answer["Items"].as_array().unwrap().iter();
        items.map(|item| item["name"]["S"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Aging {
    fn drop(&mut self) {
        let panicked = self.tasks.panicked();
        assert!(std::thread::panicking() || panicked.is_empty(), "tasks panicked: {panicked:?}");
    }
}

#[tokio::test]
async fn a_backup_brings_a_table_back_as_it_was() {
    for on_disk in [false, true] {
        let aging = Aging::new(on_disk).await;
        for number in 0..60 {
            aging.put(number, "old").await;
        }
        let made = json!({"TableName": "things", "BackupName": "first"});
        let made = aging.ask("CreateBackup", made).await.unwrap();
        let arn = made["BackupDetails"]["BackupArn"].clone();
        aging.put(0, "new").await;
        aging.put(77, "new").await;
        let described = aging.ask("DescribeBackup", json!({"BackupArn": arn})).await.unwrap();
        let source = &described["BackupDescription"]["SourceTableDetails"];
        assert_eq!(source["ItemCount"], 60);
        let features = &described["BackupDescription"]["SourceTableFeatureDetails"];
        assert_eq!(features["GlobalSecondaryIndexes"][0]["IndexName"], "by-kind");

        let restore = json!({"BackupArn": arn, "TargetTableName": "things"});
        let (kind, _) = aging.ask("RestoreTableFromBackup", restore).await.unwrap_err();
        assert_eq!(kind, "TableAlreadyExistsException");
        aging.ask("DeleteTable", json!({"TableName": "things"})).await.unwrap();
        let restore = json!({
            "BackupArn": arn, "TargetTableName": "again", "LocalSecondaryIndexOverride": [],
        });
        let restored = aging.ask("RestoreTableFromBackup", restore).await.unwrap();
        assert_eq!(restored["TableDescription"]["TableStatus"], "ACTIVE");
        assert!(restored["TableDescription"].get("LocalSecondaryIndexes").is_none());
        assert_eq!(aging.notes("again").await, vec!["old"; 60]);
        let query = json!({
            "TableName": "again", "IndexName": "by-kind", "Select": "COUNT",
            "KeyConditionExpression": "kind = :k",
            "ExpressionAttributeValues": {":k": {"S": "old"}},
        });
        assert_eq!(aging.ask("Query", query).await.unwrap()["Count"], 60);

        let deleted = aging.ask("DeleteBackup", json!({"BackupArn": arn})).await.unwrap();
        let details = &deleted["BackupDescription"]["BackupDetails"];
        assert_eq!(details["BackupStatus"], "DELETED");
        let (kind, _) = aging.ask("DescribeBackup", json!({"BackupArn": arn})).await.unwrap_err();
        assert_eq!(kind, "BackupNotFoundException");
        let listed = aging.ask("ListTables", json!({})).await.unwrap();
        assert_eq!(listed["TableNames"], json!(["again"]));
    }
}

#[tokio::test]
async fn a_table_is_restored_to_any_instant_since_it_was_made() {
    for on_disk in [false, true] {
        let aging = Aging::new(on_disk).await;
        let made = aging.door.clock.now().millis();
        aging.time.advance(Duration::from_secs(60)).await;
        for note in ["one", "two", "three"] {
            aging.put(1, note).await;
            aging.time.advance(Duration::from_secs(60)).await;
        }
        let restore = |target: &str, at_ms: u64| {
            json!({
                "SourceTableName": "things", "TargetTableName": target,
                "RestoreDateTime": at_ms as f64 / 1000.0,
            })
        };
        let operation = "RestoreTableToPointInTime";
        let (kind, _) = aging.ask(operation, restore("early", made)).await.unwrap_err();
        assert_eq!(kind, "PointInTimeRecoveryUnavailableException");
        let enable = json!({
            "TableName": "things",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
        });
        let enabled = aging.ask("UpdateContinuousBackups", enable).await.unwrap();
        let told = &enabled["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        assert_eq!(told["PointInTimeRecoveryStatus"], "ENABLED");
        assert_eq!(told["EarliestRestorableDateTime"], json!(made as f64 / 1000.0));
        for (target, after, wanted) in
            [("at-0", 59, None), ("at-1", 119, Some("one")), ("at-2", 120, Some("two"))]
        {
            let at = made + after * 1000;
            aging.ask(operation, restore(target, at)).await.unwrap();
            assert_eq!(aging.notes(target).await, Vec::from_iter(wanted), "{target}");
        }
        let latest = json!({
            "SourceTableName": "things", "TargetTableName": "latest",
            "UseLatestRestorableTime": true,
        });
        aging.ask(operation, latest).await.unwrap();
        assert_eq!(aging.notes("latest").await, ["three"]);
        for wrong in [made - 1, made + 3_600_000] {
            let (kind, _) = aging.ask(operation, restore("wrong", wrong)).await.unwrap_err();
            assert_eq!(kind, "InvalidRestoreTimeException");
        }
    }
}

#[tokio::test]
async fn backups_are_listed_by_table_and_time_in_pages() {
    let aging = Aging::new(false).await;
    let other = json!({
        "TableName": "other", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    aging.ask("CreateTable", other).await.unwrap();
    let start = aging.door.clock.now().millis() as f64 / 1000.0;
    for (table, name) in [("things", "one"), ("other", "two"), ("things", "three")] {
        let create = json!({"TableName": table, "BackupName": name});
        aging.ask("CreateBackup", create).await.unwrap();
        aging.time.advance(Duration::from_secs(10)).await;
    }
    let names = async |request: Json| -> (Vec<String>, Json) {
        let answer = aging.ask("ListBackups", request).await.unwrap();
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
        let (kind, _) = aging.ask("CreateBackup", wrong).await.unwrap_err();
        assert_eq!(kind, "ValidationException");
    }
    let (kind, _) = aging
        .ask("CreateBackup", json!({"TableName": "no", "BackupName": "abc"}))
        .await
        .unwrap_err();
    assert_eq!(kind, "TableNotFoundException");
}

#[tokio::test]
async fn what_a_crash_left_half_done_is_gone_when_the_door_opens() {
    let aging = Aging::new(false).await;
    aging.put(1, "old").await;
    for name in ["whole", "half"] {
        let create = json!({"TableName": "things", "BackupName": name});
        aging.ask("CreateBackup", create).await.unwrap();
    }
    let (store, own) = (aging.door.store.clone(), aging.door.own.clone());
    // As if the power had gone before the last backup, and a restored table, were whole.
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

    let (clock, tasks) = (aging.door.clock.clone(), aging.tasks.clone());
    drop(aging);
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
async fn a_caller_who_hangs_up_leaves_nothing_half_made() {
    let aging = Aging::new(false).await;
    aging.put(1, "old").await;
    let create = json!({"TableName": "things", "BackupName": "first"});
    hang_up(&aging, "CreateBackup", create).await;
    let listed = aging.ask("ListBackups", json!({})).await.unwrap();
    let arn = listed["BackupSummaries"][0]["BackupArn"].clone();
    assert!(arn.is_string(), "{listed}");
    let restore = json!({"BackupArn": arn, "TargetTableName": "again"});
    hang_up(&aging, "RestoreTableFromBackup", restore).await;
    assert_eq!(aging.notes("again").await, ["old"]);
}

/// Asks, does not wait for the answer, and waits for what goes on without the caller.
async fn hang_up(aging: &Aging, operation: &str, body: Json) {
    let mut asked = Box::pin(aging.ask(operation, body));
    let polled = asked.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "{operation} was done at once");
    drop(asked);
    wait::until_async("the work to end", async || {
        let running = aging.tasks.leftover();
        wait::holds(!running.iter().any(|name| name.starts_with(DECLARATION)), running)
    })
    .await;
}

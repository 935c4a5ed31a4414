//! Tests of the door: JSON in, JSON out, on a store in memory and a virtual clock.

mod backups;
mod bounds;
mod browser;
mod capacity;
mod corpus;
mod damage;
mod differential;
mod fuzz;
mod items;
mod messages;
mod pages;
mod parameters;
mod signing;
mod statements;
mod streams;
mod tables;
mod tags;
mod together;

use std::sync::Arc;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use serde_json::{Value as Json, json};
use table::{Embedded, Secret, Secrets};

use super::{Call, Door, Guard, Reply};

/// A door on a store in memory.
pub(super) struct Trial {
    pub(super) door: Arc<Door>,
    pub(super) time: VirtualTime,
    tasks: Tasks,
}

impl Trial {
    pub(super) async fn new() -> Trial {
        Trial::kept_by(Guard::open()).await
    }

    pub(super) async fn kept_by(guard: Guard) -> Trial {
        let start: Timestamp = "2026-11-16T10:15:00.000Z".parse().unwrap();
        let (clock, time) = Clock::virtual_at(start);
        let tasks = Tasks::new();
        let store = Embedded::in_memory(clock.clone(), &tasks).await.unwrap();
        let door = Door::open(
            store,
            guard,
            Secrets::new([Secret::table("secrets")]),
            clock,
            Random::seeded(1),
            &tasks,
        );
        Trial { door: door.await.unwrap(), time, tasks }
    }

    /// A door with a table `things` (`pk`, `sk`), a local index `by-at` with keys only, and a
    /// global index `by-kind` that also contains `name`.
    pub(super) async fn with_things() -> Trial {
        let trial = Trial::new().await;
        trial.ask("CreateTable", things()).await.unwrap();
        trial
    }

    /// The response, or the type and message of the failure.
    pub(super) async fn ask(&self, operation: &str, body: Json) -> Result<Json, (String, String)> {
        judge(&self.send(operation, &body.to_string()).await)
    }

    pub(super) async fn send(&self, operation: &str, body: &str) -> Reply {
        self.send_bytes(operation, body.as_bytes()).await
    }

    pub(super) async fn send_bytes(&self, operation: &str, body: &[u8]) -> Reply {
        let service = match operation {
            "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => {
                "DynamoDBStreams_20120810"
            }
            _ => "DynamoDB_20120810",
        };
        let target = format!("{service}.{operation}");
        let headers = |name: &str| (name == "x-amz-target").then_some(target.as_str());
        self.door.answer(Call { method: "POST", path: "/", headers: &headers, body }).await
    }

    pub(super) async fn put(&self, item: Json) {
        self.ask("PutItem", json!({"TableName": "things", "Item": item})).await.unwrap();
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let panicked = self.tasks.panicked();
        assert!(std::thread::panicking() || panicked.is_empty(), "tasks panicked: {panicked:?}");
    }
}

pub(super) fn judge(reply: &Reply) -> Result<Json, (String, String)> {
    let json: Json = match reply.body.as_str() {
        "" => Json::Null,
        body => serde_json::from_str(body).unwrap(),
    };
    if reply.status == 200 {
        return Ok(json);
    }
    let text = |field: &str| json.get(field).and_then(Json::as_str).map(str::to_owned);
    let kind = text("__type").unwrap();
    let kind = kind.rsplit('#').next().unwrap().to_owned();
    Err((kind, text("message").or_else(|| text("Message")).unwrap_or_default()))
}

/// The declaration of `things`.
pub(super) fn things() -> Json {
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let key = |partition: &str, sort: &str| {
        json!([
            {"AttributeName": partition, "KeyType": "HASH"},
            {"AttributeName": sort, "KeyType": "RANGE"},
        ])
    };
    json!({
        "TableName": "things",
        "AttributeDefinitions": [
            attribute("pk", "S"), attribute("sk", "N"), attribute("at", "N"), attribute("kind", "S"),
        ],
        "KeySchema": key("pk", "sk"),
        "BillingMode": "PAY_PER_REQUEST",
        "LocalSecondaryIndexes": [{
            "IndexName": "by-at",
            "KeySchema": key("pk", "at"),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-kind",
            "KeySchema": key("kind", "sk"),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]},
        }],
    })
}

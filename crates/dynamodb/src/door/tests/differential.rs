//! The door and another implementation of DynamoDB respond alike to the same requests: with the
//! same results, and with failures of the same type, words and details.
//!
//! `requests.rs` and `older.rs` make the requests; `other.rs` calls the other implementation and
//! lists where it differs.

mod older;
mod other;
mod requests;

use dynoxide::Database;
use proptest::collection::vec;
use proptest::prelude::proptest;
use proptest::prop_assert;
use serde_json::{Value as Json, json};

use super::{Trial, things};
pub(super) use other::ask_other;
use other::{Answer, agree, other};

/// A step that is sent to both.
#[derive(Clone, Debug)]
enum TestStep {
    /// One request.
    Ask(&'static str, Json),
    /// A query or a scan from page to page. Each side continues with the key of its own last page.
    Walk(&'static str, Json, Order),
    /// The same scan in this number of segments.
    Segments(Json, u32),
}

/// The promised order of a page's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The order of all items is fixed.
    Whole,
    /// Items with the same number may be in any order.
    By(&'static str),
    /// There is no promise.
    None,
}

/// Pages of one walk: there are few items, and every page follows another key.
const PAGES_MAX: usize = 50;

/// `things` with one more index, which contains all attributes and has no sort key.
fn wide() -> Json {
    let mut table = things();
    let attributes = table["AttributeDefinitions"].as_array_mut().unwrap();
    attributes.push(json!({"AttributeName": "name", "AttributeType": "S"}));
    let indexes = table["GlobalSecondaryIndexes"].as_array_mut().unwrap();
    indexes.push(json!({
        "IndexName": "by-name",
        "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }));
    table
}

/// A failure without the namespace of its type.
fn without_namespace(mut body: Json) -> Json {
    let kind = body["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
    body["__type"] = json!(kind);
    body
}

/// The door and the other implementation.
struct BothDoors {
    trial: Trial,
    other: Database,
}

/// One of the two.
#[derive(Clone, Copy, Debug)]
enum Side {
    Ours,
    Theirs,
}

impl BothDoors {
    async fn new() -> BothDoors {
        let trial = Trial::new().await;
        trial.ask("CreateTable", wide()).await.unwrap();
        BothDoors { trial, other: other() }
    }

    async fn ask(&self, side: Side, operation: &str, request: &Json) -> Answer {
        let answer = match side {
            Side::Theirs => other::ask(&self.other, operation, request),
            Side::Ours => {
                let reply = self.trial.send(operation, &request.to_string()).await;
                let body: Json = serde_json::from_str(&reply.body).unwrap();
                if reply.status == 200 { Ok(body) } else { Err(without_namespace(body)) }
            }
        };
        answer.map(sorted).map_err(sorted)
    }

    async fn walk(
        &self,
        side: Side,
        operation: &str,
        request: &Json,
        order: Order,
    ) -> Result<WalkResult, Json> {
        let (mut walked, mut request) = (WalkResult::default(), request.clone());
        for _ in 0..PAGES_MAX {
            let mut page = self.ask(side, operation, &request).await?;
            walked.add(&mut page, order);
            match page.get_mut("LastEvaluatedKey") {
                Some(key) => request["ExclusiveStartKey"] = key.take(),
                None => return Ok(walked),
            }
        }
        panic!("{operation} {request} has no end for {side:?}");
    }

    async fn step(&self, side: Side, step: &TestStep) -> Result<Json, Json> {
        match step {
            TestStep::Ask(operation, request) => self.ask(side, operation, request).await,
            TestStep::Walk(operation, request, order) => {
                Ok(self.walk(side, operation, request, *order).await?.into_json())
            }
            TestStep::Segments(request, segments) => {
                let mut all = WalkResult::default();
                for segment in 0..*segments {
                    let mut request = request.clone();
                    request["Segment"] = json!(segment);
                    request["TotalSegments"] = json!(segments);
                    let part = self.walk(side, "Scan", &request, Order::None).await?;
                    all.items.extend(part.items);
                    all.count += part.count;
                    all.scanned += part.scanned;
                }
                all.items.sort_by_key(Json::to_string);
                Ok(all.into_json())
            }
        }
    }
}

impl BothDoors {
    /// Whether an update only removes from a missing item. DynamoDB creates no item in this case;
    /// the other implementation does, and the two would differ from then on.
    async fn takes_from_nothing(&self, step: &TestStep) -> bool {
        let updates: Vec<&Json> = match step {
            TestStep::Ask("UpdateItem", request) => vec![request],
            TestStep::Ask("TransactWriteItems", request) => {
                let parts = request["TransactItems"].as_array().unwrap();
                parts.iter().filter_map(|part| part.get("Update")).collect()
            }
            TestStep::Ask(..) | TestStep::Walk(..) | TestStep::Segments(..) => return false,
        };
        for update in updates.into_iter().filter(|update| only_takes(update)) {
            let get = json!({"TableName": "things", "Key": update["Key"]});
            let got = self.ask(Side::Ours, "GetItem", &get).await;
            if got.is_ok_and(|got| got.get("Item").is_none()) {
                return true;
            }
        }
        false
    }
}

fn only_takes(update: &Json) -> bool {
    match (update["UpdateExpression"].as_str(), update["AttributeUpdates"].as_object()) {
        (Some(text), _) => !text.contains("SET") && !text.contains("ADD"),
        (None, Some(updates)) => {
            !updates.is_empty() && updates.values().all(|update| update["Action"] == "DELETE")
        }
        (None, None) => false,
    }
}

/// The combined result of all pages of a walk.
#[derive(Debug, Default)]
struct WalkResult {
    items: Vec<Json>,
    /// The values that determine the promised order.
    order: Vec<Json>,
    /// The number of items that each page examined.
    pages: Vec<Json>,
    count: u64,
    scanned: u64,
}

impl WalkResult {
    fn add(&mut self, page: &mut Json, order: Order) {
        let scanned = page["ScannedCount"].as_u64().unwrap();
        self.count += page["Count"].as_u64().unwrap();
        self.scanned += scanned;
        if let Some(Json::Array(items)) = page.get_mut("Items").map(Json::take) {
            if let Order::By(name) = order {
                self.order.extend(items.iter().map(|item| item[name].clone()));
            }
            self.items.extend(items);
        }
        if order != Order::Whole {
            self.items.sort_by_key(Json::to_string);
        }
        self.pages.push(json!(scanned));
    }

    fn into_json(self) -> Json {
        json!({"Items": self.items, "Order": self.order, "Pages": self.pages,
            "Count": self.count, "ScannedCount": self.scanned})
    }
}

/// Sets, and the items of a batch, have no promised order.
fn sorted(mut json: Json) -> Json {
    fn sort(json: &mut Json) {
        match json {
            Json::Object(fields) => {
                for (name, value) in fields {
                    sort(value);
                    match value.as_array_mut() {
                        Some(list) if matches!(name.as_str(), "SS" | "NS" | "BS" | "things") => {
                            list.sort_by_key(Json::to_string);
                        }
                        Some(_) | None => {}
                    }
                }
            }
            Json::Array(list) => list.iter_mut().for_each(sort),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    sort(&mut json);
    json
}

proptest! {
    #![proptest_config(testkit::depth::cases(50))]

    #[test]
    fn two_implementations_respond_alike(steps in vec(requests::step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let both = BothDoors::new().await;
            for step in steps {
                if both.takes_from_nothing(&step).await {
                    continue;
                }
                let ours = both.step(Side::Ours, &step).await;
                let theirs = both.step(Side::Theirs, &step).await;
                prop_assert!(
                    agree(&step, &ours, &theirs),
                    "{step:?}\n  ours   {ours:?}\n  theirs {theirs:?}"
                );
            }
            Ok(())
        })?;
    }
}

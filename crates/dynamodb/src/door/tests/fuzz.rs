//! Arbitrary requests, one per line: the operation, a space, and the body.

use std::cell::RefCell;

use serde_json::{Value as Json, json};

use super::super::read::{JsonItem, json as read_json};
use super::super::write::JsonWriter;
use super::{Trial, judge};

/// Requests of one input: enough for some to build on others.
const REQUESTS_MAX: usize = 8;
/// The prefixes of operations that change nothing.
const READS: [&str; 7] = ["BatchGet", "Describe", "Get", "List", "Query", "Scan", "TransactGet"];

/// The door decodes an item as the tables do, and writes it as it was read.
fn check_item(body: &[u8]) {
    let ours = read_json::<JsonItem>(body).map(|JsonItem(item)| item);
    let Ok(json) = serde_json::from_slice::<Json>(body) else {
        assert!(ours.is_err(), "an item, but no JSON");
        return;
    };
    if let Ok(theirs) = table::item_from_json(&json) {
        assert_eq!(ours.as_ref().ok(), Some(&theirs));
    }
    let Ok(item) = ours else { return };
    let mut out = JsonWriter::new();
    out.item(&item);
    let written = out.finish();
    let JsonItem(read) = read_json(written.as_bytes()).unwrap_or_else(|_| panic!("{written}"));
    assert_eq!(read, item);
}

/// Every response has DynamoDB's form, and a put item is found under its key. Returns whether
/// something changed.
async fn check_request(trial: &Trial, operation: &str, body: &[u8]) -> bool {
    let reply = trial.send_bytes(operation, body).await;
    assert!(reply.status == 200 || reply.status == 400, "{reply:?}");
    let is_done = judge(&reply).is_ok();
    if is_done && operation == "PutItem" {
        check_put(trial, body).await;
    }
    is_done && !READS.iter().any(|read| operation.starts_with(read))
}

async fn check_put(trial: &Trial, body: &[u8]) {
    // The door skips unknown fields, even if they contain invalid text.
    let Ok(request) = serde_json::from_slice::<Json>(body) else { return };
    if request["TableName"] != json!("things") {
        return;
    }
    let key = json!({"pk": request["Item"]["pk"], "sk": request["Item"]["sk"]});
    let get = json!({"TableName": "things", "Key": key, "ConsistentRead": true});
    let found = trial.ask("GetItem", get).await.unwrap();
    let read = |json: &Json| table::item_from_json(json).unwrap();
    assert_eq!(read(&found["Item"]), read(&request["Item"]));
}

#[test]
fn every_request_gets_a_response_and_an_item_is_found_as_it_was_put() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Opening a door takes long, so an unchanged one is used again.
    let kept: RefCell<Option<Trial>> = RefCell::default();
    testkit::fuzz::check("requests", |input| {
        runtime.block_on(async {
            let unchanged = kept.take();
            let trial = match unchanged {
                Some(trial) => trial,
                None => Trial::with_things().await,
            };
            let mut is_changed = false;
            for line in input.split(|byte| *byte == b'\n').take(REQUESTS_MAX) {
                let space = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
                let (operation, body) = line.split_at(space);
                check_item(body);
                let operation = String::from_utf8_lossy(operation);
                is_changed |= check_request(&trial, &operation, body).await;
            }
            kept.replace(Some(trial).filter(|_| !is_changed));
        });
    });
}

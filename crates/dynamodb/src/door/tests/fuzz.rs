//! Any requests, one on each line: the operation, a space, and the body.

use std::cell::RefCell;

use serde_json::{Value as Json, json};

use super::super::read::{JsonItem, json as read_json};
use super::super::write::Out;
use super::{Trial, judge};

/// Requests of one input: enough to build on what others did.
const REQUESTS_MAX: usize = 8;
/// How operations begin that change nothing.
const READS: [&str; 7] = ["BatchGet", "Describe", "Get", "List", "Query", "Scan", "TransactGet"];

/// An item is read as the tables read it, and written as it was read.
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
    let mut out = Out::new();
    out.item(&item);
    let written = out.finish();
    let JsonItem(read) = read_json(written.as_bytes()).unwrap_or_else(|_| panic!("{written}"));
    assert_eq!(read, item);
}

/// Every answer is DynamoDB's, and what was put is found under its key. Whether something changed.
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
    // The door skips fields that it does not know, also if their texts are none.
    let Ok(asked) = serde_json::from_slice::<Json>(body) else { return };
    if asked["TableName"] != json!("things") {
        return;
    }
    let key = json!({"pk": asked["Item"]["pk"], "sk": asked["Item"]["sk"]});
    let get = json!({"TableName": "things", "Key": key, "ConsistentRead": true});
    let found = trial.ask("GetItem", get).await.unwrap();
    let read = |json: &Json| table::item_from_json(json).unwrap();
    assert_eq!(read(&found["Item"]), read(&asked["Item"]));
}

#[test]
fn every_request_has_an_answer_and_an_item_is_found_as_it_was_put() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // A door takes long to open, so one that nothing has changed is used again.
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

//! Arbitrary statements on a table with a few items.

use serde_json::{Value as Json, json};
use table::{Item, Scan, Value, item_from_json};

use super::parse::{SelectStatement, Statement, statement};
use crate::door::tests::Trial;

/// A door with items in `things`.
async fn stocked() -> Trial {
    let trial = Trial::with_things().await;
    for item in [
        json!({"pk": {"S": "a"}, "sk": {"N": "1"}, "kind": {"S": "x"}, "name": {"S": "one"},
            "at": {"N": "5"}}),
        json!({"pk": {"S": "a"}, "sk": {"N": "2"}, "kind": {"S": "y"},
            "m": {"M": {"k": {"L": [{"N": "1"}]}}}}),
        json!({"pk": {"S": "a"}, "sk": {"N": "10"}, "name": {"NULL": true},
            "s": {"SS": ["a", "b"]}}),
        json!({"pk": {"S": "b"}, "sk": {"N": "1"}, "kind": {"S": "x"},
            "l": {"L": [{"S": "a"}]}, "y": {"BOOL": true}}),
    ] {
        trial.put(item).await;
    }
    trial
}

/// The plan of a statement must find the same items as a scan with the statement's condition as its
/// filter, whether the plan is a get, a query or a scan.
async fn check_select(trial: &Trial, text: &str, select: &SelectStatement) {
    let request = json!({"Statement": text, "ConsistentRead": true});
    let Ok(answer) = trial.ask("ExecuteStatement", request).await else { return };
    if select.table != "things" || select.index.is_some() || !select.paths.is_empty() {
        return;
    }
    let found = answer["Items"].as_array().unwrap().iter();
    let found: Vec<Item> = found.map(|item| item_from_json(item).unwrap()).collect();
    let scan = Scan { filter: select.condition.clone(), ..Scan::new("things") };
    let Ok((page, _)) = trial.door.store.scan_fetched(&scan, false) else { return };
    let wanted = page.items;
    assert_eq!(found.len(), wanted.len(), "{found:?} is not {wanted:?}");
    assert!(found.iter().all(|item| wanted.contains(item)), "{found:?} is not {wanted:?}");
}

/// A write gets a response, and an inserted item is found.
async fn check_write(text: &str, statement: &Statement) {
    let trial = stocked().await;
    let reply = trial.send("ExecuteStatement", &json!({"Statement": text}).to_string()).await;
    assert!(reply.status == 200 || reply.status == 400, "{reply:?}");
    let Statement::Insert { table, item } = statement else { return };
    if reply.status != 200 || table != "things" {
        return;
    }
    let key = |name: &str| -> Json { table::value_to_json(item.get(name).unwrap()) };
    let key = json!({"pk": key("pk"), "sk": key("sk")});
    let get = json!({"TableName": "things", "Key": key, "ConsistentRead": true});
    let found = trial.ask("GetItem", get).await.unwrap();
    assert_eq!(&item_from_json(&found["Item"]).unwrap(), item);
}

#[test]
fn every_statement_is_refused_or_finds_what_a_scan_finds() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let trial = runtime.block_on(stocked());
    testkit::fuzz::check("statements", |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let given = || vec![Value::from("a"), Value::from(1)];
        assert_eq!(statement(text, given()).ok(), statement(text, given()).ok());
        match statement(text, Vec::new()) {
            Err(fault) => assert_eq!(fault.status(), 400),
            Ok(Statement::Select(select)) => runtime.block_on(check_select(&trial, text, &select)),
            Ok(write) => runtime.block_on(check_write(text, &write)),
        }
    });
}

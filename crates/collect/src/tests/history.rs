//! What was collected stays readable: whatever becomes of its source, until it is purged.

use serde_json::{Value as Json, json};

use super::{Collector, FIRST, Trial, all};
use crate::Options;

async fn series(collector: &Collector, key: &str, step: u64) -> Json {
    let path = format!("/series/{key}?from={FIRST}&to=2025-12-02T10:24:00Z&step={step}");
    let answer = collector.operate("GET", &path, &json!(null)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["points"].clone()
}

#[testkit::test]
async fn a_source_that_is_changed_keeps_its_history() {
    let (trial, collector) = Trial::with_one().await;
    let added = collector.add(&trial, "tokyo", &json!({ "metric": "hits" })).await;
    trial.pass(&[&collector], 30 + 70).await;
    let before = series(&collector, "tokyo", 5).await;
    assert_eq!(before.as_array().unwrap().len(), 12);
    // Another metric and another partition: fewer days are one partition instead of one a day.
    let mut form = added.json()["source"].clone();
    for (name, value) in [("metric", json!("orders")), ("retentionDays", json!(3))] {
        form[name] = value;
        let changed = collector.operate("PUT", "/sources/tokyo", &form).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        assert_eq!(series(&collector, "tokyo", 5).await, before);
        trial.pass(&[&collector], 130).await;
        assert_eq!(series(&collector, "tokyo", 5).await, before);
    }
    // Both of its keys lead to all of it; minutes that were added up are there too.
    trial.pass(&[&collector], 200).await;
    for key in ["hits%23tokyo", "orders%23tokyo"] {
        assert_eq!(series(&collector, key, 5).await, before, "{key}");
        let minute = series(&collector, key, 60).await;
        assert_eq!((&minute[0]["value"], &minute[0]["coverage"]), (&json!(13), &json!(1.0)));
    }
    let ledger = collector.ledger("tokyo", 6).await;
    assert_eq!(ledger, all("ok", 0, 360));
    // A slot of before is written once, also by the source as it is now.
    let order = json!({ "from": FIRST, "to": "2025-12-02T10:24:00Z", "reprocess": "all" });
    collector.operate("POST", "/sources/tokyo/backfill", &order).await;
    trial.pass(&[&collector], 20).await;
    assert_eq!(series(&collector, "tokyo", 5).await, before);
    assert_eq!(trial.rows("hits#tokyo#2025-12-02").await.len(), 24);
    trial.close(collector).await;
    let collector = trial.open(trial.options()).await;
    assert_eq!(series(&collector, "tokyo", 5).await, before);
}

#[testkit::test]
async fn a_deleted_source_is_read_until_it_is_purged() {
    let (trial, collector) = Trial::with_one().await;
    assert_eq!(collector.add(&trial, "tokyo", &json!({})).await.status, 201);
    trial.pass(&[&collector], 30 + 70).await;
    let before = series(&collector, "tokyo", 5).await;
    assert_eq!(collector.operate("DELETE", "/sources/tokyo", &json!(null)).await.status, 200);
    assert_eq!(collector.operate("GET", "/sources/tokyo", &json!(null)).await.status, 404);
    assert_eq!(series(&collector, "tokyo", 5).await, before);
    trial.pass(&[&collector], 400).await;
    let minute = series(&collector, "ai_response_count%23tokyo", 60).await;
    assert_eq!((&minute[0]["value"], &minute[0]["coverage"]), (&json!(13), &json!(1.0)));
    assert_eq!(collector.ledger("tokyo", 1).await, all("ok", 0, 60));
    let listed = collector.operate("GET", "/sources?deleted=true", &json!(null)).await.json();
    assert_eq!(listed["sources"][0]["source"]["name"], "tokyo", "{listed}");
    assert_eq!(listed["sources"].as_array().unwrap().len(), 1);
    trial.close(collector).await;

    let collector = trial.open(trial.options()).await;
    assert_eq!(series(&collector, "tokyo", 5).await, before);
    let living = collector.operate("POST", "/sources/default/purge", &json!(null)).await.refusal();
    assert_eq!((living.0, living.1.as_str()), (409, "source_exists"), "{living:?}");
    let purged = collector.operate("POST", "/sources/tokyo/purge", &json!(null)).await;
    assert_eq!(purged.status, 202, "{purged:?}");
    trial.pass(&[&collector], 10).await;
    let gone = collector.operate("GET", "/series/tokyo", &json!(null)).await.refusal();
    assert_eq!((gone.0, gone.1.as_str()), (404, "no_such_source"));
    assert!(trial.rows("ai_response_count#tokyo#2025-12-02").await.is_empty());
    for pk in ["L#ai_response_count#tokyo", "M#ai_response_count#tokyo"] {
        let rows = table::Query::new("collect", "pk", pk).consistent();
        assert!(table::query_all(&*trial.store, rows).await.unwrap().is_empty(), "{pk}");
    }
    // Its name is free, and begins anew.
    assert_eq!(collector.add(&trial, "tokyo", &json!({})).await.status, 201);
    assert!(collector.slots("tokyo", 1).await.is_empty());
}

#[testkit::test]
async fn a_source_that_comes_back_has_its_history() {
    let (trial, collector) = Trial::with_one().await;
    assert_eq!(collector.add(&trial, "tokyo", &json!({ "metric": "hits" })).await.status, 201);
    trial.pass(&[&collector], 30 + 70).await;
    let before = series(&collector, "tokyo", 5).await;
    collector.operate("DELETE", "/sources/tokyo", &json!(null)).await;
    trial.pass(&[&collector], 60).await;
    assert_eq!(collector.add(&trial, "tokyo", &json!({})).await.status, 201);
    trial.pass(&[&collector], 130).await;
    assert_eq!(series(&collector, "tokyo", 5).await, before);
    let ledger = collector.ledger("tokyo", 5).await;
    assert!(ledger.iter().all(|(_, state)| state == "ok"), "{ledger:?}");
    assert!(ledger.iter().any(|(from, _)| *from >= 180), "{ledger:?}");
}

#[testkit::test]
async fn a_source_that_leaves_the_file_is_still_read() {
    let trial = Trial::new().await;
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("sources.json");
    let write = |metric: &str| {
        let base = format!("{}/tokyo", trial.upstream.url());
        let form = json!([{ "name": "tokyo", "metric": metric, "baseUrl": base }]);
        std::fs::write(&path, form.to_string()).unwrap();
    };
    write("hits");
    let options = Options { sources_file: Some(path.clone()), ..trial.options() };
    let collector = trial.open(options).await;
    trial.pass(&[&collector], 30 + 70).await;
    let before = series(&collector, "tokyo", 5).await;
    assert_eq!(before.as_array().unwrap().len(), 12);
    write("orders");
    trial.pass(&[&collector], 6).await;
    assert_eq!(series(&collector, "tokyo", 5).await, before);
    std::fs::write(&path, "[]").unwrap();
    trial.pass(&[&collector], 6).await;
    assert_eq!(series(&collector, "tokyo", 5).await, before);
    assert_eq!(collector.operate("GET", "/sources/tokyo", &json!(null)).await.status, 404);
}

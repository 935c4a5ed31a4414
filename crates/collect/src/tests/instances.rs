//! Two instances on one store.

use serde_json::json;

use super::{Trial, all};

#[testkit::test]
async fn two_instances_ask_once_for_each_slot() {
    let (trial, collector) = Trial::with_collector().await;
    let other = trial.open(trial.options()).await;
    trial.pass(&[&collector, &other], 30 + 120 + 10).await;
    let mut windows = trial.upstream.windows();
    let asked = windows.len();
    windows.sort();
    windows.dedup();
    assert_eq!((asked, windows.len()), (24 + 1, 24 + 1));
    for collector in [&collector, &other] {
        assert_eq!(collector.ledger("default", 2).await, all("ok", 0, 120));
    }
}

#[testkit::test]
async fn a_source_that_one_instance_gets_is_known_to_the_other() {
    let (trial, collector) = Trial::with_collector().await;
    let other = trial.open(trial.options()).await;
    assert_eq!(collector.add(&trial, "tokyo", &json!({})).await.status, 201);
    trial.pass(&[&collector, &other], 6).await;
    let known = other.operate("GET", "/sources/tokyo", &json!(null)).await;
    assert_eq!(known.status, 200, "{known:?}");
    assert_eq!(other.operate("POST", "/sources/tokyo/pause", &json!(null)).await.status, 200);
    trial.pass(&[&collector, &other], 6).await;
    let paused = collector.operate("GET", "/sources/tokyo", &json!(null)).await.json();
    assert_eq!(paused["paused"], true);
}

#[testkit::test]
async fn when_one_instance_goes_the_other_goes_on() {
    let (trial, collector) = Trial::with_collector().await;
    let other = trial.open(trial.options()).await;
    trial.pass(&[&collector, &other], 30 + 30).await;
    trial.close(collector).await;
    trial.pass(&[&other], 120).await;
    let ledger = other.ledger("default", 2).await;
    assert_eq!(ledger.len(), 24);
    assert!(ledger.iter().all(|(_, state)| state == "ok" || state == "late"), "{ledger:?}");
}

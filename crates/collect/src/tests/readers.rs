//! Who may read a source: everyone, holders of a key, or the operator.

use serde_json::{Value as Json, json};

use super::{Collector, FIRST, Trial};

/// Every way to read the slots of a source, by what must not be in a stranger's answer.
const READS: [&str; 5] = [
    "/series/{}",
    "/series/{}?step=60",
    "/slots/{}",
    "/slots/ai_response_count%23{}",
    "/metrics/summary?source={}",
];

async fn furnished() -> (Trial, Collector) {
    let (trial, collector) = Trial::with_one().await;
    for readers in ["everyone", "key", "operator"] {
        let name = format!("for-{readers}");
        let added = collector.add(&trial, &name, &json!({ "readers": readers })).await;
        assert_eq!(added.status, 201, "{added:?}");
    }
    assert_eq!(collector.add(&trial, "unsaid", &json!({})).await.status, 201);
    trial.pass(&[&collector], 30 + 70).await;
    (trial, collector)
}

#[testkit::test]
async fn a_source_is_read_by_those_whom_it_names_and_by_nobody_else() {
    let (_trial, collector) = furnished().await;
    let reader = collector.instances[0].key("reader", &["collect:read"]).await;
    let other = collector.instances[0].key("other", &["score:operate"]).await;
    let status = async |key: Option<&str>, path: &str, accept: &str| {
        let mut headers = vec![("accept", accept)];
        headers.extend(key.map(|key| ("x-api-key", key)));
        collector.ask("GET", path, &headers, "").await.status
    };
    for read in READS {
        for accept in ["application/json", "text/csv", "text/plain"] {
            let all = async |key: Option<&str>| {
                let path = |name: &str| read.replace("{}", name);
                [
                    status(key, &path("for-everyone"), accept).await,
                    status(key, &path("for-key"), accept).await,
                    status(key, &path("for-operator"), accept).await,
                    status(key, &path("unsaid"), accept).await,
                ]
            };
            assert_eq!(all(None).await, [200, 401, 401, 401], "{read} {accept}");
            assert_eq!(all(Some(&reader)).await, [200, 200, 403, 403], "{read} {accept}");
            assert_eq!(all(Some(&other)).await, [200, 403, 403, 403], "{read} {accept}");
            assert_eq!(all(Some(&collector.key)).await, [200; 4], "{read} {accept}");
            assert_eq!(
                status(Some("nk_x_y"), &read.replace("{}", "for-everyone"), accept).await,
                401
            );
        }
    }
    // The seed's source is everybody's.
    assert_eq!(collector.get("/series/ai_response_count").await.status, 200);
    assert_eq!(collector.get("/metrics/summary").await.status, 200);
}

#[testkit::test]
async fn lists_name_only_sources_that_the_caller_may_read() {
    let (_trial, collector) = furnished().await;
    let reader = collector.instances[0].key("reader", &["collect:read"]).await;
    let names = ["for-everyone", "for-key", "for-operator", "unsaid"];
    let seen = async |key: Option<&str>, path: &str| {
        let headers: Vec<(&str, &str)> = key.map(|key| ("x-api-key", key)).into_iter().collect();
        let answer = collector.ask("GET", path, &headers, "").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        names.map(|name| answer.text().contains(name))
    };
    for path in ["/explain", ""] {
        assert_eq!(seen(None, path).await, [true, false, false, false], "{path}");
        assert_eq!(seen(Some(&reader), path).await, [true, true, false, false], "{path}");
        assert_eq!(seen(Some(&collector.key), path).await, [true; 4], "{path}");
    }
    assert_eq!(collector.get("/stream/for-everyone").await.status, 401);
}

#[testkit::test]
async fn who_may_read_a_source_can_be_changed_and_stays_when_it_is_deleted() {
    let (_trial, collector) = furnished().await;
    let path = format!("/slots/for-key?from={FIRST}");
    let mut form =
        collector.operate("GET", "/sources/for-key", &json!(null)).await.json()["source"].clone();
    assert_eq!(form["readers"], "key");
    form["readers"] = json!("everyone");
    assert_eq!(collector.operate("PUT", "/sources/for-key", &form).await.status, 200);
    assert_eq!(collector.get(&path).await.status, 200);
    collector.operate("DELETE", "/sources/for-key", &json!(null)).await;
    assert_eq!(collector.get(&path).await.status, 200);
    collector.operate("DELETE", "/sources/for-operator", &json!(null)).await;
    assert_eq!(collector.get("/slots/for-operator").await.status, 401);
    let odd: Json = json!({ "readers": "friends" });
    let trial = Trial::new().await;
    let odd = collector.add(&trial, "odd", &odd).await.refusal();
    assert_eq!(odd.2, "readers must be everyone, key or operator, not `friends`");
}

//! Counts are added up, gauges are not.

use serde_json::{Value as Json, json};

use super::upstream::Reply;
use super::{Collector, FIRST, Trial};

async fn read(collector: &Collector, path: &str) -> Json {
    let answer = collector.operate("GET", path, &json!(null)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[testkit::test]
async fn a_gauge_takes_decimals_and_is_answered_by_least_greatest_mean_and_last() {
    let (trial, collector) = Trial::with_one().await;
    let form = json!({ "kind": "gauge", "metric": "temperature", "readers": "everyone" });
    let added = collector.add(&trial, "meter", &form).await;
    assert_eq!(added.status, 201, "{added:?}");
    trial.upstream.answer(|asked| match (asked.who.as_str(), asked.from.get(17..19)) {
        ("meter", Some("00")) => Reply::Count("-2.5".to_owned()),
        ("meter", Some("55")) => Reply::Count("0.1".to_owned()),
        ("meter", _) => Reply::Count("2.1e1".to_owned()),
        _ => Reply::Right,
    });
    trial.pass(&[&collector], 30 + 70).await;
    let slots = collector.slots("meter", 1).await;
    assert_eq!((&slots[0]["count"], &slots[1]["count"]), (&json!(-2.5), &json!(21)), "{slots:?}");
    let minute = format!("/series/meter?from={FIRST}&to=2025-12-02T10:24:00Z&step=60");
    let mean = (-2.5 + 0.1 + 210.0) / 12.0;
    let check = |point: &Json, value: &str| {
        let close = |name: &str| (point[name].as_f64().unwrap() - mean).abs() < 1e-9;
        assert_eq!((&point["min"], &point["max"]), (&json!(-2.5), &json!(21)), "{point}");
        assert!(close("mean") && close(value), "{point}");
        assert_eq!(point["last"], json!(0.1), "{point}");
    };
    check(&read(&collector, &minute).await["points"][0], "value");
    // The same when it is rolled up, and in hours.
    trial.pass(&[&collector], 300).await;
    check(&read(&collector, &minute).await["points"][0], "value");
    let summary = read(&collector, "/metrics/summary?source=meter").await;
    let minutes = summary["minutelyData"].as_array().unwrap();
    check(minutes.iter().find(|minute| minute["time"] == FIRST).unwrap(), "count");
    assert!(summary["lastMinuteCount"].as_f64().unwrap() < 22.0, "{summary}");
    let csv = collector.ask("GET", &minute, &[("accept", "text/csv")], "").await;
    let mut lines = csv.text().lines();
    assert_eq!(lines.next(), Some("time,value,status,coverage,min,max,mean,last"));
    assert!(lines.next().unwrap().ends_with(",ok,1,-2.5,21,17.3,0.1"), "{csv:?}");
    let text = collector.ask("GET", &minute, &[("accept", "text/plain")], "").await;
    for line in
        ["temperature_min{source=\"meter\"} -2.5 ", "temperature_last{source=\"meter\"} 0.1 "]
    {
        assert!(text.text().contains(line), "{text:?}");
    }
    // A count is whole and is added up, as ever.
    let counted = format!("/series/default?from={FIRST}&to=2025-12-02T10:24:00Z&step=60");
    let counted = read(&collector, &counted).await["points"][0].clone();
    assert_eq!((&counted["value"], &counted["last"]), (&json!(13), &json!(2)), "{counted}");
}

#[testkit::test]
async fn a_value_beyond_the_bounds_of_a_kind_is_refused() {
    let (trial, collector) = Trial::with_one().await;
    assert_eq!(collector.add(&trial, "meter", &json!({ "kind": "gauge" })).await.status, 201);
    for (written, told) in [
        ("1e300", "the value must be a decimal from -9007199254740992 to 9007199254740992, not"),
        ("\"7\"", "the value must be a decimal from -9007199254740992 to 9007199254740992, not"),
    ] {
        trial.upstream.answer(move |_| Reply::Count(written.to_owned()));
        let had = collector.operate("POST", "/sources/meter/preview", &json!(null)).await.json();
        assert!(had["trouble"].as_str().unwrap().starts_with(told), "{had}");
    }
    let odd = collector.add(&trial, "a", &json!({ "kind": "sum" })).await.refusal();
    assert_eq!(odd.2, "kind must be count or gauge, not `sum`");
}

#[testkit::test]
async fn rows_of_older_versions_are_read() {
    let (trial, collector) = Trial::with_one().await;
    // A source, its value and its roll-up as they were written before there were kinds and modes.
    let form = r#"{"name":"old","metric":"hits","baseUrl":"http://x.example","path":"/n","intervalSeconds":5,"lagSeconds":6,"pointer":"/count","echo":false,"misfire":"buffer_all","overlap":"allow_all","deadlineSeconds":300,"retentionDays":3}"#;
    let span = table::Item::new().with("from", FIRST).with("intervalSeconds", 5);
    let source = table::Item::new()
        .with("pk", "SOURCES")
        .with("sk", "old")
        .with("form", form)
        .with("spans", table::Value::L(vec![table::Value::M(span)]))
        .with("ver", 1);
    let value = table::Item::new()
        .with("metricName", "hits#old")
        .with("slotTime", FIRST)
        .with("count", 7)
        .with("status", "ok");
    let minute = table::Item::new()
        .with("pk", "M#hits#old")
        .with("sk", "2025-12-02T10:10:00Z")
        .with("expected", 12)
        .with("collected", 2)
        .with("sum", 9)
        .with("min", 2)
        .with("max", 7);
    let tables: &dyn table::Tables = &*trial.store;
    tables.put(table::Put::new("collect", source)).await.unwrap();
    tables.put(table::Put::new("AiResponseMetrics", value)).await.unwrap();
    tables.put(table::Put::new("collect", minute)).await.unwrap();
    trial.close(collector).await;
    let collector = trial.open(trial.options()).await;
    // It behaves as it did: it counts, everybody reads it, and it never knew a window.
    let old = read(&collector, "/sources/old").await["source"].clone();
    let attributes = ["kind", "mode", "readers"].map(|name| old[name].clone());
    assert_eq!(attributes, ["count", "instant", "everyone"], "{old}");
    let path = format!("/series/old?from={FIRST}&to=2025-12-02T10:23:05Z");
    assert_eq!(collector.get(&path).await.json()["points"][0]["value"], 7);
    let path = "/series/old?from=2025-12-02T10:10:00Z&to=2025-12-02T10:11:00Z&step=60";
    let point = collector.get(path).await.json()["points"][0].clone();
    assert_eq!((&point["value"], &point["mean"]), (&json!(9), &json!(4.5)), "{point}");
    assert_eq!((&point["max"], &point["last"]), (&json!(7), &json!(null)), "{point}");
    collector.operate("POST", "/sources/old/pause", &json!(null)).await;
}

#[testkit::test]
async fn a_source_that_is_called_as_the_default_metric_does_not_hide_it() {
    let (trial, collector) = Trial::with_one().await;
    let added = collector.add(&trial, "ai_response_count", &json!({})).await;
    assert_eq!(added.status, 201, "{added:?}");
    for kind in ["series", "slots"] {
        let read = |key: &'static str| read_source(&collector, kind, key);
        assert_eq!(read("ai_response_count").await, "default", "{kind}");
        assert_eq!(read("ai_response_count%23ai_response_count").await, "ai_response_count");
    }
    // Nor can the API take the name of the seed's source.
    let trial = Trial::new().await;
    let collector = trial.open(crate::Options { base_url: None, ..trial.options() }).await;
    let refused = collector.add(&trial, "default", &json!({})).await.refusal();
    assert_eq!(refused.2, "`default` is the source of `collect.base_url`");
}

async fn read_source(collector: &Collector, kind: &str, key: &str) -> Json {
    read(collector, &format!("/{kind}/{key}")).await["source"].clone()
}

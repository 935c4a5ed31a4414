//! What is told of what came, and of what did not.

use serde_json::{Value as Json, json};
use testkit::Left;

use super::upstream::Reply;
use super::{FIRST, Trial, at};

#[testkit::test]
async fn a_summary_holds_thirty_whole_minutes_and_says_where_holes_are() {
    let (trial, collector) = Trial::with_collector().await;
    // Each slot that is not found becomes a dead letter.
    trial.allow(Left::DeadLetters);
    trial.upstream.answer(|asked| match asked.from.as_str() {
        "2025-12-02T10:24:30Z" => Reply::Head("404 Not Found".to_owned()),
        _ => Reply::Right,
    });
    // 10:25:05: the last slot of 10:24 was asked for, and the minute is over and settled.
    trial.pass(&[&collector], 30 + 120 + 6).await;
    let summary = collector.get("/metrics/summary").await.json();
    let minutes = summary["minutelyData"].as_array().unwrap();
    assert_eq!(minutes.len(), 30);
    assert_eq!(summary["timestamp"], "2025-12-02T10:25:06Z");
    let hole =
        json!({ "time": "2025-12-02T10:24:00Z", "count": 10 * 2 + 3, "coverage": 11.0 / 12.0 });
    assert_eq!(minutes[29], hole);
    assert_eq!(summary["lastMinuteCount"], 23);
    let whole = json!({ "time": FIRST, "count": 11 + 2, "coverage": 1.0 });
    assert_eq!(minutes[28], whole);
    // Before it was asked nothing was expected, and nothing is not zero.
    assert_eq!(minutes[27]["count"], json!(null));
    assert_eq!(minutes[27]["coverage"], json!(null));
    assert_eq!(summary["coverage"], 23.0 / 24.0);
}

#[testkit::test]
async fn a_summary_of_no_source_names_the_setting() {
    let trial = Trial::new().await;
    let collector = trial.open(crate::Options { base_url: None, ..trial.options() }).await;
    let told = collector.get("/metrics/summary").await.refusal();
    assert_eq!((told.0, told.1.as_str()), (404, "no_default_source"));
    assert!(told.2.contains("`collect.base_url` (AI_API_BASE_URL) is not set"), "{told:?}");
    trial.pass(&[&collector], 120).await;
    assert!(trial.upstream.asked().is_empty());
}

#[testkit::test]
async fn a_series_has_nulls_for_holes_in_every_form() {
    let (trial, collector) = Trial::with_collector().await;
    // Each slot that is not found becomes a dead letter.
    trial.allow(Left::DeadLetters);
    trial.upstream.answer(|asked| match asked.from.as_str() {
        "2025-12-02T10:23:05Z" => Reply::Head("404 Not Found".to_owned()),
        _ => Reply::Right,
    });
    trial.pass(&[&collector], 30 + 70).await;
    let path = format!("/series/ai_response_count?from={FIRST}&to=2025-12-02T10:23:15Z");
    let answer = collector.get(&path).await;
    let series = answer.json();
    let points = series["points"].as_array().unwrap();
    let read = |point: &Json| (point["value"].clone(), point["status"].clone());
    assert_eq!(points.len(), 3);
    assert_eq!(read(&points[0]), (json!(1), json!("ok")));
    assert_eq!(read(&points[1]), (json!(null), json!("failed")));
    assert_eq!((&series["source"], &series["step"]), (&json!("default"), &json!(5)));
    assert_eq!(series["next"], json!(null));
    assert_eq!(answer.header("link"), None);

    let csv = collector.ask("GET", &path, &[("accept", "text/csv")], "").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let lines: Vec<&str> = csv.text().lines().collect();
    assert_eq!(lines[0], "time,value,status,coverage");
    assert_eq!(lines[1], "2025-12-02T10:23:00Z,1,ok,1");
    assert_eq!(lines[2], "2025-12-02T10:23:05Z,,failed,0");

    let text = collector.ask("GET", &path, &[("accept", "text/plain;version=0.0.4")], "").await;
    let lines: Vec<&str> = text.text().lines().collect();
    let millis = at(FIRST).millis();
    assert_eq!(lines[0], "# TYPE ai_response_count gauge");
    assert_eq!(lines[1], format!("ai_response_count{{source=\"default\"}} 1 {millis}"));
    let hole = format!("ai_response_count{{source=\"default\"}} NaN {}", millis + 5000);
    assert_eq!(lines[2], hole);
}

#[testkit::test]
async fn pages_of_a_series_and_of_the_ledger_follow_each_other() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 130).await;
    for kind in ["series", "slots"] {
        let (mut times, mut cursor) = (Vec::new(), String::new());
        loop {
            let path =
                format!("/{kind}/default?from={FIRST}&to=2025-12-02T10:24:58Z&limit=7{cursor}");
            let answer = collector.get(&path).await;
            let page = answer.json();
            let (list, name) =
                if kind == "series" { ("points", "time") } else { ("slots", "from") };
            let part = page[list].as_array().unwrap();
            assert!(part.len() <= 7);
            times.extend(part.iter().map(|it| it[name].as_str().unwrap().to_owned()));
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
            if kind == "series" {
                let link = answer.header("link").unwrap();
                assert!(link.ends_with("&limit=7>; rel=\"next\""), "{link}");
                assert!(link.contains("&cursor="), "{link}");
            }
        }
        assert_eq!(times.len(), 24, "{kind}");
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

#[testkit::test]
async fn minutes_and_hours_are_rolled_up_and_what_is_fresh_is_added_up_at_once() {
    let (trial, collector) = Trial::with_one().await;
    // Of two whole minutes nothing comes, and each of their slots becomes a dead letter.
    trial.allow(Left::DeadLetters);
    trial.upstream.answer(|asked| match asked.from.get(14..16) {
        Some("40" | "41") => Reply::Head("404 Not Found".to_owned()),
        _ => Reply::Right,
    });
    trial.pass(&[&collector], 30 + 130).await;
    // The first minute is not rolled up yet, and told nonetheless.
    let path = format!("/series/default?from={FIRST}&to=2025-12-02T10:25:00Z&step=60");
    let fresh = collector.get(&path).await.json();
    let value = |series: &Json, nth: usize| series["points"][nth]["value"].clone();
    assert_eq!((value(&fresh, 0), value(&fresh, 1)), (json!(13), json!(11 * 2 + 3)));
    trial.pass(&[&collector], 300).await;
    let rolled = collector.get(&path).await.json();
    assert_eq!(rolled["points"], fresh["points"]);
    let rows = |pk: &'static str| {
        let query = table::Query::new("collect", "pk", pk).consistent();
        let store = std::sync::Arc::clone(&trial.store);
        async move { table::query_all(&*store, query).await.unwrap() }
    };
    assert!(rows("M#ai_response_count").await.len() >= 4);

    trial.pass(&[&collector], 36 * 60).await;
    let hours = rows("H#ai_response_count").await;
    assert_eq!(hours.len(), 1);
    let path = "/series/default?from=2025-12-02T10:00:00Z&to=2025-12-02T11:00:00Z&step=3600";
    let hour = collector.get(path).await.json()["points"][0].clone();
    // 37 minutes from 10:23 on, less two.
    let minutes = (23..60_u64).filter(|minute| !matches!(minute, 40 | 41));
    let counts: u64 = minutes.map(|minute| 11 * (minute % 11) + (minute + 1) % 60 % 11).sum();
    assert_eq!(hour["value"], counts, "{hour}");
    assert!((hour["coverage"].as_f64().unwrap() - 35.0 / 37.0).abs() < 1e-9, "{hour}");
}

#[testkit::test]
async fn the_ledger_is_read_by_status_and_what_is_wrong_is_refused() {
    let (trial, collector) = Trial::with_collector().await;
    // Each slot that is not found becomes a dead letter.
    trial.allow(Left::DeadLetters);
    trial.upstream.answer(|asked| match asked.from.ends_with("5Z") {
        true => Reply::Head("404 Not Found".to_owned()),
        false => Reply::Right,
    });
    trial.pass(&[&collector], 30 + 70).await;
    let by = |status: &str| {
        format!("/slots/ai_response_count?from={FIRST}&to=2025-12-02T10:24:00Z&status={status}")
    };
    for (status, count) in [("ok", 6), ("failed", 6), ("missing", 0), ("conflict", 0)] {
        let slots = collector.get(&by(status)).await.json()["slots"].as_array().unwrap().len();
        assert_eq!(slots, count, "{status}");
    }
    let wrong = [
        (
            by("fine"),
            "status must be one of ok, late, retrying, failed, missing, conflict, not `fine`",
        ),
        ("/series/default?from=soon".to_owned(), "from must be a time such as"),
        ("/series/default?step=7".to_owned(), "step must be 5, 60 or 3600, not `7`"),
        ("/series/default?limit=0".to_owned(), "limit must be from 1 to 1000, not `0`"),
        (
            format!("/series/default?from={FIRST}&to=2025-12-02T10:00:00Z"),
            "from must not be after to",
        ),
        ("/explain?at=never".to_owned(), "at must be a time such as"),
    ];
    for (path, told) in wrong {
        let refusal = collector.get(&path).await.refusal();
        assert_eq!((refusal.0, refusal.1.as_str()), (400, "invalid"), "{path}");
        assert!(refusal.2.starts_with(told), "{refusal:?}");
    }
    for path in ["/series/nobody", "/slots/ai_response_count%23nobody", "/metrics/summary?source=x"]
    {
        let refusal = collector.get(path).await.refusal();
        assert_eq!((refusal.0, refusal.1.as_str()), (404, "no_such_source"), "{path}");
    }
}

#[testkit::test]
async fn what_comes_next_is_explained() {
    let (trial, collector) = Trial::with_one().await;
    trial.pass(&[&collector], 30 + 8).await;
    let told = collector.get("/explain").await.json();
    assert_eq!(told["plannedUntil"], "2025-12-02T10:24:00Z");
    let next = &told["sources"][0]["next"];
    assert_eq!(
        (&next["from"], &next["due"]),
        (&json!("2025-12-02T10:23:05Z"), &json!("2025-12-02T10:23:11.000Z"),)
    );
    assert!(
        next["url"]
            .as_str()
            .unwrap()
            .ends_with("/response_count?from=2025-12-02T10:23:05Z&to=2025-12-02T10:23:10Z")
    );
    let why = told["sources"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("every 5 s since 1970, asked 6 s after a slot begins, 0 ms"), "{why}");
    let later = collector.get("/explain?at=2025-12-02T12:00:00Z").await.json();
    assert_eq!(later["sources"][0]["next"]["from"], "2025-12-02T11:59:55Z");
    collector.operate("POST", "/sources/default/pause", &json!(null)).await;
    let paused = collector.get("/explain").await.json();
    assert_eq!(paused["sources"][0]["why"], "it is paused");
}

#[testkit::test]
async fn the_mock_upstream_answers_and_refuses_as_the_seed_says() {
    let (_trial, collector) = Trial::with_collector().await;
    assert_eq!(collector.get("/health").await.json(), json!({ "status": "ok" }));
    let window = "from=2025-12-02T10:23:00Z&to=2025-12-02T10:23:05Z";
    let counted = collector.get(&format!("/response_count?{window}")).await.json();
    let expected =
        json!({ "from": "2025-12-02T10:23:00Z", "to": "2025-12-02T10:23:05Z", "count": 1 });
    assert_eq!(counted, expected);
    let offset = "from=2025-12-02T10:23:00%2B05:45&to=2025-12-02T10:23:05%2B05:45";
    let counted = collector.get(&format!("/response_count?{offset}")).await.json();
    assert_eq!(
        (&counted["to"], &counted["count"]),
        (&json!("2025-12-02T10:23:05+05:45"), &json!(5))
    );
    for (query, error) in [
        ("", "the parameter `from` is missing"),
        ("?from=2025-12-02T10:23:00Z", "the parameter `to` is missing"),
        ("?from=x&to=2025-12-02T10:23:05Z", "`from` is `x`, which is not ISO 8601"),
    ] {
        let refused = collector.get(&format!("/response_count{query}")).await;
        assert_eq!((refused.status, refused.json()), (400, json!({ "error": error })));
    }
}

#[testkit::test]
async fn a_thousand_readers_behind_one_address_read_in_the_same_second() {
    let trial = Trial::new().await;
    let reads_per_second = crate::Options::default().reads_per_second;
    let collector = trial.open(crate::Options { reads_per_second, ..trial.options() }).await;
    for number in 0..1_000 {
        for path in ["/metrics/summary", "/slots/ai_response_count", ""] {
            let answer = collector.get(path).await;
            assert_ne!(answer.status, 429, "{number} {path}: {answer:?}");
        }
    }
}

#[testkit::test]
async fn a_caller_that_reads_all_the_time_hinders_no_operator_of_the_same_address() {
    let trial = Trial::new().await;
    let options = crate::Options { reads_per_second: 10, ..trial.options() };
    let collector = trial.open(options).await;
    while collector.get("/metrics/summary").await.status != 429 {}
    assert_eq!(collector.operate("GET", "/sources", &Json::Null).await.status, 200);
}

//! What the operator does to sources, and who is the operator.

use serde_json::{Value as Json, json};
use testkit::Left;

use super::upstream::Reply;
use super::{Collector, FIRST, Trial, all};
use crate::{Collect, Error, Options};

#[testkit::test]
async fn sources_and_dead_letters_are_for_the_operator_alone() {
    let (_trial, collector) = Trial::with_collector().await;
    for (method, path) in [
        ("GET", "/sources"),
        ("POST", "/sources"),
        ("GET", "/sources/default"),
        ("PUT", "/sources/default"),
        ("DELETE", "/sources/default"),
        ("POST", "/sources/default/pause"),
        ("POST", "/sources/default/trigger"),
        ("POST", "/sources/default/backfill"),
        ("GET", "/backfills"),
        ("GET", "/backfills/x"),
        ("GET", "/dead-letters"),
        ("POST", "/dead-letters/x/replay"),
        ("DELETE", "/dead-letters"),
    ] {
        let refusal = collector.ask(method, path, &[], "").await.refusal();
        assert_eq!((refusal.0, refusal.1.as_str()), (401, "key_missing"), "{method} {path}");
    }
}

#[testkit::test]
async fn a_source_is_added_changed_and_taken_away() {
    let (trial, collector) = Trial::with_one().await;
    let added = collector.add(&trial, "tokyo", &json!({ "metric": "hits" })).await;
    assert_eq!(added.status, 201, "{added:?}");
    let source = added.json();
    assert_eq!((&source["key"], &source["origin"]), (&json!("hits#tokyo"), &json!("api")));
    assert_eq!(source["spans"][0]["from"], FIRST);
    let twice = collector.add(&trial, "tokyo", &json!({})).await.refusal();
    assert_eq!((twice.0, twice.1.as_str()), (409, "source_exists"));
    trial.pass(&[&collector], 30 + 66).await;
    assert_eq!(collector.ledger("tokyo", 1).await.len(), 12);

    let mut form = source["source"].clone();
    form["intervalSeconds"] = json!(10);
    form["lagSeconds"] = json!(11);
    let changed = collector.operate("PUT", "/sources/tokyo", &form).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    trial.pass(&[&collector], 120).await;
    let slots = collector.slots("hits%23tokyo", 3).await;
    assert!(slots.iter().all(|slot| slot["status"] == "ok"), "{slots:?}");
    // Two minutes of five seconds, then ten.
    assert_eq!(slots[23]["to"], "2025-12-02T10:25:00Z");
    assert_eq!(slots[24]["to"], "2025-12-02T10:25:10Z");

    let other_name = collector.operate("PUT", "/sources/osaka", &form).await.refusal();
    assert_eq!(other_name.2, "name must be `osaka`, as in the path, not `tokyo`");
    assert_eq!(collector.operate("DELETE", "/sources/tokyo", &json!(null)).await.status, 200);
    let gone = collector.operate("GET", "/sources/tokyo", &json!(null)).await.refusal();
    assert_eq!((gone.0, gone.1.as_str()), (404, "no_such_source"));
    trial.upstream.forget();
    trial.pass(&[&collector], 60).await;
    assert!(trial.upstream.asked().iter().all(|asked| asked.who != "tokyo"));
}

#[testkit::test]
async fn what_is_no_source_is_refused_in_clear_words() {
    let (trial, collector) = Trial::with_collector().await;
    for (more, told) in [
        (json!({ "intervalSeconds": 0 }), "intervalSeconds must be from 1 to 86400, not 0"),
        (json!({ "baseUrl": "ftp://x" }), "baseUrl `ftp://x`, path"),
        (json!({ "overlap": "maybe" }), "overlap must be one of skip, buffer_one"),
        (json!({ "headerFiles": { "x-key": "none" } }), "source `a`, header `x-key`, "),
    ] {
        let refusal = collector.add(&trial, "a", &more).await.refusal();
        assert_eq!((refusal.0, refusal.1.as_str()), (400, "invalid"), "{refusal:?}");
        assert!(refusal.2.starts_with(told), "{refusal:?}");
    }
    let unknown = collector.add(&trial, "a", &json!({ "intervall": 5 })).await.refusal();
    assert_eq!((unknown.0, unknown.1.as_str()), (422, "invalid_body"));
    for (method, path) in [("PUT", "/sources/default"), ("DELETE", "/sources/default")] {
        let form = json!({ "name": "default", "baseUrl": "http://x.example" });
        let body = if method == "PUT" { form } else { json!(null) };
        let refusal = collector.operate(method, path, &body).await.refusal();
        assert_eq!((refusal.0, refusal.1.as_str()), (409, "source_fixed"));
    }
    let refusal = collector.operate("POST", "/sources/default/dance", &json!(null)).await.refusal();
    assert_eq!((refusal.0, refusal.1.as_str()), (404, "no_such_action"));
}

#[testkit::test]
async fn a_pause_is_no_hole_and_outlives_the_house() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 23).await;
    let paused = collector.operate("POST", "/sources/default/pause", &json!(null)).await.json();
    // At 10:23:23 the slot of :15 has been asked for.
    assert_eq!(
        (&paused["paused"], &paused["spans"][0]["to"]),
        (&json!(true), &json!("2025-12-02T10:23:20Z"),)
    );
    trial.pass(&[&collector], 100).await;
    assert_eq!(trial.upstream.windows().len(), 4);
    trial.close(collector).await;
    let collector = trial.open(trial.options()).await;
    trial.pass(&[&collector], 60).await;
    assert_eq!(trial.upstream.windows().len(), 4, "it is still paused");
    collector.operate("POST", "/sources/default/resume", &json!(null)).await;
    trial.pass(&[&collector], 130).await;
    let ledger = collector.ledger("default", 5).await;
    assert_eq!(ledger[..4], all("ok", 0, 20));
    assert!(ledger[4..].iter().all(|(from, state)| *from >= 240 && state == "ok"), "{ledger:?}");
    assert!(ledger.len() > 8);
}

#[testkit::test]
async fn a_source_that_is_paused_before_its_first_slot_stays_so() {
    let (trial, collector) = Trial::with_collector().await;
    collector.operate("POST", "/sources/default/pause", &json!(null)).await;
    trial.close(collector).await;
    let collector = trial.open(trial.options()).await;
    trial.pass(&[&collector], 120).await;
    assert!(trial.upstream.asked().is_empty());
    assert!(collector.ledger("default", 2).await.is_empty());
}

async fn backfilled(trial: &Trial, collector: &Collector, order: &Json) -> Json {
    let begun = collector.operate("POST", "/sources/default/backfill", order).await;
    assert_eq!(begun.status, 202, "{begun:?}");
    trial.pass(&[collector], 20).await;
    let path = format!("/backfills/{}", begun.json()["id"].as_str().unwrap());
    collector.operate("GET", &path, &json!(null)).await.json()
}

#[testkit::test]
async fn a_backfill_asks_for_what_is_missing_failed_or_all_and_tells_its_progress() {
    let (trial, collector) = Trial::with_collector().await;
    // Each slot that is not found becomes a dead letter.
    trial.allow(Left::DeadLetters);
    trial.upstream.answer(|asked| match asked.from.ends_with("00Z") {
        true => Reply::Head("404 Not Found".to_owned()),
        false => Reply::Right,
    });
    trial.pass(&[&collector], 30 + 70).await;
    // Half an hour before the first slot, and the first minute, of which one slot failed.
    let mut order = json!({
        "from": "2025-12-02T10:22:00Z", "to": "2025-12-02T10:24:00Z", "rate": 10, "dryRun": true,
    });
    let counted = collector.operate("POST", "/sources/default/backfill", &order).await.json();
    assert_eq!(counted, json!({ "dryRun": true, "total": 24, "wanted": 12 }));
    order["reprocess"] = json!("failed");
    let counted = collector.operate("POST", "/sources/default/backfill", &order).await.json();
    assert_eq!(counted["wanted"], 13);
    order["reprocess"] = json!("all");
    let counted = collector.operate("POST", "/sources/default/backfill", &order).await.json();
    assert_eq!(counted["wanted"], 24);

    order["dryRun"] = json!(false);
    order["reprocess"] = json!("failed");
    order["order"] = json!("oldest_first");
    trial.upstream.answer(|_| Reply::Right);
    trial.upstream.forget();
    let done = backfilled(&trial, &collector, &order).await;
    assert_eq!((&done["state"], &done["total"]), (&json!("done"), &json!(24)));
    let numbers = ["done", "failed", "skipped"].map(|name| done[name].as_u64().unwrap());
    assert_eq!(numbers, [13, 0, 11]);
    let asked: Vec<String> = trial.upstream.windows();
    let asked: Vec<&String> =
        asked.iter().filter(|from| from.as_str() <= "2025-12-02T10:23:00Z").collect();
    assert_eq!(asked.len(), 13);
    assert!(asked.windows(2).all(|pair| pair[0] < pair[1]), "{asked:?}");
    assert_eq!(collector.slots("default", 1).await[0]["status"], "late");
    let path = format!("/series/default?from={FIRST}&to=2025-12-02T10:24:00Z&step=60");
    assert_eq!(collector.get(&path).await.json()["points"][0]["coverage"], 1.0);
    let all = collector.operate("GET", "/backfills", &json!(null)).await.json();
    assert_eq!(all["backfills"][0], done);
}

#[testkit::test]
async fn a_backfill_of_all_finds_values_that_have_changed() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 70).await;
    trial.upstream.answer(|_| Reply::Count("10".to_owned()));
    let order = json!({ "from": FIRST, "to": "2025-12-02T10:23:20Z", "reprocess": "all" });
    let done = backfilled(&trial, &collector, &order).await;
    assert_eq!(done["done"], 4);
    let ledger = collector.ledger("default", 1).await;
    assert_eq!(ledger[..4], all("conflict", 0, 20));
    assert_eq!(ledger[4..], all("ok", 20, 60));
}

#[testkit::test]
async fn what_a_backfill_does_not_get_at_once_is_tried_again() {
    let (trial, collector) = Trial::with_collector().await;
    trial.upstream.answer(|_| Reply::Head("500 Internal Server Error".to_owned()));
    // Long past the time in which they would have been tried again by themselves.
    let order = json!({ "from": "2025-12-02T10:00:00Z", "to": "2025-12-02T10:00:10Z" });
    let done = backfilled(&trial, &collector, &order).await;
    assert_eq!((&done["state"], &done["failed"]), (&json!("done"), &json!(2)));
    let path = "/slots/default?from=2025-12-02T10:00:00Z&to=2025-12-02T10:00:10Z";
    let states = |slots: Json| {
        let slots = slots["slots"].as_array().unwrap().clone();
        slots.into_iter().map(|slot| slot["status"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(states(collector.get(path).await.json()), ["retrying", "retrying"]);
    trial.upstream.answer(|_| Reply::Right);
    trial.pass(&[&collector], 60).await;
    assert_eq!(states(collector.get(path).await.json()), ["late", "late"]);
}

#[testkit::test]
async fn a_backfill_goes_on_where_it_was_when_the_house_comes_back() {
    let (trial, collector) = Trial::with_collector().await;
    let order = json!({ "from": "2025-12-02T10:12:00Z", "to": "2025-12-02T10:22:00Z", "rate": 5 });
    let begun = collector.operate("POST", "/sources/default/backfill", &order).await.json();
    trial.pass(&[&collector], 6).await;
    trial.close(collector).await;
    let before = trial.upstream.windows().len();
    assert!((20..80).contains(&before), "{before}");
    let collector = trial.open(trial.options()).await;
    trial.pass(&[&collector], 90).await;
    let path = format!("/backfills/{}", begun["id"].as_str().unwrap());
    let done = collector.operate("GET", &path, &json!(null)).await.json();
    // What was had of the part that the closing cut short is there already.
    let counted = ["done", "skipped", "failed"].map(|name| done[name].as_u64().unwrap());
    assert_eq!((&done["state"], counted[0] + counted[1], counted[2]), (&json!("done"), 120, 0));
    assert!(counted[1] <= 5, "{done}");
    let back = trial.upstream.windows();
    let back = back.iter().filter(|from| from.as_str() < "2025-12-02T10:22").count();
    assert!((120..=130).contains(&back), "{back}");
}

#[testkit::test]
async fn a_slow_backfill_does_not_hold_up_the_closing() {
    let (trial, collector) = Trial::with_collector().await;
    let order = json!({ "from": "2025-12-02T10:12:00Z", "to": "2025-12-02T10:22:00Z", "rate": 1 });
    let begun = collector.operate("POST", "/sources/default/backfill", &order).await.json();
    let mut slow = collector.collect.get_backfill(begun["id"].as_str().unwrap()).await.unwrap();
    // A part that would take two minutes.
    slow.sources = vec!["default".to_owned(); 120];
    slow.id = "slow".to_owned();
    collector.collect.start_backfill(&slow).await.unwrap();
    trial.pass(&[&collector], 3).await;
    trial.close(collector).await;
}

#[testkit::test]
async fn a_backfill_that_cannot_be_is_refused() {
    let (_trial, collector) = Trial::with_collector().await;
    let order = |from: &str, to: &str| json!({ "from": from, "to": to });
    let (early, late) = ("2025-12-02T10:00:00Z", "2025-12-02T10:10:00Z");
    let mut fast = order(early, late);
    fast["rate"] = json!(0);
    let mut sideways = order(early, late);
    sideways["order"] = json!("sideways");
    let mut some = order(early, late);
    some["reprocess"] = json!("some");
    for (order, told) in [
        (order(late, early), "from must be before to and 2025-12-02T10:00:00Z, not"),
        (order("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), "from must be before to and 2025"),
        (order("2024-01-01T00:00:00Z", late), "12120600 slots, at most 200000 in one backfill"),
        (order("soon", late), "from must be a time such as"),
        (fast, "rate must be from 1 to 10000, not 0"),
        (sideways, "order must be newest_first or oldest_first, not `sideways`"),
        (some, "reprocess must be none, failed or all, not `some`"),
    ] {
        let refusal =
            collector.operate("POST", "/sources/default/backfill", &order).await.refusal();
        assert_eq!((refusal.0, refusal.1.as_str()), (400, "invalid"), "{refusal:?}");
        assert!(refusal.2.starts_with(told), "{refusal:?}");
    }
    let none = collector.operate("GET", "/backfills/none", &json!(null)).await.refusal();
    assert_eq!((none.0, none.1.as_str()), (404, "no_such_backfill"));
}

#[testkit::test]
async fn what_is_kept_for_days_is_gone_after_them() {
    let (trial, collector) = Trial::with_collector().await;
    let form = json!({ "retentionDays": 1, "intervalSeconds": 60 });
    assert_eq!(collector.add(&trial, "brief", &form).await.status, 201);
    trial.pass(&[&collector], 30 + 130).await;
    assert!(!trial.rows("ai_response_count#brief").await.is_empty());
    collector.operate("POST", "/sources/brief/pause", &json!(null)).await;
    let count = collector.slots("brief", 2).await.len();
    assert!(count > 0);
    trial.close(collector).await;
    trial.jump(25 * 60 * 60).await;
    trial.world.pass(120).await;
    assert!(trial.rows("ai_response_count#brief").await.is_empty());
    assert!(!trial.rows("ai_response_count").await.is_empty());
    // Catching up with a day takes longer than this test looks.
    trial.allow(Left::Jobs);
    // What was forgotten is not missing, and cannot be asked for again.
    let collector = trial.open(trial.options()).await;
    assert!(collector.slots("brief", 2).await.is_empty());
    let order = json!({ "from": FIRST, "to": "2025-12-03T10:00:00Z" });
    let refusal = collector.operate("POST", "/sources/brief/backfill", &order).await.refusal();
    assert!(refusal.2.ends_with(" are not kept"), "{refusal:?}");
}

#[test]
fn settings_that_cannot_be_used_are_refused_by_name() {
    let directory = tempfile::TempDir::new().unwrap();
    let refusal = |options: Options| match Collect::check(&options) {
        Err(Error::Settings(told)) => told,
        other => panic!("{other:?}"),
    };
    let file = |text: &str| {
        let path = directory.path().join("sources.json");
        std::fs::write(&path, text).unwrap();
        Options { sources_file: Some(path), ..Options::default() }
    };
    assert!(Collect::check(&Options::default()).is_ok());
    let base_url = Some("nonsense".to_owned());
    let told = refusal(Options { base_url, ..Options::default() });
    assert!(told.starts_with("`collect.base_url`: baseUrl `nonsense`"), "{told}");
    let told = refusal(Options { table: "My-Metrics".to_owned(), ..Options::default() });
    assert!(told.starts_with("`collect.base_url` (AI_API_BASE_URL) is missing"), "{told}");
    let told = refusal(Options { table: "a b".to_owned(), ..Options::default() });
    assert!(told.starts_with("`collect.table` must be 3 to 255 of"), "{told}");
    let sources_file = Some(directory.path().join("none.json"));
    let told = refusal(Options { sources_file, ..Options::default() });
    assert!(told.starts_with("`collect.sources_file` ") && told.contains("none.json"), "{told}");
    let tokyo =
        |more: &str| format!(r#"[{{"name": "tokyo", "baseUrl": "https://x.example"{more}}}]"#);
    for (more, told) in [
        (r#", "colour": 1"#, "source `tokyo`: unknown field `colour`"),
        (r#", "intervalSeconds": 0"#, "intervalSeconds must be from 1 to 86400, not 0"),
        (
            r#", "headerFiles": {"x-key": "no-such-secret"}"#,
            "header `x-key`, secrets/no-such-secret",
        ),
    ] {
        let refused = refusal(file(&tokyo(more)));
        assert!(refused.contains(told), "{refused}");
    }
    let refused = refusal(file(r#"[{"name": "default", "baseUrl": "https://x.example"}]"#));
    assert!(refused.contains("`default` is the source of `collect.base_url`"), "{refused}");
    assert!(Collect::check(&file(&tokyo(""))).is_ok());
}

#[testkit::test]
async fn a_source_of_the_file_is_asked_and_forgotten_with_it() {
    let trial = Trial::new().await;
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("sources.json");
    let form = json!([{ "name": "tokyo", "baseUrl": format!("{}/tokyo", trial.upstream.url()) }]);
    std::fs::write(&path, form.to_string()).unwrap();
    let options = Options { sources_file: Some(path), ..trial.options() };
    let collector = trial.open(options).await;
    trial.pass(&[&collector], 30 + 70).await;
    assert_eq!(collector.ledger("tokyo", 1).await.len(), 12);
    let known = collector.operate("GET", "/sources/tokyo", &json!(null)).await.json();
    assert_eq!(known["origin"], "settings");
    trial.close(collector).await;
    let collector = trial.open(trial.options()).await;
    assert_eq!(collector.operate("GET", "/sources/tokyo", &json!(null)).await.status, 404);
}

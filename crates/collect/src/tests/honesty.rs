//! No invented values: a past slot gets a value only from an upstream that was asked for its
//! window. Everything else is a gap with its reason.

use std::time::Duration;

use serde_json::{Value as Json, json};
use testkit::Left;

use super::upstream::{Asked, Reply};
use super::{Collector, FIRST, Trial, at};

/// A source that neither takes a window nor names one in its answer.
fn reading() -> Json {
    json!({ "path": "/now", "echo": false })
}

/// The source `meter` reads 7, the others answer well.
fn seven(asked: &Asked) -> Reply {
    match asked.who.as_str() {
        "meter" => Reply::Body(r#"{"count": 7}"#.to_owned()),
        _ => Reply::Right,
    }
}

fn calls(trial: &Trial) -> usize {
    trial.upstream.asked().iter().filter(|asked| asked.who == "meter").count()
}

fn is_gap(slot: &Json) -> bool {
    let told = slot["reason"].as_str().unwrap_or_default();
    slot["status"] == "missing" && slot["count"].is_null() && told.contains("is instant")
}

async fn with_meter(more: &Json) -> (Trial, Collector) {
    let (trial, collector) = Trial::with_one().await;
    let mut form = reading();
    for (name, value) in more.as_object().unwrap() {
        form[name] = value.clone();
    }
    let added = collector.add(&trial, "meter", &form).await;
    assert_eq!(added.status, 201, "{added:?}");
    trial.upstream.answer(seven);
    (trial, collector)
}

#[testkit::test]
async fn catching_up_gives_an_instant_source_no_values_for_slots_that_are_over() {
    let (trial, collector) = with_meter(&json!({})).await;
    trial.pass(&[&collector], 30 + 70).await;
    let live = collector.slots("meter", 1).await;
    assert!(live.len() == 12 && live.iter().all(|slot| slot["count"] == 7), "{live:?}");
    trial.close(collector).await;
    trial.time.advance(Duration::from_secs(600)).await;
    trial.upstream.forget();
    let collector = trial.open(trial.options()).await;
    trial.pass(&[&collector], 20).await;
    let gap =
        collector.slots_between("meter", "2025-12-02T10:26:00Z", "2025-12-02T10:33:00Z").await;
    assert_eq!(gap.len(), 7 * 12);
    assert!(gap.iter().all(is_gap), "{gap:?}");
    // The live ones of twenty seconds, and none for the ten minutes.
    assert!(calls(&trial) <= 5, "{}", calls(&trial));
    // The default source was asked for each window, and has its values.
    let windowed =
        collector.slots_between("default", "2025-12-02T10:26:00Z", "2025-12-02T10:33:00Z").await;
    assert!(windowed.iter().all(|slot| slot["count"].is_u64()), "{windowed:?}");
}

#[testkit::test]
async fn a_slot_that_waited_in_the_queue_until_it_was_over_is_a_gap() {
    let (trial, collector) = with_meter(&json!({})).await;
    // The minute is planned, and its messages wait while the house is closed.
    trial.pass(&[&collector], 31).await;
    trial.close(collector).await;
    trial.time.advance(Duration::from_secs(300)).await;
    trial.upstream.forget();
    let collector = trial.open(trial.options()).await;
    trial.pass(&[&collector], 20).await;
    let slots = collector.slots("meter", 1).await;
    assert!(slots.len() == 12 && slots[1..].iter().all(is_gap), "{slots:?}");
}

#[testkit::test]
async fn a_retry_of_an_instant_source_ends_with_its_slot() {
    let (trial, collector) = with_meter(&json!({ "lagSeconds": 0, "intervalSeconds": 10 })).await;
    trial.upstream.answer(|asked| match asked.who.as_str() {
        "meter" => Reply::Head("500 Internal Server Error".to_owned()),
        _ => Reply::Right,
    });
    trial.pass(&[&collector], 30 + 21).await;
    trial.upstream.answer(seven);
    trial.pass(&[&collector], 60).await;
    let slots = collector.slots("meter", 1).await;
    assert_eq!((&slots[0]["status"], &slots[0]["count"]), (&json!("failed"), &json!(null)));
    assert_eq!(slots[0]["reason"], "status 500", "{slots:?}");
    assert!(slots[0]["attempts"].as_u64().unwrap() >= 2, "it was tried again in its slot");
    assert!(slots[4..].iter().all(|slot| slot["count"] == 7), "{slots:?}");
    // No replay could fill it, so it is no dead letter.
    assert!(collector.dead_letters().await.is_empty());
}

#[testkit::test]
async fn a_backfill_of_an_instant_source_asks_nobody_and_says_why() {
    let (trial, collector) = with_meter(&json!({})).await;
    trial.upstream.answer(|asked| match asked.from.as_str() {
        "" => Reply::Head("404 Not Found".to_owned()),
        _ => Reply::Right,
    });
    trial.allow(Left::DeadLetters);
    trial.pass(&[&collector], 30 + 60 + 10).await;
    let before = calls(&trial);
    trial.upstream.answer(seven);
    collector.operate("POST", "/sources/meter/pause", &json!(null)).await;
    let order = json!({
        "from": "2025-12-02T10:00:00Z", "to": "2025-12-02T10:24:00Z", "reprocess": "all",
    });
    let begun = collector.operate("POST", "/sources/meter/backfill", &order).await;
    assert_eq!(begun.status, 202, "{begun:?}");
    trial.pass(&[&collector], 20).await;
    assert_eq!(calls(&trial), before);
    let path = format!("/backfills/{}", begun.json()["id"].as_str().unwrap());
    let done = collector.operate("GET", &path, &json!(null)).await.json();
    assert_eq!((&done["state"], &done["done"]), (&json!("done"), &json!(0)), "{done}");
    let slots = collector.slots("meter", 1).await;
    assert!(slots.iter().all(|slot| slot["count"].is_null()), "{slots:?}");
    assert!(slots.iter().all(|slot| slot["reason"].is_string()), "{slots:?}");
    // Before its first slot nothing was expected, and nothing is missing.
    let early =
        collector.slots_between("meter", "2025-12-02T10:00:00Z", "2025-12-02T10:23:00Z").await;
    assert!(early.is_empty(), "{early:?}");
}

#[testkit::test]
async fn asking_now_reads_an_instant_source_for_the_slot_that_goes_on() {
    let (trial, collector) = with_meter(&json!({})).await;
    trial.pass(&[&collector], 3).await;
    let had = collector.operate("POST", "/sources/meter/trigger", &json!(null)).await.json();
    assert_eq!((&had["count"], &had["from"]), (&json!(7), &json!("2025-12-02T10:22:30Z")), "{had}");
    // A second reading of a slot is no contradiction.
    trial.upstream.answer(|_| Reply::Body(r#"{"count": 8}"#.to_owned()));
    let again = collector.operate("POST", "/sources/meter/trigger", &json!(null)).await.json();
    assert_eq!((&again["status"], &again["count"]), (&json!("ok"), &json!(7)), "{again}");
}

#[testkit::test]
async fn a_source_says_whether_it_is_windowed_and_a_claim_without_a_window_is_refused() {
    let (trial, collector) = Trial::with_one().await;
    let mode = async |name: &str, more: Json| {
        let added = collector.add(&trial, name, &more).await;
        assert_eq!(added.status, 201, "{added:?}");
        added.json()["source"]["mode"].clone()
    };
    assert_eq!(mode("a", json!({})).await, "windowed");
    assert_eq!(mode("b", reading()).await, "instant");
    assert_eq!(
        mode("c", json!({ "path": "/x?from={fromSeconds}&to={toSeconds}", "echo": false })).await,
        "windowed"
    );
    // Half a window is none: the other end would be the moment of the call.
    assert_eq!(mode("d", json!({ "path": "/x?since={from}", "echo": false })).await, "instant");
    let whole_day = json!({ "path": "/x?day={from}", "echo": false, "mode": "windowed" });
    assert_eq!(mode("e", whole_day).await, "windowed");
    assert_eq!(mode("f", json!({ "path": "/x", "echo": true })).await, "windowed");
    let mut claim = reading();
    claim["mode"] = json!("windowed");
    let refused = collector.add(&trial, "g", &claim).await.refusal();
    assert_eq!((refused.0, refused.1.as_str()), (400, "invalid"), "{refused:?}");
    assert!(refused.2.starts_with("mode cannot be windowed"), "{refused:?}");
    let odd = collector.add(&trial, "h", &json!({ "mode": "sometimes" })).await.refusal();
    assert_eq!(odd.2, "mode must be windowed or instant, not `sometimes`");
}

#[testkit::test]
async fn the_first_cause_stays_in_the_ledger_and_in_the_dead_letter() {
    let trial = Trial::new().await;
    let collector = trial.open(crate::Options { deadline_seconds: 40, ..trial.options() }).await;
    trial.allow(Left::DeadLetters);
    trial.upstream.answer(|_| Reply::Body("nonsense".to_owned()));
    // The breaker opens, and most slots are given up while it is open.
    trial.pass(&[&collector], 30 + 150).await;
    let slots = collector.slots("default", 2).await;
    let letters = collector.dead_letters().await;
    assert!(letters.len() >= 12, "{letters:?}");
    let reasons = |entries: &[Json]| {
        let reasons = entries.iter().map(|entry| entry["reason"].as_str().unwrap().to_owned());
        reasons.collect::<Vec<String>>()
    };
    for reason in reasons(&slots).into_iter().chain(reasons(&letters)) {
        assert!(reason.starts_with("the answer is not JSON: "), "{reason}");
    }
    // What comes later does not change what came first.
    trial.upstream.answer(|_| Reply::Head("500 Internal Server Error".to_owned()));
    trial.pass(&[&collector], 60).await;
    assert_eq!(reasons(&collector.slots("default", 2).await), reasons(&slots));
}

#[testkit::test]
async fn a_backfill_that_fails_leaves_the_live_breaker_closed() {
    let (trial, collector) = Trial::with_one().await;
    trial.allow(Left::DeadLetters);
    let is_old = |asked: &Asked| asked.from.as_str() < FIRST;
    trial.upstream.answer(move |asked| match is_old(asked) {
        true => Reply::Head("503 Service Unavailable".to_owned()),
        false => Reply::Right,
    });
    trial.pass(&[&collector], 31).await;
    let order =
        json!({ "from": "2025-12-02T10:00:00Z", "to": "2025-12-02T10:05:00Z", "rate": 100 });
    let begun = collector.operate("POST", "/sources/default/backfill", &order).await;
    assert_eq!(begun.status, 202, "{begun:?}");
    trial.pass(&[&collector], 75).await;
    let ledger = collector.ledger("default", 1).await;
    assert_eq!(ledger, super::all("ok", 0, 60));
    // Nor is a dead upstream hammered by the backfill.
    let old = trial.upstream.asked().iter().filter(|asked| is_old(asked)).count();
    assert!(old < 40, "{old}");
    assert!(trial.clock.now() > at(FIRST));
}

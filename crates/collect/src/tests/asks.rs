//! Slots are asked for at their times and written once.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::test_runner::TestRunner;
use serde_json::json;
use table::{Number, Value};
use testkit::depth;

use super::upstream::Reply;
use super::{FIRST, Trial, all, at};
use crate::model::decimal::Decimal;
use crate::model::slot::{Slot, spell};
use crate::model::tally::{Entry, State};
use crate::ops::collect::Ask;

#[testkit::test]
async fn a_minute_is_twelve_slots_each_asked_six_seconds_after_it_begins() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 6).await;
    assert_eq!(trial.upstream.windows(), [FIRST]);
    trial.pass(&[&collector], 55).await;
    let windows = trial.upstream.windows();
    let expected: Vec<String> =
        (0..12).map(|nth| format!("2025-12-02T10:23:{:02}Z", nth * 5)).collect();
    assert_eq!(windows, expected);
    let rows = trial.rows("ai_response_count").await;
    assert_eq!(rows.len(), 12);
    for (row, from) in rows.iter().zip(expected) {
        assert_eq!(row.get("slotTime").unwrap().as_s(), Some(from.as_str()));
        assert_eq!(row.get("status").unwrap().as_s(), Some("ok"));
    }
    // The minute of each window's end, modulo 11: 23 of the first eleven, 24 of the last.
    let counts: Vec<&Value> = rows.iter().map(|row| row.get("count").unwrap()).collect();
    let (one, two) = (Value::N(Number::from(1)), Value::N(Number::from(2)));
    assert!(counts[..11].iter().all(|count| **count == one) && *counts[11] == two);
}

#[testkit::test]
async fn without_a_lag_a_slot_is_asked_for_when_it_begins_as_the_seed_says() {
    let trial = Trial::new().await;
    let options = crate::Options { lag_seconds: 0, ..trial.options() };
    let collector = trial.open(options).await;
    trial.pass(&[&collector], 30).await;
    assert_eq!(trial.upstream.windows(), [FIRST]);
    trial.pass(&[&collector], 55).await;
    assert_eq!(trial.upstream.windows().len(), 12);
}

#[testkit::test]
async fn a_message_of_the_default_source_is_the_seeds() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 31).await;
    let messages = collector.collect.asks.depth().await.unwrap();
    assert_eq!(messages.messages, 12, "{messages:?}");
    let ask = Ask { slot: Slot::holding(at(FIRST), 5), ..Ask::default() };
    let ask = crate::jobs::ask(&["default".to_owned()], &ask);
    let body = format!("{:?}", ask.unwrap());
    let seeds = r#"{\"from\":\"2025-12-02T10:23:00Z\",\"to\":\"2025-12-02T10:23:05Z\"}"#;
    assert!(body.contains(seeds), "{body}");
}

#[testkit::test]
async fn a_second_answer_that_differs_is_a_conflict_and_the_first_stays() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 6).await;
    let again =
        |count: &'static str| trial.upstream.answer(move |_| Reply::Count(count.to_owned()));
    again("1");
    let same = collector.operate("POST", "/sources/default/trigger", &json!(null)).await.json();
    assert_eq!((&same["status"], &same["count"]), (&json!("ok"), &json!(1)));
    again("9");
    let other = collector.operate("POST", "/sources/default/trigger", &json!(null)).await.json();
    assert_eq!(other["status"], "conflict");
    assert_eq!((&other["count"], &other["otherCount"]), (&json!(1), &json!(9)));
    let slots = collector.slots("default", 1).await;
    assert_eq!((&slots[0]["count"], &slots[0]["otherCount"]), (&json!(1), &json!(9)));
    assert_eq!(slots[0]["status"], "conflict");
    assert_eq!(trial.rows("ai_response_count").await.len(), 1);
}

#[testkit::test]
async fn sources_have_their_own_interval_lag_and_offset() {
    let (trial, collector) = Trial::with_collector().await;
    let added = collector.add(&trial, "slow", &json!({ "intervalSeconds": 30 })).await;
    assert_eq!(added.status, 201, "{added:?}");
    let fast = json!({ "intervalSeconds": 1, "lagSeconds": 2, "retentionDays": 3 });
    assert_eq!(collector.add(&trial, "fast", &fast).await.status, 201);
    trial.pass(&[&collector], 30 + 60 + 31 + 30).await;
    let of = |who: &str| {
        let asked = trial.upstream.asked().into_iter().filter(|asked| asked.who == who);
        asked.map(|asked| asked.from).collect::<Vec<_>>()
    };
    let slow = of("slow");
    assert_eq!(slow[..2], [FIRST.to_owned(), "2025-12-02T10:23:30Z".to_owned()]);
    let fast = of("fast");
    let seconds: Vec<String> = (0..60).map(|nth| format!("2025-12-02T10:23:{nth:02}Z")).collect();
    assert_eq!(fast[..60], seconds);
    // One partition for a few days, one a day for a source that is kept for ever.
    assert!(trial.rows("ai_response_count#fast").await.len() >= 60);
    assert!(trial.rows("ai_response_count#slow#2025-12-02").await.len() >= 2);
    assert_eq!(collector.ledger("default", 1).await, all("ok", 0, 60));
    assert_eq!(collector.ledger("fast", 1).await.len(), 60);
}

#[testkit::test]
async fn headers_come_from_files_and_the_pointer_finds_the_value() {
    let trial = Trial::new().await;
    let secrets = tempfile::TempDir::new().unwrap();
    std::fs::write(secrets.path().join("token"), "Bearer sesame\n").unwrap();
    let secrets_path = secrets.path().to_owned();
    let collector = trial.open(crate::Options { secrets_path, ..trial.options() }).await;
    let form = json!({
        "headerFiles": { "authorization": "token" },
        "path": "/deep?from={fromSeconds}&to={toSeconds}",
        "pointer": "/data/0/n",
        "echo": false,
    });
    assert_eq!(collector.add(&trial, "deep", &form).await.status, 201);
    trial.upstream.answer(|asked| match asked.who.as_str() {
        "deep" => Reply::Body(r#"{"data": [{"n": 42}]}"#.to_owned()),
        _ => Reply::Right,
    });
    let had = collector.operate("POST", "/sources/deep/trigger", &json!(null)).await.json();
    assert_eq!((&had["status"], &had["count"]), (&json!("ok"), &json!(42)), "{had}");
    let asked = trial.upstream.asked().pop().unwrap();
    assert!(asked.head.contains("authorization: bearer sesame\r\n"), "{}", asked.head);
    assert!(asked.from.parse::<u64>().unwrap() + 5 == asked.to.parse::<u64>().unwrap());
    let listed = collector.operate("GET", "/sources", &json!(null)).await;
    let listed = listed.text();
    assert!(listed.contains("\"token\"") && !listed.contains("sesame"), "{listed}");
}

#[testkit::test]
async fn a_source_with_a_partition_for_each_day_is_read_across_midnight() {
    let (trial, collector) = Trial::with_one().await;
    assert_eq!(collector.add(&trial, "tokyo", &json!({})).await.status, 201);
    let active = collector.collect.sources.get("tokyo").unwrap();
    let midnight = at("2025-12-02T00:00:00Z").seconds();
    for second in (midnight - 10..midnight + 10).step_by(5) {
        let slot = Slot::holding(base::Timestamp::from_millis(second * 1000), 5);
        let count = Some(Decimal::from(second));
        let entry = Entry { state: State::Ok, count, ..Entry::missing(slot) };
        collector.collect.write_once(&active, entry).await.unwrap();
    }
    for day in ["01", "02"] {
        let rows = trial.rows(&format!("ai_response_count#tokyo#2025-12-{day}")).await;
        assert_eq!(rows.len(), 2, "{day}");
    }
    let path = "/series/tokyo?from=2025-12-01T23:59:55Z&to=2025-12-02T00:00:05Z";
    let series = collector.operate("GET", path, &json!(null)).await.json();
    let points = series["points"].as_array().unwrap().clone();
    let values: Vec<u64> = points.iter().map(|point| point["value"].as_u64().unwrap()).collect();
    assert_eq!(values, [midnight - 5, midnight]);
}

/// A slot, and the counts that are written for it one after the other.
type Record = (Slot, Vec<u64>);

/// Records of different slots. The first count of each comes once or several times, then others.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let count = || 0..=1_u64 << 53;
    let counts = (count(), 1..5_usize, vec(count(), 1..5));
    let counts = counts.prop_map(|(first, repeats, others)| {
        std::iter::repeat_n(first, repeats).chain(others).collect::<Vec<u64>>()
    });
    vec(counts, 1..16).prop_map(|all| {
        let slots = (1..).map(|nth| Slot::holding(base::Timestamp::from_millis(nth * 5_000), 5));
        slots.zip(all).collect()
    })
}

async fn check_records(records: Vec<Record>) {
    let (trial, collector) = Trial::with_collector().await;
    let active = collector.collect.sources.get("default").unwrap();
    for (slot, counts) in &records {
        for count in counts {
            let entry = Entry {
                state: State::Ok,
                count: Some(Decimal::from(*count)),
                attempts: 1,
                ..Entry::missing(*slot)
            };
            collector.collect.write_once(&active, entry).await.unwrap();
        }
        let active = Arc::clone(&active);
        let rows = collector.collect.load_values(&active, slot.from(), slot.to()).await.unwrap();
        assert_eq!((rows.len(), rows[0].count), (1, Some(Decimal::from(counts[0]))));
        let differs = counts.iter().any(|count| *count != counts[0]);
        let state = if differs { State::Conflict } else { State::Ok };
        assert_eq!(rows[0].state, state);
    }
    let rows = trial.rows("ai_response_count").await;
    let times: Vec<_> = rows.iter().map(|row| row.get("slotTime").unwrap().as_s()).collect();
    let spelt: Vec<String> = records.iter().map(|(slot, _)| spell(slot.from())).collect();
    assert_eq!(times, spelt.iter().map(|time| Some(time.as_str())).collect::<Vec<_>>());
}

// **Feature: data-collection-scheduler, Property 9: for any metric record, writing the same record
// (same metricName and slotTime) several times leaves exactly one record with consistent data in
// the table**
#[test]
fn a_value_that_is_written_again_and_again_is_one_row() {
    // Eight records in each, two hundred and fifty-six in all.
    let ran = TestRunner::new(depth::cases(32)).run(&records(), |records| {
        testkit::run(0, check_records(records));
        Ok(())
    });
    ran.unwrap();
}

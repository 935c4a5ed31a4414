//! Slots are asked for at their times and written once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use proptest::test_runner::TestCaseError;
use serde_json::json;
use table::{Number, Value};

use super::upstream::Reply;
use super::{FIRST, World, all, at};
use crate::model::slot::{Slot, spell};
use crate::model::tally::{Entry, State};

#[tokio::test]
async fn a_minute_is_twelve_slots_each_asked_six_seconds_after_it_begins() {
    let (world, house) = World::with_house().await;
    world.pass(&[&house], 30 + 6).await;
    assert_eq!(world.upstream.windows(), [FIRST]);
    world.pass(&[&house], 55).await;
    let windows = world.upstream.windows();
    let expected: Vec<String> =
        (0..12).map(|nth| format!("2025-12-02T10:23:{:02}Z", nth * 5)).collect();
    assert_eq!(windows, expected);
    let rows = world.rows("ai_response_count").await;
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

#[tokio::test]
async fn without_a_lag_a_slot_is_asked_for_when_it_begins_as_the_seed_says() {
    let world = World::new().await;
    let options = crate::Options { lag_seconds: 0, ..world.options() };
    let house = world.open(options).await;
    world.pass(&[&house], 30).await;
    assert_eq!(world.upstream.windows(), [FIRST]);
    world.pass(&[&house], 55).await;
    assert_eq!(world.upstream.windows().len(), 12);
}

#[tokio::test]
async fn a_message_of_the_default_source_is_the_seeds() {
    let (world, house) = World::with_house().await;
    world.pass(&[&house], 31).await;
    let messages = house.collect.asks.depth().await.unwrap();
    assert_eq!(messages.messages, 12, "{messages:?}");
    let ask = crate::jobs::ask(Slot::holding(at(FIRST), 5), &["default".to_owned()], 0, None);
    let body = format!("{:?}", ask.unwrap());
    let seeds = r#"{\"from\":\"2025-12-02T10:23:00Z\",\"to\":\"2025-12-02T10:23:05Z\"}"#;
    assert!(body.contains(seeds), "{body}");
}

#[tokio::test]
async fn a_second_answer_that_differs_is_a_conflict_and_the_first_stays() {
    let (world, house) = World::with_house().await;
    world.pass(&[&house], 30 + 6).await;
    let again =
        |count: &'static str| world.upstream.answer(move |_| Reply::Count(count.to_owned()));
    again("1");
    let same = house.operate("POST", "/sources/default/trigger", &json!(null)).await.json();
    assert_eq!((&same["status"], &same["count"]), (&json!("ok"), &json!(1)));
    again("9");
    let other = house.operate("POST", "/sources/default/trigger", &json!(null)).await.json();
    assert_eq!(other["status"], "conflict");
    assert_eq!((&other["count"], &other["otherCount"]), (&json!(1), &json!(9)));
    let slots = house.slots("default", 1).await;
    assert_eq!((&slots[0]["count"], &slots[0]["otherCount"]), (&json!(1), &json!(9)));
    assert_eq!(slots[0]["status"], "conflict");
    assert_eq!(world.rows("ai_response_count").await.len(), 1);
}

#[tokio::test]
async fn sources_have_their_own_interval_lag_and_offset() {
    let (world, house) = World::with_house().await;
    let added = house.add(&world, "slow", &json!({ "intervalSeconds": 30 })).await;
    assert_eq!(added.status, 201, "{added:?}");
    let fast = json!({ "intervalSeconds": 1, "lagSeconds": 2, "retentionDays": 3 });
    assert_eq!(house.add(&world, "fast", &fast).await.status, 201);
    world.pass(&[&house], 30 + 60 + 31 + 30).await;
    let of = |who: &str| {
        let asked = world.upstream.asked().into_iter().filter(|asked| asked.who == who);
        asked.map(|asked| asked.from).collect::<Vec<_>>()
    };
    let slow = of("slow");
    assert_eq!(slow[..2], [FIRST.to_owned(), "2025-12-02T10:23:30Z".to_owned()]);
    let fast = of("fast");
    let seconds: Vec<String> = (0..60).map(|nth| format!("2025-12-02T10:23:{nth:02}Z")).collect();
    assert_eq!(fast[..60], seconds);
    // One partition for a few days, one a day for a source that is kept for ever.
    assert!(world.rows("ai_response_count#fast").await.len() >= 60);
    assert!(world.rows("ai_response_count#slow#2025-12-02").await.len() >= 2);
    assert_eq!(house.ledger("default", 1).await, all("ok", 0, 60));
    assert_eq!(house.ledger("fast", 1).await.len(), 60);
}

#[tokio::test]
async fn headers_come_from_files_and_the_pointer_finds_the_value() {
    let world = World::new().await;
    let secrets = tempfile::TempDir::new().unwrap();
    std::fs::write(secrets.path().join("token"), "Bearer sesame\n").unwrap();
    let secrets_path = secrets.path().to_owned();
    let house = world.open(crate::Options { secrets_path, ..world.options() }).await;
    let form = json!({
        "headerFiles": { "authorization": "token" },
        "path": "/deep?from={fromSeconds}&to={toSeconds}",
        "pointer": "/data/0/n",
        "echo": false,
    });
    assert_eq!(house.add(&world, "deep", &form).await.status, 201);
    world.upstream.answer(|asked| match asked.who.as_str() {
        "deep" => Reply::Body(r#"{"data": [{"n": 42}]}"#.to_owned()),
        _ => Reply::Right,
    });
    let had = house.operate("POST", "/sources/deep/trigger", &json!(null)).await.json();
    assert_eq!((&had["status"], &had["count"]), (&json!("ok"), &json!(42)), "{had}");
    let asked = world.upstream.asked().pop().unwrap();
    assert!(asked.head.contains("authorization: bearer sesame\r\n"), "{}", asked.head);
    assert!(asked.from.parse::<u64>().unwrap() + 5 == asked.to.parse::<u64>().unwrap());
    let listed = house.operate("GET", "/sources", &json!(null)).await.body;
    assert!(listed.contains("\"token\"") && !listed.contains("sesame"), "{listed}");
}

#[tokio::test]
async fn a_source_with_a_partition_for_each_day_is_read_across_midnight() {
    let (world, house) = World::with_one().await;
    assert_eq!(house.add(&world, "tokyo", &json!({})).await.status, 201);
    let active = house.collect.sources.get("tokyo").unwrap();
    let midnight = at("2025-12-02T00:00:00Z").seconds();
    for second in (midnight - 10..midnight + 10).step_by(5) {
        let slot = Slot::holding(base::Timestamp::from_millis(second * 1000), 5);
        let entry = Entry { state: State::Ok, count: Some(second), ..Entry::missing(slot) };
        house.collect.write_once(&active, entry).await.unwrap();
    }
    for day in ["01", "02"] {
        let rows = world.rows(&format!("ai_response_count#tokyo#2025-12-{day}")).await;
        assert_eq!(rows.len(), 2, "{day}");
    }
    let path = "/series/tokyo?from=2025-12-01T23:59:55Z&to=2025-12-02T00:00:05Z";
    let points = house.get(path).await.json()["points"].as_array().unwrap().clone();
    let values: Vec<u64> = points.iter().map(|point| point["value"].as_u64().unwrap()).collect();
    assert_eq!(values, [midnight - 5, midnight]);
}

// **Feature: data-collection-scheduler, Property 9: for any metric record, writing the same record
// (same metricName and slotTime) several times leaves exactly one record with consistent data in
// the table**
#[test]
fn a_value_that_is_written_again_and_again_is_one_row() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (world, house) = runtime.block_on(World::with_house());
    let records = AtomicU64::new(0);
    proptest!(ProptestConfig::with_cases(256), |(
        counted in 0..=1_u64 << 53,
        others in vec(0..=1_u64 << 53, 1..5),
        repeats in 1..5_usize,
    )| {
        let nth = records.fetch_add(1, Ordering::Relaxed) + 1;
        let slot = Slot::holding(base::Timestamp::from_millis(nth * 5_000), 5);
        let same = std::iter::repeat_n(counted, repeats);
        let counts: Vec<u64> = same.chain(others).collect();
        runtime.block_on(async {
            let active = house.collect.sources.get("default").unwrap();
            for count in &counts {
                let entry = Entry {
                    state: State::Ok,
                    count: Some(*count),
                    attempts: 1,
                    ..Entry::missing(slot)
                };
                house.collect.write_once(&active, entry).await.unwrap();
            }
            let active = Arc::clone(&active);
            let rows = house.collect.load_values(&active, slot.from(), slot.to()).await.unwrap();
            prop_assert_eq!(rows.len(), 1);
            prop_assert_eq!(rows[0].count, Some(counted));
            let differs = counts.iter().any(|count| *count != counted);
            let state = if differs { State::Conflict } else { State::Ok };
            prop_assert_eq!(rows[0].state, state);
            Ok::<(), TestCaseError>(())
        })?;
    });
    let nth = records.into_inner();
    let rows = runtime.block_on(world.rows("ai_response_count"));
    assert_eq!(rows.len() as u64, nth);
    let last = spell(base::Timestamp::from_millis(nth * 5_000));
    assert_eq!(rows.last().unwrap().get("slotTime").unwrap().as_s(), Some(last.as_str()));
}

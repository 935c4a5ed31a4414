//! A backfill keeps its rate, over all its parts, retries and instances.

use std::time::Duration;

use serde_json::json;
use testkit::Left;

use super::upstream::Reply;
use super::{Trial, at};

/// Calls for slots before the first live one.
fn old_calls(trial: &Trial) -> usize {
    trial.upstream.windows().iter().filter(|from| from.as_str() < "2025-12-02T10:22").count()
}

#[testkit::test]
async fn a_backfill_at_one_a_second_asks_once_a_second() {
    let (trial, collector) = Trial::with_collector().await;
    let order = json!({ "from": "2025-12-02T10:00:00Z", "to": "2025-12-02T10:10:00Z", "rate": 1 });
    let begun = collector.operate("POST", "/sources/default/backfill", &order).await;
    assert_eq!(begun.status, 202, "{begun:?}");
    trial.pass(&[&collector], 10).await;
    let calls = old_calls(&trial);
    assert!((8..=11).contains(&calls), "{calls}");
    // Another instance goes on with it at the same pace.
    trial.close(collector).await;
    let collector = trial.open(trial.options()).await;
    trial.pass(&[&collector], 10).await;
    let calls = old_calls(&trial);
    assert!((15..=22).contains(&calls), "{calls}");
    trial.allow(Left::Jobs);
}

#[testkit::test]
async fn retries_of_a_backfill_count_against_its_rate() {
    let (trial, collector) = Trial::with_one().await;
    trial.allow(Left::Jobs);
    trial.allow(Left::DeadLetters);
    // Never so often in a row that its breaker opens.
    let calls = parking_lot::Mutex::new(0_u32);
    trial.upstream.answer(move |_| {
        let mut calls = calls.lock();
        *calls += 1;
        if calls.is_multiple_of(4) {
            Reply::Right
        } else {
            Reply::Head("500 Internal Server Error".to_owned())
        }
    });
    let order = json!({ "from": "2025-12-02T10:00:00Z", "to": "2025-12-02T10:10:00Z", "rate": 2 });
    collector.operate("POST", "/sources/default/backfill", &order).await;
    trial.pass(&[&collector], 25).await;
    let calls = old_calls(&trial);
    assert!((20..=54).contains(&calls), "{calls}");
}

#[testkit::test]
async fn catching_up_keeps_the_rate_of_the_house_however_many_backfills_it_takes() {
    let (trial, collector) = Trial::with_one().await;
    for (name, interval) in [("ten", 10), ("twenty", 20), ("thirty", 30)] {
        let form = json!({ "intervalSeconds": interval, "lagSeconds": interval + 1 });
        assert_eq!(collector.add(&trial, name, &form).await.status, 201);
    }
    trial.pass(&[&collector], 31).await;
    trial.close(collector).await;
    trial.time.advance(Duration::from_secs(1200)).await;
    trial.upstream.forget();
    let options = crate::Options { catch_up_per_second: 2, ..trial.options() };
    let collector = trial.open(options).await;
    trial.pass(&[&collector], 20).await;
    let end = trial.clock.now();
    // Slots of the last minute of the gap may be due by themselves only now.
    let gap = "2025-12-02T10:24".."2025-12-02T10:42";
    let caught = trial.upstream.windows();
    let caught = caught.iter().filter(|from| gap.contains(&from.as_str())).count();
    assert!((20..=42).contains(&caught), "{caught}");
    assert!(end > at("2025-12-02T10:43:00Z"));
    trial.allow(Left::Jobs);
}

//! Time in which nobody asked: the trigger late, the house closed, the clock set.

use std::time::Duration;

use serde_json::json;

use super::{Trial, all, at};
use crate::items::{Mark, move_mark};

#[testkit::test]
async fn a_trigger_that_is_late_asks_at_the_slots_own_times() {
    let (trial, collector) = Trial::with_collector().await;
    trial.close(collector).await;
    trial.time.advance_to(at("2025-12-02T10:23:20Z")).await;
    let collector = trial.open(trial.options()).await;
    trial.pass(&[&collector], 1).await;
    // The span begins at 10:23:00, so the minute is planned as a whole; 0, 5 and 10 are overdue.
    let mut windows = trial.upstream.windows();
    windows.sort();
    assert_eq!(windows.len(), 4, "{windows:?}");
    trial.pass(&[&collector], 70).await;
    let mut expected = all("late", 0, 10);
    expected.extend(all("ok", 10, 60));
    assert_eq!(collector.ledger("default", 1).await, expected);
    let lateness: Vec<u64> = collector
        .slots("default", 1)
        .await
        .iter()
        .take(4)
        .map(|slot| slot["latenessMs"].as_u64().unwrap() / 1000)
        .collect();
    assert_eq!(lateness, [14, 9, 4, 0]);
}

#[testkit::test]
async fn ten_minutes_of_downtime_are_caught_up_with_newest_first_beside_live_slots() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 66).await;
    trial.close(collector).await;
    trial.time.advance(Duration::from_secs(600)).await;
    trial.upstream.forget();
    let mut options = trial.options();
    options.catch_up_per_second = 10;
    let collector = trial.open(options).await;
    trial.pass(&[&collector], 20).await;
    let windows = trial.upstream.windows();
    // 10:24 was planned before the stop, and its messages waited.
    let gap = "2025-12-02T10:25".."2025-12-02T10:34";
    let back: Vec<&String> = windows.iter().filter(|from| gap.contains(&from.as_str())).collect();
    assert!(back.len() > 90 && back.windows(2).all(|pair| pair[0] > pair[1]), "{back:?}");
    let live = windows.iter().filter(|from| from.as_str() >= "2025-12-02T10:34").count();
    assert!(live >= 3, "{windows:?}");
    trial.pass(&[&collector], 20).await;
    let ledger = collector.ledger("default", 11).await;
    assert_eq!(ledger.len(), 132);
    assert!(ledger.iter().all(|(_, state)| state == "ok" || state == "late"), "{ledger:?}");
    let backfills = collector.operate("GET", "/backfills", &json!(null)).await.json();
    let caught = &backfills["backfills"][0];
    assert_eq!((&caught["state"], &caught["order"]), (&json!("done"), &json!("newest_first")));
    assert_eq!(caught["failed"], 0);
    let told = collector.get("/explain").await.json();
    assert_eq!(told["gaps"][0]["cause"], "nobody planned");
    // What came late is in the sums: a whole minute of the gap, with the mock's count.
    let path = "/series/default?from=2025-12-02T10:30:00Z&to=2025-12-02T10:31:00Z&step=60";
    let minute = collector.get(path).await.json()["points"][0].clone();
    assert_eq!((&minute["value"], &minute["coverage"]), (&json!(11 * 8 + 9), &json!(1.0)));
}

#[testkit::test]
async fn a_hundred_sources_catch_up_at_the_rate_of_the_house() {
    let trial = Trial::new().await;
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("sources.json");
    let form = |nth: u32| {
        let base_url = format!("{}/s{nth}", trial.upstream.url());
        json!({ "name": format!("s{nth}"), "baseUrl": base_url })
    };
    std::fs::write(&path, json!((0..100).map(form).collect::<Vec<_>>()).to_string()).unwrap();
    let options = crate::Options { base_url: None, sources_file: Some(path), ..trial.options() };
    let collector = trial.open(options.clone()).await;
    trial.pass(&[&collector], 31).await;
    trial.close(collector).await;
    // 10:24 to 10:27 was not planned: thirty-six slots of each.
    trial.time.advance_to(at("2025-12-02T10:27:30Z")).await;
    let collector = trial.open(options).await;
    trial.upstream.forget();
    trial.pass(&[&collector], 4).await;
    let gap = "2025-12-02T10:24".."2025-12-02T10:27";
    let windows = trial.upstream.windows();
    let caught = windows.iter().filter(|from| gap.contains(&from.as_str())).count();
    // Three thousand and six hundred at two thousand a second.
    assert_eq!(caught, 3600);
    let series =
        collector.get("/series/s7?from=2025-12-02T10:25:00Z&to=2025-12-02T10:26:00Z&step=60");
    assert_eq!(series.await.json()["points"][0]["coverage"], 1.0);
}

#[testkit::test]
async fn what_lies_beyond_the_window_or_is_not_wanted_stays_missing() {
    let (trial, collector) = Trial::with_collector().await;
    let skip = json!({ "misfire": "skip", "lagSeconds": 6 });
    assert_eq!(collector.add(&trial, "skip", &skip).await.status, 201);
    let one = json!({ "misfire": "buffer_one", "lagSeconds": 6 });
    assert_eq!(collector.add(&trial, "one", &one).await.status, 201);
    trial.pass(&[&collector], 30 + 70).await;
    trial.close(collector).await;
    trial.time.advance_to(at("2025-12-02T10:34:30Z")).await;
    let collector = trial.open(crate::Options { catch_up_seconds: 300, ..trial.options() }).await;
    trial.pass(&[&collector], 60).await;
    let states = |ledger: Vec<(u64, String)>| {
        let missing = ledger.iter().filter(|(_, state)| state == "missing").count();
        (missing, ledger.iter().rposition(|(_, state)| state == "missing"))
    };
    // Planned were two minutes; the gap is 10:25 to 10:34, of which five are in the window.
    let (missing, last) = states(collector.ledger("default", 11).await);
    assert_eq!((missing, last), (12 * 4 + 6, Some(12 * 6 + 5)));
    let (missing, last) = states(collector.ledger("skip", 11).await);
    assert_eq!((missing, last), (12 * 9, Some(12 * 11 - 1)));
    let (missing, last) = states(collector.ledger("one", 11).await);
    assert_eq!((missing, last), (12 * 9 - 1, Some(12 * 11 - 2)));
}

#[testkit::test]
async fn a_clock_that_steps_back_repeats_nothing_and_one_that_steps_forward_leaves_a_gap() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 70).await;
    let asked = trial.upstream.windows().len();
    trial.time.set_wall(at("2025-12-02T10:20:00Z")).await;
    trial.pass(&[&collector], 240).await;
    assert_eq!(trial.upstream.windows().len(), asked, "all that was finished");
    trial.pass(&[&collector], 120).await;
    let mut windows = trial.upstream.windows();
    let all_of_them = windows.len();
    windows.sort();
    windows.dedup();
    assert_eq!(windows.len(), all_of_them, "no slot was asked for twice");
    let ledger = collector.ledger("default", 2).await;
    assert!(ledger.iter().all(|(_, state)| state != "missing"), "{ledger:?}");

    // Now 10:26; half an hour forward, and then on.
    trial.time.set_wall(at("2025-12-02T10:56:10Z")).await;
    trial.pass(&[&collector], 60).await;
    let told = collector.get("/explain").await.json();
    let gap = &told["gaps"][0];
    assert_eq!(gap["cause"], "the clock was set", "{told}");
    assert_eq!(gap["to"], "2025-12-02T10:56:00Z");
}

#[testkit::test]
async fn a_minute_is_planned_once_however_often_the_trigger_runs() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 31).await;
    let planned = collector.collect.asks.depth().await.unwrap().messages;
    assert!(collector.collect.plan_minute(at("2025-12-02T10:23:31Z")).await.unwrap().is_empty());
    assert!(collector.collect.plan_minute(at("2025-12-02T10:22:00Z")).await.unwrap().is_empty());
    assert_eq!(collector.collect.asks.depth().await.unwrap().messages, planned);
    // The mark of a trigger that was paused and comes late is refused.
    let back = move_mark(Mark::Plan, at("2025-12-02T10:23:00Z"));
    assert!(!table::commit(&*trial.store, vec![back]).await.unwrap());
}

#[testkit::test]
async fn a_day_is_leapt_over_and_only_the_window_is_asked_for() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 70).await;
    trial.upstream.forget();
    trial.time.set_wall(at("2025-12-03T10:24:30Z")).await;
    trial.pass(&[&collector], 120).await;
    let windows = trial.upstream.windows();
    // What was planned before the leap is asked for, late.
    let leapt = windows.iter().filter(|from| !from.starts_with("2025-12-02T10:24"));
    let first = leapt.min().unwrap();
    assert!(first.as_str() >= "2025-12-03T09:24:30Z", "{first}");
    let path = "/slots/default?from=2025-12-02T20:00:00Z&to=2025-12-02T20:01:00Z";
    let slots = collector.get(path).await.json()["slots"].as_array().unwrap().clone();
    assert_eq!(slots.len(), 12);
    assert!(slots.iter().all(|slot| slot["status"] == "missing"));
    let path = "/slots/default?from=2025-12-03T10:00:00Z&to=2025-12-03T10:24:00Z";
    let slots = collector.get(path).await.json()["slots"].as_array().unwrap().clone();
    assert_eq!(slots.len(), 24 * 12);
    assert!(slots.iter().all(|slot| slot["status"] == "late"), "{slots:?}");
}

#[testkit::test]
async fn a_long_slot_of_a_gap_is_asked_for_when_it_is_over() {
    let (trial, collector) = Trial::with_collector().await;
    let form = json!({ "intervalSeconds": 120 });
    assert_eq!(collector.add(&trial, "long", &form).await.status, 201);
    trial.pass(&[&collector], 30 + 10).await;
    trial.close(collector).await;
    // 10:24:00 begins while nobody plans, and is over at 10:26:00.
    trial.time.advance_to(at("2025-12-02T10:25:10Z")).await;
    let collector = trial.open(trial.options()).await;
    trial.pass(&[&collector], 30).await;
    let asked = |trial: &Trial| {
        let asked = trial.upstream.asked().into_iter().filter(|asked| asked.who == "long");
        asked.map(|asked| asked.from).collect::<Vec<_>>()
    };
    assert!(asked(&trial).is_empty(), "{:?}", asked(&trial));
    trial.pass(&[&collector], 180).await;
    assert_eq!(asked(&trial), ["2025-12-02T10:24:00Z"]);
}

//! What fails is told, tried again, and given up in the end; what cannot be is never a zero.

use std::time::Duration;

use dispatch::{NewMessage, QueueOptions};
use serde_json::{Value as Json, json};
use table::{Query, query_all};
use testkit::{Instance, Left};

use super::refusals::sends;
use super::upstream::{Asked, Reply};
use super::{Collector, FIRST, Trial, all, at, networks};
use crate::{Collect, Options};

/// The first slot is answered so, the others well.
fn at_first(reply: Reply) -> impl Fn(&Asked) -> Reply + Send + Sync + 'static {
    move |asked| if asked.from == FIRST { reply.clone() } else { Reply::Right }
}

/// What the ledger says of the first slot.
async fn first(collector: &Collector) -> Json {
    collector.slots("default", 1).await[0].clone()
}

fn calls_for_the_first(trial: &Trial) -> usize {
    trial.upstream.windows().iter().filter(|from| *from == FIRST).count()
}

#[testkit::test]
async fn an_answer_that_cannot_be_taken_is_told_and_tried_again_until_it_can() {
    let large = format!(r#"{{"count": "{}"}}"#, "x".repeat(2 * 1024 * 1024));
    let window = r#""from": "2025-12-02T10:23:00Z", "to": "2025-12-02T10:23:05Z""#;
    let other = r#"{"from": "2025-12-02T10:23:05Z", "to": "2025-12-02T10:23:10Z", "count": 1}"#;
    let without = format!("{{{window}}}");
    let elsewhere = "302 Found\r\nlocation: http://localhost:9/x".to_owned();
    let whole = "must be a whole number from 0 to 9007199254740992, not";
    let wrong = [
        (Reply::Head("500 Internal Server Error".to_owned()), "status 500".to_owned()),
        (Reply::Head("204 No Content".to_owned()), "the answer is not JSON: EOF".to_owned()),
        (Reply::Body("{\"count\"".to_owned()), "the answer is not JSON: EOF".to_owned()),
        (
            Reply::Body(other.to_owned()),
            "the answer is of 2025-12-02T10:23:05Z to 2025-12-02T10:23:10Z, asked was".to_owned(),
        ),
        (Reply::Body(without), "the answer has nothing at `/count`".to_owned()),
        (Reply::Count("-1".to_owned()), format!("the value {whole} -1")),
        (Reply::Count("1.5".to_owned()), format!("the value {whole} 1.5")),
        (
            Reply::Count("9007199254740993".to_owned()),
            format!("the value {whole} 9007199254740993"),
        ),
        (Reply::Count("\"7\"".to_owned()), format!("the value {whole} \"7\"")),
        (Reply::Body(large), "an answer of more than 1048576 bytes".to_owned()),
        (
            Reply::Head(elsewhere),
            "a redirect that is not followed, to http://localhost:9".to_owned(),
        ),
    ];
    for (reply, reason) in wrong {
        let (trial, collector) = Trial::with_collector().await;
        trial.upstream.answer(at_first(reply));
        trial.pass(&[&collector], 30 + 6).await;
        let slot = first(&collector).await;
        assert_eq!((&slot["status"], &slot["count"]), (&json!("retrying"), &json!(null)));
        assert!(slot["reason"].as_str().unwrap().starts_with(&reason), "{slot}");
        trial.upstream.answer(|_| Reply::Right);
        trial.pass(&[&collector], 3).await;
        let slot = first(&collector).await;
        assert_eq!((&slot["status"], &slot["attempts"]), (&json!("ok"), &json!(2)), "{slot}");
        assert_eq!((&slot["count"], &slot["reason"]), (&json!(1), &json!(null)));
        let ledger = Query::new("collect", "pk", "L#ai_response_count").consistent();
        let ledger = query_all(&*trial.store, ledger).await.unwrap();
        assert!(ledger.is_empty(), "{ledger:?}");
    }
}

#[testkit::test]
async fn a_value_that_comes_after_its_minute_was_added_up_is_added() {
    let (trial, collector) = Trial::with_collector().await;
    trial.upstream.answer(at_first(Reply::Head("500 Internal Server Error".to_owned())));
    trial.pass(&[&collector], 30 + 240).await;
    let minute = format!("/series/default?from={FIRST}&to=2025-12-02T10:24:00Z&step=60");
    let point = collector.get(&minute).await.json()["points"][0].clone();
    assert_eq!((&point["value"], &point["coverage"]), (&json!(10 + 2), &json!(11.0 / 12.0)));
    trial.upstream.answer(|_| Reply::Right);
    trial.pass(&[&collector], 80).await;
    let point = collector.get(&minute).await.json()["points"][0].clone();
    assert_eq!((&point["value"], &point["coverage"]), (&json!(11 + 2), &json!(1.0)), "{point}");
}

#[testkit::test]
async fn an_upstream_that_hangs_is_left_after_four_seconds_and_given_up_at_the_deadline() {
    let trial = Trial::new().await;
    let collector = trial.open(Options { deadline_seconds: 30, ..trial.options() }).await;
    // The slot that is given up becomes a dead letter.
    trial.allow(Left::DeadLetters);
    trial.upstream.answer(at_first(Reply::Hang));
    trial.pass(&[&collector], 30 + 9).await;
    assert_eq!(collector.waiting(), 1);
    trial.pass(&[&collector], 2).await;
    let slot = first(&collector).await;
    assert_eq!(slot["reason"], "no answer within 4s");
    trial.pass(&[&collector], 60).await;
    let slot = first(&collector).await;
    assert_eq!(slot["status"], "failed", "{slot}");
    let calls = calls_for_the_first(&trial);
    assert!((3..=6).contains(&calls), "{calls}");
    assert_eq!(slot["attempts"], calls);
    // The others were not held up.
    assert_eq!(collector.ledger("default", 1).await[1..], all("ok", 5, 60));
    let letters = collector.dead_letters().await;
    assert_eq!(letters.len(), 1, "{letters:?}");
    assert_eq!(letters[0]["message"]["from"], FIRST);
    assert_eq!(letters[0]["reason"], "no answer within 4s");
}

#[testkit::test]
async fn what_the_caller_did_wrong_is_given_up_at_once_and_can_be_replayed() {
    let (trial, collector) = Trial::with_collector().await;
    trial.upstream.answer(at_first(Reply::Head("404 Not Found".to_owned())));
    trial.pass(&[&collector], 30 + 60).await;
    assert_eq!(calls_for_the_first(&trial), 1);
    let slot = first(&collector).await;
    assert_eq!((&slot["status"], &slot["reason"]), (&json!("failed"), &json!("status 404")));
    let letters = collector.dead_letters().await;
    let replay = format!("/dead-letters/{}/replay", letters[0]["id"].as_str().unwrap());
    trial.upstream.answer(|_| Reply::Right);
    let answer = collector.operate("POST", &replay, &json!(null)).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    trial.pass(&[&collector], 1).await;
    let slot = first(&collector).await;
    assert_eq!((&slot["status"], &slot["count"]), (&json!("late"), &json!(1)), "{slot}");
    assert!(collector.dead_letters().await.is_empty());
    let gone = collector.operate("POST", &replay, &json!(null)).await.refusal();
    assert_eq!((gone.0, gone.1.as_str()), (404, "no_such_dead_letter"));
}

#[testkit::test]
async fn an_upstream_is_asked_again_when_it_says() {
    for (header, seconds) in [("20", 20), ("Tue, 02 Dec 2025 10:23:26 GMT", 20)] {
        let (trial, collector) = Trial::with_collector().await;
        let reply = format!("429 Too Many Requests\r\nretry-after: {header}");
        trial.upstream.answer(at_first(Reply::Head(reply)));
        trial.pass(&[&collector], 30 + 6).await;
        trial.upstream.answer(|_| Reply::Right);
        trial.pass(&[&collector], seconds - 1).await;
        assert_eq!(calls_for_the_first(&trial), 1, "{header}");
        trial.pass(&[&collector], 2).await;
        assert_eq!(calls_for_the_first(&trial), 2, "{header}");
        assert_eq!(first(&collector).await["status"], "late");
    }
}

#[testkit::test]
async fn a_redirect_on_the_same_host_is_followed() {
    let (trial, collector) = Trial::with_collector().await;
    let window = "from=2025-12-02T10:23:00Z&to=2025-12-02T10:23:05Z";
    let moved = format!("307 Temporary Redirect\r\nlocation: /moved/response_count?{window}");
    trial.upstream.answer(move |asked| match asked.who.as_str() {
        "moved" => Reply::Count("5".to_owned()),
        _ => Reply::Head(moved.clone()),
    });
    trial.pass(&[&collector], 30 + 6).await;
    let slot = first(&collector).await;
    assert_eq!((&slot["status"], &slot["count"]), (&json!("ok"), &json!(5)));
}

#[testkit::test]
async fn a_dead_upstream_is_left_alone_and_asked_again_when_it_lives() {
    let (trial, collector) = Trial::with_collector().await;
    trial.upstream.answer(|_| Reply::Head("503 Service Unavailable".to_owned()));
    trial.pass(&[&collector], 30 + 60).await;
    let calls = trial.upstream.windows().len();
    // Five until it opens, and one look each quarter of a minute.
    assert!((5..=9).contains(&calls), "{calls}");
    let told = collector.get("/explain").await;
    let told = told.text();
    assert!(told.contains("its breaker is open"), "{told}");
    trial.upstream.answer(|_| Reply::Right);
    trial.pass(&[&collector], 120).await;
    let ledger = collector.ledger("default", 2).await;
    assert!(ledger.iter().all(|(_, state)| state == "ok" || state == "late"), "{ledger:?}");
    assert!(collector.dead_letters().await.is_empty());
}

#[testkit::test]
async fn a_value_that_the_store_does_not_take_is_asked_for_again() {
    let (trial, collector) = Trial::with_collector().await;
    trial.store.refuse(|put| put.table == "AiResponseMetrics");
    trial.pass(&[&collector], 30 + 6).await;
    let slot = first(&collector).await;
    assert_eq!(slot["status"], "retrying", "{slot}");
    assert!(slot["reason"].as_str().unwrap().starts_with("not stored: "), "{slot}");
    trial.store.refuse_nothing();
    trial.pass(&[&collector], 60).await;
    assert_eq!(collector.ledger("default", 1).await, all("ok", 0, 60));
}

#[testkit::test]
async fn what_became_of_a_slot_is_not_lost_while_the_store_refuses_everything() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 30 + 5).await;
    trial.store.refuse(|_| true);
    trial.pass(&[&collector], 10).await;
    trial.store.refuse_nothing();
    trial.pass(&[&collector], 75).await;
    let ledger = collector.ledger("default", 1).await;
    assert_eq!(ledger.len(), 12);
    assert!(ledger.iter().all(|(_, state)| state == "ok" || state == "late"), "{ledger:?}");
}

#[testkit::test]
async fn a_message_that_cannot_be_sent_does_not_stop_the_others() {
    let (trial, collector) = Trial::with_collector().await;
    trial.store.refuse(|put| sends(put, "T10:23:25Z\",\"to"));
    trial.pass(&[&collector], 30 + 66).await;
    let mut expected = all("ok", 0, 60);
    expected[5] = (25, "missing".to_owned());
    assert_eq!(collector.ledger("default", 1).await, expected);
}

#[testkit::test]
async fn a_trigger_whose_messages_are_all_refused_is_tried_again_and_loses_nothing() {
    let (trial, collector) = Trial::with_collector().await;
    trial.store.refuse(|put| sends(put, "from"));
    trial.pass(&[&collector], 31).await;
    trial.store.refuse_nothing();
    trial.pass(&[&collector], 65).await;
    assert_eq!(collector.ledger("default", 1).await, all("ok", 0, 60));

    // Refused for a whole minute, the next trigger catches up.
    trial.store.refuse(|put| sends(put, "from"));
    trial.pass(&[&collector], 60).await;
    trial.store.refuse_nothing();
    trial.pass(&[&collector], 80).await;
    let ledger = collector.ledger("default", 3).await;
    assert_eq!(ledger.len(), 36);
    assert!(ledger.iter().all(|(_, state)| state == "ok" || state == "late"), "{ledger:?}");
}

#[testkit::test]
async fn a_queue_that_cannot_be_had_stops_the_start() {
    let trial = Trial::new().await;
    let Instance { ground, dispatch, .. } = &trial.instance().await;
    let _other = dispatch.queue(crate::jobs::ASKS, QueueOptions::default()).unwrap();
    let opened = Collect::open(trial.options(), ground, dispatch).await;
    let told = opened.err().unwrap().to_string();
    assert_eq!(told, "queue `collect-asks` is open with other options");
}

#[testkit::test]
async fn a_message_that_says_nothing_is_a_dead_letter_that_can_be_purged() {
    let (trial, collector) = Trial::with_collector().await;
    for poison in ["nonsense", r#"{"from": "2025-12-02T10:23:01Z", "to": "2025-12-02T10:23:06Z"}"#]
    {
        collector.collect.asks.enqueue(NewMessage::new(poison)).await.unwrap();
    }
    trial.pass(&[&collector], 1).await;
    let letters = collector.dead_letters().await;
    assert_eq!(letters.len(), 2);
    assert_eq!(letters[0]["message"], "nonsense");
    assert_eq!(letters[0]["reason"], "the message asks for no slot");
    let id = letters[0]["id"].as_str().unwrap();
    let replayed =
        collector.operate("POST", &format!("/dead-letters/{id}/replay"), &json!(null)).await;
    assert_eq!(replayed.status, 202);
    trial.pass(&[&collector], 1).await;
    assert_eq!(collector.dead_letters().await.len(), 2, "it dies again");
    let purged = collector.operate("DELETE", "/dead-letters", &json!(null)).await;
    assert_eq!(purged.json(), json!({ "purged": 2 }));
    assert!(collector.dead_letters().await.is_empty());
}

#[testkit::test]
async fn private_addresses_are_asked_only_where_the_operator_named_them() {
    let trial = Trial::new().await;
    // A call that is refused is not tried again.
    trial.allow(Left::DeadLetters);
    let options = Options { private_networks: networks(""), ..trial.options() };
    let collector = trial.open(options).await;
    assert_eq!(collector.add(&trial, "literal", &json!({})).await.status, 201);
    let port = trial.upstream.url().rsplit_once(':').unwrap().1.to_owned();
    let by_name = json!({ "baseUrl": format!("http://localhost:{port}/name") });
    assert_eq!(collector.add(&trial, "name", &by_name).await.status, 201);
    for name in ["literal", "name"] {
        let path = format!("/sources/{name}/trigger");
        let had = collector.operate("POST", &path, &json!(null)).await.json();
        assert_eq!(had["status"], "failed", "{had}");
        let reason = had["reason"].as_str().unwrap();
        assert!(reason.ends_with("is private, and not in `collect.private_networks`"), "{reason}");
    }
    assert!(trial.upstream.asked().is_empty());
    // The default source stands in the settings.
    let had = collector.operate("POST", "/sources/default/trigger", &json!(null)).await.json();
    assert_eq!(had["status"], "ok", "{had}");
}

#[testkit::test]
async fn a_slot_that_overlaps_is_skipped_waits_or_runs() {
    // Three slots are due while the first call hangs, and one at the moment when it is left.
    let policies =
        [("skip", 3..=4), ("buffer_one", 2..=3), ("buffer_all", 0..=0), ("allow_all", 0..=0)];
    for (policy, missing) in policies {
        let (trial, collector) = Trial::with_collector().await;
        let form = json!({ "intervalSeconds": 1, "lagSeconds": 1, "overlap": policy });
        assert_eq!(collector.add(&trial, "each", &form).await.status, 201);
        // The first call of the first slot hangs until it is left.
        let hung = parking_lot::Mutex::new(false);
        trial.upstream.answer(move |asked| {
            let hangs = asked.who == "each" && asked.from == FIRST;
            let hangs = hangs && !std::mem::replace(&mut *hung.lock(), hangs);
            if hangs { Reply::Hang } else { Reply::Right }
        });
        trial.pass(&[&collector], 30 + 15).await;
        let slots = collector.slots("each", 1).await;
        let left_out: Vec<&Json> =
            slots.iter().filter(|slot| slot["status"] == "missing").collect();
        assert!(missing.contains(&left_out.len()), "{policy}: {slots:?}");
        let reason = json!("the slot before it was still asked for");
        assert!(left_out.iter().all(|slot| slot["reason"] == reason), "{left_out:?}");
        assert!(slots.len() >= 12, "{slots:?}");
        let others = slots.iter().filter(|slot| slot["status"] != "missing");
        assert!(others.into_iter().all(|slot| slot["count"].is_u64()), "{slots:?}");
    }
}

#[testkit::test]
async fn a_retry_waits_where_a_new_slot_would_be_left_out() {
    let (trial, collector) = Trial::with_collector().await;
    let form = json!({ "intervalSeconds": 1, "lagSeconds": 1, "overlap": "skip" });
    assert_eq!(collector.add(&trial, "each", &form).await.status, 201);
    // The first slot fails twice, and its third try falls into the call for the second, which hangs.
    let calls = parking_lot::Mutex::new((0, 0));
    trial.upstream.answer(move |asked| {
        let (first, second) = &mut *calls.lock();
        match (asked.who.as_str(), asked.from.as_str()) {
            ("each", FIRST) if *first < 2 => {
                *first += 1;
                Reply::Head("500 Internal Server Error".to_owned())
            }
            ("each", "2025-12-02T10:23:01Z") if *second < 1 => {
                *second += 1;
                Reply::Hang
            }
            _ => Reply::Right,
        }
    });
    trial.pass(&[&collector], 30 + 15).await;
    let slots = collector.slots("each", 1).await;
    assert_eq!((&slots[0]["count"], &slots[0]["attempts"]), (&json!(1), &json!(3)), "{slots:?}");
    assert_eq!(slots[2]["status"], "missing", "{slots:?}");
}

#[testkit::test]
async fn a_slot_is_tried_with_growing_pauses() {
    let (trial, collector) = Trial::with_collector().await;
    trial.upstream.answer(at_first(Reply::Head("500 Internal Server Error".to_owned())));
    let mut calls = Vec::new();
    for _ in 0..200 {
        let before = calls_for_the_first(&trial);
        trial.pass(&[&collector], 1).await;
        if calls_for_the_first(&trial) > before {
            calls.push(trial.clock.now());
        }
    }
    let pauses: Vec<Duration> = calls.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(pauses.len() >= 5, "{pauses:?}");
    // Doubled each time, anywhere in the upper half.
    for (nth, pause) in pauses.iter().enumerate().skip(2).take(3) {
        let longest = Duration::from_secs(1 << nth);
        assert!(*pause + Duration::from_secs(1) >= longest / 2, "{pauses:?}");
        assert!(*pause <= longest + Duration::from_secs(1), "{pauses:?}");
    }
    assert_eq!(at(FIRST).seconds() + 6, calls[0].seconds());
}

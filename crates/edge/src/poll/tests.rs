//! Long-polls over real TCP.

use std::time::Duration;

use base::{Clock, Timestamp};
use serde_json::{Value, json};

use crate::StreamOptions;
use crate::streams::trial::{HISTORY, House};

async fn poll(house: &House, query: &str) -> Value {
    let answer = house.answer(&format!("/poll{query}"), "").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

fn after(answer: &Value) -> String {
    format!("?after={}", answer["cursor"].as_str().unwrap())
}

#[tokio::test]
async fn polls_with_the_last_cursor_see_every_push_once() {
    let house = House::start(StreamOptions::default(), Clock::real()).await;
    let mut answer = poll(&house, "").await;
    assert_eq!((&answer["pushes"], &answer["gap"]), (&json!([]), &json!(false)));
    let mut seen = Vec::new();
    for number in 0..30 {
        house.channel.publish(if number % 3 == 0 { "a" } else { "b" }, number.to_string());
        if number % 4 == 0 {
            answer = poll(&house, &after(&answer)).await;
            seen.extend(answer["pushes"].as_array().unwrap().clone());
        }
    }
    answer = poll(&house, &after(&answer)).await;
    seen.extend(answer["pushes"].as_array().unwrap().clone());
    let mut numbers: Vec<u64> = seen.iter().map(|push| push.as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..30).collect::<Vec<u64>>());
    let of_a: Vec<u64> =
        seen.iter().filter_map(Value::as_u64).filter(|number| number % 3 == 0).collect();
    assert!(of_a.is_sorted(), "each topic in its order: {of_a:?}");
}

#[tokio::test]
async fn a_poll_waits_for_a_push_and_not_longer_than_asked() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let house = House::start(StreamOptions::default(), clock).await;
    let start = poll(&house, "").await;
    let query = after(&start);
    let (answer, ()) = tokio::join!(poll(&house, &query), async {
        while house.channel.audience("a") == 0 {
            tokio::task::yield_now().await;
        }
        house.channel.publish("a", r#"{"late":true}"#);
    });
    assert_eq!(answer["pushes"], json!([{ "late": true }]));
    let query = format!("{}&wait=10", after(&answer));
    let (empty, ()) = tokio::join!(poll(&house, &query), async {
        while house.channel.audience("a") == 0 {
            tokio::task::yield_now().await;
        }
        time.advance(Duration::from_secs(10)).await;
    });
    assert_eq!((&empty["pushes"], &empty["cursor"]), (&json!([]), &answer["cursor"]));
}

#[tokio::test]
async fn a_poll_that_comes_too_late_is_told_of_the_gap() {
    let house = House::start(StreamOptions::default(), Clock::real()).await;
    let start = poll(&house, "").await;
    for number in 0..=HISTORY {
        house.channel.publish("a", number.to_string());
    }
    let answer = poll(&house, &after(&start)).await;
    assert_eq!((&answer["gap"], &answer["pushes"]), (&json!(true), &json!([])));
    house.channel.publish("a", "7");
    let answer = poll(&house, &after(&answer)).await;
    assert_eq!((&answer["gap"], &answer["pushes"]), (&json!(false), &json!([7])));
    let refused = house.answer("/poll?after=yesterday", "").await;
    assert!(refused.starts_with("HTTP/1.1 400 ") && refused.contains("bad_cursor"), "{refused}");
}

#[tokio::test]
async fn a_drain_answers_the_polls_that_wait() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let house = House::start(StreamOptions::default(), clock).await;
    let start = poll(&house, "").await;
    let stream = house.ask(&format!("/poll{}", after(&start)), "").await;
    while house.channel.audience("a") == 0 {
        tokio::task::yield_now().await;
    }
    house.server.drain().await.unwrap();
    let mut answer = vec![0; 4_096];
    stream.readable().await.unwrap();
    let count = stream.try_read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    assert!(answer.contains(start["cursor"].as_str().unwrap()), "{answer}");
}

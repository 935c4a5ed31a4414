//! Long-polls over real TCP.

use std::time::Duration;

use edge::StreamOptions;
use serde_json::{Value, json};

use crate::streams::{HISTORY, StreamSite};

async fn poll(streaming: &StreamSite, query: &str) -> Value {
    streaming.site.get(&format!("/poll{query}")).await.is(200)
}

fn after(answer: &Value) -> String {
    format!("?after={}", answer["cursor"].as_str().unwrap())
}

#[testkit::test]
async fn polls_with_the_last_cursor_see_every_push_once() {
    let streaming = StreamSite::start(StreamOptions::default()).await;
    let mut answer = poll(&streaming, "").await;
    assert_eq!((&answer["pushes"], &answer["gap"]), (&json!([]), &json!(false)));
    let mut seen = Vec::new();
    for number in 0..30 {
        streaming.channel.publish(if number % 3 == 0 { "a" } else { "b" }, number.to_string());
        if number % 4 == 0 {
            answer = poll(&streaming, &after(&answer)).await;
            seen.extend(answer["pushes"].as_array().unwrap().clone());
        }
    }
    answer = poll(&streaming, &after(&answer)).await;
    seen.extend(answer["pushes"].as_array().unwrap().clone());
    let mut numbers: Vec<u64> = seen.iter().map(|push| push.as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..30).collect::<Vec<u64>>());
    let of_a: Vec<u64> =
        seen.iter().filter_map(Value::as_u64).filter(|number| number % 3 == 0).collect();
    assert!(of_a.is_sorted(), "each topic in its order: {of_a:?}");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_poll_waits_for_a_push_and_not_longer_than_asked() {
    let streaming = StreamSite::start(StreamOptions::default()).await;
    let start = poll(&streaming, "").await;
    let query = after(&start);
    let (answer, ()) = tokio::join!(poll(&streaming, &query), async {
        streaming.until_followed("a").await;
        streaming.channel.publish("a", r#"{"late":true}"#);
    });
    assert_eq!(answer["pushes"], json!([{ "late": true }]));
    let query = format!("{}&wait=10", after(&answer));
    let (empty, ()) = tokio::join!(poll(&streaming, &query), async {
        streaming.until_followed("a").await;
        streaming.site.time.advance(Duration::from_secs(10)).await;
    });
    assert_eq!((&empty["pushes"], &empty["cursor"]), (&json!([]), &answer["cursor"]));
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_poll_that_comes_too_late_is_told_of_the_gap() {
    let streaming = StreamSite::start(StreamOptions::default()).await;
    let start = poll(&streaming, "").await;
    for number in 0..=HISTORY {
        streaming.channel.publish("a", number.to_string());
    }
    let answer = poll(&streaming, &after(&start)).await;
    assert_eq!((&answer["gap"], &answer["pushes"]), (&json!(true), &json!([])));
    streaming.channel.publish("a", "7");
    let answer = poll(&streaming, &after(&answer)).await;
    assert_eq!((&answer["gap"], &answer["pushes"]), (&json!(false), &json!([7])));
    streaming.site.get("/poll?after=yesterday").await.is_problem(400, "bad_cursor");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_drain_answers_the_polls_that_wait() {
    let streaming = StreamSite::start(StreamOptions::default()).await;
    let start = poll(&streaming, "").await;
    let stream = streaming.ask(&format!("/poll{}", after(&start)), "").await;
    streaming.until_followed("a").await;
    streaming.site.drain().await;
    let mut answer = vec![0; 4_096];
    stream.readable().await.unwrap();
    let count = stream.try_read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    assert!(answer.contains(start["cursor"].as_str().unwrap()), "{answer}");
}

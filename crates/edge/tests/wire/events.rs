//! Event streams over real TCP.

use std::time::Duration;

use edge::StreamOptions;
use testkit::wait;
use tokio::io::AsyncReadExt;

use crate::streams::{HISTORY, StreamSite, read_until};

async fn streaming() -> StreamSite {
    StreamSite::start(StreamOptions::default()).await
}

/// The id that stands last in what was read.
fn last_id(text: &str) -> &str {
    text.rsplit("id: ").next().unwrap().lines().next().unwrap()
}

#[testkit::test]
async fn an_event_carries_its_push_and_the_cursor_behind_it() {
    let streaming = streaming().await;
    let mut stream = streaming.ask("/events", "").await;
    let head = read_until(&mut stream, "retry: 2000\nid: ").await;
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    streaming.channel.publish("a", r#"{"n":1}"#);
    streaming.channel.publish("b", "two\nlines");
    let events = read_until(&mut stream, "data: two\ndata: lines\n\n").await;
    assert!(events.contains("data: {\"n\":1}\n\n"), "{events}");
    let id = last_id(&events);
    assert!(id.contains("-1,") && id.ends_with("-2"), "{id}");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn last_event_id_resumes_every_topic_where_it_stood() {
    let streaming = streaming().await;
    let mut stream = streaming.ask("/events", "").await;
    read_until(&mut stream, "retry: 2000\nid: ").await;
    streaming.channel.publish("a", "1");
    let id = last_id(&read_until(&mut stream, "data: 1\n\n").await).to_owned();
    drop(stream);
    for (topic, text) in [("b", "2"), ("a", "3"), ("a", "4")] {
        streaming.channel.publish(topic, text);
    }
    let mut stream = streaming.ask("/events", &format!("last-event-id: {id}\r\n")).await;
    let events = read_until(&mut stream, "data: 4\n\n").await;
    assert!(!events.contains("data: 1\n") && !events.contains("event: gap"), "{events}");
    assert!(events.contains("data: 2\n") && events.contains("data: 3\n"), "{events}");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn an_id_that_history_does_not_reach_is_a_gap_and_nonsense_is_refused() {
    let streaming = streaming().await;
    let mut stream = streaming.ask("/events", "").await;
    read_until(&mut stream, "retry: 2000\nid: ").await;
    streaming.channel.publish("a", "0");
    let id = last_id(&read_until(&mut stream, "data: 0\n\n").await).to_owned();
    drop(stream);
    for number in 0..=HISTORY {
        streaming.channel.publish("a", format!("old {number}"));
    }
    let mut stream = streaming.ask("/events", &format!("last-event-id: {id}\r\n")).await;
    read_until(&mut stream, "event: gap\ndata: {}\n\n").await;
    streaming.channel.publish("a", "new");
    let rest = read_until(&mut stream, "data: new\n\n").await;
    assert!(!rest.contains("data: old"), "{rest}");
    for (id, detail) in [
        ("7", "`7` is not a position such as `5f3a-17`"),
        ("7-1", "the cursor has 1 positions for 2 topics"),
    ] {
        let headers = format!("last-event-id: {id}\r\n");
        let answer = streaming.site.get_with("/events", &headers).await;
        assert!(answer.status == 400 && answer.text().contains(detail), "{answer:?}");
    }
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn behind_a_gap_a_stream_that_greets_greets_again_and_goes_on() {
    let options = StreamOptions { queue_pushes_max: 16, ..StreamOptions::default() };
    let streaming = StreamSite::start(options).await;
    let mut stream = streaming.ask("/greeted", "").await;
    read_until(&mut stream, "data: hello a\n\n").await;
    // The reader has no turn before the last of them, and they are more than history holds for one
    // that had no turn.
    for number in 0..70_000 {
        streaming.channel.publish("a", format!("old {number}"));
    }
    let text = read_until(&mut stream, "data: hello a\n\n").await;
    let behind = text.split("event: gap\n").nth(1).unwrap();
    assert!(!behind.contains("data: old"), "{behind}");
    streaming.channel.publish("a", "new");
    let rest = read_until(&mut stream, "data: new\n\n").await;
    assert!(!rest.contains("old") && !rest.contains("gap"), "{rest}");
    let id = last_id(&rest).to_owned();
    drop(stream);
    streaming.channel.publish("a", "newer");
    let mut stream = streaming.ask("/greeted", &format!("last-event-id: {id}\r\n")).await;
    let resumed = read_until(&mut stream, "data: newer\n\n").await;
    assert!(!resumed.contains("hello") && !resumed.contains("data: new\n"), "{resumed}");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_quiet_stream_shows_that_it_lives_and_a_drain_says_where_to_resume() {
    let streaming = StreamSite::start(StreamOptions::default()).await;
    let mut stream = streaming.ask("/events", "").await;
    read_until(&mut stream, "retry: 2000\nid: ").await;
    for _ in 0..3 {
        streaming.site.time.advance(Duration::from_secs(25)).await;
        read_until(&mut stream, ":\n\n").await;
    }
    streaming.channel.publish("a", "last");
    read_until(&mut stream, "data: last\n\n").await;
    let (drained, end) = tokio::join!(streaming.site.server.drain(), async {
        streaming.site.time.advance(Duration::from_secs(5)).await;
        let mut end = String::new();
        stream.read_to_string(&mut end).await.unwrap();
        end
    });
    drained.unwrap();
    assert!(end.contains("event: leave\nid: ") && end.contains(r#"{"resumeFrom":""#), "{end}");
    assert!(last_id(&end).contains("-1,"), "{end}");
}

#[testkit::test]
async fn a_room_that_numbers_its_pushes_gives_the_ids() {
    let streaming = StreamSite::start(StreamOptions::default()).await;
    let mut stream = streaming.ask("/numbered", "").await;
    let log = "retry: 2000\n\nid: 6\ndata: from\ndata: the log\n\n";
    read_until(&mut stream, log).await;
    streaming.channel.publish("n", "9 {\"a\": 1}");
    let event = read_until(&mut stream, "{\"a\": 1}\n\n").await;
    assert!(event.contains("id: 9\ndata: {\"a\": 1}\n\n"), "{event}");
    let (drained, end) = tokio::join!(streaming.site.server.drain(), async {
        streaming.site.time.advance(Duration::from_secs(5)).await;
        let mut end = String::new();
        stream.read_to_string(&mut end).await.unwrap();
        end
    });
    drained.unwrap();
    let leave = "event: leave\nid: 9\ndata: {\"resumeFrom\":\"9\"}\n\n";
    assert!(end.contains(leave), "{end}");
}

#[testkit::test]
async fn a_reader_that_goes_leaves_its_topics() {
    let streaming = streaming().await;
    let mut stream = streaming.ask("/events", "").await;
    read_until(&mut stream, "retry: 2000\nid: ").await;
    assert_eq!(streaming.channel.audience("a"), 1);
    drop(stream);
    wait::until_async("the reader to be gone", async || {
        // The server finds out when it writes.
        streaming.channel.publish("a", "anyone?");
        let left = streaming.channel.audience("a");
        wait::holds(left == 0, left)
    })
    .await;
    streaming.site.still_serves().await;
}

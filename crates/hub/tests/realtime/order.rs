//! All readers see a topic in one order, whichever publisher sent a push.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Clock, Tasks};
use hub::{ChannelSpec, Envelope, Follow, History, Hub, Item, Position, Since, Text, View};
use testkit::{depth, seed, wait};

use super::{Fixture, OpenChannel, ROOMY, Reader};

#[testkit::test(4)]
async fn concurrent_publishers_give_every_reader_the_same_order() {
    const PUBLISHERS: usize = 8;
    let each = depth::pick(100, 500);
    let tasks = Tasks::new();
    let hub = Hub::in_process(&Clock::real(), &seed::random(), &tasks);
    // One audience small enough for the publisher, and one large enough for a task.
    for (name, readers) in [("small", 20), ("large", 300)] {
        let channel = OpenChannel::new(&hub, ChannelSpec::new(name, History::NONE));
        let mut all: Vec<Reader> =
            (0..readers).map(|_| Reader::new(&channel, "t", Follow::default(), ROOMY)).collect();
        let start = Arc::new(tokio::sync::Barrier::new(PUBLISHERS));
        for publisher in 0..PUBLISHERS {
            let (channel, start) = (channel.clone(), start.clone());
            tasks.spawn("publisher", async move {
                start.wait().await;
                for number in 0..each {
                    channel.publish("t", format!("{publisher} {number}"));
                    tokio::task::yield_now().await;
                }
            });
        }
        let mut first: Option<Vec<(u64, String)>> = None;
        for reader in &mut all {
            let mut seen = Vec::new();
            while seen.len() < PUBLISHERS * each {
                let taken = reader.deliveries.take(10_000);
                for item in wait::bounded("the next pushes", taken).await.unwrap() {
                    let Item::Push { position, text, .. } = item else { panic!("{item:?}") };
                    seen.push((position.offset, text.as_str().to_owned()));
                }
            }
            assert!(seen.is_sorted_by_key(|(offset, _)| *offset));
            assert_eq!(first.get_or_insert_with(|| seen.clone()), &seen);
        }
        // The pushes of each publisher are in the order in which it published them.
        let mut last: BTreeMap<String, usize> = BTreeMap::new();
        for (_, text) in first.unwrap() {
            let (publisher, number) = text.split_once(' ').unwrap();
            let next = last.entry(publisher.to_owned()).or_default();
            assert_eq!(number.parse::<usize>().unwrap(), *next);
            *next += 1;
        }
    }
    assert_eq!(tasks.panicked(), Vec::<String>::new());
}

#[testkit::test]
async fn one_subscriber_follows_many_topics_on_one_queue() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    let mut reader = Reader::new(&channel, "a", Follow::default(), ROOMY);
    let b = reader.subscriber.follow(&channel, "b", Follow::default(), |_| None).unwrap();
    for (topic, text) in [("a", "1"), ("b", "2"), ("c", "3"), ("a", "4")] {
        channel.publish(topic, text);
    }
    reader.subscriber.send("5").unwrap();
    assert_eq!(reader.read_texts().await, ["1", "2", "4", "5"]);
    channel.publish("b", "6");
    reader.subscriber.leave(b.subscription);
    channel.publish("b", "7");
    channel.publish("a", "8");
    assert_eq!(reader.read_texts().await, ["8"], "no push of a topic that was left is read");
}

#[testkit::test]
async fn a_greeting_comes_before_history_and_the_first_push() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(10);
    channel.publish("t", "0");
    let (subscriber, deliveries) = fixture.hub.subscriber(ROOMY);
    let follow = super::since(Since::Oldest);
    let joined = subscriber
        .follow(&channel, "t", follow, |joined| {
            Some(Text::from(format!("at {}", joined.position.offset)))
        })
        .unwrap();
    channel.publish("t", "1");
    let mut reader = Reader { subscriber, subscription: joined.subscription, deliveries };
    assert_eq!(reader.read_texts().await, ["at 1", "0", "1"]);
}

#[testkit::test]
async fn an_envelope_is_around_each_push_and_the_push_is_shared() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    let envelope = |id: u32| Envelope {
        prefix: Text::from(format!(r#"{{"id":"{id}","payload":"#)),
        suffix: Text::from("}"),
        stamp: None,
    };
    let follow = |id| Follow { envelope: Some(envelope(id)), ..Follow::default() };
    let mut one = Reader::new(&channel, "t", follow(1), ROOMY);
    let mut two = Reader::new(&channel, "t", follow(2), ROOMY);
    channel.publish("t", "7".to_owned());
    let (one, two) = (one.read().await, two.read().await);
    assert_eq!(super::texts(&one), [r#"{"id":"1","payload":7}"#]);
    assert_eq!(super::texts(&two), [r#"{"id":"2","payload":7}"#]);
    let shared = |items: &[Item]| match &items[0] {
        Item::Push { text, .. } => text.as_bytes().as_ptr(),
        other @ (Item::Gap(_) | Item::Reply(_)) => panic!("{other:?}"),
    };
    assert_eq!(shared(&one), shared(&two), "one text for both");
}

#[testkit::test]
async fn a_stamp_says_where_to_resume_after_each_push() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(10);
    let stamp = Some(Text::from(",\"cursor\":\""));
    let envelope = Envelope { prefix: "[".into(), suffix: "\"]".into(), stamp };
    let follow = Follow { envelope: Some(envelope), ..Follow::default() };
    let mut reader = Reader::new(&channel, "t", follow, ROOMY);
    channel.publish("t", "1".to_owned());
    let read = reader.read_texts().await;
    let first = channel.find("t", |text| text.as_str() == "1").unwrap();
    assert_eq!(read, [format!("[1,\"cursor\":\"{first}\"]")]);
    channel.publish("t", "2".to_owned());
    let mut resumed = Reader::new(&channel, "t", super::since(Since::After(first)), ROOMY);
    assert_eq!(resumed.read_texts().await, ["2"]);
    assert_eq!(channel.find("t", |text| text.as_str() == "3"), None);
    assert_eq!(channel.find("u", |_| true), None);
}

#[testkit::test]
async fn the_push_at_a_position_is_found_while_history_has_it() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(2);
    let at = |text: &str| {
        channel.publish("t", text.to_owned());
        channel.find("t", |push| push.as_str() == text).unwrap()
    };
    let (one, two) = (at("1"), at("2"));
    channel.publish("other", "between");
    let text = |position| channel.push_at("t", position).map(|text| text.as_str().to_owned());
    assert_eq!((text(one), text(two)), (Some("1".to_owned()), Some("2".to_owned())));
    let later = Position { offset: two.offset + 1, ..two };
    assert_eq!(text(later), Some("2".to_owned()), "offsets of other topics lie between");
    at("3");
    assert_eq!(text(one), None);
    assert_eq!(text(Position { epoch: two.epoch ^ 1, ..two }), None);
}

#[testkit::test]
async fn a_push_is_rendered_once_for_each_view_and_skipped_for_views_without_it() {
    let fixture = Fixture::new().await;
    let made = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let count = made.clone();
    let spec = ChannelSpec::new("views", History::NONE).rendered(move |text, view| {
        count.lock().push(view.0);
        (view.0 != 0).then(|| Text::from(format!("{}@{}", text.as_str(), view.0)))
    });
    let channel = fixture.open(spec);
    let follow = |view| Follow { view: View(view), ..Follow::default() };
    let mut readers: Vec<Reader> =
        [1, 2, 0, 1, 2, 0].map(|view| Reader::new(&channel, "t", follow(view), ROOMY)).into();
    channel.publish("t", "x");
    channel.publish("t", "y");
    let mut seen = Vec::new();
    for reader in &mut readers {
        seen.push(reader.read_texts().await.join(" "));
    }
    assert_eq!(seen, ["x@1 y@1", "x@2 y@2", "", "x@1 y@1", "x@2 y@2", ""]);
    assert_eq!(*made.lock(), [1, 2, 0, 1, 2, 0], "one rendering for each push and view");
}

#[testkit::test]
async fn a_renderer_that_panics_does_not_silence_its_topic() {
    let fixture = Fixture::new().await;
    let spec = ChannelSpec::new("clumsy", History::NONE).rendered(|text, _| {
        assert_ne!(text.as_str(), "bad", "on purpose");
        Some(text.clone())
    });
    let channel = fixture.open(spec);
    let mut reader = Reader::new(&channel, "t", Follow::default(), ROOMY);
    let clumsy = std::panic::AssertUnwindSafe(|| channel.publish("t", "bad"));
    assert!(std::panic::catch_unwind(clumsy).is_err());
    channel.publish("t", "lost without history");
    assert_eq!(reader.read_texts().await, ["gap of 2"]);
    channel.publish("t", "good");
    assert_eq!(reader.read_texts().await, ["good"]);
}

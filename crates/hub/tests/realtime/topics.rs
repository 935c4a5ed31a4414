//! Topics come and go and leave nothing in memory.

use std::time::Duration;

use hub::limits::{SUBSCRIPTIONS_MAX, TOPIC_BYTES_MAX};
use hub::{ChannelSpec, Error, Follow, History, Since};

use super::{Fixture, MINUTE, ROOMY, Reader, since};

#[testkit::test]
async fn a_topic_without_followers_and_history_is_gone() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    for number in 0..1_000 {
        channel.publish(&number.to_string(), "unheard");
    }
    assert_eq!(channel.topics(), 0, "no subscriber, no history");
    let readers: Vec<Reader> = (0..1_000)
        .map(|number| Reader::new(&channel, &number.to_string(), Follow::default(), ROOMY))
        .collect();
    assert_eq!((channel.topics(), channel.audience("7")), (1_000, 1));
    let (gone, left) = readers.split_at(500);
    for reader in gone {
        reader.subscriber.leave(reader.subscription);
    }
    assert_eq!((channel.topics(), channel.audience("7")), (500, 0));
    assert_eq!(left.len(), 500);
    drop(readers);
    assert_eq!(channel.topics(), 0);
}

#[testkit::test]
async fn history_is_removed_at_its_age() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(10);
    for number in 0..1_000 {
        channel.publish(&number.to_string(), "kept");
    }
    let reader = Reader::new(&channel, "7", Follow::default(), ROOMY);
    assert_eq!(channel.topics(), 1_000);
    fixture.time.advance(MINUTE + Duration::from_secs(10)).await;
    assert_eq!(channel.topics(), 1, "only the followed one is left");
    drop(reader);
    assert_eq!(channel.topics(), 0);
}

#[testkit::test]
async fn a_topic_that_was_removed_reports_earlier_pushes_as_a_gap() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(10);
    let reader = Reader::new(&channel, "t", Follow::default(), ROOMY);
    let before = reader.position();
    channel.publish("t", "lost");
    drop(reader);
    fixture.time.advance(2 * MINUTE).await;
    assert_eq!(channel.topics(), 0);
    let (subscriber, _deliveries) = fixture.hub.subscriber(ROOMY);
    let follow = |position| {
        subscriber.follow(&channel, "t", since(Since::After(position)), |_| None).unwrap()
    };
    let joined = follow(before);
    assert!(joined.gap, "a push was lost, so there must be a gap");
    assert!(!follow(joined.position).gap);
}

#[testkit::test]
async fn a_subscriber_has_limits_on_its_topics_and_their_names() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    let (subscriber, deliveries) = fixture.hub.subscriber(ROOMY);
    let follow = |topic: &str| subscriber.follow(&channel, topic, Follow::default(), |_| None);
    for number in 0..SUBSCRIPTIONS_MAX {
        follow(&number.to_string()).unwrap();
    }
    let refused = follow("one more").unwrap_err();
    assert_eq!(refused.to_string(), "a subscriber follows at most 128 topics");
    let long = "x".repeat(TOPIC_BYTES_MAX + 1);
    let refused = follow(&long).unwrap_err();
    assert_eq!(refused.to_string(), "the topic's name has 1025 bytes, at most 1024 allowed");
    drop(deliveries);
    assert_eq!(follow("late").unwrap_err(), Error::Closed);
    fixture.time.advance(MINUTE).await;
    assert_eq!(channel.topics(), 0);
}

#[testkit::test]
async fn a_followed_only_channel_stores_pushes_for_subscribers_only_and_reports_the_others_as_a_gap()
 {
    let fixture = Fixture::new().await;
    let history = History { pushes: 10, bytes: 1_000_000, age: MINUTE };
    let channel = fixture.open(ChannelSpec::new("followed", history).followed_only());
    channel.publish("t", "unheard");
    assert_eq!(channel.topics(), 0);
    let reader = Reader::new(&channel, "t", Follow::default(), ROOMY);
    let before = reader.position();
    channel.publish("t", "kept");
    drop(reader);
    let (subscriber, _deliveries) = fixture.hub.subscriber(ROOMY);
    let follow = |position| {
        subscriber.follow(&channel, "t", since(Since::After(position)), |_| None).unwrap()
    };
    let joined = follow(before);
    assert!(!joined.gap, "a reader that was away for a moment finds the push");
    subscriber.leave(joined.subscription);
    fixture.time.advance(2 * MINUTE).await;
    channel.publish("t", "unheard");
    assert_eq!(channel.topics(), 0);
    assert!(follow(joined.position).gap, "a push was not stored, so there must be a gap");
}

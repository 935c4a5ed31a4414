//! Slow readers: each policy works, and no other reader is delayed.

use hub::{Closed, Error, Follow, Item, Policy, QueueLimits, Since};

use super::{Fixture, ROOMY, Reader, numbers};

const SMALL: QueueLimits = QueueLimits { pushes: 4, bytes: 1_000 };

fn follow(policy: Policy) -> Follow {
    Follow { policy, ..Follow::default() }
}

#[testkit::test]
async fn a_slow_reader_catches_up_from_history() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(100);
    let mut slow = Reader::new(&channel, "t", follow(Policy::CatchUp), SMALL);
    numbers(0..50).into_iter().for_each(|text| channel.publish("t", text));
    assert_eq!(slow.read_texts().await, numbers(0..50));
    channel.publish("t", "50");
    assert_eq!(slow.read_texts().await, ["50"]);
}

#[testkit::test]
async fn a_slow_reader_gets_a_gap_for_pushes_that_history_has_lost() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(10);
    let mut slow = Reader::new(&channel, "t", follow(Policy::CatchUp), SMALL);
    numbers(0..50).into_iter().for_each(|text| channel.publish("t", text));
    let read = slow.read().await;
    let expected = [numbers(0..4), vec!["gap of 36".to_owned()], numbers(40..50)].concat();
    assert_eq!(super::texts(&read), expected);
    let (Item::Push { position, .. }, Item::Gap(gap)) = (&read[3], &read[4]) else {
        panic!("{read:?}")
    };
    assert_eq!(gap.after, *position, "the gap says where to resume");
    assert_eq!(gap.until.offset, 40, "and where the next push follows");
}

#[testkit::test]
async fn without_history_a_slow_reader_gets_the_pushes_that_fit_and_the_number_of_the_rest() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    let mut slow = Reader::new(&channel, "t", follow(Policy::CatchUp), SMALL);
    numbers(0..10).into_iter().for_each(|text| channel.publish("t", text));
    let expected = [numbers(0..4), vec!["gap of 6".to_owned()]].concat();
    assert_eq!(slow.read_texts().await, expected);
    channel.publish("t", "10");
    assert_eq!(slow.read_texts().await, ["10"]);
}

#[testkit::test]
async fn dropping_the_oldest_leaves_the_newest_and_counts_the_rest() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    let mut slow = Reader::new(&channel, "t", follow(Policy::DropOldest), SMALL);
    numbers(0..10).into_iter().for_each(|text| channel.publish("t", text));
    let expected = [vec!["gap of 6".to_owned()], numbers(6..10)].concat();
    assert_eq!(slow.read_texts().await, expected);
}

#[testkit::test]
async fn a_topic_drops_its_own_oldest_and_never_another_topics() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(100);
    let mut slow = Reader::new(&channel, "kept", follow(Policy::CatchUp), SMALL);
    slow.subscriber.follow(&channel, "value", follow(Policy::DropOldest), |_| None).unwrap();
    for number in 0..10 {
        channel.publish("value", format!("v{number}"));
        channel.publish("kept", number.to_string());
    }
    let read = slow.read_texts().await;
    let kept: Vec<&String> = read.iter().filter(|text| text.parse::<u32>().is_ok()).collect();
    assert_eq!(kept, numbers(0..10).iter().collect::<Vec<_>>());
    assert_eq!(read.iter().filter(|text| *text == "v9").count(), 1, "{read:?}");
}

#[testkit::test]
async fn a_reader_can_be_disconnected_instead() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(100);
    let mut slow = Reader::new(&channel, "t", follow(Policy::Disconnect), SMALL);
    let mut other = Reader::new(&channel, "t", follow(Policy::Disconnect), ROOMY);
    numbers(0..5).into_iter().for_each(|text| channel.publish("t", text));
    assert_eq!(slow.deliveries.take(1_000).await.unwrap_err(), Closed::TooSlow);
    assert_eq!(slow.subscriber.send("late"), Err(Error::Closed));
    assert_eq!(other.read_texts().await, numbers(0..5));
    // It may come back and resume from its position.
    let back = super::since(Since::After(slow.position()));
    let mut back = Reader::new(&channel, "t", back, ROOMY);
    assert_eq!(back.read_texts().await, numbers(0..5));
}

#[testkit::test]
async fn bytes_bound_a_queue_as_well_as_counts() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    let limits = QueueLimits { pushes: 100, bytes: 10 };
    let mut slow = Reader::new(&channel, "t", follow(Policy::CatchUp), limits);
    ["aaaaaa", "bbbb", "c"].into_iter().for_each(|text| channel.publish("t", text));
    assert_eq!(slow.read_texts().await, ["aaaaaa", "bbbb", "gap of 1"]);
    // An empty queue accepts a push above the limit; otherwise that push could never be delivered.
    channel.publish("t", "a push of more than ten bytes");
    assert_eq!(slow.read_texts().await, ["a push of more than ten bytes"]);
}

#[testkit::test]
async fn a_reply_is_never_dropped_and_too_many_disconnect_the_reader() {
    let fixture = Fixture::new().await;
    let (subscriber, mut deliveries) = fixture.hub.subscriber(SMALL);
    for _ in 0..4 {
        subscriber.send("reply").unwrap();
    }
    assert_eq!(subscriber.send("reply"), Err(Error::Closed));
    assert_eq!(deliveries.take(1_000).await.unwrap_err(), Closed::TooSlow);
}

#[testkit::test]
async fn waiting_items_are_still_read_after_the_room_closes_the_queue() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    let mut reader = Reader::new(&channel, "t", Follow::default(), SMALL);
    channel.publish("t", "0");
    reader.subscriber.send("bye").unwrap();
    reader.subscriber.close();
    channel.publish("t", "1");
    assert_eq!(reader.read_texts().await, ["0", "bye"]);
    assert_eq!(reader.deliveries.take(1_000).await.unwrap_err(), Closed::Asked);
}

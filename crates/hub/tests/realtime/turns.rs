//! Draining readers beside publishers that never wait: a reader that takes its turns misses
//! nothing, and a reader that does not holds no memory.

use std::task::Poll;
use std::time::Duration;

use base::Random;
use hub::limits::SLICE;
use hub::{Follow, Item, QueueLimits, Since, Waiting};

use super::{Fixture, OpenChannel, Reader, numbers, since, texts};

/// The default limits of a stream.
const QUEUE: QueueLimits = QueueLimits { pushes: 1_024, bytes: 1 << 20 };
const HISTORY: usize = 1_000;
/// The bytes that a connection takes for one write.
const WRITE_BYTES: usize = 64 * 1024;

/// One turn of a connection whose socket accepts everything: it takes the waiting items, and
/// continues while there are many.
async fn take_turn(reader: &mut Reader, into: &mut Vec<Item>) {
    std::future::poll_fn(|context| {
        while let Poll::Ready(waiting) = reader.deliveries.poll_waiting(context) {
            assert!(reader.deliveries.poll_take(context, WRITE_BYTES, into).is_ready());
            if waiting == Waiting::Some {
                break;
            }
        }
        Poll::Ready(())
    })
    .await;
}

fn publish(channel: &OpenChannel, range: std::ops::Range<usize>) {
    range.for_each(|number| channel.publish("t", number.to_string()));
}

/// Turns in a random order: one of five belongs to the reader, in the others hundreds of pushes are
/// published.
async fn assert_misses_nothing(channel: &OpenChannel, random: &Random) {
    const PUSHES: usize = 50_000;
    let mut reader = Reader::new(channel, "t", Follow::default(), QUEUE);
    let (mut published, mut read) = (0, Vec::new());
    take_turn(&mut reader, &mut read).await;
    while published < PUSHES {
        if random.below(5) == 0 {
            take_turn(&mut reader, &mut read).await;
        } else {
            let burst = random.below(600) as usize;
            publish(channel, published..published + burst);
            published += burst;
        }
    }
    read.extend(reader.read().await);
    assert_whole(&read, published);
}

/// All published pushes arrived, in order.
fn assert_whole(read: &[Item], published: usize) {
    let read = texts(read);
    let gaps: Vec<&String> = read.iter().filter(|text| text.starts_with("gap")).collect();
    assert!(gaps.is_empty(), "{gaps:?}");
    assert!(read == numbers(0..published), "{} of {published} came", read.len());
}

#[testkit::test]
async fn a_reader_that_takes_its_turns_misses_nothing_of_publishers_that_never_wait() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(HISTORY);
    assert_misses_nothing(&channel, &testkit::seed::random()).await;
}

#[testkit::test]
async fn a_large_audience_misses_nothing_of_a_publisher_that_never_waits() {
    const AUDIENCE: usize = 300;
    const PUSHES: usize = 6_000;
    const IN_A_TURN: usize = 1_000;
    let fixture = Fixture::new().await;
    let channel = fixture.channel(HISTORY);
    let mut crowd: Vec<(Reader, Vec<Item>)> = (0..AUDIENCE)
        .map(|_| (Reader::new(&channel, "t", Follow::default(), QUEUE), Vec::new()))
        .collect();
    for first in (0..PUSHES).step_by(IN_A_TURN) {
        for (reader, read) in &mut crowd {
            take_turn(reader, read).await;
        }
        publish(&channel, first..first + IN_A_TURN);
        // The turn of the task that delivers to the audience.
        tokio::task::yield_now().await;
    }
    fixture.time.settle().await;
    for (reader, read) in &mut crowd {
        read.extend(reader.read().await);
        assert_whole(read, PUSHES);
    }
}

#[testkit::test]
async fn pushes_held_for_a_reader_stay_while_the_next_pushes_are_pending() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(10);
    let limits = QueueLimits { pushes: 4, bytes: 1_000 };
    // So many readers that a task delivers to them, and it has no turn during the publishing.
    let mut crowd: Vec<Reader> =
        (0..=SLICE).map(|_| Reader::new(&channel, "t", Follow::default(), limits)).collect();
    for reader in &mut crowd {
        assert!(reader.read().await.is_empty());
    }
    publish(&channel, 0..8);
    fixture.time.settle().await;
    publish(&channel, 8..40);
    fixture.time.settle().await;
    for reader in &mut crowd {
        assert_whole(&reader.read().await, 40);
    }
}

#[testkit::test]
async fn a_reader_that_has_stopped_gets_a_gap_and_holds_no_history() {
    const KEPT: usize = 10;
    let fixture = Fixture::new().await;
    let channel = fixture.channel(KEPT);
    let limits = QueueLimits { pushes: 4, bytes: 1_000 };
    let mut reader = Reader::new(&channel, "t", Follow::default(), limits);
    assert!(reader.read().await.is_empty());
    // It has just looked, so history waits for it, but not for long.
    publish(&channel, 0..100);
    fixture.time.advance(Duration::from_millis(1_500)).await;
    publish(&channel, 100..200);
    let mut newcomer = Reader::new(&channel, "t", since(Since::Oldest), super::ROOMY);
    assert_eq!(newcomer.read_texts().await, numbers(190..200));
    let expected = [numbers(0..4), vec!["gap of 186".to_owned()], numbers(190..200)].concat();
    assert_eq!(reader.read_texts().await, expected);
}

#[testkit::test]
async fn pushes_held_for_a_reader_are_removed_when_the_topic_is_quiet() {
    const KEPT: usize = 10;
    let fixture = Fixture::new().await;
    let channel = fixture.channel(KEPT);
    let limits = QueueLimits { pushes: 4, bytes: 1_000 };
    let mut reader = Reader::new(&channel, "t", Follow::default(), limits);
    assert!(reader.read().await.is_empty());
    publish(&channel, 0..100);
    let held = Reader::new(&channel, "t", since(Since::Oldest), super::ROOMY).read_texts().await;
    assert_eq!(held, numbers(4..100));
    fixture.time.advance(Duration::from_secs(6)).await;
    let held = Reader::new(&channel, "t", since(Since::Oldest), super::ROOMY).read_texts().await;
    assert_eq!(held, numbers(90..100));
}

//! A large audience is served in slices, and delays nobody.

use std::sync::Arc;
use std::time::Duration;

use hub::Follow;
use hub::limits::{PENDING_MAX, SLICE};
use testkit::wait;

use super::{Fixture, ROOMY, Reader};

#[testkit::test]
async fn a_small_group_is_not_delayed_by_an_audience_of_ten_thousand() {
    const AUDIENCE: usize = 10_000;
    let fixture = Fixture::new().await;
    let channel = fixture.channel(0);
    let mut crowd: Vec<Reader> =
        (0..AUDIENCE).map(|_| Reader::new(&channel, "hall", Follow::default(), ROOMY)).collect();
    let mut group = Reader::new(&channel, "group", Follow::default(), ROOMY);
    let turns = Arc::new(parking_lot::Mutex::new(0));
    channel.publish("hall", "to all");
    assert!(crowd[0].read().await.is_empty(), "a task delivers to the hall, not its publisher");
    // A task beside the delivery run gets a turn after each slice, and its group gets its push.
    let (task_turns, task_channel) = (turns.clone(), channel.clone());
    fixture.tasks.spawn("group", async move {
        for _ in 0..1_000 {
            *task_turns.lock() += 1;
            task_channel.publish("group", "to few");
            tokio::task::yield_now().await;
        }
    });
    wait::until_async("the last reader of the hall", async || {
        wait::holds(!crowd[AUDIENCE - 1].read().await.is_empty(), *turns.lock())
    })
    .await;
    let turns = *turns.lock();
    assert!(turns >= AUDIENCE / SLICE / 2, "only {turns} turns while the hall was served");
    assert_eq!(group.read().await.len(), turns, "the group got its pushes at once");
    for reader in &mut crowd[..AUDIENCE - 1] {
        assert_eq!(reader.read_texts().await, ["to all"]);
    }
}

#[testkit::test]
async fn a_burst_beyond_the_pending_limit_is_caught_up_from_history() {
    const BURST: usize = PENDING_MAX + 100;
    let fixture = Fixture::new().await;
    let channel = fixture.channel(2 * BURST);
    let mut crowd: Vec<Reader> =
        (0..SLICE + 1).map(|_| Reader::new(&channel, "hall", Follow::default(), ROOMY)).collect();
    for number in 0..BURST {
        channel.publish("hall", number.to_string());
    }
    fixture.time.settle().await;
    for reader in &mut crowd {
        assert_eq!(reader.read_texts().await, super::numbers(0..BURST));
    }
}

#[testkit::test]
async fn members_may_come_and_go_while_they_are_served() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(10);
    let mut crowd: Vec<Reader> =
        (0..3 * SLICE).map(|_| Reader::new(&channel, "hall", Follow::default(), ROOMY)).collect();
    channel.publish("hall", "0");
    tokio::task::yield_now().await;
    let mut late = Reader::new(&channel, "hall", Follow::default(), ROOMY);
    let early = crowd.remove(2 * SLICE);
    drop(early);
    channel.publish("hall", "1");
    fixture.time.advance(Duration::from_secs(1)).await;
    assert_eq!(late.read_texts().await, ["1"]);
    for reader in &mut crowd {
        assert_eq!(reader.read_texts().await, ["0", "1"]);
    }
    assert_eq!(channel.audience("hall"), 3 * SLICE);
}

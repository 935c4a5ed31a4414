//! Several instances on one store.

use std::sync::Arc;

use base::Tasks;
use edge::{Ground, StreamOptions};

use super::boards::read_until;
use super::broker::Broker;
use super::{House, START, options, pairs, snake, store};
use crate::Options;

/// One more ground on the same store.
pub(super) fn beside(house: &House) -> (Ground, Tasks) {
    let tasks = Tasks::new();
    let Ground { tables, clock, random, .. } = house.ground.clone();
    let (tables, random) = (store::beside(&tables), random.fork("beside"));
    (Ground::new(tables, &StreamOptions::default(), &clock, &random, &tasks), tasks)
}

#[tokio::test]
async fn what_one_instance_writes_the_other_ranks_at_once_if_the_word_is_carried() {
    let broker = Arc::new(Broker::default());
    let (below, time, _tasks) = House::ground(START, 7).await;
    let open = async |seed: u64| {
        let ground = broker.ground(store::beside(&below.tables), &below.clock, seed);
        let tasks = ground.tasks.clone();
        House::open_on(options(), ground, time.clone(), tasks).await
    };
    let one = open(8).await;
    one.set_game(&snake(5)).await;
    let other = open(9).await;
    one.score("a", 10).await;
    other.time.settle().await;
    assert_eq!(other.ranking("ALL").await, pairs(&[("a", 10)]));
    other.score("b", 20).await;
    one.time.settle().await;
    assert_eq!(one.ranking("ALL").await, pairs(&[("b", 20), ("a", 10)]));
    one.operate("DELETE", "/scores/snake/ALL/b?reason=x", &serde_json::Value::Null).await;
    other.time.settle().await;
    assert_eq!(other.ranking("ALL").await, pairs(&[("a", 10)]));
    one.set_game(&snake(1)).await;
    other.time.settle().await;
    assert_eq!(other.score("c", 5).await["reason"], "below-threshold", "and its games");
}

#[tokio::test]
async fn without_a_word_the_table_decides_and_boards_follow() {
    let one = House::alone_with_snake(5).await;
    let (ground, tasks) = beside(&one);
    let other = House::open_on(options(), ground, one.time.clone(), tasks).await;
    assert_eq!(other.ranking("ALL").await, []);
    one.score("a", 10).await;
    let worse = other.score("a", 9).await;
    assert_eq!((&worse["updated"], &worse["score"]), (&false.into(), &10.into()), "never a loss");
    let better = other.score("a", 11).await;
    assert_eq!(better["updated"], true);
    one.score("b", 5).await;
    other.pass(601).await;
    other.ranking("ALL").await;
    other.time.settle().await;
    assert_eq!(other.ranking("ALL").await, pairs(&[("a", 11), ("b", 5)]));
}

#[tokio::test]
async fn without_a_word_a_ranking_is_no_older_than_its_board_may_be() {
    let one = House::alone_with_snake(5).await;
    let (ground, tasks) = beside(&one);
    let options = Options { board_refresh_seconds: 60, ..options() };
    let other = House::open_on(options, ground, one.time.clone(), tasks).await;
    assert_eq!(other.ranking("ALL").await, []);
    let mut watched = other.send("GET", "/score/ranking/snake/ALL/stream", &[], "").await;
    read_until(&mut watched, "\"type\":\"board\"").await;
    one.score("a", 10).await;
    other.pass(30).await;
    assert_eq!(other.ranking("ALL").await, [], "not yet");
    other.pass(60).await;
    let told = read_until(&mut watched, "\"userId\":\"a\"").await;
    assert!(told.contains("\"type\":\"board\""), "who watches is told: {told}");
    assert_eq!(other.ranking("ALL").await, pairs(&[("a", 10)]));
}

#[tokio::test]
async fn a_token_of_one_instance_is_good_at_the_other() {
    let one = House::alone_with_snake(5).await;
    let (ground, tasks) = beside(&one);
    let other = House::open_on(options(), ground, one.time.clone(), tasks).await;
    let play = one.play(1000).await;
    assert_eq!(other.submit(&play, "a", 5, 900).await.status, 200);
    assert_eq!(one.submit(&play, "a", 6, 900).await.refusal().1, "session_spent");
}

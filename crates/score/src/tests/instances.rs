//! Several instances on one store.

use std::sync::Arc;

use testkit::{Broker, World};

use super::{Arcade, options, pairs, snake};
use crate::Options;

#[testkit::test]
async fn what_one_instance_writes_the_other_ranks_at_once_if_the_word_is_carried() {
    let (world, broker) = (World::new().await, Arc::new(Broker::default()));
    let open = async || {
        let instance = world.instance_with(&broker).await;
        Arcade::on(&world, vec![instance], options()).await
    };
    let one = open().await;
    one.set_game(&snake(5)).await;
    let other = open().await;
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

#[testkit::test]
async fn without_a_word_the_table_decides_and_boards_follow() {
    let one = Arcade::alone_with_snake(5).await;
    let other = one.beside(options()).await;
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

#[testkit::test]
async fn without_a_word_a_ranking_is_no_older_than_its_board_may_be() {
    let one = Arcade::alone_with_snake(5).await;
    let other = one.beside(Options { board_refresh_seconds: 60, ..options() }).await;
    assert_eq!(other.ranking("ALL").await, []);
    let mut watched = other.send("GET", "/score/ranking/snake/ALL/stream", &[]).await;
    watched.read_until("\"type\":\"board\"").await;
    one.score("a", 10).await;
    other.pass(30).await;
    assert_eq!(other.ranking("ALL").await, [], "not yet");
    other.pass(60).await;
    let told = watched.read_until("\"userId\":\"a\"").await;
    assert!(told.contains("\"type\":\"board\""), "who watches is told: {told}");
    assert_eq!(other.ranking("ALL").await, pairs(&[("a", 10)]));
}

#[testkit::test]
async fn a_token_of_one_instance_is_good_at_the_other() {
    let one = Arcade::alone_with_snake(5).await;
    let other = one.beside(options()).await;
    let play = one.play(1000).await;
    assert_eq!(other.submit(&play, "a", 5, 900).await.status, 200);
    assert_eq!(one.submit(&play, "a", 6, 900).await.refusal().1, "session_spent");
}

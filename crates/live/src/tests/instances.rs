//! Two instances with a carrier between them.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use testkit::{Broker, World};

use super::sockets::joined;
use super::{Client, Talk};
use crate::Options;

/// Two instances that hear each other, each in a talk of its own, and the broker between them.
pub(super) async fn two() -> (Talk, Talk, Arc<Broker>) {
    let (world, broker) = (World::new().await, Arc::new(Broker::default()));
    let open = async || {
        let instance = world.instance_with(&broker).await;
        Talk::on(world.clone(), vec![instance], Options::default()).await
    };
    (open().await, open().await, broker)
}

fn viewers_told(client: &mut Client) -> Vec<Json> {
    let told = client.waiting().into_iter();
    told.filter(|told| told["type"] == "viewers").map(|told| told["viewers"].clone()).collect()
}

#[testkit::test]
async fn viewers_and_comments_are_those_of_all_instances() {
    let (one, other, _) = two().await;
    let room = one.create().await;
    let (mut here, _) = one.join(joined(&room, &json!({ "v": 1 }))).await;
    one.pass_ms(500).await;
    assert_eq!(viewers_told(&mut here), [json!(1)]);
    let (mut there, told) = other.join(joined(&room, &json!({ "v": 1 }))).await;
    assert_eq!(told[0]["viewers"], 2, "who joins is told of all");
    one.pass_ms(500).await;
    assert_eq!(
        (viewers_told(&mut here), viewers_told(&mut there)),
        (vec![json!(2)], vec![json!(2)])
    );
    let shown = async |talk: &Talk| {
        talk.get(&format!("/live/rooms/{room}")).await.is(200)["viewers"].clone()
    };
    assert_eq!((shown(&one).await, shown(&other).await), (json!(2), json!(2)));
    other.say(&room, "hello").await;
    let told = super::flat(here.waiting());
    assert_eq!(told[0]["comment"]["content"], "hello");
    // Nothing changes, and nothing is told again.
    one.pass_ms(20_000).await;
    assert_eq!((viewers_told(&mut here), shown(&one).await), (vec![], json!(2)));
    drop(there);
    one.pass_ms(1_000).await;
    assert_eq!((viewers_told(&mut here), shown(&one).await), (vec![json!(1)], json!(1)));
}

#[testkit::test]
async fn an_instance_that_falls_silent_has_no_viewers() {
    let (one, other, broker) = two().await;
    let room = one.create().await;
    let (mut here, _) = one.join(joined(&room, &json!({ "v": 1 }))).await;
    let (_there, _) = other.join(joined(&room, &json!({ "v": 1 }))).await;
    one.pass_ms(1_000).await;
    assert_eq!(viewers_told(&mut here).last(), Some(&json!(2)));
    // As after a crash: it says nothing any more.
    broker.keep(1);
    other.turns.next().ground.tasks.shutdown().begin();
    one.pass_ms(17_000).await;
    assert_eq!(viewers_told(&mut here), [json!(1)]);
}

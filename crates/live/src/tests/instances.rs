//! Two instances with a carrier between them.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::broker::Broker;
use super::sockets::joined;
use super::{Client, House, store};
use crate::Options;

/// One more instance on the store of `house`.
async fn beside(broker: &Arc<Broker>, house: &House, seed: u64) -> House {
    let tables = store::beside(&house.tables);
    let ground = broker.ground(tables, &house.ground.clock, seed);
    House::on_ground(Options::default(), ground, house.time.clone()).await
}

fn viewers_told(client: &mut Client) -> Vec<Json> {
    let told = client.waiting().into_iter();
    told.filter(|told| told["type"] == "viewers").map(|told| told["viewers"].clone()).collect()
}

#[tokio::test]
async fn viewers_and_comments_are_those_of_all_instances() {
    let (store, broker) = (House::open().await, Arc::new(Broker::default()));
    let one = beside(&broker, &store, 11).await;
    let other = beside(&broker, &store, 12).await;
    let room = one.create().await;
    let (mut here, _) = one.join(joined(&room, &json!({ "v": 1 }))).await;
    one.pass(500).await;
    assert_eq!(viewers_told(&mut here), [json!(1)]);
    let (mut there, told) = other.join(joined(&room, &json!({ "v": 1 }))).await;
    assert_eq!(told[0]["viewers"], 2, "who joins is told of all");
    one.pass(500).await;
    assert_eq!(
        (viewers_told(&mut here), viewers_told(&mut there)),
        (vec![json!(2)], vec![json!(2)])
    );
    let shown = async |house: &House| {
        house.get(&format!("/live/rooms/{room}")).await.is(200)["viewers"].clone()
    };
    assert_eq!((shown(&one).await, shown(&other).await), (json!(2), json!(2)));
    other.say(&room, "hello").await;
    let told = super::flat(here.waiting());
    assert_eq!(told[0]["comment"]["content"], "hello");
    // Nothing changes, and nothing is told again.
    one.pass(20_000).await;
    assert_eq!((viewers_told(&mut here), shown(&one).await), (vec![], json!(2)));
    drop(there);
    one.pass(1_000).await;
    assert_eq!((viewers_told(&mut here), shown(&one).await), (vec![json!(1)], json!(1)));
}

#[tokio::test]
async fn an_instance_that_falls_silent_has_no_viewers() {
    let (store, broker) = (House::open().await, Arc::new(Broker::default()));
    let one = beside(&broker, &store, 11).await;
    let other = beside(&broker, &store, 12).await;
    let room = one.create().await;
    let (mut here, _) = one.join(joined(&room, &json!({ "v": 1 }))).await;
    let (_there, _) = other.join(joined(&room, &json!({ "v": 1 }))).await;
    one.pass(1_000).await;
    assert_eq!(viewers_told(&mut here).last(), Some(&json!(2)));
    // As after a crash: it says nothing any more.
    broker.hubs.lock().1.truncate(1);
    other.ground.tasks.shutdown().begin();
    one.pass(17_000).await;
    assert_eq!(viewers_told(&mut here), [json!(1)]);
}

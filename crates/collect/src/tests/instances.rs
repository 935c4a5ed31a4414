//! Two instances on one store.

use serde_json::json;

use super::{World, all};

#[tokio::test]
async fn two_instances_ask_once_for_each_slot() {
    let (world, house) = World::with_house().await;
    let other = world.open(world.options()).await;
    world.pass(&[&house, &other], 30 + 120 + 10).await;
    let mut windows = world.upstream.windows();
    let asked = windows.len();
    windows.sort();
    windows.dedup();
    assert_eq!((asked, windows.len()), (24 + 1, 24 + 1));
    for house in [&house, &other] {
        assert_eq!(house.ledger("default", 2).await, all("ok", 0, 120));
    }
}

#[tokio::test]
async fn a_source_that_one_instance_gets_is_known_to_the_other() {
    let (world, house) = World::with_house().await;
    let other = world.open(world.options()).await;
    assert_eq!(house.add(&world, "tokyo", &json!({})).await.status, 201);
    world.pass(&[&house, &other], 6).await;
    let known = other.operate("GET", "/sources/tokyo", &json!(null)).await;
    assert_eq!(known.status, 200, "{known:?}");
    assert_eq!(other.operate("POST", "/sources/tokyo/pause", &json!(null)).await.status, 200);
    world.pass(&[&house, &other], 6).await;
    let paused = house.operate("GET", "/sources/tokyo", &json!(null)).await.json();
    assert_eq!(paused["paused"], true);
}

#[tokio::test]
async fn when_one_instance_goes_the_other_goes_on() {
    let (world, house) = World::with_house().await;
    let other = world.open(world.options()).await;
    world.pass(&[&house, &other], 30 + 30).await;
    world.close(house).await;
    world.pass(&[&other], 120).await;
    let ledger = other.ledger("default", 2).await;
    assert_eq!(ledger.len(), 24);
    assert!(ledger.iter().all(|(_, state)| state == "ok" || state == "late"), "{ledger:?}");
}

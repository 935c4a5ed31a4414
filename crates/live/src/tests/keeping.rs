//! What is kept, and for how long.

use serde_json::json;

use super::{HOST, House};
use crate::Options;
use crate::items::Layout;

const DAY: u64 = 24 * 60 * 60 * 1_000;

#[tokio::test]
async fn a_room_past_its_retention_goes_with_everything_in_it() {
    let house = House::open_with(Options { retention_days: 2, ..Options::default() }).await;
    let (quiet, busy) = (house.create().await, house.create().await);
    house.say(&quiet, "once").await;
    house.pass_long(DAY).await;
    house.say(&busy, "yesterday").await;
    house.pass_long(DAY - 1).await;
    house.get(&format!("/live/rooms/{quiet}")).await.is(200);
    house.pass_long(3_600_001).await;
    while house.get(&format!("/live/rooms/{quiet}")).await.status != 404 {
        house.pass(1_000).await;
    }
    house.get(&format!("/live/rooms/{busy}")).await.is(200);
    while house.rows("LiveComment-Comments-prod").await != 1 {
        house.pass(1_000).await;
    }
}

#[tokio::test]
async fn without_a_retention_rooms_stay() {
    let house = House::open().await;
    let room = house.create().await;
    house.say(&room, "for ever").await;
    house.pass_long(3 * DAY).await;
    let page = house.get(&format!("/live/rooms/{room}/comments")).await.is(200);
    assert_eq!(page["comments"][0]["content"], "for ever");
    house.patch(&room, json!({ "hostId": HOST })).await.is(200);
}

#[tokio::test]
async fn environments_have_tables_of_their_own_and_names_that_fit() {
    let options = Options { environment: "dev".to_owned(), ..Options::default() };
    let house = House::open_with(options).await;
    house.create().await;
    assert_eq!(house.rows("LiveComment-Rooms-dev").await, 1);
    for wrong in ["", "Prod", "a b", "x/y", &"x".repeat(21)] {
        assert!(Layout::new(wrong).is_err(), "{wrong}");
    }
}

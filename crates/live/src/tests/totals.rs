//! How much strangers can make the house keep.

use serde_json::json;
use table::{Delete, Item};

use super::{HOST, OTHER, Talk};
use crate::Options;

const DAY: u64 = 24 * 60 * 60 * 1_000;
/// After a sleep of the machine every job has looked again, and done what was due, within this.
const LOOK_MS: u64 = 100_000;

#[testkit::test]
async fn of_1500_rooms_in_one_moment_200_are_opened() {
    let talk = Talk::alone().await;
    let (mut opened, mut refused) = (0, 0);
    for number in 0..1_500 {
        // Each under another credential, from one address.
        let answer = talk.try_create(&format!("invented-host-{number:04}")).await;
        match answer.status {
            201 => opened += 1,
            429 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((opened, refused), (200, 1_300));
    assert_eq!(talk.rows("LiveComment-Rooms-prod").await, 200);
    talk.pass_ms(3_600_000).await;
    talk.try_create("invented-host-again").await.is(201);
}

#[testkit::test]
async fn a_host_opens_a_hundred_rooms_and_uses_up_nothing_of_its_address() {
    let options = Options { address_rooms_per_hour: 101, ..Options::default() };
    let talk = Talk::alone_with(options).await;
    for _ in 0..100 {
        talk.try_create(HOST).await.is(201);
    }
    for _ in 0..50 {
        talk.try_create(HOST).await.is_problem(429, "rate_limited");
    }
    talk.try_create(OTHER).await.is(201);
}

#[testkit::test]
async fn the_rooms_of_the_house_are_bounded_over_instances_and_restarts() {
    let options = || Options { rooms_max: 3, ..Options::default() };
    let talk = Talk::open_with(options()).await;
    let rooms = [talk.create().await, talk.create().await, talk.create().await];
    let full = talk.try_create(OTHER).await;
    full.is_problem(507, "rooms_full");
    let told = "the house holds 3 rooms and takes no more (`live.rooms_max`)";
    assert_eq!(full.json()["message"], told);
    let other = talk.second_with(options()).await;
    other.try_create(OTHER).await.is_problem(507, "rooms_full");
    assert_eq!(talk.as_host("DELETE", &format!("/live/rooms/{}", rooms[0]), "").await.status, 204);
    other.try_create(OTHER).await.is(201);
    talk.try_create(OTHER).await.is_problem(507, "rooms_full");
}

#[testkit::test]
async fn rooms_from_before_they_were_counted_count() {
    let options = || Options { rooms_max: 2, ..Options::default() };
    let talk = Talk::open_with(options()).await;
    let room = talk.create().await;
    talk.create().await;
    let total = Item::new().with("pk", "TOTAL").with("sk", "TOTAL");
    talk.tables.delete(Delete::new("LiveComment-Marks-prod", total)).await.unwrap();
    let later = talk.second_with(options()).await;
    later.try_create(OTHER).await.is_problem(507, "rooms_full");
    assert_eq!(later.as_host("DELETE", &format!("/live/rooms/{room}"), "").await.status, 204);
    later.try_create(OTHER).await.is(201);
}

#[testkit::test]
async fn a_room_that_nobody_used_goes_after_a_week_and_frees_its_place() {
    let talk = Talk::open_with(Options { rooms_max: 3, ..Options::default() }).await;
    let (unused, used, prepared) = (talk.create().await, talk.create().await, talk.create().await);
    talk.say(&used, "once").await;
    talk.pass_long_ms(3 * DAY).await;
    talk.patch(&prepared, json!({ "hostId": HOST, "slowModeSeconds": 5 })).await.is(200);
    talk.pass_long_ms(4 * DAY - LOOK_MS - 1).await;
    talk.pass_ms(LOOK_MS).await;
    talk.get(&format!("/live/rooms/{unused}")).await.is(200);
    talk.try_create(OTHER).await.is_problem(507, "rooms_full");
    talk.pass_long_ms(3_600_001).await;
    talk.pass_ms(LOOK_MS).await;
    talk.get(&format!("/live/rooms/{unused}")).await.is_problem(404, "room_not_found");
    for kept in [&used, &prepared] {
        talk.get(&format!("/live/rooms/{kept}")).await.is(200);
    }
    talk.try_create(OTHER).await.is(201);
    talk.try_create(OTHER).await.is_problem(507, "rooms_full");
}

#[testkit::test]
async fn a_full_room_takes_no_comment_and_can_still_be_closed() {
    let talk = Talk::open_with(Options { comments_per_room_max: 3, ..Options::default() }).await;
    let room = talk.create().await;
    let first = talk.say(&room, "1").await;
    for who in ["hanako", "taro"] {
        talk.speak(&room, who, "x").await.is(201);
    }
    talk.speak(&room, "jiro", "x").await.is_problem(409, "room_full");
    let path = format!("/live/rooms/{room}/comments");
    talk.as_host("POST", &path, "{\"content\":\"x\"}").await.is_problem(409, "room_full");
    talk.act(&room, &first, "hide").await.is(200);
    talk.patch(&room, json!({ "hostId": HOST })).await.is(200);
}

#[testkit::test]
async fn the_comments_of_the_house_are_bounded_also_after_a_restart() {
    let options = || Options { comments_max: 4, ..Options::default() };
    let talk = Talk::alone_with(options()).await;
    let rooms = [talk.create().await, talk.create().await];
    for room in &rooms {
        talk.speak(room, "hanako", "x").await.is(201);
        talk.speak(room, "taro", "x").await.is(201);
    }
    talk.speak(&rooms[0], "jiro", "x").await.is_problem(507, "comments_full");
    // An instance that counted for itself knows only what a census has told.
    talk.pass_long_ms(3_600_001).await;
    talk.pass_ms(LOOK_MS).await;
    let later = talk.second_with(options()).await;
    later.speak(&rooms[0], "jiro", "x").await.is_problem(507, "comments_full");
    let path = format!("/live/rooms/{}", rooms[1]);
    assert_eq!(talk.as_host("DELETE", &path, "").await.status, 204);
    talk.pass_long_ms(3_600_001).await;
    talk.pass_ms(LOOK_MS).await;
    later.speak(&rooms[0], "jiro", "x").await.is(201);
}

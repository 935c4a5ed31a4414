//! The walls of a room: their state is the host's, lasts, and reaches every wall.

use serde_json::{Value as Json, json};
use table::{Item, Update};

use super::instances::two;
use super::sockets::joined;
use super::{HOST, OTHER, Talk};

async fn wall_of(talk: &Talk, room: &str) -> Json {
    talk.get(&format!("/live/rooms/{room}")).await.is(200)["wall"].clone()
}

async fn set(talk: &Talk, room: &str, wall: Json) -> Json {
    talk.patch(room, json!({ "hostId": HOST, "wall": wall })).await.is(200)["wall"].clone()
}

fn usual() -> Json {
    json!({
        "hidden": false, "paused": false, "join": "auto", "area": "full", "letters": 0, "pins": [],
    })
}

#[testkit::test]
async fn the_host_sets_what_the_walls_show_and_every_wall_is_told() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    assert_eq!(wall_of(&talk, &room).await, usual());
    let (mut one, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    let (mut other, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    let steps = [
        ("hidden", json!(true)),
        ("paused", json!(true)),
        ("join", json!("full")),
        ("area", json!("bottom")),
        ("letters", json!(8)),
        ("hidden", json!(false)),
    ];
    let mut wanted = usual();
    for (field, value) in steps {
        wanted[field] = value.clone();
        assert_eq!(set(&talk, &room, json!({ field: value })).await, wanted);
        assert_eq!(wall_of(&talk, &room).await, wanted);
        for wall in [&mut one, &mut other] {
            let told = wall.heard();
            assert_eq!((told.len(), &told[0]["type"]), (1, &json!("room")), "{told:?}");
            assert_eq!(told[0]["room"]["wall"], wanted);
        }
    }
    let shown = talk.get(&format!("/live/wall/{room}")).await.text().to_owned();
    assert!(shown.contains("&quot;area&quot;:&quot;bottom&quot;"), "{shown}");
}

#[testkit::test]
async fn only_the_host_sets_what_the_walls_show() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let wall = json!({ "hidden": true });
    let change = async |body: Json| talk.patch(&room, body).await;
    change(json!({ "wall": wall })).await.is_problem(400, "invalid");
    change(json!({ "hostId": OTHER, "wall": wall })).await.is_problem(403, "not_the_host");
    assert_eq!(wall_of(&talk, &room).await, usual());
}

#[testkit::test]
async fn what_no_wall_can_show_is_refused_and_changes_nothing() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let refused = [
        json!({ "letters": 3 }),
        json!({ "letters": 13 }),
        json!({ "letters": -1 }),
        json!({ "join": "sideways" }),
        json!({ "area": "middle" }),
        json!({ "hidden": "yes" }),
        json!({ "pins": [] }),
        json!({ "colour": "red" }),
        // It must not count as a change that closes the room.
        json!({}),
    ];
    for wall in refused {
        let answer = talk.patch(&room, json!({ "hostId": HOST, "wall": wall })).await;
        assert_eq!(answer.status, 400, "{wall}: {}", answer.text());
    }
    let shown = talk.get(&format!("/live/rooms/{room}")).await.is(200);
    assert_eq!((&shown["wall"], &shown["status"]), (&usual(), &json!("OPEN")));
}

#[testkit::test]
async fn a_wall_that_comes_back_is_told_the_present_state() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let seq = talk.say(&room, "before").await["seq"].clone();
    set(&talk, &room, json!({ "area": "top" })).await;
    set(&talk, &room, json!({ "hidden": true })).await;
    talk.say(&room, "meanwhile").await;
    let mut wanted = usual();
    (wanted["area"], wanted["hidden"]) = (json!("top"), json!(true));
    let (mut back, mut told) = talk.join(joined(&room, &json!({ "v": 1, "after": seq }))).await;
    assert_eq!(told[0]["room"]["wall"], wanted, "the join itself tells it");
    told.extend(back.heard());
    let rooms: Vec<Json> =
        super::flat(told).into_iter().filter(|told| told["type"] == "room").collect();
    assert_eq!(rooms.last().unwrap()["room"]["wall"], wanted);
    // An instance that has just started reads it from the store.
    assert_eq!(wall_of(&talk.second().await, &room).await, wanted);
}

#[testkit::test]
async fn walls_of_two_instances_agree() {
    let (one, other, _) = two().await;
    let room = one.create().await;
    let (mut here, _) = one.join(joined(&room, &json!({ "v": 1 }))).await;
    let (mut there, _) = other.join(joined(&room, &json!({ "v": 1 }))).await;
    here.heard();
    set(&one, &room, json!({ "join": "corner" })).await;
    let last = set(&other, &room, json!({ "paused": true })).await;
    assert_eq!((&last["join"], &last["paused"]), (&json!("corner"), &json!(true)));
    let (mine, theirs) = (here.heard(), there.heard());
    assert_eq!(mine, theirs);
    assert_eq!(mine.last().unwrap()["room"]["wall"], last);
}

#[testkit::test]
async fn the_pins_of_the_walls_follow_the_comments_and_outlive_the_list() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (first, second) = (talk.say(&room, "first?").await, talk.say(&room, "second?").await);
    let (one, two) = (first["commentId"].clone(), second["commentId"].clone());
    let pins = async || wall_of(&talk, &room).await["pins"].clone();
    talk.act(&room, &first, "pin").await.is(200);
    talk.act(&room, &second, "pin").await.is(200);
    assert_eq!(pins().await, json!([one, two]));
    talk.act(&room, &second, "answer").await.is(200);
    assert_eq!(pins().await, json!([one]));
    talk.act(&room, &first, "hide").await.is(200);
    assert_eq!(pins().await, json!([]), "what is hidden is on no wall");
    talk.act(&room, &first, "restore").await.is(200);
    set(&talk, &room, json!({ "hidden": true })).await;
    for number in 0..120 {
        talk.say(&room, &format!("{number}")).await;
    }
    assert_eq!(pins().await, json!([one]));
    // A wall finds a pinned comment that its list does not have, right before the next id.
    let id = u128::from_str_radix(&one.as_str().unwrap().replace('-', ""), 16).unwrap() + 1;
    let next = base::Uuid::from_u128(id);
    let page = talk.get(&format!("/live/rooms/{room}/comments?before={next}&limit=1")).await;
    assert_eq!(page.is(200)["comments"][0]["content"], "first?");
}

#[testkit::test]
async fn a_room_of_an_earlier_version_has_usual_walls_and_takes_changes() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    set(&talk, &room, json!({ "hidden": true, "area": "left", "letters": 8 })).await;
    let names = ["wallHidden", "wallPaused", "wallJoin", "wallArea", "wallLetters", "wallPins"];
    let key = Item::new().with("roomId", room.as_str());
    let update = Update::new("LiveComment-Rooms-prod", key);
    let update = names.into_iter().fold(update, |update, name| update.remove(name));
    talk.tables.update(update).await.unwrap();
    assert_eq!(wall_of(&talk, &room).await, usual());
    let asked = talk.say(&room, "why?").await;
    talk.act(&room, &asked, "pin").await.is(200);
    let wall = set(&talk, &room, json!({ "join": "off" })).await;
    assert_eq!((&wall["join"], &wall["pins"]), (&json!("off"), &json!([asked["commentId"]])));
}

#[testkit::test]
async fn a_desk_that_turns_the_walls_too_fast_waits_as_for_other_changes() {
    let options = crate::Options { host_requests_per_second: 1, ..crate::Options::default() };
    let talk = Talk::alone_with(options).await;
    let room = talk.create().await;
    let mut statuses = Vec::new();
    for number in 0..12 {
        let wall = json!({ "hidden": number % 2 == 0 });
        statuses.push(talk.patch(&room, json!({ "hostId": HOST, "wall": wall })).await.status);
    }
    assert!(statuses.starts_with(&[200]) && statuses.ends_with(&[429]), "{statuses:?}");
}

//! A school or a venue behind one address: everybody of it is heard, also beside a spammer.

use serde_json::json;

use super::{Client, HOST, Talk};
use crate::Options;

/// People behind one address, in rooms of fifty.
const PEOPLE: usize = 1_000;
const ROOMS: usize = 20;

/// Everybody in a room, by a socket each.
async fn crowd(talk: &Talk) -> Vec<(String, Client)> {
    let mut rooms = Vec::new();
    for _ in 0..ROOMS {
        rooms.push(talk.create().await);
    }
    let mut people = Vec::new();
    for number in 0..PEOPLE {
        let room = &rooms[number % ROOMS];
        let join = json!({
            "action": "joinRoom", "roomId": room, "v": 1, "participant": format!("p-{number}"),
        });
        let (client, told) = talk.join(join).await;
        assert_eq!(told[0]["type"], "joined", "{told:?}");
        people.push((room.clone(), client));
    }
    people
}

/// Everybody says one thing and applauds, as good as at once; none is refused.
async fn take_part(talk: &Talk, people: &mut [(String, Client)], round: u32) {
    for (_, client) in people.iter_mut() {
        let said = json!({ "action": "postComment", "content": format!("{round}") });
        let told = client.say(said).await;
        assert!(told.iter().all(|told| told["type"] != "error"), "{told:?}");
        let told = client.say(json!({ "action": "react", "reaction": "👏" })).await;
        assert!(told.iter().all(|told| told["type"] != "error"), "{told:?}");
    }
    talk.pass_ms(5_000).await;
    people.iter_mut().for_each(|(_, client)| drop(client.waiting()));
}

#[testkit::test]
async fn a_thousand_people_behind_one_address_join_and_take_part() {
    let talk = Talk::alone().await;
    let mut people = crowd(&talk).await;
    for round in 0..2 {
        take_part(&talk, &mut people, round).await;
    }
    let comment = talk.say(&people[0].0, "a good question").await;
    let id = comment["commentId"].as_str().unwrap();
    let path = format!("/live/rooms/{}/comments/{id}/like", people[0].0);
    for number in 0..PEOPLE {
        let who = format!("p-{number}");
        let liked = talk.ask("POST", &path, &[("x-participant", &who)], "").await;
        assert_eq!(liked.status, 200, "{number}: {liked:?}");
    }
}

#[testkit::test]
async fn a_spammer_behind_the_address_of_a_thousand_stops_none_of_them() {
    let talk = Talk::alone().await;
    let mut people = crowd(&talk).await;
    let join = json!({
        "action": "joinRoom", "roomId": people[0].0, "v": 1, "participant": "spammer",
    });
    let (mut spammer, _) = talk.join(join).await;
    let mut heard = 0;
    for _ in 0..5_000 {
        let told = spammer.say(json!({ "action": "postComment", "content": "buy" })).await;
        heard += told.iter().filter(|told| told["type"] == "posted").count();
    }
    assert_eq!(heard, 5);
    take_part(&talk, &mut people, 0).await;
}

#[testkit::test]
async fn a_refused_comment_uses_up_nothing_of_its_address() {
    // Eight at once for the whole address.
    let options = Options { address_comments_per_second: 2, ..Options::default() };
    let talk = Talk::alone_with(options).await;
    let room = talk.create().await;
    for _ in 0..100 {
        talk.speak(&room, "spammer", "buy").await;
    }
    for who in ["a", "b", "c"] {
        talk.speak(&room, who, "heard").await.is(201);
    }
    talk.speak(&room, "d", "one too many").await.is_problem(429, "rate_limited");
}

#[testkit::test]
async fn a_comment_that_its_room_refuses_uses_up_nothing_of_its_address() {
    let options = Options { address_comments_per_second: 2, ..Options::default() };
    let talk = Talk::alone_with(options).await;
    let room = talk.create().await;
    talk.patch(&room, json!({ "hostId": HOST, "slowModeSeconds": 60 })).await.is(200);
    talk.speak(&room, "a", "first").await.is(201);
    for _ in 0..4 {
        talk.speak(&room, "a", "too soon").await.is_problem(429, "slow_mode");
    }
    for who in ["b", "c", "d"] {
        talk.speak(&room, who, "").await.is_problem(400, "invalid");
    }
    for who in ["e", "f", "g", "h", "i", "j", "k"] {
        talk.speak(&room, who, "heard").await.is(201);
    }
    talk.speak(&room, "l", "one too many").await.is_problem(429, "rate_limited");
}

#[testkit::test]
async fn callers_without_a_name_have_their_share_and_leave_the_others_theirs() {
    let options = Options { address_comments_per_second: 10, ..Options::default() };
    let talk = Talk::alone_with(options).await;
    let room = talk.create().await;
    let path = format!("/live/rooms/{room}/comments");
    let mut heard = 0;
    for _ in 0..100 {
        heard += u32::from(talk.post(&path, json!({ "content": "x" })).await.status == 201);
    }
    assert_eq!(heard, 8, "a fifth of ten, four times as many at once");
    for number in 0..32 {
        talk.speak(&room, &format!("p-{number}"), "heard").await.is(201);
    }
}

#[testkit::test]
async fn a_wrong_credential_uses_up_nothing_of_the_host() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let comment = talk.say(&room, "x").await;
    let id = comment["commentId"].as_str().unwrap();
    let path = format!("/live/rooms/{room}/comments/{id}/hide");
    let guess = [("authorization", "Bearer guess")];
    let mut refused = 0;
    for _ in 0..1_100 {
        let answer = talk.ask("POST", &path, &guess, "").await;
        refused += u32::from(answer.status == 429);
    }
    assert_eq!(refused, 100);
    talk.act(&room, &comment, "hide").await.is(200);
}

#[testkit::test]
async fn a_connection_that_joins_again_and_again_is_told_to_wait() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let join = json!({ "action": "joinRoom", "roomId": room, "v": 1 });
    let mut client = talk.connect();
    for _ in 0..10 {
        assert_eq!(client.say(join.clone()).await[0]["type"], "joined");
    }
    let told = client.say(join.clone()).await;
    assert!(told.iter().any(|told| told["code"] == "rate_limited"), "{told:?}");
    assert_eq!(talk.connect().say(join).await[0]["type"], "joined", "others are not held up");
}

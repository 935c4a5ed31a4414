//! What the host does, and who sees what of it.

use serde_json::{Value as Json, json};

use super::{HOST, Talk};

async fn seqs(talk: &Talk, room: &str) -> Vec<u64> {
    let page = talk.get(&format!("/live/rooms/{room}/comments")).await.is(200);
    page["comments"].as_array().unwrap().iter().map(|c| c["seq"].as_u64().unwrap()).collect()
}

fn kinds(told: &[Json]) -> Vec<&str> {
    told.iter().map(|told| told["type"].as_str().unwrap()).collect()
}

#[testkit::test]
async fn a_hidden_comment_is_gone_for_all_and_comes_back() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (mut client, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    let rude = talk.speak(&room, "a", "rude").await.is(201);
    let fine = talk.speak(&room, "b", "fine").await.is(201);
    client.heard();
    let path = format!("/live/rooms/{room}/comments/{}/hide", rude["commentId"].as_str().unwrap());
    talk.post(&path, json!({})).await.is_problem(403, "not_the_host");
    let hidden = talk.act(&room, &rude, "hide").await.is(200);
    assert_eq!(hidden["state"], "HIDDEN");
    assert_eq!(talk.act(&room, &rude, "hide").await.is(200)["state"], "HIDDEN", "again");
    let told = client.heard();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["type"], &told[0]["hidden"], &told[0]["seq"]),
        (&json!("hidden"), &json!(true), &json!(3))
    );
    assert_eq!(told[0]["commentId"], rude["commentId"]);
    assert_eq!(seqs(&talk, &room).await, [2]);
    let for_host = talk.as_host("GET", &format!("/live/rooms/{room}/comments"), "").await.is(200);
    assert_eq!(for_host["comments"][0]["state"], "HIDDEN");
    talk.act(&room, &rude, "pin").await.is_problem(409, "not_shown");
    talk.act(&room, &rude, "restore").await.is(200);
    let told = client.heard();
    assert_eq!(
        (&told[0]["hidden"], &told[0]["comment"]["content"]),
        (&json!(false), &json!("rude"))
    );
    assert_eq!(told[0]["comment"].get("author"), None);
    assert_eq!(seqs(&talk, &room).await, [1, 2]);
    let nothing = json!({ "commentId": "01890000-0000-7000-8000-000000000000" });
    talk.act(&room, &nothing, "hide").await.is_problem(404, "comment_not_found");
    talk.act("nothing", &fine, "hide").await.is_problem(404, "room_not_found");
}

#[testkit::test]
async fn pins_and_answers_are_told_and_taken_back() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (mut client, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    let asked = talk.speak(&room, "a", "why?").await.is(201);
    client.heard();
    assert_eq!(talk.act(&room, &asked, "pin").await.is(200)["pinned"], true);
    assert_eq!(talk.act(&room, &asked, "answer").await.is(200)["answered"], true);
    let id = asked["commentId"].as_str().unwrap();
    for (action, field) in [("pin", "pinned"), ("answer", "answered")] {
        let body = json!({ "hostId": HOST, field: false });
        let path = format!("/live/rooms/{room}/comments/{id}/{action}");
        assert_eq!(talk.post(&path, body).await.is(200)[field], false);
    }
    let told = client.heard();
    assert_eq!(kinds(&told), ["pinned", "answered", "pinned", "answered"]);
    assert_eq!((&told[0]["pinned"], &told[3]["answered"]), (&json!(true), &json!(false)));
    assert!(told.iter().all(|told| told["commentId"] == asked["commentId"]));
}

#[testkit::test]
async fn a_comment_that_waits_is_seen_by_the_host_alone_until_it_is_let_through() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.patch(&room, json!({ "hostId": HOST, "moderation": "pre" })).await.is(200);
    let join = |more: Json| {
        let mut said = json!({ "action": "joinRoom", "roomId": room });
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        said
    };
    let (mut guest, _) = talk.join(join(json!({ "v": 1 }))).await;
    let (mut bare, _) = talk.join(join(json!({}))).await;
    let (mut host, _) = talk.join(join(json!({ "v": 1, "hostId": HOST }))).await;
    let waits = talk.speak(&room, "a", "may I?").await.is(201);
    assert_eq!((guest.heard(), bare.heard()), (vec![], vec![]));
    let told = host.heard();
    assert_eq!((&told[0]["comment"]["state"], told.len()), (&json!("PENDING"), 1));
    assert!(told[0]["comment"]["author"].is_string());
    assert_eq!(seqs(&talk, &room).await, [] as [u64; 0]);
    talk.say(&room, "the host does not wait").await;
    talk.act(&room, &waits, "restore").await.is(200);
    let told = guest.heard();
    assert_eq!(kinds(&told), ["comment", "comment"]);
    assert_eq!((&told[1]["comment"]["content"], &told[1]["seq"]), (&json!("may I?"), &json!(4)));
    let contents: Vec<Json> = bare.heard().iter().map(|c| c["content"].clone()).collect();
    assert_eq!(contents, ["the host does not wait", "may I?"]);
}

#[testkit::test]
async fn blocked_words_wait_and_blocked_users_speak_to_nobody() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.patch(&room, json!({ "hostId": HOST, "blockWords": ["Spam"] })).await.is(200);
    let (mut guest, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    talk.speak(&room, "bot", "Buy SPAM now").await.is(201);
    assert_eq!(guest.heard(), [] as [Json; 0]);
    let path = format!("/live/rooms/{room}/comments");
    let for_host = talk.as_host("GET", &path, "").await.is(200);
    assert_eq!(for_host["comments"][0]["state"], "PENDING");
    let author = for_host["comments"][0]["author"].clone();
    talk.patch(&room, json!({ "hostId": HOST, "blockUsers": [author] })).await.is(200);
    guest.heard();
    talk.speak(&room, "bot", "hello").await.is(201);
    talk.speak(&room, "human", "hello too").await.is(201);
    let told = guest.heard();
    assert_eq!((told.len(), &told[0]["comment"]["content"]), (1, &json!("hello too")));
    let for_host = talk.as_host("GET", &path, "").await.is(200);
    assert_eq!(for_host["comments"][1]["state"], "HIDDEN");
}

#[testkit::test]
async fn slow_mode_and_pause_hold_for_all_but_the_host() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.patch(&room, json!({ "hostId": HOST, "slowModeSeconds": 30 })).await.is(200);
    talk.speak(&room, "a", "1").await.is(201);
    talk.pass_ms(10_500).await;
    let refused = talk.speak(&room, "a", "2").await;
    refused.is_problem(429, "slow_mode");
    assert_eq!(refused.header("retry-after"), Some("20"));
    talk.speak(&room, "b", "another").await.is(201);
    talk.say(&room, "host").await;
    talk.say(&room, "host").await;
    talk.pass_ms(19_500).await;
    talk.speak(&room, "a", "2").await.is(201);
    talk.patch(&room, json!({ "hostId": HOST, "slowModeSeconds": 0, "paused": true }))
        .await
        .is(200);
    talk.speak(&room, "c", "x").await.is_problem(409, "paused");
    talk.say(&room, "host").await;
    talk.patch(&room, json!({ "hostId": HOST, "paused": false })).await.is(200);
    talk.speak(&room, "c", "x").await.is(201);
}

#[testkit::test]
async fn a_like_counts_once_for_each_participant() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (mut client, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    let comment = talk.say(&room, "like me").await;
    client.heard();
    let path =
        format!("/live/rooms/{room}/comments/{}/like", comment["commentId"].as_str().unwrap());
    let like = async |who: &str| talk.ask("POST", &path, &[("x-participant", who)], "").await;
    assert_eq!(like("a").await.is(200)["likes"], 1);
    like("a").await.is_problem(409, "already_liked");
    for number in 0..20 {
        like(&format!("p{number}")).await.is(200);
    }
    let told = client.heard();
    assert_eq!((told.len(), &told[20]["likes"]), (21, &json!(21)));
    talk.act(&room, &comment, "hide").await.is(200);
    like("b").await.is_problem(409, "not_shown");
    talk.act(&room, &comment, "restore").await.is(200);
    let page = talk.get(&format!("/live/rooms/{room}/comments")).await.is(200);
    assert_eq!(page["comments"][0]["likes"], 21, "hiding takes no likes away");
    talk.patch(&room, json!({ "hostId": HOST })).await.is(200);
    like("b").await.is_problem(409, "closed");
}

#[testkit::test]
async fn reactions_are_counted_and_told_together() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let (mut one, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    let (mut two, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    talk.pass_ms(1_000).await;
    one.waiting();
    two.waiting();
    for _ in 0..20 {
        assert_eq!(one.say(json!({ "action": "react", "reaction": "👏" })).await, [] as [Json; 0]);
    }
    two.say(json!({ "action": "react", "reaction": "🎉" })).await;
    let flood = one.say(json!({ "action": "react", "reaction": "👏" })).await;
    assert_eq!(flood[0]["code"], "rate_limited");
    talk.pass_ms(200).await;
    let counts = json!({ "👏": 20, "🎉": 1 });
    assert_eq!(two.waiting(), [json!({ "v": 1, "type": "reaction", "counts": counts })]);
    one.waiting();
    talk.patch(&room, json!({ "hostId": HOST, "reactions": false })).await.is(200);
    two.heard();
    let refused = two.say(json!({ "action": "react", "reaction": "🎉" })).await;
    assert_eq!(refused[0]["code"], "reactions_off");
}

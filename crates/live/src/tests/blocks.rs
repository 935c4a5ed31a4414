//! What a room holds back: block lists of several desks, words however they are written, and the
//! note for the author of a comment that is held.

use serde_json::{Value as Json, json};
use table::{Get, Item, Put};

use super::{HOST, Talk};

/// The block lists of a room, as its host reads them.
async fn lists(talk: &Talk, room: &str) -> [Json; 3] {
    let shown = talk.as_host("GET", &format!("/live/rooms/{room}"), "").await.is(200);
    ["blockedWords", "blockedUsers", "blockedVersion"].map(|name| shown[name].clone())
}

/// Changes a room as its host.
async fn change(talk: &Talk, room: &str, change: Json) -> testkit::Answer {
    talk.as_host("PATCH", &format!("/live/rooms/{room}"), &change.to_string()).await
}

#[testkit::test]
async fn two_desks_that_add_and_remove_lose_nothing_of_each_other() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    // Both desks have read empty lists.
    change(&talk, &room, json!({ "blockWords": ["Spam"] })).await.is(200);
    change(&talk, &room, json!({ "blockWords": ["バカ", "spam"], "blockUsers": ["u1"] }))
        .await
        .is(200);
    let told = change(&talk, &room, json!({ "blockUsers": ["u2"] })).await.is(200);
    let kept = [json!(["Spam", "バカ"]), json!(["u1", "u2"]), json!(3)];
    assert_eq!(lists(&talk, &room).await, kept, "a word stays as it was typed");
    let told = ["blockedWords", "blockedUsers", "blockedVersion"].map(|name| told[name].clone());
    assert_eq!(told, kept, "the answer has the lists as they are now");
    change(&talk, &room, json!({ "unblockWords": ["SPAM"], "unblockUsers": ["u1"] })).await.is(200);
    assert_eq!(lists(&talk, &room).await, [json!(["バカ"]), json!(["u2"]), json!(4)]);
    let shown = talk.get(&format!("/live/rooms/{room}")).await.is(200);
    assert_eq!((shown.get("blockedWords"), shown.get("blockedVersion")), (None, None));
}

#[testkit::test]
async fn a_whole_list_needs_the_version_that_was_read() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let whole = |words: &[&str], version: Json| json!({ "blockedWords": words, "blockedUsers": [], "blockedVersion": version });
    change(&talk, &room, json!({ "blockedWords": ["a"] })).await.is_problem(400, "invalid");
    change(&talk, &room, json!({ "blockedUsers": ["a"] })).await.is_problem(400, "invalid");
    change(&talk, &room, whole(&["one"], json!(0))).await.is(200);
    // Comments move the room's number on, not the version of its lists.
    talk.say(&room, "x").await;
    change(&talk, &room, json!({ "paused": false })).await.is(200);
    change(&talk, &room, whole(&["one", "two"], json!(1))).await.is(200);
    let stale = change(&talk, &room, whole(&["one", "three"], json!(1))).await;
    stale.is_problem(409, "version_changed");
    assert_eq!(lists(&talk, &room).await, [json!(["one", "two"]), json!([]), json!(2)]);
}

#[testkit::test]
async fn a_change_of_lists_closes_nothing_and_has_bounds() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    for empty in [json!({ "blockWords": [] }), json!({ "unblockUsers": [] })] {
        assert_eq!(change(&talk, &room, empty).await.is(200)["status"], "OPEN");
    }
    assert_eq!(lists(&talk, &room).await[2], json!(0), "nothing has changed");
    let words: Vec<String> = (0..200).map(|number| format!("word {number}")).collect();
    change(&talk, &room, json!({ "blockWords": words })).await.is(200);
    change(&talk, &room, json!({ "blockWords": ["word 7"] })).await.is(200);
    for wrong in [
        json!({ "blockWords": ["one more"] }),
        json!({ "blockWords": [""] }),
        // Nothing that can be seen: every comment would hold it.
        json!({ "blockWords": ["\u{200b}"], "unblockWords": ["word 0"] }),
        json!({ "blockWords": ["x".repeat(51)] }),
        json!({ "blockUsers": ["x".repeat(65)] }),
    ] {
        change(&talk, &room, wrong).await.is_problem(400, "invalid");
    }
}

#[testkit::test]
async fn blocked_words_are_found_however_they_are_written() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let words = ["バカ", "Spam", "Straße", "very bad"];
    change(&talk, &room, json!({ "blockWords": words })).await.is(200);
    let held = [
        "ばか",
        "ﾊﾞｶ",
        "ハ\u{3099}カ",
        "バ\u{200b}カ",
        "ば\u{ad}か",
        "ｓｐａｍ",
        "SPAM",
        "ＳＰＡＭ",
        "s\u{200d}p\u{2060}am",
        "𝐬𝐩𝐚𝐦",
        "ⓢⓟⓐⓜ",
        "STRASSE",
        "very\u{3000}bad",
        "very  bad",
        "s\u{fe0f}pam",
        "よばかり",
    ];
    for (number, text) in held.iter().enumerate() {
        let said = talk.speak(&room, &format!("p-{number}"), text).await.is(201);
        assert_eq!(said["held"], true, "{text:?}");
    }
    for (number, text) in ["はか", "spa m", "よいこ", "ばが"].iter().enumerate() {
        let said = talk.speak(&room, &format!("q-{number}"), text).await.is(201);
        assert_eq!(said.get("held"), None, "{text:?}");
    }
    let named = json!({ "content": "hello", "nickname": "ｓpam" });
    let said = talk.post(&format!("/live/rooms/{room}/comments"), named).await.is(201);
    assert_eq!(said["held"], true, "a nickname is seen as well");
}

#[testkit::test]
async fn the_author_of_a_held_comment_is_told_so_and_not_why() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let shown = talk.speak(&room, "author", "hello").await.is(201);
    assert_eq!(shown.get("held"), None);
    let path = format!("/live/rooms/{room}/comments");
    let author = talk.as_host("GET", &path, "").await.is(200)["comments"][0]["author"].clone();
    let keys = |said: &Json| said.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    change(&talk, &room, json!({ "blockWords": ["rude"] })).await.is(200);
    let by_word = talk.speak(&room, "author", "rude").await.is(201);
    change(&talk, &room, json!({ "blockUsers": [author] })).await.is(200);
    let by_block = talk.speak(&room, "author", "polite").await.is(201);
    change(&talk, &room, json!({ "unblockUsers": [author], "moderation": "pre" })).await.is(200);
    let by_approval = talk.speak(&room, "author", "may I?").await.is(201);
    for held in [&by_word, &by_block, &by_approval] {
        assert_eq!((&held["held"], keys(held)), (&json!(true), keys(&by_word)), "{held}");
        assert!(held.get("state").is_none(), "{held}");
    }
    let join = json!({ "action": "joinRoom", "roomId": room, "v": 1 });
    let (mut client, _) = talk.join(join).await;
    let told = client.say(json!({ "action": "postComment", "content": "may I?" })).await;
    assert_eq!((&told[0]["type"], &told[0]["held"]), (&json!("posted"), &json!(true)), "{told:?}");
    change(&talk, &room, json!({ "moderation": "off" })).await.is(200);
    client.waiting();
    let told = client.say(json!({ "action": "postComment", "content": "hello" })).await;
    assert_eq!(told.iter().filter(|told| told["held"] == true).count(), 0, "{told:?}");
}

#[testkit::test]
async fn a_room_of_an_earlier_version_keeps_its_host_and_its_lists() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    // A short credential, a word as it was folded then, and no version of the lists.
    let (table, key) = ("LiveComment-Rooms-prod", Item::new().with("roomId", room.as_str()));
    let item = talk.tables.get(Get::new(table, key)).await.unwrap().unwrap();
    let words = table::Value::L(vec!["straße".into(), "\u{200b}".into()]);
    let mut item = item.with("hostId", "h").with("blockedWords", words);
    item.remove("blockedVersion");
    talk.tables.put(Put::new(table, item)).await.unwrap();
    let path = format!("/live/rooms/{room}");
    let host = [("authorization", "Bearer h")];
    let shown = talk.ask("GET", &path, &host, "").await.is(200);
    assert_eq!(
        (&shown["blockedWords"][0], &shown["blockedVersion"]),
        (&json!("straße"), &json!(0))
    );
    assert_eq!(talk.speak(&room, "a", "STRASSE").await.is(201)["held"], true);
    assert_eq!(talk.speak(&room, "a", "hello").await.is(201).get("held"), None);
    let listed = talk.ask("GET", "/live/rooms", &host, "").await.is(200);
    assert_eq!(listed["rooms"][0]["roomId"], json!(room));
    let add = json!({ "hostId": "h", "blockWords": ["x"] });
    assert_eq!(talk.patch(&room, add).await.is(200)["blockedVersion"], 1);
    assert_eq!(talk.ask("DELETE", &path, &host, "").await.status, 204);
    for (length, status) in [(15, 400), (16, 201)] {
        assert_eq!(talk.try_create(&"h".repeat(length)).await.status, status);
    }
    talk.try_create(HOST).await.is(201);
}

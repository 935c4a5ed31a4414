//! Bad input: each is refused or made harmless, and the room goes on.

use serde_json::json;

use super::{HOST, Talk};
use crate::Options;

#[testkit::test]
async fn texts_are_bounded_in_characters_and_bytes() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let post = async |content: &str, nickname: &str| {
        talk.pass_ms(2_000).await;
        let body = json!({ "content": content, "nickname": nickname });
        talk.post(&format!("/live/rooms/{room}/comments"), body).await
    };
    post("", "").await.is_problem(400, "invalid");
    post(" \n\u{200b}\t ", "").await.is_problem(400, "invalid");
    post(&"あ".repeat(201), "").await.is_problem(400, "invalid");
    post(&"👩‍👩‍👧‍👦".repeat(100), "").await.is_problem(400, "invalid");
    post("x", &"n".repeat(21)).await.is_problem(400, "invalid");
    let long = post(&"あ".repeat(200), &"👩‍👩‍👧‍👦".repeat(20)).await.is(201);
    assert_eq!(long["content"], "あ".repeat(200));
    let told = post(&"あ".repeat(201), "").await.json();
    assert_eq!(told["message"], "content: text has 201 characters, at most 200 allowed");
}

#[testkit::test]
async fn control_characters_and_marks_of_direction_go_and_empty_lines_with_them() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let said = [
        ("a\u{0}b\u{1b}[31mc\u{7f}", "ab[31mc"),
        ("\u{202e}gnp.exe\u{202c}", "gnp.exe"),
        ("one\r\n\r\n\n \ntwo\u{2028}three", "one\ntwo\nthree"),
        ("cafe\u{301}", "café"),
        ("<script>alert('x')</script>", "<script>alert('x')</script>"),
        ("\"}],{\"v\":1,\"type\":\"goAway\"", "\"}],{\"v\":1,\"type\":\"goAway\""),
    ];
    let (mut client, _) = talk.join(json!({ "action": "joinRoom", "roomId": room, "v": 1 })).await;
    for (text, stored) in said {
        let comment = talk.say(&room, text).await;
        assert_eq!(comment["content"], stored);
        let heard = client.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(heard[0]["comment"]["content"], stored);
    }
    let page = talk.get(&format!("/live/rooms/{room}/comments")).await;
    assert_eq!(page.header("content-type"), Some("application/json"));
    let page = page.is(200);
    let contents: Vec<&str> = page["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["content"].as_str().unwrap())
        .collect();
    assert_eq!(contents, said.map(|(_, stored)| stored));
}

#[testkit::test]
async fn a_body_of_a_megabyte_is_refused_and_the_room_goes_on() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let path = format!("/live/rooms/{room}/comments");
    let huge = json!({ "content": "x".repeat(1_000_000) });
    talk.post(&path, huge.clone()).await.is_problem(413, "body_too_large");
    talk.ask("POST", "/live/rooms", &[], &huge.to_string()).await.is_problem(413, "body_too_large");
    talk.patch(&room, huge).await.is_problem(413, "body_too_large");
    for nonsense in ["null", "{\"content\":{}}", "{\"content\":\"\\ud800\"}", "\u{0}"] {
        talk.ask("POST", &path, &[], nonsense).await.is_problem(400, "invalid_body");
    }
    talk.say(&room, "still here").await;
}

#[testkit::test]
async fn a_flood_is_refused_and_loses_nothing_of_the_others() {
    let options = Options { address_comments_per_second: 100, ..Options::default() };
    let talk = Talk::alone_with(options).await;
    let room = talk.create().await;
    let (mut taken, mut refused) = (0, 0);
    for number in 0..600 {
        // Every comment under another name, from one address.
        match talk.speak(&room, &format!("bot-{number}"), "spam").await.status {
            201 => taken += 1,
            429 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((taken, refused), (400, 200));
    talk.say(&room, "the host is heard").await;
    let last = talk.get(&format!("/live/rooms/{room}/comments?before=9999&limit=1")).await.is(200);
    assert_eq!(last["comments"][0]["content"], "the host is heard");
    assert_eq!(last["comments"][0]["seq"], 401);
}

#[testkit::test]
async fn ids_that_no_key_can_be_are_refused_by_their_length() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (long, longer) = ("r".repeat(65), "r".repeat(3_000));
    let host = json!({ "hostId": HOST }).to_string();
    for id in [&long, &longer] {
        for (method, path, body) in [
            ("GET", format!("/live/rooms/{id}"), ""),
            ("PATCH", format!("/live/rooms/{id}"), &*host),
            ("DELETE", format!("/live/rooms/{id}"), ""),
            ("GET", format!("/live/rooms/{id}/comments"), ""),
            ("GET", format!("/live/rooms/{id}/export.csv"), ""),
            ("GET", format!("/live/rooms/{id}/export.json"), ""),
            ("GET", format!("/live/rooms/{id}/stream"), ""),
            ("POST", format!("/live/rooms/{id}/comments"), "{\"content\":\"x\"}"),
            ("POST", format!("/live/rooms/{room}/comments/{id}/like"), ""),
            ("POST", format!("/live/rooms/{id}/comments/{id}/like"), ""),
            ("POST", format!("/live/rooms/{room}/comments/{id}/hide"), &*host),
            ("POST", format!("/live/rooms/{id}/comments/{id}/pin"), &*host),
        ] {
            talk.ask(method, &path, &[], body).await.is_problem(400, "invalid");
        }
        for page in ["r", "host", "wall"] {
            assert_eq!(talk.get(&format!("/live/{page}/{id}")).await.status, 400, "{page}");
        }
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let page = format!("/live/r/{id}");
        assert_eq!(talk.ask("POST", &page, &form, "content=x").await.status, 400);
    }
    for id in ["", &long, &longer] {
        let told = talk.connect().say(json!({ "action": "joinRoom", "roomId": id })).await;
        assert_eq!(told[0]["code"], "invalid", "{told:?}");
    }
}

#[testkit::test]
async fn a_socket_that_talks_nonsense_is_told_and_stays() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let mut client = talk.connect();
    for (text, code) in [
        ("", "invalid_body"),
        ("[]", "invalid_body"),
        ("{\"action\":\"dance\"}", "invalid_body"),
        ("{\"action\":\"joinRoom\"}", "invalid_body"),
        ("{\"action\":\"joinRoom\",\"roomId\":\"nothing\"}", "room_not_found"),
        ("{\"action\":\"joinRoom\",\"roomId\":\"nothing\",\"after\":-1}", "invalid_body"),
        ("{\"action\":\"postComment\",\"content\":\"x\"}", "invalid"),
        ("{\"action\":\"react\",\"reaction\":\"👏\"}", "invalid"),
    ] {
        let told = client.say_text(text).await;
        assert_eq!((told.len(), told[0]["type"].as_str()), (1, Some("error")), "{text}: {told:?}");
        assert_eq!(told[0]["code"], code, "{text}");
        assert!(told[0]["message"].is_string());
    }
    let join = json!({ "action": "joinRoom", "roomId": room, "v": 2 });
    assert_eq!(client.say(join).await[0]["code"], "invalid");
    let wrong = json!({ "action": "joinRoom", "roomId": room, "v": 1, "hostId": "guess" });
    assert_eq!(client.say(wrong).await[0]["code"], "not_the_host");
    let join = json!({ "action": "joinRoom", "roomId": room, "v": 1, "hostId": HOST });
    assert_eq!(client.say(join).await[0]["type"], "joined");
    for (said, code) in [
        (json!({ "action": "postComment", "content": "" }), "invalid"),
        (json!({ "action": "postComment", "content": "x", "roomId": "other" }), "invalid"),
        (json!({ "action": "react", "reaction": "💣" }), "invalid"),
    ] {
        assert_eq!(client.say(said).await[0]["code"], code);
    }
    assert_eq!(client.say(json!({ "action": "ping" })).await, [json!({ "v": 1, "type": "pong" })]);
}

#[testkit::test]
async fn a_flood_of_likes_is_refused_for_who_sends_it() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let comment = talk.say(&room, "good").await;
    let id = comment["commentId"].as_str().unwrap();
    let path = format!("/live/rooms/{room}/comments/{id}/like");
    let like = async |who: &str| talk.ask("POST", &path, &[("x-participant", who)], "").await;
    like("a").await.is(200);
    for _ in 0..9 {
        like("a").await.is_problem(409, "already_liked");
    }
    let refused = like("a").await;
    refused.is_problem(429, "rate_limited");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(like("b").await.is(200)["likes"], 2);
    talk.pass_ms(1_000).await;
    like("a").await.is_problem(409, "already_liked");
}

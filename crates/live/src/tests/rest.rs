//! Every row of the contract's table.

use futures_util::future::try_join_all;
use serde_json::{Value as Json, json};

use super::{HOST, OTHER, Talk, bearer};

#[testkit::test]
async fn a_room_is_opened_shown_listed_and_closed() {
    let talk = Talk::open().await;
    let body = json!({ "name": " 発表\u{0} ", "hostId": HOST });
    let room = talk.post("/live/rooms", body).await.is(201);
    assert_eq!((&room["name"], &room["hostId"]), (&json!("発表"), &json!(HOST)));
    assert_eq!(
        (&room["status"], &room["createdAt"]),
        (&json!("OPEN"), &json!("2027-01-15T08:00:00.000Z"))
    );
    let code = room["code"].as_str().unwrap();
    assert!(code.len() == 6 && code.chars().all(|letter| letter.is_ascii_alphanumeric()), "{code}");
    let id = room["roomId"].as_str().unwrap();
    let shown = talk.get(&format!("/live/rooms/{id}")).await.is(200);
    assert_eq!((&shown["viewers"], &shown["seq"]), (&json!(0), &json!(0)));
    let by_code = talk.get(&format!("/live/rooms/{}", code.to_lowercase())).await.is(200);
    assert_eq!(by_code, shown);
    talk.get("/live/rooms/ZZZZZZ").await.is_problem(404, "room_not_found");
    talk.get("/live/rooms/nothing-here").await.is_problem(404, "room_not_found");
    talk.pass_ms(1_000).await;
    let closed = talk.patch(id, json!({ "hostId": HOST })).await.is(200);
    assert_eq!((&closed["roomId"], &closed["status"]), (&json!(id), &json!("CLOSED")));
    assert_eq!(closed["updatedAt"], "2027-01-15T08:00:01.000Z");
    let late = talk.post(&format!("/live/rooms/{id}/comments"), json!({ "content": "x" })).await;
    late.is_problem(409, "closed");
    let open = talk.patch(id, json!({ "hostId": HOST, "status": "OPEN" })).await.is(200);
    assert_eq!(open["status"], "OPEN");
}

#[testkit::test]
async fn a_room_wants_a_name_and_a_credential() {
    let talk = Talk::open().await;
    for body in [
        json!({ "name": "", "hostId": HOST }),
        json!({ "name": "x".repeat(101), "hostId": HOST }),
        json!({ "name": "x", "hostId": "" }),
        json!({ "name": "x", "hostId": "fifteen-letters" }),
        json!({ "name": "x", "hostId": "sixteen and with spaces" }),
        json!({ "name": "x", "hostId": "h".repeat(129) }),
    ] {
        talk.post("/live/rooms", body).await.is_problem(400, "invalid");
    }
    for body in ["", "{", "[]", "{\"name\":\"x\"}", "{\"name\":1,\"hostId\":\"h\"}", "\u{feff}{}"] {
        talk.ask("POST", "/live/rooms", &[], body).await.is_problem(400, "invalid_body");
    }
}

#[testkit::test]
async fn rooms_of_a_host_come_newest_first_in_pages() {
    let talk = Talk::open().await;
    let empty = talk.get(&format!("/live/rooms?hostId={HOST}")).await.is(200);
    assert_eq!(empty, json!({ "rooms": [], "next": null }));
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(talk.create().await);
        talk.pass_ms(10).await;
    }
    talk.post("/live/rooms", json!({ "name": "x", "hostId": OTHER })).await.is(201);
    ids.reverse();
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/live/rooms?hostId={HOST}&limit=2&cursor={cursor}");
        let page = talk.get(&path).await.is(200);
        let rooms = page["rooms"].as_array().unwrap().clone();
        listed.extend(rooms.iter().map(|room| room["roomId"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(listed, ids);
    for query in [
        "",
        "?hostId=",
        "?hostId=h&limit=0",
        "?hostId=h&limit=101",
        "?hostId=h&limit=x",
        "?hostId=h&cursor=x",
    ] {
        talk.get(&format!("/live/rooms{query}")).await.is_problem(400, "invalid");
    }
}

#[testkit::test]
async fn only_the_host_changes_a_room() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.patch(&room, json!({ "hostId": OTHER })).await.is_problem(403, "not_the_host");
    talk.patch(&room, json!({})).await.is_problem(400, "invalid");
    talk.patch("nothing", json!({ "hostId": HOST })).await.is_problem(404, "room_not_found");
    for wrong in [
        json!({ "hostId": HOST, "status": "open" }),
        json!({ "hostId": HOST, "moderation": "post" }),
        json!({ "hostId": HOST, "slowModeSeconds": 3601 }),
        json!({ "hostId": HOST, "blockWords": [""] }),
        json!({ "hostId": HOST, "blockUsers": vec!["a"; 201] }),
    ] {
        talk.patch(&room, wrong).await.is_problem(400, "invalid");
    }
    // A word that is not known must not be read as nothing, which closes.
    let typo = json!({ "hostId": HOST, "slowMode": 5 });
    talk.patch(&room, typo).await.is_problem(400, "invalid_body");
    let change = json!({
        "hostId": HOST, "slowModeSeconds": 5, "moderation": "pre", "reactions": false,
        "paused": true, "blockWords": ["Spam"],
    });
    let changed = talk.patch(&room, change).await.is(200);
    assert_eq!(changed["status"], "OPEN");
    let shown = talk.get(&format!("/live/rooms/{room}")).await.is(200);
    let settings = ["slowModeSeconds", "moderation", "reactions", "paused", "seq"];
    let settings = settings.map(|name| shown[name].clone());
    assert_eq!(settings, [json!(5), json!("pre"), json!(false), json!(true), json!(1)]);
    assert_eq!(shown.get("blockedWords"), None);
    let path = format!("/live/rooms/{room}");
    let for_host = talk.as_host("GET", &path, "").await.is(200);
    assert_eq!(for_host["blockedWords"], json!(["Spam"]));
}

#[testkit::test]
async fn a_comment_is_answered_with_its_number() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let path = format!("/live/rooms/{room}/comments");
    let body = json!({ "content": " こんにちは ", "nickname": "花子", "roomId": room });
    let first = talk.post(&path, body).await.is(201);
    assert_eq!((&first["roomId"], &first["content"]), (&json!(room), &json!("こんにちは")));
    assert_eq!((&first["nickname"], &first["seq"]), (&json!("花子"), &json!(1)));
    assert_eq!(
        (&first["isHost"], &first["createdAt"]),
        (&json!(false), &json!("2027-01-15T08:00:00.000Z"))
    );
    for nickname in [json!(null), json!(""), json!(" \u{3000}\t ")] {
        let body = json!({ "content": "x", "nickname": nickname });
        let who = nickname.to_string().len();
        let (who, body) = (who.to_string(), body.to_string());
        let second = talk.ask("POST", &path, &[("x-participant", &who)], &body).await;
        assert_eq!(second.is(201)["nickname"], "Anonymous");
    }
    let host = talk.say(&room, "ようこそ").await;
    assert_eq!((&host["isHost"], &host["seq"]), (&json!(true), &json!(5)));
    let impostor = json!({ "content": "x", "nickname": "host", "hostId": OTHER });
    assert_eq!(talk.post(&path, impostor).await.is(201)["isHost"], false);
    let elsewhere = json!({ "content": "x", "roomId": "other" });
    talk.post(&path, elsewhere).await.is_problem(400, "invalid");
    let nowhere = talk.post("/live/rooms/nothing/comments", json!({ "content": "x" })).await;
    nowhere.is_problem(404, "room_not_found");
}

#[testkit::test]
async fn a_history_of_5000_is_read_in_order_in_pages() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let numbers: Vec<u64> = (1..=5_000).collect();
    // Comments that come at once share a commit, in the order in which they came.
    for some in numbers.chunks(25) {
        let posts = some.iter().map(|number| {
            let post = crate::model::PostComment {
                content: number.to_string(),
                nickname: None,
                client_id: None,
                participant: String::new(),
                host_id: Some(HOST.to_owned()),
            };
            talk.live.post_comment(&room, post)
        });
        try_join_all(posts).await.unwrap();
    }
    let path = format!("/live/rooms/{room}/comments");
    let (mut read, mut query) = (Vec::new(), String::new());
    loop {
        let page = talk.get(&format!("{path}?limit=200{query}")).await.is(200);
        read.extend(page["comments"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => query = format!("&after={next}"),
            None => break,
        }
    }
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    assert_eq!(
        read.iter().map(|comment| comment["content"].as_str().unwrap()).collect::<Vec<_>>(),
        texts
    );
    assert!(read.is_sorted_by_key(|comment| comment["seq"].as_u64()));
    assert!(read.is_sorted_by_key(|comment| comment["commentId"].as_str().map(str::to_owned)));
    let seqs = |page: &Json| -> Vec<u64> {
        page["comments"].as_array().unwrap().iter().map(|c| c["seq"].as_u64().unwrap()).collect()
    };
    let usual = talk.get(&path).await.is(200);
    assert_eq!(seqs(&usual).len(), 100);
    let by_number = talk.get(&format!("{path}?after=4990&limit=5")).await.is(200);
    assert_eq!(seqs(&by_number), (4_991..=4_995).collect::<Vec<_>>());
    let end = talk.get(&format!("{path}?before=9999&limit=3")).await.is(200);
    assert_eq!(seqs(&end), [4_998, 4_999, 5_000]);
    let next = end["next"].as_str().unwrap();
    let earlier = talk.get(&format!("{path}?before={next}&limit=3")).await.is(200);
    assert_eq!(seqs(&earlier), [4_995, 4_996, 4_997]);
    let (after, before) = (&read[9]["commentId"], &read[13]["commentId"]);
    let between =
        format!("{path}?after={}&before={}", after.as_str().unwrap(), before.as_str().unwrap());
    assert_eq!(seqs(&talk.get(&between).await.is(200)), [11, 12, 13]);
}

#[testkit::test]
async fn a_page_has_bounds_and_a_room() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let path = format!("/live/rooms/{room}/comments");
    for query in ["limit=0", "limit=201", "limit=-1", "limit=many", "after=x", "before=1.5"] {
        talk.get(&format!("{path}?{query}")).await.is_problem(400, "invalid");
    }
    let empty = talk.get(&path).await.is(200);
    assert_eq!(empty, json!({ "roomId": room, "comments": [], "next": null }));
    talk.get("/live/rooms/nothing/comments").await.is_problem(404, "room_not_found");
}

#[testkit::test]
async fn a_retry_with_its_client_id_is_one_comment_for_ten_minutes() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let path = format!("/live/rooms/{room}/comments");
    let body = json!({ "content": "一度", "clientId": "c-1" });
    let first = talk.post(&path, body.clone()).await.is(201);
    assert_eq!(talk.post(&path, body.clone()).await.is(201), first);
    talk.pass_long_ms(597_999).await;
    talk.pass_ms(2_000).await;
    assert_eq!(talk.post(&path, body.clone()).await.is(201), first);
    let same_id = json!({ "content": "別", "clientId": "c-1" });
    assert_eq!(talk.post(&path, same_id).await.is(201)["seq"], 2, "another comment");
    talk.pass_ms(1).await;
    assert_eq!(talk.post(&path, body).await.is(201)["seq"], 3);
    for wrong in ["", "a b", &"x".repeat(65)] {
        let body = json!({ "content": "x", "clientId": wrong });
        talk.post(&path, body).await.is_problem(400, "invalid");
        talk.pass_ms(2_000).await;
    }
    // Also when the room has closed meanwhile: the comment was made.
    let last = talk.post(&path, json!({ "content": "z", "clientId": "z" })).await.is(201);
    talk.patch(&room, json!({ "hostId": HOST })).await.is(200);
    let again = talk.post(&path, json!({ "content": "z", "clientId": "z" })).await.is(201);
    assert_eq!(again, last);
}

#[testkit::test]
async fn two_participants_with_the_same_client_id_say_two_things() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let path = format!("/live/rooms/{room}/comments");
    let body = json!({ "content": "はい", "clientId": "1" }).to_string();
    let say = async |who: &str| talk.ask("POST", &path, &[("x-participant", who)], &body).await;
    let first = say("a").await.is(201);
    assert_eq!(say("b").await.is(201)["seq"], 2);
    assert_eq!(say("a").await.is(201), first, "a retry of the same participant is one comment");
    let join = json!({ "action": "joinRoom", "roomId": room, "v": 1 });
    let said = json!({ "action": "postComment", "content": "はい", "clientId": "1" });
    for seq in [3, 4] {
        let (mut client, _) = talk.join(join.clone()).await;
        let told = client.say(said.clone()).await;
        let posted = told.iter().find(|told| told["type"] == "posted").unwrap();
        assert_eq!(posted["seq"], seq, "{told:?}");
    }
}

#[testkit::test]
async fn a_participant_says_three_things_in_two_seconds_and_five_at_once() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    for _ in 0..5 {
        talk.speak(&room, "hanako", "x").await.is(201);
    }
    let refused = talk.speak(&room, "hanako", "x").await;
    refused.is_problem(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    talk.speak(&room, "taro", "x").await.is(201);
    talk.pass_ms(667).await;
    talk.speak(&room, "hanako", "x").await.is(201);
    talk.speak(&room, "hanako", "x").await.is_problem(429, "rate_limited");
    talk.pass_ms(2_000).await;
    for _ in 0..3 {
        talk.speak(&room, "hanako", "x").await.is(201);
    }
    talk.speak(&room, "hanako", "x").await.is_problem(429, "rate_limited");
    for _ in 0..20 {
        talk.say(&room, "the host is exempt").await;
    }
}

#[testkit::test]
async fn a_deleted_room_is_gone_with_everything_in_it() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let kept = talk.create().await;
    talk.say(&kept, "bleibt").await;
    let path = format!("/live/rooms/{room}");
    for number in 0..60 {
        let comment = talk.say(&room, &number.to_string()).await;
        if number == 0 {
            talk.act(&room, &comment, "pin").await.is(200);
            let like = format!("{path}/comments/{}/like", comment["commentId"].as_str().unwrap());
            talk.post(&like, json!({})).await.is(200);
        }
    }
    let code = talk.get(&path).await.is(200)["code"].as_str().unwrap().to_owned();
    talk.ask("DELETE", &path, &[], "").await.is_problem(403, "not_the_host");
    let other = [("authorization", &*bearer(OTHER))];
    talk.ask("DELETE", &path, &other, "").await.is_problem(403, "not_the_host");
    assert_eq!(talk.as_host("DELETE", &path, "").await.status, 204);
    talk.as_host("DELETE", &path, "").await.is_problem(404, "room_not_found");
    talk.get(&path).await.is_problem(404, "room_not_found");
    talk.get(&format!("/live/rooms/{code}")).await.is_problem(404, "room_not_found");
    let late = talk.post(&format!("{path}/comments"), json!({ "content": "x" })).await;
    late.is_problem(404, "room_not_found");
    talk.pass_ms(60_000).await;
    talk.until_rows("LiveComment-Comments-prod", 1).await;
    // The other room's code is left, and the count of rooms.
    talk.until_rows("LiveComment-Marks-prod", 2).await;
    talk.get(&format!("/live/rooms/{kept}/comments")).await.is(200);
}

#[testkit::test]
async fn an_export_is_the_whole_room_for_its_host() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let nasty = ["=1+1", "a \"quote\", comma\nand line", "<script>alert(1)</script>"];
    for text in nasty {
        talk.say(&room, text).await;
    }
    for number in 0..450 {
        talk.say(&room, &number.to_string()).await;
    }
    let hidden = talk.say(&room, "hidden").await;
    talk.act(&room, &hidden, "hide").await.is(200);
    let path = format!("/live/rooms/{room}/export");
    let json = talk.as_host("GET", &format!("{path}.json"), "").await;
    assert!(json.header("content-disposition").unwrap().starts_with("attachment"));
    let json = json.is(200);
    let comments = json["comments"].as_array().unwrap();
    assert_eq!((comments.len(), &json["room"]["roomId"]), (454, &json!(room)));
    assert_eq!(comments[453]["state"], "HIDDEN");
    let csv = talk.as_host("GET", &format!("{path}.csv"), "").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let rows: Vec<&str> = csv.text().split("\r\n").collect();
    assert!(rows[0].starts_with("\u{feff}seq,createdAt,"), "{}", rows[0]);
    assert!(rows[1].contains(",\"'=1+1\","), "{}", rows[1]);
    assert!(rows[2].contains("\"a \"\"quote\"\", comma\nand line\""), "{}", rows[2]);
    assert_eq!(rows.len(), 1 + 454 + 1);
    for kind in ["csv", "json"] {
        talk.get(&format!("{path}.{kind}")).await.is_problem(403, "not_the_host");
        let nowhere = format!("/live/rooms/nothing/export.{kind}");
        talk.as_host("GET", &nowhere, "").await.is_problem(404, "room_not_found");
    }
    let empty = talk.create().await;
    let empty = talk.as_host("GET", &format!("/live/rooms/{empty}/export.json"), "").await.is(200);
    assert_eq!(empty["comments"], json!([]));
}

#[testkit::test]
async fn pages_of_any_origin_may_ask_and_the_room_describes_itself() {
    let talk = Talk::open().await;
    let answer =
        talk.ask("GET", "/live/rooms?hostId=h", &[("origin", "https://else.example")], "").await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let api = talk.get("/live/openapi.json").await.is(200);
    assert_eq!(api["paths"].as_object().unwrap().len(), 13);
    assert!(api["paths"]["/live/rooms/{roomId}"]["patch"].is_object());
}

#[testkit::test]
async fn an_export_is_whole_for_who_takes_it_compressed() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.say(&room, "kept").await;
    for file in ["export.csv", "export.json"] {
        let path = format!("/live/rooms/{room}/{file}");
        let headers = [("accept-encoding", "gzip"), ("authorization", &*bearer(HOST))];
        let packed = testkit::ask(talk.address, "GET", &path, &headers, "").await;
        assert_eq!(packed.status, 200, "{}", packed.head);
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{}", packed.head);
        // The length of what was packed stands at the end of a whole file.
        let plain = talk.as_host("GET", &path, "").await;
        let length = packed.body.last_chunk::<4>().map(|four| u32::from_le_bytes(*four));
        assert_eq!(length, u32::try_from(plain.body.len()).ok());
    }
}

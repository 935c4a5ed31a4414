//! Every row of the contract's table.

use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{HOST, House, OTHER};
use crate::Options;

#[tokio::test]
async fn a_room_is_opened_shown_listed_and_closed() {
    let house = House::open().await;
    let body = json!({ "name": " 発表\u{0} ", "hostId": HOST });
    let room = house.post("/live/rooms", body).await.is(201);
    assert_eq!((&room["name"], &room["hostId"]), (&json!("発表"), &json!(HOST)));
    assert_eq!(
        (&room["status"], &room["createdAt"]),
        (&json!("OPEN"), &json!("2027-01-15T08:00:00.000Z"))
    );
    let code = room["code"].as_str().unwrap();
    assert!(code.len() == 6 && code.chars().all(|letter| letter.is_ascii_alphanumeric()), "{code}");
    let id = room["roomId"].as_str().unwrap();
    let shown = house.get(&format!("/live/rooms/{id}")).await.is(200);
    assert_eq!((&shown["viewers"], &shown["seq"]), (&json!(0), &json!(0)));
    let by_code = house.get(&format!("/live/rooms/{}", code.to_lowercase())).await.is(200);
    assert_eq!(by_code, shown);
    house.get("/live/rooms/ZZZZZZ").await.is_problem(404, "room_not_found");
    house.get("/live/rooms/nothing-here").await.is_problem(404, "room_not_found");
    house.pass(1_000).await;
    let closed = house.patch(id, json!({ "hostId": HOST })).await.is(200);
    assert_eq!((&closed["roomId"], &closed["status"]), (&json!(id), &json!("CLOSED")));
    assert_eq!(closed["updatedAt"], "2027-01-15T08:00:01.000Z");
    let late = house.post(&format!("/live/rooms/{id}/comments"), json!({ "content": "x" })).await;
    late.is_problem(409, "closed");
    let open = house.patch(id, json!({ "hostId": HOST, "status": "OPEN" })).await.is(200);
    assert_eq!(open["status"], "OPEN");
}

#[tokio::test]
async fn a_room_wants_a_name_and_a_credential() {
    let house = House::open().await;
    for body in [
        json!({ "name": "", "hostId": HOST }),
        json!({ "name": "x".repeat(101), "hostId": HOST }),
        json!({ "name": "x", "hostId": "" }),
        json!({ "name": "x", "hostId": "with space" }),
        json!({ "name": "x", "hostId": "h".repeat(129) }),
    ] {
        house.post("/live/rooms", body).await.is_problem(400, "invalid");
    }
    for body in ["", "{", "[]", "{\"name\":\"x\"}", "{\"name\":1,\"hostId\":\"h\"}", "\u{feff}{}"] {
        house.ask("POST", "/live/rooms", "", body).await.is_problem(400, "invalid_body");
    }
}

#[tokio::test]
async fn rooms_of_a_host_come_newest_first_in_pages() {
    let house = House::open().await;
    let empty = house.get(&format!("/live/rooms?hostId={HOST}")).await.is(200);
    assert_eq!(empty, json!({ "rooms": [], "next": null }));
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(house.create().await);
        house.pass(10).await;
    }
    house.post("/live/rooms", json!({ "name": "x", "hostId": OTHER })).await.is(201);
    ids.reverse();
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/live/rooms?hostId={HOST}&limit=2&cursor={cursor}");
        let page = house.get(&path).await.is(200);
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
        house.get(&format!("/live/rooms{query}")).await.is_problem(400, "invalid");
    }
}

#[tokio::test]
async fn only_the_host_changes_a_room() {
    let house = House::open().await;
    let room = house.create().await;
    house.patch(&room, json!({ "hostId": OTHER })).await.is_problem(403, "not_the_host");
    house.patch(&room, json!({})).await.is_problem(400, "invalid");
    house.patch("nothing", json!({ "hostId": HOST })).await.is_problem(404, "room_not_found");
    for wrong in [
        json!({ "hostId": HOST, "status": "open" }),
        json!({ "hostId": HOST, "moderation": "post" }),
        json!({ "hostId": HOST, "slowModeSeconds": 3601 }),
        json!({ "hostId": HOST, "blockedWords": [""] }),
        json!({ "hostId": HOST, "blockedUsers": vec!["a"; 201] }),
    ] {
        house.patch(&room, wrong).await.is_problem(400, "invalid");
    }
    // A word that is not known must not be read as nothing, which closes.
    let typo = json!({ "hostId": HOST, "slowMode": 5 });
    house.patch(&room, typo).await.is_problem(400, "invalid_body");
    let change = json!({
        "hostId": HOST, "slowModeSeconds": 5, "moderation": "pre", "reactions": false,
        "paused": true, "blockedWords": ["Spam"],
    });
    let changed = house.patch(&room, change).await.is(200);
    assert_eq!(changed["status"], "OPEN");
    let shown = house.get(&format!("/live/rooms/{room}")).await.is(200);
    let settings = ["slowModeSeconds", "moderation", "reactions", "paused", "seq"];
    let settings = settings.map(|name| shown[name].clone());
    assert_eq!(settings, [json!(5), json!("pre"), json!(false), json!(true), json!(1)]);
    assert_eq!(shown.get("blockedWords"), None);
    let path = format!("/live/rooms/{room}");
    let for_host = house.as_host("GET", &path, "").await.is(200);
    assert_eq!(for_host["blockedWords"], json!(["spam"]));
}

#[tokio::test]
async fn a_comment_is_answered_with_its_number() {
    let house = House::open().await;
    let room = house.create().await;
    let path = format!("/live/rooms/{room}/comments");
    let body = json!({ "content": " こんにちは ", "nickname": "花子", "roomId": room });
    let first = house.post(&path, body).await.is(201);
    assert_eq!((&first["roomId"], &first["content"]), (&json!(room), &json!("こんにちは")));
    assert_eq!((&first["nickname"], &first["seq"]), (&json!("花子"), &json!(1)));
    assert_eq!(
        (&first["isHost"], &first["createdAt"]),
        (&json!(false), &json!("2027-01-15T08:00:00.000Z"))
    );
    for nickname in [json!(null), json!(""), json!(" \u{3000}\t ")] {
        let body = json!({ "content": "x", "nickname": nickname });
        let who = nickname.to_string().len();
        let (who, body) = (format!("x-participant: {who}\r\n"), body.to_string());
        let second = house.ask("POST", &path, &who, &body).await;
        assert_eq!(second.is(201)["nickname"], "Anonymous");
    }
    let host = house.say(&room, "ようこそ").await;
    assert_eq!((&host["isHost"], &host["seq"]), (&json!(true), &json!(5)));
    let impostor = json!({ "content": "x", "nickname": "host", "hostId": OTHER });
    assert_eq!(house.post(&path, impostor).await.is(201)["isHost"], false);
    let elsewhere = json!({ "content": "x", "roomId": "other" });
    house.post(&path, elsewhere).await.is_problem(400, "invalid");
    let nowhere = house.post("/live/rooms/nothing/comments", json!({ "content": "x" })).await;
    nowhere.is_problem(404, "room_not_found");
}

#[tokio::test]
async fn a_history_of_5000_is_read_in_order_in_pages() {
    let house = House::open().await;
    let room = house.create().await;
    for number in 1..=5_000 {
        let post = crate::model::PostComment {
            content: number.to_string(),
            nickname: None,
            client_id: None,
            participant: String::new(),
            host_id: Some(HOST.to_owned()),
        };
        house.live.post_comment(&room, post).await.unwrap();
    }
    let path = format!("/live/rooms/{room}/comments");
    let (mut read, mut query) = (Vec::new(), String::new());
    loop {
        let page = house.get(&format!("{path}?limit=200{query}")).await.is(200);
        read.extend(page["comments"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => query = format!("&after={next}"),
            None => break,
        }
    }
    let texts: Vec<String> = (1..=5_000).map(|number| number.to_string()).collect();
    assert_eq!(
        read.iter().map(|comment| comment["content"].as_str().unwrap()).collect::<Vec<_>>(),
        texts
    );
    assert!(read.is_sorted_by_key(|comment| comment["seq"].as_u64()));
    assert!(read.is_sorted_by_key(|comment| comment["commentId"].as_str().map(str::to_owned)));
    let seqs = |page: &Json| -> Vec<u64> {
        page["comments"].as_array().unwrap().iter().map(|c| c["seq"].as_u64().unwrap()).collect()
    };
    let usual = house.get(&path).await.is(200);
    assert_eq!(seqs(&usual).len(), 100);
    let by_number = house.get(&format!("{path}?after=4990&limit=5")).await.is(200);
    assert_eq!(seqs(&by_number), (4_991..=4_995).collect::<Vec<_>>());
    let end = house.get(&format!("{path}?before=9999&limit=3")).await.is(200);
    assert_eq!(seqs(&end), [4_998, 4_999, 5_000]);
    let next = end["next"].as_str().unwrap();
    let earlier = house.get(&format!("{path}?before={next}&limit=3")).await.is(200);
    assert_eq!(seqs(&earlier), [4_995, 4_996, 4_997]);
    let (after, before) = (&read[9]["commentId"], &read[13]["commentId"]);
    let between =
        format!("{path}?after={}&before={}", after.as_str().unwrap(), before.as_str().unwrap());
    assert_eq!(seqs(&house.get(&between).await.is(200)), [11, 12, 13]);
}

#[tokio::test]
async fn a_page_has_bounds_and_a_room() {
    let house = House::open().await;
    let room = house.create().await;
    let path = format!("/live/rooms/{room}/comments");
    for query in ["limit=0", "limit=201", "limit=-1", "limit=many", "after=x", "before=1.5"] {
        house.get(&format!("{path}?{query}")).await.is_problem(400, "invalid");
    }
    let empty = house.get(&path).await.is(200);
    assert_eq!(empty, json!({ "roomId": room, "comments": [], "next": null }));
    house.get("/live/rooms/nothing/comments").await.is_problem(404, "room_not_found");
}

#[tokio::test]
async fn a_retry_with_its_client_id_is_one_comment_for_ten_minutes() {
    let house = House::open().await;
    let room = house.create().await;
    let path = format!("/live/rooms/{room}/comments");
    let body = json!({ "content": "一度", "clientId": "c-1" });
    let first = house.post(&path, body.clone()).await.is(201);
    assert_eq!(house.post(&path, body.clone()).await.is(201), first);
    house.pass(599_999).await;
    assert_eq!(house.post(&path, body.clone()).await.is(201), first);
    let same_id = json!({ "content": "別", "clientId": "c-1" });
    assert_eq!(house.post(&path, same_id).await.is(201)["seq"], 2, "another comment");
    house.pass(1).await;
    assert_eq!(house.post(&path, body).await.is(201)["seq"], 3);
    for wrong in ["", "a b", &"x".repeat(65)] {
        let body = json!({ "content": "x", "clientId": wrong });
        house.post(&path, body).await.is_problem(400, "invalid");
        house.pass(2_000).await;
    }
    // Also when the room has closed meanwhile: the comment was made.
    let last = house.post(&path, json!({ "content": "z", "clientId": "z" })).await.is(201);
    house.patch(&room, json!({ "hostId": HOST })).await.is(200);
    let again = house.post(&path, json!({ "content": "z", "clientId": "z" })).await.is(201);
    assert_eq!(again, last);
}

#[tokio::test]
async fn a_participant_says_three_things_in_two_seconds_and_five_at_once() {
    let house = House::alone(Options::default()).await;
    let room = house.create().await;
    for _ in 0..5 {
        house.speak(&room, "hanako", "x").await.is(201);
    }
    let refused = house.speak(&room, "hanako", "x").await;
    refused.is_problem(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    house.speak(&room, "taro", "x").await.is(201);
    house.pass(667).await;
    house.speak(&room, "hanako", "x").await.is(201);
    house.speak(&room, "hanako", "x").await.is_problem(429, "rate_limited");
    house.pass(2_000).await;
    for _ in 0..3 {
        house.speak(&room, "hanako", "x").await.is(201);
    }
    house.speak(&room, "hanako", "x").await.is_problem(429, "rate_limited");
    for _ in 0..20 {
        house.say(&room, "the host is exempt").await;
    }
}

#[tokio::test]
async fn a_deleted_room_is_gone_with_everything_in_it() {
    let house = House::open().await;
    let room = house.create().await;
    let kept = house.create().await;
    house.say(&kept, "bleibt").await;
    let path = format!("/live/rooms/{room}");
    for number in 0..60 {
        let comment = house.say(&room, &number.to_string()).await;
        if number == 0 {
            house.act(&room, &comment, "pin").await.is(200);
            let like = format!("{path}/comments/{}/like", comment["commentId"].as_str().unwrap());
            house.post(&like, json!({})).await.is(200);
        }
    }
    let code = house.get(&path).await.is(200)["code"].as_str().unwrap().to_owned();
    house.ask("DELETE", &path, "", "").await.is_problem(403, "not_the_host");
    let other = format!("authorization: Bearer {OTHER}\r\n");
    house.ask("DELETE", &path, &other, "").await.is_problem(403, "not_the_host");
    assert_eq!(house.as_host("DELETE", &path, "").await.status, 204);
    house.as_host("DELETE", &path, "").await.is_problem(404, "room_not_found");
    house.get(&path).await.is_problem(404, "room_not_found");
    house.get(&format!("/live/rooms/{code}")).await.is_problem(404, "room_not_found");
    let late = house.post(&format!("{path}/comments"), json!({ "content": "x" })).await;
    late.is_problem(404, "room_not_found");
    house.pass(60_000).await;
    while house.rows("LiveComment-Comments-prod").await != 1 {
        tokio::task::yield_now().await;
    }
    // The other room's code is left.
    while house.rows("LiveComment-Marks-prod").await != 1 {
        tokio::task::yield_now().await;
    }
    house.get(&format!("/live/rooms/{kept}/comments")).await.is(200);
}

#[tokio::test]
async fn an_export_is_the_whole_room_for_its_host() {
    let house = House::open().await;
    let room = house.create().await;
    let nasty = ["=1+1", "a \"quote\", comma\nand line", "<script>alert(1)</script>"];
    for text in nasty {
        house.say(&room, text).await;
    }
    for number in 0..450 {
        house.say(&room, &number.to_string()).await;
    }
    let hidden = house.say(&room, "hidden").await;
    house.act(&room, &hidden, "hide").await.is(200);
    let path = format!("/live/rooms/{room}/export");
    let json = house.as_host("GET", &format!("{path}.json"), "").await;
    assert!(json.header("content-disposition").unwrap().starts_with("attachment"));
    let json = json.is(200);
    let comments = json["comments"].as_array().unwrap();
    assert_eq!((comments.len(), &json["room"]["roomId"]), (454, &json!(room)));
    assert_eq!(comments[453]["state"], "HIDDEN");
    let csv = house.as_host("GET", &format!("{path}.csv"), "").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let rows: Vec<&str> = csv.text.split("\r\n").collect();
    assert!(rows[0].starts_with("\u{feff}seq,createdAt,"), "{}", rows[0]);
    assert!(rows[1].contains(",\"'=1+1\","), "{}", rows[1]);
    assert!(rows[2].contains("\"a \"\"quote\"\", comma\nand line\""), "{}", rows[2]);
    assert_eq!(rows.len(), 1 + 454 + 1);
    for kind in ["csv", "json"] {
        house.get(&format!("{path}.{kind}")).await.is_problem(403, "not_the_host");
        let nowhere = format!("/live/rooms/nothing/export.{kind}");
        house.as_host("GET", &nowhere, "").await.is_problem(404, "room_not_found");
    }
    let empty = house.create().await;
    let empty = house.as_host("GET", &format!("/live/rooms/{empty}/export.json"), "").await.is(200);
    assert_eq!(empty["comments"], json!([]));
}

#[tokio::test]
async fn pages_of_any_origin_may_ask_and_the_room_describes_itself() {
    let house = House::open().await;
    let answer =
        house.ask("GET", "/live/rooms?hostId=h", "origin: https://else.example\r\n", "").await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let api = house.get("/live/openapi.json").await.is(200);
    assert_eq!(api["paths"].as_object().unwrap().len(), 12);
    assert!(api["paths"]["/live/rooms/{roomId}"]["patch"].is_object());
}

#[tokio::test]
async fn an_export_is_whole_for_who_takes_it_compressed() {
    let house = House::open().await;
    let room = house.create().await;
    house.say(&room, "kept").await;
    for file in ["export.csv", "export.json"] {
        let request = format!(
            "GET /live/rooms/{room}/{file} HTTP/1.0\r\nhost: x\r\naccept-encoding: gzip\r\n\
             authorization: Bearer {HOST}\r\n\r\n"
        );
        let mut stream = TcpStream::connect(house.server.address()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let head = String::from_utf8_lossy(&bytes);
        assert!(
            head.starts_with("HTTP/1.0 200") && head.contains("content-encoding: gzip"),
            "{head}"
        );
        // The length of what was packed stands at the end of a whole file.
        let plain = house.as_host("GET", &format!("/live/rooms/{room}/{file}"), "").await.text;
        let length = bytes.last_chunk::<4>().map(|four| u32::from_le_bytes(*four));
        assert_eq!(length, u32::try_from(plain.len()).ok());
    }
}

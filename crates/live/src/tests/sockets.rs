//! What sockets and streams hear, in both forms.

use edge::Visit;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value as Json, json};
use testkit::Stream;
use testkit::wait::bounded;

use super::{HOST, Talk, bearer};

pub(super) fn joined(room: &str, more: &Json) -> Json {
    let mut said = json!({ "action": "joinRoom", "roomId": room });
    said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    said
}

fn contents(told: &[Json]) -> Vec<String> {
    let comment = |told: &Json| told["comment"]["content"].as_str().map(str::to_owned);
    told.iter().filter_map(comment).collect()
}

#[testkit::test]
async fn the_seeds_client_hears_bare_comments() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (mut client, told) = talk.join(joined(&room, &json!({}))).await;
    assert_eq!(told, [] as [Json; 0]);
    let comment = talk.speak(&room, "a", "はい").await.is(201);
    assert_eq!(client.waiting(), [comment]);
    talk.patch(&room, json!({ "hostId": HOST })).await.is(200);
    assert_eq!(client.waiting(), [] as [Json; 0]);
    let told = client.say(json!({ "action": "postComment", "content": "x" })).await;
    assert_eq!((&told[0]["type"], &told[0]["code"]), (&json!("error"), &json!("closed")));
}

#[testkit::test]
async fn envelopes_tell_all_that_happens() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.say(&room, "before").await;
    let join = joined(&room, &json!({ "v": 1, "nickname": "花子" }));
    let (mut client, told) = talk.join(join).await;
    let hello = &told[0];
    assert_eq!(
        (&hello["type"], &hello["seq"], &hello["viewers"]),
        (&json!("joined"), &json!(1), &json!(1))
    );
    assert_eq!((&hello["roomId"], &hello["room"]["status"]), (&json!(room), &json!("OPEN")));
    let said = json!({ "action": "postComment", "content": "hi", "clientId": "1" });
    let told = client.say(said).await;
    assert_eq!(
        (&told[0]["type"], &told[0]["comment"]["nickname"]),
        (&json!("comment"), &json!("花子"))
    );
    assert_eq!(
        (&told[1]["type"], &told[1]["clientId"], &told[1]["seq"]),
        (&json!("posted"), &json!("1"), &json!(2))
    );
    talk.patch(&room, json!({ "hostId": HOST, "slowModeSeconds": 9 })).await.is(200);
    talk.patch(&room, json!({ "hostId": HOST })).await.is(200);
    let told = client.heard();
    assert_eq!(
        (&told[0]["room"]["slowModeSeconds"], &told[1]["room"]["status"]),
        (&json!(9), &json!("CLOSED"))
    );
    assert_eq!((&told[0]["type"], &told[1]["seq"]), (&json!("room"), &json!(4)));
    talk.as_host("DELETE", &format!("/live/rooms/{room}"), "").await;
    assert_eq!(client.heard()[0]["room"]["status"], "DELETED");
}

#[testkit::test]
async fn a_second_join_moves_the_connection_and_leaving_ends_it() {
    let talk = Talk::open().await;
    let (one, two) = (talk.create().await, talk.create().await);
    let (mut client, _) = talk.join(joined(&one, &json!({ "v": 1 }))).await;
    client.say(joined(&two, &json!({ "v": 1 }))).await;
    let viewers = async |room: &str| {
        talk.get(&format!("/live/rooms/{room}")).await.is(200)["viewers"].clone()
    };
    assert_eq!((viewers(&one).await, viewers(&two).await), (json!(0), json!(1)));
    talk.say(&one, "not heard").await;
    talk.say(&two, "heard").await;
    assert_eq!(contents(&client.heard()), ["heard"]);
    client.say(json!({ "action": "leaveRoom" })).await;
    talk.say(&two, "not heard").await;
    assert_eq!((client.heard(), viewers(&two).await), (vec![], json!(0)));
}

#[testkit::test]
async fn a_connection_that_joins_again_keeps_its_row() {
    let talk = Talk::open().await;
    let (one, two) = (talk.create().await, talk.create().await);
    let (mut client, _) = talk.join(joined(&one, &json!({ "v": 1 }))).await;
    let row = async |room: &str| {
        let query = table::Query::new("LiveComment-Connections-prod", "roomId", room);
        talk.tables.query(query.index("roomId-index")).await.unwrap().items.len()
    };
    // Signs of the former place are still under way when the new one is noted.
    talk.pass_ms(20_000).await;
    client.socket.on_alive();
    client.say(joined(&two, &json!({ "v": 1 }))).await;
    let settle = async || talk.pass_ms(1_000).await;
    settle().await;
    assert_eq!((row(&one).await, row(&two).await), (0, 1));
    client.say(joined(&two, &json!({ "v": 1 }))).await;
    settle().await;
    assert_eq!((row(&one).await, row(&two).await), (0, 1), "also in the same room");
    client.say(json!({ "action": "leaveRoom" })).await;
    client.say(joined(&two, &json!({ "v": 1 }))).await;
    settle().await;
    assert_eq!(row(&two).await, 1, "also after leaving");
    drop(client);
    talk.until_rows("LiveComment-Connections-prod", 0).await;
}

#[testkit::test]
async fn many_comments_come_in_frames_and_in_order() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let (mut client, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    let (mut bare, _) = talk.join(joined(&room, &json!({}))).await;
    let texts: Vec<String> = (0..75).map(|number| number.to_string()).collect();
    for text in &texts {
        talk.say(&room, text).await;
    }
    let first = client.waiting();
    assert_eq!(contents(&first), texts[..50]);
    assert_eq!(bare.waiting().len(), 75, "the seed's form knows no arrays");
    // Whoever joins now is told of what waits in the frame, once.
    let (mut late, told) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    assert_eq!(told[0]["seq"], 50);
    let (_, told) = talk.join(joined(&room, &json!({ "v": 1, "after": 70 }))).await;
    assert_eq!(
        contents(&super::flat(told)),
        &texts[70..],
        "what was read elsewhere is not told again"
    );
    let frame = client.waiting();
    assert_eq!((frame.len(), frame[0].as_array().map(Vec::len)), (1, Some(25)));
    assert_eq!(contents(&super::flat(frame)), texts[50..]);
    assert_eq!(contents(&late.heard()), texts[50..]);
    talk.pass_ms(1_000).await;
    talk.say(&room, "calm").await;
    assert_eq!(contents(&client.waiting()), ["calm"]);
}

#[testkit::test]
async fn a_frame_leaves_after_a_tenth_of_a_second() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let (mut client, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    for number in 0..60 {
        talk.say(&room, &number.to_string()).await;
    }
    assert_eq!(client.waiting().len(), 50);
    talk.pass_ms(99).await;
    assert_eq!(client.waiting().len(), 0);
    talk.pass_ms(1).await;
    assert_eq!(super::flat(client.waiting()).len(), 10);
}

#[testkit::test]
async fn ghosts_are_gone_with_their_lease() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let (mut living, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    let (ghost, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    talk.pass_ms(500).await;
    assert_eq!(living.waiting(), [json!({ "v": 1, "type": "viewers", "viewers": 2 })]);
    let viewers =
        async || talk.get(&format!("/live/rooms/{room}")).await.is(200)["viewers"].clone();
    for _ in 0..2 {
        talk.pass_ms(25_000).await;
        living.socket.on_alive();
    }
    assert_eq!(viewers().await, 2);
    talk.pass_ms(9_499).await;
    assert_eq!(viewers().await, 2);
    talk.pass_ms(1).await;
    assert_eq!(viewers().await, 1);
    talk.pass_ms(500).await;
    assert_eq!(living.waiting(), [json!({ "v": 1, "type": "viewers", "viewers": 1 })]);
    talk.until_rows("LiveComment-Connections-prod", 1).await;
    drop(ghost);
    drop(living);
    assert_eq!(viewers().await, 0);
    talk.until_rows("LiveComment-Connections-prod", 0).await;
    talk.pass_ms(130_000).await;
    assert_eq!(talk.live.stages.len(), 0, "a quiet room holds no memory");
}

#[testkit::test]
async fn a_slow_reader_delays_nobody_and_is_told_where_to_resume() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let (slow, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    let (mut quick, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    let mut heard = 0;
    for number in 0..1_100 {
        talk.say(&room, &number.to_string()).await;
        talk.pass_ms(21).await;
        heard += quick.heard().len();
    }
    assert_eq!(heard, 1_100);
    let mut deliveries = slow.deliveries;
    let closed = bounded("the end", deliveries.take(1)).await.unwrap_err();
    assert_eq!(closed, hub::Closed::TooSlow);
    let told = slow.socket.on_leave(&deliveries.positions()).unwrap();
    let told: Json = serde_json::from_str(told.as_str()).unwrap();
    assert_eq!(told["type"], "goAway");
    let resume_from = told["resumeFrom"].as_u64().unwrap();
    let (_, told) = talk.join(joined(&room, &json!({ "v": 1, "after": resume_from }))).await;
    assert_eq!(contents(&super::flat(told)).len() as u64, 1_100 - resume_from);
}

/// Reads until this text has come.
async fn read_until(stream: &mut Stream, end: &str) -> String {
    let read = stream.read_until(end).await;
    assert!(!super::is_leaking(&read), "{read}");
    read
}

#[testkit::test]
async fn a_stream_is_numbered_by_the_room_and_resumes_from_any_number() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let mut first = talk.stream(&format!("{room}/stream"), &[]).await;
    read_until(&mut first, "retry: 2000").await;
    for number in 1..=3 {
        talk.say(&room, &format!("no {number}")).await;
    }
    let events = read_until(&mut first, "no 3").await;
    assert!(events.contains("id: 1\ndata: {\"v\":1,\"seq\":1,\"type\":\"comment\""), "{events}");
    let mut again = talk.stream(&format!("{room}/stream"), &[("last-event-id", "1")]).await;
    let events = read_until(&mut again, "no 3").await;
    assert!(!events.contains("no 1") && events.contains("no 2"), "{events}");
    // Also when memory has forgotten it all.
    talk.pass_ms(700_000).await;
    let mut late = talk.stream(&format!("{room}/stream"), &[("last-event-id", "2")]).await;
    let events = read_until(&mut late, "no 3").await;
    assert!(!events.contains("no 2") && events.contains("id: 3\n"), "{events}");
    talk.get("/live/rooms/nothing/stream").await.is_problem(404, "room_not_found");
    let nonsense = [("last-event-id", "x")];
    let path = format!("/live/rooms/{room}/stream");
    talk.ask("GET", &path, &nonsense, "").await.is_problem(400, "invalid");
}

#[testkit::test]
async fn a_stream_tells_what_counts_only_now_without_a_number() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.say(&room, "no 1").await;
    let mut reader = talk.stream(&format!("{room}/stream?after=0"), &[]).await;
    let events = read_until(&mut reader, "no 1").await;
    assert!(events.contains("id: 1\ndata: "), "{events}");
    let (mut client, _) = talk.join(joined(&room, &json!({ "v": 1 }))).await;
    client.say(json!({ "action": "react", "reaction": "👏" })).await;
    talk.pass_ms(500).await;
    let events = read_until(&mut reader, "\"viewers\":1").await;
    assert!(
        events.contains("data: {\"v\":1,\"type\":\"reaction\",\"counts\":{\"👏\":1}}"),
        "{events}"
    );
    assert!(!events.contains("id: "), "{events}");
    talk.say(&room, "no 2").await;
    assert!(read_until(&mut reader, "no 2").await.contains("id: 2\n"));
}

#[testkit::test]
async fn a_hosts_stream_tells_what_only_the_host_sees() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.patch(&room, json!({ "hostId": HOST, "moderation": "pre" })).await.is(200);
    talk.speak(&room, "a", "waits").await.is(201);
    let path = format!("{room}/stream?after=0");
    let mut host = talk.stream(&path, &[("authorization", &bearer(HOST))]).await;
    let events = read_until(&mut host, "waits").await;
    assert!(events.contains("\"state\":\"PENDING\""), "{events}");
    talk.speak(&room, "b", "waits too").await.is(201);
    assert!(read_until(&mut host, "waits too").await.contains("id: 3\n"));
    let mut guest = talk.stream(&path, &[]).await;
    talk.say(&room, "shown").await;
    let events = read_until(&mut guest, "shown").await;
    assert!(!events.contains("waits") && !events.contains("author"), "{events}");
    let wrong = [("authorization", &*bearer(super::OTHER))];
    let refused = talk.ask("GET", &format!("/live/rooms/{room}/stream"), &wrong, "").await;
    refused.is_problem(403, "not_the_host");
}

#[testkit::test]
async fn the_handshake_opens_a_socket_over_tcp() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.get("/live/ws").await.is_problem(426, "upgrade_required");
    let url = format!("ws://{}/live/ws", talk.address);
    let (mut socket, answer) = tokio_tungstenite::connect_async(url).await.unwrap();
    assert_eq!(answer.status(), 101);
    let mut exchange = async |said: Json| -> Json {
        socket.send(said.to_string().into()).await.unwrap();
        let heard = bounded("a frame", socket.next()).await.unwrap().unwrap();
        serde_json::from_str(heard.to_text().unwrap()).unwrap()
    };
    let told = exchange(joined(&room, &json!({ "v": 1 }))).await;
    assert_eq!((&told["type"], &told["roomId"]), (&json!("joined"), &json!(room)));
    let told = exchange(json!({ "action": "postComment", "content": "over the wire" })).await;
    assert_eq!(told["comment"]["content"], "over the wire");
    let told = exchange(json!({ "action": "dance" })).await;
    assert_eq!(told["type"], "posted", "what was posted is acknowledged first");
}

//! What sockets and streams hear, in both forms.

use edge::Visit;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{HOST, House};
use crate::Options;

pub(super) fn joined(room: &str, more: &Json) -> Json {
    let mut said = json!({ "action": "joinRoom", "roomId": room });
    said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    said
}

fn contents(told: &[Json]) -> Vec<String> {
    let comment = |told: &Json| told["comment"]["content"].as_str().map(str::to_owned);
    told.iter().filter_map(comment).collect()
}

#[tokio::test]
async fn the_seeds_client_hears_bare_comments() {
    let house = House::open().await;
    let room = house.create().await;
    let (mut client, told) = house.join(joined(&room, &json!({}))).await;
    assert_eq!(told, [] as [Json; 0]);
    let comment = house.speak(&room, "a", "はい").await.is(201);
    assert_eq!(client.waiting(), [comment]);
    house.patch(&room, json!({ "hostId": HOST })).await.is(200);
    assert_eq!(client.waiting(), [] as [Json; 0]);
    let told = client.say(json!({ "action": "postComment", "content": "x" })).await;
    assert_eq!((&told[0]["type"], &told[0]["code"]), (&json!("error"), &json!("closed")));
}

#[tokio::test]
async fn envelopes_tell_all_that_happens() {
    let house = House::open().await;
    let room = house.create().await;
    house.say(&room, "before").await;
    let join = joined(&room, &json!({ "v": 1, "nickname": "花子" }));
    let (mut client, told) = house.join(join).await;
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
    house.patch(&room, json!({ "hostId": HOST, "slowModeSeconds": 9 })).await.is(200);
    house.patch(&room, json!({ "hostId": HOST })).await.is(200);
    let told = client.heard();
    assert_eq!(
        (&told[0]["room"]["slowModeSeconds"], &told[1]["room"]["status"]),
        (&json!(9), &json!("CLOSED"))
    );
    assert_eq!((&told[0]["type"], &told[1]["seq"]), (&json!("room"), &json!(4)));
    house.as_host("DELETE", &format!("/live/rooms/{room}"), "").await;
    assert_eq!(client.heard()[0]["room"]["status"], "DELETED");
}

#[tokio::test]
async fn a_second_join_moves_the_connection_and_leaving_ends_it() {
    let house = House::open().await;
    let (one, two) = (house.create().await, house.create().await);
    let (mut client, _) = house.join(joined(&one, &json!({ "v": 1 }))).await;
    client.say(joined(&two, &json!({ "v": 1 }))).await;
    let viewers = async |room: &str| {
        house.get(&format!("/live/rooms/{room}")).await.is(200)["viewers"].clone()
    };
    assert_eq!((viewers(&one).await, viewers(&two).await), (json!(0), json!(1)));
    house.say(&one, "not heard").await;
    house.say(&two, "heard").await;
    assert_eq!(contents(&client.heard()), ["heard"]);
    client.say(json!({ "action": "leaveRoom" })).await;
    house.say(&two, "not heard").await;
    assert_eq!((client.heard(), viewers(&two).await), (vec![], json!(0)));
}

#[tokio::test]
async fn many_comments_come_in_frames_and_in_order() {
    let house = House::alone(Options::default()).await;
    let room = house.create().await;
    let (mut client, _) = house.join(joined(&room, &json!({ "v": 1 }))).await;
    let (mut bare, _) = house.join(joined(&room, &json!({}))).await;
    let texts: Vec<String> = (0..75).map(|number| number.to_string()).collect();
    for text in &texts {
        house.say(&room, text).await;
    }
    let first = client.waiting();
    assert_eq!(contents(&first), texts[..50]);
    assert_eq!(bare.waiting().len(), 75, "the seed's form knows no arrays");
    // Whoever joins now is told of what waits in the frame, once.
    let (mut late, told) = house.join(joined(&room, &json!({ "v": 1 }))).await;
    assert_eq!(told[0]["seq"], 50);
    let (_, told) = house.join(joined(&room, &json!({ "v": 1, "after": 70 }))).await;
    assert_eq!(
        contents(&super::flat(told)),
        &texts[70..],
        "what was read elsewhere is not told again"
    );
    let frame = client.waiting();
    assert_eq!((frame.len(), frame[0].as_array().map(Vec::len)), (1, Some(25)));
    assert_eq!(contents(&super::flat(frame)), texts[50..]);
    assert_eq!(contents(&late.heard()), texts[50..]);
    house.pass(1_000).await;
    house.say(&room, "calm").await;
    assert_eq!(contents(&client.waiting()), ["calm"]);
}

#[tokio::test]
async fn a_frame_leaves_after_a_tenth_of_a_second() {
    let house = House::alone(Options::default()).await;
    let room = house.create().await;
    let (mut client, _) = house.join(joined(&room, &json!({ "v": 1 }))).await;
    for number in 0..60 {
        house.say(&room, &number.to_string()).await;
    }
    assert_eq!(client.waiting().len(), 50);
    house.pass(99).await;
    assert_eq!(client.waiting().len(), 0);
    house.pass(1).await;
    assert_eq!(super::flat(client.waiting()).len(), 10);
}

#[tokio::test]
async fn ghosts_are_gone_with_their_lease() {
    let house = House::alone(Options::default()).await;
    let room = house.create().await;
    let (mut living, _) = house.join(joined(&room, &json!({ "v": 1 }))).await;
    let (ghost, _) = house.join(joined(&room, &json!({ "v": 1 }))).await;
    house.pass(500).await;
    assert_eq!(living.waiting(), [json!({ "v": 1, "type": "viewers", "viewers": 2 })]);
    let viewers =
        async || house.get(&format!("/live/rooms/{room}")).await.is(200)["viewers"].clone();
    for _ in 0..2 {
        house.pass(25_000).await;
        living.socket.on_alive();
    }
    assert_eq!(viewers().await, 2);
    house.pass(9_499).await;
    assert_eq!(viewers().await, 2);
    house.pass(1).await;
    assert_eq!(viewers().await, 1);
    house.pass(500).await;
    assert_eq!(living.waiting(), [json!({ "v": 1, "type": "viewers", "viewers": 1 })]);
    while house.rows("LiveComment-Connections-prod").await != 1 {
        tokio::task::yield_now().await;
    }
    drop(ghost);
    drop(living);
    assert_eq!(viewers().await, 0);
    while house.rows("LiveComment-Connections-prod").await != 0 {
        tokio::task::yield_now().await;
    }
    house.pass(130_000).await;
    assert_eq!(house.live.stages.len(), 0, "a quiet room holds no memory");
}

#[tokio::test]
async fn a_slow_reader_delays_nobody_and_is_told_where_to_resume() {
    let house = House::open().await;
    let room = house.create().await;
    let (slow, _) = house.join(joined(&room, &json!({ "v": 1 }))).await;
    let (mut quick, _) = house.join(joined(&room, &json!({ "v": 1 }))).await;
    let mut heard = 0;
    for number in 0..1_100 {
        house.say(&room, &number.to_string()).await;
        house.pass(21).await;
        heard += quick.heard().len();
    }
    assert_eq!(heard, 1_100);
    let mut deliveries = slow.deliveries;
    assert_eq!(deliveries.take(1).await.unwrap_err(), hub::Closed::TooSlow);
    let told = slow.socket.on_leave(&deliveries.positions()).unwrap();
    let told: Json = serde_json::from_str(told.as_str()).unwrap();
    assert_eq!(told["type"], "goAway");
    let resume_from = told["resumeFrom"].as_u64().unwrap();
    let (_, told) = house.join(joined(&room, &json!({ "v": 1, "after": resume_from }))).await;
    assert_eq!(contents(&super::flat(told)).len() as u64, 1_100 - resume_from);
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut all = String::new();
    let mut space = [0; 4_096];
    while !all.contains(end) {
        let count = stream.read(&mut space).await.unwrap();
        assert!(count > 0, "ended without `{end}`: {all}");
        all.push_str(&String::from_utf8_lossy(&space[..count]));
        assert!(!super::is_leaking(&all), "{all}");
    }
    all
}

async fn stream(house: &House, path: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(house.server.address()).await.unwrap();
    let request = format!("GET /live/rooms/{path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_stream_is_numbered_by_the_room_and_resumes_from_any_number() {
    let house = House::open().await;
    let room = house.create().await;
    let mut first = stream(&house, &format!("{room}/stream"), "").await;
    read_until(&mut first, "retry: 2000").await;
    for number in 1..=3 {
        house.say(&room, &format!("no {number}")).await;
    }
    let events = read_until(&mut first, "no 3").await;
    assert!(events.contains("id: 1\ndata: {\"v\":1,\"seq\":1,\"type\":\"comment\""), "{events}");
    let mut again = stream(&house, &format!("{room}/stream"), "last-event-id: 1\r\n").await;
    let events = read_until(&mut again, "no 3").await;
    assert!(!events.contains("no 1") && events.contains("no 2"), "{events}");
    // Also when memory has forgotten it all.
    house.pass(700_000).await;
    let mut late = stream(&house, &format!("{room}/stream"), "last-event-id: 2\r\n").await;
    let events = read_until(&mut late, "no 3").await;
    assert!(!events.contains("no 2") && events.contains("id: 3\n"), "{events}");
    house.get("/live/rooms/nothing/stream").await.is_problem(404, "room_not_found");
    let nonsense = "last-event-id: x\r\n";
    let path = format!("/live/rooms/{room}/stream");
    house.ask("GET", &path, nonsense, "").await.is_problem(400, "invalid");
}

#[tokio::test]
async fn a_stream_tells_what_counts_only_now_without_a_number() {
    let house = House::open().await;
    let room = house.create().await;
    house.say(&room, "no 1").await;
    let mut reader = stream(&house, &format!("{room}/stream?after=0"), "").await;
    let events = read_until(&mut reader, "no 1").await;
    assert!(events.contains("id: 1\ndata: "), "{events}");
    let (mut client, _) = house.join(joined(&room, &json!({ "v": 1 }))).await;
    client.say(json!({ "action": "react", "reaction": "👏" })).await;
    house.pass(500).await;
    let events = read_until(&mut reader, "\"viewers\":1").await;
    assert!(
        events.contains("data: {\"v\":1,\"type\":\"reaction\",\"counts\":{\"👏\":1}}"),
        "{events}"
    );
    assert!(!events.contains("id: "), "{events}");
    house.say(&room, "no 2").await;
    assert!(read_until(&mut reader, "no 2").await.contains("id: 2\n"));
}

#[tokio::test]
async fn a_hosts_stream_tells_what_only_the_host_sees() {
    let house = House::open().await;
    let room = house.create().await;
    house.patch(&room, json!({ "hostId": HOST, "moderation": "pre" })).await.is(200);
    house.speak(&room, "a", "waits").await.is(201);
    let path = format!("{room}/stream?after=0");
    let mut host = stream(&house, &path, &format!("authorization: Bearer {HOST}\r\n")).await;
    let events = read_until(&mut host, "waits").await;
    assert!(events.contains("\"state\":\"PENDING\""), "{events}");
    house.speak(&room, "b", "waits too").await.is(201);
    assert!(read_until(&mut host, "waits too").await.contains("id: 3\n"));
    let mut guest = stream(&house, &path, "").await;
    house.say(&room, "shown").await;
    let events = read_until(&mut guest, "shown").await;
    assert!(!events.contains("waits") && !events.contains("author"), "{events}");
    let wrong = format!("authorization: Bearer {}\r\n", super::OTHER);
    let refused = house.ask("GET", &format!("/live/rooms/{room}/stream"), &wrong, "").await;
    refused.is_problem(403, "not_the_host");
}

#[tokio::test]
async fn the_handshake_opens_a_socket_over_tcp() {
    let house = House::open().await;
    let room = house.create().await;
    house.get("/live/ws").await.is_problem(426, "upgrade_required");
    let url = format!("ws://{}/live/ws", house.server.address());
    let (mut socket, answer) = tokio_tungstenite::connect_async(url).await.unwrap();
    assert_eq!(answer.status(), 101);
    let mut talk = async |said: Json| -> Json {
        socket.send(said.to_string().into()).await.unwrap();
        let heard = socket.next().await.unwrap().unwrap();
        serde_json::from_str(heard.to_text().unwrap()).unwrap()
    };
    let told = talk(joined(&room, &json!({ "v": 1 }))).await;
    assert_eq!((&told["type"], &told["roomId"]), (&json!("joined"), &json!(room)));
    let told = talk(json!({ "action": "postComment", "content": "over the wire" })).await;
    assert_eq!(told["comment"]["content"], "over the wire");
    let told = talk(json!({ "action": "dance" })).await;
    assert_eq!(told["type"], "posted", "what was posted is acknowledged first");
}

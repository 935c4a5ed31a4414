//! WebSockets over real TCP, spoken to by another implementation and by hand.

use std::time::Duration;

use edge::StreamOptions;
use futures_util::{SinkExt, StreamExt};
use testkit::wait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::streams::{HISTORY, StreamSite, read_until};

type Client = WebSocketStream<TcpStream>;

const HANDSHAKE: &str = "connection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

async fn streaming() -> StreamSite {
    StreamSite::start(StreamOptions::default()).await
}

async fn connect(streaming: &StreamSite) -> Client {
    connect_with(streaming, |_| {}).await.unwrap().0
}

async fn connect_with(
    streaming: &StreamSite,
    change: impl FnOnce(&mut Request),
) -> Result<(Client, Response), Error> {
    let address = streaming.site.address;
    let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
    change(&mut request);
    let stream = TcpStream::connect(address).await.unwrap();
    tokio_tungstenite::client_async(request, stream).await
}

/// The next text; pings are answered by the client itself.
async fn next(client: &mut Client) -> String {
    loop {
        match wait::bounded("the next message", client.next()).await.unwrap().unwrap() {
            Message::Text(text) => return text.as_str().to_owned(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn say(client: &mut Client, text: &str) {
    client.send(Message::text(text.to_owned())).await.unwrap();
}

async fn follow(client: &mut Client, topic: &str) {
    say(client, &format!("follow {topic}")).await;
    assert_eq!(next(client).await, "joined gap=false");
}

/// Reads to the end; the code and the reason with which the house closed.
async fn closed(client: &mut Client) -> (u16, String) {
    let mut word = None;
    while let Some(Ok(message)) = wait::bounded("the close", client.next()).await {
        if let Message::Close(frame) = message {
            let CloseFrame { code, reason } = frame.unwrap();
            word = Some((u16::from(code), reason.as_str().to_owned()));
        }
    }
    word.unwrap()
}

/// A handshake by hand, for frames that no library sends.
async fn by_hand(streaming: &StreamSite) -> TcpStream {
    let mut stream = streaming.ask("/ws", HANDSHAKE).await;
    let answer = read_until(&mut stream, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
    stream
}

/// A frame from a client, masked with zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() < 126);
    [&[first, 0x80 | payload.len() as u8, 0, 0, 0, 0], payload].concat()
}

/// The rest of the connection: code and reason of the close frame at its end.
async fn read_close(mut stream: TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let (head, rest) = bytes.split_at(2);
    assert_eq!(head, [0x88, rest.len() as u8], "one close frame: {bytes:?}");
    let (code, reason) = rest.split_at(2);
    (u16::from_be_bytes([code[0], code[1]]), String::from_utf8(reason.to_vec()).unwrap())
}

#[testkit::test]
async fn replies_and_pushes_arrive_in_order() {
    let streaming = streaming().await;
    let mut client = connect(&streaming).await;
    say(&mut client, "echo one").await;
    assert_eq!(next(&mut client).await, "one");
    client.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    assert_eq!(next(&mut client).await, "3 bytes");
    follow(&mut client, "a").await;
    let long = "x".repeat(70_000);
    for text in ["short", &"y".repeat(200), &long, "last"] {
        streaming.channel.publish("a", text.to_owned());
    }
    assert_eq!(next(&mut client).await, "short");
    assert_eq!(next(&mut client).await.len(), 200);
    assert_eq!(next(&mut client).await, long);
    assert_eq!(next(&mut client).await, "last");
    client.close(None).await.unwrap();
    while client.next().await.is_some() {}
    assert_eq!(streaming.channel.audience("a"), 0);
    streaming.site.drain().await;
}

#[testkit::test]
async fn a_long_push_alone_arrives_whole_however_little_the_system_takes_at_once() {
    let streaming = streaming().await;
    let mut client = connect(&streaming).await;
    follow(&mut client, "a").await;
    for length in [4_095, 4_096, 65_535, 65_536, 8_000_000] {
        // Nothing repeats, so that a part that is lost or doubled shows.
        let long: String = (0..length / 8).map(|number| format!("{number:8}")).collect();
        streaming.channel.publish("a", long.clone());
        assert!(next(&mut client).await == long, "{length}");
    }
    streaming.channel.publish("a", "last");
    assert_eq!(next(&mut client).await, "last");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn pushes_go_on_while_a_message_is_answered() {
    let streaming = streaming().await;
    let mut client = connect(&streaming).await;
    follow(&mut client, "a").await;
    say(&mut client, "wait").await;
    say(&mut client, "echo not before the first is answered").await;
    streaming.channel.publish("a", "push");
    assert_eq!(next(&mut client).await, "push");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn what_waits_leaves_in_one_write() {
    let streaming = streaming().await;
    let mut stream = by_hand(&streaming).await;
    stream.write_all(&frame(0x81, b"follow a")).await.unwrap();
    read_until(&mut stream, "joined gap=false").await;
    // One turn of the runtime publishes all; the connection gets its turn after that.
    for _ in 0..50 {
        streaming.channel.publish("a", "x".repeat(100));
    }
    stream.readable().await.unwrap();
    let mut space = vec![0; 65_536];
    let count = stream.try_read(&mut space).unwrap();
    assert_eq!(count, 50 * 102, "fifty frames in one piece");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_room_closes_with_its_own_code() {
    let streaming = streaming().await;
    let mut client = connect(&streaming).await;
    say(&mut client, "dance").await;
    assert_eq!(closed(&mut client).await, (4_000, "cannot dance".to_owned()));
    let mut client = connect(&streaming).await;
    say(&mut client, "end").await;
    assert_eq!(closed(&mut client).await, (1_000, "done".to_owned()));
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn malformed_frames_are_answered_with_their_code() {
    let streaming =
        StreamSite::start(StreamOptions { message_bytes_max: 1_024, ..StreamOptions::default() })
            .await;
    let huge = [0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let cases: [(&[u8], u16, &str); 8] = [
        (b"\x81\x05hello", 1_002, "unmasked"),
        (&frame(0x83, b"x"), 1_002, "opcode"),
        (&frame(0xf1, b"x"), 1_002, "reserved"),
        (&frame(0x80, b"x"), 1_002, "continue"),
        (&frame(0x09, b"x"), 1_002, "fragmented"),
        (&frame(0x81, b"\xff\xfe"), 1_007, "the text is not UTF-8"),
        (&huge, 1_009, "the message has 65536 bytes, at most 1024 allowed"),
        (&[frame(0x01, b"x"), frame(0x81, b"x")].concat(), 1_002, "fragments"),
    ];
    for (bytes, code, word) in cases {
        let mut stream = by_hand(&streaming).await;
        stream.write_all(bytes).await.unwrap();
        let (told, reason) = read_close(stream).await;
        assert_eq!(told, code, "{bytes:?}: {reason}");
        assert!(reason.contains(word), "{reason}");
        streaming.site.is_alive().await;
    }
    streaming.site.drain().await;
}

#[testkit::test]
async fn a_message_in_many_pieces_is_bounded_as_a_whole() {
    let streaming =
        StreamSite::start(StreamOptions { message_bytes_max: 1_024, ..StreamOptions::default() })
            .await;
    let mut stream = by_hand(&streaming).await;
    stream.write_all(&frame(0x01, &[b'x'; 100])).await.unwrap();
    for _ in 0..10 {
        stream.write_all(&frame(0x00, &[b'x'; 100])).await.unwrap();
    }
    let (code, reason) = read_close(stream).await;
    assert_eq!((code, reason.contains("at most 1024 allowed")), (1_009, true), "{reason}");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_request_that_is_no_handshake_is_told_so() {
    let streaming = streaming().await;
    let key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";
    let cases = [
        (String::new(), 426, "upgrade_required"),
        (HANDSHAKE.replace("13", "8"), 426, "upgrade_required"),
        (HANDSHAKE.replace(key, "sec-websocket-key: short"), 400, "bad_handshake"),
        (format!("{HANDSHAKE}sec-websocket-protocol: worse\r\n"), 400, "no_common_protocol"),
        (format!("{HANDSHAKE}origin: https://foe.example\r\n"), 403, "origin_refused"),
        (format!("{HANDSHAKE}origin: null\r\n"), 403, "origin_refused"),
    ];
    for (headers, status, code) in cases {
        let mut stream = streaming.ask("/ws", &headers).await;
        let answer = read_until(&mut stream, "}").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains(&format!(r#""code":"{code}""#)), "{answer}");
    }
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn own_pages_and_friends_connect_and_the_best_protocol_is_chosen() {
    let streaming = streaming().await;
    let own = format!("http://{}", streaming.site.address);
    for origin in ["https://friend.example", &own] {
        let (_, response) = connect_with(&streaming, |request| {
            let headers = request.headers_mut();
            headers.insert("origin", origin.parse().unwrap());
            headers.insert("sec-websocket-protocol", "good, better, best".parse().unwrap());
        })
        .await
        .unwrap();
        assert_eq!(response.headers()["sec-websocket-protocol"], "better");
    }
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_half_open_socket_is_dropped_when_it_has_been_silent_too_long() {
    let streaming = streaming().await;
    let mut silent = by_hand(&streaming).await;
    silent.write_all(&frame(0x81, b"follow a")).await.unwrap();
    read_until(&mut silent, "joined gap=false").await;
    let mut alive = connect(&streaming).await;
    follow(&mut alive, "a").await;
    for _ in 0..12 {
        streaming.site.time.advance(Duration::from_secs(5)).await;
        // Reading answers the pings.
        say(&mut alive, "echo here").await;
        assert_eq!(next(&mut alive).await, "here");
    }
    let mut rest = Vec::new();
    silent.read_to_end(&mut rest).await.unwrap();
    assert!(rest.starts_with(&[0x89, 0]), "it was pinged first: {rest:?}");
    assert_eq!(streaming.channel.audience("a"), 1);
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_pong_is_a_sign_of_life_and_a_ping_is_answered() {
    let streaming = streaming().await;
    let mut quiet = by_hand(&streaming).await;
    for _ in 0..30 {
        streaming.site.time.advance(Duration::from_secs(10)).await;
        quiet.write_all(&frame(0x8a, b"")).await.unwrap();
        quiet.write_all(&frame(0x89, b"you?")).await.unwrap();
        read_until(&mut quiet, "you?").await;
    }
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_stalled_reader_delays_nobody_and_is_told_of_its_gap() {
    const PUSHES: usize = 3_000;
    let options = StreamOptions { queue_pushes_max: 50, ..StreamOptions::default() };
    let streaming = StreamSite::start(options).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let stream = socket.connect(streaming.site.address).await.unwrap();
    let request = format!("ws://{}/ws", streaming.site.address).into_client_request().unwrap();
    let (mut stalled, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    follow(&mut stalled, "a").await;
    let mut healthy = connect(&streaming).await;
    follow(&mut healthy, "a").await;
    let padding = "x".repeat(1_000);
    for number in 0..PUSHES {
        streaming.channel.publish("a", format!("{number} {padding}"));
        // History waits a moment for a reader that only had no turn.
        streaming.site.time.advance(Duration::from_millis(1)).await;
        let text = next(&mut healthy).await;
        assert_eq!(text.split(' ').next(), Some(number.to_string().as_str()));
    }
    // The stalled one wakes up: everything in order, with one gap that says how much is lost.
    let (mut expected, mut lost) = (0, 0);
    while expected < PUSHES {
        let text = next(&mut stalled).await;
        let words: Vec<&str> = text.split(' ').collect();
        if words[0] == "gap" {
            let missed: usize = words[1].parse().unwrap();
            (lost, expected) = (lost + missed, expected + missed);
        } else {
            assert_eq!(words[0], expected.to_string());
            expected += 1;
        }
    }
    assert!(lost > PUSHES / 2 && lost < PUSHES - HISTORY, "{lost} lost");
    streaming.site.still_serves().await;
}

#[testkit::test]
async fn a_drain_tells_everyone_where_to_resume_and_closes_in_stages() {
    let streaming = streaming().await;
    let channel = streaming.channel.clone();
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = connect(&streaming).await;
        follow(&mut client, "a").await;
        clients.push(client);
    }
    channel.publish("a", "seen");
    for client in &mut clients {
        assert_eq!(next(client).await, "seen");
    }
    let mut at = Vec::new();
    let (drained, ()) = tokio::join!(streaming.site.server.drain(), async {
        for _ in 0..50 {
            streaming.site.time.advance(Duration::from_millis(100)).await;
            at.push(channel.audience("a"));
        }
        for client in &mut clients {
            let word = next(client).await;
            assert!(word.starts_with("resume ") && word.ends_with("-1"), "{word}");
            let going = (1_001, "the house is closing".to_owned());
            assert_eq!(closed(client).await, going);
        }
        streaming.site.time.advance(Duration::from_secs(10)).await;
    });
    drained.unwrap();
    assert_eq!(at.last(), Some(&0));
    assert!(at.iter().any(|left| (5..15).contains(left)), "not all at once: {at:?}");
}

#[testkit::test]
async fn a_client_that_was_told_resumes_without_loss() {
    let streaming = streaming().await;
    let mut client = connect(&streaming).await;
    follow(&mut client, "a").await;
    streaming.channel.publish("a", "0");
    assert_eq!(next(&mut client).await, "0");
    drop(client);
    let poll = streaming.site.get("/poll").await.is(200);
    let cursor = poll["cursor"].as_str().unwrap().split(',').next().unwrap();
    streaming.channel.publish("a", "1");
    streaming.channel.publish("a", "2");
    let mut client = connect(&streaming).await;
    say(&mut client, &format!("follow a {cursor}")).await;
    for expected in ["joined gap=false", "1", "2"] {
        assert_eq!(next(&mut client).await, expected);
    }
    streaming.site.still_serves().await;
}

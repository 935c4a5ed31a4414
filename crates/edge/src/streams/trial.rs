//! A house with streams on a real socket, for the tests of all three transports.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::get;
use base::{Clock, Random, Tasks};
use hub::{
    Channel, ChannelSpec, Cursor, Follow, Gap, History, Hub, Since, Standing, Subscriber, Text,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{
    Close, Draining, Failure, Message, Options, Origins, Readiness, Server, StreamOptions, Streams,
    Terms, Traces, Upgrade, Visit, Want,
};

/// Pushes that its channel keeps.
pub(crate) const HISTORY: usize = 100;

pub(crate) struct House {
    pub(crate) server: Server,
    pub(crate) channel: Channel,
}

#[derive(Clone)]
struct Room {
    streams: Streams,
    channel: Channel,
}

impl House {
    pub(crate) async fn start(options: StreamOptions, clock: Clock) -> House {
        let random = Random::seeded(1);
        let hub = Hub::in_process(&clock, &random, &Tasks::new());
        let history = History { pushes: HISTORY, bytes: 1 << 20, age: Duration::from_secs(600) };
        let channel = hub.channel(ChannelSpec::new("trial", history));
        let streams = Streams::new(&options, &hub, &clock, &random);
        let room = Room { streams, channel: channel.clone() };
        let routes = Router::new()
            .route("/ws", get(get_socket))
            .route("/events", get(get_events))
            .route("/greeted", get(get_greeted))
            .route("/numbered", get(get_numbered))
            .route("/poll", get(get_poll))
            .route("/alive", get(|| async { "alive" }))
            .with_state(room);
        let options =
            Options { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Options::default() };
        let rooms = vec![crate::Room::new("trial", routes)];
        let traces = Traces::uncollected(random);
        let server = Server::start(&options, rooms, clock, Readiness::new(), traces).await.unwrap();
        House { server, channel }
    }

    /// Sends a request with these headers and hands over the connection.
    pub(crate) async fn ask(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: house\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// The whole answer to a request.
    pub(crate) async fn answer(&self, path: &str, headers: &str) -> String {
        let mut answer = String::new();
        let mut stream = self.ask(path, &format!("{headers}connection: close\r\n")).await;
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Whatever happened, the house goes on.
    pub(crate) async fn assert_healthy(&self) {
        let answer = self.answer("/alive", "").await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("alive"), "{answer}");
    }
}

/// Reads until the text has come.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut all = Vec::new();
    let mut space = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if text.contains(end) {
            return text;
        }
        let count = stream.read(&mut space).await.unwrap();
        assert!(count > 0, "ended without `{end}`: {text}");
        all.extend_from_slice(&space[..count]);
    }
}

async fn get_socket(State(room): State<Room>, upgrade: Upgrade) -> Result<Response, Failure> {
    let origins = Origins::Listed(vec!["https://friend.example".to_owned()]);
    let terms = Terms { protocols: &["better", "good"], origins };
    let channel = room.channel.clone();
    room.streams
        .accept(upgrade, &terms, |opening| Guest { subscriber: opening.subscriber, channel })
}

async fn get_greeted(
    State(room): State<Room>,
    draining: Draining,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let greet = |want: &Want| Some(Text::from(format!("hello {}", want.topic)));
    let want = Want { channel: room.channel, topic: "a".to_owned(), follow: Follow::default() };
    room.streams.greeted_events(&headers, &draining, &[want], greet)
}

async fn get_events(
    State(room): State<Room>,
    draining: Draining,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    room.streams.events(&headers, &draining, &wants(&room.channel))
}

/// A topic whose pushes say their own numbers, behind one from the room's log.
async fn get_numbered(State(room): State<Room>, draining: Draining) -> Result<Response, Failure> {
    let want = Want { channel: room.channel, topic: "n".to_owned(), follow: Follow::default() };
    room.streams.events_numbered(&draining, &[want], &[Text::from("6 from\nthe log")])
}

async fn get_poll(
    State(room): State<Room>,
    draining: Draining,
    uri: Uri,
) -> Result<Response, Failure> {
    let find = |name: &str| {
        let mut pairs = uri.query().into_iter().flat_map(|query| query.split('&'));
        pairs.find_map(|pair| pair.strip_prefix(name))
    };
    let wait = find("wait=").map_or(20, |wait| wait.parse().unwrap());
    let wait = Duration::from_secs(wait);
    room.streams.poll(find("after="), wait, &draining, &wants(&room.channel)).await
}

fn wants(channel: &Channel) -> Vec<Want> {
    let want = |topic: &str| Want {
        channel: channel.clone(),
        topic: topic.to_owned(),
        follow: Follow::default(),
    };
    vec![want("a"), want("b")]
}

/// Answers `follow <topic> [position]`, `echo <text>`, `wait` and `leave`.
struct Guest {
    subscriber: Subscriber,
    channel: Channel,
}

impl Visit for Guest {
    async fn on_message(&self, message: Message) -> Result<(), Close> {
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(bytes) => format!("echo {} bytes", bytes.len()),
        };
        match text.split(' ').collect::<Vec<_>>().as_slice() {
            ["follow", topic, from @ ..] => {
                let from = from.first().map(|from| Since::After(from.parse().unwrap()));
                let follow = Follow { since: from.unwrap_or_default(), ..Follow::default() };
                let greet =
                    |joined: &hub::Joined| Some(Text::from(format!("joined gap={}", joined.gap)));
                self.subscriber.follow(&self.channel, topic, follow, greet).unwrap();
            }
            ["echo", rest @ ..] => self.subscriber.send(rest.join(" ")).unwrap(),
            ["wait"] => std::future::pending().await,
            ["end"] => self.subscriber.close(),
            other => return Err(Close::new(4_000, format!("cannot {}", other.join(" ")))),
        }
        Ok(())
    }

    fn on_gap(&self, gap: &Gap) -> Option<Text> {
        Some(Text::from(format!("gap {} after {}", gap.missed, gap.after)))
    }

    fn on_leave(&self, standings: &[Standing]) -> Option<Text> {
        let cursor = Cursor(standings.iter().map(|standing| standing.position).collect());
        Some(Text::from(format!("resume {cursor}")))
    }
}

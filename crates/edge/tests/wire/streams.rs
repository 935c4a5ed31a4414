//! A room with streams, for the tests of all three transports.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::get;
use edge::{
    Close, Draining, Failure, Message, Origins, StreamOptions, Streams, Terms, Upgrade, Visit, Want,
};
use hub::{Channel, ChannelSpec, Cursor, Follow, Gap, History, Since, Standing, Subscriber, Text};
use testkit::{World, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Site, options, uncollected};

/// Pushes that its channel keeps.
pub(crate) const HISTORY: usize = 100;

/// A server with that room.
pub(crate) struct StreamSite {
    pub(crate) site: Site,
    pub(crate) channel: Channel,
}

#[derive(Clone)]
struct Room {
    streams: Streams,
    channel: Channel,
}

impl StreamSite {
    pub(crate) async fn start(options: StreamOptions) -> StreamSite {
        let world = World::new().await;
        let instance = world.instance().await;
        let ground = &instance.ground;
        let history = History { pushes: HISTORY, bytes: 1 << 20, age: Duration::from_secs(600) };
        let channel = ground.hub.channel(ChannelSpec::new("test", history));
        let streams = Streams::new(&options, &ground.hub, &ground.clock, &ground.random);
        let room = Room { streams, channel: channel.clone() };
        let routes = Router::new()
            .route("/ws", get(get_socket))
            .route("/events", get(get_events))
            .route("/greeted", get(get_greeted))
            .route("/numbered", get(get_numbered))
            .route("/poll", get(get_poll))
            .with_state(room);
        let rooms = vec![edge::Room::new("streams", routes)];
        let site = Site::on(&world, instance, rooms, self::options(), uncollected).await;
        StreamSite { site, channel }
    }

    /// Sends a request with these headers and hands over the connection.
    pub(crate) async fn ask(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = self.site.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nhost: house\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Waits until somebody follows the topic.
    pub(crate) async fn until_followed(&self, topic: &str) {
        wait::until_async("a follower", async || {
            wait::holds(self.channel.audience(topic) > 0, "nobody")
        })
        .await;
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
        let count = wait::bounded(end, stream.read(&mut space)).await.unwrap();
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

/// A topic whose pushes say their own numbers, after one from the room's log.
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

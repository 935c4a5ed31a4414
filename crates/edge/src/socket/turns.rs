//! Turns of connections that share one thread: publishers that never wait, beside a reader that
//! drains its socket. The thread polls whoever is ready, one after another, so that each run is the
//! same.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp};
use bytes::Bytes;
use hub::{Channel, ChannelSpec, Follow, Gap, History, Hub, Standing, Text};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::connection::Connection;
use super::{Close, Message, Visit};
use crate::streams::Shared;
use crate::{Draining, StreamOptions, Streams};

/// Far more than a queue and history hold together.
const MESSAGES: usize = 20_000;
const HISTORY: History = History { pushes: 1_000, bytes: 1 << 20, age: Duration::from_secs(120) };
/// What the system keeps for a socket.
const PIPE_BYTES: usize = 65_536;
/// Turns after which a test that is not done has lost something.
const TURNS_MAX: usize = 100_000;

struct Guest {
    channel: Channel,
}

impl Visit for Guest {
    async fn on_message(&self, message: Message) -> Result<(), Close> {
        if let Message::Text(text) = message {
            self.channel.publish("t", text);
        }
        Ok(())
    }

    fn on_gap(&self, gap: &Gap) -> Option<Text> {
        Some(Text::from(format!("gap of {}", gap.missed)))
    }

    fn on_leave(&self, _: &[Standing]) -> Option<Text> {
        None
    }
}

struct Stage {
    streams: Arc<Shared>,
    channel: Channel,
    connections: Tasks,
    draining: Draining,
}

impl Stage {
    fn new() -> Stage {
        let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
        let (random, connections) = (Random::seeded(1), Tasks::new());
        let hub = Hub::in_process(&clock, &random, &connections);
        let channel = hub.channel(ChannelSpec::new("turns", HISTORY));
        let streams = Streams::new(&StreamOptions::default(), &hub, &clock, &random).shared;
        let draining = Draining::new(&connections);
        Stage { streams, channel, connections, draining }
    }

    /// Opens a connection; the client's end of it.
    fn open(&self, follows: bool, pipe_bytes: usize) -> DuplexStream {
        let (client, server) = tokio::io::duplex(pipe_bytes);
        let (subscriber, deliveries) = self.streams.hub.subscriber(self.streams.queue);
        if follows {
            subscriber.follow(&self.channel, "t", Follow::default(), |_| None).unwrap();
        }
        let visit = Arc::new(Guest { channel: self.channel.clone() });
        let (streams, draining) = (self.streams.clone(), &self.draining);
        let connection =
            Connection::new(server, Bytes::new(), visit, deliveries, streams, draining);
        self.connections.spawn("socket", connection.run());
        client
    }

    /// A client that has sent all its messages before the first of them is read.
    async fn flood(&self, messages: usize, bytes: usize) -> DuplexStream {
        let frame = frame(&"x".repeat(bytes));
        let mut client = self.open(false, frame.len() * messages);
        client.write_all(&frame.repeat(messages)).await.unwrap();
        client
    }
}

/// A short text as a client sends it, masked with zeros.
fn frame(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 126).unwrap();
    [&[0x81, 0x80 | length, 0, 0, 0, 0], text.as_bytes()].concat()
}

/// The texts in whole frames of a server; takes them off.
fn take_texts(bytes: &mut Vec<u8>) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some(length) = bytes.get(1).map(|length| usize::from(*length))
        && bytes.len() >= 2 + length
    {
        assert!(length < 126, "a short frame");
        let frame: Vec<u8> = bytes.drain(..2 + length).collect();
        texts.push(String::from_utf8(frame[2..].to_vec()).unwrap());
    }
    texts
}

/// Reads until so many texts came; answers those that are no message.
async fn drain(mut client: DuplexStream, messages: usize) -> Vec<String> {
    let (mut bytes, mut space) = (Vec::new(), vec![0; PIPE_BYTES]);
    let (mut heard, mut others) = (0, Vec::new());
    while heard < messages && others.is_empty() {
        let count = client.read(&mut space).await.unwrap();
        assert!(count > 0, "cut off after {heard} messages");
        bytes.extend_from_slice(&space[..count]);
        for text in take_texts(&mut bytes) {
            if text.starts_with('x') { heard += 1 } else { others.push(text) }
        }
    }
    others
}

/// Runs a future to its end within a bounded number of turns of the thread.
async fn within_turns<T>(future: impl Future<Output = T>) -> T {
    let turns = async {
        for _ in 0..TURNS_MAX {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        done = future => done,
        () = turns => panic!("not done after {TURNS_MAX} turns"),
    }
}

async fn assert_nothing_is_missed(publishers: usize, bytes: usize) {
    let stage = Stage::new();
    let reader = stage.open(true, PIPE_BYTES);
    let mut clients = Vec::new();
    for _ in 0..publishers {
        clients.push(stage.flood(MESSAGES / publishers, bytes).await);
    }
    let missed = within_turns(drain(reader, MESSAGES)).await;
    assert!(missed.is_empty(), "{publishers} publishers of {bytes} bytes: {missed:?}");
}

#[tokio::test]
async fn a_reader_that_drains_misses_nothing_of_a_publisher_that_never_waits() {
    assert_nothing_is_missed(1, 20).await;
    assert_nothing_is_missed(1, 120).await;
}

#[tokio::test]
async fn a_reader_that_drains_misses_nothing_of_many_publishers_that_never_wait() {
    assert_nothing_is_missed(16, 20).await;
    assert_nothing_is_missed(16, 120).await;
}

//! Any bytes from a client after its handshake.

use std::sync::Arc;

use base::{Clock, Random, Tasks, Timestamp};
use bytes::Bytes;
use hub::{Gap, Hub, Standing, Subscriber, Text};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connection::Connection;
use super::{Close, Message, Visit};
use crate::streams::Shared;
use crate::{Draining, StreamOptions, Streams};

/// Small, so that inputs reach it.
const MESSAGE_BYTES_MAX: usize = 200;
/// Far more than the answers to one input.
const PIPE_BYTES: usize = 1 << 20;

/// Notes what it hears, and says it again.
struct Echo {
    subscriber: Subscriber,
    heard: Arc<Mutex<Vec<Message>>>,
}

impl Visit for Echo {
    async fn on_message(&self, message: Message) -> Result<(), Close> {
        if let Message::Text(text) = &message {
            let _sent = self.subscriber.send(text.clone());
        }
        self.heard.lock().push(message);
        Ok(())
    }

    fn on_gap(&self, _: &Gap) -> Option<Text> {
        None
    }

    fn on_leave(&self, _: &[Standing]) -> Option<Text> {
        None
    }
}

struct Stage {
    streams: Arc<Shared>,
    draining: Draining,
    _tasks: Tasks,
}

impl Stage {
    fn new() -> Stage {
        let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
        let (random, tasks) = (Random::seeded(1), Tasks::new());
        let hub = Hub::in_process(&clock, &random, &tasks);
        let options =
            StreamOptions { message_bytes_max: MESSAGE_BYTES_MAX, ..StreamOptions::default() };
        let streams = Streams::new(&options, &hub, &clock, &random).shared;
        Stage { streams, draining: Draining::new(&tasks), _tasks: tasks }
    }

    /// The life of a connection: `begun` came with the handshake, `rest` afterwards. What the room
    /// heard, and what left.
    async fn run(&self, begun: &[u8], rest: &[u8]) -> (Vec<Message>, Vec<u8>) {
        let (mut client, server) = tokio::io::duplex(PIPE_BYTES);
        client.write_all(rest).await.unwrap();
        client.shutdown().await.unwrap();
        let (subscriber, deliveries) = self.streams.hub.subscriber(self.streams.queue);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let visit = Arc::new(Echo { subscriber, heard: Arc::clone(&heard) });
        let (begun, streams) = (Bytes::copy_from_slice(begun), self.streams.clone());
        Connection::new(server, begun, visit, deliveries, streams, &self.draining).run().await;
        let mut left = Vec::new();
        client.read_to_end(&mut left).await.unwrap();
        let heard = std::mem::take(&mut *heard.lock());
        (heard, left)
    }
}

/// The kinds of the frames that a server sent: whole, final, and not masked.
fn frames(mut bytes: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let [head, length, rest @ ..] = bytes {
        assert_eq!(head & 0xf0, 0x80, "a frame is final and has no extension");
        let (length, rest) = match length {
            126 => {
                let (length, rest) = rest.split_first_chunk().expect("a length of two bytes");
                (usize::from(u16::from_be_bytes(*length)), rest)
            }
            127.. => panic!("masked, or longer than a message may be"),
            short => (usize::from(*short), rest),
        };
        kinds.push(head & 0x0f);
        bytes = rest.get(length..).expect("a frame is whole");
    }
    assert!(bytes.is_empty(), "a head is whole");
    kinds
}

#[tokio::test]
async fn nothing_follows_the_answer_to_a_close_frame() {
    const CLOSE: u8 = 8;
    let text = [0x81, 0x82, 0, 0, 0, 0, b'h', b'i'];
    let close = [0x88, 0x80, 0, 0, 0, 0];
    // The reply to the first text waits when the close frame is read.
    let sent = [&text[..], &close[..], &text[..]].concat();
    let (heard, left) = Stage::new().run(&[], &sent).await;
    assert_eq!(heard, [Message::Text("hi".to_owned())]);
    assert_eq!(frames(&left), [CLOSE]);
}

#[test]
fn every_stream_of_frames_is_heard_alike_however_it_is_cut() {
    const TEXT: u8 = 1;
    const CLOSE: u8 = 8;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stage = runtime.block_on(async { Stage::new() });
    testkit::fuzz::check("frames", |input| {
        let Some((cut, bytes)) = input.split_first() else { return };
        let (begun, rest) = bytes.split_at(usize::from(*cut).min(bytes.len()));
        let (heard, left) = runtime.block_on(stage.run(&[], bytes));
        let again = runtime.block_on(stage.run(begun, rest));
        assert_eq!(again.0, heard);
        for message in &heard {
            let bytes = match message {
                Message::Text(text) => text.len(),
                Message::Binary(bytes) => bytes.len(),
            };
            assert!(bytes <= MESSAGE_BYTES_MAX, "a message of {bytes} bytes");
        }
        let kinds = frames(&left);
        let closing = kinds.iter().position(|kind| *kind == CLOSE);
        assert!(closing.is_none_or(|at| at + 1 == kinds.len()), "{kinds:?}");
        let texts = heard.iter().filter(|message| matches!(message, Message::Text(_))).count();
        let replies = kinds.iter().filter(|kind| **kind == TEXT).count();
        assert!(replies <= texts, "{replies} replies to {texts} texts");
    });
}

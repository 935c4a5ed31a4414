//! The sockets of a whole audience on one thread: they read and count pushes, and read from each
//! push when it was sent.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::house::masked;
use super::poller::Poller;
use crate::run;

/// Digits of a stamp.
pub(super) const STAMP_DIGITS: usize = 20;
/// The first key of watched connections.
const WATCHED: usize = 1 << 32;
/// The text before a stamp in a push.
const MARKS: [&[u8]; 3] = [b"\"value\":\"", b"\"name\":\"", b"\"content\":\""];
/// Shorter frames are keep-alives and greetings.
const PUSH_BYTES_MIN: usize = 100;

/// The protocol of a socket.
#[derive(Clone, Copy)]
pub(super) enum SocketProtocol {
    /// WebSocket frames; a long one is a push.
    Frames,
    /// WebSocket frames with any number of comments of the live room.
    Comments,
    /// WebSocket frames with any number of posts of the sns room.
    Posts,
    /// WebSocket frames of socket.io.
    SocketIo,
    /// NATS messages, all of this length.
    Nats(usize),
}

/// All sockets of the audience.
pub(super) struct Crowd {
    poller: Poller,
    sockets: Vec<Socket>,
    space: Vec<u8>,
    start: Instant,
    arrived: u64,
    /// For each stamp the number of its arrivals, and its last age; not kept in a flood.
    ages: Option<HashMap<u64, (usize, Duration)>>,
}

struct Socket {
    stream: TcpStream,
    speech: SocketProtocol,
    heard: u64,
    /// Sent after the response to the handshake.
    opening: Option<Vec<u8>>,
    /// The beginning of an incomplete frame.
    rest: Vec<u8>,
}

impl Crowd {
    pub(super) fn new() -> Result<Crowd, String> {
        Ok(Crowd {
            poller: Poller::new()?,
            sockets: Vec::new(),
            space: vec![0; 256 * 1024],
            start: run::now(),
            arrived: 0,
            ages: Some(HashMap::new()),
        })
    }

    /// Nanoseconds since the start of the crowd: a stamp.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Adds a socket that follows a topic.
    pub(super) fn enter(
        &mut self,
        stream: &TcpStream,
        speech: SocketProtocol,
    ) -> Result<(), String> {
        let describe = |error: std::io::Error| error.to_string();
        stream.set_nonblocking(true).map_err(describe)?;
        self.poller.add(stream, self.sockets.len())?;
        let stream = stream.try_clone().map_err(describe)?;
        self.sockets.push(Socket { stream, speech, rest: Vec::new(), heard: 0, opening: None });
        Ok(())
    }

    /// Adds a socket whose handshake is not finished; `then` is sent after it.
    pub(super) fn enter_opening(
        &mut self,
        stream: &TcpStream,
        speech: SocketProtocol,
        then: Vec<u8>,
    ) -> Result<(), String> {
        self.enter(stream, speech)?;
        if let Some(socket) = self.sockets.last_mut() {
            socket.opening = Some(then);
        }
        Ok(())
    }

    /// Makes [`Crowd::hear`] return this index when the connection has a response.
    pub(super) fn watch(&self, stream: &TcpStream, index: usize) -> Result<(), String> {
        self.poller.add(stream, WATCHED + index)
    }

    /// Only counts from now on.
    pub(super) fn forget_ages(&mut self) {
        self.ages = None;
    }

    /// The number of pushes that arrived.
    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Reads for at most this time; returns the watched connections that are ready.
    pub(super) fn hear(&mut self, within: Duration) -> Result<Vec<usize>, String> {
        let mut answered = Vec::new();
        for (key, _) in self.poller.wait(within)? {
            if let Some(index) = key.checked_sub(WATCHED) {
                answered.push(index);
                continue;
            }
            let Some(socket) = self.sockets.get_mut(key) else { continue };
            let bytes = socket.read(&mut self.space)?;
            let now = self.start.elapsed();
            let mut rest = socket.open(bytes)?;
            while let Some((frame, after)) = socket.split(rest) {
                rest = after;
                let pushes = socket.speech.count(frame);
                socket.heard += pushes;
                self.arrived += pushes;
                if let Some(answer) = socket.speech.answer(frame) {
                    socket.stream.write_all(&answer).map_err(|error| error.to_string())?;
                }
                if let Some(ages) = self.ages.as_mut().filter(|_| pushes > 0) {
                    let stamp = stamp(frame).ok_or("a push without a stamp")?;
                    let (count, age) = ages.entry(stamp).or_default();
                    *count += 1;
                    *age = now.saturating_sub(Duration::from_nanos(stamp));
                }
            }
            socket.rest = rest.to_vec();
        }
        Ok(answered)
    }

    /// Reads until this number of pushes arrived in total.
    pub(super) fn hear_until(&mut self, arrived: u64, stuck: Duration) -> Result<(), String> {
        let mut last = (self.arrived, run::now());
        while self.arrived < arrived {
            self.hear(Duration::from_millis(10))?;
            if self.arrived != last.0 {
                last = (self.arrived, run::now());
            } else if last.1.elapsed() > stuck {
                return Err(format!("{} deliveries are lost", arrived - self.arrived));
            }
        }
        Ok(())
    }

    /// Whether every socket got this number of pushes.
    pub(super) fn has_all_heard(&self, pushes: u64) -> bool {
        self.least_heard() >= pushes
    }

    /// The number of pushes of the socket with the fewest.
    pub(super) fn least_heard(&self) -> u64 {
        self.sockets.iter().map(|socket| socket.heard).min().unwrap_or(0)
    }

    /// The age of each push at its last arrival among `nodes`.
    pub(super) fn last_arrivals(&self, nodes: usize) -> Result<Vec<Duration>, String> {
        let ages = self.ages.iter().flat_map(HashMap::values);
        ages.map(|(count, age)| match *count == nodes {
            true => Ok(*age),
            false => Err(format!("a push came {count} times to {nodes} nodes")),
        })
        .collect()
    }
}

impl Socket {
    /// Skips the response to the handshake, if it was still expected.
    fn open<'s>(&mut self, bytes: &'s [u8]) -> Result<&'s [u8], String> {
        let Some(then) = &self.opening else { return Ok(bytes) };
        let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else { return Ok(bytes) };
        self.stream.write_all(then).map_err(|error| error.to_string())?;
        self.opening = None;
        Ok(bytes.get(end + 4..).unwrap_or_default())
    }

    /// The first complete frame, and the bytes after it.
    fn split<'s>(&self, bytes: &'s [u8]) -> Option<(&'s [u8], &'s [u8])> {
        self.speech.split(bytes).filter(|_| self.opening.is_none())
    }

    /// The incomplete frame and the new bytes.
    fn read<'s>(&mut self, space: &'s mut [u8]) -> Result<&'s [u8], String> {
        let kept = self.rest.len();
        let (front, room) = space.split_at_mut(kept);
        front.copy_from_slice(&self.rest);
        let count = match self.stream.read(room) {
            Ok(0) => return Err("a node was disconnected".to_owned()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(format!("cannot read: {error}")),
        };
        Ok(space.get(..kept + count).unwrap_or_default())
    }
}

impl SocketProtocol {
    /// The first complete frame, and the bytes after it.
    fn split(self, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        match self {
            SocketProtocol::Nats(length) => bytes.split_at_checked(length),
            SocketProtocol::Frames
            | SocketProtocol::Comments
            | SocketProtocol::Posts
            | SocketProtocol::SocketIo => {
                let (head, length) = match bytes.get(1)? {
                    126 => (4, usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]))),
                    127 => (
                        10,
                        usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?))
                            .ok()?,
                    ),
                    length => (2, usize::from(*length)),
                };
                bytes.split_at_checked(head + length)
            }
        }
    }

    /// The number of pushes in a frame.
    fn count(self, frame: &[u8]) -> u64 {
        match self {
            SocketProtocol::Nats(_) => 1,
            SocketProtocol::Frames | SocketProtocol::SocketIo => {
                u64::from(frame.len() >= PUSH_BYTES_MIN)
            }
            SocketProtocol::Comments => {
                memchr::memmem::find_iter(frame, b"\"type\":\"comment\"").count() as u64
            }
            SocketProtocol::Posts => {
                memchr::memmem::find_iter(frame, b"\"type\":\"newPost\"").count() as u64
            }
        }
    }

    /// The reply that the server expects to this frame.
    fn answer(self, frame: &[u8]) -> Option<Vec<u8>> {
        match (self, frame) {
            (SocketProtocol::SocketIo, [0x81, 1, b'2']) => Some(masked(b"3")),
            (
                SocketProtocol::SocketIo
                | SocketProtocol::Comments
                | SocketProtocol::Posts
                | SocketProtocol::Frames,
                [0x89, 0],
            ) => Some(vec![0x8a, 0x80, 0, 0, 0, 0]),
            _ => None,
        }
    }
}

/// The stamp in a push.
fn stamp(frame: &[u8]) -> Option<u64> {
    let find = |mark: &[u8]| memchr::memmem::find(frame, mark).map(|at| at + mark.len());
    let at = MARKS.iter().find_map(|mark| find(mark))?;
    let digits = frame.get(at..at + STAMP_DIGITS)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

//! The sockets of a whole audience, on one thread: they read and count, and know when what arrived
//! was sent.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::house::masked;
use super::poller::Poller;
use crate::run;

/// Digits of a stamp.
pub(super) const STAMP_DIGITS: usize = 20;
/// Keys of the poller from here on are watched connections.
const WATCHED: usize = 1 << 32;
/// What stands before a stamp in a push.
const MARKS: [&[u8]; 3] = [b"\"value\":\"", b"\"name\":\"", b"\"content\":\""];
/// Frames below are keep-alives and greetings.
const PUSH_BYTES_MIN: usize = 100;

/// What a socket hears.
#[derive(Clone, Copy)]
pub(super) enum Speech {
    /// Frames of WebSocket; one that is long is a push.
    Frames,
    /// Frames of WebSocket that hold any number of the live room's comments.
    Comments,
    /// Frames of WebSocket that hold any number of the sns room's posts.
    Posts,
    /// Frames of WebSocket as socket.io speaks in them.
    SocketIo,
    /// Messages of NATS, all of this length.
    Nats(usize),
}

/// All of them.
pub(super) struct Crowd {
    poller: Poller,
    sockets: Vec<Socket>,
    space: Vec<u8>,
    start: Instant,
    arrived: u64,
    /// For each stamp how often it came, and how old it was the last time; not kept in a flood.
    ages: Option<HashMap<u64, (usize, Duration)>>,
}

struct Socket {
    stream: TcpStream,
    speech: Speech,
    heard: u64,
    /// What is said when the handshake is answered.
    opening: Option<Vec<u8>>,
    /// The beginning of a frame whose rest has not come.
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

    /// Nanoseconds since the crowd came: a stamp.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes a socket that follows something.
    pub(super) fn enter(&mut self, stream: &TcpStream, speech: Speech) -> Result<(), String> {
        let told = |error: std::io::Error| error.to_string();
        stream.set_nonblocking(true).map_err(told)?;
        self.poller.add(stream, self.sockets.len())?;
        let stream = stream.try_clone().map_err(told)?;
        self.sockets.push(Socket { stream, speech, rest: Vec::new(), heard: 0, opening: None });
        Ok(())
    }

    /// Takes a socket whose handshake is under way; `then` is said when it is open.
    pub(super) fn enter_opening(
        &mut self,
        stream: &TcpStream,
        speech: Speech,
        then: Vec<u8>,
    ) -> Result<(), String> {
        self.enter(stream, speech)?;
        if let Some(socket) = self.sockets.last_mut() {
            socket.opening = Some(then);
        }
        Ok(())
    }

    /// Tells with [`Crowd::hear`] when this connection has an answer.
    pub(super) fn watch(&self, stream: &TcpStream, index: usize) -> Result<(), String> {
        self.poller.add(stream, WATCHED + index)
    }

    /// Only counts from now on.
    pub(super) fn forget_ages(&mut self) {
        self.ages = None;
    }

    /// How many pushes came.
    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Reads what comes within a time; answers which watched connections have something.
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
            while let Some((frame, behind)) = socket.split(rest) {
                rest = behind;
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

    /// Reads until so many pushes came in all.
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

    /// Whether every socket heard so many pushes.
    pub(super) fn has_all_heard(&self, pushes: u64) -> bool {
        self.least_heard() >= pushes
    }

    /// How many pushes the socket has heard that has heard the fewest.
    pub(super) fn least_heard(&self) -> u64 {
        self.sockets.iter().map(|socket| socket.heard).min().unwrap_or(0)
    }

    /// How old each push was when the last of `nodes` had it.
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
    /// What stands behind the answer to the handshake, if that was still under way.
    fn open<'s>(&mut self, bytes: &'s [u8]) -> Result<&'s [u8], String> {
        let Some(then) = &self.opening else { return Ok(bytes) };
        let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else { return Ok(bytes) };
        self.stream.write_all(then).map_err(|error| error.to_string())?;
        self.opening = None;
        Ok(bytes.get(end + 4..).unwrap_or_default())
    }

    /// The first whole frame, and what is behind it.
    fn split<'s>(&self, bytes: &'s [u8]) -> Option<(&'s [u8], &'s [u8])> {
        self.speech.split(bytes).filter(|_| self.opening.is_none())
    }

    /// What was left and what came.
    fn read<'s>(&mut self, space: &'s mut [u8]) -> Result<&'s [u8], String> {
        let kept = self.rest.len();
        let (front, room) = space.split_at_mut(kept);
        front.copy_from_slice(&self.rest);
        let count = match self.stream.read(room) {
            Ok(0) => return Err("a node was cut off".to_owned()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(format!("cannot read: {error}")),
        };
        Ok(space.get(..kept + count).unwrap_or_default())
    }
}

impl Speech {
    /// The first whole frame, and what is behind it.
    fn split(self, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        match self {
            Speech::Nats(length) => bytes.split_at_checked(length),
            Speech::Frames | Speech::Comments | Speech::Posts | Speech::SocketIo => {
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

    /// How many pushes a frame holds.
    fn count(self, frame: &[u8]) -> u64 {
        match self {
            Speech::Nats(_) => 1,
            Speech::Frames | Speech::SocketIo => u64::from(frame.len() >= PUSH_BYTES_MIN),
            Speech::Comments => {
                memchr::memmem::find_iter(frame, b"\"type\":\"comment\"").count() as u64
            }
            Speech::Posts => {
                memchr::memmem::find_iter(frame, b"\"type\":\"newPost\"").count() as u64
            }
        }
    }

    /// What the server waits for when it said this.
    fn answer(self, frame: &[u8]) -> Option<Vec<u8>> {
        match (self, frame) {
            (Speech::SocketIo, [0x81, 1, b'2']) => Some(masked(b"3")),
            (Speech::SocketIo | Speech::Comments | Speech::Posts | Speech::Frames, [0x89, 0]) => {
                Some(vec![0x8a, 0x80, 0, 0, 0, 0])
            }
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

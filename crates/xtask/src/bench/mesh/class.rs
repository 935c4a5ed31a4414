//! The sockets of all pupils, on one thread: they read and count, and know when what arrived was
//! sent.

use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::house::{NATS_FRAME_BYTES, STAMP_DIGITS};
use crate::bench::poller::Poller;
use crate::run;

/// Keys of the poller from here on are reporters.
const REPORTERS: usize = 1 << 32;
/// Frames below are keep-alives and greetings.
const PUSH_BYTES_MIN: usize = 100;
/// What stands before a stamp in a push.
const MARKS: [&[u8]; 2] = [b"\"value\":\"", b"\"name\":\""];

/// What a socket hears.
#[derive(Clone, Copy)]
pub(super) enum Speech {
    /// Frames of WebSocket with pushes in them.
    AppSync,
    /// Messages of one length.
    Nats,
}

/// All of them.
pub(super) struct Class {
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
    /// The beginning of a frame whose rest has not come.
    rest: Vec<u8>,
}

impl Class {
    pub(super) fn new() -> Result<Class, String> {
        Ok(Class {
            poller: Poller::new()?,
            sockets: Vec::new(),
            space: vec![0; 256 * 1024],
            start: run::now(),
            arrived: 0,
            ages: Some(HashMap::new()),
        })
    }

    /// Nanoseconds since the class began: a stamp.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes a socket that follows its group.
    pub(super) fn enter(&mut self, stream: &TcpStream, speech: Speech) -> Result<(), String> {
        let told = |error: std::io::Error| error.to_string();
        stream.set_nonblocking(true).map_err(told)?;
        self.poller.add(stream, self.sockets.len())?;
        let stream = stream.try_clone().map_err(told)?;
        self.sockets.push(Socket { stream, speech, rest: Vec::new() });
        Ok(())
    }

    /// Tells with [`Class::hear`] when this connection has an answer.
    pub(super) fn watch(&self, stream: &TcpStream, index: usize) -> Result<(), String> {
        self.poller.add(stream, REPORTERS + index)
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
            if let Some(index) = key.checked_sub(REPORTERS) {
                answered.push(index);
                continue;
            }
            let Some(socket) = self.sockets.get_mut(key) else { continue };
            let bytes = socket.read(&mut self.space)?;
            let now = self.start.elapsed();
            let mut rest = bytes;
            while let Some((frame, behind)) = socket.speech.split(rest) {
                rest = behind;
                // Keep-alives and greetings are no pushes.
                if frame.len() < PUSH_BYTES_MIN {
                    continue;
                }
                self.arrived += 1;
                if let Some(ages) = &mut self.ages {
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
            Speech::Nats => bytes.split_at_checked(NATS_FRAME_BYTES),
            Speech::AppSync => {
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
}

/// The stamp in a push.
fn stamp(frame: &[u8]) -> Option<u64> {
    let at = MARKS.iter().find_map(|mark| {
        frame.windows(mark.len()).position(|part| part == *mark).map(|at| at + mark.len())
    })?;
    let digits = frame.get(at..at + STAMP_DIGITS)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

//! The publisher and all subscribers, on one thread, in a process of their own.
//!
//! All messages have the same length, and so have the frames, so that counting deliveries is
//! arithmetic on bytes: the load must cost less than the server. A message contains the time at
//! which it was sent. Commands arrive on the input, and a line of numbers answers each: `flood` and
//! `pace`. A line that begins with `failed` gives the reason for missing figures.
//!
//! Two limits bound a flood, the same for every server: the undelivered messages on average, and
//! those of any single subscriber. The average alone bounds nothing: while one subscriber of a
//! hundred is read last, it may lag a hundred times as far, which is more than a server with
//! bounded queues can keep for it, and which a peer without limits keeps in memory.

use std::io::{BufRead, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::bench::poller::Poller;
use crate::bench::stats::Latencies;
use crate::run;

pub(super) const PAYLOAD_BYTES: usize = 200;
/// The prefix of a line with the reason for a missing figure.
pub(super) const FAILED: &str = "failed ";
const STAMP_DIGITS: usize = 20;
/// The rate of a paced run: deliveries per second.
const PACE: f64 = 30_000.0;
/// Undelivered messages in a flood, and the average per subscriber.
const UNDER_WAY: usize = 320_000;
const UNDER_WAY_EACH: std::ops::RangeInclusive<usize> = 64..=512;
/// The most undelivered messages of one subscriber: they fit into its queue, whatever the server
/// has in history or in the system's buffers.
const UNDER_WAY_MOST: u64 = 900;
/// Connections that are opened before the last of them has a response: many, but not all at once.
const CONNECT_TOGETHER: usize = 100;
/// A flood without a delivery for this time has lost messages.
const STUCK: Duration = Duration::from_secs(10);

/// The parameters of the load.
pub(super) struct LoadParameters {
    pub(super) subscribers: usize,
    /// The number of further subscribers that follow and never read.
    pub(super) stalled: usize,
    pub(super) seconds: f64,
}

impl LoadParameters {
    /// As arguments of the load's process.
    pub(super) fn words(&self, speaks: &str, port: u16) -> Vec<String> {
        let LoadParameters { subscribers, stalled, seconds } = self;
        vec![
            speaks.to_owned(),
            port.to_string(),
            subscribers.to_string(),
            stalled.to_string(),
            seconds.to_string(),
        ]
    }
}

/// The protocol of a server.
struct WireProtocol {
    subscribe: &'static str,
    /// The end of the response to it.
    subscribed: &'static [u8],
    /// The first text of a publisher; empty if there is none.
    open: &'static str,
    opened: &'static [u8],
    /// The text before and after a sent message, and before an arriving one.
    sent: (&'static [u8], &'static [u8]),
    arrives: (&'static [u8], &'static [u8]),
    /// A ping of the server, and the response to it.
    ping: (&'static [u8], &'static [u8]),
}

const WEBSOCKET: WireProtocol = WireProtocol {
    subscribe: "GET /sub HTTP/1.1\r\nhost: bench\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    subscribed: b"\r\n\r\n",
    open: "GET /pub HTTP/1.1\r\nhost: bench\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    opened: b"\r\n\r\n",
    sent: (&[0x81, 0xfe, 0, PAYLOAD_BYTES as u8, 0, 0, 0, 0], b""),
    arrives: (&[0x81, 0x7e, 0, PAYLOAD_BYTES as u8], b""),
    ping: (&[0x89, 0], &[0x8a, 0x80, 0, 0, 0, 0]),
};

const NATS: WireProtocol = WireProtocol {
    subscribe: "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB t 1\r\nPING\r\n",
    subscribed: b"PONG\r\n",
    open: "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nPING\r\n",
    opened: b"PONG\r\n",
    sent: (b"PUB t 200\r\n", b"\r\n"),
    arrives: (b"MSG t 1 200\r\n", b"\r\n"),
    ping: (b"PING\r\n", b"PONG\r\n"),
};

const REDIS: WireProtocol = WireProtocol {
    subscribe: "SUBSCRIBE t\r\n",
    subscribed: b":1\r\n",
    open: "",
    opened: b"",
    sent: (b"*3\r\n$7\r\nPUBLISH\r\n$1\r\nt\r\n$200\r\n", b"\r\n"),
    arrives: (b"*3\r\n$7\r\nmessage\r\n$1\r\nt\r\n$200\r\n", b"\r\n"),
    ping: (b"+PING\r\n", b""),
};

/// The main function of the process.
pub(super) fn run(words: &[&str]) -> Result<(), String> {
    let [speaks, port, subscribers, stalled, seconds] = words else {
        return Err("wants protocol, port, subscribers, stalled, seconds".to_owned());
    };
    let speech = match *speaks {
        "websocket" => &WEBSOCKET,
        "nats" => &NATS,
        "redis" => &REDIS,
        other => return Err(format!("nobody speaks `{other}`")),
    };
    let number = |word: &str| word.parse::<usize>().map_err(|error| error.to_string());
    let port = u16::try_from(number(port)?).map_err(|error| error.to_string())?;
    let seconds: f64 = seconds.parse().map_err(|_| "no number of seconds".to_owned())?;
    let done = serve(speech, port, number(subscribers)?, number(stalled)?, seconds);
    if let Err(why) = &done {
        println!("{FAILED}{}", why.replace('\n', " "));
    }
    done
}

/// Runs commands until there are no more or the server fails.
fn serve(
    speech: &'static WireProtocol,
    port: u16,
    subscribers: usize,
    stalled: usize,
    seconds: f64,
) -> Result<(), String> {
    let mut load = LoadState::connect(speech, port, subscribers, stalled)?;
    println!("connected");
    for line in std::io::stdin().lock().lines() {
        match line.map_err(|error| error.to_string())?.as_str() {
            "flood" => println!("{}", load.flood(seconds)?),
            "pace" => {
                let latencies = load.pace(seconds)?;
                let us = |percent| latencies.percentile(percent).as_secs_f64() * 1e6;
                println!("{} {}", us(50.0), us(99.0));
            }
            other => return Err(format!("cannot `{other}`")),
        }
    }
    Ok(())
}

struct LoadState {
    speech: &'static WireProtocol,
    poller: Poller,
    publisher: TcpStream,
    /// Bytes of the publisher that are not sent yet.
    unsent: Vec<u8>,
    subscribers: Vec<Subscriber>,
    _stalled: Vec<TcpStream>,
    space: Vec<u8>,
    start: Instant,
    /// Ages at arrival, kept in a paced run.
    ages: Option<Vec<Duration>>,
    /// Published messages, and the number of deliveries.
    sent: u64,
    arrived: u64,
}

struct Subscriber {
    stream: TcpStream,
    /// The beginning of an incomplete frame.
    rest: Vec<u8>,
    /// Messages that arrived.
    heard: u64,
}

impl LoadState {
    fn connect(
        speech: &'static WireProtocol,
        port: u16,
        subscribers: usize,
        stalled: usize,
    ) -> Result<LoadState, String> {
        let open = |text: &str| -> std::io::Result<TcpStream> {
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(STUCK))?;
            stream.write_all(text.as_bytes())?;
            Ok(stream)
        };
        let describe = |error: std::io::Error| format!("cannot connect: {error}");
        let poller = Poller::new()?;
        let mut streams = Vec::new();
        while streams.len() < subscribers + stalled {
            let count = CONNECT_TOGETHER.min(subscribers + stalled - streams.len());
            let together: Result<Vec<TcpStream>, _> =
                (0..count).map(|_| open(speech.subscribe)).collect();
            for mut stream in together.map_err(describe)? {
                read_past(&mut stream, speech.subscribed).map_err(describe)?;
                stream.set_nonblocking(true).map_err(describe)?;
                streams.push(stream);
            }
        }
        let stalled = streams.split_off(subscribers);
        for (key, stream) in streams.iter().enumerate() {
            poller.add(stream, key)?;
        }
        let mut publisher = open(speech.open).map_err(describe)?;
        read_past(&mut publisher, speech.opened).map_err(describe)?;
        publisher.set_nonblocking(true).map_err(describe)?;
        let subscriber = |stream| Subscriber { stream, rest: Vec::new(), heard: 0 };
        Ok(LoadState {
            speech,
            poller,
            publisher,
            unsent: Vec::new(),
            subscribers: streams.into_iter().map(subscriber).collect(),
            _stalled: stalled,
            space: vec![0; 256 * 1_024],
            start: run::now(),
            ages: None,
            sent: 0,
            arrived: 0,
        })
    }

    /// The highest rate of deliveries, with a bounded number of undelivered messages.
    fn flood(&mut self, seconds: f64) -> Result<f64, String> {
        let audience = self.subscribers.len();
        let window = (UNDER_WAY / audience).clamp(*UNDER_WAY_EACH.start(), *UNDER_WAY_EACH.end());
        let (begin, before) = (run::now(), self.arrived);
        let (mut last, mut last_at) = (before, begin);
        while begin.elapsed().as_secs_f64() < seconds {
            let on_average = self.arrived / audience as u64 + window as u64;
            let to_the_last = self.least_heard() + UNDER_WAY_MOST;
            while self.sent < on_average.min(to_the_last) {
                self.queue_message();
            }
            self.turn(Duration::from_millis(1))?;
            if self.arrived != last {
                (last, last_at) = (self.arrived, run::now());
            } else if last_at.elapsed() > STUCK {
                return Err(format!("stuck after {} deliveries", self.arrived - before));
            }
        }
        let rate = (self.arrived - before) as f64 / begin.elapsed().as_secs_f64();
        self.wait_for_all()?;
        Ok(rate)
    }

    fn least_heard(&self) -> u64 {
        self.subscribers.iter().map(|subscriber| subscriber.heard).min().unwrap_or(0)
    }

    /// Ages at arrival, at a steady pace.
    fn pace(&mut self, seconds: f64) -> Result<Latencies, String> {
        let audience = self.subscribers.len();
        let period = Duration::from_secs_f64(audience as f64 / PACE);
        let count = (seconds / period.as_secs_f64()).ceil().max(1.0) as u32;
        let begin = run::now();
        self.ages = Some(Vec::new());
        for number in 0..count {
            let due = begin + period * number;
            while let Some(wait) = due.checked_duration_since(run::now()) {
                self.turn(wait)?;
            }
            self.queue_message();
            self.turn(Duration::ZERO)?;
        }
        self.wait_for_all()?;
        Ok(Latencies::new(self.ages.take().unwrap_or_default()))
    }

    /// Reads until every subscriber has every message.
    fn wait_for_all(&mut self) -> Result<(), String> {
        let all = self.sent * self.subscribers.len() as u64;
        let mut last = (self.arrived, run::now());
        while self.arrived < all {
            self.turn(Duration::from_millis(1))?;
            if self.arrived != last.0 {
                last = (self.arrived, run::now());
            } else if last.1.elapsed() > STUCK {
                let missed = self.subscribers.iter().filter(|it| it.heard < self.sent).count();
                let lost = all - self.arrived;
                return Err(format!("{lost} deliveries are lost, to {missed} subscribers"));
            }
        }
        Ok(())
    }

    fn queue_message(&mut self) {
        self.sent += 1;
        let stamp = self.start.elapsed().as_nanos();
        let (before, after) = self.speech.sent;
        self.unsent.extend_from_slice(before);
        let padding = "x".repeat(PAYLOAD_BYTES - STAMP_DIGITS);
        self.unsent.extend_from_slice(format!("{stamp:0STAMP_DIGITS$}{padding}").as_bytes());
        self.unsent.extend_from_slice(after);
    }

    /// Sends what is queued and reads what is there.
    fn turn(&mut self, wait: Duration) -> Result<(), String> {
        if !self.unsent.is_empty() {
            match self.publisher.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(format!("cannot publish: {error}")),
            }
        }
        // Responses to the publisher contain nothing useful.
        while let Ok(1..) = self.publisher.read(&mut self.space) {}
        let wait = if self.unsent.is_empty() { wait } else { Duration::ZERO };
        let now = self.start;
        for (key, _) in self.poller.wait(wait)? {
            let Some(subscriber) = self.subscribers.get_mut(key) else { continue };
            let heard = subscriber.hear(&mut self.space, self.speech, now, &mut self.ages)?;
            subscriber.heard += heard;
            self.arrived += heard;
        }
        Ok(())
    }
}

impl Subscriber {
    /// Reads the available bytes; returns the number of completed messages.
    fn hear(
        &mut self,
        space: &mut [u8],
        speech: &WireProtocol,
        start: Instant,
        ages: &mut Option<Vec<Duration>>,
    ) -> Result<u64, String> {
        let kept = self.rest.len();
        let (front, room) = space.split_at_mut(kept);
        front.copy_from_slice(&self.rest);
        let count = match self.stream.read(room) {
            Ok(0) => return Err("a subscriber was disconnected".to_owned()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(format!("cannot read: {error}")),
        };
        let now = start.elapsed();
        let (head, tail) = speech.arrives;
        let frame = head.len() + PAYLOAD_BYTES + tail.len();
        let mut bytes = space.get(..kept + count).unwrap_or_default();
        let mut messages = 0;
        loop {
            let (ping, pong) = speech.ping;
            if let Some(rest) = bytes.strip_prefix(ping) {
                bytes = rest;
                self.stream.write_all(pong).map_err(|error| error.to_string())?;
            } else if let Some((message, rest)) = bytes.split_at_checked(frame) {
                if let Some(ages) = ages {
                    let stamp = message.get(head.len()..head.len() + STAMP_DIGITS);
                    ages.push(now.saturating_sub(read_stamp(stamp.unwrap_or_default())?));
                }
                bytes = rest;
                messages += 1;
            } else {
                self.rest.clear();
                self.rest.extend_from_slice(bytes);
                return Ok(messages);
            }
        }
    }
}

fn read_stamp(digits: &[u8]) -> Result<Duration, String> {
    let text = std::str::from_utf8(digits).unwrap_or_default();
    let nanos =
        text.parse().map_err(|_| format!("`{text}` is not a stamp: frames are out of step"))?;
    Ok(Duration::from_nanos(nanos))
}

/// Reads a response up to its end, byte by byte so that no later byte is lost.
fn read_past(stream: &mut TcpStream, end: &[u8]) -> std::io::Result<()> {
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(end) {
        stream.read_exact(&mut byte)?;
        answer.extend_from_slice(&byte);
    }
    Ok(())
}

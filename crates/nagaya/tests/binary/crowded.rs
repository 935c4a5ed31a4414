//! A thousand honest people and one abuser behind one address, in each room: nobody of the thousand
//! is refused, and what they did is there.
//!
//! The house has its usual limits. Everybody of the thousand has a connection of its own and does
//! what a person of that room does within a minute; the abuser has a few connections, on which it
//! sends whatever hurts most, as fast as answers come. It is refused before the first of the
//! thousand comes and after the last one has gone, or the test fails: without that it would show
//! nothing. What a person does is in the file of its room.
//!
//! Left out: abusers with many more connections, who can use up what their address has for callers
//! that say nothing of themselves (docs/security.md).

mod collect;
mod live;
mod mesh;
mod score;
mod sns;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value as Json;
use testkit::{Program, Served, wait};

/// The honest people.
const PEOPLE: usize = 1_000;

/// How many of them are connected at the same time.
const AT_ONCE: usize = 8;

/// The abuser's connections.
const FLOODS: usize = 3;

/// A request of the abuser.
struct Request {
    method: &'static str,
    path: String,
    /// Lines of the head, each with its end.
    head: String,
    body: String,
}

/// What came back.
struct Answer {
    status: u16,
    body: String,
}

/// Somebody with a connection that stays open.
struct Person {
    stream: BufReader<TcpStream>,
    address: String,
}

/// What the abuser got.
#[derive(Default)]
struct Tally {
    served: AtomicUsize,
    /// Its requests that were too many.
    refused: AtomicUsize,
    is_over: AtomicBool,
}

/// A house with the usual limits, which writes no line for each request.
fn serve(program: &Program, settings: &[(&str, &str)]) -> Served {
    let mut command = program.serve();
    command.env("NAGAYA_LOG_LEVEL", "info,access=off").envs(settings.iter().copied());
    Served::open(&mut command)
}

impl Request {
    fn get(path: &str, head: &str) -> Request {
        let (path, head) = (path.to_owned(), head.to_owned());
        Request { method: "GET", path, head, body: String::new() }
    }

    fn post(path: &str, head: &str, body: &Json) -> Request {
        let (path, head) = (path.to_owned(), head.to_owned());
        Request { method: "POST", path, head, body: body.to_string() }
    }
}

impl Person {
    fn connect(address: &str) -> Person {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Person { stream: BufReader::new(stream), address: address.to_owned() }
    }

    /// Asks as an honest person: the request must succeed.
    #[track_caller]
    fn ask(&mut self, method: &'static str, path: &str, head: &str, body: &Json) -> Json {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (path, head) = (path.to_owned(), head.to_owned());
        let request = Request { method, path, head, body };
        let answer = self.send(&request);
        let is_good = answer.status / 100 == 2 && !answer.body.contains("\"errors\"");
        assert!(is_good, "{method} {}: {} {}", request.path, answer.status, answer.body);
        serde_json::from_str(&answer.body).unwrap_or_default()
    }

    #[track_caller]
    fn get(&mut self, path: &str, head: &str) -> Json {
        self.ask("GET", path, head, &Json::Null)
    }

    #[track_caller]
    fn post(&mut self, path: &str, head: &str, body: &Json) -> Json {
        self.ask("POST", path, head, body)
    }

    fn send(&mut self, request: &Request) -> Answer {
        let Request { method, path, head, body } = request;
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{head}\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> Answer {
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.get(..3).unwrap().parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().unwrap();
            } else if line.is_empty() {
                break;
            }
        }
        assert_ne!(status, 0, "the house has closed the connection");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        Answer { status, body: String::from_utf8(body).unwrap() }
    }
}

/// Lets this happen so many times, some at the same time.
fn each(count: usize, act: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    act(number);
                }
            });
        }
    });
}

/// Lets honest people act while the abuser sends requests all the time, by a running number.
#[track_caller]
fn beside_an_abuser(address: &str, abuse: impl Fn(usize) -> Request + Sync, honest: impl FnOnce()) {
    let tally = Tally::default();
    std::thread::scope(|scope| {
        let over = Over(&tally);
        let flood = || flood(address, &abuse, &tally);
        // One by itself passes its limits also on a machine with other things to do.
        scope.spawn(flood);
        tally.wait_for_refusal();
        for _ in 1..FLOODS {
            scope.spawn(flood);
        }
        honest();
        tally.wait_for_refusal();
        drop(over);
    });
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!("the abuser: {} served, {} refused", count(&tally.served), count(&tally.refused));
}

/// One connection of the abuser.
fn flood(address: &str, abuse: &(impl Fn(usize) -> Request + Sync), tally: &Tally) {
    let mut abuser = Person::connect(address);
    for number in 0.. {
        if tally.is_over.load(Ordering::Relaxed) {
            return;
        }
        let counter = match abuser.send(&abuse(number)).status {
            429 => &tally.refused,
            status => {
                assert!(status < 500, "the abuser made the house fail: {status}");
                &tally.served
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Tally {
    /// Waits until the abuser is refused once more.
    #[track_caller]
    fn wait_for_refusal(&self) {
        let refused = || self.refused.load(Ordering::Relaxed);
        let before = refused();
        wait::until("a refusal of the abuser", || {
            let served = self.served.load(Ordering::Relaxed);
            wait::holds(refused() > before, format!("{served} of its requests served"))
        });
    }
}

/// Ends the abuse when it is dropped, also if an honest person was refused.
struct Over<'t>(&'t Tally);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

#[track_caller]
fn text(answer: &Json, pointer: &str) -> String {
    let found = answer.pointer(pointer).and_then(Json::as_str);
    found.unwrap_or_else(|| panic!("no {pointer}: {answer}")).to_owned()
}

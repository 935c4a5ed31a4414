//! A server on a free port, and a client that speaks in raw bytes.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use base::{Clock, Random, Timestamp, VirtualTime};
use edge::{About, Cors, Metrics, Options, Readiness, Room, Server, Traces, house_room};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

pub(crate) struct House {
    pub(crate) server: Server,
    pub(crate) readiness: Readiness,
    pub(crate) address: SocketAddr,
}

/// Any free port, and small bodies.
pub(crate) fn options() -> Options {
    Options {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        body_bytes_max: 1_024,
        ..Options::default()
    }
}

pub(crate) fn virtual_clock() -> (Clock, VirtualTime) {
    Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000))
}

impl House {
    /// With these routes and one more, `/echo`.
    pub(crate) async fn open(routes: Router) -> House {
        House::with(routes, &options(), Clock::real()).await
    }

    pub(crate) async fn with(routes: Router, options: &Options, clock: Clock) -> House {
        let room = Room::new("test", routes).with_cors(Cors::Listed);
        House::of(vec![room], options, clock, Traces::uncollected(Random::seeded(1))).await
    }

    pub(crate) async fn of(
        mut rooms: Vec<Room>,
        options: &Options,
        clock: Clock,
        traces: Traces,
    ) -> House {
        let readiness = Readiness::new();
        let about = About { name: "house", version: "1.2.3", commit: Some("abc") };
        rooms.push(house_room(about, readiness.clone(), Metrics::of_process()));
        let echo = post(|body: Bytes| async move { body });
        rooms.push(Room::new("echo", Router::new().route("/echo", echo)));
        let server = Server::start(options, rooms, clock, readiness.clone(), traces).await.unwrap();
        let address = server.address();
        House { server, readiness, address }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a whole request and reads the answer to its end.
    pub(crate) async fn ask(&self, request: impl AsRef<[u8]>) -> Answer {
        let mut stream = self.connect().await;
        // A server that refuses early may close before it has read all.
        let _written = stream.write_all(request.as_ref()).await;
        read(stream).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.get_with(path, "").await
    }

    /// With more headers, each ending its line.
    pub(crate) async fn get_with(&self, path: &str, headers: &str) -> Answer {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
        self.ask(request).await
    }

    /// The server is there for the next one, and closes in order.
    pub(crate) async fn still_serves(self) {
        assert_eq!(self.get("/livez").await.status, 200);
        self.server.drain().await.unwrap();
    }
}

/// An answer taken apart.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// Everything until the other side closes, also if it does so rudely.
pub(crate) async fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _read = stream.read_to_end(&mut bytes).await;
    Answer::parse(&bytes)
}

impl Answer {
    pub(crate) fn parse(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
        Answer { status, head, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn assert_problem(&self, status: u16, code: &str, detail: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let body = self.json();
        let told = (body["status"].as_u64(), body["code"].as_str(), body["detail"].as_str());
        assert_eq!(told, (Some(status.into()), Some(code), Some(detail)));
    }
}

/// A route that says when it is reached and answers when told.
pub(crate) fn gated() -> (Router, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (reached, is_reached) = mpsc::channel(1);
    let (open, gate) = mpsc::channel::<()>(1);
    let gate = std::sync::Arc::new(tokio::sync::Mutex::new(gate));
    let slow = get(move || async move {
        reached.send(()).await.unwrap();
        gate.lock().await.recv().await;
        "finished"
    });
    (Router::new().route("/slow", slow), is_reached, open)
}

/// Moves time on, second by second, until the other is done.
pub(crate) async fn while_time_passes<T>(
    time: &VirtualTime,
    until: impl Future<Output = T>,
) -> (T, Duration) {
    let mut until = std::pin::pin!(until);
    let mut passed = Duration::ZERO;
    loop {
        passed += Duration::from_secs(1);
        tokio::select! {
            biased;
            done = &mut until => return (done, passed),
            () = time.advance(Duration::from_secs(1)) => {}
        }
        assert!(passed < Duration::from_secs(3_600), "nothing happened for an hour");
    }
}

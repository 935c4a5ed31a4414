//! The room on its wire: requests over TCP, sockets frame by frame, on a clock that the test moves.
//!
//! Every answer and every frame is searched for the host's credential as it comes in; only the
//! answer to the call that opened the room may hold it.

#[path = "../../edge/tests/support/broker.rs"]
mod broker;
mod floods;
mod instances;
mod keeping;
mod moderation;
mod order;
mod pages;
mod rest;
mod sockets;
#[path = "../../dynamodb/tests/support/store.rs"]
mod store;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use dispatch::Dispatch;
use edge::{Ground, Message, Readiness, Server, StreamOptions, Traces, Visit};
use hub::{Deliveries, Item, QueueLimits};
use serde_json::{Value as Json, json};
use table::Tables;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::broker::Broker;
use crate::api::Api;
use crate::api::socket::Socket;
use crate::{Live, Options};

const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const HOST: &str = "host-c0ffee5f1d7a84c9b04b1f8f0f7d2b";
const OTHER: &str = "other-host-00000000000000000000000";

/// A house with the room in it.
struct House {
    live: Arc<Live>,
    api: Arc<Api>,
    ground: Ground,
    tables: Arc<dyn Tables>,
    time: VirtualTime,
    server: Server,
    /// Another instance, where stories are told on DynamoDB: every second request and socket is
    /// its.
    twin: Option<Box<House>>,
    turns: AtomicUsize,
    _tasks: Tasks,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    text: String,
}

impl Answer {
    fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    #[track_caller]
    fn is(self, status: u16) -> Json {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// A problem with this status and code, told under both names.
    #[track_caller]
    fn is_problem(&self, status: u16, code: &str) {
        let told = self.json();
        assert_eq!((self.status, told["code"].as_str()), (status, Some(code)), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert!(told["message"].is_string() && told["message"] == told["detail"], "{told}");
    }
}

impl House {
    async fn open() -> House {
        House::open_with(Options::default()).await
    }

    async fn open_with(options: Options) -> House {
        let (clock, time) = Clock::virtual_at(START);
        let (tasks, random) = (Tasks::new(), Random::seeded(7));
        let tables = store::open(&clock, &tasks).await;
        edge::ensure_tables(&*tables).await.unwrap();
        if !store::is_dynamodb() {
            return House::on(options, tables, clock, time, random, tasks).await;
        }
        let broker = Arc::new(Broker::default());
        let twin = broker.ground(store::beside(&tables), &clock, 8);
        let twin = Box::new(House::on_ground(options.clone(), twin, time.clone()).await);
        let house = House::on_ground(options, broker.ground(tables, &clock, 7), time).await;
        House { twin: Some(twin), ..house }
    }

    /// One instance on any store: for stories of what each instance counts, or puts in order, for
    /// itself.
    async fn alone(options: Options) -> House {
        let (clock, time) = Clock::virtual_at(START);
        let (tasks, random) = (Tasks::new(), Random::seeded(7));
        let tables = store::open(&clock, &tasks).await;
        edge::ensure_tables(&*tables).await.unwrap();
        House::on(options, tables, clock, time, random, tasks).await
    }

    /// The instance whose turn it is.
    fn turn(&self) -> &House {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        self.twin.as_deref().filter(|_| turn % 2 == 1).unwrap_or(self)
    }

    /// On a store that may be another house's too.
    async fn on(
        options: Options,
        tables: Arc<dyn Tables>,
        clock: Clock,
        time: VirtualTime,
        random: Random,
        tasks: Tasks,
    ) -> House {
        let streams = StreamOptions::default();
        let ground = Ground::new(tables, &streams, &clock, &random, &tasks);
        House::on_ground(options, ground, time).await
    }

    async fn on_ground(options: Options, ground: Ground, time: VirtualTime) -> House {
        let Ground { tables, clock, random, tasks, .. } = ground.clone();
        let dispatch = Dispatch::open(Arc::clone(&tables), clock.clone(), random, &tasks);
        let dispatch = dispatch.await.unwrap();
        let live = Live::open(options, &ground, &dispatch).await.unwrap();
        let api = Arc::new(Api::new(&live, &ground));
        let http =
            edge::Options { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Default::default() };
        let traces = Traces::uncollected(Random::seeded(1));
        let rooms = vec![live.room(&ground)];
        let server = Server::start(&http, rooms, clock, Readiness::new(), traces).await.unwrap();
        let (twin, turns) = (None, AtomicUsize::new(0));
        House { live, api, ground, tables, time, server, twin, turns, _tasks: tasks }
    }

    /// Another instance on the same store.
    async fn second(&self) -> House {
        let (tables, clock) = (store::beside(&self.tables), self.ground.clock.clone());
        let (time, random) = (self.time.clone(), Random::seeded(8));
        House::on(Options::default(), tables, clock, time, random, Tasks::new()).await
    }

    async fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.turn().server.address()).await.unwrap();
        let _written = stream.write_all(request).await;
        let mut bytes = Vec::new();
        let _read = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8(bytes).unwrap();
        let (head, text) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), text: text.to_owned() }
    }

    /// Asks with more headers, each ending its line.
    async fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        let answer = self.raw(request.as_bytes()).await;
        let opens = method == "POST" && path == "/live/rooms";
        assert!(opens || !is_leaking(&answer.text), "{method} {path}: {}", answer.text);
        assert!(!is_leaking(&answer.head), "{method} {path}: {}", answer.head);
        answer
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "").await
    }

    async fn post(&self, path: &str, body: Json) -> Answer {
        self.ask("POST", path, "", &body.to_string()).await
    }

    async fn patch(&self, room: &str, body: Json) -> Answer {
        self.ask("PATCH", &format!("/live/rooms/{room}"), "", &body.to_string()).await
    }

    async fn as_host(&self, method: &str, path: &str, body: &str) -> Answer {
        self.ask(method, path, &format!("authorization: Bearer {HOST}\r\n"), body).await
    }

    /// A new room of [`HOST`].
    async fn create(&self) -> String {
        let room =
            self.post("/live/rooms", json!({ "name": "発表", "hostId": HOST })).await.is(201);
        room["roomId"].as_str().unwrap().to_owned()
    }

    /// A comment of the host, who is never too fast.
    async fn say(&self, room: &str, content: &str) -> Json {
        let path = format!("/live/rooms/{room}/comments");
        self.as_host("POST", &path, &json!({ "content": content }).to_string()).await.is(201)
    }

    /// A comment of a participant.
    async fn speak(&self, room: &str, who: &str, content: &str) -> Answer {
        let (path, body) = (format!("/live/rooms/{room}/comments"), json!({ "content": content }));
        self.ask("POST", &path, &format!("x-participant: {who}\r\n"), &body.to_string()).await
    }

    async fn act(&self, room: &str, comment: &Json, action: &str) -> Answer {
        let id = comment["commentId"].as_str().unwrap();
        self.as_host("POST", &format!("/live/rooms/{room}/comments/{id}/{action}"), "").await
    }

    /// A socket that has said nothing yet.
    fn connect(&self) -> Client {
        let limits = QueueLimits { pushes: 1_024, bytes: 1_048_576 };
        let house = self.turn();
        let (subscriber, deliveries) = house.ground.hub.subscriber(limits);
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Client { socket: Socket::new(Arc::clone(&house.api), address, subscriber), deliveries }
    }

    /// A socket in a room, and what it was told.
    async fn join(&self, said: Json) -> (Client, Vec<Json>) {
        let mut client = self.connect();
        let told = client.say(said).await;
        (client, told)
    }

    /// How many items a table holds.
    async fn rows(&self, table: &str) -> usize {
        self.tables.scan(table::Scan::new(table).consistent()).await.unwrap().items.len()
    }

    async fn pass(&self, millis: u64) {
        self.time.advance(Duration::from_millis(millis)).await;
    }

    /// Lets a long time pass, second by second; on DynamoDB, where every look of a job is a request,
    /// the clock is set instead, as after a long sleep of the machine.
    async fn pass_long(&self, millis: u64) {
        let time = Duration::from_millis(millis);
        if store::is_dynamodb() {
            let then = self.ground.clock.now().checked_add(time).unwrap();
            self.time.set_wall(then).await;
        } else {
            self.time.advance(time).await;
        }
    }
}

/// The other side of a socket.
struct Client {
    socket: Socket,
    deliveries: Deliveries,
}

impl Client {
    async fn say(&mut self, said: Json) -> Vec<Json> {
        self.say_text(&said.to_string()).await
    }

    async fn say_text(&mut self, text: &str) -> Vec<Json> {
        self.socket.on_message(Message::Text(text.to_owned())).await.unwrap();
        self.waiting()
    }

    /// All frames that wait.
    fn waiting(&mut self) -> Vec<Json> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut frames = Vec::new();
        loop {
            let mut items = Vec::new();
            let _ = self.deliveries.poll_take(&mut context, 1_000_000, &mut items);
            if items.is_empty() {
                return frames;
            }
            for item in items {
                let text = match item {
                    Item::Push { text, .. } | Item::Reply(text) => text,
                    Item::Gap(gap) => match self.socket.on_gap(&gap) {
                        Some(text) => text,
                        None => continue,
                    },
                };
                assert!(!is_leaking(text.as_str()), "{text:?}");
                frames.push(serde_json::from_str(text.as_str()).unwrap());
            }
        }
    }

    /// The envelopes that wait, one by one, without counts of viewers.
    fn heard(&mut self) -> Vec<Json> {
        flat(self.waiting())
    }
}

/// Arrays taken apart, and counts of viewers left out.
fn flat(frames: Vec<Json>) -> Vec<Json> {
    let each = frames.into_iter().flat_map(|frame| match frame {
        Json::Array(many) => many,
        one => vec![one],
    });
    each.filter(|told| told["type"] != "viewers").collect()
}

fn is_leaking(text: &str) -> bool {
    text.contains(HOST) || text.contains(OTHER)
}

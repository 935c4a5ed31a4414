//! The room on its wire: requests over TCP, sockets frame by frame, on a clock that the test moves.
//!
//! Every answer and every frame is searched for the host's credential as it comes in; only the
//! answer to the call that opened the room may hold it.

mod blocks;
mod crowds;
mod described;
mod floods;
mod instances;
mod keeping;
mod moderation;
mod order;
mod pages;
mod participants;
mod reading;
mod rest;
mod sockets;
mod totals;
mod wall;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use edge::{Ground, Message, Visit};
use hub::{Deliveries, Item, QueueLimits};
use serde_json::{Value as Json, json};
use testkit::wait::{holds, until_async};
use testkit::{Answer, Instance, Stream, Turns, World};
use tokio::sync::OnceCell;

use crate::api::Api;
use crate::api::socket::Socket;
use crate::{Live, Options};

const HOST: &str = "host-c0ffee5f1d7a84c9b04b1f8f0f7d2b";
const OTHER: &str = "other-host-00000000000000000000000";

/// A world with the room in it. Its instances take turns with requests and sockets; calls past the
/// wire and streams go to the first one.
struct Talk {
    world: World,
    live: Arc<Live>,
    address: SocketAddr,
    turns: Turns<LiveInstance>,
    /// The room's description of itself.
    described: OnceCell<Json>,
}

/// The room on one instance.
struct LiveInstance {
    ground: Ground,
    api: Arc<Api>,
    address: SocketAddr,
}

impl Deref for Talk {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Talk {
    async fn open() -> Talk {
        Talk::open_with(Options::default()).await
    }

    async fn open_with(options: Options) -> Talk {
        let world = World::new().await;
        let instances = world.instances().await;
        Talk::on(world, instances, options).await
    }

    /// One instance on any store, for what each counts, or puts in order, for itself.
    async fn alone() -> Talk {
        Talk::alone_with(Options::default()).await
    }

    async fn alone_with(options: Options) -> Talk {
        let world = World::new().await;
        let instance = world.instance().await;
        Talk::on(world, vec![instance], options).await
    }

    /// The room on these instances.
    async fn on(world: World, instances: Vec<Instance>, options: Options) -> Talk {
        let (mut lives, mut open) = (Vec::new(), Vec::new());
        for instance in &instances {
            let Instance { ground, dispatch, .. } = instance;
            let live = Live::open(options.clone(), ground, dispatch).await.unwrap();
            let (ground, api) = (ground.clone(), Arc::new(Api::new(&live, ground)));
            let address = instance.serve(vec![crate::api::room(&api)]).await;
            lives.push(live);
            open.push(LiveInstance { ground, api, address });
        }
        let (live, address) = (lives.swap_remove(0), open[0].address);
        Talk { world, live, address, turns: Turns::new(open), described: OnceCell::new() }
    }

    /// Another instance on the same store; the two do not hear each other.
    async fn second(&self) -> Talk {
        self.second_with(Options::default()).await
    }

    async fn second_with(&self, options: Options) -> Talk {
        let instance = self.instance().await;
        Talk::on(self.world.clone(), vec![instance], options).await
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let answer = testkit::ask(self.turns.next().address, method, path, headers, body).await;
        let opens = method == "POST" && path == "/live/rooms";
        assert!(opens || !is_leaking(answer.text()), "{method} {path}: {answer:?}");
        assert!(!is_leaking(&answer.head), "{method} {path}: {}", answer.head);
        if answer.header("content-type") == Some("application/problem+json") {
            let problem = answer.json();
            let is_under_both_names = problem["message"] == problem["detail"];
            assert!(problem["message"].is_string() && is_under_both_names, "{problem}");
        }
        let describe = async || self.describe().await;
        described::check(self.described.get_or_init(describe).await, method, path, &answer);
        answer
    }

    async fn describe(&self) -> Json {
        testkit::ask(self.address, "GET", "/live/openapi.json", &[], "").await.json()
    }

    /// A participant that the server has signed.
    async fn issue(&self) -> String {
        let issued = self.ask("POST", "/live/participants", &[], "").await.is(201);
        issued["participant"].as_str().unwrap().to_owned()
    }

    /// Opens a stream below the rooms' path.
    async fn stream(&self, path: &str, headers: &[(&str, &str)]) -> Stream {
        Stream::open(self.address, "GET", &format!("/live/rooms/{path}"), headers, "").await
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    async fn post(&self, path: &str, body: Json) -> Answer {
        self.ask("POST", path, &[], &body.to_string()).await
    }

    async fn patch(&self, room: &str, body: Json) -> Answer {
        self.ask("PATCH", &format!("/live/rooms/{room}"), &[], &body.to_string()).await
    }

    async fn as_host(&self, method: &str, path: &str, body: &str) -> Answer {
        self.ask(method, path, &[("authorization", &bearer(HOST))], body).await
    }

    /// Asks for a room of a host.
    async fn try_create(&self, host: &str) -> Answer {
        self.post("/live/rooms", json!({ "name": "発表", "hostId": host })).await
    }

    /// A new room of [`HOST`].
    async fn create(&self) -> String {
        let room = self.try_create(HOST).await.is(201);
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
        self.ask("POST", &path, &[("x-participant", who)], &body.to_string()).await
    }

    async fn act(&self, room: &str, comment: &Json, action: &str) -> Answer {
        let id = comment["commentId"].as_str().unwrap();
        self.as_host("POST", &format!("/live/rooms/{room}/comments/{id}/{action}"), "").await
    }

    /// A socket that has said nothing yet.
    fn connect(&self) -> Client {
        let limits = QueueLimits { pushes: 1_024, bytes: 1_048_576 };
        let LiveInstance { ground, api, .. } = self.turns.next();
        let (subscriber, deliveries) = ground.hub.subscriber(limits);
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Client { socket: Socket::new(Arc::clone(api), address, subscriber), deliveries }
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

    /// Waits until a table holds so many items.
    async fn until_rows(&self, table: &str, count: usize) {
        let look = async || {
            let rows = self.rows(table).await;
            holds(rows == count, rows)
        };
        until_async(&format!("{count} rows in {table}"), look).await;
    }

    /// Lets so many milliseconds pass.
    async fn pass_ms(&self, millis: u64) {
        self.time.advance(Duration::from_millis(millis)).await;
    }

    /// Lets a long time pass, as if the machine slept and woke up every hour. Second by second, a
    /// day would take seconds.
    async fn pass_long_ms(&self, millis: u64) {
        const HOUR: Duration = Duration::from_secs(60 * 60);
        let mut left = Duration::from_millis(millis);
        while !left.is_zero() {
            let step = left.min(HOUR);
            self.sleep(step).await;
            left -= step;
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

/// The header's value of a host with this credential.
fn bearer(host: &str) -> String {
    format!("Bearer {host}")
}

fn is_leaking(text: &str) -> bool {
    text.contains(HOST) || text.contains(OTHER)
}

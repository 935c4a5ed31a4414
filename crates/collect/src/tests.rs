//! Trials of the whole room: on a virtual clock, with a real upstream on the loopback, over the
//! real wire.

mod asks;
mod downtime;
mod failures;
mod files;
mod instances;
mod operator;
mod pages;
mod reads;
mod refusals;
#[path = "../../dynamodb/tests/support/store.rs"]
mod store;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use dispatch::Dispatch;
use edge::{Ground, Operator, OperatorOptions, Readiness, Server, StreamOptions, Traces};
use serde_json::{Value as Json, json};
use table::{Item, Query, Tables, query_all};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::refusals::Refusing;
use self::upstream::Upstream;
use crate::limits::CALLS_MAX;
use crate::{Collect, Options};

/// Half a minute before a minute begins.
const START: &str = "2025-12-02T10:22:30Z";
/// The first minute that is planned.
const FIRST: &str = "2025-12-02T10:23:00Z";

/// A store, its clock, and an upstream.
struct World {
    clock: Clock,
    time: VirtualTime,
    /// What instances stand on, each in its own way.
    below: Arc<dyn Tables>,
    store: Arc<Refusing>,
    upstream: Upstream,
    seeds: AtomicUsize,
    _tasks: Tasks,
}

/// An instance on it.
struct House {
    collect: Arc<Collect>,
    address: SocketAddr,
    /// A key that may operate the room.
    key: String,
    tasks: Tasks,
    /// Another instance, where stories are told on DynamoDB: it answers every second request, and
    /// asks what it comes to first.
    twin: Option<Box<House>>,
    turns: AtomicUsize,
    _server: Server,
}

/// An answer as it came.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl World {
    async fn new() -> World {
        let (clock, time) = Clock::virtual_at(at(START));
        let tasks = Tasks::new();
        let tables = store::open(&clock, &tasks).await;
        edge::ensure_tables(&*tables).await.unwrap();
        let store = Arc::new(Refusing::new(Arc::clone(&tables)));
        let upstream = Upstream::start(&tasks).await;
        let (below, seeds) = (tables, AtomicUsize::new(0));
        World { clock, time, below, store, upstream, seeds, _tasks: tasks }
    }

    /// A world with a house whose default source asks the upstream.
    async fn with_house() -> (World, House) {
        let (world, mut house) = World::with_one().await;
        if store::is_dynamodb() {
            house.twin = Some(Box::new(world.open(world.options()).await));
        }
        (world, house)
    }

    /// The same with one instance on any store: another one hears of a changed source only soon, and
    /// doubles what it costs to let hours pass.
    async fn with_one() -> (World, House) {
        let world = World::new().await;
        let house = world.open(world.options()).await;
        (world, house)
    }

    fn options(&self) -> Options {
        Options {
            base_url: Some(self.upstream.url()),
            reads_per_second: 100_000,
            private_networks: networks("127.0.0.0/8"),
            ..Options::default()
        }
    }

    /// What an instance stands on.
    async fn ground(&self) -> (Ground, Dispatch) {
        let tasks = Tasks::new();
        let random = Random::seeded(self.seeds.fetch_add(1, Ordering::Relaxed) as u64);
        let tables: Arc<dyn Tables> = Arc::new(self.store.beside(store::beside(&self.below)));
        let streams = StreamOptions::default();
        let ground = Ground::new(Arc::clone(&tables), &streams, &self.clock, &random, &tasks);
        let dispatch = Dispatch::open(tables, self.clock.clone(), random, &tasks);
        (ground, dispatch.await.unwrap())
    }

    async fn open(&self, options: Options) -> House {
        let (ground, dispatch) = self.ground().await;
        let collect = Collect::open(options, &ground, &dispatch).await.unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let http = edge::Options { listen, ..edge::Options::default() };
        let (tables, random) = (Arc::clone(&ground.tables), ground.random.clone());
        let options = OperatorOptions::default();
        let operator = Operator::new(tables, &options, &self.clock, random, &ground.tasks);
        let rooms = vec![collect.room(&ground, &operator)];
        let traces = Traces::uncollected(ground.random.clone());
        let (clock, readiness) = (self.clock.clone(), Readiness::new());
        let server = Server::start(&http, rooms, clock, readiness, traces).await.unwrap();
        let scopes = ["collect:operate".to_owned()];
        let name = format!("ops-{}", self.seeds.load(Ordering::Relaxed));
        let key = ground.keys.create(&name, &scopes, None).await.unwrap().text;
        let (address, tasks) = (server.address(), ground.tasks);
        let (twin, turns) = (None, AtomicUsize::new(0));
        House { collect, address, key, tasks, twin, turns, _server: server }
    }

    /// Lets time pass. What is asked meanwhile is answered before time moves on by a tenth of a
    /// second, unless the upstream hangs.
    async fn pass(&self, houses: &[&House], seconds: u64) {
        for _ in 0..seconds * 10 {
            self.time.advance(Duration::from_millis(100)).await;
            self.answered(houses).await;
        }
    }

    /// Waits until nobody waits for an answer that will come.
    async fn answered(&self, houses: &[&House]) {
        let waiting = || -> usize { houses.iter().map(|house| house.waiting()).sum() };
        loop {
            let mut turns = 0_u64;
            while waiting() != self.upstream.hanging() {
                tokio::task::yield_now().await;
                turns += 1;
                assert!(turns < 10_000_000, "{} wait", waiting());
            }
            self.time.settle().await;
            if waiting() == self.upstream.hanging() {
                return;
            }
        }
    }

    /// Closes an instance; what it had begun is finished.
    async fn close(&self, house: House) {
        let end = Duration::from_secs(8);
        let finish = async |house: &House| house.tasks.finish(&self.clock, end).await.unwrap();
        let both = async {
            finish(&house).await;
            if let Some(twin) = &house.twin {
                finish(twin).await;
            }
        };
        let ((), ()) = tokio::join!(both, self.time.advance(end));
    }

    /// The rows of the seed's table under a key.
    async fn rows(&self, key: &str) -> Vec<Item> {
        let query = Query::new("AiResponseMetrics", "metricName", key).consistent();
        query_all(&*self.store, query).await.unwrap()
    }
}

impl House {
    /// Calls under way.
    fn waiting(&self) -> usize {
        let own = CALLS_MAX - self.collect.calls.available_permits();
        own + self.twin.as_ref().map_or(0, |twin| twin.waiting())
    }

    /// Asks over a connection of its own.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let other = self.twin.as_ref().filter(|_| turn % 2 == 1);
        let address = other.map_or(self.address, |twin| twin.address);
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut request = format!(
            "{method} /collect{path} HTTP/1.1\r\nhost: house\r\nconnection: close\r\n\
             content-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("\r\n{body}"));
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    /// Asks as the operator.
    async fn operate(&self, method: &str, path: &str, body: &Json) -> Answer {
        let headers = [("x-api-key", self.key.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.ask(method, path, &headers, &body).await
    }

    /// The ledger of a source in the first minutes, as pairs of second and state.
    async fn ledger(&self, source: &str, minutes: u64) -> Vec<(u64, String)> {
        let slots = self.slots(source, minutes).await;
        let pair = |slot: &Json| {
            let from = at(slot["from"].as_str().unwrap()).since(at(FIRST)).as_secs();
            (from, slot["status"].as_str().unwrap().to_owned())
        };
        slots.iter().map(pair).collect()
    }

    /// The slots of a source in the first minutes.
    async fn slots(&self, source: &str, minutes: u64) -> Vec<Json> {
        let to = at(FIRST).checked_add(Duration::from_secs(minutes * 60)).unwrap();
        let answer = self.get(&format!("/slots/{source}?from={FIRST}&to={to}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["slots"].as_array().unwrap().clone()
    }

    async fn dead_letters(&self) -> Vec<Json> {
        let answer = self.operate("GET", "/dead-letters", &json!(null)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["letters"].as_array().unwrap().clone()
    }

    /// Adds a source that asks the upstream under a path of its own.
    async fn add(&self, world: &World, name: &str, more: &Json) -> Answer {
        let mut form =
            json!({ "name": name, "baseUrl": format!("{}/{name}", world.upstream.url()) });
        for (key, value) in more.as_object().unwrap() {
            form[key] = value.clone();
        }
        self.operate("POST", "/sources", &form).await
    }
}

impl Answer {
    fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Status, code and words of a refusal.
    fn refusal(&self) -> (u16, String, String) {
        let problem = self.json();
        let word = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
        assert_eq!(problem["status"], self.status, "{self:?}");
        (self.status, word("code"), word("detail"))
    }

    /// A header's value.
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Seconds with a state each, every five of them, from one to another.
fn all(state: &str, from: u64, to: u64) -> Vec<(u64, String)> {
    (from..to).step_by(5).map(|second| (second, state.to_owned())).collect()
}

fn networks(text: &str) -> edge::Networks {
    let mut networks = edge::Networks::default();
    assert!(base::options::Value::read(&mut networks, text));
    networks
}

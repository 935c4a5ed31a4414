//! Trials of the whole room: on a virtual clock, with a real upstream on the loopback, over the
//! real wire.

mod asks;
mod downtime;
mod failures;
mod files;
mod history;
mod honesty;
mod instances;
mod kinds;
mod letters;
mod operator;
mod pace;
mod pages;
mod practice;
mod readers;
mod reads;
mod refusals;
mod schemas;
mod secrets;
mod upstream;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use edge::Ground;
use serde_json::{Value as Json, json};
use table::{Item, Query, Tables, query_all};
use testkit::{Answer, Instance, Turns, World, wait};

use self::refusals::Refusing;
use self::upstream::Upstream;
use crate::limits::CALLS_MAX;
use crate::{Collect, Options};

/// Half a minute before a minute begins.
const START: &str = "2025-12-02T10:22:30Z";
/// The first minute that is planned.
const FIRST: &str = "2025-12-02T10:23:00Z";

/// A world whose store refuses what a test names, and an upstream beside it.
struct Trial {
    world: World,
    store: Arc<Refusing>,
    upstream: Upstream,
}

/// The room on one instance, or on two that answer in turns; each slot is asked for by the instance
/// that comes to it first. Calls past the wire go to the first one.
struct Collector {
    collect: Arc<Collect>,
    rooms: Vec<Arc<Collect>>,
    instances: Vec<Instance>,
    addresses: Turns<SocketAddr>,
    /// A key that may operate the room.
    key: String,
}

impl Deref for Trial {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Trial {
    async fn new() -> Trial {
        let world = World::at(at(START)).await;
        let store = Arc::new(Refusing::new(Arc::clone(&world.tables)));
        Trial { world, store, upstream: Upstream::start().await }
    }

    /// A trial with a collector whose default source asks the upstream.
    async fn with_collector() -> (Trial, Collector) {
        let trial = Trial::new().await;
        let count = if testkit::is_dynamodb() { 2 } else { 1 };
        let collector = trial.open_on(count, trial.options()).await;
        (trial, collector)
    }

    /// The same with one instance on any store: another one hears of a changed source only soon, and
    /// doubles what it costs to let hours pass.
    async fn with_one() -> (Trial, Collector) {
        let trial = Trial::new().await;
        let collector = trial.open(trial.options()).await;
        (trial, collector)
    }

    fn options(&self) -> Options {
        Options {
            base_url: Some(self.upstream.url()),
            reads_per_second: 100_000,
            private_networks: networks("127.0.0.0/8"),
            ..Options::default()
        }
    }

    /// One more instance, which no other one hears.
    async fn instance(&self) -> Instance {
        let ground = self.ground();
        let tables: Arc<dyn Tables> = Arc::new(self.store.beside(Arc::clone(&ground.tables)));
        self.instance_on(Ground { tables, ..ground }).await
    }

    async fn open(&self, options: Options) -> Collector {
        self.open_on(1, options).await
    }

    /// The room on so many instances.
    async fn open_on(&self, count: usize, options: Options) -> Collector {
        let (mut instances, mut rooms, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let instance = self.instance().await;
            let Instance { ground, dispatch, .. } = &instance;
            let collect = Collect::open(options.clone(), ground, dispatch).await.unwrap();
            let room = collect.room(ground, &instance.operator());
            addresses.push(instance.serve(vec![room]).await);
            rooms.push(collect);
            instances.push(instance);
        }
        let key = instances[0].key("ops", &["collect:operate"]).await;
        let (collect, addresses) = (Arc::clone(&rooms[0]), Turns::new(addresses));
        Collector { collect, rooms, instances, addresses, key }
    }

    /// Lets time pass. What is asked meanwhile is answered before time moves on by a tenth of a
    /// second, unless the upstream hangs.
    async fn pass(&self, collectors: &[&Collector], seconds: u64) {
        for _ in 0..seconds * 10 {
            self.time.advance(Duration::from_millis(100)).await;
            self.answered(collectors).await;
        }
    }

    /// Waits until nobody waits for an answer that will come.
    async fn answered(&self, collectors: &[&Collector]) {
        let waiting = || -> usize { collectors.iter().map(|one| one.waiting()).sum() };
        loop {
            wait::until_async("all answers", async || {
                let (waiting, hanging) = (waiting(), self.upstream.hanging());
                wait::holds(waiting == hanging, format!("{waiting} wait, {hanging} hang"))
            })
            .await;
            self.time.settle().await;
            if waiting() == self.upstream.hanging() {
                return;
            }
        }
    }

    /// Closes an instance; what it had begun is finished.
    async fn close(&self, collector: Collector) {
        for instance in collector.instances {
            instance.close(&self.time).await;
        }
    }

    /// The rows of the seed's table under a key.
    async fn rows(&self, key: &str) -> Vec<Item> {
        let query = Query::new("AiResponseMetrics", "metricName", key).consistent();
        query_all(&*self.store, query).await.unwrap()
    }
}

impl Collector {
    /// Calls under way.
    fn waiting(&self) -> usize {
        self.rooms.iter().map(|room| CALLS_MAX - room.calls.available_permits()).sum()
    }

    /// Asks the instance whose turn it is.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let path = format!("/collect{path}");
        testkit::ask(*self.addresses.next(), method, &path, headers, body).await
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
        self.slots_between(source, FIRST, &to.to_string()).await
    }

    /// The slots of a source from one time to another, as the operator reads them.
    async fn slots_between(&self, source: &str, from: &str, to: &str) -> Vec<Json> {
        let path = format!("/slots/{source}?from={from}&to={to}");
        let answer = self.operate("GET", &path, &json!(null)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["slots"].as_array().unwrap().clone()
    }

    async fn dead_letters(&self) -> Vec<Json> {
        let answer = self.operate("GET", "/dead-letters", &json!(null)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["letters"].as_array().unwrap().clone()
    }

    /// Adds a source that asks the upstream under a path of its own.
    async fn add(&self, trial: &Trial, name: &str, more: &Json) -> Answer {
        let mut form =
            json!({ "name": name, "baseUrl": format!("{}/{name}", trial.upstream.url()) });
        for (key, value) in more.as_object().unwrap() {
            form[key] = value.clone();
        }
        self.operate("POST", "/sources", &form).await
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

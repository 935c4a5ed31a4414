//! The room on its wire and behind it, on a clock that the test moves.
//!
//! Every answer to somebody and every push is searched for e-mail addresses of others as it comes
//! in.

#[path = "../../edge/tests/support/broker.rs"]
mod broker;
mod described;
mod facts;
mod hindered;
mod history;
mod identity;
mod instances;
mod numbers;
mod posts;
mod social;
#[path = "../../dynamodb/tests/support/store.rs"]
mod store;
mod streams;
mod timelines;
mod users;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use dispatch::{Dispatch, Fact, Subscription};
use edge::{Ground, Readiness, Server, StreamOptions, Traces};
use serde_json::{Value as Json, json};
use table::{Scan, Tables};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::broker::Broker;
use crate::model::account::User;
use crate::model::{PostId, UserId};
use crate::ops::identity::{Proof, Register};
use crate::ops::timeline::Shown;
use crate::ops::{Page, Part};
use crate::{Options, Sns};

pub(crate) const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);
pub(crate) const PASSWORD: &str = "correct horse";
/// Where all addresses are.
pub(crate) const HOST: &str = "@example.org";

/// A house with the room in it.
pub(crate) struct House {
    pub(crate) sns: Arc<Sns>,
    pub(crate) ground: Ground,
    pub(crate) dispatch: Dispatch,
    pub(crate) tables: Arc<dyn Tables>,
    pub(crate) time: VirtualTime,
    pub(crate) server: Server,
    pub(crate) tasks: Tasks,
    /// Another instance, where stories are told on DynamoDB: it answers every second request.
    twin: Option<Box<House>>,
    turns: AtomicUsize,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Json {
        assert_eq!(self.status, status, "{self:?}");
        if self.text.is_empty() { Json::Null } else { self.json() }
    }

    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, code: &str) {
        let told = self.json();
        assert_eq!((self.status, told["code"].as_str()), (status, Some(code)), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
    }
}

/// Somebody with an account.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: String,
    pub(crate) email: String,
    pub(crate) token: String,
    pub(crate) refresh: String,
}

impl Person {
    pub(crate) fn user(&self) -> UserId {
        self.id.parse().unwrap()
    }
}

/// Rates that no test meets by chance.
pub(crate) fn roomy() -> Options {
    let many = 1_000_000;
    Options {
        requests_per_second: many,
        posts_per_minute: many,
        follows_per_minute: many,
        ..Options::default()
    }
}

impl House {
    pub(crate) async fn open() -> House {
        House::open_with(roomy()).await
    }

    pub(crate) async fn open_with(options: Options) -> House {
        let (clock, time) = Clock::virtual_at(START);
        let tasks = Tasks::new();
        let tables = store::open(&clock, &tasks).await;
        if store::is_dynamodb() {
            return House::of_two(options, tables, &clock, time).await;
        }
        House::on(options, tables, clock, time, tasks).await
    }

    /// One instance on any store, for what each counts or remembers for itself.
    pub(crate) async fn alone(options: Options) -> House {
        let (clock, time) = Clock::virtual_at(START);
        let tasks = Tasks::new();
        let tables = store::open(&clock, &tasks).await;
        House::on(options, tables, clock, time, tasks).await
    }

    /// Two instances that hear each other, to the outside one house.
    async fn of_two(
        options: Options,
        tables: Arc<dyn Tables>,
        clock: &Clock,
        time: VirtualTime,
    ) -> House {
        let broker = Arc::new(Broker::default());
        let twin = broker.ground(store::beside(&tables), clock, 8);
        let twin = Box::new(House::on_ground(options.clone(), twin, time.clone()).await);
        let house = House::on_ground(options, broker.ground(tables, clock, 7), time).await;
        House { twin: Some(twin), ..house }
    }

    /// On a store that is there.
    pub(crate) async fn on(
        options: Options,
        tables: Arc<dyn Tables>,
        clock: Clock,
        time: VirtualTime,
        tasks: Tasks,
    ) -> House {
        let (random, streams) = (Random::seeded(7), StreamOptions::default());
        House::on_ground(options, Ground::new(tables, &streams, &clock, &random, &tasks), time)
            .await
    }

    /// One more instance on what may be another's store too.
    pub(crate) async fn on_ground(options: Options, ground: Ground, time: VirtualTime) -> House {
        let Ground { tables, clock, random, tasks, .. } = ground.clone();
        edge::ensure_tables(&*tables).await.unwrap();
        let dispatch = Dispatch::open(Arc::clone(&tables), clock.clone(), random, &tasks);
        let dispatch = dispatch.await.unwrap();
        let sns = Sns::open(options, &ground, &dispatch).await.unwrap();
        let http =
            edge::Options { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Default::default() };
        let traces = Traces::uncollected(Random::seeded(1));
        let rooms = vec![sns.room(&ground)];
        let server = Server::start(&http, rooms, clock, Readiness::new(), traces).await.unwrap();
        let (twin, turns) = (None, AtomicUsize::new(0));
        House { sns, ground, dispatch, tables, time, server, tasks, twin, turns }
    }

    /// Asks with more headers, each ending its line.
    pub(crate) async fn raw(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let other = self.twin.as_ref().filter(|_| turn % 2 == 1);
        let server = other.map_or(&self.server, |twin| &twin.server);
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let length = body.len();
        let request = format!(
            "{method} /sns{path} HTTP/1.0\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, text) = text.split_once("\r\n\r\n").unwrap();
        let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), text: text.to_owned() }
    }

    /// Asks in somebody's name.
    pub(crate) async fn ask(&self, who: &Person, method: &str, path: &str, body: Json) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = format!("authorization: Bearer {}\r\n", who.token);
        let answer = self.raw(method, &format!("/v1{path}"), &headers, &body).await;
        let others = answer.text.replace(&format!("\"{}\"", who.email), "");
        assert!(!others.contains(HOST), "{who:?} was told of somebody's address: {answer:?}");
        answer
    }

    pub(crate) async fn get(&self, who: &Person, path: &str) -> Answer {
        self.ask(who, "GET", path, Json::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Json) -> Answer {
        self.raw("POST", &format!("/v1{path}"), "", &body.to_string()).await
    }

    /// Registers over the wire, with a password.
    pub(crate) async fn register(&self, name: &str) -> Person {
        let email = format!("{name}{HOST}");
        let body = json!({ "email": email, "username": name, "password": PASSWORD });
        person(&self.post("/auth/register", body).await.is(201))
    }

    pub(crate) async fn log_in(&self, name: &str, password: &str) -> Answer {
        let email = format!("{name}{HOST}");
        self.post("/auth/login", json!({ "email": email, "password": password })).await
    }

    /// Makes a user behind the wire, without the cost of a password.
    pub(crate) async fn user(&self, name: &str) -> UserId {
        self.try_user(name).await.unwrap().id
    }

    async fn try_user(&self, name: &str) -> Result<User, crate::Error> {
        let (issuer, subject) = ("test".to_owned(), name.to_owned());
        let (email, username) = (format!("{name}{HOST}"), format!("user-{name}"));
        let proof = Proof::Identity { issuer, subject };
        let command = Register { email, username, proof, invite: None };
        self.sns.register(command).await.map(|opened| opened.user)
    }

    /// Lets all facts be handled that need no time to pass, and those that are due soon.
    pub(crate) async fn settle(&self) {
        self.time.advance(Duration::from_millis(10)).await;
        self.time.settle().await;
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.time.advance(Duration::from_secs(seconds)).await;
    }

    /// Sets the clock ahead, as if the house had slept: what waits for a time of day wakes once.
    pub(crate) async fn jump(&self, seconds: u64) {
        // Long enough that the house says again that it lives, and takes up what waits.
        const AWAKE: u64 = 30;
        let asleep = Duration::from_secs(seconds.saturating_sub(AWAKE));
        self.time.set_wall(self.ground.clock.now().checked_add(asleep).unwrap()).await;
        self.pass(seconds.min(AWAKE)).await;
    }

    /// Says something, a moment after what was said before.
    pub(crate) async fn say(&self, author: UserId, content: &str) -> PostId {
        self.time.advance(Duration::from_millis(1)).await;
        self.sns.create_post(author, content).await.unwrap().id
    }

    pub(crate) async fn page(&self, user: UserId, limit: usize) -> Arc<Page<Shown>> {
        let part = Part { after: None, offset: 0, limit };
        self.sns.read_timeline(user, &part).await.unwrap()
    }

    /// What a user's timeline says, newest first. First pages may be remembered, the whole never
    /// is: they must agree.
    pub(crate) async fn timeline(&self, user: UserId) -> Vec<String> {
        let (first, page) = (self.page(user, 5).await, self.page(user, 800).await);
        assert_eq!(first.items, page.items.iter().take(5).cloned().collect::<Vec<_>>());
        assert_eq!(first.next.is_some(), page.items.len() > 5);
        page.items.iter().map(|shown| shown.post.content.clone()).collect()
    }

    /// Keys of all items of a table.
    pub(crate) async fn keys(&self, table: &str) -> Vec<(String, String)> {
        let name = format!("mini-sns-prod-{table}-ddb");
        let mut scan = Scan::new(name);
        let mut keys = Vec::new();
        loop {
            let page = self.tables.scan(scan.clone()).await.unwrap();
            for item in &page.items {
                let text = |name: &str| item.get(name).unwrap().as_s().unwrap().to_owned();
                keys.push((text("PK"), text("SK")));
            }
            match page.last_key {
                Some(last) => scan.start_after = Some(last),
                None => break,
            }
        }
        keys.sort();
        keys
    }

    /// All facts that a consumer of the test's own has not heard yet.
    pub(crate) async fn heard(&self, by: &Subscription) -> Vec<Fact> {
        let mut facts = Vec::new();
        loop {
            // The first look begins the watching.
            let before = by.queue().try_receive(100).await.unwrap();
            self.pass(1).await;
            let after = by.queue().try_receive(100).await.unwrap();
            if before.is_empty() && after.is_empty() {
                return facts;
            }
            for delivery in before.into_iter().chain(after) {
                facts.push(Fact::from_json(&delivery.message().body).unwrap());
                delivery.delete().await.unwrap();
            }
        }
    }

    /// Nobody's fact was given up.
    pub(crate) async fn assert_no_dead_letters(&self) {
        let queues = self.sns.queues.read().clone();
        for queue in queues {
            let dead = queue.list_dead(None, 10).await.unwrap();
            assert!(dead.letters.is_empty(), "{}: {dead:?}", queue.name());
        }
    }
}

pub(crate) fn person(told: &Json) -> Person {
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    Person {
        id: text(&told["user"]["userId"]),
        email: text(&told["user"]["email"]),
        token: text(&told["token"]),
        refresh: text(&told["refreshToken"]),
    }
}

//! The room on its wire and behind it, on a clock that the test moves.
//!
//! Every answer to somebody and every push is searched for e-mail addresses of others as it comes
//! in.

mod crowds;
mod described;
mod facts;
mod guesses;
mod hindered;
mod history;
mod identity;
mod instances;
mod names;
mod numbers;
mod posts;
mod social;
mod streams;
mod timelines;
mod users;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use dispatch::{Fact, Subscription};
use serde_json::{Value as Json, json};
use table::Scan;
use testkit::{Answer, Instance, Turns, World, ask};

use crate::model::account::User;
use crate::model::{PostId, UserId};
use crate::ops::identity::{Proof, Register};
use crate::ops::timeline::Shown;
use crate::ops::{Page, Part};
use crate::{Options, Sns};

pub(crate) const PASSWORD: &str = "correct horse";
/// Where all addresses are.
pub(crate) const HOST: &str = "@example.org";

/// A world with the room in it. Its instances answer in turns; calls past the wire and sockets go
/// to the first one.
pub(crate) struct Network {
    world: World,
    pub(crate) sns: Arc<Sns>,
    pub(crate) instance: Instance,
    pub(crate) addresses: Turns<SocketAddr>,
}

impl Deref for Network {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
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

    /// What its requests show.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }
}

/// Rates that no test meets by chance.
pub(crate) fn roomy() -> Options {
    let many = 1_000_000;
    Options {
        requests_per_second: many,
        address_requests_per_second: many,
        address_registrations_per_hour: many,
        posts_per_minute: many,
        follows_per_minute: many,
        ..Options::default()
    }
}

impl Network {
    pub(crate) async fn open() -> Network {
        Network::open_with(roomy()).await
    }

    pub(crate) async fn open_with(options: Options) -> Network {
        let world = World::new().await;
        let instances = world.instances().await;
        Network::on(world, instances, options).await
    }

    /// One instance on any store, for what each counts or remembers for itself.
    pub(crate) async fn alone(options: Options) -> Network {
        let world = World::new().await;
        let instance = world.instance().await;
        Network::on(world, vec![instance], options).await
    }

    /// The room on these instances.
    pub(crate) async fn on(world: World, instances: Vec<Instance>, options: Options) -> Network {
        let (mut rooms, mut addresses) = (Vec::new(), Vec::new());
        for instance in &instances {
            let Instance { ground, dispatch, .. } = instance;
            let sns = Sns::open(options.clone(), ground, dispatch).await.unwrap();
            addresses.push(instance.serve(vec![sns.room(ground)]).await);
            rooms.push(sns);
        }
        let (sns, instance) = (Arc::clone(&rooms[0]), instances[0].clone());
        Network { world, sns, instance, addresses: Turns::new(addresses) }
    }

    /// Asks the instance whose turn it is, below the room's path.
    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        ask(*self.addresses.next(), method, &format!("/sns{path}"), headers, body).await
    }

    /// Asks with an operator's key.
    pub(crate) async fn operate(&self, key: &str, path: &str) -> Answer {
        self.raw("POST", &format!("/operate{path}"), &[("x-api-key", key)], "").await
    }

    /// A key that may operate the room.
    pub(crate) async fn key(&self) -> String {
        self.instance.key("operator", &["sns:operate"]).await
    }

    /// Asks in somebody's name.
    pub(crate) async fn ask(&self, who: &Person, method: &str, path: &str, body: Json) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [("authorization", &*who.bearer())];
        let answer = self.raw(method, &format!("/v1{path}"), &headers, &body).await;
        let others = answer.text().replace(&format!("\"{}\"", who.email), "");
        assert!(!others.contains(HOST), "{who:?} was told of somebody's address: {answer:?}");
        answer
    }

    pub(crate) async fn get(&self, who: &Person, path: &str) -> Answer {
        self.ask(who, "GET", path, Json::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Json) -> Answer {
        self.raw("POST", &format!("/v1{path}"), &[], &body.to_string()).await
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
        let command = Register { email, username, proof, invite: None, device: None };
        self.sns.register(command, "elsewhere").await.map(|opened| opened.user)
    }

    /// Lets all facts be handled that need no time to pass, and those that are due soon.
    pub(crate) async fn settle(&self) {
        self.time.advance(Duration::from_millis(10)).await;
        self.time.settle().await;
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

//! Runs the conformance claims of the `Tables` port (`testkit::conformance`) on the client: on our
//! own door, and on other implementations of DynamoDB.
//!
//! An implementation that deviates from DynamoDB has exceptions (`exceptions.rs`), each with its
//! reason. A listed claim that holds fails the test, so that the list stays true.

#![cfg(test)]

mod attempts;
mod exceptions;
mod expiry;
mod peers;

use std::panic::AssertUnwindSafe;

use base::{Clock, Random, Tasks, Timestamp};
use dynamodb::client::{Client, Options};
use dynamodb::door::{self, Guard};
use exceptions::{DYNALITE, DYNOXIDE, Exception, MOTO};
use peers::Peer;
use table::{Error, KeyAttribute, KeySpec, Projected, TableSpec, Tables};
use testkit::conformance::{self, timed};
use testkit::store::{Place, Store};

/// A client with arbitrary keys, which nothing checks.
fn client_at(endpoint: &str, prefix: &str, clock: Clock) -> Client {
    let options = Options {
        endpoint: endpoint.to_owned(),
        prefix: prefix.to_owned(),
        access_key_id: "nagaya".to_owned(),
        secret_access_key: "nagaya".to_owned(),
        ..Options::default()
    };
    Client::new(&options, clock, Random::seeded(1)).expect("the options name a key")
}

/// Dynoxide in memory, for as long as the tasks live, and its endpoint.
async fn dynoxide() -> (Tasks, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
    let (tasks, database) = (Tasks::new(), dynoxide::Database::memory().expect("memory opens"));
    tasks.spawn("dynoxide", dynoxide::server::serve_on(listener, database));
    (tasks, endpoint)
}

/// Our own door, and a client of it.
struct Door {
    store: Store,
    client: Client,
}

impl Door {
    async fn new() -> Door {
        let start = Timestamp::from_seconds(timed::START_S).unwrap();
        let (clock, time) = Clock::virtual_at(start);
        let store = Store::on(Place::Memory, clock.clone(), time).await.unwrap();
        let (guard, random) = (Guard::open(), Random::seeded(1));
        let tables = store.tables.clone();
        let door = door::Door::open(
            tables,
            guard,
            table::Secrets::default(),
            clock.clone(),
            random,
            store.tasks(),
        );
        let client = Client::through(door.await.unwrap(), clock, Random::seeded(1));
        Door { store, client }
    }
}

#[testkit::test]
async fn the_door_keeps_every_promise() {
    let Door { store, client } = Door::new().await;
    try_all(&client, &[]).await;
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}

#[testkit::test]
async fn a_missing_or_undeclared_local_index_is_reported() {
    let Door { client, .. } = Door::new().await;
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
    let plain = |name| TableSpec::new(name, key.clone());
    let indexed = |name| {
        let sort = KeyAttribute::n("score");
        plain(name).local_index("by-score", sort, Projected::KeysOnly)
    };
    for (there, wanted) in [(plain("one"), indexed("one")), (indexed("two"), plain("two"))] {
        client.ensure_table(there.clone()).await.unwrap();
        let error = client.ensure_table(wanted).await.unwrap_err();
        assert!(matches!(&error, Error::TableDiffers(name) if *name == there.name), "{error}");
        client.ensure_table(there).await.unwrap();
    }
}

#[testkit::test]
async fn the_door_keeps_the_promises_about_time() {
    let Door { store, client } = Door::new().await;
    for (name, claim) in timed::all() {
        println!("{name}");
        claim(&client, &store.time).await;
    }
}

#[tokio::test]
async fn dynoxide_keeps_every_promise_but_the_listed() {
    let (_tasks, endpoint) = dynoxide().await;
    try_all(&client(&endpoint), DYNOXIDE).await;
}

#[tokio::test]
async fn dynalite_keeps_every_promise_but_the_listed() {
    let peer = Peer::dynalite();
    try_all(&client(&peer.endpoint), DYNALITE).await;
}

#[tokio::test]
async fn moto_keeps_every_promise_but_the_listed() {
    let peer = Peer::moto();
    try_all(&client(&peer.endpoint), MOTO).await;
}

fn client(endpoint: &str) -> Client {
    client_at(endpoint, "", Clock::real())
}

/// Runs every claim, and reports all surprises together.
async fn try_all(tables: &dyn Tables, exceptions: &[Exception]) {
    let mut surprises = Vec::new();
    for (name, claim) in conformance::all() {
        let excused = exceptions.iter().find(|(excused, _)| *excused == name);
        let held = holds(AssertUnwindSafe(claim(tables))).await;
        match (held, excused) {
            (true, None) | (false, Some(_)) => {}
            (false, None) => surprises.push(format!("{name} does not hold")),
            (true, Some((_, why))) => surprises.push(format!("{name} holds, though: {why}")),
        }
    }
    assert_eq!(surprises, Vec::<String>::new());
}

/// Whether a claim holds. The output shows why it does not.
async fn holds(claim: AssertUnwindSafe<conformance::Trial<'_>>) -> bool {
    let AssertUnwindSafe(mut claim) = claim;
    std::future::poll_fn(|context| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| claim.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(|()| true),
            Err(_) => std::task::Poll::Ready(false),
        }
    })
    .await
}

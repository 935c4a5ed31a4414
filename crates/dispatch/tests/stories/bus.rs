//! The fact bus: facts are sent with a change and take effect once for every subscribed consumer.

use std::sync::Arc;
use std::time::Duration;

use dispatch::{Applied, Error, Fact, Failed, NewFact, Subscription};
use parking_lot::Mutex;
use table::{
    Get, Item, KeyAttribute, KeySpec, Put, TableSpec, TransactItem, TransactWrite, Update, attr,
};

use testkit::{Instance, Left, World};

use crate::support::{HOUR, SECOND, pass_unseen, world};

fn fact(kind: &str) -> NewFact {
    NewFact::new("/test", kind, &serde_json::json!({"n": 1})).unwrap()
}

async fn world_with_counts() -> World {
    let world = world().await;
    let key = KeySpec::simple(KeyAttribute::s("id"));
    world.tables.ensure_table(TableSpec::new("counts", key)).await.unwrap();
    world
}

/// An effect whose repetition would show.
fn count(id: &str) -> TransactItem {
    Update::new("counts", Item::new().with("id", id)).add("count", 1).into()
}

async fn counted(world: &World, id: &str) -> u64 {
    let item = world.tables.get(Get::new("counts", Item::new().with("id", id))).await.unwrap();
    item.and_then(|item| item.get("count")?.as_n()?.floor_u64()).unwrap_or(0)
}

async fn subscribe(instance: &Instance, consumer: &str, kinds: &[&str]) -> Subscription {
    instance.dispatch.bus().subscribe(consumer, kinds).await.unwrap()
}

/// Counts the facts of a consumer under its name.
fn work(subscription: &Subscription, consumer: &'static str) -> Arc<Mutex<Vec<Fact>>> {
    let seen: Arc<Mutex<Vec<Fact>>> = Arc::default();
    let log = Arc::clone(&seen);
    subscription.work(4, move |fact| {
        log.lock().push(fact);
        async move { Ok(vec![count(consumer)]) }
    });
    seen
}

#[testkit::test]
async fn every_consumer_gets_the_kinds_it_subscribed_to_and_nothing_else() {
    let world = world_with_counts().await;
    let instance = world.instance().await;
    let all = work(&subscribe(&instance, "all", &["*"]).await, "all");
    let posts = work(&subscribe(&instance, "posts", &["post.*", "like"]).await, "posts");
    for kind in ["post.made", "like", "likely", "post.gone", "compost.made"] {
        instance.dispatch.bus().tell(fact(kind)).await.unwrap();
    }
    world.time.advance(SECOND).await;
    let kinds = |seen: &Mutex<Vec<Fact>>| {
        let mut kinds: Vec<String> = seen.lock().iter().map(|fact| fact.kind.clone()).collect();
        kinds.sort();
        kinds
    };
    assert_eq!(kinds(&posts), ["like", "post.gone", "post.made"]);
    assert_eq!(kinds(&all), ["compost.made", "like", "likely", "post.gone", "post.made"]);
    assert_eq!((counted(&world, "all").await, counted(&world, "posts").await), (5, 3));
}

#[testkit::test]
async fn a_fact_is_sent_only_if_its_change_is_committed() {
    let world = world_with_counts().await;
    let instance = world.instance().await;
    let seen = work(&subscribe(&instance, "watcher", &["*"]).await, "watcher");
    for attempt in 0..2 {
        let prepared = instance.dispatch.bus().prepare(fact("made").subject("order 1")).unwrap();
        let put = Put::new("counts", Item::new().with("id", "order")).when(attr("id").not_exists());
        let both = TransactWrite::new(vec![put.into(), prepared.write()]);
        assert_eq!(world.tables.transact_write(both).await.is_ok(), attempt == 0);
        prepared.committed();
    }
    world.time.advance(SECOND * 5).await;
    let seen = seen.lock();
    let [fact] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((fact.kind.as_str(), fact.subject.as_deref()), ("made", Some("order 1")));
}

#[testkit::test]
async fn a_fact_that_comes_twice_has_one_effect() {
    let world = world_with_counts().await;
    let instance = world.instance().await;
    let subscription = subscribe(&instance, "counter", &["*"]).await;
    for _ in 0..3 {
        instance.dispatch.bus().tell(fact("made").id("order-1-made")).await.unwrap();
    }
    let mut outcomes = Vec::new();
    while outcomes.len() < 3 {
        let (facts, ()) = tokio::join!(subscription.receive(10), world.time.advance(SECOND));
        for held in facts.unwrap() {
            assert_eq!(held.fact().id, "order-1-made");
            outcomes.push(held.apply(vec![count("counter")]).await.unwrap());
        }
    }
    outcomes.sort_by_key(|outcome| *outcome == Applied::Before);
    assert_eq!(outcomes, [Applied::Now, Applied::Before, Applied::Before]);
    assert_eq!(counted(&world, "counter").await, 1);
    assert_eq!(subscription.queue().depth().await.unwrap().messages, 0);
}

#[testkit::test]
async fn a_slow_consumer_does_not_repeat_the_effect_of_another() {
    let world = world_with_counts().await;
    let (one, two) = (world.instance().await, world.instance().await);
    let slow = subscribe(&one, "counter", &["*"]).await;
    let quick = subscribe(&two, "counter", &["*"]).await;
    one.dispatch.bus().tell(fact("made")).await.unwrap();
    let (held, ()) = tokio::join!(slow.receive(1), world.time.advance(SECOND));
    let held = held.unwrap().pop().unwrap();
    let (again, ()) = tokio::join!(quick.receive(1), world.time.advance(HOUR));
    let again = again.unwrap().pop().unwrap();
    assert_eq!(held.fact(), again.fact());
    // Nobody has handled it yet, but this holder has lost its lease.
    let refused = held.apply(vec![count("counter")]).await;
    assert!(matches!(refused, Err(Error::Lost(_))), "{refused:?}");
    assert_eq!(again.apply(vec![count("counter")]).await.unwrap(), Applied::Now);
    assert_eq!(counted(&world, "counter").await, 1);
}

#[testkit::test]
async fn a_consumer_that_was_down_for_a_day_catches_up() {
    let world = world_with_counts().await;
    let teller = world.instance().await;
    let consumer = world.instance().await;
    drop(subscribe(&consumer, "sleeper", &["*"]).await);
    consumer.close(&world.time).await;
    for _ in 0..24 {
        teller.dispatch.bus().tell(fact("hour")).await.unwrap();
        world.time.advance(SECOND * 15).await;
        // The rest of the hour, in which the sender is idle.
        pass_unseen(&world, HOUR - SECOND * 15).await;
    }
    let consumer = world.instance().await;
    let seen = work(&subscribe(&consumer, "sleeper", &["*"]).await, "sleeper");
    world.time.advance(SECOND * 15).await;
    assert_eq!(counted(&world, "sleeper").await, 24);
    assert!(seen.lock().iter().map(|fact| fact.time).is_sorted());
}

#[testkit::test]
async fn facts_sent_while_no_relay_runs_are_relayed_later() {
    let world = world_with_counts().await;
    let before = world.instance().await;
    drop(subscribe(&before, "watcher", &["*"]).await);
    let prepared = before.dispatch.bus().prepare(fact("last words")).unwrap();
    let alone = TransactWrite::new(vec![prepared.write()]);
    before.close(&world.time).await;
    world.tables.transact_write(alone).await.unwrap();
    drop(prepared);
    pass_unseen(&world, HOUR * 24).await;
    let after = world.instance().await;
    let seen = work(&subscribe(&after, "watcher", &["*"]).await, "watcher");
    world.time.advance(SECOND).await;
    assert_eq!(seen.lock().len(), 1);
}

#[testkit::test]
async fn an_effect_that_is_refused_is_decided_again() {
    let world = world_with_counts().await;
    let instance = world.instance().await;
    let subscription = subscribe(&instance, "careful", &["*"]).await;
    let tables = Arc::clone(&world.tables);
    subscription.work(1, move |fact| {
        let tables = Arc::clone(&tables);
        async move {
            let key = Item::new().with("id", "flag");
            if tables.get(Get::new("counts", key.clone())).await?.is_none() {
                // Another writer sets the flag after the handler's read.
                tables.put(Put::new("counts", key.clone())).await?;
                let put = Put::new("counts", key.with("by", fact.id));
                return Ok(vec![put.when(attr("id").not_exists()).into()]);
            }
            Ok(vec![count("second try")])
        }
    });
    instance.dispatch.bus().tell(fact("made")).await.unwrap();
    world.time.advance(SECOND * 5).await;
    assert_eq!(counted(&world, "second try").await, 1);
    assert_eq!(subscription.queue().depth().await.unwrap().messages, 0);
}

#[testkit::test]
async fn a_fact_that_cannot_be_handled_becomes_a_dead_letter_and_can_be_replayed() {
    let world = world_with_counts().await;
    let instance = world.instance().await;
    let subscription = subscribe(&instance, "moody", &["*"]).await;
    let mood = Arc::new(Mutex::new(false));
    let good = Arc::clone(&mood);
    subscription.work(1, move |_| {
        let good = *good.lock();
        async move {
            if good { Ok(vec![count("moody")]) } else { Err(Failed::for_good("not today")) }
        }
    });
    instance.dispatch.bus().tell(fact("made")).await.unwrap();
    world.time.advance(SECOND).await;
    assert_eq!(subscription.queue().depth().await.unwrap().dead, 1);
    *mood.lock() = true;
    assert_eq!(subscription.queue().replay_all().await.unwrap(), 1);
    world.time.advance(SECOND).await;
    assert_eq!(counted(&world, "moody").await, 1);
}

#[testkit::test]
async fn subscriptions_change_end_and_are_bounded() {
    let world = world_with_counts().await;
    // These consumers have no workers.
    world.allow(Left::Jobs);
    let instance = world.instance().await;
    let bus = instance.dispatch.bus();
    for number in 0..dispatch::limits::CONSUMERS_MAX {
        bus.subscribe(&format!("consumer-{number}"), &["all"]).await.unwrap();
    }
    assert!(matches!(bus.subscribe("more", &["all"]).await.err(), Some(Error::TooManyConsumers)));
    let first = bus.subscribe("consumer-0", &["mine"]).await.unwrap();
    bus.unsubscribe("consumer-1").await.unwrap();
    let second = bus.subscribe("other", &["all"]).await.unwrap();
    bus.unsubscribe("other").await.unwrap();
    bus.tell(fact("all")).await.unwrap();
    bus.tell(fact("mine")).await.unwrap();
    world.time.advance(Duration::from_secs(1)).await;
    assert_eq!(first.queue().depth().await.unwrap().messages, 1);
    assert_eq!(second.queue().depth().await.unwrap().messages, 0);
    assert!(matches!(bus.subscribe("No", &[]).await.err(), Some(Error::BadName(_))));
    let nameless = NewFact::new("", "kind", &1).unwrap();
    assert!(matches!(bus.tell(nameless).await, Err(Error::Misfit(_))));
}

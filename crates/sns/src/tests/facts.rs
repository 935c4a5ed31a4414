//! Facts: what they look like, what becomes of those that cannot be handled, and a fan-out that is
//! cut off anywhere.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp};
use dispatch::{Fact, NewFact};
use serde_json::{Value as Json, json};
use table::{Embedded, Error, MemoryDisk, Tables};

use super::hindered::{Hindered, Refusal, hindered};
use super::{House, START, roomy};
use crate::ops::identity::Caller;

#[tokio::test]
async fn facts_are_cloud_events_with_the_contracts_types() {
    let house = House::open().await;
    let recorder = house.dispatch.bus().subscribe("recorder", &["com.mini-sns.*"]).await.unwrap();
    let (ada, bob) = (house.user("ada").await, house.user("bob").await);
    house.sns.follow(ada, bob).await.unwrap();
    let post = house.say(bob, "x").await;
    let made = house.sns.get_post(post).await.unwrap();
    house.sns.like(ada, post).await.unwrap();
    house.sns.unlike(ada, post).await.unwrap();
    house.sns.delete_post(bob, post).await.unwrap();
    house.sns.unfollow(ada, bob).await.unwrap();
    let change = crate::model::account::Change { bio: Some("b".to_owned()), ..Default::default() };
    house.sns.change_user(ada, &change).await.unwrap();
    house.sns.follow(bob, ada).await.unwrap();
    house.sns.mute(bob, ada, true).await.unwrap();
    house.sns.mute(bob, ada, false).await.unwrap();
    let caller = Caller { user: bob, session: String::new(), ends: START };
    house.sns.delete_account(&caller).await.unwrap();
    let facts = house.heard(&recorder).await;
    let events: Vec<Json> =
        facts.iter().map(|fact| serde_json::from_slice(&fact.to_json()).unwrap()).collect();
    let mut kinds: Vec<(&str, &str)> = events
        .iter()
        .map(|event| (event["type"].as_str().unwrap(), event["source"].as_str().unwrap()))
        .collect();
    kinds.sort_unstable();
    let expected = [
        ("com.mini-sns.post.post.created", "mini-sns/post-service"),
        ("com.mini-sns.post.post.deleted", "mini-sns/post-service"),
        ("com.mini-sns.social.follow.created", "mini-sns/social-service"),
        ("com.mini-sns.social.follow.created", "mini-sns/social-service"),
        ("com.mini-sns.social.follow.deleted", "mini-sns/social-service"),
        // Who leaves follows nobody any more.
        ("com.mini-sns.social.follow.deleted", "mini-sns/social-service"),
        ("com.mini-sns.social.like.created", "mini-sns/social-service"),
        ("com.mini-sns.social.like.deleted", "mini-sns/social-service"),
        ("com.mini-sns.social.mute.deleted", "mini-sns/social-service"),
        ("com.mini-sns.user.user.deleted", "mini-sns/user-service"),
        ("com.mini-sns.user.user.profileUpdated", "mini-sns/user-service"),
        ("com.mini-sns.user.user.registered", "mini-sns/user-service"),
        ("com.mini-sns.user.user.registered", "mini-sns/user-service"),
    ];
    assert_eq!(kinds, expected);
    let is_gone = |event: &&Json| event["type"] == "com.mini-sns.post.post.deleted";
    let gone = events.iter().find(is_gone).unwrap();
    assert_eq!(gone["subject"], format!("post:{post}"));
    assert_eq!(
        (&gone["specversion"], &gone["data"]["createdAt"]),
        (&json!("1.0"), &json!(made.created.to_string()))
    );
}

#[tokio::test]
async fn a_fact_that_cannot_be_read_is_a_dead_letter_at_once_and_may_be_tried_again() {
    let house = House::open().await;
    let fact = NewFact::new("test", "com.mini-sns.post.post.created", &json!({ "postId": 1 }));
    house.dispatch.bus().tell(fact.unwrap()).await.unwrap();
    house.settle().await;
    let queues = house.sns.queues.read().clone();
    let timeline = queues.iter().find(|queue| queue.name() == "bus.to.sns.timeline").unwrap();
    let dead = timeline.list_dead(None, 10).await.unwrap().letters;
    assert_eq!((dead.len(), dead[0].receives), (1, 1), "{dead:?}");
    assert_eq!(Fact::from_json(&dead[0].body).unwrap().data, json!({ "postId": 1 }));
    let scopes = ["sns:operate".to_owned()];
    let key = house.ground.keys.create("operator", &scopes, None).await.unwrap().text;
    let headers = format!("x-api-key: {key}\r\n");
    let told = house.raw("POST", "/operate/redrive", &headers, "").await.is(200);
    assert_eq!(told, json!({ "facts": 1 }));
    house.settle().await;
    assert_eq!(timeline.list_dead(None, 10).await.unwrap().letters.len(), 1);
}

#[tokio::test]
async fn the_operator_counts_again_and_makes_timelines_again() {
    let house = House::open().await;
    let ada = house.user("ada").await;
    house.say(ada, "x").await;
    house.sns.remove_timeline(ada).await.unwrap();
    let scopes = ["sns:operate".to_owned()];
    let key = house.ground.keys.create("operator", &scopes, None).await.unwrap().text;
    let ask = async |path: &str| {
        house.raw("POST", &format!("/operate/{path}"), &format!("x-api-key: {key}\r\n"), "").await
    };
    assert_eq!(ask("recount").await.is(200), json!([]));
    assert_eq!(ask(&format!("rebuild/{ada}")).await.is(200), json!({ "entries": 1 }));
    ask("rebuild/x").await.is_problem(404, "no_such_user");
    assert_eq!(house.timeline(ada).await, ["x"]);
}

#[tokio::test]
async fn a_post_is_made_also_when_nobody_can_be_told_of_it() {
    let (house, store) = hindered("prod").await;
    let ada = house.user("ada").await;
    let error = || Error::Throttled("slow".to_owned());
    store.refusals.lock().push(Refusal { call: "get", table: "user-ddb", error });
    house.sns.create_post(ada, "said").await.unwrap();
    store.refusals.lock().clear();
    assert_eq!(house.timeline(ada).await, ["said"]);
}

#[tokio::test]
async fn a_key_whose_request_still_runs_is_told_to_wait() {
    let (house, store) = hindered("prod").await;
    let house = Arc::new(house);
    let ada = house.register("ada").await;
    let held = store.gate.write().await;
    let mut asked = tokio::task::JoinSet::new();
    let (asking, asker) = (house.clone(), ada.clone());
    asked.spawn(async move { super::posts::keyed(&asking, &asker, "k", "once").await });
    store.at_gate.notified().await;
    let early = super::posts::keyed(&house, &ada, "k", "once").await;
    early.is_problem(409, "idempotency_in_flight");
    assert_eq!(early.header("retry-after"), Some("1"));
    drop(held);
    let first = asked.join_next().await.unwrap().unwrap();
    let again = super::posts::keyed(&house, &ada, "k", "once").await;
    assert_eq!((first.status, first.json()), (201, again.json()));
    assert_eq!(house.timeline(ada.user()).await, ["once"]);
}

/// More than two transactions of a fan-out write.
const FOLLOWERS: usize = 205;

async fn open_disk(disk: &MemoryDisk, clock: &Clock, tasks: &Tasks) -> Embedded {
    let options = table::Options { segment_mib: 4, ..Default::default() };
    Embedded::on_memory_disk(disk.clone(), options, clock.clone(), tasks).await.unwrap()
}

/// A disk with an author and its followers on it, and the time there.
async fn prepared() -> (MemoryDisk, Timestamp) {
    let disk = MemoryDisk::breakable();
    let (clock, time) = Clock::virtual_at(START);
    let tasks = Tasks::new();
    let store = open_disk(&disk, &clock, &tasks).await;
    let house = House::on(roomy(), Arc::new(store), clock.clone(), time, tasks).await;
    let author = house.user("author").await;
    for number in 0..FOLLOWERS {
        let follower = house.user(&format!("f{number}")).await;
        house.sns.follow(follower, author).await.unwrap();
    }
    house.settle().await;
    house.settle().await;
    house.tasks.shutdown().begin();
    house.settle().await;
    (disk, clock.now())
}

/// Lets the process die after so many writes of a post and its fan-out; whether it came to that.
async fn dies_after(disk: &MemoryDisk, now: Timestamp, writes: i64, last_arrives: bool) -> bool {
    let disk = disk.copy();
    let (clock, time) = Clock::virtual_at(now);
    let (store_tasks, tasks) = (Tasks::new(), Tasks::new());
    let store = open_disk(&disk, &clock, &store_tasks).await;
    let dying = Arc::new(Hindered { last_arrives, ..Hindered::new(Arc::new(store)) });
    let tables: Arc<dyn Tables> = dying.clone();
    let house = House::on(roomy(), tables, clock, time, tasks).await;
    let author = house.sns.find_by_name("user-author").await.unwrap().unwrap().id;
    dying.left.store(writes, Ordering::SeqCst);
    let acknowledged = house.sns.create_post(author, "once").await.is_ok();
    house.settle().await;
    house.pass(1).await;
    let died = dying.left.load(Ordering::SeqCst) < 0;
    house.tasks.shutdown().begin();
    store_tasks.shutdown().begin();
    drop(house);
    let random = Random::seeded(writes.unsigned_abs());
    disk.lose_power(|| random.chance(0.5));

    let (clock, time) = Clock::virtual_at(now.checked_add(Duration::from_secs(5)).unwrap());
    let tasks = Tasks::new();
    let store = open_disk(&disk, &clock, &tasks).await;
    let house = House::on(roomy(), Arc::new(store), clock, time, tasks).await;
    for _ in 0..9 {
        house.pass(10).await;
    }
    house.settle().await;
    let posts = house.sns.query_posts(author, None, 10).await.unwrap();
    assert!(posts.len() == 1 || (posts.is_empty() && !acknowledged));
    let mut entries = house.keys("timeline").await;
    entries.retain(|(_, sk)| sk.starts_with("POST#"));
    let expected = if posts.is_empty() { 0 } else { FOLLOWERS + 1 };
    assert_eq!(entries.len(), expected, "after {writes} writes");
    let users: std::collections::BTreeSet<&String> = entries.iter().map(|(pk, _)| pk).collect();
    assert_eq!(users.len(), expected, "each follower has one");
    house.assert_no_dead_letters().await;
    died
}

#[tokio::test]
async fn a_fan_out_that_is_cut_off_anywhere_leaves_each_follower_one_entry() {
    let (disk, now) = prepared().await;
    for last_arrives in [false, true] {
        let mut writes = 0;
        while dies_after(&disk, now, writes, last_arrives).await {
            writes += 1;
            assert!(writes < 100, "it never comes to its end");
        }
        assert!(writes >= 6, "a post, its relay, its lease, three parts and its end: {writes}");
    }
}

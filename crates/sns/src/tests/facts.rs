//! Facts: what they look like, what becomes of those that cannot be handled, and a fan-out that is
//! cut off anywhere.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp};
use dispatch::{Fact, NewFact};
use serde_json::{Value as Json, json};
use table::{Embedded, Error, MemoryDisk, Tables};
use testkit::{Left, START, World};

use super::hindered::{Hindered, Refusal, hindered};
use super::{Network, roomy};
use crate::ops::identity::Caller;

#[testkit::test]
async fn facts_are_cloud_events_with_the_contracts_types() {
    let network = Network::open().await;
    let recorder =
        network.instance.dispatch.bus().subscribe("recorder", &["com.mini-sns.*"]).await.unwrap();
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    network.sns.follow(ada, bob).await.unwrap();
    let post = network.say(bob, "x").await;
    let made = network.sns.get_post(post).await.unwrap();
    network.sns.like(ada, post).await.unwrap();
    network.sns.unlike(ada, post).await.unwrap();
    network.sns.delete_post(bob, post).await.unwrap();
    network.sns.unfollow(ada, bob).await.unwrap();
    let change = crate::model::account::Change { bio: Some("b".to_owned()), ..Default::default() };
    network.sns.change_user(ada, &change).await.unwrap();
    network.sns.follow(bob, ada).await.unwrap();
    network.sns.mute(bob, ada, true).await.unwrap();
    network.sns.mute(bob, ada, false).await.unwrap();
    let caller = Caller { user: bob, session: String::new(), ends: START };
    network.sns.delete_account(&caller).await.unwrap();
    let facts = network.heard(&recorder).await;
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

#[testkit::test]
async fn a_fact_that_cannot_be_read_is_a_dead_letter_at_once_and_may_be_tried_again() {
    let network = Network::open().await;
    network.allow(Left::DeadLetters);
    let fact = NewFact::new("test", "com.mini-sns.post.post.created", &json!({ "postId": 1 }));
    network.instance.dispatch.bus().tell(fact.unwrap()).await.unwrap();
    network.settle().await;
    let queues = network.sns.queues.read().clone();
    let timeline = queues.iter().find(|queue| queue.name() == "bus.to.sns.timeline").unwrap();
    let dead = timeline.list_dead(None, 10).await.unwrap().letters;
    assert_eq!((dead.len(), dead[0].receives), (1, 1), "{dead:?}");
    assert_eq!(Fact::from_json(&dead[0].body).unwrap().data, json!({ "postId": 1 }));
    let key = network.key().await;
    let told = network.operate(&key, "/redrive").await.is(200);
    assert_eq!(told, json!({ "facts": 1 }));
    network.settle().await;
    assert_eq!(timeline.list_dead(None, 10).await.unwrap().letters.len(), 1);
}

#[testkit::test]
async fn the_operator_counts_again_and_makes_timelines_again() {
    let network = Network::open().await;
    let ada = network.user("ada").await;
    network.say(ada, "x").await;
    network.sns.remove_timeline(ada).await.unwrap();
    let key = network.key().await;
    assert_eq!(network.operate(&key, "/recount").await.is(200), json!([]));
    let rebuilt = network.operate(&key, &format!("/rebuild/{ada}")).await.is(200);
    assert_eq!(rebuilt, json!({ "entries": 1 }));
    network.operate(&key, "/rebuild/x").await.is_problem(404, "no_such_user");
    assert_eq!(network.timeline(ada).await, ["x"]);
}

#[testkit::test]
async fn a_post_is_made_also_when_nobody_can_be_told_of_it() {
    let (network, store) = hindered("prod").await;
    let ada = network.user("ada").await;
    let error = || Error::Throttled("slow".to_owned());
    store.refusals.lock().push(Refusal { call: "get", table: "user-ddb", error });
    network.sns.create_post(ada, "said").await.unwrap();
    store.refusals.lock().clear();
    assert_eq!(network.timeline(ada).await, ["said"]);
}

#[testkit::test]
async fn a_key_whose_request_still_runs_is_told_to_wait() {
    let (network, store) = hindered("prod").await;
    let network = Arc::new(network);
    let ada = network.register("ada").await;
    let held = store.gate.write().await;
    let mut asked = tokio::task::JoinSet::new();
    let (asking, asker) = (network.clone(), ada.clone());
    asked.spawn(async move { super::posts::keyed(&asking, &asker, "k", "once").await });
    store.at_gate.notified().await;
    let early = super::posts::keyed(&network, &ada, "k", "once").await;
    early.is_problem(409, "idempotency_in_flight");
    assert_eq!(early.header("retry-after"), Some("1"));
    drop(held);
    let first = asked.join_next().await.unwrap().unwrap();
    let again = super::posts::keyed(&network, &ada, "k", "once").await;
    assert_eq!((first.status, first.json()), (201, again.json()));
    assert_eq!(network.timeline(ada.user()).await, ["once"]);
}

/// More than two transactions of a fan-out write.
const FOLLOWERS: usize = 205;

/// The room on what is on this disk, from this time on; `hinder` may wrap the store.
async fn open_disk(
    disk: &MemoryDisk,
    now: Timestamp,
    hinder: impl FnOnce(Arc<dyn Tables>) -> Arc<dyn Tables>,
) -> (Network, Tasks) {
    let (clock, time) = Clock::virtual_at(now);
    let tasks = Tasks::new();
    let options = table::Options { segment_mib: 4, ..Default::default() };
    let store = Embedded::on_memory_disk(disk.clone(), options, clock.clone(), &tasks).await;
    let tables = hinder(Arc::new(store.unwrap()));
    let world = World::on(tables, clock, time, tasks.clone()).await;
    let instance = world.instance().await;
    (Network::on(world, vec![instance], roomy()).await, tasks)
}

/// Puts an author and its followers on a disk; the time there.
async fn prepare(disk: &MemoryDisk) -> Timestamp {
    let (network, _) = open_disk(disk, START, |store| store).await;
    let author = network.user("author").await;
    for number in 0..FOLLOWERS {
        let follower = network.user(&format!("f{number}")).await;
        network.sns.follow(follower, author).await.unwrap();
    }
    network.settle().await;
    network.settle().await;
    network.clock.now()
}

/// Where a process is cut off.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// After so many writes of a post and its fan-out.
    writes: i64,
    /// Whether one more reaches the disk.
    last_arrives: bool,
}

/// Lets the process die at the cut and another one go on; whether it came to that.
async fn dies(disk: &MemoryDisk, now: Timestamp, cut: Cut, random: &Random) -> bool {
    let mut dying = None;
    let hinder = |store| {
        let hindered = Hindered { last_arrives: cut.last_arrives, ..Hindered::new(store) };
        Arc::clone(dying.insert(Arc::new(hindered))) as _
    };
    let (network, store_tasks) = open_disk(disk, now, hinder).await;
    // What a process that dies has not finished is for the next one.
    network.allow(Left::Jobs);
    let dying = dying.unwrap();
    let author = network.sns.find_by_name("user-author").await.unwrap().unwrap().id;
    dying.left.store(cut.writes, Ordering::SeqCst);
    let acknowledged = network.sns.create_post(author, "once").await.is_ok();
    network.settle().await;
    network.pass(1).await;
    let died = dying.left.load(Ordering::SeqCst) < 0;
    network.instance.ground.tasks.shutdown().begin();
    store_tasks.shutdown().begin();
    drop(network);
    disk.lose_power(|| random.chance(0.5));

    let later = now.checked_add(Duration::from_secs(5)).unwrap();
    let (network, _) = open_disk(disk, later, |store| store).await;
    for _ in 0..9 {
        network.pass(10).await;
    }
    network.settle().await;
    let posts = network.sns.query_posts(author, None, 10).await.unwrap();
    assert!(posts.len() == 1 || (posts.is_empty() && !acknowledged));
    let mut entries = network.keys("timeline").await;
    entries.retain(|(_, sk)| sk.starts_with("POST#"));
    let expected = if posts.is_empty() { 0 } else { FOLLOWERS + 1 };
    assert_eq!(entries.len(), expected, "{cut:?}");
    let users: std::collections::BTreeSet<&String> = entries.iter().map(|(pk, _)| pk).collect();
    assert_eq!(users.len(), expected, "each follower has one");
    died
}

#[test]
fn a_fan_out_that_is_cut_off_anywhere_leaves_each_follower_one_entry() {
    let disk = MemoryDisk::breakable();
    let now = testkit::run(0, prepare(&disk));
    let random = testkit::seed::random();
    for last_arrives in [false, true] {
        let mut writes = 0;
        while testkit::run(0, dies(&disk.copy(), now, Cut { writes, last_arrives }, &random)) {
            writes += 1;
            assert!(writes < 100, "it never comes to its end");
        }
        assert!(writes >= 6, "a post, its relay, its lease, three parts and its end: {writes}");
    }
}

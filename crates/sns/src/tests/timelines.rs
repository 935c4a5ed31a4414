//! Timelines: whose posts are where, until when, and how pages are filled.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::Uuid;
use serde_json::{Value as Json, json};
use table::Watch;

use super::hindered::hindered;
use super::{Network, roomy};
use crate::Options;
use crate::limits::{INDEX_LOOKS, TIMELINE_MAX};
use crate::model::account::Change;
use crate::model::social::Counts;
use crate::model::timeline::{Entry, Place};
use crate::model::{PostId, UserId};
use crate::ops::Part;

#[testkit::test]
async fn ones_own_post_is_on_top_at_once_and_on_others_timelines_within_three_seconds() {
    let network = Network::open().await;
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    network.sns.follow(bob, ada).await.unwrap();
    network.settle().await;
    network.say(bob, "his").await;
    network.say(ada, "hers").await;
    assert_eq!(network.timeline(ada).await, ["hers"]);
    network.time.advance(Duration::from_secs(3)).await;
    assert_eq!(network.timeline(bob).await, ["hers", "his"]);
    network.say(bob, "again").await;
    assert_eq!(network.timeline(bob).await, ["again", "hers", "his"]);
}

#[testkit::test]
async fn a_post_waits_for_an_index_that_shows_fewer_followers_than_are_counted() {
    let (network, store) = hindered("prod").await;
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    network.sns.follow(bob, ada).await.unwrap();
    network.settle().await;
    store.behind.store(i64::from(INDEX_LOOKS) - 1, Ordering::SeqCst);
    network.say(ada, "late").await;
    network.settle().await;
    assert_eq!(network.timeline(bob).await, [""; 0]);
    network.pass(2).await;
    assert_eq!(network.timeline(bob).await, ["late"]);
    // A count that is wrong keeps nothing for good.
    let counts = network.sns.count_social(ada).await.unwrap();
    let wrong = Counts { followers: 2, ..counts };
    network
        .sns
        .tables
        .update(network.sns.layout.social.put_counts(ada, &counts, &wrong))
        .await
        .unwrap();
    network.say(ada, "later").await;
    network.pass(2).await;
    assert_eq!(network.timeline(bob).await, ["later", "late"]);
}

#[testkit::test]
async fn a_remembered_page_knows_what_has_changed_and_what_is_over() {
    let network = Network::open().await;
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    network.sns.follow(bob, ada).await.unwrap();
    network.say(ada, "old").await;
    network.pass(60).await;
    let post = network.say(ada, "new").await;
    network.settle().await;
    let (first, again) = (network.page(bob, 20).await, network.page(bob, 20).await);
    // Where the store tells of changes, it is the very same.
    let mut watch = Watch::default();
    network.sns.tables.watch(&network.sns.layout.timelines.partition(bob), &mut watch);
    assert_eq!(Arc::ptr_eq(&first, &again), watch.holds());
    network.sns.like(bob, post).await.unwrap();
    assert_eq!(network.page(bob, 20).await.items[0].post.likes, 1);
    let change = Change { display_name: Some("Ada Lovelace".to_owned()), ..Change::default() };
    network.sns.change_user(ada, &change).await.unwrap();
    assert_eq!(network.page(bob, 20).await.items[0].author.display_name, "Ada Lovelace");
    assert_eq!(network.page(bob, 20).await.items.len(), 2);
    // Before anything is swept away.
    let later = Duration::from_secs(30 * 24 * 3600 - 30);
    network.time.set_wall(network.clock.now().checked_add(later).unwrap()).await;
    assert_eq!(network.page(bob, 20).await.items.len(), 1, "the first one is thirty days old");
}

#[testkit::test]
async fn a_follow_brings_the_newest_twenty_and_an_unfollow_takes_them_all() {
    let network = Network::open().await;
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    for number in 0..25 {
        network.say(ada, &number.to_string()).await;
    }
    network.settle().await;
    network.sns.follow(bob, ada).await.unwrap();
    network.settle().await;
    let expected: Vec<String> = (5..25).rev().map(|number| number.to_string()).collect();
    assert_eq!(network.timeline(bob).await, expected);
    network.say(bob, "mine").await;
    network.sns.unfollow(bob, ada).await.unwrap();
    assert_eq!(network.timeline(bob).await, ["mine"], "at once for the reader");
    network.settle().await;
    let left = network.keys("timeline").await;
    let of_bob = left.iter().filter(|(pk, _)| pk.contains(&bob.to_string()));
    assert_eq!(of_bob.count(), 1, "and in the table when the fact is through");
}

#[testkit::test]
async fn a_deleted_post_is_gone_from_timelines_likes_and_tables() {
    let network = Network::open().await;
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    network.sns.follow(bob, ada).await.unwrap();
    let post = network.say(ada, "gone").await;
    network.settle().await;
    network.sns.like(bob, post).await.unwrap();
    network.settle().await;
    network.sns.delete_post(ada, post).await.unwrap();
    assert_eq!(network.timeline(bob).await, [] as [String; 0]);
    network.settle().await;
    for table in ["post", "social", "timeline"] {
        let left = network.keys(table).await;
        let of_post = |(pk, sk): &&(String, String)| {
            (pk.contains(&post.to_string()) || sk.contains(&post.to_string()))
                && !sk.starts_with("NOTE#")
        };
        assert_eq!(left.iter().find(of_post), None, "{table}");
    }
    assert_eq!(network.sns.count_social(bob).await.unwrap().likes, 0);
}

#[testkit::test]
async fn a_page_of_twenty_is_filled_when_entries_vanish() {
    let network = Network::open().await;
    let (ada, bob, carl) =
        (network.user("ada").await, network.user("bob").await, network.user("carl").await);
    for author in [ada, bob] {
        network.sns.follow(carl, author).await.unwrap();
    }
    network.settle().await;
    let dora = network.user("dora").await;
    let mut posts = Vec::new();
    for number in 0..60 {
        let author = if number % 2 == 0 { ada } else { bob };
        posts.push(network.say(author, &number.to_string()).await);
        let stray = network.sns.create_post(dora, "of somebody else").await.unwrap();
        let stray = Entry { place: stray.place(), author: dora };
        let now = network.clock.now();
        let stray = network.sns.layout.timelines.put_all(&[carl], stray, now).collect();
        network.sns.write_all(stray).await.unwrap();
    }
    network.settle().await;
    // Entries whose posts are gone or whose author is not followed, as a reader may find them.
    for post in posts.iter().skip(40).step_by(2) {
        let post = network.sns.get_post(*post).await.unwrap();
        let delete = network.sns.layout.posts.delete(&post).to_vec();
        network.sns.tables.transact_write(table::TransactWrite::new(delete)).await.unwrap();
    }
    let page = network.page(carl, 20).await;
    let numbers: Vec<u32> =
        page.items.iter().map(|shown| shown.post.content.parse().unwrap()).collect();
    let expected: Vec<u32> =
        (0..60).rev().filter(|number| *number < 40 || number % 2 == 1).take(20).collect();
    assert_eq!(numbers, expected);
    let part = Part { after: page.next.clone(), offset: 0, limit: 20 };
    let rest = network.sns.read_timeline(carl, &part).await.unwrap();
    assert_eq!(rest.items.first().unwrap().post.content, (expected[19] - 1).to_string());
    let part = Part { after: None, offset: 5, limit: 3 };
    let some = network.sns.read_timeline(carl, &part).await.unwrap();
    let numbers: Vec<u32> =
        some.items.iter().map(|shown| shown.post.content.parse().unwrap()).collect();
    assert_eq!(numbers, expected[5..8]);
}

#[testkit::test]
async fn pages_of_any_size_show_each_post_once_and_the_last_has_no_next() {
    let network = Network::open().await;
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    network.sns.follow(bob, ada).await.unwrap();
    network.settle().await;
    for number in 0..30 {
        network.say(if number % 3 == 0 { bob } else { ada }, &number.to_string()).await;
    }
    network.settle().await;
    let expected: Vec<String> = (0..30).rev().map(|number| number.to_string()).collect();
    for limit in [1, 7, 10, 15, 30, 31] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page =
                network.sns.read_timeline(bob, &Part { after, offset: 0, limit }).await.unwrap();
            assert!(page.items.len() == limit || page.next.is_none());
            all.extend(page.items.iter().map(|shown| shown.post.content.clone()));
            after = page.next.clone();
            if after.is_none() {
                break;
            }
        }
        assert_eq!(all, expected, "{limit}");
    }
}

#[testkit::test]
async fn an_author_with_many_followers_is_merged_in_at_read() {
    let network = Network::open_with(Options { push_threshold: 3, ..roomy() }).await;
    let star = network.user("star").await;
    let (mut fans, other) = (Vec::new(), network.user("other").await);
    for number in 0..4 {
        let fan = network.user(&format!("fan-{number}")).await;
        network.sns.follow(fan, other).await.unwrap();
        fans.push(fan);
    }
    for fan in &fans[..2] {
        network.sns.follow(*fan, star).await.unwrap();
    }
    network.settle().await;
    network.say(star, "pushed").await;
    network.settle().await;
    network.sns.follow(fans[2], star).await.unwrap();
    network.settle().await;
    let pulled = network.say(star, "pulled").await;
    network.say(other, "between").await;
    network.say(star, "newest").await;
    network.settle().await;
    let entries = network.keys("timeline").await;
    let of_pulled = entries.iter().filter(|(_, sk)| sk.contains(&pulled.to_string())).count();
    assert_eq!(of_pulled, 1, "only the author has an entry");
    for fan in &fans[..3] {
        assert_eq!(network.timeline(*fan).await, ["newest", "between", "pulled", "pushed"]);
    }
    assert_eq!(network.timeline(fans[3]).await, ["between"]);
    assert_eq!(network.timeline(star).await, ["newest", "pulled", "pushed"], "and each post once");
    let page = network.page(fans[0], 2).await;
    let part = Part { after: page.next.clone(), offset: 0, limit: 2 };
    let rest = network.sns.read_timeline(fans[0], &part).await.unwrap();
    let rest: Vec<String> = rest.items.iter().map(|shown| shown.post.content.clone()).collect();
    assert_eq!(rest, ["pulled", "pushed"]);
    // Who is not followed any more, or deletes, is gone here too.
    network.sns.delete_post(star, pulled).await.unwrap();
    assert_eq!(network.timeline(fans[1]).await, ["newest", "between", "pushed"]);
    network.sns.unfollow(fans[0], star).await.unwrap();
    assert_eq!(network.timeline(fans[0]).await, ["between"]);
}

#[testkit::test]
async fn an_entry_is_gone_thirty_days_after_its_post() {
    let network = Network::open().await;
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    network.sns.follow(bob, ada).await.unwrap();
    network.settle().await;
    network.say(ada, "old").await;
    network.jump(24 * 3600).await;
    network.say(ada, "young").await;
    network.settle().await;
    let until = testkit::START.seconds() + 30 * 24 * 3600;
    network.jump(until - network.clock.now().seconds() - 1).await;
    assert_eq!(network.timeline(bob).await, ["young", "old"]);
    network.pass(2).await;
    assert_eq!(network.timeline(bob).await, ["young"]);
    // Nor does a late follower find it.
    let carl = network.user("carl").await;
    network.sns.follow(carl, ada).await.unwrap();
    network.settle().await;
    assert_eq!(network.timeline(carl).await, ["young"]);
    assert_eq!(network.sns.rebuild(bob).await.unwrap(), 1);
    network.jump(24 * 3600).await;
    assert_eq!(network.timeline(bob).await, [] as [String; 0]);
    network.jump(3600).await;
    network.pass(120).await;
    let left = network.keys("timeline").await;
    assert_eq!(left.iter().find(|(_, sk)| sk.starts_with("POST#")), None);
}

#[testkit::test]
async fn an_author_who_is_merged_in_and_has_long_been_silent_ends_no_page_and_holds_none_up() {
    let network = Network::open_with(Options { push_threshold: 1, ..roomy() }).await;
    let (star, fan) = (network.user("star").await, network.user("fan").await);
    network.sns.follow(fan, star).await.unwrap();
    network.settle().await;
    for number in 0..30 {
        network.say(star, &number.to_string()).await;
    }
    network.settle().await;
    assert_eq!(network.page(fan, 20).await.items.len(), 20);
    network.jump(31 * 24 * 3600).await;
    assert_eq!(network.page(fan, 20).await.items, []);
    network.say(star, "back").await;
    assert_eq!(network.timeline(fan).await, ["back"]);
}

/// Entries of posts that need not be there.
async fn fill(network: &Network, user: UserId, author: UserId, count: usize) {
    let now = network.clock.now();
    let entry = |number: usize| {
        let post = PostId(Uuid::from_u128(number as u128));
        let created = base::Timestamp::from_millis(now.millis() - 1_000_000 + number as u64);
        Entry { place: Place { created, post }, author }
    };
    let writes: Vec<_> = (0..count)
        .flat_map(|number| {
            network.sns.layout.timelines.put_all(&[user], entry(number), now).collect::<Vec<_>>()
        })
        .collect();
    for some in writes.chunks(100) {
        network.sns.tables.transact_write(table::TransactWrite::new(some.to_vec())).await.unwrap();
    }
}

#[testkit::test]
async fn nobody_is_shown_more_than_eight_hundred_and_the_rest_is_cut_away() {
    let network = Network::open().await;
    let (ada, bob) = (network.user("ada").await, network.user("bob").await);
    network.sns.follow(bob, ada).await.unwrap();
    network.say(ada, "oldest").await;
    network.settle().await;
    network.jump(2_000).await;
    fill(&network, bob, ada, TIMELINE_MAX + 30).await;
    assert_eq!(
        network.timeline(bob).await,
        [] as [String; 0],
        "behind eight hundred nothing is read"
    );
    assert_eq!(network.sns.trim().await.unwrap(), 31);
    let entries = network.keys("timeline").await;
    let of_bob = entries.iter().filter(|(pk, _)| pk.contains(&bob.to_string())).count();
    assert_eq!(of_bob, TIMELINE_MAX);
    assert_eq!(network.sns.trim().await.unwrap(), 0);
}

/// A timeline to its end in pages of a hundred.
async fn read_all(network: &Network, user: UserId) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let part = Part { after, offset: 0, limit: 100 };
        let page = network.sns.read_timeline(user, &part).await.unwrap();
        all.extend(page.items.iter().map(|shown| shown.post.content.clone()));
        after = page.next.clone();
        if after.is_none() {
            return all;
        }
    }
}

#[testkit::test]
async fn nor_does_anybody_come_behind_the_eight_hundredth_page_by_page() {
    for push_threshold in [10_000, 1] {
        let network = Network::open_with(Options { push_threshold, ..roomy() }).await;
        let (ada, bob) = (network.user("ada").await, network.user("bob").await);
        network.sns.follow(bob, ada).await.unwrap();
        network.settle().await;
        let count = TIMELINE_MAX + 25;
        for number in 0..count {
            network.sns.create_post(ada, &number.to_string()).await.unwrap();
        }
        for _ in 0..4 {
            network.settle().await;
        }
        let entries = network.keys("timeline").await;
        let of_bob =
            |(pk, sk): &&(String, String)| pk.contains(&bob.to_string()) && sk.starts_with("POST#");
        let written = if push_threshold == 1 { 0 } else { count };
        assert_eq!(entries.iter().filter(of_bob).count(), written);
        let newest: Vec<String> =
            (0..count).rev().take(TIMELINE_MAX).map(|number| number.to_string()).collect();
        assert_eq!(read_all(&network, bob).await, newest, "from {push_threshold} followers on");
        assert_eq!(network.sns.count_timeline(bob).await.unwrap(), TIMELINE_MAX);
        // One's own count too.
        let own = network.say(bob, "own").await;
        assert_eq!(read_all(&network, bob).await.len(), TIMELINE_MAX);
        network.sns.delete_post(bob, own).await.unwrap();
        assert_eq!(read_all(&network, bob).await, newest);
    }
}

#[testkit::test]
async fn a_page_of_a_timeline_says_where_it_stands() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    for number in 0..25 {
        network.say(ada.user(), &number.to_string()).await;
    }
    let ask = async |query: &str| network.get(&ada, &format!("/timeline{query}")).await.is(200);
    let contents = |told: &Json| -> Vec<u32> {
        let posts = told["posts"].as_array().unwrap().iter();
        posts.map(|post| post["content"].as_str().unwrap().parse().unwrap()).collect()
    };
    let first = ask("").await;
    assert_eq!(contents(&first), (5..25).rev().collect::<Vec<_>>());
    assert_eq!((&first["limit"], &first["offset"]), (&json!(20), &json!(0)));
    assert_eq!(first["total"], Json::Null, "counting is for who asks by offset");
    let rest = ask(&format!("?cursor={}", first["next"].as_str().unwrap())).await;
    assert_eq!((contents(&rest), &rest["next"]), ((0..5).rev().collect(), &Json::Null));
    let some = ask("?offset=3&limit=2").await;
    assert_eq!((contents(&some), &some["total"]), (vec![21, 20], &json!(25)));
    assert_eq!((&some["limit"], &some["offset"]), (&json!(2), &json!(3)));
    let next = ask(&format!("?limit=2&cursor={}", some["next"].as_str().unwrap())).await;
    assert_eq!(contents(&next), [19, 18]);
    let last = ask("?offset=24").await;
    assert_eq!((contents(&last), &last["next"]), (vec![0], &Json::Null));
    let none = ask("?offset=0&limit=100").await;
    assert_eq!(
        (contents(&none).len(), &none["total"], &none["next"]),
        (25, &json!(25), &Json::Null)
    );
    for wrong in ["limit=0", "limit=101", "offset=1001", "cursor=x", "cursor=1~2~3&offset=1"] {
        network.get(&ada, &format!("/timeline?{wrong}")).await.is_problem(400, "invalid");
    }
    network.raw("GET", "/v1/timeline", &[], "").await.is_problem(401, "token_missing");
}

#[testkit::test]
async fn a_timeline_is_made_again_from_the_source() {
    let network = Network::open().await;
    let (ada, bob, carl) =
        (network.user("ada").await, network.user("bob").await, network.user("carl").await);
    network.sns.follow(bob, ada).await.unwrap();
    for number in 0..30 {
        network.say(ada, &number.to_string()).await;
    }
    network.say(bob, "own").await;
    network.settle().await;
    network.sns.remove_timeline(bob).await.unwrap();
    fill(&network, bob, carl, 5).await;
    assert_eq!(network.timeline(bob).await, [] as [String; 0]);
    assert_eq!(network.sns.rebuild(bob).await.unwrap(), 31);
    let mut expected: Vec<String> = (0..30).rev().map(|number| number.to_string()).collect();
    expected.insert(0, "own".to_owned());
    assert_eq!(network.timeline(bob).await, expected);
    let entries = network.keys("timeline").await;
    assert_eq!(entries.iter().filter(|(pk, _)| pk.contains(&bob.to_string())).count(), 31);
}

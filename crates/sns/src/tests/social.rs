//! Follows, likes, blocks, mutes, notifications.

use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::{Network, Person};

async fn two(network: &Network) -> (Person, Person) {
    (network.register("ada").await, network.register("bob").await)
}

fn names(told: &Json) -> Vec<String> {
    let users = told["users"].as_array().unwrap().iter();
    let mut names: Vec<String> =
        users.map(|user| user["username"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[testkit::test]
async fn a_follow_is_counted_on_both_sides_and_found_from_both() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    let path = format!("/users/{}/follow", bob.id);
    let told = network.ask(&ada, "POST", &path, Json::Null).await.is(201);
    assert_eq!((&told["followerId"], &told["followeeId"]), (&json!(ada.id), &json!(bob.id)));
    network.ask(&ada, "POST", &path, Json::Null).await.is_problem(409, "already_following");
    network.ask(&ada, "POST", "/users/me/follow", Json::Null).await.is_problem(400, "oneself");
    let none = "/users/00000000-0000-4000-8000-000000000000/follow";
    network.ask(&ada, "POST", none, Json::Null).await.is_problem(404, "no_such_user");
    let seen = network.get(&ada, &format!("/users/{}", bob.id)).await.is(200);
    assert_eq!((&seen["followersCount"], &seen["isFollowing"]), (&json!(1), &json!(true)));
    let followers = network.get(&ada, &format!("/users/{}/followers", bob.id)).await.is(200);
    assert_eq!((names(&followers), &followers["total"]), (vec!["ada".to_owned()], &json!(1)));
    let following = network.get(&bob, &format!("/users/{}/following", ada.id)).await.is(200);
    assert_eq!((names(&following), &following["total"]), (vec!["bob".to_owned()], &json!(1)));
    network.ask(&ada, "DELETE", &path, Json::Null).await.is(204);
    network.ask(&ada, "DELETE", &path, Json::Null).await.is_problem(404, "not_following");
    network.ask(&ada, "DELETE", none, Json::Null).await.is_problem(404, "no_such_user");
    let seen = network.get(&ada, &format!("/users/{}", bob.id)).await.is(200);
    assert_eq!((&seen["followersCount"], &seen["isFollowing"]), (&json!(0), &json!(false)));
}

#[testkit::test]
async fn lists_of_users_are_read_part_by_part() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    for number in 0..25 {
        let user = network.user(&format!("{number:02}")).await;
        network.sns.follow(user, ada.user()).await.unwrap();
    }
    let first = network.get(&ada, "/users/me/followers").await.is(200);
    let next = first["next"].as_str().unwrap();
    let second = network.get(&ada, &format!("/users/me/followers?cursor={next}")).await.is(200);
    let mut all = names(&first);
    all.extend(names(&second));
    all.sort();
    assert_eq!(all, (0..25).map(|n| format!("user-{n:02}")).collect::<Vec<_>>());
    assert_eq!((second["next"].as_str(), &second["total"]), (None, &json!(25)));
    let some = network.get(&ada, "/users/me/followers?offset=23&limit=5").await.is(200);
    assert_eq!(names(&some).len(), 2);
    network.get(&ada, "/users/me/followers?cursor=x").await.is_problem(400, "invalid");
}

#[testkit::test]
async fn a_like_is_counted_once_and_taken_back_once() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    let post = network.say(ada.user(), "hello").await;
    let path = format!("/posts/{post}/likes");
    let told = network.ask(&bob, "POST", &path, Json::Null).await.is(201);
    assert_eq!((&told["likesCount"], &told["isLiked"]), (&json!(1), &json!(true)));
    network.ask(&bob, "POST", &path, Json::Null).await.is_problem(409, "already_liked");
    let seen = network.get(&bob, &format!("/posts/{post}")).await.is(200);
    assert_eq!((&seen["likesCount"], &seen["isLiked"]), (&json!(1), &json!(true)));
    let likers = network.get(&ada, &path).await.is(200);
    assert_eq!((names(&likers), &likers["total"]), (vec!["bob".to_owned()], &json!(1)));
    let likes = network.get(&ada, &format!("/users/{}/likes", bob.id)).await.is(200);
    assert_eq!(
        (&likes["posts"][0]["postId"], &likes["total"]),
        (&json!(post.to_string()), &json!(1))
    );
    network.ask(&bob, "DELETE", &path, Json::Null).await.is(204);
    network.ask(&bob, "DELETE", &path, Json::Null).await.is_problem(404, "not_liked");
    assert_eq!(network.sns.get_post(post).await.unwrap().likes, 0);
    network.ask(&bob, "POST", "/posts/x/likes", Json::Null).await.is_problem(404, "no_such_post");
    network.get(&bob, "/posts/x/likes").await.is_problem(404, "no_such_post");
}

#[testkit::test(4)]
async fn counts_are_what_is_there_after_any_rush() {
    let network = Network::open().await;
    let mut users = Vec::new();
    for number in 0..6 {
        users.push(network.user(&number.to_string()).await);
    }
    let mut posts = Vec::new();
    for user in &users {
        posts.push(network.say(*user, "x").await);
    }
    let mut all = JoinSet::new();
    for round in 0..6 * 6 * 4 {
        let (sns, one, other) = (network.sns.clone(), users[round % 6], users[(round / 6) % 6]);
        let post = posts[(round / 6) % 6];
        all.spawn(async move {
            // Whichever of them may be refused; what is done must be counted.
            match round % 7 {
                0..3 => drop(sns.follow(one, other).await),
                3 => drop(sns.unfollow(one, other).await),
                4 => drop(sns.unlike(one, post).await),
                5 if round == 40 => drop(sns.delete_post(one, post).await),
                6 if round % 48 == 6 => drop(sns.block(one, other).await),
                _ => drop(sns.like(one, post).await),
            }
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
    network.settle().await;
    assert_eq!(network.sns.recount_all().await.unwrap(), []);
    let followed = users.len();
    assert!(network.keys("social").await.len() > followed, "something was followed and liked");
}

#[testkit::test]
async fn a_wrong_count_is_found_and_corrected() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    network.sns.follow(ada.user(), bob.user()).await.unwrap();
    let post = network.say(ada.user(), "x").await;
    let update = network.sns.layout.posts.put_likes(post, 0, 7);
    network.sns.tables.update(update).await.unwrap();
    let mut counts = network.sns.count_social(bob.user()).await.unwrap();
    let before = counts;
    counts.followers = 9;
    let update = network.sns.layout.social.put_counts(bob.user(), &before, &counts);
    network.sns.tables.update(update).await.unwrap();
    let mut wrong: Vec<_> = network
        .sns
        .recount_all()
        .await
        .unwrap()
        .into_iter()
        .map(|one| (one.what, one.counted, one.found))
        .collect();
    wrong.sort_unstable();
    assert_eq!(wrong, [("followers", 9, 1), ("likes", 7, 0)]);
    assert_eq!(network.sns.recount_all().await.unwrap(), []);
}

#[testkit::test]
async fn who_is_blocked_neither_follows_nor_likes_nor_is_seen() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    for (one, other) in [(&ada, &bob), (&bob, &ada)] {
        network.sns.follow(one.user(), other.user()).await.unwrap();
    }
    let post = network.say(ada.user(), "hers").await;
    network.say(bob.user(), "his").await;
    network.settle().await;
    assert_eq!(network.timeline(bob.user()).await, ["his", "hers"]);
    let path = format!("/users/{}/block", bob.id);
    for _ in 0..2 {
        network.ask(&ada, "PUT", &path, Json::Null).await.is(204);
    }
    assert_eq!(
        (network.timeline(ada.user()).await, network.timeline(bob.user()).await),
        (vec!["hers".to_owned()], vec!["his".to_owned()])
    );
    let follow = format!("/users/{}/follow", ada.id);
    network.ask(&bob, "POST", &follow, Json::Null).await.is_problem(403, "blocked");
    network
        .ask(&bob, "POST", &format!("/posts/{post}/likes"), Json::Null)
        .await
        .is_problem(404, "no_such_post");
    network.ask(&ada, "PUT", "/users/me/block", Json::Null).await.is_problem(400, "invalid");
    network.ask(&ada, "PUT", "/users/x/block", Json::Null).await.is_problem(404, "no_such_user");
    network.settle().await;
    assert_eq!(network.sns.recount_all().await.unwrap(), []);
    network.ask(&ada, "DELETE", &path, Json::Null).await.is(204);
    network.ask(&bob, "POST", &follow, Json::Null).await.is(201);
    network.settle().await;
    assert_eq!(network.timeline(bob.user()).await, ["his", "hers"]);
}

#[testkit::test]
async fn between_two_of_whom_one_has_blocked_the_other_nothing_is_read_but_the_profile() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    let carl = network.register("carl").await;
    let (hers, his) = (network.say(ada.user(), "hers").await, network.say(bob.user(), "his").await);
    let theirs = network.say(carl.user(), "theirs").await;
    for (one, other) in [(&ada, &bob), (&bob, &ada)] {
        network.sns.follow(one.user(), other.user()).await.unwrap();
        network.sns.follow(one.user(), carl.user()).await.unwrap();
        network.sns.like(one.user(), theirs).await.unwrap();
    }
    network.sns.like(ada.user(), his).await.unwrap();
    network.sns.like(bob.user(), hers).await.unwrap();
    network.sns.like(carl.user(), hers).await.unwrap();
    network.settle().await;
    let sees = async |one: &Person, other: &Person, post: &str| -> Vec<usize> {
        let batch = json!({ "postIds": [post] });
        let batch = network.ask(one, "POST", "/posts/batch", batch).await.is(200);
        let (id, likers) = (&other.id, format!("/posts/{theirs}/likes"));
        let count = |told: &Json, list: &str| told[list].as_array().unwrap().len();
        let list = async |path: String| network.get(one, &path).await.is(200);
        let notes = list("/notifications".to_owned()).await;
        let posts = list(format!("/users/{id}/posts")).await;
        assert_eq!(posts["total"], count(&posts, "posts"), "nor is it told how many there are");
        vec![
            usize::from(network.get(one, &format!("/posts/{post}")).await.status == 200),
            usize::from(network.get(one, &format!("/posts/{post}/likes")).await.status == 200),
            count(&batch, "posts"),
            1 - count(&batch, "notFound"),
            count(&posts, "posts"),
            count(&list(format!("/users/{id}/likes")).await, "posts"),
            count(&list(likers).await, "users"),
            count(&list(format!("/users/{}/followers", carl.id)).await, "users"),
            count(&notes, "notifications"),
        ]
    };
    let (hers, his) = (hers.to_string(), his.to_string());
    assert_eq!(sees(&bob, &ada, &hers).await, [1, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(sees(&ada, &bob, &his).await, [1, 1, 1, 1, 1, 2, 2, 2, 3]);
    let path = format!("/users/{}/block", bob.id);
    network.ask(&ada, "PUT", &path, Json::Null).await.is(204);
    // Whoever of the two asks; of others they hear as before.
    assert_eq!(sees(&bob, &ada, &hers).await, [0, 0, 0, 0, 0, 0, 1, 1, 0]);
    assert_eq!(sees(&ada, &bob, &his).await, [0, 0, 0, 0, 0, 0, 1, 1, 1]);
    assert_eq!(sees(&carl, &ada, &hers).await, [1, 1, 1, 1, 1, 2, 2, 2, 4]);
    let likes = network.get(&carl, &format!("/users/{}/likes", bob.id)).await.is(200);
    assert_eq!(likes["posts"].as_array().unwrap().len(), 2);
    network.get(&bob, &format!("/users/{}", ada.id)).await.is(200);
    network.settle().await;
    network.ask(&ada, "DELETE", &path, Json::Null).await.is(204);
    assert_eq!(sees(&bob, &ada, &hers).await[..5], [1, 1, 1, 1, 1]);
}

#[testkit::test]
async fn who_is_muted_is_not_seen_and_comes_back() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    network.sns.follow(ada.user(), bob.user()).await.unwrap();
    network.say(bob.user(), "before").await;
    network.settle().await;
    let path = format!("/users/{}/mute", bob.id);
    network.ask(&ada, "PUT", &path, Json::Null).await.is(204);
    assert_eq!(network.timeline(ada.user()).await, [] as [String; 0]);
    network.say(bob.user(), "meanwhile").await;
    network.settle().await;
    let entries = network.keys("timeline").await;
    let of_ada = entries.iter().filter(|(pk, sk)| pk.contains(&ada.id) && sk.starts_with("POST#"));
    assert_eq!(of_ada.count(), 1, "what is muted is not even written");
    network.sns.follow(bob.user(), ada.user()).await.unwrap();
    network.settle().await;
    let notes = network.get(&ada, "/notifications").await.is(200);
    assert_eq!(notes["notifications"], json!([]), "nor is one notified of it");
    network.ask(&ada, "DELETE", &path, Json::Null).await.is(204);
    network.settle().await;
    assert_eq!(network.timeline(ada.user()).await, ["meanwhile", "before"]);
    // A mute outlives a follow.
    network.ask(&ada, "PUT", &path, Json::Null).await.is(204);
    network.sns.unfollow(ada.user(), bob.user()).await.unwrap();
    network.sns.follow(ada.user(), bob.user()).await.unwrap();
    network.settle().await;
    assert_eq!(network.timeline(ada.user()).await, [] as [String; 0]);
}

#[testkit::test]
async fn follows_and_likes_are_notified_and_taken_back() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    network.sns.follow(bob.user(), ada.user()).await.unwrap();
    let post = network.say(ada.user(), "x").await;
    network.pass(1).await;
    network.sns.like(bob.user(), post).await.unwrap();
    network.sns.like(ada.user(), post).await.unwrap();
    network.settle().await;
    let kinds = async || -> Vec<(String, bool)> {
        let told = network.get(&ada, "/notifications").await.is(200);
        let notes = told["notifications"].as_array().unwrap().clone();
        notes
            .iter()
            .map(|note| {
                assert_eq!(note["actor"]["username"], "bob");
                (note["kind"].as_str().unwrap().to_owned(), note["isRead"].as_bool().unwrap())
            })
            .collect()
    };
    let told = |list: &[(&str, bool)]| -> Vec<(String, bool)> {
        list.iter().map(|(kind, read)| ((*kind).to_owned(), *read)).collect()
    };
    assert_eq!(kinds().await, told(&[("like", false), ("follow", false)]));
    // Whoever is muted is not heard of, and comes back.
    network.sns.mute(ada.user(), bob.user(), true).await.unwrap();
    assert_eq!(kinds().await, []);
    network.sns.mute(ada.user(), bob.user(), false).await.unwrap();
    let first = network.get(&ada, "/notifications?limit=1").await.is(200);
    let next = first["next"].as_str().unwrap().replace('#', "%23");
    let second = network.get(&ada, &format!("/notifications?limit=1&cursor={next}")).await.is(200);
    assert_eq!(
        (&second["notifications"][0]["kind"], &second["next"]),
        (&json!("follow"), &Json::Null)
    );
    network.ask(&ada, "POST", "/notifications/read", Json::Null).await.is(204);
    assert_eq!(kinds().await, told(&[("like", true), ("follow", true)]));
    network.sns.unlike(bob.user(), post).await.unwrap();
    network.settle().await;
    assert_eq!(kinds().await, told(&[("follow", true)]));
    network.jump(31 * 24 * 3600).await;
    let ada = super::person(&network.log_in("ada", super::PASSWORD).await.is(200));
    let notes = network.get(&ada, "/notifications").await.is(200);
    assert_eq!(notes["notifications"], json!([]), "after thirty days they are gone");
    network.get(&ada, "/notifications?cursor=x").await.is_problem(400, "invalid");
}

#[testkit::test]
async fn blocks_and_mutes_are_listed_to_their_maker_and_shown_in_profiles() {
    let network = Network::open().await;
    let (ada, bob) = two(&network).await;
    let carl = network.register("carl").await;
    for (what, others, shown) in [("block", "blocks", "isBlocked"), ("mute", "mutes", "isMuted")] {
        let list = format!("/users/me/{others}");
        let seen = async |by: &Person, of: &Person| {
            let path = format!("/users/{}", of.id);
            network.get(by, &path).await.is(200)[shown].clone()
        };
        assert_eq!(names(&network.get(&ada, &list).await.is(200)), [] as [&str; 0]);
        assert_eq!(seen(&ada, &bob).await, false);
        for other in [&bob, &carl] {
            let path = format!("/users/{}/{what}", other.id);
            network.ask(&ada, "PUT", &path, Json::Null).await.is(204);
        }
        let told = network.get(&ada, &list).await.is(200);
        assert_eq!(names(&told), ["bob", "carl"]);
        assert!(told["users"].as_array().unwrap().iter().all(|user| user[shown] == true));
        assert_eq!((seen(&ada, &bob).await, seen(&bob, &ada).await), (json!(true), json!(false)));
        assert_eq!(names(&network.get(&bob, &list).await.is(200)), [] as [&str; 0]);
        let first = network.get(&ada, &format!("{list}?limit=1")).await.is(200);
        let next = first["next"].as_str().unwrap();
        let rest = network.get(&ada, &format!("{list}?limit=1&cursor={next}")).await.is(200);
        assert_eq!((names(&rest).len(), &rest["next"]), (1, &Json::Null));
        assert_ne!(names(&first), names(&rest));
        // Nobody else is told.
        let hers = format!("/users/{}/{others}", ada.id);
        network.get(&bob, &hers).await.is_problem(403, "not_yours");
        let path = format!("/users/{}/{what}", bob.id);
        network.ask(&ada, "DELETE", &path, Json::Null).await.is(204);
        assert_eq!(names(&network.get(&ada, &list).await.is(200)), ["carl"]);
        assert_eq!(seen(&ada, &bob).await, false);
        network.get(&ada, &format!("{list}?cursor=x")).await.is_problem(400, "invalid");
    }
}

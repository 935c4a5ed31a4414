//! Users as others see them, and what becomes of those who leave.

use serde_json::{Value as Json, json};

use super::{Network, PASSWORD, roomy};
use crate::Options;
use crate::jobs::Consumer;
use crate::model::account::Session;

#[testkit::test]
async fn a_user_is_found_by_id_and_by_name_and_shows_its_address_to_itself_alone() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("Bob").await);
    let own = network.get(&ada, &format!("/users/{}", ada.id)).await.is(200);
    assert_eq!(own["email"], "ada@example.org");
    for path in [format!("/users/{}", ada.id), "/users/by/username/ADA".to_owned()] {
        let seen = network.get(&bob, &path).await;
        assert!(!seen.text().contains("@example.org"), "{seen:?}");
        let seen = seen.is(200);
        let counts = ["postsCount", "followersCount", "followingCount"];
        assert_eq!(counts.map(|name| seen[name].as_u64().unwrap()), [0, 0, 0]);
        assert_eq!((&seen["username"], &seen["isFollowing"]), (&json!("ada"), &json!(false)));
    }
    network.get(&bob, "/users/nonsense").await.is_problem(404, "no_such_user");
    let none = "/users/00000000-0000-4000-8000-000000000000";
    network.get(&bob, none).await.is_problem(404, "no_such_user");
    for nobody in ["nobody", "x", &"x".repeat(3000)] {
        let answer = network.get(&bob, &format!("/users/by/username/{nobody}")).await;
        answer.is_problem(404, "no_such_user");
    }
    network.raw("GET", "/v1/users/me", &[], "").await.is_problem(401, "token_missing");
}

#[testkit::test]
async fn a_profile_is_changed_by_its_owner_alone() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    let change = json!({ "displayName": " Ada  L. ", "bio": "数学\n<b>" });
    let told = network.ask(&ada, "PUT", "/users/me", change.clone()).await.is(200);
    assert_eq!((&told["displayName"], &told["bio"]), (&json!("Ada  L."), &json!("数学\n<b>")));
    let path = format!("/users/{}", ada.id);
    network.ask(&bob, "PUT", &path, change).await.is_problem(403, "not_yours");
    for wrong in [json!({ "username": "a b" }), json!({ "bio": "x".repeat(161) })] {
        network.ask(&ada, "PUT", &path, wrong).await.is_problem(400, "invalid");
    }
    let taken = network.ask(&ada, "PUT", &path, json!({ "username": "BOB" })).await;
    taken.is_problem(409, "username_taken");
}

#[testkit::test]
async fn what_a_profile_cannot_change_is_refused_and_not_passed_over() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    for wrong in [
        json!({ "email": "other@mail.test" }),
        json!({ "email": "other@mail.test", "bio": "changed" }),
        json!({ "email": null, "bio": "changed" }),
        json!({ "email": 1, "bio": "changed" }),
        json!({ "password": "new password", "bio": "changed" }),
        json!({ "newPassword": "new password", "bio": "changed" }),
    ] {
        let answer = network.ask(&ada, "PUT", "/users/me", wrong.clone()).await;
        assert_eq!(answer.status, 400, "{wrong} {answer:?}");
        answer.is_problem(400, "invalid");
    }
    // A client may send back the whole profile that it was given.
    let mut own = network.get(&ada, "/users/me").await.is(200);
    assert_eq!(own["bio"], "");
    own["bio"] = json!("changed");
    assert_eq!(network.ask(&ada, "PUT", "/users/me", own).await.is(200)["bio"], "changed");
}

#[testkit::test]
async fn a_new_name_is_seen_everywhere() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    network.sns.create_post(ada.user(), "hello").await.unwrap();
    network.sns.follow(bob.user(), ada.user()).await.unwrap();
    network.settle().await;
    let author = async || {
        let told = network.get(&bob, "/timeline").await.is(200);
        told["posts"][0]["author"]["username"].as_str().unwrap().to_owned()
    };
    assert_eq!(author().await, "ada");
    // Its own name in another case is not somebody else's.
    network.ask(&ada, "PUT", "/users/me", json!({ "username": "ADA" })).await.is(200);
    network.ask(&ada, "PUT", "/users/me", json!({ "username": "lovelace" })).await.is(200);
    assert_eq!(author().await, "lovelace");
    network.get(&bob, "/users/by/username/ada").await.is_problem(404, "no_such_user");
    assert_eq!(network.get(&bob, "/users/by/username/LOVELACE").await.is(200)["userId"], ada.id);
}

#[testkit::test]
async fn a_batch_shows_who_is_there_and_names_who_is_not() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    let body = json!({ "userIds": [bob.id, "nonsense", ada.id, bob.id] });
    let told = network.ask(&ada, "POST", "/users/batch", body).await.is(200);
    let ids: Vec<&Json> =
        told["users"].as_array().unwrap().iter().map(|one| &one["userId"]).collect();
    assert_eq!(ids, [&json!(bob.id), &json!(ada.id)]);
    assert_eq!(told["notFound"], json!(["nonsense"]));
    for wrong in [json!([]), json!(vec![ada.id.clone(); 101])] {
        let answer = network.ask(&ada, "POST", "/users/batch", json!({ "userIds": wrong })).await;
        answer.is_problem(400, "invalid");
    }
}

#[testkit::test]
async fn who_leaves_takes_everything_along() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    for (one, other) in [(&ada, &bob), (&bob, &ada)] {
        network.sns.follow(one.user(), other.user()).await.unwrap();
    }
    let (hers, his) = (network.say(ada.user(), "hers").await, network.say(bob.user(), "his").await);
    network.settle().await;
    for (one, post) in [(&ada, his), (&bob, hers), (&ada, hers)] {
        network.sns.like(one.user(), post).await.unwrap();
    }
    network.settle().await;
    assert_eq!(network.timeline(bob.user()).await, ["his", "hers"]);
    let path = format!("/users/{}", ada.id);
    network.ask(&bob, "DELETE", &path, Json::Null).await.is_problem(403, "not_yours");
    network.ask(&ada, "DELETE", &path, Json::Null).await.is(204);
    network.get(&ada, "/timeline").await.is_problem(401, "token_invalid");
    network.log_in("ada", PASSWORD).await.is_problem(401, "login_failed");
    // At once for readers, and in the tables when the facts are through.
    network.settle().await;
    network.settle().await;
    assert_eq!(network.timeline(bob.user()).await, ["his"]);
    network.get(&bob, &path).await.is_problem(404, "no_such_user");
    let told = network.get(&bob, "/users/me").await.is(200);
    assert_eq!((&told["followersCount"], &told["followingCount"]), (&json!(0), &json!(0)));
    assert_eq!(network.sns.get_post(his).await.unwrap().likes, 0);
    for table in ["user", "session", "post", "social", "timeline"] {
        let left: Vec<_> = network.keys(table).await;
        let of_ada = |(pk, sk): &&(String, String)| pk.contains(&ada.id) || sk.contains(&ada.id);
        assert_eq!(
            left.iter().filter(of_ada).collect::<Vec<_>>(),
            [] as [&(String, String); 0],
            "{table}"
        );
    }
    assert_eq!(network.sns.recount_all().await.unwrap(), []);
}

#[testkit::test]
async fn a_session_that_began_while_its_user_left_ends_too() {
    let network = Network::open().await;
    let bus = network.instance.dispatch.bus().clone();
    let recorder = bus.subscribe("recorder", &["com.mini-sns.user.user.deleted"]).await.unwrap();
    let ada = network.register("ada").await;
    network.ask(&ada, "DELETE", "/users/me", Json::Null).await.is(204);
    let facts = network.heard(&recorder).await;
    // As if it had been written between the listing of all sessions and the end of the account.
    let now = network.clock.now();
    let (id, refresh) = ("x".repeat(40), String::new());
    let late = Session { user: ada.user(), id, refresh, created: now, used: now };
    network.sns.write_all(vec![network.sns.layout.sessions.put(&late)]).await.unwrap();
    assert!(network.sns.find_session(ada.user(), &late.id).await.unwrap().is_some());
    network.sns.consume(Consumer::Users, facts.first().unwrap()).await.unwrap();
    assert_eq!(network.sns.find_session(ada.user(), &late.id).await.unwrap(), None);
}

#[testkit::test]
async fn an_author_who_was_merged_in_and_leaves_is_not_looked_for_any_more() {
    let network = Network::open_with(Options { push_threshold: 1, ..roomy() }).await;
    let (star, fan) = (network.register("star").await, network.register("fan").await);
    network.sns.follow(fan.user(), star.user()).await.unwrap();
    network.settle().await;
    network.say(star.user(), "x").await;
    network.settle().await;
    let pulled = async || {
        let keys = network.keys("timeline").await.into_iter();
        keys.filter(|(pk, _)| pk == "PULLED").map(|(_, sk)| sk).collect::<Vec<_>>()
    };
    assert_eq!(pulled().await, [format!("USER#{}", star.id)]);
    network.ask(&star, "DELETE", "/users/me", Json::Null).await.is(204);
    network.settle().await;
    network.settle().await;
    assert_eq!(pulled().await, [] as [String; 0]);
}

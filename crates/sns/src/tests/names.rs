//! Which names can be had: names that were given up, reserved names, names that look like others.

use serde_json::{Value as Json, json};
use table::{Delete, Item, Update};
use testkit::Answer;

use super::{HOST, Network, PASSWORD, Person};

const DAY: u64 = 24 * 3600;

async fn register(network: &Network, username: &str) -> Answer {
    let email = format!("{}-again{HOST}", base::hex(username.as_bytes()));
    let body = json!({ "email": email, "username": username, "password": PASSWORD });
    network.post("/auth/register", body).await
}

async fn rename(network: &Network, who: &Person, username: &str) -> Answer {
    network.ask(who, "PUT", "/users/me", json!({ "username": username })).await
}

/// Logs in again: a token is good for an hour.
async fn again(network: &Network, name: &str) -> Person {
    super::person(&network.log_in(name, PASSWORD).await.is(200))
}

#[testkit::test]
async fn the_name_of_a_deleted_account_is_held_for_thirty_days() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    network.ask(&ada, "DELETE", "/users/me", Json::Null).await.is(204);
    for taker in ["ada", "ADA"] {
        register(&network, taker).await.is_problem(409, "username_held");
        rename(&network, &bob, taker).await.is_problem(409, "username_held");
    }
    // The address is its owner's, and is free at once.
    let body = json!({ "email": ada.email, "username": "ada-2", "password": PASSWORD });
    network.post("/auth/register", body).await.is(201);
    network.jump(30 * DAY - 1).await;
    register(&network, "ada").await.is_problem(409, "username_held");
    network.jump(1).await;
    register(&network, "ada").await.is(201);
}

#[testkit::test]
async fn a_name_that_was_changed_is_held_for_its_former_owner() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    rename(&network, &ada, "lovelace").await.is(200);
    register(&network, "Ada").await.is_problem(409, "username_held");
    rename(&network, &bob, "ada").await.is_problem(409, "username_held");
    rename(&network, &ada, "ada").await.is(200);
    register(&network, "lovelace").await.is_problem(409, "username_held");
    network.jump(30 * DAY).await;
    register(&network, "lovelace").await.is(201);
    register(&network, "ada").await.is_problem(409, "username_taken");
}

#[testkit::test]
async fn nobody_collects_names_by_changing_them() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    for number in 0..5 {
        rename(&network, &ada, &format!("name-{number}")).await.is(200);
    }
    let refused = rename(&network, &ada, "one-more").await;
    refused.is_problem(429, "renamed_too_often");
    assert_eq!(refused.header("retry-after"), Some(&*(30 * DAY).to_string()));
    // The same name in another case gives nothing up.
    rename(&network, &ada, "NAME-4").await.is(200);
    network.jump(30 * DAY).await;
    let ada = again(&network, "ada").await;
    rename(&network, &ada, "one-more").await.is(200);
}

#[testkit::test]
async fn reserved_names_and_their_likes_are_nobodys() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    for reserved in [
        "admin",
        "Admin",
        "ADMIN",
        "adm1n",
        "root",
        "r00t",
        "support",
        "nagaya",
        "moderator",
        "system",
        "ad-min",
        "_admin_",
        "0fficial",
    ] {
        register(&network, reserved).await.is_problem(409, "username_reserved");
        rename(&network, &ada, reserved).await.is_problem(409, "username_reserved");
    }
    // NFKC would make `admin` and `ada` of the first two, a confusable `ada` of the third.
    for foreign in ["ａｄｍｉｎ", "𝐚𝐝𝐚", "аdа", "ada\u{200b}"] {
        register(&network, foreign).await.is_problem(400, "invalid");
    }
    for free in ["administrative", "rooted", "admiral"] {
        register(&network, free).await.is(201);
    }
}

#[testkit::test]
async fn a_name_that_looks_like_anothers_is_taken() {
    let network = Network::open().await;
    for name in ["alice", "Ian", "mona", "wim", "bob0"] {
        register(&network, name).await.is(201);
    }
    let carl = network.register("carl").await;
    for (alike, of) in [
        ("aIice", "alice"),
        ("a1ice", "alice"),
        ("lan", "Ian"),
        ("1an", "Ian"),
        ("rnona", "mona"),
        ("vvim", "wim"),
        ("bobo", "bob0"),
        ("BOBO", "bob0"),
    ] {
        let answer = register(&network, alike).await;
        assert_eq!(answer.status, 409, "{alike} is {of}: {answer:?}");
        answer.is_problem(409, "username_taken");
        rename(&network, &carl, alike).await.is_problem(409, "username_taken");
    }
    register(&network, "alike").await.is(201);
    // What looked like a name that was given up is held like it.
    rename(&network, &carl, "curl").await.is(200);
    register(&network, "car1").await.is_problem(409, "username_held");
    rename(&network, &carl, "car1").await.is(200);
}

#[testkit::test]
async fn names_from_before_looks_were_claimed_are_claimed_at_the_next_start() {
    let network = Network::open().await;
    let ada = network.register("alice").await;
    network.register("bob").await;
    // As an earlier version left it: no claims of looks, and no note that there are any.
    for (pk, sk) in network.keys("user").await {
        if pk.starts_with("LOOK#") {
            let key = Item::new().with("PK", pk).with("SK", sk);
            network.tables.delete(Delete::new("mini-sns-prod-user-ddb", key)).await.unwrap();
        }
    }
    let total = Item::new().with("PK", "TOTAL").with("SK", "TOTAL");
    let note = Update::new("mini-sns-prod-user-ddb", total).remove("looksClaimed");
    network.tables.update(note).await.unwrap();
    let elsewhere = register(&network, "a1ice").await;
    elsewhere.is(201);
    let instances = vec![network.world.instance().await];
    let later = Network::on(network.world.clone(), instances, super::roomy()).await;
    register(&later, "aIice").await.is_problem(409, "username_taken");
    register(&later, "b0b").await.is_problem(409, "username_taken");
    // Both that look alike stay, and may change and leave.
    rename(&later, &ada, "Alice").await.is(200);
    rename(&later, &ada, "alicia").await.is(200);
    later.ask(&ada, "DELETE", "/users/me", Json::Null).await.is(204);
}

//! A school behind one address: everybody of it gets in and takes part, also beside an abuser. And
//! how many accounts strangers can make.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value as Json, json};
use table::{Delete, Item};
use tempfile::NamedTempFile;
use testkit::START;

use super::identity::signed;
use super::{HOST, Network, PASSWORD, Person, person, roomy};
use crate::{Error, Options};

const ISSUER: &str = "https://school.example";

/// A sign-in service: registering by it costs no hash of a password.
struct School {
    pair: Ed25519KeyPair,
    file: NamedTempFile,
}

impl School {
    fn new() -> School {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[5; 32]).unwrap();
        let x = URL_SAFE_NO_PAD.encode(pair.public_key());
        let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "1", "x": x }] });
        let listed = json!([{ "issuer": ISSUER, "audience": "nagaya", "jwks": keys }]);
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(listed.to_string().as_bytes()).unwrap();
        School { pair, file }
    }

    fn options(&self, options: Options) -> Options {
        Options { issuers_file: Some(self.file.path().to_owned()), ..options }
    }

    async fn register(&self, network: &Network, name: &str) -> testkit::Answer {
        let claims = json!({ "iss": ISSUER, "sub": name, "aud": "nagaya",
            "exp": START.seconds() + 86_400 });
        let body = json!({ "token": signed(&self.pair, &claims), "username": name,
            "email": format!("{name}{HOST}") });
        network.post("/auth/external", body).await
    }

    async fn crowd(&self, network: &Network, count: usize) -> Vec<Person> {
        let mut people = Vec::new();
        for number in 0..count {
            people.push(person(&self.register(network, &format!("p-{number}")).await.is(201)));
        }
        people
    }
}

#[testkit::test]
async fn a_thousand_people_behind_one_address_register_and_post() {
    let school = School::new();
    let network = Network::alone(school.options(Options::default())).await;
    for person in school.crowd(&network, 1_000).await {
        network.ask(&person, "POST", "/posts", json!({ "content": "hello" })).await.is(201);
        network.get(&person, "/timeline").await.is(200);
    }
}

#[testkit::test]
async fn a_good_token_uses_up_nothing_of_its_address() {
    let school = School::new();
    let network = Network::alone(school.options(roomy())).await;
    let people = school.crowd(&network, 30).await;
    // An instance that has believed none of the tokens yet, with ten at once for the address.
    let instances = vec![network.world.instance().await];
    let options = Options { address_requests_per_second: 5, ..roomy() };
    let later = Network::on(network.world.clone(), instances, options).await;
    for person in &people {
        later.get(person, "/timeline").await.is(200);
    }
}

#[testkit::test]
async fn one_user_who_asks_all_the_time_hinders_no_other_of_its_address() {
    let school = School::new();
    let options = Options { requests_per_second: 5, ..roomy() };
    let network = Network::alone(school.options(options)).await;
    let people = school.crowd(&network, 20).await;
    while network.get(&people[0], "/timeline").await.status == 200 {}
    for person in people.iter().skip(1) {
        network.get(person, "/timeline").await.is(200);
    }
}

#[testkit::test]
async fn five_tries_from_one_address_lock_nobody_out_elsewhere() {
    let network = Network::open().await;
    network.register("ada").await;
    for _ in 0..5 {
        let failed = network.sns.log_in("ada@example.org", "wrong wrong", "mallory", None).await;
        assert!(matches!(failed, Err(Error::LoginFailed)));
    }
    let refused = network.sns.log_in("ada@example.org", PASSWORD, "mallory", None).await;
    assert!(matches!(refused, Err(Error::TooManyFailures { .. })));
    network.sns.log_in("ada@example.org", PASSWORD, "somewhere new", None).await.unwrap();
}

#[testkit::test]
async fn a_guesser_behind_the_address_of_a_school_keeps_none_of_its_people_out() {
    let options = Options { login_failures_max: 1, ..roomy() };
    let network = Network::open_with(options).await;
    network.register("ada").await;
    for number in 0..100 {
        network.log_in(&format!("guess-{number}"), "wrong").await.is_problem(401, "login_failed");
    }
    network.log_in("guess-100", "wrong").await.is_problem(429, "too_many_failures");
    network.log_in("ada", PASSWORD).await.is(200);
    // Also while others of the school go on mistyping, the address is not refused for ever.
    network.jump(600).await;
    network.log_in("guess-101", "wrong").await.is_problem(401, "login_failed");
}

#[testkit::test]
async fn registrations_have_a_rate_by_address_and_a_refused_one_uses_up_nothing() {
    let school = School::new();
    let options = Options { address_registrations_per_hour: 3, ..roomy() };
    let network = Network::alone(school.options(options)).await;
    school.register(&network, "ada").await.is(201);
    for number in 0..50 {
        let body = json!({ "email": format!("{number}{HOST}"), "username": "ada",
            "password": PASSWORD });
        network.post("/auth/register", body).await.is_problem(409, "username_taken");
    }
    school.register(&network, "bob").await.is(201);
    school.register(&network, "carl").await.is(201);
    school.register(&network, "dora").await.is_problem(429, "rate_limited");
    network.pass(1_200).await;
    school.register(&network, "dora").await.is(201);
}

#[testkit::test]
async fn the_accounts_of_the_house_are_bounded_over_instances_and_restarts() {
    let school = School::new();
    let options = || school.options(Options { accounts_max: 2, ..roomy() });
    let network = Network::open_with(options()).await;
    let ada = person(&school.register(&network, "ada").await.is(201));
    school.register(&network, "bob").await.is(201);
    let full = school.register(&network, "carl").await;
    full.is_problem(507, "accounts_full");
    let told = "the house holds 2 accounts and takes no more (`sns.accounts_max`)";
    assert_eq!(full.json()["detail"], told);
    let instances = vec![network.world.instance().await];
    let later = Network::on(network.world.clone(), instances, options()).await;
    school.register(&later, "carl").await.is_problem(507, "accounts_full");
    network.ask(&ada, "DELETE", "/users/me", Json::Null).await.is(204);
    school.register(&later, "carl").await.is(201);
    school.register(&network, "dora").await.is_problem(507, "accounts_full");
    assert_eq!(network.sns.recount_all().await.unwrap(), []);
}

#[testkit::test]
async fn accounts_from_before_they_were_counted_count() {
    let school = School::new();
    let options = || school.options(Options { accounts_max: 1, ..roomy() });
    let network = Network::open_with(options()).await;
    school.register(&network, "ada").await.is(201);
    let total = Item::new().with("PK", "TOTAL").with("SK", "TOTAL");
    network.tables.delete(Delete::new("mini-sns-prod-user-ddb", total)).await.unwrap();
    let instances = vec![network.world.instance().await];
    let later = Network::on(network.world.clone(), instances, options()).await;
    school.register(&later, "bob").await.is_problem(507, "accounts_full");
}

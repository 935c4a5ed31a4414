//! Registering, logging in and out, tokens, tickets, other issuers.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value as Json, json};
use testkit::START;
use tokio::task::JoinSet;

use super::{Network, PASSWORD, Person, person, roomy};
use crate::{Error, Options, Registration};

fn new_user(email: &str, username: &str) -> Json {
    json!({ "email": email, "username": username, "password": PASSWORD })
}

#[testkit::test]
async fn a_new_user_is_told_what_it_needs_and_may_begin() {
    let network = Network::open().await;
    let answer = network.post("/auth/register", new_user("Ada@example.org", "Ada")).await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let told = answer.is(201);
    assert_eq!(
        (&told["user"]["email"], &told["user"]["username"]),
        (&json!("Ada@example.org"), &json!("Ada"))
    );
    assert_eq!(told["expiresIn"], 3600);
    let ada = person(&told);
    assert_eq!(network.get(&ada, "/users/me").await.is(200)["userId"], ada.id);
    let told = network
        .post("/auth/login", json!({ "email": "ADA@EXAMPLE.ORG", "password": PASSWORD }))
        .await
        .is(200);
    assert_eq!((&told["user"]["userId"], &told["expiresIn"]), (&json!(ada.id), &json!(3600)));
}

#[testkit::test]
async fn what_is_not_within_its_bounds_is_refused_by_name() {
    let network = Network::open().await;
    for (body, word) in [
        (new_user("nonsense", "ada"), "email"),
        (new_user("a@b", "x"), "username"),
        (json!({ "email": "a@b", "username": "ada", "password": "short" }), "password"),
    ] {
        let answer = network.post("/auth/register", body).await;
        answer.is_problem(400, "invalid");
        assert!(answer.json()["detail"].as_str().unwrap().contains(word), "{answer:?}");
    }
    for body in [json!({}), json!([]), json!({ "email": 1 })] {
        network.post("/auth/register", body).await.is_problem(400, "invalid_body");
    }
    assert_eq!(network.keys("user").await, []);
}

#[testkit::test]
async fn address_and_name_are_taken_whatever_their_case() {
    let network = Network::open().await;
    network.register("ada").await;
    let again = network.post("/auth/register", new_user("ADA@example.org", "other")).await;
    again.is_problem(409, "email_taken");
    let again = network.post("/auth/register", new_user("other@example.org", "aDa")).await;
    again.is_problem(409, "username_taken");
    assert_eq!(again.json()["instance"], "/sns/v1/auth/register");
    let headers = [("accept-language", "ja")];
    let body = new_user("other@example.org", "aDa").to_string();
    let again = network.raw("POST", "/v1/auth/register", &headers, &body).await.json();
    assert_eq!(
        again["detail"],
        "ユーザー名「aDa」は、すでに使われているか、使われている名前と紛らわしいため使えません"
    );
}

#[testkit::test]
async fn what_is_wrong_with_a_value_is_told_in_japanese_to_its_last_word() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let headers = [("accept-language", "ja"), ("authorization", &*ada.bearer())];
    let long = format!("{{\"content\": \"{}\"}}", "長".repeat(281));
    let cases = [
        ("POST", "/posts", long.as_str(), "投稿は280文字までです（現在281文字）"),
        ("POST", "/posts", r#"{"content": " "}"#, "投稿は1文字以上にしてください"),
        (
            "PUT",
            "/users/me",
            r#"{"username": "長屋"}"#,
            "ユーザー名は半角の英数字と _ - で3〜50文字にしてください",
        ),
        ("GET", "/timeline?limit=0", "", "limit は 1 から 100 までです（指定: 0）"),
        ("GET", "/timeline?cursor=x", "", "「x」はこの一覧のカーソルではありません"),
        ("PUT", "/users/me/block", "", "自分自身にはできません"),
    ];
    for (method, path, body, told) in cases {
        let answer = network.raw(method, &format!("/v1{path}"), &headers, body).await;
        answer.is_problem(400, "invalid");
        assert_eq!(answer.json()["detail"], told);
    }
}

#[testkit::test(4)]
async fn of_a_hundred_registrations_of_one_name_or_one_address_at_once_one_wins() {
    let network = Network::open().await;
    let mut all = JoinSet::new();
    for number in 0..200 {
        let (sns, same_name) = (network.sns.clone(), number % 2 == 0);
        all.spawn(async move {
            let proof = crate::ops::identity::Proof::Identity {
                issuer: "test".to_owned(),
                subject: number.to_string(),
            };
            let (email, username) = match same_name {
                true => (format!("{number}@example.org"), "ada".to_owned()),
                false => ("ada@example.org".to_owned(), format!("ada-{number}")),
            };
            let (invite, device) = (None, None);
            let command = crate::ops::identity::Register { email, username, proof, invite, device };
            (same_name, sns.register(command, "elsewhere").await)
        });
    }
    let (mut by_name, mut by_email) = (0, 0);
    while let Some(done) = all.join_next().await {
        match done.unwrap() {
            (true, Ok(_)) => by_name += 1,
            (false, Ok(_)) => by_email += 1,
            (true, Err(Error::UsernameTaken(_))) | (false, Err(Error::EmailTaken)) => {}
            (_, Err(error)) => panic!("{error}"),
        }
    }
    assert_eq!((by_name, by_email), (1, 1));
    // Two profiles, each with three claims, its identity and the claim of that; and the count.
    assert_eq!(network.keys("user").await.len(), 13);
}

#[testkit::test]
async fn unknown_and_wrong_are_answered_and_delayed_alike() {
    let network = Network::open().await;
    network.register("ada").await;
    let wrong = network.log_in("ada", "something else").await;
    wrong.is_problem(401, "login_failed");
    let unknown = network.log_in("nobody", "something else").await;
    let shown = |answer: &testkit::Answer| {
        let mut told = answer.json();
        told.as_object_mut().unwrap().remove("traceId");
        told
    };
    assert_eq!(shown(&wrong), shown(&unknown));
    for name in ["ada", "nobody"] {
        for _ in 0..4 {
            network.log_in(name, "something else").await.is_problem(401, "login_failed");
        }
        // Five to this account from this address.
        let refused = network.log_in(name, PASSWORD).await;
        refused.is_problem(429, "too_many_failures");
        assert_eq!(refused.header("retry-after"), Some("5"));
    }
    network.jump(5).await;
    network.log_in("ada", PASSWORD).await.is(200);
}

#[testkit::test]
async fn failures_of_an_account_count_from_all_addresses_until_it_logs_in() {
    let options = Options { login_failures_max: 1, ..roomy() };
    let network = Network::open_with(options).await;
    network.register("ada").await;
    let log_in = async |password: &str, address: &str| {
        network.sns.log_in("ada@example.org", password, address, None).await
    };
    for number in 0..3 {
        let failed = log_in("wrong wrong", &number.to_string()).await;
        assert!(matches!(failed, Err(Error::LoginFailed)));
    }
    log_in(PASSWORD, "9").await.unwrap();
    for number in 10..14 {
        let failed = log_in("wrong wrong", &number.to_string()).await;
        assert!(matches!(failed, Err(Error::LoginFailed)));
    }
    let refused = log_in(PASSWORD, "99").await;
    assert!(matches!(refused, Err(Error::TooManyFailures { wait }) if wait.as_secs() == 5));
    log_in(PASSWORD, "9").await.expect("where ada has been before, ada gets in");
    // However many guess from however many addresses, a new device waits a minute at most.
    for number in 100..110 {
        network.jump(60).await;
        let failed = log_in("wrong wrong", &number.to_string()).await;
        assert!(matches!(failed, Err(Error::LoginFailed)));
    }
    let refused = log_in(PASSWORD, "99").await;
    assert!(matches!(refused, Err(Error::TooManyFailures { wait }) if wait.as_secs() == 60));
    network.jump(60).await;
    log_in(PASSWORD, "99").await.unwrap();
}

#[testkit::test]
async fn one_address_delays_an_account_nowhere_else_however_long_it_guesses() {
    let network = Network::open().await;
    network.register("ada").await;
    let log_in = async |password: &str, address: &str| {
        network.sns.log_in("ada@example.org", password, address, None).await
    };
    let mut guesses = 0;
    while guesses < 60 {
        match log_in("wrong wrong", "mallory").await {
            Err(Error::LoginFailed) => guesses += 1,
            Err(Error::TooManyFailures { wait }) => network.jump(wait.as_secs().max(1)).await,
            other => panic!("{other:?}"),
        }
    }
    log_in(PASSWORD, "somewhere new").await.unwrap();
}

#[testkit::test]
async fn a_token_is_good_for_an_hour_and_a_refresh_brings_the_next() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    network.jump(3599).await;
    network.get(&ada, "/timeline").await.is(200);
    network.jump(1).await;
    network.get(&ada, "/timeline").await.is_problem(401, "token_invalid");
    let told = network.post("/auth/refresh", json!({ "refreshToken": ada.refresh })).await.is(200);
    let next = person(&told);
    assert_ne!(next.refresh, ada.refresh);
    network.get(&next, "/timeline").await.is(200);
    network
        .get(&Person { token: "x.y.z".to_owned(), ..ada }, "/timeline")
        .await
        .is_problem(401, "token_invalid");
    network.raw("GET", "/v1/timeline", &[], "").await.is_problem(401, "token_missing");
}

#[testkit::test]
async fn a_refresh_token_that_comes_twice_ends_the_session() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let refresh =
        async |token: &str| network.post("/auth/refresh", json!({ "refreshToken": token })).await;
    let next = person(&refresh(&ada.refresh).await.is(200));
    refresh(&ada.refresh).await.is_problem(401, "token_invalid");
    refresh(&next.refresh).await.is_problem(401, "token_invalid");
    network.get(&next, "/timeline").await.is_problem(401, "token_invalid");
    let long = format!("{}.{}.y", ada.id, "x".repeat(5000));
    for nonsense in ["", "x", "a.b.c", &format!("{}.x.y", ada.id), &long] {
        refresh(nonsense).await.is_problem(401, "token_invalid");
    }
}

#[testkit::test]
async fn a_key_repeats_tokens_for_half_a_minute_and_then_no_reuse_is_forgiven() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let headers = [("idempotency-key", "k")];
    let body = json!({ "refreshToken": ada.refresh }).to_string();
    let refresh = async || network.raw("POST", "/v1/auth/refresh", &headers, &body).await;
    let next = person(&refresh().await.is(200));
    network.pass(29).await;
    let again = refresh().await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(person(&again.is(200)).refresh, next.refresh, "a connection may break");
    network.get(&next, "/timeline").await.is(200);
    network.pass(1).await;
    refresh().await.is_problem(401, "token_invalid");
    network.get(&next, "/timeline").await.is_problem(401, "token_invalid");
    let answer = network.post("/auth/refresh", json!({ "refreshToken": next.refresh })).await;
    answer.is_problem(401, "token_invalid");
    let log_in = json!({ "email": ada.email, "password": PASSWORD }).to_string();
    let log_in = async || network.raw("POST", "/v1/auth/login", &headers, &log_in).await.is(200);
    let first = person(&log_in().await);
    assert_eq!(person(&log_in().await).token, first.token);
    network.pass(30).await;
    assert_ne!(person(&log_in().await).token, first.token, "tokens are not kept for a day");
}

#[testkit::test]
async fn guessing_tokens_meets_the_rate_of_its_address_and_hinders_nobody_else_there() {
    let network = Network::alone(Options { address_requests_per_second: 5, ..roomy() }).await;
    let ada = network.register("ada").await;
    network.get(&ada, "/timeline").await.is(200);
    let guess = Person { token: "x.y.z".to_owned(), ..ada.clone() };
    let mut refused = 0;
    loop {
        let answer = network.get(&guess, "/timeline").await;
        if answer.status == 429 {
            answer.is_problem(429, "rate_limited");
            break;
        }
        answer.is_problem(401, "token_invalid");
        refused += 1;
        assert!(refused <= 10);
    }
    network.get(&ada, "/timeline").await.is(200);
    // So does a token that was good once.
    network.pass(2).await;
    network.ask(&ada, "POST", "/auth/logout", Json::Null).await.is(204);
    let mut refused = 0;
    while network.get(&ada, "/timeline").await.status == 401 {
        refused += 1;
        assert!(refused <= 11);
    }
    assert!(refused >= 9, "{refused}");
}

#[testkit::test]
async fn a_session_ends_after_an_idle_day_and_after_a_month() {
    let network = Network::open().await;
    let idle = network.register("idle").await;
    let mut busy = network.register("busy").await;
    let day = 24 * 3600;
    for hours in 0..29 * 2 + 1 {
        network.jump(day / 2).await;
        let answer = network.post("/auth/refresh", json!({ "refreshToken": busy.refresh })).await;
        busy = person(&answer.is(200));
        if hours == 2 {
            let answer =
                network.post("/auth/refresh", json!({ "refreshToken": idle.refresh })).await;
            answer.is_problem(401, "token_invalid");
        }
    }
    network.jump(day / 2).await;
    let answer = network.post("/auth/refresh", json!({ "refreshToken": busy.refresh })).await;
    answer.is_problem(401, "token_invalid");
    network.jump(3600).await;
    network.pass(120).await;
    assert!(!network.keys("session").await.iter().any(|(_, sk)| sk.starts_with("SESSION#")));
}

#[testkit::test]
async fn logging_out_ends_one_session_and_logging_out_of_all_ends_all() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let others: Vec<Person> = vec![
        person(&network.log_in("ada", PASSWORD).await.is(200)),
        person(&network.log_in("ada", PASSWORD).await.is(200)),
    ];
    network.ask(&ada, "POST", "/auth/logout", Json::Null).await.is(204);
    network.get(&ada, "/timeline").await.is_problem(401, "token_invalid");
    let answer = network.post("/auth/refresh", json!({ "refreshToken": ada.refresh })).await;
    answer.is_problem(401, "token_invalid");
    network.get(&others[0], "/timeline").await.is(200);
    network.ask(&others[0], "POST", "/auth/logout-all", Json::Null).await.is(204);
    for other in &others {
        network.get(other, "/timeline").await.is_problem(401, "token_invalid");
    }
}

#[testkit::test]
async fn a_new_password_ends_all_other_sessions() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let other = person(&network.log_in("ada", PASSWORD).await.is(200));
    let change =
        |current: &str, new: &str| json!({ "currentPassword": current, "newPassword": new });
    let wrong =
        network.ask(&ada, "PUT", "/auth/password", change("wrong wrong", "new password")).await;
    wrong.is_problem(403, "password_wrong");
    let short = network.ask(&ada, "PUT", "/auth/password", change(PASSWORD, "short")).await;
    short.is_problem(400, "invalid");
    network.ask(&ada, "PUT", "/auth/password", change(PASSWORD, "new password")).await.is(204);
    network.get(&ada, "/timeline").await.is(200);
    network.get(&other, "/timeline").await.is_problem(401, "token_invalid");
    network.log_in("ada", PASSWORD).await.is_problem(401, "login_failed");
    network.log_in("ada", "new password").await.is(200);
}

#[testkit::test]
async fn sessions_of_one_user_are_bounded_and_the_longest_unused_makes_room() {
    let network = Network::open().await;
    let user = network.user("ada").await;
    let first = network.sns.find_identity("test", "ada").await.unwrap().unwrap();
    for _ in 0..crate::limits::SESSIONS_MAX + 3 {
        network.pass(1).await;
        network.sns.find_identity("test", "ada").await.unwrap().unwrap();
    }
    let mut sessions = network.keys("session").await;
    sessions.retain(|(_, sk)| sk.starts_with("SESSION#"));
    assert_eq!(sessions.len(), crate::limits::SESSIONS_MAX);
    assert!(network.sns.find_session(user, &first.session.id).await.unwrap().is_none());
}

#[testkit::test]
async fn registration_may_be_closed_or_need_an_invitation_that_is_good_once() {
    let closed =
        Network::open_with(Options { registration: Registration::Closed, ..roomy() }).await;
    closed
        .post("/auth/register", new_user("a@b", "ada"))
        .await
        .is_problem(403, "registration_closed");
    let network =
        Network::open_with(Options { registration: Registration::Invite, ..roomy() }).await;
    network.post("/auth/register", new_user("a@b", "ada")).await.is_problem(403, "invite_invalid");
    let key = network.key().await;
    let made = network.operate(&key, "/invites").await.is(200);
    network.raw("POST", "/operate/invites", &[], "").await.is_problem(401, "key_missing");
    let invited = |email: &str, name: &str| {
        let mut body = new_user(email, name);
        body["invite"] = made["invite"].clone();
        body
    };
    network.post("/auth/register", invited("a@b", "ada")).await.is(201);
    network.post("/auth/register", invited("b@b", "bob")).await.is_problem(403, "invite_invalid");
    // Who has no invitation learns nothing of who is here, and costs no hash.
    network.post("/auth/register", new_user("a@b", "ada")).await.is_problem(403, "invite_invalid");
    let mut guessed = new_user("a@b", "ada");
    guessed["invite"] = json!("x".repeat(40));
    network.post("/auth/register", guessed).await.is_problem(403, "invite_invalid");
}

#[testkit::test]
async fn the_key_set_verifies_the_tokens_also_after_the_keys_have_turned() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let keys = async || {
        network.raw("GET", "/.well-known/jwks.json", &[], "").await.is(200)["keys"].clone()
    };
    let kid = |token: &str| -> String {
        let head = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
        let head: Json = serde_json::from_slice(&head).unwrap();
        assert_eq!(head["alg"], "EdDSA");
        head["kid"].as_str().unwrap().to_owned()
    };
    let before = keys().await;
    assert_eq!(before[0]["kid"], kid(&ada.token));
    let document = network.raw("GET", "/.well-known/openid-configuration", &[], "").await.is(200);
    assert_eq!(document["jwks_uri"], "http://house/sns/.well-known/jwks.json");
    // The keys turn thirty days after the beginning of 1970, and again and again.
    let day = 24 * 3600;
    let turns = 30 * day - START.seconds() % (30 * day);
    network.jump(turns - 1800).await;
    let bob = network.register("bob").await;
    network.jump(1800).await;
    network.pass(1).await;
    network.get(&bob, "/timeline").await.is(200);
    let carl = network.register("carl").await;
    assert_eq!(kid(&carl.token), before[1]["kid"].as_str().unwrap());
    network.get(&carl, "/timeline").await.is(200);
    assert_eq!(keys().await.as_array().unwrap().len(), 3);
}

pub(super) fn signed(pair: &Ed25519KeyPair, claims: &Json) -> String {
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let head = json!({ "alg": "EdDSA", "kid": "1" }).to_string();
    let message = format!("{}.{}", text(head.as_bytes()), text(claims.to_string().as_bytes()));
    let mark = text(pair.sign(message.as_bytes()).as_ref());
    format!("{message}.{mark}")
}

#[testkit::test]
async fn an_identity_of_another_issuer_is_issuer_and_subject() {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[3; 32]).unwrap();
    let x = URL_SAFE_NO_PAD.encode(pair.public_key());
    let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "1", "x": x }] });
    let issuer = |name: &str| json!({ "issuer": name, "audience": "nagaya", "jwks": keys });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let listed = json!([issuer("https://one.example"), issuer("https://two.example")]);
    file.write_all(listed.to_string().as_bytes()).unwrap();
    let options = Options { issuers_file: Some(file.path().to_owned()), ..roomy() };
    let network = Network::open_with(options).await;
    let claims = |iss: &str, sub: &str| {
        json!({ "iss": iss, "sub": sub, "aud": "nagaya", "exp": START.seconds() + 600,
                "email": "ada@example.org" })
    };
    let ask = async |token: String, name: Option<&str>| {
        let email = name.map(|name| format!("{name}@example.org"));
        let body = json!({ "token": token, "username": name, "email": email });
        network.post("/auth/external", body).await
    };
    let one = signed(&pair, &claims("https://one.example", "ada"));
    ask(one.clone(), None).await.is_problem(400, "invalid");
    let ada = person(&ask(one.clone(), Some("ada")).await.is(201));
    assert_eq!(person(&ask(one, None).await.is(200)).id, ada.id);
    // The same subject and address elsewhere is somebody else.
    let two = signed(&pair, &claims("https://two.example", "ada"));
    ask(two.clone(), Some("ada")).await.is_problem(409, "email_taken");
    assert_ne!(person(&ask(two, Some("other")).await.is(201)).id, ada.id);
    let three = signed(&pair, &claims("https://three.example", "ada"));
    ask(three, None).await.is_problem(401, "token_invalid");
    ask("nonsense".to_owned(), None).await.is_problem(401, "token_invalid");
    // Who leaves takes the identity along, and may come back.
    network.ask(&ada, "DELETE", "/users/me", Json::Null).await.is(204);
    let one = signed(&pair, &claims("https://one.example", "ada"));
    ask(one.clone(), None).await.is_problem(400, "invalid");
    ask(one.clone(), Some("ada")).await.is_problem(409, "username_held");
    assert_ne!(person(&ask(one, Some("ada-2")).await.is(201)).id, ada.id);
    // An account without a password cannot be logged into with one.
    network.log_in("ada-2", PASSWORD).await.is_problem(401, "login_failed");
}

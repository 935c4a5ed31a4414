//! Posts, batches, paging, idempotency, rates.

use serde_json::{Value as Json, json};

use super::{Network, Person};
use crate::Options;

#[testkit::test]
async fn a_post_is_kept_as_it_was_typed_and_stands_where_its_location_says() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    // As many as a post has, each of 25 bytes.
    let families = "👩‍👩‍👧‍👦".repeat(280);
    let told = network.ask(&ada, "POST", "/posts", json!({ "content": families })).await.is(201);
    let path = format!("/posts/{}", told["postId"].as_str().unwrap());
    assert_eq!(network.get(&bob, &path).await.is(200)["content"], families);
    let escaped: String = families.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let headers = [("authorization", &*ada.bearer())];
    let body = format!("{{\"content\":\"{escaped}\"}}");
    let told = network.raw("POST", "/v1/posts", &headers, &body).await.is(201);
    assert_eq!(told["content"], families);
    let content = " <b>か\u{3099}</b>\n👩‍👩‍👧‍👦 ";
    let answer = network.ask(&ada, "POST", "/posts", json!({ "content": content })).await;
    let location = answer.header("location").unwrap().to_owned();
    let made = answer.is(201);
    assert_eq!((&made["content"], &made["likesCount"]), (&json!(content), &json!(0)));
    assert_eq!(location, format!("/sns/v1/posts/{}", made["postId"].as_str().unwrap()));
    let path = location.strip_prefix("/sns/v1").unwrap();
    let seen = network.get(&bob, path).await.is(200);
    assert_eq!((&seen["author"]["username"], &seen["isLiked"]), (&json!("ada"), &json!(false)));
    for wrong in ["", " \n", &"あ".repeat(281)] {
        let answer = network.ask(&ada, "POST", "/posts", json!({ "content": wrong })).await;
        answer.is_problem(400, "invalid");
    }
    network
        .raw("POST", "/v1/posts", &[], "{\"content\":\"x\"}")
        .await
        .is_problem(401, "token_missing");
    network.ask(&bob, "DELETE", path, Json::Null).await.is_problem(403, "not_yours");
    network.ask(&ada, "DELETE", path, Json::Null).await.is(204);
    network.get(&bob, path).await.is_problem(404, "no_such_post");
    network.ask(&ada, "DELETE", path, Json::Null).await.is_problem(404, "no_such_post");
}

#[testkit::test]
async fn posts_of_a_user_are_read_by_cursor_or_by_offset() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    for number in 0..45 {
        network.say(ada.user(), &number.to_string()).await;
        if number % 3 == 0 {
            network.pass(1).await;
        }
    }
    let contents = |told: &Json| -> Vec<i64> {
        let posts = told["posts"].as_array().unwrap().iter();
        posts.map(|post| post["content"].as_str().unwrap().parse().unwrap()).collect()
    };
    let (mut all, mut path) = (Vec::new(), "/users/me/posts".to_owned());
    loop {
        let told = network.get(&ada, &path).await.is(200);
        assert_eq!(
            (&told["total"], &told["limit"], &told["offset"]),
            (&json!(45), &json!(20), &json!(0))
        );
        all.extend(contents(&told));
        match told["next"].as_str() {
            Some(next) => path = format!("/users/me/posts?cursor={next}"),
            None => break,
        }
    }
    assert_eq!(all, (0..45).rev().collect::<Vec<_>>());
    let told = network.get(&ada, "/users/me/posts?offset=40&limit=3").await.is(200);
    assert_eq!(contents(&told), [4, 3, 2]);
    let told = network.get(&ada, "/users/me/posts?offset=100").await.is(200);
    assert_eq!((contents(&told), &told["next"]), (vec![], &Json::Null));
    for wrong in
        ["limit=0", "limit=101", "limit=x", "offset=1001", "cursor=x", "cursor=1~2&offset=1"]
    {
        let answer = network.get(&ada, &format!("/users/me/posts?{wrong}")).await;
        answer.is_problem(400, "invalid");
    }
    network.get(&ada, "/users/nobody/posts").await.is_problem(404, "no_such_user");
}

#[testkit::test]
async fn long_posts_are_all_there_though_the_store_answers_them_in_parts() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    // Of 7000 bytes each: a part of the store's has less than 150 of them.
    let long = "👩‍👩‍👧‍👦".repeat(276);
    for number in 0..170 {
        network.sns.create_post(ada.user(), &format!("{number} {long}")).await.unwrap();
    }
    network.settle().await;
    let told = network.get(&ada, "/users/me/posts?offset=150&limit=15").await.is(200);
    let posts = told["posts"].as_array().unwrap();
    let first = posts.first().unwrap()["content"].as_str().unwrap();
    assert_eq!((posts.len(), first.split_once(' ').unwrap().0), (15, "19"));
    assert!(told["next"].is_string());
    network.sns.remove_timeline(ada.user()).await.unwrap();
    assert_eq!(network.sns.rebuild(ada.user()).await.unwrap(), 170);
    assert_eq!(network.timeline(ada.user()).await.len(), 170);
}

#[testkit::test]
async fn a_batch_shows_what_is_there_and_names_what_is_not() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let (one, two) = (network.say(ada.user(), "1").await, network.say(ada.user(), "2").await);
    let body = json!({ "postIds": [two.to_string(), "x", one.to_string(), two.to_string()] });
    let told = network.ask(&ada, "POST", "/posts/batch", body).await.is(200);
    let contents: Vec<&Json> =
        told["posts"].as_array().unwrap().iter().map(|post| &post["content"]).collect();
    assert_eq!((contents, &told["notFound"]), (vec![&json!("2"), &json!("1")], &json!(["x"])));
    for wrong in [json!([]), json!(vec!["x"; 101])] {
        let answer = network.ask(&ada, "POST", "/posts/batch", json!({ "postIds": wrong })).await;
        answer.is_problem(400, "invalid");
    }
}

pub(super) async fn keyed(
    network: &Network,
    who: &Person,
    key: &str,
    content: &str,
) -> testkit::Answer {
    let headers = [("authorization", &*who.bearer()), ("idempotency-key", key)];
    let body = json!({ "content": content }).to_string();
    network.raw("POST", "/v1/posts", &headers, &body).await
}

#[testkit::test]
async fn a_key_makes_one_post_of_many_requests_for_a_day() {
    let network = Network::open().await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    let first = keyed(&network, &ada, "a key ✓", "once").await;
    let location = first.header("location").map(str::to_owned);
    let again = keyed(&network, &ada, "a key ✓", "once").await;
    assert_eq!((again.status, again.header("location")), (201, location.as_deref()));
    assert_eq!((first.json(), again.header("idempotency-replayed")), (again.json(), Some("true")));
    keyed(&network, &ada, "a key ✓", "twice").await.is_problem(422, "idempotency_key_reused");
    keyed(&network, &bob, "a key ✓", "mine").await.is(201);
    keyed(&network, &ada, &"x".repeat(129), "x").await.is_problem(400, "idempotency_key_invalid");
    assert_eq!(network.timeline(ada.user()).await, ["once"]);
    network.jump(24 * 3600 + 1).await;
    let ada = super::person(&network.log_in("ada", super::PASSWORD).await.is(200));
    keyed(&network, &ada, "a key ✓", "twice").await.is(201);
}

#[testkit::test]
async fn of_many_requests_with_one_key_at_once_one_is_done() {
    let network = std::sync::Arc::new(Network::open().await);
    let ada = network.register("ada").await;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (network, ada) = (network.clone(), ada.clone());
        all.spawn(async move { keyed(&network, &ada, "k", "once").await });
    }
    let mut made = 0;
    while let Some(answer) = all.join_next().await {
        let answer = answer.unwrap();
        match answer.status {
            201 => made += 1,
            _ => answer.is_problem(409, "idempotency_in_flight"),
        }
    }
    assert!(made >= 1);
    assert_eq!(network.timeline(ada.user()).await, ["once"]);
}

#[testkit::test]
async fn ten_posts_and_ten_follows_a_minute_and_a_hundred_requests_a_second_are_let_through() {
    // Each instance counts for itself.
    let network = Network::alone(Options { requests_per_second: 100, ..Options::default() }).await;
    let ada = network.register("ada").await;
    for number in 0..10 {
        let answer = network.ask(&ada, "POST", "/posts", json!({ "content": "x" })).await;
        let left = format!("\"sns-posts\";r={}", 9 - number);
        assert!(answer.head.contains(&left), "{answer:?}");
        answer.is(201);
    }
    let refused = network.ask(&ada, "POST", "/posts", json!({ "content": "x" })).await;
    refused.is_problem(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("6"));
    for number in 0..11 {
        let other = network.user(&number.to_string()).await;
        let answer = network.ask(&ada, "POST", &format!("/users/{other}/follow"), Json::Null).await;
        match number {
            0..10 => drop(answer.is(201)),
            _ => answer.is_problem(429, "rate_limited"),
        }
    }
    network.pass(60).await;
    network.ask(&ada, "POST", "/posts", json!({ "content": "x" })).await.is(201);
    let mut passed = 0;
    while network.get(&ada, "/timeline").await.status == 200 {
        passed += 1;
        assert!(passed <= 200);
    }
    assert!(passed >= 195, "{passed}");
}

#[testkit::test]
async fn only_posts_and_follows_that_are_made_use_up_their_rate() {
    let options = Options { posts_per_minute: 3, follows_per_minute: 1, ..super::roomy() };
    let network = Network::alone(options).await;
    let (ada, bob) = (network.register("ada").await, network.register("bob").await);
    for content in ["", " ", &"x".repeat(281)] {
        for _ in 0..3 {
            let answer = network.ask(&ada, "POST", "/posts", json!({ "content": content })).await;
            answer.is_problem(400, "invalid");
            assert!(answer.head.contains("\"sns-posts\";r=3"), "{answer:?}");
        }
    }
    network.ask(&ada, "POST", "/posts", json!({})).await.is_problem(400, "invalid_body");
    for _ in 0..5 {
        keyed(&network, &ada, "k", "once").await.is(201);
    }
    keyed(&network, &ada, "k", "twice").await.is_problem(422, "idempotency_key_reused");
    keyed(&network, &ada, "l", "two").await.is(201);
    network.ask(&ada, "POST", "/posts", json!({ "content": "three" })).await.is(201);
    let refused = keyed(&network, &ada, "m", "four").await;
    refused.is_problem(429, "rate_limited");
    network.pass(20).await;
    keyed(&network, &ada, "m", "four").await.is(201);
    let path = format!("/users/{}/follow", bob.id);
    for _ in 0..3 {
        network.ask(&ada, "POST", "/users/me/follow", Json::Null).await.is_problem(400, "oneself");
    }
    network.ask(&ada, "POST", &path, Json::Null).await.is(201);
    network.ask(&ada, "POST", &path, Json::Null).await.is_problem(429, "rate_limited");
}

//! The room's description, and that the room keeps to what it says of all calls.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::Network;

/// An operation of the description.
struct Operation {
    method: String,
    /// Below `/sns`.
    path: String,
    told: Json,
}

impl Operation {
    fn named(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The names of the credentials of which one is needed; none if anybody may call.
    fn credentials(&self) -> Vec<String> {
        let mut needs = Vec::new();
        for need in self.told["security"].as_array().into_iter().flatten() {
            needs.extend(need.as_object().unwrap().keys().cloned());
        }
        needs
    }

    fn may_answer(&self, status: u16) -> bool {
        self.told["responses"].get(status.to_string()).is_some()
    }

    /// The path with this in place of every parameter.
    fn filled(&self, with: &str) -> String {
        let parts = self.path.split('/');
        let parts = parts.map(|part| if part.starts_with('{') { with } else { part });
        parts.collect::<Vec<_>>().join("/")
    }
}

async fn operations(network: &Network) -> Vec<Operation> {
    let api = network.raw("GET", "/openapi.json", &[], "").await.is(200);
    let mut all = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, told) in item.as_object().unwrap() {
            let mut told = told.clone();
            if told.get("security").is_none() {
                told["security"] = api["security"].clone();
            }
            let path = path.strip_prefix("/sns").unwrap().to_owned();
            all.push(Operation { method: method.to_uppercase(), path, told });
        }
    }
    all
}

/// A body that every call takes for one, though not for a good one.
const BODY: &str = "{}";

#[testkit::test]
async fn the_description_names_every_route_and_every_failure_is_a_problem() {
    let network = Network::open().await;
    let all = operations(&network).await;
    assert_eq!(all.len(), 43, "{:#?}", all.iter().map(Operation::named).collect::<Vec<_>>());
    for operation in all {
        let responses = operation.told["responses"].as_object().unwrap();
        let fails = responses.iter().filter(|(status, _)| status.starts_with('4'));
        let problem = "application/problem+json";
        let of_problem = |(_, told): (_, &Json)| told["content"].get(problem).is_some();
        let fails: Vec<bool> = fails.map(of_problem).collect();
        assert!(fails.iter().all(|is| *is), "{}", operation.named());
        let is_open = operation.path.contains("well-known");
        assert_eq!(fails.is_empty(), is_open, "{}", operation.named());
    }
}

#[testkit::test]
async fn every_json_answer_has_a_schema_that_says_what_is_in_it() {
    let network = Network::open().await;
    let api = network.raw("GET", "/openapi.json", &[], "").await.is(200);
    assert_eq!(testkit::described::undescribed(&api), [] as [&str; 0]);
    // What is in the documents for others is what the description says.
    for (path, name) in [("jwks.json", "KeySet"), ("openid-configuration", "Discovery")] {
        let told = network.raw("GET", &format!("/.well-known/{path}"), &[], "").await.is(200);
        let schema = &api["components"]["schemas"][name]["properties"];
        let names = |json: &Json| -> BTreeSet<String> {
            json.as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(names(&told), names(schema), "{path}");
    }
}

#[testkit::test]
async fn every_post_of_users_takes_a_key_and_every_call_of_users_has_a_rate() {
    let network = Network::open().await;
    let mut posts = 0;
    for operation in operations(&network).await {
        let of_users = operation.path.starts_with("/v1/");
        assert_eq!(operation.may_answer(429), of_users, "{}", operation.named());
        let parameters = operation.told["parameters"].as_array();
        let is_key = |one: &Json| one["name"] == "Idempotency-Key" && one["in"] == "header";
        let has_key = parameters.is_some_and(|all| all.iter().any(is_key));
        assert_eq!(has_key, of_users && operation.method == "POST", "{}", operation.named());
        if has_key {
            posts += 1;
            let all = [400, 409, 422].map(|status| operation.may_answer(status));
            assert_eq!(all, [true; 3], "{}", operation.named());
        }
    }
    assert_eq!(posts, 13);
    let api = network.raw("GET", "/openapi.json", &[], "").await.is(200);
    let made = &api["paths"]["/sns/v1/posts"]["post"]["responses"]["201"];
    assert_eq!(made["headers"]["location"]["schema"]["type"], "string", "{made}");
}

#[testkit::test]
async fn every_call_that_needs_a_token_is_refused_without_one_and_with_a_bad_one() {
    let network = Network::open().await;
    let id = "00000000-0000-4000-8000-000000000000";
    let (mut by_token, mut by_key) = (0, 0);
    for operation in operations(&network).await {
        let needs = operation.credentials();
        let path = operation.filled(id);
        // A socket may say who it is after it has opened.
        if needs.is_empty() || path == "/v1/ws" {
            continue;
        }
        assert!(operation.may_answer(401), "{}", operation.named());
        for headers in [&[][..], &[("authorization", "Bearer x.y.z")], &[("x-api-key", "x")]] {
            let answer = network.raw(&operation.method, &path, headers, BODY).await;
            assert_eq!(answer.status, 401, "{} {answer:?}", operation.named());
            assert_eq!(answer.json()["type"], "about:blank");
        }
        match needs.first().map(String::as_str) {
            Some("key") => by_key += 1,
            _ => by_token += 1,
        }
    }
    assert_eq!((by_token, by_key), (32, 4));
}

#[testkit::test]
async fn every_call_about_something_that_is_not_there_says_so() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let (bearer, key) = (ada.bearer(), network.key().await);
    let mut asked = 0;
    for operation in operations(&network).await {
        if !operation.path.contains('{') {
            continue;
        }
        asked += 1;
        assert!(operation.may_answer(404), "{}", operation.named());
        let is_of_operator = operation.path.starts_with("/operate");
        let header =
            if is_of_operator { ("x-api-key", &*key) } else { ("authorization", &*bearer) };
        for id in ["00000000-0000-4000-8000-000000000000", "nonsense"] {
            let answer =
                network.raw(&operation.method, &operation.filled(id), &[header], BODY).await;
            // What only its owner may do is refused before anybody looks whether it is there.
            let is_own = operation.path == "/v1/users/{id}" && operation.method != "GET"
                || ["/v1/users/{id}/blocks", "/v1/users/{id}/mutes"].contains(&&*operation.path);
            let expected = if is_own && id != "nonsense" { 403 } else { 404 };
            assert_eq!(answer.status, expected, "{} {answer:?}", operation.named());
        }
    }
    assert_eq!(asked, 22);
}

#[testkit::test]
async fn failures_of_the_house_speak_the_callers_language_too() {
    let options = crate::Options { posts_per_minute: 1, ..super::roomy() };
    let network = Network::alone(options).await;
    let ada = network.register("ada").await;
    let bearer = ada.bearer();
    let headers =
        [("authorization", &*bearer), ("accept-language", "ja"), ("idempotency-key", "k")];
    let unkeyed = &headers[..2];
    let ask = async |method: &str, path: &str, body: &str| {
        network.raw(method, path, &headers, body).await
    };
    let said = |content: &str| json!({ "content": content }).to_string();
    ask("POST", "/v1/posts", &said("x")).await.is(201);
    let long = said(&"x".repeat(70_000));
    let told = [
        (network.raw("POST", "/v1/posts", unkeyed, &said("y")).await, "rate_limited"),
        (ask("PATCH", "/v1/timeline", "").await, "method_not_allowed"),
        (ask("GET", "/v1/nothing", "").await, "not_found"),
        (ask("PUT", "/v1/users/me", &long).await, "body_too_large"),
        (ask("POST", "/v1/auth/login", "{}").await, "invalid_body"),
        (ask("POST", "/v1/auth/login", "[]").await, "idempotency_key_reused"),
    ];
    for (answer, code) in told {
        let told = answer.json();
        assert_eq!(told["code"], code, "{answer:?}");
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.chars().any(|letter| letter > '\u{3000}'), "{code}: {detail}");
    }
}

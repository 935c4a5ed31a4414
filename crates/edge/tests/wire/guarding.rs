//! Who asks, and what is demanded of them, on real connections.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use base::options::Value;
use base::{Clock, Ids, Random, Tasks};
use edge::{By, Caller, Client, Keys, Networks, Options, Policy, RateLimit, ensure_tables};
use table::Embedded;

use crate::support::{House, options};

fn whoami() -> Router {
    let handler =
        |client: Client| async move { format!("{} {}", client.address(), client.is_secure()) };
    Router::new().route("/whoami", get(handler))
}

#[tokio::test]
async fn a_caller_is_its_address_whatever_it_says() {
    let house = House::open(whoami()).await;
    let lies = "x-forwarded-for: 1.2.3.4\r\nforwarded: for=1.2.3.4\r\nx-forwarded-proto: https\r\n";
    assert_eq!(house.get_with("/whoami", lies).await.text(), "127.0.0.1 false");
    house.still_serves().await;
}

#[tokio::test]
async fn a_trusted_proxy_is_believed() {
    let mut trusted_proxies = Networks::default();
    assert!(trusted_proxies.read("127.0.0.0/8, 10.0.0.0/8"));
    let options = Options { trusted_proxies, ..options() };
    let house = House::with(whoami(), &options, Clock::real()).await;
    let told = "x-forwarded-for: 9.9.9.9, 203.0.113.5, 10.0.0.7\r\nx-forwarded-proto: https\r\n";
    assert_eq!(house.get_with("/whoami", told).await.text(), "203.0.113.5 true");
    house.still_serves().await;
}

#[tokio::test]
async fn keys_are_demanded_and_rates_kept_on_the_wire() {
    let (clock, tasks) = (Clock::real(), Tasks::new());
    let store = Arc::new(Embedded::in_memory(clock.clone(), &tasks).await.unwrap());
    ensure_tables(&*store).await.unwrap();
    let keys = Keys::new(store, clock.clone(), Ids::new(clock.clone(), Random::seeded(1)));
    let key = keys.create("school", &["mesh".to_owned()], None).await.unwrap().text;
    let routes = Router::new()
        .route("/mesh", get(|caller: Caller| async move { caller.name().to_string() }));
    let limit = RateLimit::new(Policy::new("mesh", 2, Duration::from_secs(600)), &clock, &tasks);
    let house = House::open(keys.guard(limit.guard(routes, By::Key), "mesh")).await;

    let missing = "an API key is needed, in `x-api-key` or as `authorization: Bearer`";
    house.get("/mesh").await.assert_problem(401, "key_missing", missing);
    let wrong = house.get_with("/mesh", "x-api-key: nk_school_wrong\r\n").await;
    wrong.assert_problem(401, "key_wrong", "the API key is not valid");
    assert!(wrong.header("www-authenticate").unwrap().starts_with("Bearer "));
    let huge = format!("x-api-key: {}\r\n", "k".repeat(60_000));
    assert_eq!(house.get_with("/mesh", &huge).await.status, 431);
    let header = format!("x-api-key: {key}\r\n");
    for left in [1, 0] {
        let answer = house.get_with("/mesh", &header).await;
        assert_eq!((answer.status, answer.text()), (200, "school"));
        assert_eq!(answer.header("ratelimit-policy"), Some("\"mesh\";q=2;w=600"));
        assert!(answer.header("ratelimit").unwrap().starts_with(&format!("\"mesh\";r={left};")));
    }
    let refused = house.get_with("/mesh", &header).await;
    assert_eq!((refused.status, &refused.json()["code"]), (429, &"rate_limited".into()));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=300).contains(&wait), "{wait}");
    keys.revoke("school", None).await.unwrap();
    let revoked = house.get_with("/mesh", &header).await;
    revoked.assert_problem(401, "key_wrong", "the API key is not valid");
    house.still_serves().await;
    tasks.finish(&clock, Duration::from_secs(10)).await.unwrap();
}

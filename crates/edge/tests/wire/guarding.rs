//! Who asks, and what is demanded of them, on real connections.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use base::options::Value;
use edge::{By, Caller, Client, Networks, Options, Policy, RateLimit, Room};
use testkit::World;

use crate::support::{Site, options, uncollected};

fn whoami() -> Router {
    let handler =
        |client: Client| async move { format!("{} {}", client.address(), client.is_secure()) };
    Router::new().route("/whoami", get(handler))
}

#[testkit::test]
async fn a_caller_is_its_address_whatever_it_says() {
    let site = Site::open(whoami()).await;
    let lies = "x-forwarded-for: 1.2.3.4\r\nforwarded: for=1.2.3.4\r\nx-forwarded-proto: https\r\n";
    assert_eq!(site.get_with("/whoami", lies).await.text(), "127.0.0.1 false");
    site.still_serves().await;
}

#[testkit::test]
async fn a_trusted_proxy_is_believed() {
    let mut trusted_proxies = Networks::default();
    assert!(trusted_proxies.read("127.0.0.0/8, 10.0.0.0/8"));
    let options = Options { trusted_proxies, ..options() };
    let site = Site::with(whoami(), options).await;
    let told = "x-forwarded-for: 9.9.9.9, 203.0.113.5, 10.0.0.7\r\nx-forwarded-proto: https\r\n";
    assert_eq!(site.get_with("/whoami", told).await.text(), "203.0.113.5 true");
    site.still_serves().await;
}

#[testkit::test]
async fn keys_are_demanded_and_rates_kept_on_the_wire() {
    let world = World::new().await;
    let instance = world.instance().await;
    let key = instance.key("school", &["mesh"]).await;
    let (keys, clock) = (instance.ground.keys.clone(), &instance.ground.clock);
    let routes = Router::new()
        .route("/mesh", get(|caller: Caller| async move { caller.name().to_string() }));
    let policy = Policy::new("mesh", 2, Duration::from_secs(600));
    let limit = RateLimit::new(policy, clock, &instance.ground.tasks);
    let room = Room::new("mesh", keys.guard(limit.guard(routes, By::Key), "mesh"));
    let site = Site::on(&world, instance, vec![room], options(), uncollected).await;

    let missing = "an API key is needed, in `x-api-key` or as `authorization: Bearer`";
    site.get("/mesh").await.is_problem_of(401, "key_missing", missing);
    let wrong = site.get_with("/mesh", "x-api-key: nk_school_wrong\r\n").await;
    wrong.is_problem_of(401, "key_wrong", "the API key is not valid");
    assert!(wrong.header("www-authenticate").unwrap().starts_with("Bearer "));
    let huge = format!("x-api-key: {}\r\n", "k".repeat(60_000));
    assert_eq!(site.get_with("/mesh", &huge).await.status, 431);
    let header = format!("x-api-key: {key}\r\n");
    for left in [1, 0] {
        let answer = site.get_with("/mesh", &header).await;
        assert_eq!((answer.status, answer.text()), (200, "school"));
        assert_eq!(answer.header("ratelimit-policy"), Some("\"mesh\";q=2;w=600"));
        assert!(answer.header("ratelimit").unwrap().starts_with(&format!("\"mesh\";r={left};")));
    }
    let refused = site.get_with("/mesh", &header).await;
    assert_eq!((refused.status, &refused.json()["code"]), (429, &"rate_limited".into()));
    assert_eq!(refused.header("retry-after"), Some("300"));
    keys.revoke("school", None).await.unwrap();
    let revoked = site.get_with("/mesh", &header).await;
    revoked.is_problem_of(401, "key_wrong", "the API key is not valid");
    site.still_serves().await;
}

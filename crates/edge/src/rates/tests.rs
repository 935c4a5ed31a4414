//! Limits on the virtual clock, and as a caller sees them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use base::{Clock, Tasks, Timestamp};
use proptest::collection::vec;
use proptest::prelude::{prop_assert, proptest};

use super::{AddressLimit, Bucket, By, Policy, RateLimit};
use crate::limits::guard::{BUCKET_SHARDS, BUCKET_SWEEP, SHARD_BUCKETS_MAX};
use crate::probe::call;
use crate::{Client, Subject};

const COMMENTS: Policy = Policy::new("comments", 3, Duration::from_secs(2)).with_burst(5);

fn subject(name: &str) -> Bucket {
    Bucket::Subject(Arc::from(name))
}

#[tokio::test]
async fn a_burst_passes_and_then_one_by_one() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let limit = RateLimit::new(COMMENTS, &clock, &Tasks::new());
    for left in (0..5).rev() {
        assert_eq!(limit.check(&subject("a")).unwrap().left(), left);
    }
    let wait = limit.check(&subject("a")).unwrap_err().wait();
    assert_eq!(wait, COMMENTS.interval);
    assert_eq!(limit.check(&subject("b")).unwrap().left(), 4, "others are not held up");
    time.advance(wait - Duration::from_nanos(1)).await;
    assert!(limit.check(&subject("a")).is_err());
    time.advance(Duration::from_nanos(1)).await;
    assert!(limit.check(&subject("a")).is_ok());
    assert!(limit.check(&subject("a")).is_err());
    time.advance(Duration::from_secs(3_600)).await;
    assert_eq!(limit.check(&subject("a")).unwrap().left(), 4, "an hour fills no more than a burst");
}

#[tokio::test]
async fn another_policy_counts_from_the_moment_it_is_set() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let limit = RateLimit::new(COMMENTS, &clock, &Tasks::new());
    time.advance(Duration::from_secs(3_600)).await;
    let clone = limit.clone();
    while limit.check(&subject("a")).is_ok() {}
    limit.change(Policy::new("comments", 2, Duration::from_secs(1)));
    for (limit, left) in [(&clone, 1), (&limit, 0)] {
        assert_eq!(limit.check(&subject("a")).unwrap().left(), left, "clones change with it");
    }
    assert_eq!(clone.check(&subject("a")).unwrap_err().wait(), Duration::from_millis(500));
    time.advance(Duration::from_millis(500)).await;
    assert!(clone.check(&subject("a")).is_ok());
    limit.give_back(&subject("a"));
    assert!(clone.check(&subject("a")).is_ok());
    assert!(limit.check(&subject("a")).is_err());
}

#[tokio::test]
async fn a_changed_limit_of_addresses_keeps_the_share_of_each_connection() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let tasks = Tasks::new();
    let policy = |count| Policy::new("reads", count, Duration::from_secs(1));
    let (changed, fresh) = (
        AddressLimit::new(policy(10), "share", &clock, &tasks),
        AddressLimit::new(policy(4_000), "share", &clock, &tasks),
    );
    changed.change(policy(4_000));
    assert_eq!(format!("{changed:?}"), format!("{fresh:?}"));
}

proptest! {
    #![proptest_config(testkit::depth::cases(256))]

    #[test]
    fn no_span_lets_through_more_than_burst_and_rate(
        steps in vec((0..2_000_u64, 1..6_u32), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
            let limit = RateLimit::new(COMMENTS, &clock, &Tasks::new());
            let mut passed: Vec<Duration> = Vec::new();
            let start = clock.instant();
            for (pause, tries) in steps {
                time.advance(Duration::from_millis(pause)).await;
                for _ in 0..tries {
                    if limit.check(&subject("a")).is_ok() {
                        passed.push(clock.instant().since(start));
                    }
                }
            }
            for (index, from) in passed.iter().enumerate() {
                for (more, to) in passed[index..].iter().enumerate() {
                    let span = (*to - *from).as_nanos() / COMMENTS.interval.as_nanos();
                    prop_assert!((more as u128) < 5 + span, "{} in {:?}", more + 1, *to - *from);
                }
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn idle_buckets_are_removed_and_busy_ones_stay() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let tasks = Tasks::new();
    let slow = Policy::new("slow", 1, Duration::from_secs(600));
    let limits = [COMMENTS, slow].map(|policy| RateLimit::new(policy, &clock, &tasks));
    for number in 0..1_000 {
        for limit in &limits {
            limit.check(&subject(&number.to_string())).unwrap();
        }
    }
    time.advance(BUCKET_SWEEP).await;
    assert_eq!(limits.each_ref().map(RateLimit::buckets), [0, 1_000]);
    assert!(limits[1].check(&subject("7")).is_err());
    tasks.finish(&clock, Duration::from_secs(1)).await.unwrap();
}

#[tokio::test]
async fn a_flood_of_callers_is_bounded_and_frees_nobody_who_is_blocked() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let limit = RateLimit::new(COMMENTS, &clock, &Tasks::new());
    while limit.check(&subject("flooder")).is_ok() {}
    for number in 0..150_000_u32 {
        limit.check(&Bucket::Address(Ipv4Addr::from_bits(number).into())).unwrap();
    }
    assert!(limit.buckets() <= BUCKET_SHARDS * SHARD_BUCKETS_MAX, "{}", limit.buckets());
    assert!(limit.check(&subject("flooder")).is_err());
}

fn address(number: u32) -> Bucket {
    Bucket::Address(Ipv4Addr::from_bits(number).into())
}

#[tokio::test]
async fn a_refused_request_takes_from_no_bucket_that_others_share() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let tasks = Tasks::new();
    let own = RateLimit::new(COMMENTS, &clock, &tasks);
    let [room, venue] = ["room", "venue"].map(|name| {
        RateLimit::new(Policy::new(name, 10, Duration::from_secs(600)), &clock, &tasks)
    });
    let take = |who: &str, room_name: &str| {
        own.take(&subject(who), &[(&room, subject(room_name)), (&venue, address(1))])
    };
    for _ in 0..5 {
        let _taken = take("spammer", "hall").unwrap();
    }
    for _ in 0..1_000 {
        assert!(take("spammer", "hall").is_err());
    }
    for number in 0..5 {
        assert!(take(&format!("guest {number}"), "hall").is_ok(), "guest {number}");
    }
    // The venue is used up now, which costs neither the next guest nor its room anything.
    for _ in 0..100 {
        assert!(take("late", "lobby").unwrap_err().to_string().contains("`venue`"));
    }
    assert_eq!(own.check(&subject("late")).unwrap().left(), 4);
    assert_eq!(room.check(&subject("lobby")).unwrap().left(), 9);
}

#[tokio::test]
async fn a_request_that_is_refused_later_keeps_only_its_callers_own_place() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let tasks = Tasks::new();
    let own = RateLimit::new(COMMENTS, &clock, &tasks);
    let venue = Policy::new("venue", 10, Duration::from_secs(600));
    let venue = RateLimit::new(venue, &clock, &tasks);
    for _ in 0..5 {
        let taken = own.take(&subject("banned"), &[(&venue, address(1))]).unwrap();
        assert_eq!(taken.settle(Err::<(), _>("banned")), Err("banned"));
    }
    assert!(own.check(&subject("banned")).is_err(), "trying counts");
    assert_eq!(venue.check(&address(1)).unwrap().left(), 9);
}

/// A caller of one address, on this connection, or behind a trusted proxy.
fn at(connection: Option<u64>) -> Client {
    Client { address: Ipv4Addr::LOCALHOST.into(), secure: false, connection }
}

#[tokio::test]
async fn one_connection_that_asks_all_the_time_leaves_its_address_to_the_others() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let reads = Policy::new("reads", 1_000, Duration::from_secs(1)).with_burst(2_000);
    let limit = AddressLimit::new(reads, "reads-connection", &clock, &Tasks::new());
    let passed = (0..100_000).filter(|_| limit.take(at(Some(0))).is_ok()).count();
    assert_eq!(passed, 100, "a twentieth of what its address has");
    let refused = limit.take(at(Some(0))).unwrap_err();
    assert!(refused.to_string().contains("`reads-connection`"), "{refused}");
    for connection in 1..=1_900 {
        assert!(limit.take(at(Some(connection))).is_ok(), "{connection}");
    }
    let refused = limit.take(at(Some(2_000))).unwrap_err();
    assert!(refused.to_string().contains("`reads`"), "{refused}");
    assert!(limit.take(at(None)).is_err(), "a trusted proxy's callers have the same ceiling");
    limit.give_back(at(Some(0)));
    assert!(limit.take(at(Some(0))).is_ok());
}

#[tokio::test]
async fn callers_behind_a_trusted_proxy_share_no_connection() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let reads = Policy::new("reads", 100, Duration::from_secs(1));
    let limit = AddressLimit::new(reads, "reads-connection", &clock, &Tasks::new());
    let passed = (0..1_000).filter(|_| limit.take(at(None)).is_ok()).count();
    assert_eq!(passed, 100);
}

fn request(client: Option<IpAddr>, named: Option<&str>) -> Request {
    let mut request = Request::new(Body::empty());
    if let Some(address) = client {
        request.extensions_mut().insert(Client { address, secure: false, connection: None });
    }
    if let Some(name) = named {
        request.extensions_mut().insert(Subject(Arc::from(name)));
    }
    request
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h str> {
    headers.get_all(name).into_iter().map(|value| value.to_str().unwrap()).collect()
}

#[tokio::test]
async fn answers_say_how_the_caller_stands() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let tasks = Tasks::new();
    let routes = Router::new().route("/", get(|| async { "hello" }));
    let house = Policy::new("house", 100, Duration::from_secs(1)).with_burst(200);
    let routes = RateLimit::new(COMMENTS, &clock, &tasks).guard(routes, By::Subject);
    let routes = RateLimit::new(house, &clock, &tasks).guard(routes, By::Address);
    let ask = async |name: &str| call(&routes, request(None, Some(name))).await;

    let (status, headers, _) = ask("a").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        header(&headers, "ratelimit-policy"),
        ["\"comments\";q=5;w=4", "\"house\";q=200;w=2"]
    );
    assert_eq!(header(&headers, "ratelimit"), ["\"comments\";r=4;t=1", "\"house\";r=199;t=1"]);
    for _ in 0..4 {
        assert_eq!(ask("a").await.0, StatusCode::OK);
    }
    let (status, headers, body) = ask("a").await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(header(&headers, "retry-after"), ["1"]);
    assert_eq!(header(&headers, "ratelimit")[0], "\"comments\";r=0;t=1");
    assert_eq!(header(&headers, "content-type"), ["application/problem+json"]);
    assert!(body.contains(r#""code":"rate_limited""#), "{body}");
    assert!(body.contains("too many requests by `comments`; the next may come in 1 s"), "{body}");
    assert_eq!(ask("b").await.0, StatusCode::OK);
    time.advance(Duration::from_secs(1)).await;
    assert_eq!(ask("a").await.0, StatusCode::OK, "who waited as told may ask again");
}

#[tokio::test]
async fn one_ipv6_network_is_one_caller() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let routes = Router::new().route("/", get(|| async { "hello" }));
    let one = Policy::new("one", 1, Duration::from_secs(1));
    let routes = RateLimit::new(one, &clock, &Tasks::new()).guard(routes, By::Subject);
    let ask = async |bits: u128| {
        let address = IpAddr::V6(Ipv6Addr::from_bits(bits));
        call(&routes, request(Some(address), None)).await.0
    };
    let network = 0x2001_0db8_0001_0002_u128 << 64;
    assert_eq!(ask(network + 1).await, StatusCode::OK);
    assert_eq!(ask(network + 2).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(ask((1_u128 << 64) + network).await, StatusCode::OK);
}

#[tokio::test]
async fn a_limit_of_what_is_done_counts_no_failure() {
    let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
    let routes = Router::new()
        .route("/", get(|| async { "done" }))
        .route("/none", get(|| async { StatusCode::BAD_REQUEST }));
    let two = Policy::new("two", 2, Duration::from_secs(1));
    let routes = RateLimit::new(two, &clock, &Tasks::new()).guard_done(routes, By::Subject);
    let ask = async |path: &'static str| {
        let mut asked = request(None, Some("a"));
        *asked.uri_mut() = axum::http::Uri::from_static(path);
        let (status, headers, _) = call(&routes, asked).await;
        (status, header(&headers, "ratelimit").join(" "))
    };
    for _ in 0..5 {
        let (status, told) = ask("/none").await;
        assert_eq!((status, told.as_str()), (StatusCode::BAD_REQUEST, "\"two\";r=2;t=0"));
    }
    for left in ["\"two\";r=1;t=1", "\"two\";r=0;t=1"] {
        assert_eq!(ask("/").await, (StatusCode::OK, left.to_owned()));
    }
    assert_eq!(ask("/").await.0, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(ask("/none").await.0, StatusCode::TOO_MANY_REQUESTS);
}

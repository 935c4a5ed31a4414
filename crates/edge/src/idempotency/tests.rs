//! Requests that come twice, at once, to two instances, and to a process that died.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use base::{Clock, Ids, Random, Tasks, Timestamp, VirtualTime};
use hyper::body::Frame;
use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::prelude::{prop_assert_eq, proptest};
use table::Tables;
use testkit::wait;

use super::items::{Begun, Marks};
use super::{Idempotency, IdempotencyToken};
use crate::limits::guard::{
    ANSWER_BYTES_MAX, ANSWER_KEPT, COMPARED_BYTES_MAX, HANDLER_TIME, REQUEST_LEASE,
};
use crate::probe::{call, store};
use crate::{Failure, Subject};

const SECOND: Duration = Duration::from_secs(1);

struct Setting {
    store: Arc<dyn Tables>,
    clock: Clock,
    time: VirtualTime,
    tasks: Tasks,
    runs: Arc<AtomicU32>,
}

async fn setting() -> Setting {
    let (clock, time) = Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000));
    let tasks = Tasks::new();
    Setting { store: store(&clock, &tasks).await, clock, time, tasks, runs: Arc::default() }
}

impl Setting {
    /// An instance whose handler takes a second and answers with the number of its run.
    fn instance(&self, seed: u64) -> Router {
        let (clock, runs) = (self.clock.clone(), self.runs.clone());
        let handler = move |token: IdempotencyToken, body: String| async move {
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            clock.sleep(SECOND).await;
            match body.as_str() {
                "fail" => Err(Failure::new(StatusCode::BAD_GATEWAY, "broken", "not now")),
                "refuse" => Err(Failure::new(StatusCode::FORBIDDEN, "forbidden", "never")),
                "panic" => panic!("a bug"),
                "stuck" => {
                    clock.sleep(REQUEST_LEASE).await;
                    Ok(String::new().into_response())
                }
                "broken" => Ok(Body::new(Flood(Some(axum::Error::new("cut")))).into_response()),
                "endless" => Ok(Body::new(Flood(None)).into_response()),
                "huge" => Ok("x".repeat(ANSWER_BYTES_MAX + 1).into_response()),
                _ => {
                    let headers = [
                        (header::LOCATION, format!("/things/{run}")),
                        (header::SET_COOKIE, "secret=1".to_owned()),
                    ];
                    let body = format!("run {run}, {}", token.0.len());
                    Ok((StatusCode::CREATED, headers, body).into_response())
                }
            }
        };
        let plain = Router::new().route("/plain", post(|| async { "plain" }));
        let routes = Router::new().route("/things", post(handler.clone()));
        let routes = routes.route("/others", post(handler)).merge(plain);
        self.idempotency(seed).guard(routes)
    }

    fn idempotency(&self, seed: u64) -> Idempotency {
        let ids = Ids::new(self.clock.clone(), Random::seeded(seed));
        Idempotency::new(self.store.clone(), &self.clock, ids, &self.tasks)
    }

    /// Asks, and lets time pass until the answer is there.
    async fn ask(&self, routes: &Router, request: Request) -> (StatusCode, HeaderMap, String) {
        let moving = async {
            for _ in 0..3 {
                self.time.advance(SECOND).await;
            }
        };
        tokio::join!(call(routes, request), moving).0
    }

    fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

/// A body without an end, or one that breaks off.
struct Flood(Option<axum::Error>);

impl HttpBody for Flood {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let cut = self.0.take();
        Poll::Ready(Some(match cut {
            Some(cut) => Err(cut),
            None => Ok(Frame::data(Bytes::from_static(&[b'x'; 65_536]))),
        }))
    }
}

fn thing(key: &str, body: &str) -> Request {
    request("/things", key, body, "ada")
}

fn request(path: &str, key: &str, body: &str, subject: &str) -> Request {
    let request = Request::post(path).header("idempotency-key", key);
    let mut request = request.body(Body::from(body.to_owned())).unwrap();
    request.extensions_mut().insert(Subject(Arc::from(subject)));
    request
}

#[tokio::test]
async fn the_same_key_gets_the_same_answer_for_a_day() {
    let it = setting().await;
    let routes = it.instance(1);
    let (status, headers, body) = it.ask(&routes, thing("a", "x")).await;
    assert_eq!((status, body.as_str()), (StatusCode::CREATED, "run 1, 32"));
    assert!(headers.contains_key("set-cookie") && !headers.contains_key("idempotency-replayed"));
    for pause in [SECOND, ANSWER_KEPT - 60 * SECOND] {
        it.time.advance(pause).await;
        let (status, headers, body) = it.ask(&routes, thing("a", "x")).await;
        assert_eq!((status, body.as_str()), (StatusCode::CREATED, "run 1, 32"));
        assert_eq!(
            (&headers["location"], &headers["idempotency-replayed"]),
            (
                &header::HeaderValue::from_static("/things/1"),
                &header::HeaderValue::from_static("true"),
            )
        );
        assert!(!headers.contains_key("set-cookie"), "secrets are not kept");
    }
    it.time.advance(60 * SECOND).await;
    assert_eq!(it.ask(&routes, thing("a", "x")).await.2, "run 2, 32");
}

#[tokio::test]
async fn another_payload_is_refused_and_another_scope_is_another_key() {
    let it = setting().await;
    let routes = it.instance(1);
    it.ask(&routes, thing("a", "x")).await;
    let (status, _, body) = it.ask(&routes, thing("a", "y")).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(body.contains(r#""code":"idempotency_key_reused""#), "{body}");
    let (status, _, _) = it.ask(&routes, request("/things?x=1", "a", "x", "ada")).await;
    assert_eq!((status, it.runs()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
    for other in [
        request("/things", "b", "x", "ada"),
        request("/things", "a", "x", "bob"),
        request("/others", "a", "x", "ada"),
    ] {
        assert_eq!(it.ask(&routes, other).await.0, StatusCode::CREATED);
    }
    assert_eq!(it.runs(), 4);
}

#[tokio::test]
async fn of_a_hundred_at_once_on_two_instances_one_runs() {
    let it = setting().await;
    let instances = [it.instance(1), it.instance(2)];
    let statuses = Arc::new(Mutex::new(Vec::new()));
    for number in 0..100 {
        let (routes, statuses) = (instances[number % 2].clone(), statuses.clone());
        it.tasks.spawn("asker", async move {
            let (status, headers, _) = call(&routes, thing("a", "x")).await;
            statuses.lock().push((status, headers.contains_key("retry-after")));
        });
    }
    it.time.advance(SECOND).await;
    let statuses = statuses.lock().clone();
    let made = statuses.iter().filter(|seen| **seen == (StatusCode::CREATED, false)).count();
    let told = statuses.iter().filter(|seen| **seen == (StatusCode::CONFLICT, true)).count();
    assert_eq!((it.runs(), made, told), (1, 1, 99));
    for routes in &instances {
        assert_eq!(it.ask(routes, thing("a", "x")).await.2, "run 1, 32");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_on_many_threads_one_runs() {
    let (clock, tasks, runs) = (Clock::real(), Tasks::new(), Arc::new(AtomicU32::new(0)));
    let store = store(&clock, &tasks).await;
    let counted = runs.clone();
    let handler = move || async move {
        counted.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        "done"
    };
    let routes = Router::new().route("/things", post(handler));
    let instances = [1, 2].map(|seed| {
        let ids = Ids::new(clock.clone(), Random::seeded(seed));
        Idempotency::new(store.clone(), &clock, ids, &tasks).guard(routes.clone())
    });
    let asked = Arc::new(AtomicU32::new(0));
    for number in 0..100 {
        let (routes, asked) = (instances[number % 2].clone(), asked.clone());
        tasks.spawn("asker", async move {
            let (status, _, body) = call(&routes, thing("a", "x")).await;
            assert!(status == StatusCode::CONFLICT || (status.is_success() && body == "done"));
            asked.fetch_add(1, Ordering::SeqCst);
        });
    }
    wait::until_async("a hundred answers", async || {
        let asked = asked.load(Ordering::SeqCst);
        assert_eq!(tasks.panicked(), Vec::<String>::new());
        wait::holds(asked == 100, asked)
    })
    .await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    tasks.finish(&clock, 60 * SECOND).await.unwrap();
}

#[tokio::test]
async fn a_caller_who_hangs_up_finds_the_answer_later() {
    let it = setting().await;
    let routes = it.instance(1);
    let impatient = it.clock.timeout(SECOND / 2, call(&routes, thing("a", "x")));
    let (left, ()) = tokio::join!(impatient, it.time.advance(2 * SECOND));
    assert!(left.is_err());
    let (_, headers, body) = it.ask(&routes, thing("a", "x")).await;
    assert_eq!((body.as_str(), it.runs()), ("run 1, 32", 1));
    assert!(headers.contains_key("idempotency-replayed"));
}

#[tokio::test]
async fn a_failure_of_ours_is_not_kept_and_a_refusal_is() {
    let it = setting().await;
    let routes = it.instance(1);
    for (body, status, runs) in [
        ("fail", StatusCode::BAD_GATEWAY, 1),
        ("fail", StatusCode::BAD_GATEWAY, 2),
        ("refuse", StatusCode::FORBIDDEN, 3),
        ("refuse", StatusCode::FORBIDDEN, 3),
    ] {
        assert_eq!(it.ask(&routes, thing(body, body)).await.0, status);
        assert_eq!(it.runs(), runs);
    }
}

#[tokio::test]
async fn after_a_crash_the_key_waits_for_its_lease_and_is_free_again() {
    let it = setting().await;
    let routes = it.instance(1);
    assert_eq!(it.ask(&routes, thing("a", "panic")).await.0, StatusCode::INTERNAL_SERVER_ERROR);
    let (status, headers, body) = it.ask(&routes, thing("a", "panic")).await;
    assert_eq!(
        (status, &headers["retry-after"]),
        (StatusCode::CONFLICT, &header::HeaderValue::from_static("1"),)
    );
    assert!(body.contains(r#""code":"idempotency_in_flight""#), "{body}");
    it.time.advance(REQUEST_LEASE).await;
    let other = it.ask(&routes, thing("a", "x")).await.0;
    assert_eq!(other, StatusCode::UNPROCESSABLE_ENTITY, "the key still belongs to its payload");
    assert_eq!(it.runs(), 1);
    it.ask(&routes, thing("a", "panic")).await;
    assert_eq!(it.runs(), 2);
}

#[tokio::test]
async fn who_has_lost_the_lease_keeps_no_answer() {
    let it = setting().await;
    let ids = Ids::new(it.clock.clone(), Random::seeded(3));
    let marks = Marks::new(it.store.clone(), it.clock.clone(), ids);
    let Begun::Ours(first) = marks.begin("id", "p").await.unwrap() else { panic!("nobody else") };
    assert!(matches!(marks.begin("id", "p").await.unwrap(), Begun::Running));
    it.time.advance(REQUEST_LEASE).await;
    let Begun::Ours(second) = marks.begin("id", "p").await.unwrap() else { panic!("it is free") };
    let answer = async |text: &'static str| super::Answer::read(text.into_response()).await;
    assert!(!marks.finish("id", &first, &answer("late").await).await.unwrap());
    assert!(!marks.release("id", &first).await.unwrap());
    assert!(marks.finish("id", &second, &answer("good").await).await.unwrap());
    assert!(!marks.finish("id", &second, &answer("again").await).await.unwrap());
    let Begun::Done(kept) = marks.begin("id", "p").await.unwrap() else { panic!("it is done") };
    assert_eq!(kept.body.unwrap(), "good");
}

#[tokio::test]
async fn a_handler_that_never_ends_is_given_up_with_its_lease() {
    let it = setting().await;
    let routes = it.instance(1);
    let (answer, ()) =
        tokio::join!(call(&routes, thing("a", "stuck")), it.time.advance(HANDLER_TIME));
    assert_eq!(answer.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(answer.2.contains("took too long"), "{}", answer.2);
}

#[tokio::test]
async fn an_answer_too_large_to_keep_is_not_made_again() {
    let it = setting().await;
    let routes = it.instance(1);
    let (status, _, body) = it.ask(&routes, thing("a", "huge")).await;
    assert_eq!((status, body.len()), (StatusCode::OK, ANSWER_BYTES_MAX + 1));
    let (status, _, body) = it.ask(&routes, thing("a", "huge")).await;
    assert_eq!((status, it.runs()), (StatusCode::CONFLICT, 1));
    assert!(body.contains("its answer was too large to be kept (more than 262144"), "{body}");
    for endless in ["broken", "endless"] {
        let (status, _, body) = it.ask(&routes, thing(endless, endless)).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(body.contains(r#""code":"idempotency_answer_not_kept""#), "{body}");
        assert_eq!(it.ask(&routes, thing(endless, endless)).await.0, StatusCode::CONFLICT);
    }
    assert_eq!(it.runs(), 3);
}

#[tokio::test]
async fn bad_keys_and_huge_requests_are_refused_and_run_nothing() {
    let it = setting().await;
    let routes = it.instance(1);
    for key in ["", " ", "a\tb", &"k".repeat(129)] {
        let (status, _, body) = it.ask(&routes, thing(key, "x")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{key:?}");
        assert!(body.contains(r#""code":"idempotency_key_invalid""#), "{body}");
    }
    let raw = Request::post("/things").header("idempotency-key", &b"\xff\xfe"[..]);
    assert_eq!(it.ask(&routes, raw.body(Body::empty()).unwrap()).await.0, StatusCode::BAD_REQUEST);
    let huge = thing("a", &"x".repeat(COMPARED_BYTES_MAX + 1));
    assert_eq!(it.ask(&routes, huge).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(it.runs(), 0);
    for key in ["日本語の鍵", &"k".repeat(128)] {
        assert_eq!(it.ask(&routes, thing(key, "x")).await.0, StatusCode::CREATED, "{key}");
    }
}

#[tokio::test]
async fn without_a_key_nothing_is_kept_and_who_needs_one_says_so() {
    let it = setting().await;
    let routes = it.instance(1);
    let bare = |path: &str| Request::post(path.to_owned()).body(Body::empty()).unwrap();
    assert_eq!(it.ask(&routes, bare("/plain")).await.2, "plain");
    let (status, _, body) = it.ask(&routes, bare("/things")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(body.contains("the header `idempotency-key` is needed"), "{body}");
    let other = it.idempotency(9).with_header("x-idem-key");
    let routes = other.guard(
        Router::new()
            .route("/", post(|token: IdempotencyToken| async move { token.0.to_string() })),
    );
    let named = Request::post("/").header("x-idem-key", "k").body(Body::empty()).unwrap();
    assert_eq!(it.ask(&routes, named).await.2.len(), 32);
}

proptest! {
    #![proptest_config(testkit::depth::cases(24))]

    #[test]
    fn any_sequence_is_answered_as_a_plain_memory_would(
        steps in vec((0..3_usize, 0..4_usize, 0..3_usize), 1..25),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let it = setting().await;
            let instances = [it.instance(1), it.instance(2)];
            // What a key stands for: the payload, the status, and from when on it is free again.
            let mut memory: BTreeMap<usize, (&str, StatusCode, Timestamp)> = BTreeMap::new();
            let mut runs = 0;
            for (key, payload, pause) in steps {
                // A jump: to pass through a day second by second would take its time.
                let pause = [SECOND, ANSWER_KEPT / 2, ANSWER_KEPT][pause];
                it.time.set_wall(it.clock.now().checked_add(pause).unwrap()).await;
                let payload = ["x", "y", "fail", "refuse"][payload];
                memory.retain(|_, (.., free)| it.clock.now() < *free);
                let expected = match memory.get(&key) {
                    Some((known, status, _)) if *known == payload => *status,
                    Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
                    None => {
                        runs += 1;
                        match payload {
                            "fail" => StatusCode::BAD_GATEWAY,
                            "refuse" => StatusCode::FORBIDDEN,
                            _ => StatusCode::CREATED,
                        }
                    }
                };
                let is_known = memory.contains_key(&key);
                // The answer comes after a second, and is kept from then on; in whole seconds.
                let done = it.clock.now().checked_add(SECOND + ANSWER_KEPT).unwrap();
                let asked = it.ask(&instances[runs as usize % 2], thing(&key.to_string(), payload));
                prop_assert_eq!((asked.await.0, it.runs()), (expected, runs));
                if !is_known && payload != "fail" {
                    let free = Timestamp::from_seconds(done.seconds()).unwrap();
                    memory.insert(key, (payload, expected, free));
                }
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_handler_that_asks_itself_gets_the_same_promises_for_as_long_as_it_says() {
    let setting = setting().await;
    let ids = Ids::new(setting.clock.clone(), Random::seeded(9));
    let kept = Idempotency::new(setting.store.clone(), &setting.clock, ids, &setting.tasks)
        .with_header("x-idem-key")
        .keeping(3 * SECOND);
    let mut headers = HeaderMap::new();
    assert_eq!(kept.find_key(&headers).unwrap(), None);
    headers.insert("x-idem-key", "k".parse().unwrap());
    assert_eq!(kept.find_key(&headers).unwrap().as_deref(), Some("k"));
    headers.insert("idempotency-key", "".parse().unwrap());
    assert_eq!(kept.find_key(&headers).unwrap_err().code(), "idempotency_key_invalid");
    let ask = |payload: &'static [u8]| {
        let runs = setting.runs.clone();
        let work = async move { runs.fetch_add(1, Ordering::SeqCst).to_string().into_response() };
        let kept = kept.clone();
        async move { kept.once(&[b"u", b"k"], &[payload], work).await }
    };
    assert!(!ask(b"a").await.unwrap().headers().contains_key("idempotency-replayed"));
    assert!(ask(b"a").await.unwrap().headers().contains_key("idempotency-replayed"));
    assert_eq!(ask(b"b").await.unwrap_err().code(), "idempotency_key_reused");
    setting.time.advance(3 * SECOND).await;
    assert!(ask(b"b").await.is_ok(), "forgotten");
    assert_eq!(setting.runs.load(Ordering::SeqCst), 2);
}

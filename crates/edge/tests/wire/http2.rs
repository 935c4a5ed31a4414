//! The same server over HTTP/2, without TLS.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, Version};
use axum::routing::get;
use edge::Options;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use testkit::wait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::answers::long_failures;
use crate::support::{Site, gated, options, read};

/// A connection of its own.
async fn connect(site: &Site) -> SendRequest<Body> {
    let io = TokioIo::new(site.connect().await);
    let (requests, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    site.instance.ground.tasks.spawn("client", async move {
        let _ended = connection.await;
    });
    requests
}

async fn send(requests: &mut SendRequest<Body>, request: Request<Body>) -> (StatusCode, String) {
    let response = requests.send_request(request).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    let status = response.status();
    let body = axum::body::to_bytes(Body::new(response.into_body()), 1 << 20).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn get_request(path: &str) -> Request<Body> {
    Request::get(format!("http://house{path}")).body(Body::empty()).unwrap()
}

#[testkit::test]
async fn requests_share_one_connection() {
    let (routes, mut is_reached, open) = gated();
    let site = Site::open(routes).await;
    let mut requests = connect(&site).await;
    let mut other = requests.clone();
    let (slow, ()) = tokio::join!(send(&mut requests, get_request("/slow")), async {
        is_reached.recv().await.unwrap();
        let quick = send(&mut other, get_request("/livez")).await;
        assert_eq!(quick, (StatusCode::OK, "alive\n".to_owned()));
        open.send(()).await.unwrap();
    });
    assert_eq!(slow, (StatusCode::OK, "finished".to_owned()));
    let (status, problem) = send(&mut requests, get_request("/nothing")).await;
    assert!(status == StatusCode::NOT_FOUND && problem.contains("traceId"), "{problem}");
    site.still_serves().await;
}

#[testkit::test]
async fn bodies_and_heads_have_the_same_bounds() {
    let site = Site::open(Router::new()).await;
    let mut requests = connect(&site).await;
    let post =
        |length| Request::post("http://house/echo").body(Body::from("x".repeat(length))).unwrap();
    assert_eq!(send(&mut requests, post(1_024)).await.0, StatusCode::OK);
    let (status, problem) = send(&mut requests, post(1_025)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(problem.contains("the body has more than 1024 bytes"), "{problem}");
    let mut long = get_request("/livez");
    long.headers_mut().insert("x", "y".repeat(20_000).parse().unwrap());
    let refused = requests.send_request(long).await;
    let status = refused.map(|response| response.status());
    assert!(!status.as_ref().is_ok_and(StatusCode::is_success), "{status:?}");
    site.still_serves().await;
}

#[testkit::test]
async fn a_drain_finishes_streams_and_ends_the_connection() {
    let (routes, mut is_reached, open) = gated();
    let site = Site::open(routes).await;
    let mut requests = connect(&site).await;
    let mut other = requests.clone();
    let (slow, ()) = tokio::join!(send(&mut requests, get_request("/slow")), async {
        is_reached.recv().await.unwrap();
        let opening = async {
            // The server says that it takes no more; then the last one is let go.
            wait::until_async("the first refusal", async || {
                let is_open = other.ready().await.is_ok() && !other.is_closed();
                let is_taken = is_open && other.send_request(get_request("/livez")).await.is_ok();
                wait::holds(!is_taken, "one more answer")
            })
            .await;
            open.send(()).await.unwrap();
        };
        let (drained, ()) = tokio::join!(site.server.drain(), opening);
        drained.unwrap();
    });
    assert_eq!(slow, (StatusCode::OK, "finished".to_owned()));
}

#[testkit::test]
async fn silence_ends_a_connection_after_its_last_request() {
    let site = Site::open(Router::new()).await;
    let mut requests = connect(&site).await;
    assert_eq!(send(&mut requests, get_request("/livez")).await.0, StatusCode::OK);
    let ((), passed) = wait::while_time_passes(&site.time, async {
        wait::until_async("the end of the connection", async || {
            wait::holds(requests.is_closed(), "an open connection")
        })
        .await;
    })
    .await;
    assert!(passed.as_secs() >= 29, "{passed:?}");
    site.still_serves().await;
}

#[testkit::test]
async fn a_preface_that_trickles_or_leads_nowhere_harms_nobody() {
    let site = Site::open(Router::new()).await;
    let mut half = site.connect().await;
    half.write_all(b"PRI * HTTP/2.0\r\n\r\nS").await.unwrap();
    let (_, passed) = wait::while_time_passes(&site.time, read(half)).await;
    assert!(passed.as_secs() >= 29, "{passed:?}");
    let mut nonsense = site.connect().await;
    nonsense.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense nonsense").await.unwrap();
    let mut answer = Vec::new();
    let _until_reset = nonsense.read_to_end(&mut answer).await;
    assert!(!answer.is_empty(), "it is told why");
    // What merely begins like it is the older protocol.
    let put = site.ask("P /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    put.is_problem_of(405, "method_not_allowed", "`/livez` does not take P");
    site.still_serves().await;
}

#[testkit::test]
async fn a_panic_ends_one_stream_and_no_other() {
    let panics = get(|| async { panic!("on purpose") as &'static str });
    let site = Site::open(Router::new().route("/panics", panics)).await;
    let mut requests = connect(&site).await;
    let (status, problem) = send(&mut requests, get_request("/panics")).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!problem.contains("on purpose"), "{problem}");
    assert_eq!(send(&mut requests, get_request("/livez")).await.0, StatusCode::OK);
    site.still_serves().await;
}

#[testkit::test]
async fn a_long_failure_is_what_its_encoding_says() {
    let site = Site::open(long_failures()).await;
    let mut requests = connect(&site).await;
    for (path, encoding, first) in
        [("/problem", None, b"{\"".as_slice()), ("/graphql", Some("gzip"), &[0x1f, 0x8b])]
    {
        let mut request = get_request(path);
        request.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
        let response = requests.send_request(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let told = response.headers().get("content-encoding").map(|value| value.to_str().unwrap());
        assert_eq!(told, encoding, "{path}");
        let body = axum::body::to_bytes(Body::new(response.into_body()), 1 << 20).await.unwrap();
        assert!(body.starts_with(first), "{path}: {:?}", body.get(..20));
    }
    site.still_serves().await;
}

#[testkit::test]
async fn a_host_beside_the_target_must_be_the_same() {
    let site = Site::open(Router::new()).await;
    let mut requests = connect(&site).await;
    for (hosts, expected) in [
        (&["house"][..], StatusCode::OK),
        (&["other"], StatusCode::BAD_REQUEST),
        (&["house", "house"], StatusCode::BAD_REQUEST),
    ] {
        let mut request = get_request("/livez");
        for host in hosts {
            request.headers_mut().append("host", host.parse().unwrap());
        }
        assert_eq!(send(&mut requests, request).await.0, expected, "{hosts:?}");
    }
    site.still_serves().await;
}

/// A peer that leaves its windows almost closed loses the stream, and the request counts until then.
#[testkit::test]
async fn a_peer_that_keeps_its_window_closed_loses_the_stream_and_not_the_connection() {
    let long = get(|| async { "a".repeat(300_000) });
    let options = Options { requests_per_address_max: 1, ..options() };
    let site = Site::with(Router::new().route("/long", long), options).await;
    let io = TokioIo::new(site.connect().await);
    let mut handshake = http2::Builder::new(TokioExecutor::new());
    handshake.initial_stream_window_size(1);
    let (mut requests, connection) = handshake.handshake(io).await.unwrap();
    site.instance.ground.tasks.spawn("client", async move {
        let _ended = connection.await;
    });
    let unread = requests.send_request(get_request("/long")).await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    let (status, problem) = send(&mut requests, get_request("/nothing")).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{problem}");

    // Time passes only between round trips on the connection, so that it is never idle for long,
    // however slow the machine is.
    let mut passed = 0;
    while !site.get("/metrics").await.text().contains("nagaya_http_stalled_writes_total 1") {
        assert!(passed < 60, "no stalled write after {passed} s");
        site.time.advance(Duration::from_secs(1)).await;
        passed += 1;
        assert_eq!(send(&mut requests, get_request("/livez")).await.0, StatusCode::OK);
    }
    assert!(passed >= 29, "{passed} s");
    let read = axum::body::to_bytes(Body::new(unread.into_body()), 1 << 20).await;
    assert!(read.is_err(), "{} bytes", read.unwrap().len());
    assert_eq!(send(&mut requests, get_request("/nothing")).await.0, StatusCode::NOT_FOUND);
    site.still_serves().await;
}

#[testkit::test]
async fn an_answer_in_parts_is_whole_for_a_slow_reader() {
    let long = get(|| async { "a".repeat(300_000) });
    let site = Site::open(Router::new().route("/long", long)).await;
    let mut requests = connect(&site).await;
    let (status, body) = send(&mut requests, get_request("/long")).await;
    assert_eq!((status, body.len()), (StatusCode::OK, 300_000));
    site.still_serves().await;
}

#[testkit::test]
async fn open_requests_are_bounded_over_all_connections_of_an_address() {
    let (routes, mut is_reached, open) = gated();
    let options = Options { requests_per_address_max: 2, ..options() };
    let site = Site::with(routes, options).await;
    let (mut one, mut other) = (connect(&site).await, connect(&site).await);
    let mut again = one.clone();
    let first = send(&mut one, get_request("/slow"));
    let second = send(&mut other, get_request("/slow"));
    let ((first, second), ()) = tokio::join!(async { tokio::join!(first, second) }, async {
        is_reached.recv().await.unwrap();
        is_reached.recv().await.unwrap();
        let (status, problem) = send(&mut again, get_request("/nothing")).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{problem}");
        assert!(problem.contains("too_many_open_requests"), "{problem}");
        assert_eq!(send(&mut again, get_request("/livez")).await.0, StatusCode::OK);
        open.send(()).await.unwrap();
        open.send(()).await.unwrap();
    });
    assert_eq!((first.1.as_str(), second.1.as_str()), ("finished", "finished"));
    site.still_serves().await;
}

//! A server on a real socket, spoken to in raw HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use base::{Clock, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::{About, Draining, Error, Metrics, Options, Readiness, Server, house_routes};

fn options() -> Options {
    Options {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        body_bytes_max: 1_024,
        ..Options::default()
    }
}

fn house(readiness: &Readiness) -> Router {
    let about = About { name: "house", version: "1.2.3", commit: Some("abc") };
    house_routes(about, readiness.clone(), Metrics::of_process())
        .route("/echo", post(|body: Bytes| async move { body }))
}

async fn start(routes: Router, options: &Options, clock: Clock) -> (Server, Readiness) {
    let readiness = Readiness::new();
    let routes = routes.merge(house(&readiness));
    (Server::start(options, routes, clock, readiness.clone()).await.unwrap(), readiness)
}

/// Sends a whole request and reads the answer to its end.
async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    read(stream).await
}

async fn read(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn get_path(address: SocketAddr, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await
}

fn assert_problem(answer: &str, status: u16, code: &str, detail: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains("content-type: application/problem+json"), "{answer}");
    let body: serde_json::Value =
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let told = (body["status"].as_u64(), body["code"].as_str(), body["detail"].as_str());
    assert_eq!(told, (Some(status.into()), Some(code), Some(detail)));
}

#[tokio::test]
async fn the_house_answers_about_itself() {
    let (server, readiness) = start(Router::new(), &options(), Clock::real()).await;
    let address = server.address();
    assert!(get_path(address, "/livez").await.starts_with("HTTP/1.1 200 "));
    assert!(get_path(address, "/readyz").await.starts_with("HTTP/1.1 200 "));
    let version = get_path(address, "/version").await;
    assert!(version.ends_with(r#"{"name":"house","version":"1.2.3","commit":"abc"}"#), "{version}");
    let metrics = get_path(address, "/metrics").await;
    assert!(metrics.contains(r#"nagaya_build_info{version="1.2.3",commit="abc"} 1"#), "{metrics}");

    readiness.set_red("store", "it has stopped writing");
    let red = get_path(address, "/readyz").await;
    assert_problem(&red, 503, "not_ready", "store: it has stopped writing");
    readiness.set_green("store");
    assert!(get_path(address, "/readyz").await.starts_with("HTTP/1.1 200 "));
    server.drain().await.unwrap();
}

#[tokio::test]
async fn what_is_not_there_is_a_problem() {
    let (server, _) = start(Router::new(), &options(), Clock::real()).await;
    let nothing = get_path(server.address(), "/nothing?x=1").await;
    assert_problem(&nothing, 404, "not_found", "there is nothing at `/nothing`");
    let wrong =
        ask(server.address(), "PUT /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert_problem(&wrong, 405, "method_not_allowed", "`/livez` does not take PUT");
    assert!(wrong.contains("allow: GET,HEAD"), "{wrong}");
    server.drain().await.unwrap();
}

#[tokio::test]
async fn a_body_past_its_bound_is_refused_with_and_without_a_length() {
    let (server, _) = start(Router::new(), &options(), Clock::real()).await;
    let fits = format!("POST /echo HTTP/1.0\r\ncontent-length: 1024\r\n\r\n{}", "x".repeat(1_024));
    assert!(ask(server.address(), &fits).await.starts_with("HTTP/1.0 200 "));
    let head = "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
    let declared = ask(server.address(), &format!("{head}content-length: 1025\r\n\r\n")).await;
    assert_problem(&declared, 413, "body_too_large", "the body has more than 1024 bytes");
    let chunk = format!("401\r\n{}\r\n0\r\n\r\n", "x".repeat(1_025));
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}");
    let chunked = ask(server.address(), &chunked).await;
    assert_problem(&chunked, 413, "body_too_large", "the body has more than 1024 bytes");
    server.drain().await.unwrap();
}

#[tokio::test]
async fn an_answer_that_does_not_begin_in_time_is_given_up() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let (reached, mut is_reached) = mpsc::channel::<()>(1);
    let stuck = get(|| async move {
        reached.send(()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let (server, _) = start(Router::new().route("/stuck", stuck), &options(), clock).await;
    let (answer, ()) = tokio::join!(get_path(server.address(), "/stuck"), async {
        is_reached.recv().await.unwrap();
        time.advance(Duration::from_secs(30)).await;
    });
    assert_problem(&answer, 503, "timeout", "not done within 30s");
    server.drain().await.unwrap();
}

/// A route that says when it is reached and answers when told.
fn gated() -> (Router, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (reached, is_reached) = mpsc::channel(1);
    let (open, gate) = mpsc::channel::<()>(1);
    let gate = std::sync::Arc::new(tokio::sync::Mutex::new(gate));
    let slow = get(move || async move {
        reached.send(()).await.unwrap();
        gate.lock().await.recv().await;
        "finished"
    });
    (Router::new().route("/slow", slow), is_reached, open)
}

#[tokio::test]
async fn a_drain_refuses_what_is_new_and_finishes_what_is_under_way() {
    let (routes, mut is_reached, open) = gated();
    let (server, readiness) = start(routes, &options(), Clock::real()).await;
    let address = server.address();
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut begun = [0; 8];
    idle.read_exact(&mut begun).await.unwrap();
    let slow = async {
        let answer = get_path(address, "/slow").await;
        assert!(answer.ends_with("finished"), "{answer}");
    };
    let drain = async {
        is_reached.recv().await.unwrap();
        let closing = async {
            // The idle connection ends although nobody asked it to.
            read(idle).await;
            assert!(readiness.find_reasons().is_some());
            assert!(TcpStream::connect(address).await.is_err());
            open.send(()).await.unwrap();
        };
        let (drained, ()) = tokio::join!(server.drain(), closing);
        drained.unwrap();
    };
    tokio::join!(slow, drain);
}

#[tokio::test]
async fn a_drain_ends_at_its_deadline_and_says_what_is_left() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let (routes, mut is_reached, _open) = gated();
    let (server, _) = start(routes, &Options { drain_seconds: 5, ..options() }, clock).await;
    let address = server.address();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    is_reached.recv().await.unwrap();
    let (drained, ()) = tokio::join!(server.drain(), time.advance(Duration::from_secs(5)));
    let error = drained.unwrap_err();
    assert_eq!(error.to_string(), "requests still under way after 5s: http connection");
}

#[tokio::test]
async fn one_connection_more_than_allowed_waits_for_another_to_close() {
    let options = Options { connections_max: 1, ..options() };
    let (server, _) = start(Router::new(), &options, Clock::real()).await;
    let mut first = TcpStream::connect(server.address()).await.unwrap();
    first.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    first.read_exact(&mut [0; 8]).await.unwrap();
    let second = get_path(server.address(), "/livez");
    tokio::pin!(second);
    let early = Clock::real().timeout(Duration::from_millis(50), &mut second).await;
    assert!(early.is_err(), "answered beside the only connection allowed");
    drop(first);
    assert!(second.await.starts_with("HTTP/1.1 200 "));
    server.drain().await.unwrap();
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let (server, _) = start(Router::new(), &options(), Clock::real()).await;
    let taken = Options { listen: server.address(), ..options() };
    let second = Server::start(&taken, Router::new(), Clock::real(), Readiness::new()).await;
    let Err(error @ Error::Listen { .. }) = second else { panic!("{second:?}") };
    assert!(error.to_string().starts_with(&format!("cannot listen on {}: ", server.address())));
}

#[tokio::test]
async fn a_drain_tells_streams_and_waits_for_what_outlives_its_request() {
    let (ended, mut has_ended) = mpsc::channel::<bool>(1);
    let stream = get(|draining: Draining| async move {
        assert!(!draining.has_begun());
        let watch = draining.clone();
        draining.spawn("stream", async move {
            watch.begun().await;
            ended.send(watch.has_begun()).await.unwrap();
        });
        "begun"
    });
    let routes = Router::new().route("/stream", stream);
    let (server, _) = start(routes, &options(), Clock::real()).await;
    assert!(get_path(server.address(), "/stream").await.ends_with("begun"));
    assert!(has_ended.try_recv().is_err());
    server.drain().await.unwrap();
    assert_eq!(has_ended.try_recv(), Ok(true));
}

//! The drain: what is under way is finished, what is new is refused, streams are told.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use base::Clock;
use edge::{Draining, Error, Options, Readiness, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::support::{Site, gated, options, read, uncollected};

#[testkit::test]
async fn a_drain_refuses_what_is_new_and_finishes_what_is_under_way() {
    let (routes, mut is_reached, open) = gated();
    let Site { server, readiness, address, .. } = Site::open(routes).await;
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    idle.read_exact(&mut [0; 8]).await.unwrap();
    let slow = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let answer = read(stream).await;
        assert_eq!(answer.text(), "finished");
        assert_eq!(answer.header("connection"), Some("close"));
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

#[testkit::test]
async fn a_drain_ends_at_its_deadline_and_says_what_is_left() {
    let (routes, mut is_reached, _open) = gated();
    let options = Options { drain_seconds: 5, ..options() };
    let site = Site::with(routes, options).await;
    let mut stream = site.connect().await;
    stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    is_reached.recv().await.unwrap();
    let (drained, ()) =
        tokio::join!(site.server.drain(), site.time.advance(Duration::from_secs(5)));
    let error = drained.unwrap_err();
    assert_eq!(error.to_string(), "requests still under way after 5s: http connection");
}

#[testkit::test]
async fn a_drain_does_not_wait_for_a_connection_that_never_asked() {
    let site = Site::open(Router::new()).await;
    let silent = site.connect().await;
    // Connections are taken in turn: this answer means that the silent one was taken.
    site.is_alive().await;
    let (drained, answer) = tokio::join!(site.server.drain(), read(silent));
    drained.unwrap();
    assert_eq!(answer.text(), "");
}

#[testkit::test]
async fn a_drain_waits_seconds_for_a_head_and_not_until_its_end() {
    let site = Site::open(Router::new()).await;
    let [mut prompt, mut slow, mut mute] =
        [site.connect().await, site.connect().await, site.connect().await];
    for begun in [&mut prompt, &mut slow] {
        begun.write_all(b"GET /livez HTTP/1.1\r\nhost:").await.unwrap();
    }
    // A client of HTTP/2 that does not answer when it is told to go.
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    mute.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    mute.write_all(&settings).await.unwrap();
    mute.read_exact(&mut [0; 9]).await.unwrap();
    site.is_alive().await;
    let time = site.time.clone();
    let finishing = async {
        time.advance(Duration::from_secs(4)).await;
        prompt.write_all(b" x\r\n\r\n").await.unwrap();
        let answer = read(prompt).await;
        assert!(answer.text().ends_with("alive\n"), "{answer:?}");
        time.advance(Duration::from_secs(2)).await;
    };
    let (drained, ()) = tokio::join!(site.server.drain(), finishing);
    drained.unwrap();
}

#[testkit::test]
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
    let site = Site::open(Router::new().route("/stream", stream)).await;
    assert_eq!(site.get("/stream").await.text(), "begun");
    assert!(has_ended.try_recv().is_err());
    site.drain().await;
    assert_eq!(has_ended.try_recv(), Ok(true));
}

/// A peer that changes the protocol and then is silent keeps its connection, and its place.
#[testkit::test]
async fn an_upgraded_connection_keeps_its_own_time_and_its_place() {
    let upgrade = get(|draining: Draining, mut request: axum::extract::Request| async move {
        let upgrade = hyper::upgrade::on(&mut request);
        draining.clone().spawn("upgraded", async move {
            let mut stream = hyper_util::rt::TokioIo::new(upgrade.await.unwrap());
            draining.begun().await;
            stream.write_all(b"goodbye").await.unwrap();
            stream.shutdown().await.unwrap();
        });
        (
            axum::http::StatusCode::SWITCHING_PROTOCOLS,
            [("connection", "upgrade"), ("upgrade", "other")],
        )
    });
    let options = Options { connections_max: 1, ..options() };
    let site = Site::with(Router::new().route("/upgrade", upgrade), options).await;
    let mut stream = site.connect().await;
    let head = b"GET /upgrade HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n";
    stream.write_all(head).await.unwrap();
    stream.read_exact(&mut [0; 12]).await.unwrap();
    site.get("/nothing").await.is_problem(503, "too_many_connections");
    site.time.advance(Duration::from_secs(3_000)).await;
    site.get("/nothing").await.is_problem(503, "too_many_connections");
    let (drained, answer) = tokio::join!(site.server.drain(), read(stream));
    drained.unwrap();
    assert!(answer.text().ends_with("goodbye"), "{answer:?}");
}

#[testkit::test]
async fn an_address_in_use_is_named() {
    let site = Site::open(Router::new()).await;
    let taken = Options { listen: site.address, ..options() };
    let traces = uncollected(&site.instance.ground);
    let second = Server::start(&taken, Vec::new(), Clock::real(), Readiness::new(), traces).await;
    let Err(error @ Error::Listen { .. }) = second else { panic!("{second:?}") };
    assert!(error.to_string().starts_with(&format!("cannot listen on {}: ", site.address)));
    site.still_serves().await;
}

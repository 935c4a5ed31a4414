//! Callers that hold much: connections, requests and bodies, and what is left for others.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use base::options::Value;
use edge::{Bounds, Cors, Networks, Options, Room, bounded};
use testkit::{Answer, World, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{Site, gated, options, read, uncollected};

/// A connection from 127.0.0.`host`.
async fn connect_from(site: &Site, host: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0))).unwrap();
    socket.connect(site.address).await.unwrap()
}

/// A connection that has an answer, so that the server has counted it.
async fn held(site: &Site, host: u8) -> TcpStream {
    let mut stream = connect_from(site, host).await;
    stream.write_all(b"HEAD /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0, "closed");
    }
    stream
}

async fn ask_from(site: &Site, host: u8, path: &str) -> Answer {
    let mut stream = connect_from(site, host).await;
    // Without `connection: close`, so that it is the server that closes.
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    let _written = stream.write_all(request.as_bytes()).await;
    wait::bounded("an answer and the end of its connection", read(stream)).await
}

fn desk() -> Room {
    Room::new("desk", Router::new().route("/desk", get(async || "desk")))
        .with_cors(Cors::Nobody)
        .essential()
}

#[testkit::test]
async fn one_address_takes_at_most_half_of_the_connections() {
    let options = Options { connections_max: 4, ..options() };
    let site = Site::of(vec![desk()], options).await;
    let first = held(&site, 1).await;
    let second = held(&site, 1).await;
    let refused = ask_from(&site, 1, "/nothing").await;
    let detail = "there are 2 connections from your address, and no more are allowed";
    refused.is_problem_of(503, "too_many_connections", detail);
    assert_eq!(refused.header("connection"), Some("close"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    for path in ["/livez", "/readyz", "/metrics", "/desk"] {
        let answer = ask_from(&site, 1, path).await;
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")), "{path}");
    }
    let other = held(&site, 2).await;
    drop((first, other));
    wait::until_async("a free place", async || {
        let answer = site.get("/nothing").await;
        wait::holds(answer.status == 404, answer)
    })
    .await;
    drop(second);
    site.still_serves().await;
}

#[testkit::test]
async fn when_all_connections_are_taken_the_house_can_still_be_looked_after() {
    let options = Options { connections_max: 2, ..options() };
    let site = Site::of(vec![desk()], options).await;
    let taken = [held(&site, 1).await, held(&site, 2).await];
    let refused = ask_from(&site, 3, "/nothing").await;
    refused.is_problem_of(503, "connections_full", "all 2 connections are in use");
    for path in ["/livez", "/readyz", "/metrics", "/desk"] {
        assert_eq!(ask_from(&site, 3, path).await.status, 200, "{path}");
    }
    let metrics = ask_from(&site, 3, "/metrics").await;
    let counted = "nagaya_http_reserve_connections_total 6";
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    drop(taken);
    site.still_serves().await;
}

#[testkit::test]
async fn a_connection_that_sits_in_the_reserve_gives_way_to_the_next() {
    let options = Options { connections_max: 1, ..options() };
    let site = Site::with(Router::new(), options).await;
    let taken = held(&site, 1).await;
    // As many as one address may have there, and one more.
    let mut sitting = Vec::new();
    for _ in 0..17 {
        sitting.push(connect_from(&site, 1).await);
    }
    assert_eq!(ask_from(&site, 1, "/livez").await.status, 200);
    let oldest = wait::bounded("the end of the oldest", read(sitting.remove(0))).await;
    assert_eq!(oldest.head, "");
    let newest = sitting.pop().unwrap();
    let (_, passed) = wait::while_time_passes(&site.time, read(newest)).await;
    assert!((5..=7).contains(&passed.as_secs()), "{passed:?}");
    drop(taken);
    site.still_serves().await;
}

#[testkit::test]
async fn open_requests_of_one_address_have_a_bound() {
    let (routes, mut is_reached, open) = gated();
    let options = Options { requests_per_address_max: 1, ..options() };
    let site = Site::with(routes, options).await;
    let (slow, ()) = tokio::join!(site.get("/slow"), async {
        is_reached.recv().await.unwrap();
        let refused = site.get("/nothing").await;
        let detail = "there are 1 open requests from your address, and no more are allowed";
        refused.is_problem_of(503, "too_many_open_requests", detail);
        site.is_alive().await;
        assert_eq!(ask_once_from(&site, 2, "/nothing").await.status, 404, "another address");
        open.send(()).await.unwrap();
    });
    assert_eq!(slow.text(), "finished");
    assert_eq!(site.get("/nothing").await.status, 404);
    site.still_serves().await;
}

async fn ask_once_from(site: &Site, host: u8, path: &str) -> Answer {
    let mut stream = connect_from(site, host).await;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    wait::bounded("an answer", read(stream)).await
}

#[testkit::test]
async fn a_trusted_proxy_has_no_bound_and_its_callers_have() {
    let mut trusted_proxies = Networks::default();
    assert!(trusted_proxies.read("127.0.0.1"));
    let options = Options {
        connections_max: 8,
        connections_per_address_max: 1,
        requests_per_address_max: 1,
        trusted_proxies,
        ..options()
    };
    let (routes, mut is_reached, open) = gated();
    let site = Site::with(routes, options).await;
    let held = [held(&site, 1).await, held(&site, 1).await, held(&site, 1).await];
    let caller = |host: u8| format!("x-forwarded-for: 203.0.113.{host}\r\n");
    let (one, other) = (caller(5), caller(6));
    let (slow, ()) = tokio::join!(site.get_with("/slow", &one), async {
        is_reached.recv().await.unwrap();
        assert_eq!(site.get_with("/nothing", &one).await.status, 503);
        assert_eq!(site.get_with("/nothing", &other).await.status, 404);
        assert_eq!(site.get("/nothing").await.status, 404, "the proxy itself");
        open.send(()).await.unwrap();
    });
    assert_eq!(slow.text(), "finished");
    assert_eq!(site.get_with("/nothing", &one).await.status, 404);
    drop(held);
    site.still_serves().await;
}

#[testkit::test]
async fn an_upgraded_connection_is_an_open_request_until_it_ends() {
    let upgrade = get(|mut request: axum::extract::Request| async move {
        let upgrade = hyper::upgrade::on(&mut request);
        let draining: edge::Draining = request.extensions().get().cloned().unwrap();
        draining.spawn("upgraded", async move {
            let mut stream = hyper_util::rt::TokioIo::new(upgrade.await.unwrap());
            let _until_closed = stream.read_u8().await;
        });
        let headers = [("connection", "upgrade"), ("upgrade", "other")];
        (axum::http::StatusCode::SWITCHING_PROTOCOLS, headers)
    });
    let options = Options { requests_per_address_max: 1, ..options() };
    let site = Site::with(Router::new().route("/upgrade", upgrade), options).await;
    let mut stream = site.connect().await;
    let head = b"GET /upgrade HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n";
    stream.write_all(head).await.unwrap();
    stream.read_exact(&mut [0; 12]).await.unwrap();
    site.get("/nothing").await.is_problem(503, "too_many_open_requests");
    drop(stream);
    wait::until_async("the end of the request", async || {
        let answer = site.get("/nothing").await;
        wait::holds(answer.status == 404, answer)
    })
    .await;
    site.still_serves().await;
}

/// The head of a body of this length, and its beginning.
fn begun(path: &str, headers: &str, length: usize, sent: usize) -> String {
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}");
    format!("{head}content-length: {length}\r\n\r\n{}", "x".repeat(sent))
}

fn whole(path: &str, headers: &str, length: usize) -> String {
    begun(path, headers, length, length)
}

#[testkit::test]
async fn bodies_of_strangers_have_a_bound_together_that_holds_back_nobody_with_a_key() {
    let world = World::new().await;
    let instance = world.instance().await;
    let key = format!("x-api-key: {}\r\n", instance.key("school", &["mesh"]).await);
    let count = || {
        let count = post(|body: Bytes| async move { body.len().to_string() });
        bounded(count, Bounds { body_bytes_max: Some(1 << 20), ..Bounds::default() })
    };
    let guarded = instance.ground.keys.guard(Router::new().route("/keyed", count()), "mesh");
    let room = Room::new("test", guarded.route("/count", count()));
    // One address has 32 KiB beyond the first bytes of its bodies.
    let options =
        Options { stranger_bytes_max: 131_072, known_bytes_max: 131_072, ..Options::default() };
    let site = Site::on(&world, instance, vec![room], options, uncollected).await;

    assert_eq!(site.ask(whole("/count", "", 30_000)).await.text(), "30000");
    let mut slow = site.connect().await;
    slow.write_all(begun("/count", "", 60_000, 30_000).as_bytes()).await.unwrap();
    let refused = wait::until_async("the first refusal", async || {
        let answer = site.ask(whole("/count", "", 20_000)).await;
        if answer.status == 503 { Ok(answer) } else { Err(answer) }
    })
    .await;
    let detail = "the bodies of other requests fill the 131072 bytes that there are for callers \
                  without a credential";
    refused.is_problem_of(503, "bodies_full", detail);
    assert_eq!(refused.json()["retryable"], true);
    assert_eq!(site.ask(whole("/count", "", 4_000)).await.text(), "4000", "small ones pass");
    assert_eq!(site.ask(whole("/keyed", &key, 100_000)).await.text(), "100000");
    site.ask(whole("/keyed", &key, 200_000)).await.is_problem(503, "bodies_full");
    drop(slow);
    wait::until_async("room for a body", async || {
        let answer = site.ask(whole("/count", "", 30_000)).await;
        wait::holds(answer.status == 200, answer)
    })
    .await;
    site.still_serves().await;
}

#[testkit::test]
async fn a_body_of_tiny_pieces_counts_for_what_it_costs() {
    let options = Options { stranger_bytes_max: 131_072, ..Options::default() };
    let site = Site::with(Router::new(), options).await;
    let chunked = |count: usize| {
        let chunks = "1\r\nx\r\n".repeat(count);
        format!(
            "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: \
             chunked\r\n\r\n{chunks}0\r\n\r\n"
        )
    };
    assert_eq!(site.ask(chunked(100)).await.status, 200);
    site.ask(chunked(5_000)).await.is_problem(503, "bodies_full");
    site.still_serves().await;
}

#[testkit::test]
async fn time_gives_back_what_a_silent_caller_held() {
    let options = Options { connections_max: 1, ..options() };
    let site = Site::with(Router::new(), options).await;
    let silent = held(&site, 1).await;
    let ((), passed) = wait::while_time_passes(&site.time, async {
        wait::until_async("the place of the silent one", async || {
            let answer = site.get("/nothing").await;
            wait::holds(answer.status == 404, answer)
        })
        .await;
    })
    .await;
    assert!(passed >= Duration::from_secs(29), "{passed:?}");
    drop(silent);
    site.still_serves().await;
}

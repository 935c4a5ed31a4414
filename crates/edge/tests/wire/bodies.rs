//! Bodies: too long, too slow, broken off.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use edge::{Bounds, Json, bounded};
use testkit::wait;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::support::{Site, read};

const HEAD: &str = "HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";

fn declared(path: &str, length: usize) -> String {
    format!("POST {path} {HEAD}content-length: {length}\r\n\r\n")
}

fn chunked(path: &str, length: usize) -> String {
    let chunk = "x".repeat(length);
    format!(
        "POST {path} {HEAD}transfer-encoding: chunked\r\n\r\n{length:x}\r\n{chunk}\r\n0\r\n\r\n"
    )
}

#[testkit::test]
async fn a_body_past_its_bound_is_refused_with_and_without_a_length() {
    let json = post(|Json(_): Json<serde_json::Value>| async {});
    let site = Site::open(Router::new().route("/json", json)).await;
    let fits = site.ask(declared("/echo", 1_024) + &"x".repeat(1_024)).await;
    assert_eq!((fits.status, fits.body.len()), (200, 1_024));
    let detail = "the body has more than 1024 bytes";
    for request in [declared("/echo", 1_025), declared("/echo", 1 << 60), chunked("/echo", 1_025)] {
        site.ask(request).await.is_problem_of(413, "body_too_large", detail);
    }
    let with_type =
        declared("/json", 1_025).replace("\r\n\r\n", "\r\ncontent-type: application/json\r\n\r\n");
    site.ask(with_type).await.is_problem_of(413, "body_too_large", detail);
    site.still_serves().await;
}

#[testkit::test]
async fn a_body_that_asks_before_it_comes_is_refused_before_it_does() {
    let site = Site::open(Router::new()).await;
    let expecting = |length| {
        format!("POST /echo {HEAD}expect: 100-continue\r\ncontent-length: {length}\r\n\r\n")
    };
    let refused = site.ask(expecting(1_025)).await;
    refused.is_problem_of(413, "body_too_large", "the body has more than 1024 bytes");
    let taken = site.ask(expecting(1) + "x").await;
    assert!(taken.head.starts_with("HTTP/1.1 100 Continue"), "{taken:?}");
    assert!(taken.text().starts_with("HTTP/1.1 200 OK"), "{taken:?}");
    site.still_serves().await;
}

#[testkit::test]
async fn a_route_may_take_more_or_less_than_the_others() {
    let echo = || post(|body: Bytes| async move { body.len().to_string() });
    let bytes = |bytes| Bounds { body_bytes_max: Some(bytes), ..Bounds::default() };
    let routes = Router::new()
        .route("/wide", bounded(echo(), bytes(4_096)))
        .route("/narrow", bounded(echo(), bytes(16)));
    let site = Site::open(routes).await;
    assert_eq!(site.ask(chunked("/wide", 4_096)).await.text(), "4096");
    for request in [declared("/wide", 4_097), chunked("/wide", 4_097)] {
        let detail = "the body has more than 4096 bytes";
        site.ask(request).await.is_problem_of(413, "body_too_large", detail);
    }
    assert_eq!(site.ask(chunked("/narrow", 16)).await.text(), "16");
    let detail = "the body has more than 16 bytes";
    site.ask(chunked("/narrow", 17)).await.is_problem_of(413, "body_too_large", detail);
    site.still_serves().await;
}

#[testkit::test]
async fn an_answer_that_does_not_begin_in_time_is_given_up() {
    let (reached, mut is_reached) = mpsc::channel::<()>(3);
    let stuck = move || {
        get(|| async move {
            reached.send(()).await.unwrap();
            std::future::pending::<()>().await;
        })
    };
    let within =
        |seconds| Bounds { answer_within: Some(Duration::from_secs(seconds)), ..Bounds::default() };
    let routes = Router::new()
        .route("/usual", stuck.clone()())
        .route("/long", bounded(stuck.clone()(), within(90)))
        .route("/short", bounded(stuck(), within(2)));
    let site = Site::open(routes).await;
    for (path, seconds) in [("/usual", 30), ("/long", 90), ("/short", 2)] {
        let (answer, ()) = tokio::join!(site.get(path), async {
            is_reached.recv().await.unwrap();
            site.time.advance(Duration::from_secs(seconds)).await;
        });
        let detail = format!("there was no answer within {seconds}s");
        answer.is_problem_of(503, "timeout", &detail);
        assert_eq!(answer.json()["retryable"], true);
    }
    site.still_serves().await;
}

#[testkit::test]
async fn a_body_that_does_not_arrive_in_time_is_the_callers_doing() {
    let site = Site::open(Router::new()).await;
    let mut slow = site.connect().await;
    slow.write_all((declared("/echo", 100) + "half").as_bytes()).await.unwrap();
    let (answer, passed) = wait::while_time_passes(&site.time, read(slow)).await;
    answer.is_problem_of(408, "body_timeout", "the body did not arrive within 30s");
    assert!((30..=32).contains(&passed.as_secs()), "{passed:?}");
    site.still_serves().await;
}

#[testkit::test]
async fn a_body_that_breaks_off_or_is_no_body_harms_nobody() {
    let site = Site::open(Router::new()).await;
    let mut broken = site.connect().await;
    broken.write_all((declared("/echo", 100) + "half").as_bytes()).await.unwrap();
    drop(broken);
    let nonsense = format!("POST /echo {HEAD}transfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n");
    assert_eq!(site.ask(nonsense).await.status, 400);
    site.still_serves().await;
}

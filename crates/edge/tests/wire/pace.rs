//! Peers that are slow, silent or gone.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use edge::Options;
use hyper::body::Frame;
use testkit::{Answer, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Site, gated, options, read};

#[testkit::test]
async fn a_head_that_trickles_in_is_given_up_and_told_so() {
    let site = Site::open(Router::new()).await;
    let mut slow = site.connect().await;
    slow.write_all(b"GET /livez HTTP/1.1\r\nx: ").await.unwrap();
    let trickle = async {
        let (mut reader, mut writer) = slow.split();
        let mut answer = Vec::new();
        let drip = async {
            // A byte with every second that passes: each read succeeds, and none helps.
            loop {
                if writer.write_all(b"y").await.is_err() {
                    std::future::pending::<()>().await;
                }
                site.time.advance(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            _ = reader.read_to_end(&mut answer) => {}
            () = drip => {}
        }
        answer
    };
    let answer = Answer::parse(&trickle.await);
    answer.is_problem_of(408, "head_timeout", "the request's head did not arrive within 30s");
    site.still_serves().await;
}

#[testkit::test]
async fn silence_is_closed_without_a_word_before_and_between_requests() {
    let site = Site::open(Router::new()).await;
    let silent = site.connect().await;
    let (answer, passed) = wait::while_time_passes(&site.time, read(silent)).await;
    assert_eq!((answer.head.as_str(), passed.as_secs() / 10), ("", 3));

    let mut idle = site.connect().await;
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let (answer, passed) = wait::while_time_passes(&site.time, read(idle)).await;
    assert_eq!((answer.status, answer.text()), (200, "alive\n"));
    assert_eq!(passed.as_secs() / 10, 3, "kept alive until the time was over");
    site.still_serves().await;
}

#[testkit::test]
async fn a_request_under_way_is_no_silence() {
    let (routes, mut is_reached, open) = gated();
    let options = Options { request_timeout_seconds: 300, ..options() };
    let site = Site::with(routes, options).await;
    let (answer, ()) = tokio::join!(site.get("/slow"), async {
        is_reached.recv().await.unwrap();
        site.time.advance(Duration::from_secs(200)).await;
        open.send(()).await.unwrap();
    });
    assert_eq!(answer.text(), "finished");
    site.still_serves().await;
}

#[testkit::test]
async fn a_peer_that_takes_nothing_loses_its_connection() {
    let endless = get(|| async { Body::new(Endless) });
    let options = Options { connections_max: 1, ..options() };
    let site = Site::with(Router::new().route("/endless", endless), options).await;
    let mut stalled = site.connect().await;
    stalled.write_all(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    // The only place is taken by the peer that does not read, until that is noticed.
    let ((), passed) = wait::while_time_passes(&site.time, async {
        wait::until_async("a free place", async || {
            let answer = site.get("/nothing").await;
            wait::holds(answer.status == 404, answer)
        })
        .await;
    })
    .await;
    assert!(passed.as_secs() >= 30, "{passed:?}");
    let mut rest = Vec::new();
    let _until_reset = stalled.read_to_end(&mut rest).await;
    let metrics = site.get("/metrics").await;
    assert!(metrics.text().contains("nagaya_http_stalled_writes_total 1"), "{}", metrics.text());
    assert!(!metrics.text().contains("nagaya_task_panics_total"), "{}", metrics.text());
    site.still_serves().await;
}

/// A body without an end.
struct Endless;

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![0; 65_536])))))
    }
}

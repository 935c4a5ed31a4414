//! Ids, traces, the access log, and panics.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use edge::Trace;
use parking_lot::Mutex;
use serde_json::Value;
use testkit::wait;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Site, gated};

/// A log that a test can read.
#[derive(Clone, Default)]
struct Log {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.lock().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

impl Log {
    /// What this thread logs from now on, which with one thread is everything.
    fn of_thread() -> (Log, tracing::subscriber::DefaultGuard) {
        let log = Log::default();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_max_level(tracing::Level::TRACE)
            .with_writer(log.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().clone()).unwrap()
    }

    fn accesses(&self) -> Vec<Value> {
        let lines = self.text();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["target"] == "access").collect()
    }
}

#[testkit::test]
async fn a_request_joins_the_trace_that_it_names() {
    let told = get(|request: axum::extract::Request| async move {
        let trace = request.extensions().get::<Trace>().unwrap();
        trace.header().to_str().unwrap().to_owned()
    });
    let site = Site::open(Router::new().route("/told", told)).await;
    let id = "0af7651916cd43dd8448eb211c80319c";
    let given = format!("traceparent: 00-{id}-b7ad6b7169203331-01\r\nx-request-id: mine-1\r\n");
    let answer = site.get_with("/told", &given).await;
    let header = answer.header("traceparent").unwrap();
    assert!(header.starts_with(&format!("00-{id}-")) && header.ends_with("-01"), "{header}");
    assert!(!header.contains("b7ad6b7169203331"), "a span of its own");
    assert_eq!(answer.text(), header);
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));

    let bad = format!("traceparent: 00-{id}-0000000000000000-01\r\nx-request-id: a b\r\n");
    let answer = site.get_with("/nothing", &bad).await;
    let header = answer.header("traceparent").unwrap();
    assert!(!header.contains(id), "{header}");
    assert_eq!(answer.json()["traceId"].as_str(), header.split('-').nth(1));
    assert_eq!(answer.header("x-request-id").unwrap().len(), 36);
    site.still_serves().await;
}

#[testkit::test]
async fn a_request_is_one_line_without_secrets() {
    let (log, _guard) = Log::of_thread();
    let site = Site::open(Router::new().route("/to/{name}", get(|| async { "hello" }))).await;
    let secrets = "authorization: Bearer hunter2\r\ncookie: session=hunter2\r\nx-api-key: hunter2\r\n\
                   proxy-authorization: hunter2\r\nuser-agent: tester/1\r\nx-request-id: r1\r\n";
    let path = "/to/her?token=hunter2&API_KEY=hunter2&header=hunter2&payload=hunter2&page=2";
    let answer = site.get_with(path, secrets).await;
    let traceparent = answer.header("traceparent").unwrap().to_owned();
    let accesses = log.accesses();
    assert_eq!(accesses.len(), 1, "{accesses:?}");
    let line = &accesses[0];
    assert_eq!(line["route"], "/to/{name}");
    assert_eq!(
        line["path"],
        "/to/her?token=[redacted]&API_KEY=[redacted]&header=[redacted]&payload=[redacted]&page=2"
    );
    for (key, value) in [
        ("method", "GET"),
        ("user_agent", "tester/1"),
        ("request_id", "r1"),
        ("version", "HTTP/1.1"),
        ("trace_id", traceparent.split('-').nth(1).unwrap()),
    ] {
        assert_eq!(line[key], value, "{line}");
    }
    assert_eq!(
        (&line["status"], &line["bytes"], &line["whole"]),
        (&200.into(), &5.into(), &true.into())
    );
    assert!(line["ms"].as_f64().is_some_and(|ms| ms >= 0.0), "{line}");
    assert_eq!(line["client"], "127.0.0.1", "{line}");

    site.get_with("/nothing?key=hunter2", secrets).await;
    assert_eq!(log.accesses()[1]["code"], "not_found");
    assert!(!log.text().contains("hunter2"), "{}", log.text());
    site.still_serves().await;
}

#[testkit::test]
async fn a_panic_is_counted_and_ends_one_request() {
    let panics = get(|| async { panic!("the secret of the panic") as &'static str });
    let site = Site::open(Router::new().route("/panics", panics)).await;
    let answer = site.get("/panics").await;
    answer.is_problem_of(500, "internal", "something went wrong on our side");
    assert_eq!(answer.json()["retryable"], false);
    assert!(answer.header("x-request-id").is_some());
    let metrics = site.get("/metrics").await;
    let counted = r#"nagaya_http_panics_total{route="/panics"} 1"#;
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    site.still_serves().await;
}

#[testkit::test]
async fn a_reader_that_leaves_is_noticed() {
    let (log, _guard) = Log::of_thread();
    let (routes, mut is_reached, open) = gated();
    let site = Site::open(routes).await;
    let mut stream = site.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    is_reached.recv().await.unwrap();
    drop(stream);
    // The handler is dropped with its connection, and nothing is left to answer.
    wait::until_async("a line of the log", async || {
        wait::holds(!log.accesses().is_empty(), log.text())
    })
    .await;
    let line = &log.accesses()[0];
    assert_eq!((&line["route"], &line["whole"]), (&"/slow".into(), &false.into()), "{line}");
    assert!(line["status"].is_null(), "{line}");
    drop(open);
    site.still_serves().await;
}

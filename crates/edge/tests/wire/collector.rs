//! Traces, at a collector that reads them with the protocol's own types.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use base::Random;
use base::options::Value;
use edge::{Endpoint, Ground, Room, StatusCode, TraceOptions, Traces};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use testkit::{World, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{Site, options};

const PARENT: &str = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";

struct Collector {
    listener: TcpListener,
}

impl Collector {
    async fn open() -> Collector {
        Collector { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    fn options(&self) -> TraceOptions {
        let mut endpoint = Endpoint::default();
        assert!(endpoint.read(&format!("http://{}", self.listener.local_addr().unwrap())));
        TraceOptions { endpoint: Some(endpoint), ..TraceOptions::default() }
    }

    /// Takes one message and answers it with this status.
    async fn take(&self, status: u16) -> ExportTraceServiceRequest {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        loop {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "broken off");
            let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
            if bytes.len() < end + 4 + length.parse::<usize>().unwrap() {
                continue;
            }
            assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
            assert!(head.contains("content-type: application/x-protobuf"), "{head}");
            let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            return ExportTraceServiceRequest::decode(&bytes[end + 4..]).unwrap();
        }
    }
}

async fn site(collector: &Collector) -> Site {
    let world = World::new().await;
    let broken = get(|| async { StatusCode::INTERNAL_SERVER_ERROR });
    let room = Room::new("test", Router::new().route("/things/{id}", broken));
    let traces = |ground: &Ground| {
        Traces::start(&collector.options(), Random::seeded(1), &ground.clock, &ground.tasks)
    };
    Site::on(&world, world.instance().await, vec![room], options(), traces).await
}

fn spans(request: &ExportTraceServiceRequest) -> Vec<&Span> {
    request.resource_spans[0].scope_spans.iter().flat_map(|scope| &scope.spans).collect()
}

fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|found| found.value.clone()).and_then(|any| any.value) {
        Some(any_value::Value::StringValue(text)) => text,
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        other => panic!("{key}: {other:?}"),
    }
}

#[testkit::test]
async fn finished_requests_become_spans_of_their_traces() {
    let collector = Collector::open().await;
    let site = site(&collector).await;
    site.get_with("/things/7?token=hunter2", PARENT).await;
    let fresh = site.get("/livez").await;
    let (request, _) = wait::while_time_passes(&site.time, collector.take(200)).await;
    let resource = request.resource_spans[0].resource.as_ref().unwrap();
    assert_eq!(resource.attributes[0].key, "service.name");
    let spans = spans(&request);
    assert_eq!(spans.len(), 2);

    let (broken, probe) = (spans[0], spans[1]);
    assert_eq!(broken.name, "GET /things/{id}");
    assert_eq!(broken.trace_id[..2], [0x0a, 0xf7]);
    assert_eq!(broken.parent_span_id, [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]);
    assert_eq!((broken.kind, broken.status.as_ref().unwrap().code), (2, 2));
    assert_eq!(broken.start_time_unix_nano, 1_800_000_000_000_000_000);
    assert!(broken.end_time_unix_nano >= broken.start_time_unix_nano);
    for (key, value) in [
        ("http.request.method", "GET"),
        ("http.route", "/things/{id}"),
        ("http.response.status_code", "500"),
        ("url.path", "/things/7"),
        ("client.address", "127.0.0.1"),
    ] {
        assert_eq!(attribute(broken, key), value);
    }
    assert!(!format!("{request:?}").contains("hunter2"));
    assert!(probe.parent_span_id.is_empty() && probe.status.is_none());
    let id = base::hex(&probe.trace_id);
    assert_eq!(Some(id.as_str()), fresh.header("traceparent").unwrap().split('-').nth(1));
    site.still_serves().await;
}

#[testkit::test]
async fn a_collector_that_is_away_gets_the_spans_later_and_holds_nobody_up() {
    let collector = Collector::open().await;
    let site = site(&collector).await;
    site.get_with("/things/1", PARENT).await;
    let (first, _) = wait::while_time_passes(&site.time, collector.take(503)).await;
    assert_eq!(site.get_with("/things/2", PARENT).await.status, 500);
    let (second, _) = wait::while_time_passes(&site.time, collector.take(200)).await;
    let paths =
        |request| spans(request).iter().map(|span| attribute(span, "url.path")).collect::<Vec<_>>();
    assert_eq!(paths(&first), ["/things/1"]);
    assert_eq!(paths(&second), ["/things/1", "/things/2"]);
    site.still_serves().await;
}

#[testkit::test]
async fn what_is_not_wanted_is_not_sent_and_the_last_is_not_lost() {
    let collector = Collector::open().await;
    let site = site(&collector).await;
    let unwanted = PARENT.replace("-01\r\n", "-00\r\n");
    site.get_with("/things/unwanted", &unwanted).await;
    site.get_with("/things/last", PARENT).await;
    let ground = &site.instance.ground;
    let finish = ground.tasks.finish(&ground.clock, Duration::from_secs(10));
    let (request, finished) = tokio::join!(collector.take(200), finish);
    finished.unwrap();
    assert_eq!(
        spans(&request).iter().map(|span| attribute(span, "url.path")).collect::<Vec<_>>(),
        ["/things/last"]
    );
    site.still_serves().await;
}

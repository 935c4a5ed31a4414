//! Traces: which request belongs to which story, and telling a collector about it.
//!
//! A request joins the trace that its `traceparent` names, as W3C Trace Context says, or begins a
//! new one. If a collector is configured, a finished request becomes a span and is sent to it by
//! OTLP over HTTP (`traces/sender.rs`), encoded in `traces/otlp.rs`.
//!
//! - **Invariant:** no request waits for the collector. Spans that find the queue full are dropped
//!   and counted.

mod context;
mod endpoint;
mod otlp;
mod sender;

use std::net::IpAddr;
use std::time::Duration;

use axum::http::HeaderMap;
use base::{Clock, Random, Tasks, Timestamp};
use context::Parent;
pub(crate) use context::TRACEPARENT;
pub use context::Trace;
pub use endpoint::Endpoint;
use hub::{Ears, Listening};
use sender::Sender;
use tokio::sync::mpsc;

use crate::limits::SPANS_QUEUED_MAX;

base::options! {
    /// Where traces of requests go.
    pub struct TraceOptions in "otlp" {
        /// The collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`. Traces go to
        /// `/v1/traces` under it. With nothing here they go nowhere.
        pub endpoint: Option<Endpoint> = None;
        /// The name under which the collector knows this house.
        pub service_name: String = "nagaya".to_owned();
        /// So many of a hundred requests are sent, of those that bring no trace of their own. One
        /// that does says itself whether it is wanted.
        pub sample_percent: u64 = 100, 0..=100;
    }
}

/// Makes traces, and hands what came of them to the collector. Clones share the way to it.
#[derive(Clone, Debug)]
pub struct Traces {
    random: Random,
    spans: Option<mpsc::Sender<Span>>,
    sample_percent: u64,
    ears: Ears<Finished>,
}

/// A request that is over, as somebody hears who only looks at the house. Secrets are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// `GET`
    pub method: String,
    /// What was asked for.
    pub path: String,
    /// The answer's status; nothing for a reader who left before there was one.
    pub status: Option<u16>,
    /// Bytes of the answer.
    pub bytes: u64,
    /// How long it took.
    pub lasted: Duration,
    /// Who asked.
    pub client: Option<IpAddr>,
}

/// One finished request, in the words of the collector.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) trace: Trace,
    pub(crate) name: String,
    pub(crate) begun: Timestamp,
    pub(crate) lasted: Duration,
    pub(crate) is_error: bool,
    pub(crate) attributes: Vec<(&'static str, Value)>,
}

/// A value of a span's attribute.
#[derive(Debug)]
pub(crate) enum Value {
    Text(String),
    Number(u64),
}

impl Traces {
    /// Makes traces that nobody collects.
    pub fn uncollected(random: Random) -> Traces {
        Traces { random, spans: None, sample_percent: 0, ears: Ears::default() }
    }

    /// Makes traces, and sends them if the options say where. What is queued when the tasks shut
    /// down is still sent.
    pub fn start(options: &TraceOptions, random: Random, clock: &Clock, tasks: &Tasks) -> Traces {
        let Some(endpoint) = options.endpoint.clone() else { return Traces::uncollected(random) };
        let (spans, queue) = mpsc::channel(SPANS_QUEUED_MAX);
        let sender = Sender::new(endpoint, options.service_name.clone(), clock.clone(), queue);
        tasks.spawn("trace sender", sender.run(tasks.shutdown()));
        let sample_percent = options.sample_percent;
        Traces { random, spans: Some(spans), sample_percent, ears: Ears::default() }
    }

    /// Listens along to every request, when it is over.
    pub fn listen(&self) -> Listening<Finished> {
        self.ears.listen()
    }

    pub(crate) fn tell(&self, answered: impl FnOnce() -> Finished) {
        self.ears.tell(answered);
    }

    pub(crate) fn random(&self) -> &Random {
        &self.random
    }

    /// The place of a new request: in the trace that its headers name, or in one of its own.
    pub(crate) fn begin(&self, headers: &HeaderMap) -> Trace {
        let span = self.random.bytes();
        match Parent::find(headers) {
            Some(parent) => Trace::below(parent, span),
            None => {
                let is_sampled =
                    self.spans.is_some() && self.random.below(100) < self.sample_percent;
                Trace::new(self.random.bytes(), span, is_sampled)
            }
        }
    }

    /// Whether a span of this trace goes anywhere.
    pub(crate) fn wants(&self, trace: &Trace) -> bool {
        self.spans.is_some() && trace.is_sampled()
    }

    pub(crate) fn record(&self, span: Span) {
        let Some(spans) = &self.spans else { return };
        if spans.try_send(span).is_err() {
            metrics::counter!("nagaya_otlp_spans_total", "result" => "dropped").increment(1);
        }
    }
}

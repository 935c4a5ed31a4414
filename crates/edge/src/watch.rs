//! What is seen of every request: its ids, its span, one line in the access log, the numbers, and
//! a panic that nobody else sees.
//!
//! - **Invariant:** every answer names its request and its trace; a failure does so in its body.
//! - **Invariant:** a request is logged once, when its last byte left or its reader was gone, also
//!   one that was never answered, and with secrets left out (`redact.rs`).
//! - **Invariant:** a panic in a handler ends one request: 500 to the caller, counted, and logged
//!   by the process's panic hook, within the request's span.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base::{Clock, Ids, Monotonic, Timestamp};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tracing::Instrument;

use crate::failure::Told;
use crate::limits::{REQUEST_ID_CHARS_MAX, USER_AGENT_CHARS_MAX};
use crate::redact;
use crate::traces::{Span, TRACEPARENT, Trace, Traces, Value};
use crate::{Client, Failure};

/// Names a request, on its way in if the caller has a name for it, and always on its way out.
pub(crate) const REQUEST_ID: &str = "x-request-id";

/// What supervisors ask every few seconds is told to who wants to see everything.
const PROBES: [&str; 3] = ["/livez", "/readyz", "/metrics"];

/// Browsers that came by TLS keep to it for a month: long enough to protect who comes regularly,
/// short enough for a house that gives TLS up.
const KEEP_SECURE: HeaderValue = HeaderValue::from_static("max-age=2592000");

/// A watch over all requests.
pub(crate) fn start(clock: &Clock, traces: Traces, ids: Ids) -> Arc<Watch> {
    Arc::new(Watch { clock: clock.clone(), traces, ids })
}

pub(crate) struct Watch {
    clock: Clock,
    traces: Traces,
    ids: Ids,
}

/// What is known of a request. Its end is the request's.
struct Seen {
    watch: Arc<Watch>,
    trace: Trace,
    trace_id: String,
    request_id: HeaderValue,
    method: Method,
    target: String,
    /// The pattern that the path matched.
    route: String,
    version: axum::http::Version,
    client: Option<Client>,
    user_agent: String,
    begun: Timestamp,
    since: Monotonic,
    /// Nothing while there is no answer; a reader may leave before.
    status: Option<StatusCode>,
    code: Option<&'static str>,
    bytes: u64,
    is_whole: bool,
}

/// Sees a request from its beginning to its end.
pub(crate) async fn see(
    State(watch): State<Arc<Watch>>,
    mut request: Request,
    next: Next,
) -> Response {
    let seen = Seen::new(watch, &request);
    request.extensions_mut().insert(seen.trace.clone());
    let span = tracing::info_span!(
        "request",
        trace_id = seen.trace_id,
        request_id = seen.request_id.to_str().unwrap_or_default(),
        method = %seen.method,
        route = seen.route,
    );
    let answered = unless_panicked(next.run(request)).instrument(span).await;
    let response = answered.unwrap_or_else(|Panicked| {
        metrics::counter!("nagaya_http_panics_total", "route" => seen.route.clone()).increment(1);
        let message = "something went wrong on our side";
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message).into_response()
    });
    seen.answer(response)
}

impl Seen {
    fn new(watch: Arc<Watch>, request: &Request) -> Seen {
        metrics::gauge!("nagaya_http_requests_under_way").increment(1.0);
        let (headers, extensions) = (request.headers(), request.extensions());
        let trace = watch.traces.begin(headers);
        let user_agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
        let route = extensions.get::<MatchedPath>().map_or("none", MatchedPath::as_str);
        Seen {
            trace_id: trace.id(),
            request_id: request_id(headers, &watch.ids),
            method: request.method().clone(),
            target: redact::target(request.uri()),
            route: route.to_owned(),
            version: request.version(),
            client: extensions.get().copied(),
            user_agent: user_agent.unwrap_or_default().chars().take(USER_AGENT_CHARS_MAX).collect(),
            begun: watch.clock.now(),
            since: watch.clock.instant(),
            status: None,
            code: None,
            bytes: 0,
            is_whole: false,
            trace,
            watch,
        }
    }

    /// The answer with what every answer has, under watch until its end.
    fn answer(mut self, mut response: Response) -> Response {
        let lasted = self.watch.clock.instant().since(self.since);
        let (method, status) = (method_label(&self.method), response.status());
        let labels = [("method", method.to_owned()), ("route", self.route.clone())];
        metrics::histogram!("nagaya_http_request_seconds", &labels).record(lasted.as_secs_f64());
        let [method, route] = labels;
        let labels = [method, route, ("status", status.as_str().to_owned())];
        metrics::counter!("nagaya_http_requests_total", &labels).increment(1);

        let told = response.extensions_mut().remove::<Arc<Told>>();
        if let Some(told) = &told {
            response.headers_mut().remove(header::CONTENT_LENGTH);
            *response.body_mut() = Body::from(told.render(Some(&self.trace_id)));
        }
        let headers = response.headers_mut();
        headers.insert(HeaderName::from_static(REQUEST_ID), self.request_id.clone());
        headers.insert(TRACEPARENT, self.trace.header());
        headers
            .entry(header::X_CONTENT_TYPE_OPTIONS)
            .or_insert(const { HeaderValue::from_static("nosniff") });
        if self.client.is_some_and(|client| client.is_secure()) {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, KEEP_SECURE);
        }
        self.status = Some(status);
        self.code = told.map(|told| told.code);
        response.map(|body| Body::new(Sent { body, seen: self }))
    }

    fn log(&self) {
        let lasted = self.watch.clock.instant().since(self.since);
        let micros = (lasted.as_secs_f64() * 1_000_000.0).round();
        // The level is part of a line's static description, so there is one line for each.
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    target: "access",
                    parent: None,
                    method = %self.method,
                    path = self.target,
                    route = self.route,
                    status = self.status.map(|status| status.as_u16()),
                    code = self.code,
                    bytes = self.bytes,
                    whole = self.is_whole,
                    ms = micros / 1_000.0,
                    version = ?self.version,
                    client = self.client.map(|client| tracing::field::display(client.address())),
                    user_agent = self.user_agent,
                    request_id = self.request_id.to_str().unwrap_or_default(),
                    trace_id = self.trace_id,
                )
            };
        }
        if PROBES.contains(&self.route.as_str()) { line!(debug) } else { line!(info) }
    }

    fn record(&self) {
        let text = |text: &str| Value::Text(text.to_owned());
        let method = method_label(&self.method);
        let mut attributes = vec![
            ("http.request.method", text(method)),
            ("http.route", text(&self.route)),
            ("http.response.body.size", Value::Number(self.bytes)),
            ("url.path", text(self.target.split('?').next().unwrap_or_default())),
            ("user_agent.original", text(&self.user_agent)),
        ];
        let status = self.status.map(|status| Value::Number(status.as_u16().into()));
        attributes.extend(status.map(|status| ("http.response.status_code", status)));
        let address = self.client.map(|client| Value::Text(client.address().to_string()));
        attributes.extend(address.map(|address| ("client.address", address)));
        attributes.extend(self.code.map(|code| ("error.type", text(code))));
        self.watch.traces.record(Span {
            trace: self.trace.clone(),
            name: format!("{method} {}", self.route),
            begun: self.begun,
            lasted: self.watch.clock.instant().since(self.since),
            is_error: self.status.is_some_and(|status| status.is_server_error()),
            attributes,
        });
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        metrics::gauge!("nagaya_http_requests_under_way").decrement(1.0);
        self.log();
        if self.watch.traces.wants(&self.trace) {
            self.record();
        }
    }
}

/// The name that the caller gave, if it is one, or a new one.
fn request_id(headers: &HeaderMap, ids: &Ids) -> HeaderValue {
    let is_good = |value: &&HeaderValue| {
        let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        (1..=REQUEST_ID_CHARS_MAX).contains(&value.len()) && value.as_bytes().iter().all(in_name)
    };
    let given = headers.get(REQUEST_ID).filter(is_good).cloned();
    let made = || HeaderValue::try_from(ids.ordered().to_string()).expect("digits fit a header");
    given.unwrap_or_else(made)
}

/// Methods that anybody may make up would make a number each.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// A handler panicked; what it said is in the log.
struct Panicked;

async fn unless_panicked(answer: impl Future<Output = Response>) -> Result<Response, Panicked> {
    // Nobody sees the future again after it panicked, so it cannot be seen half changed.
    let mut answer = pin!(answer);
    std::future::poll_fn(|context| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        match polled {
            Ok(poll) => poll.map(Ok),
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    })
    .await
}

/// The body of an answer on its way out.
struct Sent {
    body: Body,
    seen: Seen,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Sent { body, seen } = self.get_mut();
        let frame = Pin::new(body).poll_frame(context);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                seen.bytes += u64::try_from(length).unwrap_or(u64::MAX);
            }
            Poll::Ready(None) => seen.is_whole = true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        // The protocol does not ask for the end of a body whose length it knows.
        self.seen.is_whole |= self.body.is_end_stream() || self.seen.method == Method::HEAD;
    }
}

//! What is seen of every request: its ids, its span, one line in the access log, the numbers, and
//! a panic that nobody else sees.
//!
//! - **Invariant:** every answer names its request and its trace; a failure does so in its body.
//! - **Invariant:** a request is logged once, when its last byte left or its reader was gone, also
//!   one that was never answered, and with secrets left out (`redact.rs`).
//! - **Invariant:** a panic in a handler ends one request: 500 to the caller, counted, and logged
//!   by the process's panic hook, within the request's span.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{self, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use base::{Cause, Clock, Ids, Monotonic, Timestamp, Uuid};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use metrics::{Counter, Gauge, Histogram};
use parking_lot::RwLock;
use tower::{Layer, Service};
use tracing::Instrument;

use crate::failure::{Asked, Told};
use crate::limits::{REQUEST_ID_CHARS_MAX, USER_AGENT_CHARS_MAX};
use crate::traces::{Finished, Span, TRACEPARENT, Trace, Traces, Value};
use crate::{Client, Failure, Language, Reader};
use crate::{notice, redact};

/// Names a request, on its way in if the caller has a name for it, and always on its way out.
pub(crate) const REQUEST_ID: &str = "x-request-id";

/// What supervisors ask every few seconds is told to who wants to see everything.
const PROBES: [&str; 3] = ["/livez", "/readyz", "/metrics"];

/// Browsers that came by TLS keep to it for a month: long enough to protect who comes regularly,
/// short enough for a house that gives TLS up.
const KEEP_SECURE: HeaderValue = HeaderValue::from_static("max-age=2592000");

/// The layer that puts what lies behind it under watch. It is a service of its own, because a
/// function as a layer boxes and copies everything behind it for every request.
#[derive(Clone)]
pub(crate) struct Watched {
    watch: Arc<Watch>,
}

impl Watched {
    pub(crate) fn new(clock: &Clock, traces: Traces, ids: Ids) -> Watched {
        let under_way = metrics::gauge!("nagaya_http_requests_under_way");
        Watched { watch: Arc::new(Watch { clock: clock.clone(), traces, ids, under_way }) }
    }
}

struct Watch {
    clock: Clock,
    traces: Traces,
    ids: Ids,
    under_way: Gauge,
}

/// The numbers of one route. They are found once and kept: looking one up costs more than many a
/// request.
#[derive(Default)]
struct Numbers {
    /// A handful: a route has few methods, and answers in few ways.
    known: RwLock<Vec<Number>>,
}

struct Number {
    method: &'static str,
    status: StatusCode,
    seconds: Histogram,
    requests: Counter,
}

/// What is known of a request. Its end is the request's.
struct Seen {
    watch: Arc<Watch>,
    numbers: Arc<Numbers>,
    trace: Trace,
    request_id: HeaderValue,
    method: Method,
    uri: Uri,
    /// The pattern that the path matched.
    route: Option<MatchedPath>,
    version: http::Version,
    client: Option<Client>,
    user_agent: Option<HeaderValue>,
    /// Which languages the caller wishes for.
    languages: Option<HeaderValue>,
    /// Who looks at the answer, if it is to be a page.
    page_for: Option<Reader>,
    begun: Timestamp,
    since: Monotonic,
    /// Nothing while there is no answer; a reader may leave before.
    status: Option<StatusCode>,
    code: Option<&'static str>,
    bytes: u64,
    is_whole: bool,
}

impl<S> Layer<S> for Watched {
    type Service = Watching<S>;

    fn layer(&self, inner: S) -> Watching<S> {
        Watching { watch: self.watch.clone(), numbers: Arc::default(), inner }
    }
}

/// What lies behind the watch: one route.
#[derive(Clone)]
pub(crate) struct Watching<S> {
    watch: Arc<Watch>,
    numbers: Arc<Numbers>,
    inner: S,
}

impl<S, B> Service<Request> for Watching<S>
where
    S: Service<Request, Response = http::Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let seen = Seen::new(self.watch.clone(), self.numbers.clone(), &request);
        request.extensions_mut().insert(seen.trace.clone());
        let span = tracing::info_span!(
            "request",
            trace_id = seen.trace.id(),
            request_id = seen.request_id.to_str().unwrap_or_default(),
            method = %seen.method,
            route = seen.route(),
        );
        let answer = unless_panicked(Cause::during(seen.cause(), self.inner.call(request)));
        let answer = answer.instrument(span);
        Box::pin(async move {
            let response = match answer.await {
                Ok(Ok(response)) => response.map(Body::new),
                Err(Panicked) => {
                    let route = seen.route().to_owned();
                    metrics::counter!("nagaya_http_panics_total", "route" => route).increment(1);
                    Failure::ours("something went wrong on our side").into_response()
                }
            };
            Ok(seen.answer(response))
        })
    }
}

impl Seen {
    fn new(watch: Arc<Watch>, numbers: Arc<Numbers>, request: &Request) -> Seen {
        watch.under_way.increment(1.0);
        let (headers, extensions) = (request.headers(), request.extensions());
        Seen {
            trace: watch.traces.begin(headers),
            request_id: request_id(headers, &watch.ids),
            method: request.method().clone(),
            uri: request.uri().clone(),
            route: extensions.get().cloned(),
            version: request.version(),
            client: extensions.get().copied(),
            user_agent: headers.get(header::USER_AGENT).cloned(),
            languages: headers.get(header::ACCEPT_LANGUAGE).cloned(),
            page_for: notice::wants_page(headers)
                .then(|| Reader::of(request.uri().query().unwrap_or_default(), headers)),
            begun: watch.clock.now(),
            since: watch.clock.instant(),
            status: None,
            code: None,
            bytes: 0,
            is_whole: false,
            numbers,
            watch,
        }
    }

    fn route(&self) -> &str {
        self.route.as_ref().map_or("none", MatchedPath::as_str)
    }

    /// What comes of it is told as its doing. Reading tells nothing, and is spared the writing.
    fn cause(&self) -> Option<Cause> {
        (!self.method.is_safe()).then(|| Cause {
            request: format!("{} {}", method_label(&self.method), self.route()),
            traceparent: self.trace.header().to_str().unwrap_or_default().to_owned(),
            begun: self.begun,
        })
    }

    fn user_agent(&self) -> String {
        let text = self.user_agent.as_ref().and_then(|value| value.to_str().ok());
        text.unwrap_or_default().chars().take(USER_AGENT_CHARS_MAX).collect()
    }

    /// The answer with what every answer has, under watch until its end.
    fn answer(mut self, mut response: Response) -> Response {
        let lasted = self.watch.clock.instant().since(self.since);
        let status = response.status();
        self.numbers.count(method_label(&self.method), self.route(), status, lasted);

        let told = response.extensions_mut().remove::<Arc<Told>>();
        if let Some(told) = &told {
            response.headers_mut().remove(header::CONTENT_LENGTH);
            let (path, language) = (Some(self.uri.path()), Language::wished(&self.languages));
            let asked = Asked { trace_id: Some(&self.trace.id()), path, language };
            match self.page_for {
                Some(reader) => notice::show(&mut response, told, &asked, reader),
                None => *response.body_mut() = Body::from(told.render(&asked)),
            }
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
                    path = redact::target(&self.uri),
                    route = self.route(),
                    status = self.status.map(|status| status.as_u16()),
                    code = self.code,
                    bytes = self.bytes,
                    whole = self.is_whole,
                    ms = micros / 1_000.0,
                    version = ?self.version,
                    client = self.client.map(|client| tracing::field::display(client.address())),
                    user_agent = self.user_agent(),
                    request_id = self.request_id.to_str().unwrap_or_default(),
                    trace_id = self.trace.id(),
                )
            };
        }
        if PROBES.contains(&self.route()) { line!(debug) } else { line!(info) }
    }

    fn record(&self) {
        let text = |text: &str| Value::Text(text.to_owned());
        let method = method_label(&self.method);
        let mut attributes = vec![
            ("http.request.method", text(method)),
            ("http.route", text(self.route())),
            ("http.response.body.size", Value::Number(self.bytes)),
            ("url.path", text(self.uri.path())),
            ("user_agent.original", Value::Text(self.user_agent())),
        ];
        let status = self.status.map(|status| Value::Number(status.as_u16().into()));
        attributes.extend(status.map(|status| ("http.response.status_code", status)));
        let address = self.client.map(|client| Value::Text(client.address().to_string()));
        attributes.extend(address.map(|address| ("client.address", address)));
        attributes.extend(self.code.map(|code| ("error.type", text(code))));
        self.watch.traces.record(Span {
            trace: self.trace.clone(),
            name: format!("{method} {}", self.route()),
            begun: self.begun,
            lasted: self.watch.clock.instant().since(self.since),
            is_error: self.status.is_some_and(|status| status.is_server_error()),
            attributes,
        });
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.watch.under_way.decrement(1.0);
        self.log();
        self.watch.traces.tell(|| Finished {
            method: self.method.to_string(),
            path: redact::target(&self.uri),
            status: self.status.map(|status| status.as_u16()),
            bytes: self.bytes,
            lasted: self.watch.clock.instant().since(self.since),
            client: self.client.map(|client| client.address()),
        });
        if self.watch.traces.wants(&self.trace) {
            self.record();
        }
    }
}

impl Numbers {
    fn count(&self, method: &'static str, route: &str, status: StatusCode, lasted: Duration) {
        let is_asked = |number: &&Number| number.method == method && number.status == status;
        if let Some(number) = self.known.read().iter().find(is_asked) {
            return number.count(lasted);
        }
        let labels = [("method", method.to_owned()), ("route", route.to_owned())];
        let seconds = metrics::histogram!("nagaya_http_request_seconds", &labels);
        let [method_and, route] = labels;
        let labels = [method_and, route, ("status", status.as_str().to_owned())];
        let requests = metrics::counter!("nagaya_http_requests_total", &labels);
        let number = Number { method, status, seconds, requests };
        number.count(lasted);
        self.known.write().push(number);
    }
}

impl Number {
    fn count(&self, lasted: Duration) {
        self.seconds.record(lasted.as_secs_f64());
        self.requests.increment(1);
    }
}

/// The name that the caller gave, if it is one, or a new one.
fn request_id(headers: &HeaderMap, ids: &Ids) -> HeaderValue {
    let is_good = |value: &&HeaderValue| {
        let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        (1..=REQUEST_ID_CHARS_MAX).contains(&value.len()) && value.as_bytes().iter().all(in_name)
    };
    let given = headers.get(REQUEST_ID).filter(is_good).cloned();
    let made = || {
        let mut digits = Uuid::encode_buffer();
        let made = ids.ordered().hyphenated().encode_lower(&mut digits);
        HeaderValue::from_str(made).expect("digits fit a header")
    };
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

async fn unless_panicked<T>(answer: impl Future<Output = T>) -> Result<T, Panicked> {
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

//! What every request passes on its way in: one host, a bounded body, a bounded time, and a clear
//! word when nothing stands at its path.
//!
//! - **Invariant:** no handler reads more bytes of a body than its route allows, whatever length
//!   the request declares, and a body that declares too much is not read at all.
//! - **Invariant:** all bodies together hold no more than their bound (`bodies.rs`).
//! - **Invariant:** where connections or requests are scarce, only rooms that the house needs to be
//!   looked after answer.
//! - **Invariant:** an answer begins within its route's time. What takes long is told apart: a
//!   body that does not arrive is the caller's doing (408), an answer that does not begin is ours
//!   (503).

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use base::Clock;
use bytes::{Buf, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tower::{Layer, Service};

use crate::addresses::Holder;
use crate::bodies::{Bodies, Charge};
use crate::server::Scarcity;
use crate::{Failure, Options, hosts};

/// What one route allows where it differs from the options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Bytes of a body.
    pub body_bytes_max: Option<usize>,
    /// Time until the answer begins: longer for a long poll, shorter for what must be quick.
    pub answer_within: Option<Duration>,
}

/// The route with bounds of its own.
pub fn bounded<S: Clone + Send + Sync + 'static>(
    route: MethodRouter<S>,
    bounds: Bounds,
) -> MethodRouter<S> {
    route.layer(middleware::from_fn_with_state(bounds, rebound))
}

/// Notes that the request's caller has proved who it is, by a key, a token or a session. Its body
/// no longer counts among those of strangers. A room that checks credentials itself calls this
/// before it reads the body; the layers of this crate do so too.
pub fn set_known(extensions: &Extensions) {
    if let Some(allowance) = extensions.get::<Arc<Allowance>>() {
        allowance.charge.set_known();
    }
}

/// The bounds of routes that have none of their own.
#[derive(Clone)]
struct Usual {
    bodies: Arc<Bodies>,
    clock: Clock,
    body_bytes_max: usize,
    answer_within: Duration,
}

/// What holds for one request. The outer guard sets it, a route's own bounds change it.
struct Allowance {
    clock: Clock,
    body_bytes_max: AtomicUsize,
    /// The route keeps its own time.
    is_timed: AtomicBool,
    body_is_whole: AtomicBool,
    /// More of the body was there than is allowed.
    is_exceeded: AtomicBool,
    /// There was no room for the body.
    is_crowded: AtomicBool,
    charge: Charge,
}

/// The layer that bounds what lies behind it. A service of its own for the reason that
/// [`crate::watch::Watched`] is one.
#[derive(Clone)]
pub(crate) struct Guarded {
    usual: Usual,
    is_essential: bool,
}

impl Guarded {
    pub(crate) fn new(options: &Options, clock: &Clock) -> Guarded {
        let usual = Usual {
            bodies: Bodies::new(options),
            clock: clock.clone(),
            body_bytes_max: options.body_bytes_max,
            answer_within: Duration::from_secs(options.request_timeout_seconds),
        };
        Guarded { usual, is_essential: false }
    }

    /// The same bounds for a room that answers also where connections or requests are scarce.
    pub(crate) fn essential(&self, is_essential: bool) -> Guarded {
        Guarded { is_essential, ..self.clone() }
    }
}

impl<S> Layer<S> for Guarded {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard { guarded: self.clone(), inner }
    }
}

/// What lies behind the bounds.
#[derive(Clone)]
pub(crate) struct Guard<S> {
    guarded: Guarded,
    inner: S,
}

impl Guarded {
    /// Whether a request is answered at all.
    fn admit(&self, request: &Request) -> Result<(), Failure> {
        hosts::check(request.version(), request.uri(), request.headers())?;
        match request.extensions().get::<Scarcity>() {
            Some(scarcity) if !self.is_essential => Err(scarcity.failure()),
            Some(_) | None => Ok(()),
        }
    }
}

impl<S> Service<Request> for Guard<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        if let Err(failure) = self.guarded.admit(&request) {
            return Box::pin(std::future::ready(Ok(failure.into_response())));
        }
        let Usual { bodies, clock, body_bytes_max, answer_within } = self.guarded.usual.clone();
        let holder = request.extensions().get::<Arc<Holder>>().cloned();
        let allowance = Arc::new(Allowance {
            charge: Charge::new(&bodies, holder),
            clock: clock.clone(),
            body_bytes_max: body_bytes_max.into(),
            is_timed: false.into(),
            body_is_whole: request.body().is_end_stream().into(),
            is_exceeded: false.into(),
            is_crowded: false.into(),
        });
        request.extensions_mut().insert(allowance.clone());
        let declared = declared_length(request.headers()).unwrap_or(0);
        let request = request.map(|body| {
            Body::new(Received { body, taken: 0, declared, allowance: allowance.clone() })
        });
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut answer = pin!(answer);
            let response = match clock.timeout(answer_within, answer.as_mut()).await {
                Ok(response) => response?,
                Err(_) if allowance.is_timed.load(Ordering::Relaxed) => answer.await?,
                Err(_) => return Ok(allowance.too_late(answer_within).into_response()),
            };
            // The bound is met inside a handler's extractor, which refuses in words of its own.
            let is_refused = response.status().is_client_error();
            if is_refused && allowance.is_exceeded.load(Ordering::Relaxed) {
                return Ok(allowance.body_too_large().into_response());
            }
            if is_refused && allowance.is_crowded.load(Ordering::Relaxed) {
                return Ok(allowance.charge.full().into_response());
            }
            Ok(response)
        })
    }
}

async fn rebound(State(bounds): State<Bounds>, request: Request, next: Next) -> Response {
    let Some(allowance) = request.extensions().get::<Arc<Allowance>>().cloned() else {
        // Without the guard there is nothing to change.
        return next.run(request).await;
    };
    if let Some(bytes) = bounds.body_bytes_max {
        allowance.body_bytes_max.store(bytes, Ordering::Relaxed);
    }
    let Some(within) = bounds.answer_within else { return next.run(request).await };
    allowance.is_timed.store(true, Ordering::Relaxed);
    match allowance.clock.timeout(within, next.run(request)).await {
        Ok(response) => response,
        Err(_) => allowance.too_late(within).into_response(),
    }
}

impl Allowance {
    fn body_too_large(&self) -> Failure {
        let bytes_max = self.body_bytes_max.load(Ordering::Relaxed);
        let message = format!("the body has more than {bytes_max} bytes");
        Failure::body_too_large(message, bytes_max)
    }

    fn too_late(&self, within: Duration) -> Failure {
        if self.body_is_whole.load(Ordering::Relaxed) {
            let message = format!("there was no answer within {within:?}");
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", message)
                .in_japanese(format!("{}秒以内に応答できませんでした", within.as_secs()))
        } else {
            Failure::body_timeout(within)
        }
    }
}

/// A request's body, as far as it is allowed.
struct Received {
    body: Body,
    taken: usize,
    declared: usize,
    allowance: Arc<Allowance>,
}

impl Received {
    fn exceeded(&self) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.allowance.is_exceeded.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new(self.allowance.body_too_large()))))
    }
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let received = self.get_mut();
        let bytes_max = received.allowance.body_bytes_max.load(Ordering::Relaxed);
        if received.declared > bytes_max {
            return received.exceeded();
        }
        let frame = match ready!(Pin::new(&mut received.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(cause)) => return Poll::Ready(Some(Err(cause))),
            None => {
                received.allowance.body_is_whole.store(true, Ordering::Relaxed);
                return Poll::Ready(None);
            }
        };
        let length = frame.data_ref().map_or(0, Buf::remaining);
        received.taken += length;
        if received.taken > bytes_max {
            return received.exceeded();
        }
        if let Err(failure) = received.allowance.charge.take(length) {
            received.allowance.is_crowded.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Err(axum::Error::new(failure))));
        }
        if received.body.is_end_stream() {
            received.allowance.body_is_whole.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pub(crate) async fn not_found(uri: Uri) -> Failure {
    let message = format!("there is nothing at `{}`", uri.path());
    Failure::new(StatusCode::NOT_FOUND, "not_found", message)
        .in_japanese(format!("「{}」には何もありません", uri.path()))
}

pub(crate) async fn method_not_allowed(method: Method, uri: Uri) -> Failure {
    let message = format!("`{}` does not take {method}", uri.path());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        .in_japanese(format!("「{}」では {method} は使えません", uri.path()))
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

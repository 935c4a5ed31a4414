//! What every request passes on its way in: a bounded body, a bounded time, and a clear word when
//! nothing stands at its path.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use base::Clock;
use http_body_util::Limited;

use crate::{Failure, Options};

#[derive(Clone)]
struct Limits {
    clock: Clock,
    body_bytes_max: usize,
    request_timeout: Duration,
}

/// The routes behind their limits.
pub(crate) fn guarded(routes: Router, options: &Options, clock: &Clock) -> Router {
    let limits = Limits {
        clock: clock.clone(),
        body_bytes_max: options.body_bytes_max,
        request_timeout: Duration::from_secs(options.request_timeout_seconds),
    };
    routes
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        // The library's own limit would be a second bound beside ours.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(limits, guard))
}

async fn guard(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    if declared_length(request.headers()).is_some_and(|length| length > limits.body_bytes_max) {
        return body_too_large(&limits).into_response();
    }
    let request = request.map(|body| Body::new(Limited::new(body, limits.body_bytes_max)));
    match limits.clock.timeout(limits.request_timeout, next.run(request)).await {
        Ok(response) if is_bare_too_large(&response) => body_too_large(&limits).into_response(),
        Ok(response) => response,
        Err(elapsed) => {
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", elapsed.to_string())
                .into_response()
        }
    }
}

async fn not_found(uri: Uri) -> Failure {
    let message = format!("there is nothing at `{}`", uri.path());
    Failure::new(StatusCode::NOT_FOUND, "not_found", message)
}

async fn method_not_allowed(method: Method, uri: Uri) -> Failure {
    let message = format!("`{}` does not take {method}", uri.path());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
}

fn body_too_large(limits: &Limits) -> Failure {
    let message = format!("the body has more than {} bytes", limits.body_bytes_max);
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A body without a declared length meets its bound inside a handler's extractor, whose answer is
/// plain text.
fn is_bare_too_large(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    response.status() == StatusCode::PAYLOAD_TOO_LARGE
        && content_type.is_none_or(|value| value.as_bytes().starts_with(b"text/plain"))
}

//! Streams end with the session that opened them: whoever was signed out hears nothing more.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};

/// Streams of events; other answers end by themselves.
const EVENTS: &[u8] = b"text/event-stream";

/// The answer, which ends when `ended` does if it would go on for ever.
pub(super) fn cut(
    response: Response,
    ended: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    if !kind.is_some_and(|kind| kind.starts_with(EVENTS)) {
        return response;
    }
    response.map(|body| Body::new(Cut { body, ended: Some(Box::pin(ended)) }))
}

struct Cut {
    body: Body,
    /// Nothing once it has.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl HttpBody for Cut {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Cut { body, ended } = self.get_mut();
        let Some(waiting) = ended else { return Poll::Ready(None) };
        if waiting.as_mut().poll(context).is_ready() {
            *ended = None;
            return Poll::Ready(None);
        }
        Pin::new(body).poll_frame(context)
    }
}

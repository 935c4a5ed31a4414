//! A listener without rooms: one function takes whole requests and gives whole answers. What every
//! connection keeps to (its place, its pace, TLS, draining) holds here as well.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use base::Clock;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use crate::Failure;

/// An answer, later.
pub type Answered = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

/// One function that answers all requests of a listener.
#[derive(Clone)]
pub struct Bare {
    /// The function.
    pub answer: Arc<dyn Fn(Request<Bytes>) -> Answered + Send + Sync>,
    /// The most bytes of a request's body.
    pub body_bytes_max: usize,
}

/// It, and how long a request may take to arrive.
#[derive(Clone)]
pub(super) struct Bared {
    pub(super) bare: Bare,
    pub(super) clock: Clock,
    pub(super) within: Duration,
}

impl Bared {
    pub(super) async fn answer(self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, self.bare.body_bytes_max).collect();
        match self.clock.timeout(self.within, body).await {
            Ok(Ok(body)) => {
                let request = Request::from_parts(head, body.to_bytes());
                (self.bare.answer)(request).await.map(Body::from)
            }
            Ok(Err(_)) => {
                let max = self.bare.body_bytes_max;
                let message = format!("the body is broken or has more than {max} bytes");
                Failure::body_too_large(message, max).into_response()
            }
            Err(_) => Failure::body_timeout(self.within).into_response(),
        }
    }
}

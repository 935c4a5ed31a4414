//! A listener without rooms: one function sees the head of a request, another takes the whole
//! request and gives a whole answer. What every connection keeps to (its place, its pace, TLS,
//! draining) holds here as well.
//!
//! - **Invariant:** no byte of a body is read before its head was let in, and no more bytes of all
//!   bodies are held than `http.known_bytes_max`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Request, Response};
use base::Clock;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Incoming};

use super::places::Scarcity;
use crate::bodies::{Bodies, Charge};
use crate::{Failure, hosts};

/// An answer, later.
pub type Answered = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

/// What a look at the head of a request comes to.
#[derive(Debug)]
pub enum Head {
    /// The body is read, up to this many bytes.
    Read(usize),
    /// The body is not read; the request is answered as if it had none.
    Ignore,
    /// This is the answer.
    Answer(Response<Bytes>),
}

/// How a listener words what it refuses by itself.
pub type Refuse = dyn Fn(&Failure) -> Response<Bytes> + Send + Sync;

/// The functions that answer all requests of a listener.
#[derive(Clone)]
pub struct Bare {
    /// Looks at a head, before the body is read.
    pub admit: Arc<dyn Fn(&Parts) -> Head + Send + Sync>,
    /// Answers a request.
    pub answer: Arc<dyn Fn(Request<Bytes>) -> Answered + Send + Sync>,
    /// The answer to a request that never reached the other ones' judgement.
    pub refuse: Arc<Refuse>,
}

/// They, and how long a request may take to arrive.
#[derive(Clone)]
pub(super) struct Bared {
    pub(super) bare: Bare,
    pub(super) bodies: Arc<Bodies>,
    pub(super) clock: Clock,
    pub(super) within: Duration,
}

impl Bared {
    pub(super) async fn answer(self, request: Request<Incoming>) -> Response<Body> {
        let answered = match self.receive(request).await {
            Ok((request, _charge)) => (self.bare.answer)(request).await,
            Err(Refused::Head(response)) => response,
            Err(Refused::Failure(failure)) => (self.bare.refuse)(&failure),
        };
        answered.map(Body::from)
    }

    /// The whole request, and what it holds until it is answered.
    async fn receive(
        &self,
        request: Request<Incoming>,
    ) -> Result<(Request<Bytes>, Charge), Refused> {
        let (head, body) = request.into_parts();
        hosts::check(head.version, &head.uri, &head.headers)?;
        if let Some(scarcity) = head.extensions.get::<Scarcity>() {
            return Err(scarcity.failure().into());
        }
        let charge = Charge::new(&self.bodies, None);
        charge.set_known();
        let bytes = match (self.bare.admit)(&head) {
            Head::Answer(response) => return Err(Refused::Head(response)),
            Head::Ignore => Bytes::new(),
            Head::Read(bytes_max) => {
                let read = read(body, bytes_max, &charge);
                let read = self.clock.timeout(self.within, read).await;
                read.map_err(|_| Failure::body_timeout(self.within))??
            }
        };
        Ok((Request::from_parts(head, bytes), charge))
    }
}

/// Why a request was not passed on.
enum Refused {
    Head(Response<Bytes>),
    Failure(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused::Failure(failure)
    }
}

async fn read(mut body: Incoming, bytes_max: usize, charge: &Charge) -> Result<Bytes, Failure> {
    let mut whole = BytesMut::new();
    let too_large = || {
        let message = format!("the body is broken or has more than {bytes_max} bytes");
        Failure::body_too_large(message, bytes_max)
    };
    if body.size_hint().lower() > u64::try_from(bytes_max).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Err(too_large()) };
        let Ok(bytes) = frame.into_data() else { continue };
        if bytes.len() > bytes_max - whole.len() {
            return Err(too_large());
        }
        charge.take(bytes.len())?;
        // Most bodies are one frame, which needs no copy.
        if whole.is_empty() && body.is_end_stream() {
            return Ok(bytes);
        }
        whole.extend_from_slice(&bytes);
    }
    Ok(whole.freeze())
}

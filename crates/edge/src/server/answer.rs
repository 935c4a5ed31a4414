//! The body of an answer on its way to the protocol library.
//!
//! The library waits for room in the peer's HTTP/2 window before it asks the body for more, and a
//! peer may keep that window closed while its connection looks alive. So an answer leaves in parts,
//! and [`until_stalled`] ends a stream whose peer does not take the part that is out.
//!
//! - **Invariant:** of an HTTP/2 answer, the library holds at most [`HTTP2_PART_BYTES_MAX`] that the
//!   peer has not taken. The request counts for its address until the last part is out.
//! - **Invariant:** a peer that does not take a part within the write time loses the stream.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::wire::{Patience, UnderWay};
use crate::addresses::Requested;
use crate::limits::HTTP2_PART_BYTES_MAX;

const CLOSE: HeaderValue = HeaderValue::from_static("close");

tokio::task_local! {
    /// The parts that this HTTP/2 stream has given to the library.
    static PARTS: Cell<Parts>;
}

#[derive(Clone, Copy, Default)]
struct Parts {
    given: u64,
    /// Whether the library has the last one and has not asked for the next.
    is_one_out: bool,
}

/// The body of an answer. Its request is under way until it is dropped.
pub(super) struct Answer {
    body: Body,
    /// What is left of a frame of which a part is out. `None` where answers leave whole.
    rest: Option<Bytes>,
    _under_way: UnderWay,
    _requested: Option<Requested>,
}

impl Answer {
    /// The answer, in parts if it `is_http2`.
    pub(super) fn of(
        response: Response<Body>,
        under_way: UnderWay,
        requested: Option<Requested>,
        is_http2: bool,
    ) -> Response<Answer> {
        let rest = is_http2.then(Bytes::new);
        response.map(|body| Answer { body, rest, _under_way: under_way, _requested: requested })
    }
}

/// Asks the peer to send its next request on another connection.
pub(super) fn close_after<B>(response: &mut Response<B>) {
    response.headers_mut().insert(header::CONNECTION, CLOSE);
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let answer = self.get_mut();
        let Some(rest) = &mut answer.rest else {
            return Pin::new(&mut answer.body).poll_frame(context);
        };
        note(|parts| parts.is_one_out = false);
        if rest.is_empty() {
            match ready!(Pin::new(&mut answer.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => *rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                ended => return Poll::Ready(ended),
            }
        }
        let part = rest.split_to(rest.len().min(HTTP2_PART_BYTES_MAX));
        note(|parts| *parts = Parts { given: parts.given + 1, is_one_out: true });
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.as_ref().is_none_or(Bytes::is_empty) && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.as_ref().map_or(0, |rest| u64::try_from(rest.len()).unwrap_or(0));
        let of_body = self.body.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(of_body.lower() + rest);
        hint
    }
}

/// Changes what this stream knows of its parts. Only an HTTP/2 stream knows any.
fn note(change: impl FnOnce(&mut Parts)) {
    let _is_stream = PARTS.try_with(|parts| {
        let mut changed = parts.get();
        change(&mut changed);
        parts.set(changed);
    });
}

/// Runs an HTTP/2 stream until it ends, or until its peer has not taken a part within the write
/// time. The library resets a stream that is dropped.
pub(super) async fn until_stalled(stream: impl Future<Output = ()>, patience: Patience) {
    let watched = async {
        let mut stream = pin!(stream);
        let mut wait = None;
        std::future::poll_fn(|context| {
            if stream.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            let parts = PARTS.with(Cell::get);
            if !parts.is_one_out {
                wait = None;
                return Poll::Pending;
            }
            // Each part has the whole time.
            let (_, wait) = match wait.take() {
                Some((of, armed)) if of == parts.given => wait.insert((of, armed)),
                _ => wait.insert((parts.given, Box::pin(patience.clock.sleep(patience.write)))),
            };
            ready!(wait.as_mut().poll(context));
            metrics::counter!("nagaya_http_stalled_writes_total").increment(1);
            Poll::Ready(())
        })
        .await;
    };
    PARTS.scope(Cell::default(), watched).await;
}

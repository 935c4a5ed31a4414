//! One connection's bytes, kept to a pace.
//!
//! - **Invariant:** while no request is under way, the next head is whole within the header time,
//!   however many bytes trickle in. A head that was begun is answered 408, a connection that was
//!   merely idle is closed without a word.
//! - **Invariant:** a peer that takes nothing of what is sent to it within the write time loses
//!   its connection, also when it looks alive.
//! - **Invariant:** a connection holds its place among the connections until its last byte, also
//!   after an upgrade; from then on its new owner keeps the reading time.
//! - **Invariant:** what the protocol library says by itself to a head that it cannot read leaves
//!   as problem+json like every other failure.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use axum::http::StatusCode;
use base::Clock;
use bytes::{Buf, Bytes};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::carrier::Carrier;
use super::places::Place;
use crate::Failure;
use crate::addresses::Requested;
use crate::failure::PROBLEM;
use crate::watch::REQUEST_ID;

/// How an HTTP/2 connection without TLS begins.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The most bytes of an answer that the protocol library gives by itself: status line, length,
/// date. Ours are all longer.
const BARE_ANSWER_BYTES_MAX: usize = 192;

/// How such an answer says that it has no body.
const NO_BODY: &[u8] = b"\r\ncontent-length: 0\r\n";

/// A wait of the house's clock.
type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How long a peer may take.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    pub(super) clock: Clock,
    pub(super) head: Duration,
    pub(super) write: Duration,
    /// For the answer to a head that is longer.
    pub(super) head_bytes_max: usize,
}

/// A connection, as the protocol reads and writes it.
pub(crate) struct Wire {
    carrier: Carrier,
    patience: Patience,
    pace: Arc<Pace>,
    /// Read to tell the protocol's version, and not yet given to the protocol.
    unread: Bytes,
    /// The turn of the head that the wait is for.
    head_wait: Option<(u64, Wait)>,
    /// The turn in which the last byte came while no request was under way.
    heard_in: Option<u64>,
    write_wait: Option<Wait>,
    /// What is sent instead of a bare answer, and how long that one was.
    instead: Option<(Bytes, usize)>,
    is_http2: bool,
    /// The head took too long: nothing more is read.
    is_over: bool,
    /// The peer took nothing for too long: nothing more is written.
    is_stalled: bool,
    _place: Place,
}

/// Whether a request is under way. Shared by a connection's bytes and its requests.
#[derive(Debug, Default)]
pub(super) struct Pace {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    under_way: usize,
    /// Requests begun so far: the turn of the next head.
    turn: u64,
    is_upgraded: bool,
    /// The request that upgraded: open until the connection ends.
    upgraded: Option<Requested>,
    reader: Option<Waker>,
}

/// A request from its head to the last byte of its answer.
#[derive(Debug)]
pub(super) struct UnderWay {
    pace: Arc<Pace>,
}

impl Wire {
    pub(super) fn new(carrier: Carrier, patience: Patience, place: Place) -> Wire {
        let wait: Wait = Box::pin(patience.clock.sleep(patience.head));
        Wire {
            carrier,
            patience,
            pace: Arc::default(),
            unread: Bytes::new(),
            head_wait: Some((0, wait)),
            heard_in: None,
            write_wait: None,
            instead: None,
            is_http2: false,
            is_over: false,
            is_stalled: false,
            _place: place,
        }
    }

    /// The socket below, for what only the system can set.
    pub(crate) fn socket(&self) -> &TcpStream {
        self.carrier.socket()
    }

    pub(super) fn pace(&self) -> Arc<Pace> {
        self.pace.clone()
    }

    /// Which protocol is spoken: the handshake has agreed on it, or the first bytes tell.
    pub(super) async fn find_http2(&mut self) -> io::Result<bool> {
        self.is_http2 = match self.carrier.find_agreed_http2() {
            Some(is_http2) => is_http2,
            None => self.begins_with_preface().await?,
        };
        Ok(self.is_http2)
    }

    async fn begins_with_preface(&mut self) -> io::Result<bool> {
        let mut bytes = [0; HTTP2_PREFACE.len()];
        let mut buffer = ReadBuf::new(&mut bytes);
        while HTTP2_PREFACE.starts_with(buffer.filled()) && buffer.remaining() > 0 {
            let before = buffer.filled().len();
            std::future::poll_fn(|context| Pin::new(&mut *self).poll_read(context, &mut buffer))
                .await?;
            if buffer.filled().len() == before {
                break;
            }
        }
        self.unread = Bytes::copy_from_slice(buffer.filled());
        Ok(self.unread == HTTP2_PREFACE)
    }

    /// Ready when the head has taken too long.
    fn poll_head_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(turn) = self.pace.find_turn(context.waker()) else {
            self.head_wait = None;
            return Poll::Pending;
        };
        let wait = match self.head_wait.take() {
            Some((armed, wait)) if armed == turn => wait,
            Some(_) | None => Box::pin(self.patience.clock.sleep(self.patience.head)),
        };
        let (_, wait) = self.head_wait.insert((turn, wait));
        ready!(wait.as_mut().poll(context));
        self.is_over = true;
        if self.heard_in == Some(turn) && !self.is_http2 {
            let answer = bare_problem(&head_timeout(self.patience.head));
            // The peer may be gone; whoever still reads is told.
            let _sent = Pin::new(&mut self.carrier).poll_write(context, &answer);
            let _flushed = Pin::new(&mut self.carrier).poll_flush(context);
        }
        Poll::Ready(())
    }

    /// Passes on what writing came to, unless it has come to nothing for too long.
    fn paced<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_wait = None;
            return written;
        }
        if !self.is_stalled {
            let patience = &self.patience;
            let wait = || -> Wait { Box::pin(patience.clock.sleep(patience.write)) };
            ready!(self.write_wait.get_or_insert_with(wait).as_mut().poll(context));
            self.is_stalled = true;
            metrics::counter!("nagaya_http_stalled_writes_total").increment(1);
        }
        let message = format!("the peer took nothing for {:?}", self.patience.write);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
    }

    /// Sends a problem where the protocol would send a bare answer. Ready with the length of what
    /// it stands for; `None` if the bytes may pass as they are.
    fn poll_instead(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<Option<usize>>> {
        if self.instead.is_none() && !self.is_http2 {
            let failure = find_bare_failure(bytes, self.patience.head_bytes_max)
                .filter(|_| !self.pace.is_upgraded());
            self.instead = failure.map(|failure| (bare_problem(&failure), bytes.len()));
        }
        loop {
            let Some((left, stands_for)) = &mut self.instead else { return Poll::Ready(Ok(None)) };
            if left.is_empty() {
                let stands_for = *stands_for;
                self.instead = None;
                return Poll::Ready(Ok(Some(stands_for)));
            }
            let written = Pin::new(&mut self.carrier).poll_write(context, left);
            if let Poll::Ready(Ok(count)) = &written {
                left.advance(*count);
            }
            ready!(self.paced(context, written))?;
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        if !wire.unread.is_empty() {
            let count = wire.unread.len().min(buffer.remaining());
            buffer.put_slice(&wire.unread.split_to(count));
            return Poll::Ready(Ok(()));
        }
        if wire.is_over {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut wire.carrier).poll_read(context, buffer);
        if buffer.filled().len() > before {
            wire.heard_in = wire.pace.find_turn(context.waker());
        }
        if read.is_pending() {
            // To the protocol it is as if the peer had closed.
            ready!(wire.poll_head_wait(context));
            return Poll::Ready(Ok(()));
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        if let Some(count) = ready!(wire.poll_instead(context, bytes))? {
            return Poll::Ready(Ok(count));
        }
        let written = Pin::new(&mut wire.carrier).poll_write(context, bytes);
        wire.paced(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        let first = slices.iter().find(|slice| !slice.is_empty());
        if let Some(count) = ready!(wire.poll_instead(context, first.map_or(&[], |slice| slice)))? {
            return Poll::Ready(Ok(count));
        }
        let written = Pin::new(&mut wire.carrier).poll_write_vectored(context, slices);
        wire.paced(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.carrier.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let flushed = Pin::new(&mut wire.carrier).poll_flush(context);
        wire.paced(context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let closed = Pin::new(&mut wire.carrier).poll_shutdown(context);
        wire.paced(context, closed)
    }
}

impl Pace {
    pub(super) fn begin(self: &Arc<Pace>) -> UnderWay {
        let mut state = self.state.lock();
        state.under_way += 1;
        state.turn += 1;
        UnderWay { pace: self.clone() }
    }

    /// The protocol is over; whoever took the connection keeps its own time.
    pub(super) fn set_upgraded(&self, request: Option<Requested>) {
        let mut state = self.state.lock();
        state.is_upgraded = true;
        state.upgraded = request;
    }

    /// Whether no request is under way, nor will be after an upgrade.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.under_way == 0 && !state.is_upgraded
    }

    fn is_upgraded(&self) -> bool {
        self.state.lock().is_upgraded
    }

    /// The turn of the head that is waited for; `None` while a request is under way, whose end
    /// wakes the reader.
    fn find_turn(&self, reader: &Waker) -> Option<u64> {
        let mut state = self.state.lock();
        if state.is_upgraded {
            return None;
        }
        if state.under_way > 0 {
            state.reader = Some(reader.clone());
            return None;
        }
        Some(state.turn)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.pace.state.lock();
        state.under_way -= 1;
        let reader = if state.under_way == 0 { state.reader.take() } else { None };
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

/// What a bare answer of the protocol library stands for. It has no body; ours have one, or carry the
/// request's id.
fn find_bare_failure(bytes: &[u8], head_bytes_max: usize) -> Option<Failure> {
    let is_bare = bytes.len() <= BARE_ANSWER_BYTES_MAX
        && bytes.starts_with(b"HTTP/1.")
        && bytes.ends_with(b"\r\n\r\n")
        && contains(bytes, NO_BODY)
        && !contains(bytes, REQUEST_ID.as_bytes());
    let status = bytes.get(9..12).filter(|_| is_bare)?;
    let (code, message) = match status {
        b"400" => ("malformed_request", "the request is not HTTP".to_owned()),
        b"414" => ("uri_too_long", "the request's target is too long".to_owned()),
        b"431" => {
            ("head_too_large", format!("the request's head has more than {head_bytes_max} bytes"))
        }
        _ => return None,
    };
    Some(Failure::new(StatusCode::from_bytes(status).ok()?, code, message))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn head_timeout(within: Duration) -> Failure {
    let message = format!("the request's head did not arrive within {within:?}");
    Failure::new(StatusCode::REQUEST_TIMEOUT, "head_timeout", message)
}

/// A whole answer, for when there is no request to answer. As there is none to log either, it is
/// counted.
fn bare_problem(failure: &Failure) -> Bytes {
    metrics::counter!("nagaya_http_refused_heads_total", "code" => failure.code()).increment(1);
    let status = failure.status();
    let body = failure.problem(None);
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: {PROBLEM}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or_default(),
        body.len(),
    );
    [head.as_bytes(), &body].concat().into()
}

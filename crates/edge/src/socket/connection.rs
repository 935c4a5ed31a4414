//! The life of one connection.
//!
//! It is open until either side closes, the reader is too slow or silent, or the house drains.
//! Then it says why in a close frame, ends its side, and waits a moment for the other, so that
//! the word arrives.
//!
//! Invariants:
//! - frames leave whole: what the protocol library answers and what the hub pushes meet in one
//!   buffer at the borders of frames;
//! - nothing is read while what was written before is not taken: a client that does not listen is
//!   not heard;
//! - nothing follows a close frame: after the client's, only the answer to it leaves, and what waits
//!   is dropped;
//! - silence is measured on the house's clock, and bytes in either direction break it;
//! - what is pushed waits for one turn of the scheduler: whoever else is ready to push goes first,
//!   and one write takes it all. Where nobody is, the turn is over at once;
//! - a connection of which much waits writes until the system takes no more, and one that is flooded
//!   with messages lets others run: so a reader that drains its socket keeps up with publishers that
//!   never wait, also where all share one thread.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::Monotonic;
use bytes::Bytes;
use hub::{Closed, Deliveries, Waiting};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tungstenite::error::{CapacityError, ProtocolError};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, WebSocketContext};

use super::outlet::Outlet;
use super::{Close, Message, Visit};
use crate::Draining;
use crate::streams::Shared;

/// The buffer in which messages arrive. Most fit; a longer one makes its own room.
const READ_BUFFER_BYTES: usize = 1_024;

/// How long the other side has to end its side after we ended ours.
const LINGER: Duration = Duration::from_secs(5);

/// What is thrown away while lingering, at a time.
const DISCARD_BYTES: usize = 4_096;

/// Messages that a connection takes in one turn of the scheduler. Each may be a push, so this is a
/// part of what a reader's queue holds: readers have their turns between those of publishers.
const MESSAGES_PER_TURN: usize = 256;

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;
type Work = Pin<Box<dyn Future<Output = Result<(), Close>> + Send>>;

pub(super) struct Connection<I, V> {
    io: I,
    protocol: WebSocketContext,
    outlet: Outlet,
    deliveries: Deliveries,
    /// Whether what waits has had its turn to gather.
    has_gathered: bool,
    visit: Arc<V>,
    /// The message that is being answered.
    work: Option<Work>,
    streams: Arc<Shared>,
    heard: Monotonic,
    /// The next look at how long it has been silent.
    tick: Wait,
    /// Until the house drains, and then until it is this connection's turn.
    drain: Wait,
    is_draining: bool,
}

/// How a connection ends.
enum End {
    /// With a word.
    Close(Close),
    /// The protocol library has answered the other side's word.
    Answered,
    /// There is nobody to say a word to.
    Gone,
}

impl<I, V> Connection<I, V>
where
    I: AsyncRead + AsyncWrite + Unpin + Send,
    V: Visit,
{
    /// `begun` is what the client sent behind its handshake.
    pub(super) fn new(
        io: I,
        begun: Bytes,
        visit: Arc<V>,
        deliveries: Deliveries,
        streams: Arc<Shared>,
        draining: &Draining,
    ) -> Box<Connection<I, V>> {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(streams.message_bytes_max))
            .max_frame_size(Some(streams.message_bytes_max));
        let protocol =
            WebSocketContext::from_partially_read(begun.to_vec(), Role::Server, Some(config));
        // An audience that came at once must not be pinged at once.
        let first_tick = streams.random.jitter(streams.ping);
        Box::new(Connection {
            io,
            protocol,
            outlet: Outlet::default(),
            deliveries,
            has_gathered: false,
            visit,
            work: None,
            heard: streams.clock.instant(),
            tick: Box::pin(streams.clock.sleep(first_tick)),
            drain: Box::pin(draining.begun()),
            is_draining: false,
            streams,
        })
    }

    /// Runs to the end. A connection is mostly idle, so what it needs only at its end is made then
    /// and not part of it before. Boxed, because a future keeps the room of what is moved within it.
    pub(super) async fn run(mut self: Box<Self>) {
        metrics::gauge!("nagaya_sockets").increment(1.0);
        let end = poll_fn(|context| self.poll_end(context)).await;
        self.say_last(&end);
        let Connection { io, outlet, streams, deliveries, visit, work, .. } = *self;
        // For the room and the hub it is over.
        drop((deliveries, visit, work));
        if !matches!(end, End::Gone) {
            let wait = streams.clock.timeout(LINGER, linger(io, outlet));
            // Who does not listen misses it; there is nothing more to do for them.
            let _heard = Box::pin(wait).await;
        }
        metrics::gauge!("nagaya_sockets").decrement(1.0);
    }

    /// Does what there is to do; ready when the connection ends.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<End> {
        let mut messages = 0;
        while messages < MESSAGES_PER_TURN {
            if let Some(end) = self.poll_write(context) {
                return Poll::Ready(end);
            }
            if let Some(work) = &mut self.work
                && let Poll::Ready(done) = work.as_mut().poll(context)
            {
                self.work = None;
                match done {
                    // Its replies wait now.
                    Ok(()) => continue,
                    // What the room replied before it closes goes first, unless the reader stalls.
                    Err(close) => {
                        self.has_gathered = true;
                        let end = self.poll_write(context);
                        return Poll::Ready(end.unwrap_or(End::Close(close)));
                    }
                }
            }
            if let Some(end) = self.poll_times(context) {
                return Poll::Ready(end);
            }
            match self.poll_read(context) {
                Poll::Ready(Ok(())) => messages += 1,
                Poll::Ready(Err(end)) => return Poll::Ready(end),
                Poll::Pending => return Poll::Pending,
            }
        }
        Self::let_others_run(context);
        Poll::Pending
    }

    /// Asks to be woken after everybody who is ready now.
    fn let_others_run(context: &mut Context<'_>) {
        let _later = pin!(tokio::task::yield_now()).poll(context);
    }

    /// Writes until nothing waits or the system takes no more.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Option<End> {
        loop {
            if !self.outlet.is_clear() {
                match self.outlet.poll_clear(context, &mut self.io) {
                    Poll::Pending => return None,
                    Poll::Ready(Err(_)) => return Some(End::Gone),
                    Poll::Ready(Ok(took_any)) if took_any => self.hear(),
                    Poll::Ready(Ok(_)) => {}
                }
                continue;
            }
            let Poll::Ready(waiting) = self.deliveries.poll_waiting(context) else { return None };
            if !std::mem::replace(&mut self.has_gathered, true) && waiting == Waiting::Some {
                Self::let_others_run(context);
                return None;
            }
            self.has_gathered = false;
            let Connection { outlet, io, deliveries, visit, .. } = self;
            match outlet.poll_pass(context, io, deliveries, |gap| visit.on_gap(gap)) {
                Poll::Pending => return None,
                Poll::Ready(Ok(Ok(()))) => {}
                Poll::Ready(Ok(Err(_))) => return Some(End::Gone),
                Poll::Ready(Err(closed)) => return Some(self.closed(closed)),
            }
        }
    }

    fn closed(&self, closed: Closed) -> End {
        match closed {
            Closed::Asked => End::Close(self.visit.on_close()),
            Closed::TooSlow => End::Close(Close::new(Close::TRY_AGAIN, "too slow")),
            Closed::Renumbered => End::Close(Close::new(Close::TRY_AGAIN, "pushes begin anew")),
            Closed::Gone => End::Gone,
        }
    }

    /// Pings, limits of silence, the drain.
    fn poll_times(&mut self, context: &mut Context<'_>) -> Option<End> {
        while self.tick.as_mut().poll(context).is_ready() {
            let silent = self.streams.clock.instant().since(self.heard);
            if silent >= self.streams.idle {
                metrics::counter!("nagaya_sockets_silent_total").increment(1);
                return Some(End::Gone);
            }
            let until_idle = self.streams.idle.saturating_sub(silent);
            let next = self.streams.ping.min(until_idle);
            self.tick = Box::pin(self.streams.clock.sleep(next));
            if self.outlet.is_clear() {
                self.say(tungstenite::Message::Ping(Bytes::new()));
            }
        }
        while self.drain.as_mut().poll(context).is_ready() {
            if self.is_draining {
                return Some(End::Close(Close::new(Close::GOING_AWAY, "the house is closing")));
            }
            self.is_draining = true;
            let turn = self.streams.random.jitter(self.streams.close_spread);
            self.drain = Box::pin(self.streams.clock.sleep(turn));
        }
        None
    }

    /// Reads one message. Pending when there is none, or when it is not time to read.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        if !self.outlet.is_clear() {
            // What was just added to it has not been tried yet.
            match self.outlet.poll_clear(context, &mut self.io) {
                Poll::Ready(Ok(_)) if self.outlet.is_clear() => {}
                Poll::Ready(Ok(_)) | Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(End::Gone)),
            }
        }
        if self.work.is_some() {
            return Poll::Pending;
        }
        let mut heard_any = false;
        let mut pipe = Pipe {
            io: &mut self.io,
            context,
            left: &mut self.outlet.left,
            heard_any: &mut heard_any,
        };
        let read = self.protocol.read(&mut pipe);
        if heard_any {
            self.hear();
            self.visit.on_alive();
        }
        match read {
            Ok(message) => Poll::Ready(self.take(message)),
            Err(tungstenite::Error::Io(cause)) if cause.kind() == io::ErrorKind::WouldBlock => {
                if self.outlet.is_clear() {
                    return Poll::Pending;
                }
                Poll::Ready(Ok(()))
            }
            Err(error) => Poll::Ready(Err(end_of(&error))),
        }
    }

    /// Begins to answer a message. The error is the end of the connection.
    fn take(&mut self, message: tungstenite::Message) -> Result<(), End> {
        use tungstenite::Message::{Binary, Close, Frame, Ping, Pong, Text};
        let message = match message {
            Text(text) => Message::Text(text.as_str().to_owned()),
            Binary(bytes) => Message::Binary(bytes),
            // The answer to a ping or a close waits in the protocol; flushed, it joins the rest.
            Ping(_) => {
                self.flush();
                return Ok(());
            }
            Close(_) => {
                self.flush();
                return Err(End::Answered);
            }
            Pong(_) | Frame(_) => return Ok(()),
        };
        let visit = self.visit.clone();
        self.work = Some(Box::pin(async move { visit.on_message(message).await }));
        Ok(())
    }

    fn hear(&mut self) {
        self.heard = self.streams.clock.instant();
    }

    /// Adds a control frame to what leaves.
    fn say(&mut self, message: tungstenite::Message) {
        // It fails only when the protocol is over, and then there is nothing to say.
        let _said = self.protocol.write(&mut Inlet(&mut self.outlet.left), message);
        self.flush();
    }

    /// Adds what the protocol library has to say by itself.
    fn flush(&mut self) {
        let _flushed = self.protocol.flush(&mut Inlet(&mut self.outlet.left));
    }

    /// Adds the last word to what leaves.
    fn say_last(&mut self, end: &End) {
        let close = match end {
            End::Gone | End::Answered => return,
            End::Close(close) => close,
        };
        let code = close.code.to_string();
        metrics::counter!("nagaya_sockets_closed_total", "code" => code).increment(1);
        let resumable = [Close::GOING_AWAY, Close::TRY_AGAIN].contains(&close.code);
        if resumable && let Some(text) = self.visit.on_leave(&self.deliveries.positions()) {
            self.outlet.add(&text);
        }
        let reason = close.reason.as_str().into();
        let frame = CloseFrame { code: CloseCode::from(close.code), reason };
        self.say(tungstenite::Message::Close(Some(frame)));
    }
}

/// Lets the last bytes leave, ends this side, and waits for the end of the other.
async fn linger<I>(mut io: I, mut outlet: Outlet) -> io::Result<()>
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    while !outlet.is_clear() {
        poll_fn(|context| outlet.poll_clear(context, &mut io)).await?;
    }
    poll_fn(|context| Pin::new(&mut io).poll_shutdown(context)).await?;
    // Closing with bytes unread would reset the connection before the word is heard.
    let mut space = vec![0; DISCARD_BYTES];
    loop {
        let mut buffer = ReadBuf::new(&mut space);
        poll_fn(|context| Pin::new(&mut io).poll_read(context, &mut buffer)).await?;
        if buffer.filled().is_empty() {
            return Ok(());
        }
    }
}

/// What the client is told of its mistake.
fn end_of(error: &tungstenite::Error) -> End {
    use tungstenite::Error::{
        AlreadyClosed, AttackAttempt, Capacity, ConnectionClosed, Http, HttpFormat, Io, Protocol,
        Tls, Url, Utf8, WriteBufferFull,
    };
    match error {
        ConnectionClosed => End::Answered,
        Capacity(CapacityError::MessageTooLong { size, max_size }) => {
            let reason = format!("the message has {size} bytes, at most {max_size} allowed");
            End::Close(Close::new(Close::TOO_BIG, reason))
        }
        Utf8(_) => End::Close(Close::new(Close::BAD_TEXT, "the text is not UTF-8")),
        Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Gone,
        Protocol(what) => End::Close(Close::new(Close::PROTOCOL, what.to_string().to_lowercase())),
        Capacity(CapacityError::TooManyHeaders)
        | Io(_)
        | AlreadyClosed
        | AttackAttempt
        | Http(_)
        | HttpFormat(_)
        | Tls(_)
        | Url(_)
        | WriteBufferFull(_) => End::Gone,
    }
}

/// The stream as the protocol library sees it when it reads: bytes come from the socket, and what
/// it writes joins what leaves.
struct Pipe<'a, 'c, I> {
    io: &'a mut I,
    context: &'a mut Context<'c>,
    left: &'a mut Vec<u8>,
    heard_any: &'a mut bool,
}

impl<I: AsyncRead + Unpin> Read for Pipe<'_, '_, I> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(space);
        match Pin::new(&mut *self.io).poll_read(self.context, &mut buffer) {
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) => {
                *self.heard_any |= !buffer.filled().is_empty();
                Ok(buffer.filled().len())
            }
        }
    }
}

impl<I> Write for Pipe<'_, '_, I> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same when it only writes.
struct Inlet<'a>(&'a mut Vec<u8>);

impl Read for Inlet<'_> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Write for Inlet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! WebSocket. A room gives a [`Visit`], the connection does the rest: pushes and replies leave in
//! one write, whatever waits; pings and limits of silence; a bounded message; closing in order.
//!
//! The handshake is `socket/handshake.rs`, the life of a connection `socket/connection.rs`, what
//! leaves it `socket/outlet.rs`.

mod connection;
#[cfg(test)]
mod fuzz;
mod handshake;
mod outlet;

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use connection::Connection;
use hub::{Deliveries, Gap, Standing, Subscriber, Text};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

pub use handshake::{Origins, Upgrade};

use crate::server::Wire;
use crate::streams::{Shared, Streams};
use crate::{Draining, Failure};

/// A room's side of one connection.
pub trait Visit: Send + Sync + 'static {
    /// A message came. The next is read when this is done; pushes go on meanwhile. Replies are
    /// sent through the subscriber.
    fn on_message(&self, message: Message) -> impl Future<Output = Result<(), Close>> + Send;

    /// What the client is told when pushes are lost.
    fn on_gap(&self, gap: &Gap) -> Option<Text>;

    /// What the client is told before the connection is closed, because the house closes or the
    /// client is too slow: where to resume.
    fn on_leave(&self, standings: &[Standing]) -> Option<Text>;

    /// What the client reads when the room has closed its subscriber.
    fn on_close(&self) -> Close {
        Close::new(Close::NORMAL, "done")
    }

    /// The client has shown that it is alive. For leases that live as long as it does.
    fn on_alive(&self) {}
}

/// What a client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Bytes),
}

/// Why a connection is closed, as the client reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    code: u16,
    reason: String,
}

impl Close {
    /// Done.
    pub const NORMAL: u16 = 1000;
    /// The house closes.
    pub const GOING_AWAY: u16 = 1001;
    /// The client broke the protocol.
    pub const PROTOCOL: u16 = 1002;
    /// Text that is not UTF-8.
    pub const BAD_TEXT: u16 = 1007;
    /// The room's rules.
    pub const POLICY: u16 = 1008;
    /// A message above the bound.
    pub const TOO_BIG: u16 = 1009;
    /// The client is too slow and may come back.
    pub const TRY_AGAIN: u16 = 1013;

    /// A code, 4000 to 4999 for a room's own, and a reason of at most 123 bytes, which is cut.
    pub fn new(code: u16, reason: impl Into<String>) -> Close {
        const REASON_BYTES_MAX: usize = 123;
        let mut reason = reason.into();
        reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
        Close { code, reason }
    }
}

/// What a room says before a connection opens.
#[derive(Clone, Debug, Default)]
pub struct Terms<'a> {
    /// Subprotocols that the room speaks, the best first.
    pub protocols: &'a [&'a str],
    /// Which pages may connect.
    pub origins: Origins,
}

/// What a room knows of a connection when it opens.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The connection's subscriber: follows topics, sends replies.
    pub subscriber: Subscriber,
    /// The subprotocol that was agreed on.
    pub protocol: Option<String>,
    /// All that the client offered.
    pub offered: Vec<String>,
}

impl Streams {
    /// Opens a WebSocket: answers the handshake and runs the connection until it ends.
    ///
    /// # Errors
    /// The request is no handshake, or its origin or protocols are refused.
    pub fn accept<V: Visit>(
        &self,
        upgrade: Upgrade,
        terms: &Terms<'_>,
        open: impl FnOnce(Opening) -> V,
    ) -> Result<Response, Failure> {
        let agreed = upgrade.agree(terms)?;
        let (subscriber, deliveries) = self.shared.hub.subscriber(self.shared.queue);
        let response = agreed.response();
        let visit = Arc::new(open(Opening {
            subscriber,
            protocol: agreed.protocol,
            offered: agreed.offered,
        }));
        let (streams, draining) = (self.shared.clone(), agreed.draining.clone());
        agreed.draining.spawn("socket", async move {
            let Ok(upgraded) = agreed.on_upgrade.await else { return };
            begin(upgraded, visit, deliveries, streams, draining).run().await;
        });
        Ok(response)
    }
}

/// The connection that a handshake leads to. It is all that lives on: the buffers of HTTP are gone.
/// No future, so that nothing of the handshake has room in the one that runs the connection.
fn begin<V: Visit>(
    upgraded: Upgraded,
    visit: Arc<V>,
    deliveries: Deliveries,
    streams: Arc<Shared>,
    draining: Draining,
) -> Box<Connection<Wire, V>> {
    let parts = upgraded.downcast::<TokioIo<Wire>>();
    let parts = parts.expect("every connection of the server is a wire");
    let (wire, begun) = (parts.io.into_inner(), parts.read_buf);
    bound_send_buffer(wire.socket(), streams.send_buffer_bytes);
    Connection::new(wire, begun, visit, deliveries, streams, &draining)
}

/// The system would keep megabytes for a reader that has stopped reading.
fn bound_send_buffer(stream: &TcpStream, bytes: usize) {
    if let Err(cause) = rustix::net::sockopt::set_socket_send_buffer_size(stream, bytes) {
        tracing::debug!(%cause, "a socket keeps the system's buffer");
    }
}

#[cfg(test)]
mod turns;

//! Listening, serving, and closing without dropping what is under way.
//!
//! A request passes: a free slot among the connections, the head's bounds, the guard of
//! `limits.rs` (body, time), its route. Draining turns readiness red, closes the listener and idle
//! connections, and waits for requests under way.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use base::{Clock, Shutdown, Tasks};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::client::{self, Peer};
use crate::{Draining, Error, Options, Readiness, limits};

/// Connections that the system completes before we accept them. A class or an audience that comes
/// back at once fits; systems cut it down to their own limit.
const BACKLOG: u32 = 4_096;

/// After a failed accept, mostly for want of file descriptors: long enough for some to be closed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    clock: Clock,
    readiness: Readiness,
    /// The accepting task and one for each connection. They have a shutdown of their own, so that
    /// the rest of the house still works while requests finish.
    connections: Tasks,
    drain_time: Duration,
}

impl Server {
    /// Listens and begins to serve.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn start(
        options: &Options,
        routes: Router,
        clock: Clock,
        readiness: Readiness,
    ) -> Result<Server, Error> {
        let listen_failed = |cause| Error::Listen { address: options.listen, cause };
        let listener = listen(options.listen).map_err(listen_failed)?;
        let address = listener.local_addr().map_err(listen_failed)?;
        let connections = Tasks::new();
        let acceptor = Acceptor {
            routes: client::identified(limits::guarded(routes, options, &clock), options)
                .layer(Extension(Draining::new(&connections))),
            protocol: protocol(options),
            slots: Arc::new(Semaphore::new(options.connections_max)),
            clock: clock.clone(),
            connections: connections.clone(),
        };
        connections.spawn("http listener", acceptor.run(listener));
        let drain_time = Duration::from_secs(options.drain_seconds);
        Ok(Server { address, clock, readiness, connections, drain_time })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening and waits for requests under way.
    ///
    /// # Errors
    /// Some did not finish in the time they have.
    pub async fn drain(self) -> Result<(), Error> {
        self.readiness.set_red("http", "the house is closing");
        let finished = self.connections.finish(&self.clock, self.drain_time).await;
        finished.map_err(|left| Error::Drain { within: self.drain_time, left })
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted house must not wait for the system to forget its old connections.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn protocol(options: &Options) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    // The peer's slowness is a matter of real time, so this timer is not the house's clock.
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(options.header_timeout_seconds))
        .max_buf_size(options.header_bytes_max);
    protocol
}

/// Takes connections until the shutdown begins.
struct Acceptor {
    routes: Router,
    protocol: http1::Builder,
    slots: Arc<Semaphore>,
    clock: Clock,
    connections: Tasks,
}

impl Acceptor {
    async fn run(self, listener: TcpListener) {
        let shutdown = self.connections.shutdown();
        let mut begun = pin!(shutdown.begun());
        loop {
            let (stream, slot) = tokio::select! {
                biased;
                () = &mut begun => return,
                accepted = self.accept(&listener) => accepted,
            };
            let connection = Connection {
                routes: self.routes.clone(),
                protocol: self.protocol.clone(),
                shutdown: shutdown.clone(),
                _slot: slot,
            };
            self.connections.spawn("http connection", connection.serve(stream));
        }
    }

    async fn accept(&self, listener: &TcpListener) -> (TcpStream, OwnedSemaphorePermit) {
        let slot = self.slots.clone().acquire_owned().await;
        let slot = slot.expect("the slots are never closed");
        loop {
            match listener.accept().await {
                Ok((stream, _)) => return (stream, slot),
                Err(cause) => {
                    tracing::warn!(%cause, "cannot accept a connection");
                    self.clock.sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// One connection and its place among the slots.
struct Connection {
    routes: Router,
    protocol: http1::Builder,
    shutdown: Shutdown,
    _slot: OwnedSemaphorePermit,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        let open = metrics::gauge!("nagaya_http_connections");
        open.increment(1.0);
        if let Err(cause) = self.speak(stream).await {
            // The peer's doing, and of interest only to who looks for it.
            tracing::debug!(%cause, "a connection ended early");
        }
        open.decrement(1.0);
    }

    async fn speak(&self, stream: TcpStream) -> Result<(), hyper::Error> {
        // Answers are written whole; waiting for more would only delay them.
        if let Err(cause) = stream.set_nodelay(true) {
            tracing::debug!(%cause, "a connection keeps its delay");
        }
        let peer = stream.peer_addr().map(|address| Peer { address, tls: false });
        let routes = TowerToHyperService::new(self.routes.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            // A peer that has hung up already has no address, and reads no answer.
            if let Ok(peer) = &peer {
                request.extensions_mut().insert(*peer);
            }
            routes.call(request)
        });
        let connection = self.protocol.serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection.with_upgrades());
        tokio::select! {
            biased;
            ended = &mut connection => return ended,
            () = self.shutdown.begun() => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    }
}

#[cfg(test)]
mod tests;

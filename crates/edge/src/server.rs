//! Listening, serving, and closing without dropping what is under way.
//!
//! A connection takes a place among the connections (`server/places.rs`) and speaks
//! (`server/connection.rs`), at a pace that keeps the place for who uses it (`server/wire.rs`).
//! What a request passes then stands in `room.rs`. Draining turns readiness red, closes the
//! listener and idle connections, tells streams (`draining.rs`), and waits for what is under way.

mod answer;
mod bare;
mod carrier;
mod connection;
mod places;
mod wire;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use bare::Bared;
pub use bare::{Answered, Bare, Head, Refuse};
use base::{Clock, Ids, Tasks};
use connection::{Connections, Routes};
use places::Places;
pub(crate) use places::Scarcity;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use wire::Patience;
pub(crate) use wire::Wire;

use crate::bodies::Bodies;
use crate::limits::{ACCEPT_PAUSE, BACKLOG};
use crate::room::assemble;
use crate::tls::Tls;
use crate::{Error, Options, Reach, Readiness, Room, Traces};

/// A port that is taken and that nobody serves yet: callers wait.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    /// Takes a port.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn at(listen: SocketAddr) -> Result<Bound, Error> {
        let taken = bind(listen).and_then(|listener| {
            let address = listener.local_addr()?;
            Ok(Bound { listener, address })
        });
        taken.map_err(|cause| Error::Listen { address: listen, cause })
    }

    /// Where it is, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    clock: Clock,
    readiness: Readiness,
    /// The accepting task and those of connections. They have a shutdown of their own, so that
    /// the rest of the house still works while requests finish.
    connections: Tasks,
    drain_time: Duration,
    reach: Arc<Reach>,
    /// Who answers, unless one function does.
    rooms: Option<Arc<ArcSwap<Router>>>,
}

impl Server {
    /// Looks at what the options name, without opening anything.
    ///
    /// # Errors
    /// The certificate or its key cannot be used.
    pub fn check(options: &Options) -> Result<(), Error> {
        Tls::load(options).map(drop)
    }

    /// Listens and begins to serve.
    ///
    /// # Errors
    /// The address cannot be had, or the certificate cannot be used.
    pub async fn start(
        options: &Options,
        rooms: Vec<Room>,
        clock: Clock,
        readiness: Readiness,
        traces: Traces,
    ) -> Result<Server, Error> {
        let ids = Ids::new(clock.clone(), traces.random().fork("request ids"));
        let routes = Arc::new(ArcSwap::from_pointee(assemble(rooms, options, &clock, traces, ids)));
        let of_rooms = Routes::Rooms(Arc::clone(&routes));
        let server = Server::serve(options, None, of_rooms, clock, readiness)?;
        Ok(Server { rooms: Some(routes), ..server })
    }

    /// Lets other rooms answer from the next request on, also on connections that are open. A house
    /// that is starting listens before its rooms are there.
    pub fn set_rooms(&self, options: &Options, rooms: Vec<Room>, traces: Traces) {
        let ids = Ids::new(self.clock.clone(), traces.random().fork("later request ids"));
        if let Some(held) = &self.rooms {
            held.store(Arc::new(assemble(rooms, options, &self.clock, traces, ids)));
        }
    }

    /// Lets one function answer everything on a port, without what rooms pass.
    ///
    /// # Errors
    /// The certificate cannot be used.
    pub async fn start_bare(
        options: &Options,
        bound: Bound,
        bare: Bare,
        clock: Clock,
        readiness: Readiness,
    ) -> Result<Server, Error> {
        let within = Duration::from_secs(options.request_timeout_seconds);
        let bared = Bared { bare, bodies: Bodies::new(options), clock: clock.clone(), within };
        Server::serve(options, Some(bound), Routes::Bare(bared), clock, readiness)
    }

    fn serve(
        options: &Options,
        bound: Option<Bound>,
        routes: Routes,
        clock: Clock,
        readiness: Readiness,
    ) -> Result<Server, Error> {
        let tls = Tls::load(options)?;
        let bound = bound.map_or_else(|| Bound::at(options.listen), Ok)?;
        let Bound { listener, address } = bound;
        let reach = Arc::new(Reach::new(&options.public_url, address, tls.is_some()));
        let tasks = Tasks::new();
        if let Some(tls) = &tls {
            tls.watch(&clock, &tasks);
        }
        let patience = Patience {
            clock: clock.clone(),
            head: Duration::from_secs(options.header_timeout_seconds),
            write: Duration::from_secs(options.write_timeout_seconds),
            head_bytes_max: options.header_bytes_max,
        };
        let shared = Connections::new(routes, tls, patience, options, Arc::clone(&reach), &tasks);
        let places = Places::new(options, &shared.addresses, &shared.trust);
        let acceptor = Acceptor {
            shared: Arc::new(shared),
            places,
            clock: clock.clone(),
            tasks: tasks.clone(),
        };
        tasks.spawn("http listener", acceptor.run(listener));
        let drain_time = Duration::from_secs(options.drain_seconds);
        let connections = tasks;
        let rooms = None;
        Ok(Server { address, clock, readiness, connections, drain_time, reach, rooms })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where people find it.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The URL to show to people.
    pub fn url(&self) -> String {
        self.reach.url()
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

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted house must not wait for the system to forget its old connections.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Takes connections until the shutdown begins.
struct Acceptor {
    shared: Arc<Connections>,
    places: Places,
    clock: Clock,
    tasks: Tasks,
}

impl Acceptor {
    async fn run(self, listener: TcpListener) {
        let mut begun = pin!(self.tasks.shutdown().begun());
        loop {
            let (stream, peer) = tokio::select! {
                biased;
                () = &mut begun => return,
                accepted = self.accept(&listener) => accepted,
            };
            let (place, replaced) = self.places.take(peer.ip());
            let serving = self.shared.clone().serve(stream, peer, place);
            self.tasks.spawn("http connection", async move {
                let Some(replaced) = replaced else { return serving.await };
                tokio::select! {
                    () = serving => {}
                    _ = replaced => {}
                }
            });
        }
    }

    async fn accept(&self, listener: &TcpListener) -> (TcpStream, SocketAddr) {
        loop {
            match listener.accept().await {
                Ok(accepted) => return accepted,
                Err(cause) => {
                    tracing::warn!(%cause, "cannot accept a connection");
                    self.clock.sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

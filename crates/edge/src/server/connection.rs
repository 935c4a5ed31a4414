//! One connection: which protocol it speaks, its requests, and its end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use axum::Router;
use axum::http::{Request, Response, StatusCode, Version};
use base::Tasks;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tower::ServiceExt;

use super::answer::{Answer, close_after, until_stalled};
use super::bare::Bared;
use super::carrier::Carrier;
use super::places::{Place, Scarcity};
use super::wire::{Pace, Patience, Wire};
use crate::addresses::{Addresses, Holder, Requested};
use crate::client::{Peer, Trust};
use crate::hosts::{HostList, OwnNames};
use crate::limits::{
    DRAIN_HEAD_TIME, HTTP2_PING_INTERVAL, HTTP2_PING_TIMEOUT, HTTP2_SEND_BYTES_MAX,
    HTTP2_STREAMS_MAX, HTTP2_UNREAD_BYTES_MAX, RESERVE_HEAD_TIME,
};
use crate::tls::Tls;
use crate::{Client, Draining, Options, Reach};

/// What all connections of a server share.
pub(super) struct Connections {
    pub(super) routes: Routes,
    pub(super) tls: Option<Tls>,
    pub(super) patience: Patience,
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<Streams>,
    pub(super) addresses: Arc<Addresses>,
    pub(super) trust: Arc<Trust>,
    pub(super) hosts: Arc<HostList>,
    pub(super) reach: Arc<Reach>,
    pub(super) tasks: Tasks,
    /// How many there were: each has its number.
    count: AtomicU64,
}

/// Who answers: the rooms, or one function by itself.
#[derive(Clone)]
pub(super) enum Routes {
    Rooms(Arc<ArcSwap<Router>>),
    Bare(Bared),
}

/// Runs the streams of HTTP/2 connections, each under a name like every task.
#[derive(Clone)]
pub(super) struct Streams {
    tasks: Tasks,
    patience: Patience,
}

impl Connections {
    pub(super) fn new(
        routes: Routes,
        tls: Option<Tls>,
        patience: Patience,
        options: &Options,
        reach: Arc<Reach>,
        tasks: &Tasks,
    ) -> Connections {
        let mut http1 = http1::Builder::new();
        http1.max_buf_size(options.header_bytes_max);
        let mut http2 =
            http2::Builder::new(Streams { tasks: tasks.clone(), patience: patience.clone() });
        http2
            // Whether a peer is there is a matter of real time, so this is not the house's clock.
            .timer(TokioTimer::new())
            .keep_alive_interval(HTTP2_PING_INTERVAL)
            .keep_alive_timeout(HTTP2_PING_TIMEOUT)
            .max_concurrent_streams(HTTP2_STREAMS_MAX)
            .initial_connection_window_size(HTTP2_UNREAD_BYTES_MAX)
            .initial_stream_window_size(HTTP2_UNREAD_BYTES_MAX)
            .max_send_buf_size(HTTP2_SEND_BYTES_MAX)
            .max_header_list_size(u32::try_from(options.header_bytes_max).unwrap_or(u32::MAX));
        let (addresses, trust) = (Addresses::new(options), Arc::new(Trust::new(options)));
        let hosts = Arc::new(options.hosts.clone().with(options.public_url.host()));
        let (tasks, count) = (tasks.clone(), AtomicU64::new(0));
        Connections {
            routes,
            tls,
            patience,
            http1,
            http2,
            addresses,
            trust,
            hosts,
            reach,
            tasks,
            count,
        }
    }

    /// Serves one connection to its end.
    pub(super) async fn serve(
        self: Arc<Connections>,
        stream: TcpStream,
        peer: SocketAddr,
        place: Place,
    ) {
        if let Err(cause) = self.speak(stream, peer, place).await {
            // The peer's doing, and of interest only to who looks for it.
            tracing::debug!(%cause, "a connection ended early");
        }
    }

    async fn speak(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        place: Place,
    ) -> Result<(), Early> {
        let is_loopback = stream.local_addr()?.ip().to_canonical().is_loopback();
        // Answers are written whole; waiting for more would only delay them.
        stream.set_nodelay(true)?;
        let mut patience = self.patience.clone();
        if place.scarcity.is_some() {
            patience.head = patience.head.min(RESERVE_HEAD_TIME);
        }
        let Some(carrier) = self.before_drain(self.carrier(stream, &patience)).await else {
            return Ok(());
        };
        let carrier = carrier?;
        let (holder, scarcity) = (place.holder.clone(), place.scarcity);
        let is_own_name_asked = is_loopback && !self.trust.is_proxy(address.ip());
        let mut wire = Wire::new(carrier, patience, place);
        let Some(is_http2) = self.before_drain(wire.find_http2()).await else { return Ok(()) };
        let is_http2 = is_http2?;
        let pace = wire.pace();
        let connection = self.count.fetch_add(1, Ordering::Relaxed);
        let requests = Requests {
            routes: self.routes.clone(),
            draining: Draining::new(&self.tasks),
            pace: wire.pace(),
            addresses: self.addresses.clone(),
            holder,
            scarcity,
            trust: self.trust.clone(),
            hosts: is_own_name_asked.then(|| self.hosts.clone()),
            reach: self.reach.clone(),
            peer: Peer { address, connection, tls: self.tls.is_some() },
        };
        let io = TokioIo::new(wire);
        if is_http2 {
            let connection = self.http2.serve_connection(io, requests);
            self.drive(connection, http2::Connection::graceful_shutdown, &pace).await
        } else {
            let connection = self.http1.serve_connection(io, requests).with_upgrades();
            let close = http1::UpgradeableConnection::graceful_shutdown;
            self.drive(connection, close, &pace).await
        }
    }

    async fn carrier(&self, stream: TcpStream, patience: &Patience) -> Result<Carrier, Early> {
        let Some(tls) = &self.tls else { return Ok(Carrier::Plain(stream)) };
        let shaken = patience.clock.timeout(patience.head, tls.accept(stream)).await;
        Ok(Carrier::Tls(Box::new(shaken??)))
    }

    /// What comes before the first request; nothing if the drain begins first, for then nothing is
    /// under way. What has arrived is looked at before.
    async fn before_drain<F: Future>(&self, first: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = first => Some(done),
            () = self.tasks.shutdown().begun() => None,
        }
    }

    /// Serves until the peer is done, or until the drain begins and what is under way is answered.
    async fn drive<C>(
        &self,
        connection: C,
        close: fn(Pin<&mut C>),
        pace: &Pace,
    ) -> Result<(), Early>
    where
        C: Future<Output = Result<(), hyper::Error>>,
    {
        let mut connection = pin!(connection);
        tokio::select! {
            biased;
            ended = &mut connection => return Ok(ended?),
            () = self.tasks.shutdown().begun() => close(connection.as_mut()),
        }
        // A head that was begun may still arrive, and a peer of HTTP/2 may still say that it has
        // understood. One that does neither would hold the drain up to its end.
        if let Ok(ended) = self.patience.clock.timeout(DRAIN_HEAD_TIME, connection.as_mut()).await {
            return Ok(ended?);
        }
        if pace.is_idle() {
            return Ok(());
        }
        Ok(connection.await?)
    }
}

/// Why a connection ended before its peer was done.
#[derive(Debug, thiserror::Error)]
enum Early {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("no handshake: {0}")]
    Handshake(#[from] base::Error),
    #[error(transparent)]
    Http(#[from] hyper::Error),
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        self.tasks.spawn("http stream", until_stalled(stream, self.patience.clone()));
    }
}

/// The requests of one connection.
struct Requests {
    routes: Routes,
    draining: Draining,
    pace: Arc<Pace>,
    addresses: Arc<Addresses>,
    /// The address of the peer; none if that is a trusted proxy.
    holder: Option<Arc<Holder>>,
    /// Why the connection is one of the reserve, if it is.
    scarcity: Option<Scarcity>,
    trust: Arc<Trust>,
    /// The names under which the house is reached, where a request must use one of them.
    hosts: Option<Arc<HostList>>,
    /// Where people find the server.
    reach: Arc<Reach>,
    peer: Peer,
}

impl Requests {
    /// Whose requests are counted together with this one's. Nobody's with those of a proxy itself.
    fn holder(&self, client: Client) -> Option<Arc<Holder>> {
        let of_client = || {
            let is_proxy = self.trust.is_proxy(client.address);
            (!is_proxy).then(|| self.addresses.of(client.network()))
        };
        self.holder.clone().or_else(of_client)
    }

    /// Tells the request's handlers who asks and what is scarce; gives its count.
    fn introduce(&self, request: &mut Request<Incoming>) -> Option<Requested> {
        let client = self.trust.client(self.peer, request.headers());
        let holder = self.holder(client);
        let requested = holder.as_ref().map(Holder::request);
        let too_many = Scarcity::Requests { max: self.addresses.requests_max };
        let scarcity =
            self.scarcity.or_else(|| matches!(requested, Some(None)).then_some(too_many));
        let extensions = request.extensions_mut();
        extensions.insert(client);
        extensions.insert(Arc::clone(&self.reach));
        if let Some(holder) = holder {
            extensions.insert(holder);
        }
        if let Some(hosts) = &self.hosts {
            extensions.insert(OwnNames(Arc::clone(hosts)));
        }
        if let Some(scarcity) = scarcity {
            extensions.insert(scarcity);
        }
        requested.flatten()
    }
}

impl Service<Request<Incoming>> for Requests {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let under_way = self.pace.begin();
        let requested = self.introduce(&mut request);
        let is_http2 = request.version() == Version::HTTP_2;
        let is_last = self.scarcity.is_some() && !is_http2;
        let routes = match &self.routes {
            // Looked up for each request: a connection may outlive the start of the house.
            Routes::Rooms(routes) => Router::clone(&routes.load()),
            Routes::Bare(bared) => {
                let answer = bared.clone().answer(request);
                return Box::pin(async move {
                    let mut response = answer.await;
                    if is_last {
                        close_after(&mut response);
                    }
                    Ok(Answer::of(response, under_way, requested, is_http2))
                });
            }
        };
        request.extensions_mut().insert(self.draining.clone());
        let answer = routes.oneshot(request);
        let pace = self.pace.clone();
        Box::pin(async move {
            let (mut response, mut requested) = (answer.await?, requested);
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                pace.set_upgraded(requested.take());
            } else if is_last {
                close_after(&mut response);
            }
            Ok(Answer::of(response, under_way, requested, is_http2))
        })
    }
}

//! One connection: which protocol it speaks, its requests, and its end.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use base::Tasks;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tower::ServiceExt;

use super::bare::Bared;
use super::carrier::Carrier;
use super::wire::{Pace, Patience, Place, UnderWay, Wire};
use crate::client::{Peer, Trust};
use crate::limits::{
    HTTP2_PING_INTERVAL, HTTP2_PING_TIMEOUT, HTTP2_SEND_BYTES_MAX, HTTP2_STREAMS_MAX,
};
use crate::tls::Tls;
use crate::{Draining, Options};

/// What all connections of a server share.
pub(super) struct Connections {
    pub(super) routes: Routes,
    pub(super) tls: Option<Tls>,
    pub(super) patience: Patience,
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<Streams>,
    pub(super) trust: Arc<Trust>,
    pub(super) tasks: Tasks,
}

/// Who answers: the rooms, or one function by itself.
#[derive(Clone)]
pub(super) enum Routes {
    Rooms(Arc<ArcSwap<Router>>),
    Bare(Bared),
}

/// Runs the streams of HTTP/2 connections, each under a name like every task.
#[derive(Clone)]
pub(super) struct Streams(Tasks);

impl Connections {
    pub(super) fn new(
        routes: Routes,
        tls: Option<Tls>,
        patience: Patience,
        options: &Options,
        tasks: &Tasks,
    ) -> Connections {
        let mut http1 = http1::Builder::new();
        http1.max_buf_size(options.header_bytes_max);
        let mut http2 = http2::Builder::new(Streams(tasks.clone()));
        http2
            // Whether a peer is there is a matter of real time, so this is not the house's clock.
            .timer(TokioTimer::new())
            .keep_alive_interval(HTTP2_PING_INTERVAL)
            .keep_alive_timeout(HTTP2_PING_TIMEOUT)
            .max_concurrent_streams(HTTP2_STREAMS_MAX)
            .max_send_buf_size(HTTP2_SEND_BYTES_MAX)
            .max_header_list_size(u32::try_from(options.header_bytes_max).unwrap_or(u32::MAX));
        let trust = Arc::new(Trust::new(options));
        Connections { routes, tls, patience, http1, http2, trust, tasks: tasks.clone() }
    }

    /// Serves one connection to its end.
    pub(super) async fn serve(self: Arc<Connections>, stream: TcpStream, place: Place) {
        if let Err(cause) = self.speak(stream, place).await {
            // The peer's doing, and of interest only to who looks for it.
            tracing::debug!(%cause, "a connection ended early");
        }
    }

    async fn speak(&self, stream: TcpStream, place: Place) -> Result<(), Early> {
        let address = stream.peer_addr()?;
        // Answers are written whole; waiting for more would only delay them.
        stream.set_nodelay(true)?;
        let carrier = self.carrier(stream).await?;
        let mut wire = Wire::new(carrier, self.patience.clone(), place);
        let is_http2 = wire.find_http2().await?;
        let requests = Requests {
            routes: self.routes.clone(),
            draining: Draining::new(&self.tasks),
            pace: wire.pace(),
            trust: self.trust.clone(),
            peer: Peer { address, tls: self.tls.is_some() },
        };
        let io = TokioIo::new(wire);
        if is_http2 {
            let connection = self.http2.serve_connection(io, requests);
            self.drive(connection, http2::Connection::graceful_shutdown).await
        } else {
            let connection = self.http1.serve_connection(io, requests).with_upgrades();
            self.drive(connection, http1::UpgradeableConnection::graceful_shutdown).await
        }
    }

    async fn carrier(&self, stream: TcpStream) -> Result<Carrier, Early> {
        let Some(tls) = &self.tls else { return Ok(Carrier::Plain(stream)) };
        let shaken = self.patience.clock.timeout(self.patience.head, tls.accept(stream)).await;
        Ok(Carrier::Tls(Box::new(shaken??)))
    }

    /// Serves until the peer is done, or until the drain begins and what is under way is answered.
    async fn drive<C>(&self, connection: C, close: fn(Pin<&mut C>)) -> Result<(), Early>
    where
        C: Future<Output = Result<(), hyper::Error>>,
    {
        let mut connection = pin!(connection);
        tokio::select! {
            biased;
            ended = &mut connection => return Ok(ended?),
            () = self.tasks.shutdown().begun() => close(connection.as_mut()),
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
        self.0.spawn("http stream", stream);
    }
}

/// The requests of one connection.
struct Requests {
    routes: Routes,
    draining: Draining,
    pace: Arc<Pace>,
    trust: Arc<Trust>,
    peer: Peer,
}

impl Service<Request<Incoming>> for Requests {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let under_way = self.pace.begin();
        let routes = match &self.routes {
            // Looked up for each request: a connection may outlive the start of the house.
            Routes::Rooms(routes) => Router::clone(&routes.load()),
            Routes::Bare(bared) => {
                let answer = bared.clone().answer(request);
                return Box::pin(async move {
                    Ok(answer.await.map(|body| Answer { body, _under_way: under_way }))
                });
            }
        };
        let client = self.trust.client(self.peer, request.headers());
        let extensions = request.extensions_mut();
        extensions.insert(client);
        extensions.insert(self.draining.clone());
        let answer = routes.oneshot(request);
        let pace = self.pace.clone();
        Box::pin(async move {
            let response = answer.await?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                pace.set_upgraded();
            }
            Ok(response.map(|body| Answer { body, _under_way: under_way }))
        })
    }
}

/// The body of an answer. Its request is under way until it is dropped.
struct Answer {
    body: Body,
    _under_way: UnderWay,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

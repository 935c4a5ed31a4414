//! Carries spans to the collector, in batches.
//!
//! A batch that could not be sent is tried again with the next tick, until the collector takes it
//! or says that it never will; meanwhile the queue fills, and then spans are dropped and counted.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use base::{Clock, Shutdown};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::{Endpoint, Span, otlp};
use crate::limits::{COLLECTOR_TIMEOUT, SPANS_INTERVAL, SPANS_SENT_MAX};

pub(super) struct Sender {
    endpoint: Endpoint,
    service_name: String,
    clock: Clock,
    queue: mpsc::Receiver<Span>,
    /// Taken from the queue and not sent yet.
    batch: Vec<Span>,
    /// Whether the last attempt failed: told once, not with every tick.
    is_failing: bool,
}

/// Why a batch was not taken.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Http(#[from] hyper::Error),
    #[error(transparent)]
    Late(#[from] base::Error),
    #[error("the collector answered {0}")]
    Status(StatusCode),
}

impl Sender {
    pub(super) fn new(
        endpoint: Endpoint,
        service_name: String,
        clock: Clock,
        queue: mpsc::Receiver<Span>,
    ) -> Sender {
        Sender { endpoint, service_name, clock, queue, batch: Vec::new(), is_failing: false }
    }

    pub(super) async fn run(mut self, shutdown: Shutdown) {
        let mut interval = self.clock.interval(SPANS_INTERVAL);
        let mut begun = std::pin::pin!(shutdown.begun());
        loop {
            tokio::select! {
                biased;
                () = &mut begun => break,
                () = interval.tick() => self.send_queued().await,
            }
        }
        self.send_queued().await;
    }

    /// Sends what is queued, until it is empty or the collector fails.
    async fn send_queued(&mut self) {
        loop {
            while self.batch.len() < SPANS_SENT_MAX {
                let Ok(span) = self.queue.try_recv() else { break };
                self.batch.push(span);
            }
            if self.batch.is_empty() || !self.send_batch().await {
                return;
            }
        }
    }

    /// Whether the batch is done with.
    async fn send_batch(&mut self) -> bool {
        let body = otlp::encode(&self.service_name, &self.batch);
        let sent = self.clock.timeout(COLLECTOR_TIMEOUT, self.post(body)).await;
        let (result, is_done) = match sent.map_err(Refusal::from).flatten() {
            Ok(()) => {
                if std::mem::take(&mut self.is_failing) {
                    tracing::info!("the collector takes traces again");
                }
                ("sent", true)
            }
            Err(refusal) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    let endpoint = self.endpoint.authority();
                    tracing::warn!(endpoint, cause = %refusal, "cannot send traces");
                }
                ("refused", !refusal.is_passing())
            }
        };
        if is_done {
            let count = u64::try_from(self.batch.len()).unwrap_or(u64::MAX);
            metrics::counter!("nagaya_otlp_spans_total", "result" => result).increment(count);
            self.batch.clear();
        }
        is_done
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), Refusal> {
        let (host, port) = self.endpoint.address();
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let request = Request::post(self.endpoint.traces_path())
            .header(header::HOST, self.endpoint.authority())
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .body(Body::from(body))
            .expect("a checked address makes a request");
        let status = tokio::select! {
            response = requests.send_request(request) => response?.status(),
            ended = connection => {
                ended?;
                return Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted).into());
            }
        };
        if status.is_success() { Ok(()) } else { Err(Refusal::Status(status)) }
    }
}

impl Refusal {
    /// Whether the same batch may be taken later, as the protocol says.
    fn is_passing(&self) -> bool {
        match self {
            Refusal::Io(_) | Refusal::Http(_) | Refusal::Late(_) => true,
            Refusal::Status(status) => matches!(status.as_u16(), 429 | 502..=504),
        }
    }
}

//! NATS as the hub's carrier: all instances share one JetStream stream, and the order of the stream
//! is the order of pushes everywhere.
//!
//! A push becomes one message of the stream. Its offset is the sequence number in the stream, and
//! the epoch is the time at which the stream was created, so a reader may leave one instance and
//! resume on another. Every instance reads the whole stream, including its own pushes, and delivers
//! each message to its hub in the order of the stream.
//!
//! Invariants:
//! - a hub gets every message after its starting point, once and in order, or learns that some are
//!   lost and reports a gap to its readers;
//! - after a push could not be published, a loss message to all instances follows as soon as
//!   possible;
//! - a stream that was created again, or that has lost its end, is a new numbering: readers are
//!   disconnected, and get a gap when they resume;
//! - publishing waits for nothing: a push that does not fit into the bounded queue is lost;
//! - while NATS is unreachable, the server stays open; its pushes wait, and its readers get none.
//!
//! This is a crate of its own because `hub` knows no sockets and `edge` knows no broker.
//! `publish.rs` is the queue to the stream, `listen.rs` the way back, `frame.rs` the encoding.

mod error;
mod frame;
mod limits;
mod listen;
mod options;
mod publish;
#[cfg(test)]
mod tests;

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_nats::{ConnectOptions, Event, ServerAddr, jetstream};
use base::{Clock, Random, Tasks};
pub use error::Error;
use hub::{Hub, Text, TopicName};
pub use options::{Carrier, Options};
use tokio::sync::watch;

use crate::publish::Outbox;

/// The state of the connection to NATS.
#[derive(Clone, Debug)]
pub struct Nats {
    link: watch::Receiver<LinkState>,
    #[cfg(test)]
    outbox: Outbox,
}

/// The state of the connection and the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LinkState {
    /// There is no usable connection, and the reason.
    Away(String),
    /// There is a connection.
    Connected,
    /// The stream exists and is being read.
    Open,
}

impl Nats {
    /// Checks the settings without a connection.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub fn check(options: &Options) -> Result<(), Error> {
        read_addresses(&options.nats_url)?;
        if options.nats_user.is_some() != options.nats_password.is_some() {
            return Err(Error::HalfSignIn);
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let prefix = &options.nats_prefix;
        let fits = (1..=limits::PREFIX_BYTES_MAX).contains(&prefix.len());
        if !fits || !prefix.bytes().all(is_plain) {
            return Err(Error::Prefix(prefix.clone()));
        }
        Ok(())
    }

    /// Checks for a usable server and returns a sentence for the operator.
    ///
    /// # Errors
    /// No server responds, or it has no JetStream.
    pub fn visit(options: &Options) -> Result<String, String> {
        match options.carrier {
            Carrier::Process => return Ok("this is a single instance, without NATS".to_owned()),
            Carrier::Nats => {}
        }
        let addresses = read_addresses(&options.nats_url).map_err(|error| error.to_string())?;
        let mut problems = Vec::new();
        for address in addresses {
            let place = format!("{}:{}", address.host(), address.port());
            match greeting(&place) {
                Ok(hello) if hello.contains(r#""jetstream":true"#) => {
                    return Ok(format!("NATS answers at {place}, with JetStream"));
                }
                Ok(hello) if hello.starts_with("INFO ") => {
                    problems.push(format!("NATS at {place} has no JetStream; start it with `-js`"));
                }
                Ok(_) => problems.push(format!("the server at {place} is not NATS")),
                Err(cause) => problems.push(format!("NATS does not answer at {place}: {cause}")),
            }
        }
        Err(problems.join("; "))
    }

    /// Opens a hub whose pushes go through NATS. Waits a moment for the server, then continues
    /// without it and keeps trying to connect.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub async fn open(
        options: &Options,
        clock: &Clock,
        random: &Random,
        tasks: &Tasks,
    ) -> Result<(Hub, Nats), Error> {
        Nats::check(options)?;
        let never = LinkState::Away("there was no connection yet".to_owned());
        let (link, seen) = watch::channel(never);
        let link = Arc::new(link);
        let client = connect(options, random, &link).await?;
        let (outbox, waiting) = publish::queue();
        let carrier = Arc::new(StreamCarrier {
            epoch: AtomicU64::new(random.next_u64()),
            head: AtomicU64::new(0),
            outbox,
        });
        let hub = Hub::with_carrier(clock, random, tasks, Arc::clone(&carrier) as _);
        let mut context = jetstream::new(client);
        context.set_timeout(limits::ANSWER_WITHIN);
        let subject = subject(&options.nats_prefix);
        publish::start(context.clone(), subject, waiting, &carrier.outbox, &link, clock, tasks);
        let listener = listen::Listener {
            context,
            prefix: options.nats_prefix.clone(),
            carrier,
            hub: hub.clone(),
            link: Arc::clone(&link),
            random: random.clone(),
        };
        #[cfg(test)]
        let outbox = listener.carrier.outbox.clone();
        listener.start(clock, tasks);
        let nats = Nats {
            link: seen,
            #[cfg(test)]
            outbox,
        };
        let opened = nats.clone();
        let opened = async move {
            opened.link.clone().wait_for(|link| *link == LinkState::Open).await.is_ok()
        };
        if clock.timeout(limits::START_WITHIN, opened).await.is_err() {
            let reason = nats.trouble();
            tracing::warn!(reason, "starting without NATS; keeps trying to connect");
        }
        Ok((hub, nats))
    }

    /// Why pushes wait in both directions; `None` while they flow.
    pub fn trouble(&self) -> Option<String> {
        match &*self.link.borrow() {
            LinkState::Open => None,
            LinkState::Connected => Some("the stream of NATS is not open yet".to_owned()),
            LinkState::Away(cause) => Some(format!("NATS is out of reach: {cause}")),
        }
    }

    /// Waits until the result of [`Nats::trouble`] may have changed.
    pub async fn changed(&mut self) {
        if self.link.changed().await.is_err() {
            // The tasks have ended, so nothing changes any more.
            std::future::pending().await
        }
    }
}

/// The hub's side of the carrier.
struct StreamCarrier {
    epoch: AtomicU64,
    /// The highest number that this instance has delivered to its hub.
    head: AtomicU64,
    outbox: Outbox,
}

impl hub::Carrier for StreamCarrier {
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn carry(&self, _: &Hub, topic: TopicName<'_>, text: Text) {
        match frame::push(topic, text.as_str()) {
            Some(push) => self.outbox.put(push),
            None => self.outbox.note_loss("the topic's name is too long"),
        }
    }
}

impl StreamCarrier {
    /// Continues after `head` of a numbering; returns whether the epoch changed.
    fn set_numbering(&self, epoch: u64, head: u64) -> bool {
        let before = self.epoch.swap(epoch, Ordering::AcqRel);
        if before != epoch {
            self.head.store(head, Ordering::Release);
        }
        before != epoch
    }

    fn set_head(&self, head: u64) {
        self.head.store(head, Ordering::Release);
    }
}

/// The first line that a server sends.
fn greeting(place: &str) -> std::io::Result<String> {
    let unknown = || std::io::Error::other("the name is not known");
    let address = place.to_socket_addrs()?.next().ok_or_else(unknown)?;
    let stream = TcpStream::connect_timeout(&address, limits::CONNECT_WITHIN)?;
    stream.set_read_timeout(Some(limits::ANSWER_WITHIN))?;
    let mut line = String::new();
    BufReader::new(stream.take(limits::GREETING_BYTES_MAX)).read_line(&mut line)?;
    Ok(line)
}

/// The only subject of the stream.
fn subject(prefix: &str) -> String {
    format!("{prefix}.hub")
}

fn read_addresses(url: &str) -> Result<Vec<ServerAddr>, Error> {
    let read = |one: &str| {
        let address: ServerAddr = one.trim().parse().map_err(|cause: std::io::Error| {
            Error::Address { url: one.trim().to_owned(), cause: cause.to_string() }
        })?;
        if address.has_user_pass() { Err(Error::SecretInAddress) } else { Ok(address) }
    };
    url.split(',').map(read).collect()
}

/// A client that keeps trying to connect as long as it lives.
async fn connect(
    options: &Options,
    random: &Random,
    link: &Arc<watch::Sender<LinkState>>,
) -> Result<async_nats::Client, Error> {
    let (link, jitter) = (Arc::clone(link), random.clone());
    let mut connect = ConnectOptions::new()
        .name("nagaya")
        .retry_on_initial_connect()
        .connection_timeout(limits::CONNECT_WITHIN)
        .request_timeout(Some(limits::ANSWER_WITHIN))
        .reconnect_delay_callback(move |tries| {
            let longest = limits::CONNECT_AGAIN_MAX.min(limits::TRY_AGAIN * tries.min(100) as u32);
            // Instances that lost the same server do not reconnect at one moment.
            longest / 2 + jitter.jitter(longest / 2)
        })
        .event_callback(move |event| {
            note(&link, event);
            std::future::ready(())
        });
    if let (Some(user), Some(password)) = (&options.nats_user, &options.nats_password) {
        connect = connect.user_and_password(user.clone(), password.clone());
    }
    if let Some(path) = &options.nats_ca_file {
        connect = connect.add_root_certificates(path.clone());
    }
    let addresses = read_addresses(&options.nats_url)?;
    connect.connect(addresses).await.map_err(|cause| Error::Connection(cause.to_string()))
}

/// Records an event of the client.
fn note(link: &watch::Sender<LinkState>, event: Event) {
    match event {
        Event::Connected => {
            tracing::info!("connected to NATS");
            link.send_replace(LinkState::Connected);
        }
        Event::Disconnected => set_away(link, "the connection is gone"),
        Event::Closed => set_away(link, "the connection is closed"),
        Event::ServerError(error) => tracing::warn!(%error, "NATS refuses something"),
        Event::ClientError(error) => {
            if *link.borrow() != LinkState::Open {
                set_away(link, &error.to_string());
            }
        }
        Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {
            tracing::info!(%event, "NATS");
        }
    }
}

fn set_away(link: &watch::Sender<LinkState>, cause: &str) {
    let is_new = link.send_if_modified(|link| {
        let away = LinkState::Away(cause.to_owned());
        std::mem::replace(link, away.clone()) != away
    });
    if is_new {
        tracing::warn!(cause, "NATS is out of reach");
    }
}

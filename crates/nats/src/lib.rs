//! NATS as the hub's carrier: instances of the house share one JetStream stream, whose order is
//! everybody's order.
//!
//! A push becomes one message of the stream. The stream's sequence number is the push's offset and
//! the moment at which the stream was made is the epoch, so a reader may leave one instance and
//! come back to another. Every instance reads the whole stream, its own pushes included, and hands
//! each message to its hub in the order of the stream.
//!
//! Invariants:
//! - a hub gets every message behind the place where it began, once and in order; or it is told
//!   that some are lost, and tells its readers of the gap;
//! - a push that could not be published is followed, once it can, by a word about it to all;
//! - a stream that was made anew, or whose end is gone, is another numbering: readers are cut off,
//!   and told when they come back;
//! - publishing waits for nobody: what does not fit into the bounded queue counts as lost;
//! - while the server is away the house is open. Its pushes wait, and readers hear nothing.
//!
//! The crate stands apart because `hub` knows no socket and `edge` no broker. The queue to the
//! stream is `publish.rs`, the way back `listen.rs`, the bytes between them `frame.rs`.

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

/// What an instance knows of its server.
#[derive(Clone, Debug)]
pub struct Nats {
    link: watch::Receiver<Link>,
    #[cfg(test)]
    outbox: Outbox,
}

/// How far the way to the stream is open.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Link {
    /// There is no connection, or it does not do; why.
    Away(String),
    /// There is a connection.
    Connected,
    /// The stream is there and read.
    Open,
}

impl Nats {
    /// Looks at the settings, without asking any server.
    ///
    /// # Errors
    /// They cannot be used.
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

    /// Looks whether the server is there, as a diagnosis: what is good about it, or bad.
    ///
    /// # Errors
    /// No server answers, or one without JetStream.
    pub fn visit(options: &Options) -> Result<String, String> {
        match options.carrier {
            Carrier::Process => return Ok("this house stands alone, without NATS".to_owned()),
            Carrier::Nats => {}
        }
        let addresses = read_addresses(&options.nats_url).map_err(|error| error.to_string())?;
        let mut said = Vec::new();
        for address in addresses {
            let place = format!("{}:{}", address.host(), address.port());
            match greeting(&place) {
                Ok(hello) if hello.contains(r#""jetstream":true"#) => {
                    return Ok(format!("NATS answers at {place}, with JetStream"));
                }
                Ok(hello) if hello.starts_with("INFO ") => {
                    said.push(format!("NATS at {place} has no JetStream; start it with `-js`"));
                }
                Ok(_) => said.push(format!("what answers at {place} is not NATS")),
                Err(cause) => said.push(format!("NATS does not answer at {place}: {cause}")),
            }
        }
        Err(said.join("; "))
    }

    /// A hub whose pushes go through the server. Waits a moment for it, and goes on without: then
    /// it is looked for until it is there.
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
        let never = Link::Away("there was no connection yet".to_owned());
        let (link, seen) = watch::channel(never);
        let link = Arc::new(link);
        let client = connect(options, random, &link).await?;
        let (outbox, waiting) = publish::queue();
        let wire = Arc::new(Wire {
            epoch: AtomicU64::new(random.next_u64()),
            head: AtomicU64::new(0),
            outbox,
        });
        let hub = Hub::with_carrier(clock, random, tasks, Arc::clone(&wire) as _);
        let mut context = jetstream::new(client);
        context.set_timeout(limits::ANSWER_WITHIN);
        let subject = subject(&options.nats_prefix);
        publish::start(context.clone(), subject, waiting, &wire.outbox, &link, clock, tasks);
        let listener = listen::Listener {
            context,
            prefix: options.nats_prefix.clone(),
            wire,
            hub: hub.clone(),
            link: Arc::clone(&link),
            random: random.clone(),
        };
        #[cfg(test)]
        let outbox = listener.wire.outbox.clone();
        listener.start(clock, tasks);
        let nats = Nats {
            link: seen,
            #[cfg(test)]
            outbox,
        };
        let opened = nats.clone();
        let opened =
            async move { opened.link.clone().wait_for(|link| *link == Link::Open).await.is_ok() };
        if clock.timeout(limits::START_WITHIN, opened).await.is_err() {
            let reason = nats.trouble();
            tracing::warn!(reason, "the house opens without NATS and looks for it");
        }
        Ok((hub, nats))
    }

    /// Why pushes of this instance wait, and those of others do not come; `None` while they do.
    pub fn trouble(&self) -> Option<String> {
        match &*self.link.borrow() {
            Link::Open => None,
            Link::Connected => Some("the stream of NATS is not open yet".to_owned()),
            Link::Away(cause) => Some(format!("NATS is out of reach: {cause}")),
        }
    }

    /// Waits until [`Nats::trouble`] may say something else.
    pub async fn changed(&mut self) {
        if self.link.changed().await.is_err() {
            // Its tasks are over, and nothing changes any more.
            std::future::pending().await
        }
    }
}

/// The hub's side of the carrier.
struct Wire {
    epoch: AtomicU64,
    /// The newest number that this instance has handed to its hub.
    head: AtomicU64,
    outbox: Outbox,
}

impl hub::Carrier for Wire {
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

impl Wire {
    /// Goes on behind this number of a numbering; whether it is another than before.
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

/// The first line that a server says.
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

/// A client that looks for its server for as long as it lives.
async fn connect(
    options: &Options,
    random: &Random,
    link: &Arc<watch::Sender<Link>>,
) -> Result<async_nats::Client, Error> {
    let (link, jitter) = (Arc::clone(link), random.clone());
    let mut connect = ConnectOptions::new()
        .name("nagaya")
        .retry_on_initial_connect()
        .connection_timeout(limits::CONNECT_WITHIN)
        .request_timeout(Some(limits::ANSWER_WITHIN))
        .reconnect_delay_callback(move |tries| {
            let longest = limits::CONNECT_AGAIN_MAX.min(limits::TRY_AGAIN * tries.min(100) as u32);
            // Instances that lost one server do not come back at one moment.
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

/// Notes what the client says of its connection.
fn note(link: &watch::Sender<Link>, event: Event) {
    match event {
        Event::Connected => {
            tracing::info!("connected to NATS");
            link.send_replace(Link::Connected);
        }
        Event::Disconnected => set_away(link, "the connection is gone"),
        Event::Closed => set_away(link, "the connection is closed"),
        Event::ServerError(error) => tracing::warn!(%error, "NATS refuses something"),
        Event::ClientError(error) => {
            if *link.borrow() != Link::Open {
                set_away(link, &error.to_string());
            }
        }
        Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {
            tracing::info!(%event, "NATS");
        }
    }
}

fn set_away(link: &watch::Sender<Link>, cause: &str) {
    let is_new = link.send_if_modified(|link| {
        let away = Link::Away(cause.to_owned());
        std::mem::replace(link, away.clone()) != away
    });
    if is_new {
        tracing::warn!(cause, "NATS is out of reach");
    }
}

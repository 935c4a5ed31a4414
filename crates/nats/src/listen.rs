//! The reading side: from the stream to the hub.
//!
//! After every connect, the listener opens the stream and compares it with what this instance
//! knows: whether it is the same stream, and whether it still has the next message. Then it reads
//! on from the highest number that the hub has, until the connection breaks or a message is
//! missing.

use std::sync::Arc;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::{self, DiscardPolicy};
use async_nats::jetstream::{Context, Message};
use base::{Clock, Random, Tasks};
use futures_util::StreamExt;
use hub::{Carrier as _, Hub, Text};
use tokio::sync::watch;

use crate::frame::{self, Frame};
use crate::{LinkState, StreamCarrier, limits, set_away, subject};

pub(crate) struct Listener {
    pub(crate) context: Context,
    pub(crate) prefix: String,
    pub(crate) carrier: Arc<StreamCarrier>,
    pub(crate) hub: Hub,
    pub(crate) link: Arc<watch::Sender<LinkState>>,
    pub(crate) random: Random,
}

impl Listener {
    /// Reads the stream until shutdown.
    pub(crate) fn start(self, clock: &Clock, tasks: &Tasks) {
        let (clock, shutdown) = (clock.clone(), tasks.shutdown().begun());
        let reading = async move {
            let mut link = self.link.subscribe();
            loop {
                if link.wait_for(|link| *link == LinkState::Connected).await.is_err() {
                    return;
                }
                let cause = self.read().await;
                self.close(&cause);
                clock.sleep(limits::TRY_AGAIN).await;
                // A connection that survived is used again.
                self.link.send_if_modified(|link| self.reopen(link));
            }
        };
        tasks.spawn("nats listener", async move {
            tokio::select! {
                biased;
                () = shutdown => {}
                () = reading => {}
            }
        });
    }

    /// Reads as long as possible; returns why it stopped.
    async fn read(&self) -> String {
        match self.open().await {
            Ok(messages) => self.follow(messages).await,
            Err(cause) => cause,
        }
    }

    async fn open(&self) -> Result<pull::Stream, String> {
        let config = stream::Config {
            name: self.prefix.clone(),
            subjects: vec![subject(&self.prefix)],
            max_age: limits::KEPT_FOR,
            max_bytes: limits::KEPT_BYTES,
            discard: DiscardPolicy::Old,
            ..stream::Config::default()
        };
        let stream = self.context.get_or_create_stream(config).await;
        let stream = stream.map_err(|cause| cause.to_string())?;
        self.check_position(stream.cached_info());
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: self.carrier.head() + 1,
            },
            ack_policy: AckPolicy::None,
            inactive_threshold: limits::READER_GONE,
            memory_storage: true,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.map_err(|cause| cause.to_string())?;
        let messages = consumer
            .stream()
            .max_messages_per_batch(limits::READ_AHEAD)
            .heartbeat(limits::HEARTBEAT)
            .expires(limits::REQUEST_FOR);
        messages.messages().await.map_err(|cause| cause.to_string())
    }

    /// Compares the position of this instance with the current stream.
    fn check_position(&self, info: &stream::Info) {
        let (head, newest) = (self.carrier.head(), info.state.last_sequence);
        let mut epoch = epoch_of(info);
        if epoch == self.carrier.epoch() && newest < head {
            // NATS came back without the end of the stream and will use numbers twice, so all
            // earlier positions are void.
            epoch = self.random.next_u64();
        }
        if self.carrier.set_numbering(epoch, newest) {
            tracing::info!(newest, "pushes are numbered by the stream");
            self.hub.renumber();
        } else if info.state.first_sequence > head + 1 {
            let lost_until = info.state.first_sequence - 1;
            tracing::warn!(
                after = head,
                lost_until,
                "the stream has removed pushes that were not read yet"
            );
            self.hub.lose(lost_until);
            self.carrier.set_head(lost_until);
        }
    }

    async fn follow(&self, mut messages: pull::Stream) -> String {
        if !self.link.send_if_modified(open) {
            return "the connection broke".to_owned();
        }
        metrics::gauge!("nagaya_nats_connected").set(1.0);
        let mut link = self.link.subscribe();
        let mut is_first = true;
        loop {
            let message = tokio::select! {
                biased;
                _ = link.wait_for(|link| *link != LinkState::Open) => return "the connection broke".to_owned(),
                message = messages.next() => message,
            };
            let message = match message {
                Some(Ok(message)) => message,
                Some(Err(cause)) => return cause.to_string(),
                None => return "the stream ended".to_owned(),
            };
            if let Err(cause) = self.take(&message, is_first) {
                return cause;
            }
            is_first = false;
        }
    }

    /// Delivers one message to the hub; an error means that reading must start again.
    fn take(&self, message: &Message, is_first: bool) -> Result<(), String> {
        let number = message.info().map_err(|cause| cause.to_string())?.stream_sequence;
        let head = self.carrier.head();
        if number <= head {
            return Ok(());
        }
        if number > head + 1 {
            if !is_first {
                return Err(format!("message {} is missing", head + 1));
            }
            // The request named this number, so the stream no longer has it.
            self.hub.lose(number - 1);
        }
        match frame::read(&message.payload) {
            Some(Frame::Push { topic, text }) => {
                self.hub.deliver(topic, || number, Text::from(text.to_owned()));
            }
            Some(Frame::Lost) => self.hub.lose(number),
            None => {
                metrics::counter!("nagaya_nats_malformed_total").increment(1);
                tracing::warn!(number, "the stream holds a message that no instance wrote");
            }
        }
        self.carrier.set_head(number);
        Ok(())
    }

    /// Reports why nothing is read.
    fn close(&self, cause: &str) {
        metrics::gauge!("nagaya_nats_connected").set(0.0);
        set_away(&self.link, cause);
    }

    fn reopen(&self, link: &mut LinkState) -> bool {
        let is_connected =
            self.context.client().connection_state() == async_nats::connection::State::Connected;
        let again = is_connected && matches!(link, LinkState::Away(_));
        if again {
            *link = LinkState::Connected;
        }
        again
    }
}

/// Marks a connected link as open; returns whether it was connected.
fn open(link: &mut LinkState) -> bool {
    let is_connected = *link == LinkState::Connected;
    if is_connected {
        *link = LinkState::Open;
    }
    is_connected
}

/// The identity of a stream: its time of creation in nanoseconds.
fn epoch_of(info: &stream::Info) -> u64 {
    // A stream that is created again has another time, which is all that an epoch needs.
    let nanos = info.created.unix_timestamp_nanos();
    u64::try_from(nanos.rem_euclid(i128::from(u64::MAX))).unwrap_or(0)
}

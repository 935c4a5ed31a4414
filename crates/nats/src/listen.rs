//! From the stream to the hub.
//!
//! Every time that the connection is there, the stream is opened and looked at: whether it is the
//! one that this instance knows, and whether it still has what comes next. Then it is read behind
//! the newest number that the hub has, until the connection breaks or something does not follow.

use std::sync::Arc;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::{self, DiscardPolicy};
use async_nats::jetstream::{Context, Message};
use base::{Clock, Random, Tasks};
use futures_util::StreamExt;
use hub::{Carrier as _, Hub, Text};
use tokio::sync::watch;

use crate::frame::{self, Frame};
use crate::{Link, Wire, limits, set_away, subject};

pub(crate) struct Listener {
    pub(crate) context: Context,
    pub(crate) prefix: String,
    pub(crate) wire: Arc<Wire>,
    pub(crate) hub: Hub,
    pub(crate) link: Arc<watch::Sender<Link>>,
    pub(crate) random: Random,
}

impl Listener {
    /// Reads the stream until the tasks shut down.
    pub(crate) fn start(self, clock: &Clock, tasks: &Tasks) {
        let (clock, shutdown) = (clock.clone(), tasks.shutdown().begun());
        let reading = async move {
            let mut link = self.link.subscribe();
            loop {
                if link.wait_for(|link| *link == Link::Connected).await.is_err() {
                    return;
                }
                let cause = self.read().await;
                self.close(&cause);
                clock.sleep(limits::TRY_AGAIN).await;
                // A connection that held is used again.
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

    /// Reads for as long as it can; why it could not go on.
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
        self.find_place(stream.cached_info());
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.wire.head() + 1 },
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

    /// Where this instance stands in the stream as it is now.
    fn find_place(&self, info: &stream::Info) {
        let (head, newest) = (self.wire.head(), info.state.last_sequence);
        let mut epoch = epoch_of(info);
        if epoch == self.wire.epoch() && newest < head {
            // The server came back without its end, and will give numbers out twice: positions
            // of before are worth nothing.
            epoch = self.random.next_u64();
        }
        if self.wire.set_numbering(epoch, newest) {
            tracing::info!(newest, "pushes are numbered by the stream");
            self.hub.renumber();
        } else if info.state.first_sequence > head + 1 {
            let lost_until = info.state.first_sequence - 1;
            tracing::warn!(after = head, lost_until, "the stream has let go of pushes");
            self.hub.lose(lost_until);
            self.wire.set_head(lost_until);
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
                _ = link.wait_for(|link| *link != Link::Open) => return "the connection broke".to_owned(),
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

    /// Hands one message to the hub; why what follows cannot be believed.
    fn take(&self, message: &Message, is_first: bool) -> Result<(), String> {
        let number = message.info().map_err(|cause| cause.to_string())?.stream_sequence;
        let head = self.wire.head();
        if number <= head {
            return Ok(());
        }
        if number > head + 1 {
            if !is_first {
                return Err(format!("message {} did not come", head + 1));
            }
            // It was asked for by its number, so it is not there.
            self.hub.lose(number - 1);
        }
        match frame::read(&message.payload) {
            Some(Frame::Push { topic, text }) => {
                self.hub.deliver(topic, || number, Text::from(text.to_owned()));
            }
            Some(Frame::Lost) => self.hub.lose(number),
            None => {
                metrics::counter!("nagaya_nats_malformed_total").increment(1);
                tracing::warn!(number, "the stream holds what no instance wrote");
            }
        }
        self.wire.set_head(number);
        Ok(())
    }

    /// Says why nothing is read.
    fn close(&self, cause: &str) {
        metrics::gauge!("nagaya_nats_connected").set(0.0);
        set_away(&self.link, cause);
    }

    fn reopen(&self, link: &mut Link) -> bool {
        let is_connected =
            self.context.client().connection_state() == async_nats::connection::State::Connected;
        let again = is_connected && matches!(link, Link::Away(_));
        if again {
            *link = Link::Connected;
        }
        again
    }
}

/// Opens a way that is connected; whether it was.
fn open(link: &mut Link) -> bool {
    let is_connected = *link == Link::Connected;
    if is_connected {
        *link = Link::Open;
    }
    is_connected
}

/// A stream's identity: when it was made, to the nanosecond.
fn epoch_of(info: &stream::Info) -> u64 {
    // A stream of another life has another moment, which is all that is asked of an epoch.
    let nanos = info.created.unix_timestamp_nanos();
    u64::try_from(nanos.rem_euclid(i128::from(u64::MAX))).unwrap_or(0)
}

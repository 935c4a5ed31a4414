//! Streams: what the hub pushes, over WebSocket, server-sent events or long-poll.
//!
//! All three read the same subscription, so that order, gaps and positions are the same whatever a
//! client can speak. A room says what is followed and how a message is answered; how bytes leave
//! is known here only. WebSocket is `socket.rs`, events are `sse.rs`, long-poll is `poll.rs`.

mod options;

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use base::{Clock, Random};
use hub::{Channel, Cursor, Deliveries, Follow, Hub, Joined, QueueLimits, Since, Subscriber, Text};
pub use options::StreamOptions;

use crate::Failure;

/// Runs the house's streams. Clones share their settings.
#[derive(Clone, Debug)]
pub struct Streams {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) hub: Hub,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) queue: QueueLimits,
    pub(crate) message_bytes_max: usize,
    pub(crate) ping: Duration,
    pub(crate) idle: Duration,
    pub(crate) close_spread: Duration,
    pub(crate) send_buffer_bytes: usize,
}

/// A topic that a stream of events or a poll follows.
#[derive(Clone, Debug)]
pub struct Want {
    /// The channel.
    pub channel: Channel,
    /// The topic in it.
    pub topic: String,
    /// How; where to begin is taken from the request.
    pub follow: Follow,
}

impl Streams {
    /// Streams of this hub, within these bounds.
    pub fn new(options: &StreamOptions, hub: &Hub, clock: &Clock, random: &Random) -> Streams {
        let shared = Shared {
            hub: hub.clone(),
            clock: clock.clone(),
            random: random.fork("streams"),
            queue: QueueLimits { pushes: options.queue_pushes_max, bytes: options.queue_bytes_max },
            message_bytes_max: options.message_bytes_max,
            ping: Duration::from_secs(options.ping_seconds),
            idle: Duration::from_secs(options.idle_seconds),
            close_spread: Duration::from_secs(options.close_spread_seconds),
            send_buffer_bytes: options.send_buffer_bytes,
        };
        Streams { shared: Arc::new(shared) }
    }

    /// The same streams, with signs of life and bounds of silence of a room's own.
    #[must_use]
    pub fn paced(&self, ping: Duration, idle: Duration) -> Streams {
        Streams { shared: Arc::new(Shared { ping, idle, ..(*self.shared).clone() }) }
    }

    /// Follows all that is wanted, each from its place in the cursor.
    pub(crate) fn follow(
        &self,
        wants: &[Want],
        after: Option<&Cursor>,
        greet: impl Fn(&Want) -> Option<Text>,
    ) -> Result<Reading, Failure> {
        if let Some(Cursor(positions)) = after.filter(|cursor| cursor.0.len() != wants.len()) {
            let (has, wants) = (positions.len(), wants.len());
            let message = format!("the cursor has {has} positions for {wants} topics");
            return Err(bad_cursor(message));
        }
        let (subscriber, deliveries) = self.shared.hub.subscriber(self.shared.queue);
        let mut reading = Reading { subscriber, deliveries, joined: Vec::new() };
        for (index, want) in wants.iter().enumerate() {
            let position = after.and_then(|cursor| cursor.0.get(index));
            let since = position.map_or(want.follow.since, |position| Since::After(*position));
            let follow = Follow { since, ..want.follow.clone() };
            let greeting = |joined: &Joined| {
                let resumes = after.is_some() && !joined.gap;
                if resumes { None } else { greet(want) }
            };
            let joined = reading.subscriber.follow(&want.channel, &want.topic, follow, greeting);
            reading.joined.push(joined.map_err(refused)?);
        }
        Ok(reading)
    }
}

/// What a stream of events or a poll reads.
pub(crate) struct Reading {
    pub(crate) subscriber: Subscriber,
    pub(crate) deliveries: Deliveries,
    /// By the order in which topics were wanted.
    pub(crate) joined: Vec<Joined>,
}

impl Reading {
    /// Where a client that has read everything taken so far resumes.
    pub(crate) fn cursor(&self) -> Cursor {
        let standings = self.deliveries.positions();
        Cursor(standings.into_iter().map(|standing| standing.position).collect())
    }

    /// Whether a topic could not be resumed from where the client stood.
    pub(crate) fn has_gap(&self) -> bool {
        self.joined.iter().any(|joined| joined.gap)
    }
}

/// The cursor that a client sent.
pub(crate) fn read_cursor(text: &str) -> Result<Cursor, Failure> {
    text.parse().map_err(|error: hub::Error| bad_cursor(error.to_string()))
}

fn bad_cursor(message: String) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "bad_cursor", message)
        .in_japanese("カーソルが正しくありません")
}

fn refused(error: hub::Error) -> Failure {
    let status = match error {
        hub::Error::TooManySubscriptions { .. }
        | hub::Error::TopicTooLong { .. }
        | hub::Error::NotAPosition(_) => StatusCode::BAD_REQUEST,
        hub::Error::Closed => StatusCode::SERVICE_UNAVAILABLE,
    };
    Failure::new(status, "bad_subscription", error.to_string())
        .in_japanese("この配信は受け取れません")
}

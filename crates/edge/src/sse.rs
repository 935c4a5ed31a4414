//! Server-sent events: what the hub pushes, for whoever can only read.
//!
//! Every push is an event whose id is the reader's cursor behind it, so that a browser that comes
//! back with `Last-Event-ID` goes on where it stood. A stream begins with its cursor; lost pushes
//! are an event `gap`, behind which a stream that greets its readers greets them again; when the
//! house closes, the last event is `leave` with the cursor, and the
//! browser comes back by itself.
//!
//! A room that numbers its pushes itself uses [`Streams::events_numbered`]: then the ids are the
//! room's numbers, which outlive the hub's memory, and what the hub has forgotten the room gives
//! from its own log.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hub::{Cursor, Item, Position, Subscription, Text};
use hyper::body::{Body as HttpBody, Frame};

use crate::streams::{Reading, Shared, read_cursor};
use crate::{Draining, Failure, Streams, Want};

/// What one chunk of the answer gathers.
const CHUNK_BYTES: usize = 16 * 1024;

/// How long a browser waits before it comes back: long enough for a restart, short enough to be
/// overlooked.
const RETRY: Duration = Duration::from_secs(2);

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Follows all topics from now on, with their greetings.
type Again = Box<dyn Fn() -> Option<Reading> + Send>;

impl Streams {
    /// Answers with a stream of events of all that is wanted.
    ///
    /// # Errors
    /// `Last-Event-ID` is no cursor for these topics, or a topic cannot be followed.
    pub fn events(
        &self,
        headers: &HeaderMap,
        draining: &Draining,
        wants: &[Want],
    ) -> Result<Response, Failure> {
        let last = last_event(headers)?;
        let reading = self.follow(wants, last.as_ref(), |_| None)?;
        Ok(Events::new(reading, self.shared.clone(), draining).answer())
    }

    /// The same, until `end`: then the reader is told to leave, as when the house closes.
    ///
    /// # Errors
    /// `Last-Event-ID` is no cursor for these topics, or a topic cannot be followed.
    pub fn events_until(
        &self,
        headers: &HeaderMap,
        draining: &Draining,
        wants: &[Want],
        end: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Response, Failure> {
        let last = last_event(headers)?;
        let reading = self.follow(wants, last.as_ref(), |_| None)?;
        let mut events = Events::new(reading, self.shared.clone(), draining);
        events.end = Box::pin(end);
        Ok(events.answer())
    }

    /// The same, with a first event for whoever does not resume: `greet` makes it while the topic
    /// stands still, so that every push behind it is one that it does not know. It must not come
    /// back to the hub. Where pushes were lost it is made again, and the stream goes on behind it.
    ///
    /// # Errors
    /// `Last-Event-ID` is no cursor for these topics, or a topic cannot be followed.
    pub fn greeted_events(
        &self,
        headers: &HeaderMap,
        draining: &Draining,
        wants: &[Want],
        greet: impl Fn(&Want) -> Option<Text> + Send + 'static,
    ) -> Result<Response, Failure> {
        let last = last_event(headers)?;
        let reading = self.follow(wants, last.as_ref(), &greet)?;
        let mut events = Events::new(reading, self.shared.clone(), draining);
        let (streams, wants) = (self.clone(), wants.to_vec());
        events.again = Some(Box::new(move || streams.follow(&wants, None, &greet).ok()));
        Ok(events.answer())
    }

    /// Answers with a stream of events whose pushes are `number text`: the number is the event's id,
    /// the text its data. A text that is JSON by itself has no number: it counts only now, and who
    /// comes back does not miss it. `before` are such texts from the room's own log, told first;
    /// `wants` say where the topics go on behind them, that with the numbers first.
    ///
    /// # Errors
    /// A topic cannot be followed.
    pub fn events_numbered(
        &self,
        draining: &Draining,
        wants: &[Want],
        before: &[Text],
    ) -> Result<Response, Failure> {
        let reading = self.follow(wants, None, |_| None)?;
        let has_gap = reading.has_gap();
        let mut events = Events::new(reading, self.shared.clone(), draining);
        events.number = Some(String::new());
        let mut head = format!("retry: {}\n\n", RETRY.as_millis()).into_bytes();
        for text in before {
            events.append_numbered(&mut head, text);
        }
        if has_gap {
            head.extend_from_slice(b"event: gap\ndata: {}\n\n");
        }
        events.head = Some(Bytes::from(head));
        Ok(events.answer())
    }
}

/// Where a browser that comes back stood.
fn last_event(headers: &HeaderMap) -> Result<Option<Cursor>, Failure> {
    let last = headers.get("last-event-id").filter(|value| !value.is_empty());
    last.map(|value| read_cursor(value.to_str().unwrap_or("?"))).transpose()
}

/// The body of such an answer.
struct Events {
    reading: Reading,
    streams: Arc<Shared>,
    cursor: Vec<(Subscription, Position)>,
    /// The last number, where the room gives numbers.
    number: Option<String>,
    head: Option<Bytes>,
    /// How a stream that greets goes on behind a gap.
    again: Option<Again>,
    tick: Wait,
    drain: Wait,
    /// When the room wants it to end.
    end: Wait,
    is_draining: bool,
    is_over: bool,
}

impl Events {
    fn new(reading: Reading, streams: Arc<Shared>, draining: &Draining) -> Events {
        let cursor = standings(&reading);
        let mut head = format!("retry: {}\nid: {}\n\n", RETRY.as_millis(), reading.cursor());
        if reading.has_gap() {
            head.push_str("event: gap\ndata: {}\n\n");
        }
        Events {
            reading,
            cursor,
            number: None,
            head: Some(Bytes::from(head)),
            again: None,
            tick: Box::pin(streams.clock.sleep(streams.ping)),
            drain: Box::pin(draining.begun()),
            end: Box::pin(std::future::pending()),
            is_draining: false,
            is_over: false,
            streams,
        }
    }

    fn answer(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            // Proxies that gather answers would hold events back.
            (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        (headers, Body::new(self)).into_response()
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(head) = self.head.take() {
            return Poll::Ready(Some(head));
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        let mut items = Vec::new();
        match self.reading.deliveries.poll_take(context, CHUNK_BYTES, &mut items) {
            Poll::Ready(Ok(())) => {
                let mut bytes = Vec::new();
                for item in items {
                    let is_gap = matches!(item, Item::Gap(_));
                    self.append(&mut bytes, item);
                    // What waits behind the gap is part of the greeting.
                    if is_gap && self.begins_again(&mut bytes) {
                        break;
                    }
                }
                return Poll::Ready(Some(Bytes::from(bytes)));
            }
            Poll::Ready(Err(_)) => return Poll::Ready(Some(self.leave())),
            Poll::Pending => {}
        }
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(self.leave()));
        }
        if self.tick.as_mut().poll(context).is_ready() {
            self.tick = Box::pin(self.streams.clock.sleep(self.streams.ping));
            context.waker().wake_by_ref();
            return Poll::Ready(Some(Bytes::from_static(b":\n\n")));
        }
        loop {
            ready!(self.drain.as_mut().poll(context));
            if self.is_draining {
                return Poll::Ready(Some(self.leave()));
            }
            self.is_draining = true;
            let turn = self.streams.random.jitter(self.streams.close_spread);
            self.drain = Box::pin(self.streams.clock.sleep(turn));
        }
    }

    fn append(&mut self, bytes: &mut Vec<u8>, item: Item) {
        match item {
            Item::Push { text, .. } if self.number.is_some() => self.append_numbered(bytes, &text),
            Item::Push { subscription, position, text, envelope } => {
                let mine = self.cursor.iter_mut().find(|(of, _)| *of == subscription);
                if let Some((_, at)) = mine {
                    *at = position;
                }
                bytes.extend_from_slice(format!("id: {}\n", self.cursor()).as_bytes());
                match envelope {
                    None => append_data(bytes, &[&text]),
                    Some(around) => {
                        let stamp = around.stamp_at(position);
                        append_data(bytes, &[&around.prefix, &text, &stamp, &around.suffix]);
                    }
                }
            }
            // What counts only now is not missed.
            Item::Gap(gap) if self.number.is_some() && !self.is_first(gap.subscription) => {}
            Item::Gap(gap) => {
                let event = format!(
                    "event: gap\ndata: {{\"after\":\"{}\",\"missed\":{}}}\n\n",
                    gap.after, gap.missed
                );
                bytes.extend_from_slice(event.as_bytes());
            }
            Item::Reply(text) => append_data(bytes, &[&text]),
        }
    }

    /// Whether the stream goes on with a greeting. No id is told before it: who is cut off in
    /// between comes back with the old one, and is greeted then.
    fn begins_again(&mut self, bytes: &mut Vec<u8>) -> bool {
        let Some(again) = &self.again else { return false };
        match again() {
            Some(reading) => {
                self.cursor = standings(&reading);
                self.reading = reading;
            }
            None => bytes.extend_from_slice(&self.leave()),
        }
        true
    }

    /// A push that says its own number.
    fn append_numbered(&mut self, bytes: &mut Vec<u8>, text: &Text) {
        if text.as_str().starts_with('{') {
            return append_data(bytes, &[text]);
        }
        let (number, data) = text.as_str().split_once(' ').unwrap_or(("", text.as_str()));
        bytes.extend_from_slice(format!("id: {number}\n").as_bytes());
        append_data(bytes, &[&Text::from(data.to_owned())]);
        self.number = Some(number.to_owned());
    }

    fn is_first(&self, subscription: Subscription) -> bool {
        self.cursor.first().is_some_and(|(first, _)| *first == subscription)
    }

    fn cursor(&self) -> Cursor {
        Cursor(self.cursor.iter().map(|(_, position)| *position).collect())
    }

    fn leave(&mut self) -> Bytes {
        self.is_over = true;
        let cursor = match &self.number {
            Some(number) => number.clone(),
            None => self.reading.cursor().to_string(),
        };
        // An empty id would make the browser forget where it stood.
        let id = if cursor.is_empty() { String::new() } else { format!("id: {cursor}\n") };
        Bytes::from(format!("event: leave\n{id}data: {{\"resumeFrom\":\"{cursor}\"}}\n\n"))
    }
}

/// Where a stream stands that has told nothing yet.
fn standings(reading: &Reading) -> Vec<(Subscription, Position)> {
    let standings = reading.deliveries.positions();
    standings.iter().map(|standing| (standing.subscription, standing.position)).collect()
}

/// A text may have lines, each of which needs its own word.
fn append_data(bytes: &mut Vec<u8>, parts: &[&Text]) {
    bytes.extend_from_slice(b"data: ");
    for byte in parts.iter().flat_map(|part| part.as_bytes()) {
        match byte {
            b'\n' => bytes.extend_from_slice(b"\ndata: "),
            b'\r' => {}
            _ => bytes.push(*byte),
        }
    }
    bytes.extend_from_slice(b"\n\n");
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.get_mut().poll_chunk(context).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
    }
}

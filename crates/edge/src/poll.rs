//! Long-poll: what the hub pushes, for whoever sits behind a proxy that lets nothing else through.
//!
//! A client asks without a cursor and is told where the topics stand; then it asks with the cursor
//! of the last answer, again and again, and each answer holds what came after it, in order:
//! `{"cursor":"5f3a-17","gap":false,"pushes":[…]}`. Between two polls history keeps what comes; if
//! that was not enough, `gap` says so.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hub::{Item, Text};

use crate::streams::{Reading, read_cursor};
use crate::{Draining, Failure, Streams, Want};

/// The longest wait. Proxies give up after 30 seconds, and so does the house.
pub(crate) const POLL_WAIT_MAX: Duration = Duration::from_secs(25);

/// What one answer holds. The next one brings the rest.
const ANSWER_BYTES: usize = 256 * 1024;

impl Streams {
    /// Answers with what came after the cursor `after`, at once or when something comes, but not
    /// later than `wait`, the bound of 25 s, or the house's closing.
    ///
    /// # Errors
    /// `after` is no cursor for these topics, or a topic cannot be followed.
    pub async fn poll(
        &self,
        after: Option<&str>,
        wait: Duration,
        draining: &Draining,
        wants: &[Want],
    ) -> Result<Response, Failure> {
        let after = after.map(read_cursor).transpose()?;
        let mut reading = self.follow(wants, after.as_ref(), |_| None)?;
        let mut answer = Answer { gap: reading.has_gap(), pushes: Vec::new() };
        if after.is_some() && !answer.gap {
            let taken = tokio::select! {
                biased;
                taken = reading.deliveries.take(ANSWER_BYTES) => taken.unwrap_or_default(),
                () = self.shared.clock.sleep(wait.min(POLL_WAIT_MAX)) => Vec::new(),
                () = draining.begun() => Vec::new(),
            };
            taken.into_iter().for_each(|item| answer.add(item));
        }
        Ok(answer.response(&reading))
    }
}

struct Answer {
    gap: bool,
    /// The pushes, each behind a comma.
    pushes: Vec<u8>,
}

impl Answer {
    fn add(&mut self, item: Item) {
        match item {
            Item::Push { text, envelope: None, .. } | Item::Reply(text) => self.push(&[&text]),
            Item::Push { text, position, envelope: Some(around), .. } => {
                let stamp = around.stamp_at(position);
                self.push(&[&around.prefix, &text, &stamp, &around.suffix]);
            }
            Item::Gap(_) => self.gap = true,
        }
    }

    fn push(&mut self, parts: &[&Text]) {
        self.pushes.push(b',');
        parts.iter().for_each(|part| self.pushes.extend_from_slice(part.as_bytes()));
    }

    fn response(self, reading: &Reading) -> Response {
        let head = format!(r#"{{"cursor":"{}","gap":{},"pushes":["#, reading.cursor(), self.gap);
        let pushes = self.pushes.strip_prefix(b",").unwrap_or_default();
        let body = [head.as_bytes(), pushes, b"]}"].concat();
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ];
        (headers, Body::from(body)).into_response()
    }
}

//! Requests that may be sent twice and are done once.
//!
//! A request with an `Idempotency-Key` is marked as running in the table before its handler runs,
//! and its answer is kept there afterwards. The same key of the same subject on the same method and
//! path gets the same answer for a day; with another payload it is refused (422), and while the
//! first is running it is told to wait (409).
//!
//! Invariants: the mark is one conditional write, so of all who come at once, to all instances, one
//! runs the handler. A mark is a lease: whoever runs has until its end, gives up by then, and writes
//! its answer only while the mark is still its own. So a process that dies leaves a key that waits
//! for the rest of its lease and is then free again, for the same payload alone. The handler runs
//! as a task of its own, so that a caller who hangs up does not leave half of it undone. Answers
//! that say "later" (429, 5xx) are not kept: the mark is taken away again.
//!
//! What a handler did before its process died is done again by the next attempt. Handlers that
//! must not repeat even that make their effect depend on [`IdempotencyToken`], which is the same
//! for all attempts: as the token of a transaction, or as part of a key.

mod answer;
mod items;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use answer::Answer;
use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use base::{Cause, Clock, Ids, Tasks, hex};
use http_body_util::{BodyExt, Limited};
use items::{Begun, Marks};
use sha2::{Digest, Sha256};
use table::Tables;
use tokio::sync::oneshot;

use crate::limits::guard::{
    ASK_AGAIN, COMPARED_BYTES_MAX, HANDLER_TIME, IDEMPOTENCY_KEY_LETTERS_MAX,
};
use crate::{Client, Error, Failure, Subject};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Answers to requests with a key. Clones share them.
#[derive(Clone)]
pub struct Idempotency {
    shared: Arc<Shared>,
}

struct Shared {
    marks: Marks,
    clock: Clock,
    tasks: Tasks,
    /// Where the key stands, the first that is there.
    headers: Vec<HeaderName>,
}

/// What all attempts of one request have in common: 32 letters, unlike those of any other request.
/// An extension and an extractor behind [`Idempotency::guard`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyToken(pub Arc<str>);

impl Idempotency {
    /// Answers kept in these tables.
    pub fn new(tables: Arc<dyn Tables>, clock: &Clock, ids: Ids, tasks: &Tasks) -> Idempotency {
        let marks = Marks::new(tables, clock.clone(), ids);
        let headers = vec![IDEMPOTENCY_KEY];
        let shared = Shared { marks, clock: clock.clone(), tasks: tasks.clone(), headers };
        Idempotency { shared: Arc::new(shared) }
    }

    /// The same answers, for routes whose callers write the key into one more header.
    #[must_use]
    pub fn with_header(&self, name: &'static str) -> Idempotency {
        let Shared { marks, clock, tasks, headers } = &*self.shared;
        let mut headers = headers.clone();
        headers.push(HeaderName::from_static(name));
        let (marks, clock, tasks) = (marks.clone(), clock.clone(), tasks.clone());
        Idempotency { shared: Arc::new(Shared { marks, clock, tasks, headers }) }
    }

    /// The same answers, kept so long and no longer.
    #[must_use]
    pub fn keeping(&self, kept: Duration) -> Idempotency {
        let Shared { marks, clock, tasks, headers } = &*self.shared;
        let marks = marks.clone().keeping(kept);
        let (clock, tasks, headers) = (clock.clone(), tasks.clone(), headers.clone());
        Idempotency { shared: Arc::new(Shared { marks, clock, tasks, headers }) }
    }

    /// The key of a request, if it has one.
    ///
    /// # Errors
    /// What it has is no key.
    pub fn find_key(&self, headers: &HeaderMap) -> Result<Option<String>, Failure> {
        let given = self.shared.headers.iter().find_map(|name| headers.get(name));
        given.map(|given| key_of(given).ok_or_else(bad_key)).transpose()
    }

    /// The kept answer to an earlier request of this identity, for a handler that would decide
    /// otherwise by now. None if the request is new, or if what ran it is gone.
    ///
    /// # Errors
    /// It runs, it was done with another payload, or the store does not answer.
    pub async fn find(
        &self,
        identity: &[&[u8]],
        payload: &[&[u8]],
    ) -> Result<Option<Response>, Failure> {
        let found = self.shared.marks.find(&hashed(identity), &hashed(payload)).await;
        match found.map_err(unavailable)? {
            None | Some(Begun::Ours(_)) => Ok(None),
            Some(Begun::Running) => Err(in_flight()),
            Some(Begun::Other) => Err(other_payload()),
            Some(Begun::Done(answer)) => Ok(Some(answer.replayed())),
        }
    }

    /// Does `work` once, for a handler that must look at its request before a key is worth
    /// anything. `identity` is whose key it is and of what, `payload` what must be the same in a
    /// repetition.
    ///
    /// # Errors
    /// It runs, it was done with another payload, or nobody can tell.
    pub async fn once(
        &self,
        identity: &[&[u8]],
        payload: &[&[u8]],
        work: impl Future<Output = Response> + Send + 'static,
    ) -> Result<Response, Failure> {
        self.perform(hashed(identity), &hashed(payload), work).await
    }

    /// The routes, with answers kept for requests that carry a key. Who asks is the [`Subject`]
    /// that a layer in front has found, else the caller's address.
    pub fn guard(&self, routes: Router) -> Router {
        routes.layer(middleware::from_fn_with_state(self.clone(), pass))
    }

    async fn run(&self, request: Request, next: Next, key: String) -> Result<Response, Failure> {
        let (mut parts, body) = request.into_parts();
        let body = Limited::new(body, COMPARED_BYTES_MAX).collect().await;
        let body = body.map_err(|_| request_too_large())?.to_bytes();
        let id = identity(&parts, &key);
        let payload = payload(&parts, &body);
        parts.extensions.insert(IdempotencyToken(Arc::from(id.get(..32).unwrap_or(&id))));
        let request = Request::from_parts(parts, Body::from(body));
        self.perform(id, &payload, next.run(request)).await
    }

    async fn perform(
        &self,
        id: String,
        payload: &str,
        work: impl Future<Output = Response> + Send + 'static,
    ) -> Result<Response, Failure> {
        let owner = match self.shared.marks.begin(&id, payload).await.map_err(unavailable)? {
            Begun::Ours(owner) => owner,
            Begun::Running => return Err(in_flight()),
            Begun::Other => return Err(other_payload()),
            Begun::Done(answer) => return Ok(answer.replayed()),
        };
        let (sender, answered) = oneshot::channel();
        let (it, cause) = (self.clone(), Cause::current());
        self.shared.tasks.spawn("idempotent request", async move {
            let answer = Cause::during(cause, it.attempt(&id, &owner, work)).await;
            // A caller who has left finds the answer when it comes back.
            let _gone = sender.send(answer);
        });
        match answered.await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::ours("the request's handler failed")),
        }
    }

    /// Runs the handler, and keeps its answer.
    async fn attempt(
        &self,
        id: &str,
        owner: &str,
        work: impl Future<Output = Response>,
    ) -> Result<Response, Failure> {
        let answering = async { Answer::read(work.await).await };
        // What is not done by now is given up, because another attempt may begin soon.
        let answer = self.shared.clock.timeout(HANDLER_TIME, answering).await;
        let answer = answer.map_err(|_| Failure::ours("the request took too long"))?;
        let kept = if answer.says_later() {
            self.shared.marks.release(id, owner).await
        } else {
            self.shared.marks.finish(id, owner, &answer).await
        };
        match kept {
            Ok(true) => {}
            Ok(false) => return Err(in_flight()),
            // It was done, and its caller should know. Only a repetition will not.
            Err(error) if error.is_outage() => {}
            Err(error) => tracing::error!(%error, "cannot keep the answer of a request"),
        }
        Ok(answer.into_response())
    }
}

async fn pass(State(it): State<Idempotency>, request: Request, next: Next) -> Response {
    match it.find_key(request.headers()) {
        Ok(Some(key)) => it.run(request, next, key).await.unwrap_or_else(Failure::into_response),
        Ok(None) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

fn key_of(value: &HeaderValue) -> Option<String> {
    let key = std::str::from_utf8(value.as_bytes()).ok()?.trim();
    let is_key = (1..=IDEMPOTENCY_KEY_LETTERS_MAX).contains(&key.chars().count())
        && !key.chars().any(char::is_control);
    is_key.then(|| key.to_owned())
}

/// What the key is a key of: the subject, the method and the path.
fn identity(parts: &Parts, key: &str) -> String {
    let subject = match parts.extensions.get::<Subject>() {
        Some(Subject(subject)) => format!("s{subject}"),
        None => format!("a{}", Client::of(&parts.extensions).network()),
    };
    hashed(&[&subject, parts.method.as_str(), parts.uri.path(), key].map(str::as_bytes))
}

/// What must be the same in a repetition.
fn payload(parts: &Parts, body: &[u8]) -> String {
    let content_type = parts.headers.get(header::CONTENT_TYPE);
    let content_type = content_type.map_or(&b""[..], HeaderValue::as_bytes);
    hashed(&[parts.uri.query().unwrap_or_default().as_bytes(), content_type, body])
}

/// In hexadecimal digits. Each part's length goes before it, so that no two lists are the same.
fn hashed(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

fn bad_key() -> Failure {
    let message = format!(
        "an idempotency key is 1 to {IDEMPOTENCY_KEY_LETTERS_MAX} letters without control characters"
    );
    Failure::new(StatusCode::BAD_REQUEST, "idempotency_key_invalid", message).in_japanese(format!(
        "Idempotency-Key は制御文字を除く1〜{IDEMPOTENCY_KEY_LETTERS_MAX}文字です"
    ))
}

fn request_too_large() -> Failure {
    let message = format!("a request with a key has at most {COMPARED_BYTES_MAX} bytes");
    Failure::body_too_large(message, COMPARED_BYTES_MAX)
}

fn other_payload() -> Failure {
    let message = "the idempotency key was used with another payload";
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", message)
        .in_japanese("この Idempotency-Key は別の内容で使われています")
}

fn in_flight() -> Failure {
    let message = "a request with this idempotency key is running; ask again for its answer";
    Failure::new(StatusCode::CONFLICT, "idempotency_in_flight", message)
        .in_japanese(
            "同じ Idempotency-Key のリクエストを処理中です。少し待ってからもう一度お試しください",
        )
        .retry_after(ASK_AGAIN)
}

fn unavailable(error: Error) -> Failure {
    let message = "idempotency keys cannot be checked at the moment; nothing was done";
    Failure::unavailable(message, error)
}

impl<S: Sync> FromRequestParts<S> for IdempotencyToken {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<IdempotencyToken, Failure> {
        parts.extensions.get().cloned().ok_or_else(|| {
            let message = format!("the header `{IDEMPOTENCY_KEY}` is needed");
            Failure::new(StatusCode::BAD_REQUEST, "idempotency_key_missing", message)
                .in_japanese(format!("ヘッダー `{IDEMPOTENCY_KEY}` が必要です"))
        })
    }
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

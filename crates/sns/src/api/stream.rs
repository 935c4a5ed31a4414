//! Sockets and event streams: what the hub pushes to a user.
//!
//! A client shows who it is by `Authorization`, by a ticket (`?ticket=`), by `?token=`, or, on a
//! socket, by its first message. It resumes by the cursor that stands behind every push. A stream
//! closes when its token is over or its session ends.
//!
//! Invariants: nothing is pushed before the client has shown who it is. A stream listens for the
//! end of its session before it looks whether the session is there, so that no end is missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use edge::{
    Close, Draining, Failure, HeaderMap, HeaderValue, Message, Origins, Query, Response, Routes,
    State, StatusCode, Terms, Upgrade, Visit, Want, bearer, get,
};
use hub::{Cursor, Follow, Gap, Joined, Position, Since, Standing, Subscriber, Text};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use super::Door;
use crate::error::{Error, Flaw};
use crate::live::{in_events, on_socket};
use crate::ops::identity::Caller;

/// How long a socket may stay nobody's.
const INTRODUCTION: Duration = Duration::from_secs(10);

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/sns/v1/ws", get(get_socket))
        .route("/sns/v1/stream", get(get_stream))
        .with_state(Arc::clone(door))
}

/// How a stream is asked for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    token: Option<String>,
    ticket: Option<String>,
    cursor: Option<String>,
}

/// A caller, and when its stream must end.
struct Admitted {
    caller: Caller,
    end: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Door {
    /// Who asks for a stream, if the request says it.
    async fn find_caller(
        &self,
        headers: &HeaderMap,
        asked: &Asked,
    ) -> Result<Option<Caller>, Error> {
        if let Some(ticket) = &asked.ticket {
            return self.sns.take_ticket(ticket).await.map(Some);
        }
        match bearer(headers).or_else(|| asked.token.clone()) {
            Some(token) => self.authenticate(&token).await.map(Some),
            None => Ok(None),
        }
    }

    /// Lets a caller in whose session is still there.
    async fn admit(&self, caller: Caller) -> Result<Admitted, Error> {
        let end = Box::pin(self.sns.ending(&caller)?);
        let session = self.sns.find_session(caller.user, &caller.session).await?;
        session.ok_or(Error::TokenInvalid)?;
        Ok(Admitted { caller, end })
    }
}

fn position(cursor: Option<&str>) -> Result<Option<Position>, Error> {
    let read = |text: &str| text.parse().map_err(|_| Flaw::Cursor(text.to_owned()).into());
    cursor.filter(|text| !text.is_empty()).map(read).transpose()
}

/// Follows what happens to the caller's timeline, over a WebSocket. Pushes are
/// `{type, postId, data, cursor}` with `newPost`, `postDeleted`, `unfollowed`, `likesChanged` or
/// `notification`.
#[utoipa::path(get, path = "/sns/v1/ws", params(
    ("token" = Option<String>, Query, description = "An access token, if `Authorization` cannot be sent"),
    ("ticket" = Option<String>, Query, description = "A ticket from `POST /auth/ticket`"),
    ("cursor" = Option<String>, Query, description = "Where to resume"),
), responses(
    (status = 101, description = "The connection is open."),
    (status = 400, description = "The cursor is none."),
    (status = 401, description = "The token or ticket is not good."),
    (status = 426, description = "The request is no handshake."),
))]
pub(super) async fn get_socket(
    State(door): State<Arc<Door>>,
    Query(asked): Query<Asked>,
    upgrade: Upgrade,
) -> Result<Response, Failure> {
    let since = position(asked.cursor.as_deref())?;
    let admitted = match door.find_caller(upgrade.headers(), &asked).await? {
        Some(caller) => Some(door.admit(caller).await?),
        None => None,
    };
    let terms = Terms { protocols: &[], origins: Origins::Any };
    let streams = door.streams.clone();
    streams.accept(upgrade, &terms, |opening| {
        let listener = Listener::new(door, opening.subscriber, since);
        match admitted {
            Some(admitted) => listener.listen(admitted),
            None => listener.wait_for_introduction(),
        }
        listener
    })
}

/// A socket.
pub(crate) struct Listener {
    door: Arc<Door>,
    subscriber: Subscriber,
    since: Option<Position>,
    /// Whether it is somebody's, which it stays.
    is_known: AtomicBool,
    /// Dropped with the socket, which ends its task.
    task: Mutex<Option<oneshot::Sender<()>>>,
}

/// What a client says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Said {
    Auth { token: String },
    Ping {},
}

impl Listener {
    fn new(door: Arc<Door>, subscriber: Subscriber, since: Option<Position>) -> Listener {
        let (is_known, task) = (AtomicBool::new(false), Mutex::default());
        Listener { door, subscriber, since, is_known, task }
    }

    /// Closes a socket whose client does not say who it is.
    fn wait_for_introduction(&self) {
        let (gone, waiting) = oneshot::channel();
        *self.task.lock() = Some(gone);
        let wait = self.door.sns.clock.sleep(INTRODUCTION);
        let subscriber = self.subscriber.clone();
        self.door.sns.tasks.spawn("sns introduction", async move {
            tokio::select! {
                () = wait => subscriber.close(),
                _ = waiting => {}
            }
        });
    }

    /// Follows what happens to the caller, until its session or its token ends.
    fn listen(&self, admitted: Admitted) {
        let Admitted { caller, end } = admitted;
        let (gone, leaving) = oneshot::channel();
        *self.task.lock() = Some(gone);
        self.is_known.store(true, Ordering::Relaxed);
        let since = self.since.map_or(Since::Now, Since::After);
        let follow = Follow { since, envelope: Some(on_socket()), ..Follow::default() };
        let topic = caller.user.to_string();
        let greet = |joined: &Joined| {
            let (user, cursor) = (topic.as_str(), joined.position.to_string());
            let ready = json!({
                "type": "ready", "userId": user, "cursor": cursor, "gap": joined.gap,
            });
            Some(Text::from(ready.to_string()))
        };
        // Whoever does not read any more is closed elsewhere.
        let _closed = self.subscriber.follow(&self.door.sns.pushes, &topic, follow, greet);
        let subscriber = self.subscriber.clone();
        let shutdown = self.door.sns.tasks.shutdown().begun();
        self.door.sns.tasks.spawn("sns session", async move {
            tokio::select! {
                () = end => {
                    let _gone = subscriber.send(r#"{"type":"sessionEnded"}"#);
                    subscriber.close();
                }
                _ = leaving => {}
                () = shutdown => {}
            }
        });
    }

    async fn hear(&self, text: &str) -> Result<(), Failure> {
        match edge::read_json(text.as_bytes())? {
            Said::Ping {} => self.send(r#"{"type":"pong"}"#.to_owned()),
            // A socket hears one user, and ends with one session.
            Said::Auth { .. } if self.is_known.load(Ordering::Relaxed) => {
                return Err(already_known());
            }
            Said::Auth { token } => {
                let caller = self.door.authenticate(&token).await?;
                self.listen(self.door.admit(caller).await?);
            }
        }
        Ok(())
    }

    fn send(&self, text: String) {
        // Whoever does not read any more is closed elsewhere.
        let _closed = self.subscriber.send(text);
    }
}

fn already_known() -> Failure {
    let message = "this socket is somebody's already; open another one";
    Failure::new(StatusCode::CONFLICT, "already_authenticated", message)
        .in_japanese("このソケットは認証済みです。別のソケットを開いてください")
}

impl Visit for Listener {
    async fn on_message(&self, message: Message) -> Result<(), Close> {
        let Message::Text(text) = message else {
            return Err(Close::new(Close::POLICY, "messages are text"));
        };
        if let Err(failure) = self.hear(&text).await {
            let told = json!({
                "type": "error", "code": failure.code(), "message": failure.message(),
            });
            self.send(told.to_string());
        }
        Ok(())
    }

    fn on_gap(&self, gap: &Gap) -> Option<Text> {
        let told = json!({ "type": "gap", "cursor": gap.until.to_string(), "missed": gap.missed });
        Some(Text::from(told.to_string()))
    }

    fn on_leave(&self, standings: &[Standing]) -> Option<Text> {
        let cursor = Cursor(standings.iter().map(|standing| standing.position).collect());
        let told = json!({ "type": "goAway", "resumeFrom": cursor.to_string() });
        Some(Text::from(told.to_string()))
    }
}

/// Follows what happens to the caller's timeline, as server-sent events.
#[utoipa::path(get, path = "/sns/v1/stream", params(
    ("token" = Option<String>, Query, description = "An access token, if `Authorization` cannot be sent"),
    ("ticket" = Option<String>, Query, description = "A ticket from `POST /auth/ticket`"),
    ("cursor" = Option<String>, Query, description = "Where to resume, if `Last-Event-ID` does not say it"),
    ("Last-Event-ID" = Option<String>, Header, description = "Where to resume"),
), responses(
    (status = 200, description = "Events until one of the sides closes.", body = String, content_type = "text/event-stream"),
    (status = 400, description = "The cursor is none."),
    (status = 401, description = "The token or ticket is not good."),
))]
pub(super) async fn get_stream(
    State(door): State<Arc<Door>>,
    Query(asked): Query<Asked>,
    mut headers: HeaderMap,
    draining: Draining,
) -> Result<Response, Failure> {
    // What is wrong with the request is told before a ticket is used up.
    let since = position(asked.cursor.as_deref())?;
    let caller = door.find_caller(&headers, &asked).await?.ok_or(Error::TokenInvalid)?;
    let Admitted { caller, end } = door.admit(caller).await?;
    if let Some(position) = since
        && !headers.contains_key("last-event-id")
        && let Ok(value) = HeaderValue::try_from(position.to_string())
    {
        headers.insert("last-event-id", value);
    }
    let follow = Follow { envelope: Some(in_events()), ..Follow::default() };
    let (channel, topic) = (door.sns.pushes.clone(), caller.user.to_string());
    door.streams.events_until(&headers, &draining, &[Want { channel, topic, follow }], end)
}

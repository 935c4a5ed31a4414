//! The live room on the wire: REST (`rooms.rs`, `comments.rs`, `export.rs`), server-sent events
//! (`stream.rs`) and WebSocket (`socket.rs`). `participants.rs` tells callers apart, `pace.rs` says
//! how fast they may be.
//!
//! Invariants:
//! - no answer and no push holds a host's credential, but the answer to the call that brought it;
//! - text leaves as JSON or CSV, never as markup.

mod comments;
mod export;
mod pace;
mod participants;
mod rooms;
pub(crate) mod socket;
mod stream;

use std::sync::Arc;

use edge::{
    Bounds, Cors, Credential, Failure, Ground, HeaderMap, Routes, StatusCode, Streams, bounded,
    get, header, post, with_callers,
};
use utoipa::OpenApi;

use self::pace::Pace;
pub(crate) use self::participants::{Caller, Standing};
use crate::error::Error;
use crate::limits::BODY_BYTES_MAX;
use crate::live::{ShownComment, ShownRoom};
use crate::{Live, pages};

/// The room with what its wire needs.
pub(crate) struct Api {
    live: Arc<Live>,
    streams: Streams,
    pace: Pace,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Live",
        version = "1",
        description = "Comments of an audience, live on the presenter's screen. A host is known by \
                       its `hostId`, sent as `Authorization: Bearer`. A participant is issued by \
                       `POST /live/participants` and sent as `X-Participant`; callers without one \
                       are heard too, and share the ceilings of all such callers of their address."
    ),
    paths(
        rooms::create_room,
        rooms::list_rooms,
        rooms::get_room,
        rooms::change_room,
        rooms::delete_room,
        participants::issue_participant,
        comments::post_comment,
        comments::list_comments,
        comments::hide_comment,
        comments::restore_comment,
        comments::pin_comment,
        comments::answer_comment,
        comments::like_comment,
        export::export_csv,
        export::export_json,
        stream::get_stream,
        socket::get_socket,
    ),
    components(schemas(ShownComment, ShownRoom))
)]
struct Description;

/// The routes of the room.
pub(crate) fn room(api: &Arc<Api>) -> edge::Room {
    let small = Bounds { body_bytes_max: Some(BODY_BYTES_MAX), ..Bounds::default() };
    let one = get(rooms::get_room).patch(rooms::change_room).delete(rooms::delete_room);
    let comments = post(comments::post_comment).get(comments::list_comments);
    let act = |path: &str| format!("/live/rooms/{{roomId}}/comments/{{commentId}}/{path}");
    let routes = Routes::new()
        .route("/live/rooms", bounded(post(rooms::create_room).get(rooms::list_rooms), small))
        .route("/live/rooms/{roomId}", bounded(one, small))
        .route("/live/participants", bounded(post(participants::issue_participant), small))
        .route("/live/rooms/{roomId}/comments", bounded(comments, small))
        .route(&act("hide"), bounded(post(comments::hide_comment), small))
        .route(&act("restore"), bounded(post(comments::restore_comment), small))
        .route(&act("pin"), bounded(post(comments::pin_comment), small))
        .route(&act("answer"), bounded(post(comments::answer_comment), small))
        .route(&act("like"), bounded(post(comments::like_comment), small))
        .route("/live/rooms/{roomId}/export.csv", get(export::export_csv))
        .route("/live/rooms/{roomId}/export.json", get(export::export_json))
        .route("/live/rooms/{roomId}/stream", get(stream::get_stream))
        .route("/live/ws", get(socket::get_socket))
        .with_state(Arc::clone(api))
        .merge(pages::routes(api));
    edge::Room::new("live", routes)
        .with_api(with_callers(Description::openapi(), callers))
        .in_japanese("ライブ", "客席のコメントを、話し手の画面に届けます。")
        .with_cors(Cors::Anyone)
}

/// Who may call an operation. A host sees and hears more where everyone may ask.
fn callers(method: &str, path: &str) -> &'static [Credential] {
    const HOST: &[Credential] = &[Credential::Host];
    const ANYONE: &[Credential] = &[Credential::Nothing, Credential::Participant];
    const READERS: &[Credential] = &[Credential::Nothing, Credential::Host];
    let last = path.rsplit('/').next().unwrap_or_default();
    match (method, last) {
        ("get", "rooms") | ("patch" | "delete", _) => HOST,
        (_, "hide" | "restore" | "pin" | "answer" | "export.csv" | "export.json") => HOST,
        ("get", "{roomId}" | "comments" | "stream") => READERS,
        _ => ANYONE,
    }
}

impl Api {
    /// The wire of `live`.
    pub(crate) fn new(live: &Arc<Live>, ground: &Ground) -> Api {
        let pace = Pace::new(&live.options, ground);
        Api { live: Arc::clone(live), streams: ground.streams.clone(), pace }
    }

    /// The room behind the wire.
    pub(crate) fn live(&self) -> &Live {
        &self.live
    }
}

/// The credential that a caller presents.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim().to_owned())
}

/// A number of a query within its bounds.
fn bounded_limit(limit: Option<&str>, usual: u32, most: u32) -> Result<u32, Error> {
    let Some(text) = limit else { return Ok(usual) };
    let limit = text.parse().ok().filter(|limit| (1..=most).contains(limit));
    limit.ok_or_else(|| Error::invalid(format!("limit must be between 1 and {most}, not `{text}`")))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let (code, told) = (error.code(), error.to_string());
        let status = match &error {
            Error::RoomNotFound(_) | Error::CommentNotFound(_) => StatusCode::NOT_FOUND,
            Error::RoomsFull(_) | Error::CommentsFull(_) => StatusCode::INSUFFICIENT_STORAGE,
            Error::Closed
            | Error::RoomFull(_)
            | Error::LikesFull
            | Error::Paused
            | Error::AlreadyLiked
            | Error::NotShown
            | Error::ReactionsOff
            | Error::VersionChanged { .. } => StatusCode::CONFLICT,
            Error::NotTheHost => StatusCode::FORBIDDEN,
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::SlowMode { wait } => {
                let failure = Failure::new(StatusCode::TOO_MANY_REQUESTS, code, told);
                return failure.retry_after(*wait);
            }
            Error::Contended => StatusCode::SERVICE_UNAVAILABLE,
            Error::Store(error) | Error::Later(dispatch::Error::Table(error)) => {
                return Failure::of_store(error);
            }
            Error::Keys(_) | Error::Later(_) => return Failure::internal(error),
        };
        Failure::new(status, code, told)
    }
}

#[cfg(test)]
mod tests {
    use crate::Error;

    #[test]
    fn failures_of_the_store_keep_their_codes() {
        testkit::assert_store_codes(|state| {
            let later = dispatch::Error::Table(state.clone());
            [Error::Store(state), Error::Later(later)]
        });
    }
}

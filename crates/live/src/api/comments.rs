//! Comments over REST.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use edge::{
    Client, Failure, HeaderMap, IntoResponse, Json, Path, Query, Response, State, StatusCode,
    read_json,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::participants::participant_header;
use super::{Api, Caller, bearer, bounded_limit};
use crate::error::Error;
use crate::limits::{COMMENTS_PER_PAGE, COMMENTS_PER_PAGE_MAX};
use crate::live::ShownComment;
use crate::model::{Action, Comment, PostComment, Room};
use crate::ops::{Page, Place};

/// A comment that somebody wants to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "content": "はじめまして", "nickname": "花子" }))]
pub(super) struct NewComment {
    /// Its text, 1 to 200 characters.
    #[schema(example = "はじめまして")]
    content: String,
    /// Who says it; nobody in particular is `Anonymous`.
    nickname: Option<String>,
    /// Makes a retry harmless: the same of the same participant within ten minutes is answered, not
    /// repeated.
    client_id: Option<String>,
    /// The room, if the client likes to say it twice.
    room_id: Option<String>,
    /// The host's credential, if it is not in the header.
    host_id: Option<String>,
}

/// A comment for its author.
#[derive(Debug, Serialize, ToSchema)]
struct PostedComment {
    #[serde(flatten)]
    comment: ShownComment,
    /// Whether only the host sees it for now, whatever the reason; absent if everybody does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    held: bool,
}

/// Says something in a room.
#[utoipa::path(post, path = "/live/rooms/{roomId}/comments", request_body = NewComment, params(
    ("roomId" = String, Path, description = "The room's id"),
    ("X-Participant" = Option<String>, Header, description = "A participant that the server has issued, or a name of the client's own"),
), responses(
    (status = 201, description = "The comment with its number.", body = PostedComment),
    (status = 400, description = "A value breaks its bound."),
    (status = 404, description = "No such room."),
    (status = 409, description = "The room is closed, paused or full."),
    (status = 413, description = "The body is too large."),
    (status = 429, description = "Too fast; `Retry-After` says when."),
    (status = 507, description = "The house holds as many comments as it may."),
))]
pub(super) async fn post_comment(
    State(api): State<Arc<Api>>,
    Path(room_id): Path<String>,
    client: Client,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, Failure> {
    let new: NewComment = read_json(&bytes)?;
    if let Some(named) = new.room_id.as_deref().filter(|named| *named != room_id) {
        let told = format!("the body says room `{named}`, the path `{room_id}`");
        return Err(Error::invalid(told).into());
    }
    let (address, presented) = (client.network(), participant_header(&headers));
    let caller = api.caller(address, presented, new.nickname.as_deref()).await?;
    let post = PostComment {
        content: new.content,
        nickname: new.nickname,
        client_id: new.client_id,
        participant: caller.participant.clone(),
        host_id: new.host_id.or_else(|| bearer(&headers)),
    };
    let comment = api.post(address, &room_id, post, &caller).await?;
    let posted = PostedComment { comment: ShownComment::of(&comment), held: comment.is_held() };
    Ok((StatusCode::CREATED, Json(posted)).into_response())
}

impl Api {
    /// Says something for a caller that is not too fast, or for the host.
    pub(crate) async fn post(
        &self,
        address: IpAddr,
        room_id: &str,
        post: PostComment,
        caller: &Caller,
    ) -> Result<Comment, Failure> {
        let room = self.live.get_room(room_id).await?;
        let host_id = post.host_id.as_deref().filter(|host_id| room.is_host(Some(host_id)));
        let taken = match host_id {
            Some(host_id) => self.pace.host(address, room_id, host_id, caller)?,
            None => self.pace.comment(address, room_id, caller)?,
        };
        Ok(taken.settle(self.live.post_comment(room_id, post).await)?)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    after: Option<String>,
    before: Option<String>,
    limit: Option<String>,
}

/// A page of comments.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CommentPage {
    /// Whose.
    room_id: String,
    /// Oldest first.
    comments: Vec<ShownComment>,
    /// Where to go on: as `after`, or as `before` if the page was asked for by that. A page among
    /// hidden comments may hold fewer than the limit, or none, and still go on.
    next: Option<String>,
}

/// Lists comments, oldest first. The host sees those that wait or are hidden too.
#[utoipa::path(get, path = "/live/rooms/{roomId}/comments", params(
    ("roomId" = String, Path, description = "The room's id"),
    ("after" = Option<String>, Query, description = "A comment's id or a number: only later ones"),
    ("before" = Option<String>, Query, description = "A comment's id or a number: only earlier ones, the nearest"),
    ("limit" = Option<u32>, Query, description = "1 to 200, or 100"),
), responses(
    (status = 200, description = "The page.", body = CommentPage),
    (status = 400, description = "A value breaks its bound."),
    (status = 404, description = "No such room."),
))]
pub(super) async fn list_comments(
    State(api): State<Arc<Api>>,
    Path(room_id): Path<String>,
    Query(listed): Query<Listed>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let place = |what: &str, text: &Option<String>| {
        let text = text.as_deref().filter(|text| !text.is_empty());
        text.map(|text| Place::parse(what, text)).transpose()
    };
    let limit = bounded_limit(listed.limit.as_deref(), COMMENTS_PER_PAGE, COMMENTS_PER_PAGE_MAX)?;
    let (after, before) = (place("after", &listed.after)?, place("before", &listed.before)?);
    let room = api.live.get_room(&room_id).await?;
    let for_host = room.is_host(bearer(&headers).as_deref());
    let page = Page { after, before, limit, for_host };
    let (comments, next) = api.live.list_comments(&room, &page).await?;
    let comments = comments.iter().map(|comment| shown(comment, for_host)).collect();
    Ok(Json(CommentPage { room_id, comments, next }).into_response())
}

/// A comment for who asks.
fn shown(comment: &Comment, for_host: bool) -> ShownComment {
    if for_host { ShownComment::for_host(comment) } else { ShownComment::of(comment) }
}

/// What may come with an action. Everything has a default.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({}))]
pub(super) struct ActionBody {
    /// The host's credential, if it is not in the header.
    host_id: Option<String>,
    /// `false` takes a pin away.
    pinned: Option<bool>,
    /// `false` says that it is not answered after all.
    answered: Option<bool>,
}

impl ActionBody {
    fn read(bytes: &[u8]) -> Result<ActionBody, Failure> {
        if bytes.is_empty() { Ok(ActionBody::default()) } else { read_json(bytes) }
    }
}

impl Api {
    async fn act(
        &self,
        (room_id, comment_id): (String, String),
        client: Client,
        headers: &HeaderMap,
        bytes: &Bytes,
        action: impl FnOnce(&ActionBody) -> Action,
    ) -> Result<Response, Failure> {
        let asked = ActionBody::read(bytes)?;
        let action = action(&asked);
        let host_id = asked.host_id.or_else(|| bearer(headers));
        let presented = host_id.as_deref().unwrap_or_default();
        let address = client.network();
        let caller = self.caller(address, participant_header(headers), None).await?;
        let taken = self.pace.host(address, &room_id, presented, &caller)?;
        let done = self.live.moderate(&room_id, &comment_id, host_id.as_deref(), action).await;
        let comment = taken.settle(done)?;
        Ok(Json(ShownComment::for_host(&comment)).into_response())
    }
}

/// Takes a comment off every screen.
#[utoipa::path(post, path = "/live/rooms/{roomId}/comments/{commentId}/hide",
    request_body = Option<ActionBody>, params(
    ("roomId" = String, Path, description = "The room's id"),
    ("commentId" = String, Path, description = "The comment's id"),
), responses(
    (status = 200, description = "The comment as it is now.", body = ShownComment),
    (status = 400, description = "A value breaks its bound."),
    (status = 403, description = "Only for the host."),
    (status = 404, description = "No such room or comment."),
    (status = 409, description = "The room is full."),
    (status = 413, description = "The body is too large."),
    (status = 429, description = "Too fast; `Retry-After` says when."),
))]
pub(super) async fn hide_comment(
    State(api): State<Arc<Api>>,
    Path(names): Path<(String, String)>,
    client: Client,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, Failure> {
    api.act(names, client, &headers, &bytes, |_| Action::Hide).await
}

/// Shows a hidden comment again, or lets one through that waits.
#[utoipa::path(post, path = "/live/rooms/{roomId}/comments/{commentId}/restore",
    request_body = Option<ActionBody>, params(
    ("roomId" = String, Path, description = "The room's id"),
    ("commentId" = String, Path, description = "The comment's id"),
), responses(
    (status = 200, description = "The comment as it is now.", body = ShownComment),
    (status = 400, description = "A value breaks its bound."),
    (status = 403, description = "Only for the host."),
    (status = 404, description = "No such room or comment."),
    (status = 409, description = "The room is full."),
    (status = 413, description = "The body is too large."),
    (status = 429, description = "Too fast; `Retry-After` says when."),
))]
pub(super) async fn restore_comment(
    State(api): State<Arc<Api>>,
    Path(names): Path<(String, String)>,
    client: Client,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, Failure> {
    api.act(names, client, &headers, &bytes, |_| Action::Restore).await
}

/// Pins a comment, or takes the pin away.
#[utoipa::path(post, path = "/live/rooms/{roomId}/comments/{commentId}/pin",
    request_body = Option<ActionBody>, params(
    ("roomId" = String, Path, description = "The room's id"),
    ("commentId" = String, Path, description = "The comment's id"),
), responses(
    (status = 200, description = "The comment as it is now.", body = ShownComment),
    (status = 400, description = "A value breaks its bound."),
    (status = 403, description = "Only for the host."),
    (status = 404, description = "No such room or comment."),
    (status = 409, description = "The comment is not shown, or the room is full."),
    (status = 413, description = "The body is too large."),
    (status = 429, description = "Too fast; `Retry-After` says when."),
))]
pub(super) async fn pin_comment(
    State(api): State<Arc<Api>>,
    Path(names): Path<(String, String)>,
    client: Client,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, Failure> {
    api.act(names, client, &headers, &bytes, |asked| Action::Pin(asked.pinned.unwrap_or(true)))
        .await
}

/// Marks a comment as answered, or not.
#[utoipa::path(post, path = "/live/rooms/{roomId}/comments/{commentId}/answer",
    request_body = Option<ActionBody>, params(
    ("roomId" = String, Path, description = "The room's id"),
    ("commentId" = String, Path, description = "The comment's id"),
), responses(
    (status = 200, description = "The comment as it is now.", body = ShownComment),
    (status = 400, description = "A value breaks its bound."),
    (status = 403, description = "Only for the host."),
    (status = 404, description = "No such room or comment."),
    (status = 409, description = "The comment is not shown, or the room is full."),
    (status = 413, description = "The body is too large."),
    (status = 429, description = "Too fast; `Retry-After` says when."),
))]
pub(super) async fn answer_comment(
    State(api): State<Arc<Api>>,
    Path(names): Path<(String, String)>,
    client: Client,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, Failure> {
    api.act(names, client, &headers, &bytes, |asked| Action::Answer(asked.answered.unwrap_or(true)))
        .await
}

/// Likes a comment, once for each participant.
#[utoipa::path(post, path = "/live/rooms/{roomId}/comments/{commentId}/like", params(
    ("roomId" = String, Path, description = "The room's id"),
    ("commentId" = String, Path, description = "The comment's id"),
    ("X-Participant" = Option<String>, Header, description = "A participant that the server has issued, or a name of the client's own"),
), responses(
    (status = 200, description = "The comment as it is now.", body = ShownComment),
    (status = 400, description = "A value breaks its bound."),
    (status = 404, description = "No such room or comment."),
    (status = 409, description = "Liked before, not shown, or the room is closed."),
    (status = 429, description = "Too fast; `Retry-After` says when."),
))]
pub(super) async fn like_comment(
    State(api): State<Arc<Api>>,
    Path((room_id, comment_id)): Path<(String, String)>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let address = client.network();
    let caller = api.caller(address, participant_header(&headers), None).await?;
    let taken = api.pace.like(address, &room_id, &caller)?;
    let liked = api.live.like(&room_id, &comment_id, &caller.participant).await;
    let comment = taken.settle(liked)?;
    Ok(Json(ShownComment::of(&comment)).into_response())
}

/// The room of a page for its host alone.
pub(super) async fn host_room(
    api: &Api,
    room_id: &str,
    headers: &HeaderMap,
) -> Result<Room, Failure> {
    let room = api.live.get_room(room_id).await?;
    room.check_host(bearer(headers).as_deref())?;
    Ok(room)
}

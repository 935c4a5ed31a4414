//! What a user reads: its timeline, and its notifications.

use std::sync::Arc;

use edge::{Failure, Json, Known, Query, State, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::posts::PostPage;
use super::{Asked, Door};
use crate::error::Error;
use crate::live::ShownNote;
use crate::model::UserId;
use crate::ops::identity::Caller;

/// The caller's timeline, newest first.
#[utoipa::path(get, path = "/sns/v1/timeline", params(
    ("cursor" = Option<String>, Query, description = "The `next` of the part before"),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "1 to 100, or 20"),
    ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000, description = "So many are skipped, up to 1000; also asks for `total`"),
), responses(
    (status = 200, description = "The posts.", body = PostPage),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn get_timeline(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Query(asked): Query<Asked>,
) -> Result<Json<PostPage>, Failure> {
    Ok(Json(door.timeline(caller.user, &asked).await?))
}

impl Door {
    /// Part of a user's timeline as it is answered.
    pub(super) async fn timeline(&self, user: UserId, asked: &Asked) -> Result<PostPage, Error> {
        let part = asked.part()?;
        let page = self.sns.read_timeline(user, &part).await?;
        // Counting reads the whole timeline, so only who pages by numbers pays for it.
        let total = match asked.offset {
            Some(_) => Some(self.sns.count_timeline(user).await? as u64),
            None => None,
        };
        let posts = self.with_likes(user, &page.items).await?;
        Ok(PostPage::new(&part, posts, page.next.clone(), total))
    }
}

/// Part of a list of notifications.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NotePage {
    /// Newest first.
    notifications: Vec<ShownNote>,
    /// What to send as `cursor` for the next part; nothing at the end.
    next: Option<String>,
    limit: usize,
    offset: usize,
}

/// The caller's notifications, newest first: who follows it, and who likes what it said.
#[utoipa::path(get, path = "/sns/v1/notifications", params(
    ("cursor" = Option<String>, Query, description = "The `next` of the part before"),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "1 to 100, or 20"),
    ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000, description = "So many are skipped, up to 1000"),
), responses(
    (status = 200, description = "The notifications.", body = NotePage),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn list_notes(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Query(asked): Query<Asked>,
) -> Result<Json<NotePage>, Failure> {
    let part = asked.part()?;
    let (page, read_until) = door.sns.list_notes(caller.user, &part).await?;
    let mut notifications = Vec::with_capacity(page.items.len());
    for note in &page.items {
        let actor = door.sns.get_card(note.actor).await?;
        let is_read = note.created <= read_until;
        notifications.extend(actor.map(|actor| ShownNote::of(note, &actor, is_read)));
    }
    let (limit, offset) = (part.limit, part.offset);
    Ok(Json(NotePage { notifications, next: page.next, limit, offset }))
}

/// The caller has read its notifications up to now.
#[utoipa::path(post, path = "/sns/v1/notifications/read", responses(
    (status = 204, description = "They are read."),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn read_notes(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
) -> Result<StatusCode, Failure> {
    door.sns.read_notes(caller.user).await?;
    Ok(StatusCode::NO_CONTENT)
}

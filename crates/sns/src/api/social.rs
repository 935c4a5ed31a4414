//! Follows, likes, blocks and mutes.

use std::sync::Arc;

use edge::{Failure, IntoResponse, Json, Known, Path, Query, Response, State, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::posts::{PostPage, post_id};
use super::users::{ShownUser, named, own};
use super::{Asked, Door};
use crate::items::social::Aversion;
use crate::model::UserId;
use crate::ops::identity::Caller;
use crate::ops::{Page, Part};

/// Part of a list of users.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserPage {
    users: Vec<ShownUser>,
    /// What to send as `cursor` for the next part; nothing at the end.
    next: Option<String>,
    /// How many there are; blocks and mutes are not counted.
    total: Option<u64>,
    limit: usize,
    offset: usize,
}

impl Door {
    /// Users as `viewer` sees them; those who are apart from it are left out.
    async fn shown_users(
        &self,
        viewer: UserId,
        part: &Part,
        mut page: Page<UserId>,
        total: u64,
    ) -> Result<Json<UserPage>, Failure> {
        let apart = self.sns.list_apart(viewer, page.items.iter().copied()).await?;
        page.items.retain(|id| !apart.contains(id));
        self.user_page(viewer, part, page, Some(total)).await
    }

    /// Whom a user blocks or mutes, which only the user itself sees.
    async fn averse(
        &self,
        caller: &Caller,
        id: &str,
        what: Aversion,
        asked: &Asked,
    ) -> Result<Json<UserPage>, Failure> {
        let (user, part) = (own(caller, id)?, asked.part()?);
        let page = self.sns.list_averse(what, user, &part).await?;
        self.user_page(user, &part, page, None).await
    }

    async fn user_page(
        &self,
        viewer: UserId,
        part: &Part,
        page: Page<UserId>,
        total: Option<u64>,
    ) -> Result<Json<UserPage>, Failure> {
        let profiles = self.sns.list_profiles(viewer, &page.items).await?;
        let users = profiles.iter().map(|one| ShownUser::profile(one, viewer)).collect();
        let Part { limit, offset, .. } = *part;
        Ok(Json(UserPage { users, next: page.next, total, limit, offset }))
    }
}

/// A follow.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownFollow {
    follow_id: String,
    follower_id: String,
    followee_id: String,
    created_at: String,
}

/// Follows a user.
#[utoipa::path(post, path = "/sns/v1/users/{id}/follow", params(
    ("id" = String, Path, description = "Whom to follow"),
), responses(
    (status = 201, description = "The follow.", body = ShownFollow),
    (status = 400, description = "It is the caller itself."),
    (status = 401, description = "The token is not good."),
    (status = 403, description = "One of the two has blocked the other."),
    (status = 404, description = "No such user."),
    (status = 409, description = "The caller follows it already."),
))]
pub(super) async fn follow(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let follow = door.sns.follow(caller.user, named(&caller, &id)?).await?;
    let shown = ShownFollow {
        follow_id: follow.id,
        follower_id: follow.follower.to_string(),
        followee_id: follow.followee.to_string(),
        created_at: follow.created.to_string(),
    };
    Ok((StatusCode::CREATED, Json(shown)).into_response())
}

/// Follows a user no more.
#[utoipa::path(delete, path = "/sns/v1/users/{id}/follow", params(
    ("id" = String, Path, description = "Whom not to follow"),
), responses(
    (status = 204, description = "Its posts leave the timeline."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user, or the caller does not follow it."),
))]
pub(super) async fn unfollow(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    door.sns.unfollow(caller.user, named(&caller, &id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists who follows a user.
#[utoipa::path(get, path = "/sns/v1/users/{id}/followers", params(
    ("id" = String, Path, description = "A user's id, or `me`"),
    ("cursor" = Option<String>, Query, description = "The `next` of the part before"),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "1 to 100, or 20"),
    ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000, description = "So many are skipped, up to 1000"),
), responses(
    (status = 200, description = "The users.", body = UserPage),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn list_followers(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<UserPage>, Failure> {
    let (user, part) = (named(&caller, &id)?, asked.part()?);
    let total = door.sns.get_profile(caller.user, user).await?.counts.followers;
    let page = door.sns.list_followers(user, &part).await?;
    door.shown_users(caller.user, &part, page, total).await
}

/// Lists whom a user follows.
#[utoipa::path(get, path = "/sns/v1/users/{id}/following", params(
    ("id" = String, Path, description = "A user's id, or `me`"),
    ("cursor" = Option<String>, Query, description = "The `next` of the part before"),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "1 to 100, or 20"),
    ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000, description = "So many are skipped, up to 1000"),
), responses(
    (status = 200, description = "The users.", body = UserPage),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn list_following(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<UserPage>, Failure> {
    let (user, part) = (named(&caller, &id)?, asked.part()?);
    let total = door.sns.get_profile(caller.user, user).await?.counts.following;
    let page = door.sns.list_following(user, &part).await?;
    door.shown_users(caller.user, &part, page, total).await
}

/// How many like a post.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownLikes {
    post_id: String,
    likes_count: u64,
    is_liked: bool,
}

/// Likes a post.
#[utoipa::path(post, path = "/sns/v1/posts/{id}/likes", params(
    ("id" = String, Path, description = "A post's id"),
), responses(
    (status = 201, description = "How many like it now.", body = ShownLikes),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such post, or its author or the caller has blocked the other."),
    (status = 409, description = "The caller likes it already."),
))]
pub(super) async fn like(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let post = door.sns.like(caller.user, post_id(&id)?).await?;
    let (post_id, likes_count) = (post.id.to_string(), post.likes);
    let shown = ShownLikes { post_id, likes_count, is_liked: true };
    Ok((StatusCode::CREATED, Json(shown)).into_response())
}

/// Likes a post no more.
#[utoipa::path(delete, path = "/sns/v1/posts/{id}/likes", params(
    ("id" = String, Path, description = "A post's id"),
), responses(
    (status = 204, description = "It is not liked."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such post, or the caller does not like it."),
))]
pub(super) async fn unlike(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    door.sns.unlike(caller.user, post_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists who likes a post.
#[utoipa::path(get, path = "/sns/v1/posts/{id}/likes", params(
    ("id" = String, Path, description = "A post's id"),
    ("cursor" = Option<String>, Query, description = "The `next` of the part before"),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "1 to 100, or 20"),
    ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000, description = "So many are skipped, up to 1000"),
), responses(
    (status = 200, description = "The users.", body = UserPage),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such post."),
))]
pub(super) async fn list_likers(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<UserPage>, Failure> {
    let (post, part) = (post_id(&id)?, asked.part()?);
    let post = door.sns.get_post_for(caller.user, post).await?;
    let page = door.sns.list_likers(post.id, &part).await?;
    door.shown_users(caller.user, &part, page, post.likes).await
}

/// Lists what a user likes, the newest posts first.
#[utoipa::path(get, path = "/sns/v1/users/{id}/likes", params(
    ("id" = String, Path, description = "A user's id, or `me`"),
    ("cursor" = Option<String>, Query, description = "The `next` of the part before"),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "1 to 100, or 20"),
    ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000, description = "So many are skipped, up to 1000"),
), responses(
    (status = 200, description = "The posts; none if one of the two has blocked the other.", body = PostPage),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn list_likes(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<PostPage>, Failure> {
    let (user, part) = (named(&caller, &id)?, asked.part()?);
    let total = door.sns.get_profile(caller.user, user).await?.counts.likes;
    if door.sns.is_apart(caller.user, user).await? {
        return Ok(Json(PostPage::new(&part, Vec::new(), None, Some(0))));
    }
    let page = door.sns.list_likes_of(user, &part).await?;
    let posts = door.sns.list_posts(&page.items).await?;
    let posts = door.shown(caller.user, posts).await?;
    Ok(Json(PostPage::new(&part, posts, page.next, Some(total))))
}

/// Lists whom the caller blocks.
#[utoipa::path(get, path = "/sns/v1/users/{id}/blocks", params(
    ("id" = String, Path, description = "The caller's id, or `me`"),
    ("cursor" = Option<String>, Query, description = "The `next` of the part before"),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "1 to 100, or 20"),
    ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000, description = "So many are skipped, up to 1000"),
), responses(
    (status = 200, description = "The users.", body = UserPage),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
    (status = 403, description = "It is somebody else."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn list_blocks(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<UserPage>, Failure> {
    door.averse(&caller, &id, Aversion::Block, &asked).await
}

/// Lists whom the caller has muted.
#[utoipa::path(get, path = "/sns/v1/users/{id}/mutes", params(
    ("id" = String, Path, description = "The caller's id, or `me`"),
    ("cursor" = Option<String>, Query, description = "The `next` of the part before"),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "1 to 100, or 20"),
    ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000, description = "So many are skipped, up to 1000"),
), responses(
    (status = 200, description = "The users.", body = UserPage),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
    (status = 403, description = "It is somebody else."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn list_mutes(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<UserPage>, Failure> {
    door.averse(&caller, &id, Aversion::Mute, &asked).await
}

/// Blocks a user: neither follows the other, nor can, nor sees what the other said.
#[utoipa::path(put, path = "/sns/v1/users/{id}/block", params(
    ("id" = String, Path, description = "Whom to block"),
), responses(
    (status = 204, description = "It is blocked."),
    (status = 400, description = "It is the caller itself."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn block(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    door.sns.block(caller.user, named(&caller, &id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Blocks a user no more.
#[utoipa::path(delete, path = "/sns/v1/users/{id}/block", params(
    ("id" = String, Path, description = "Whom not to block"),
), responses(
    (status = 204, description = "It is not blocked."),
    (status = 400, description = "It is the caller itself."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn unblock(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    door.sns.unblock(caller.user, named(&caller, &id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Mutes a user: its posts are not shown.
#[utoipa::path(put, path = "/sns/v1/users/{id}/mute", params(
    ("id" = String, Path, description = "Whom to mute"),
), responses(
    (status = 204, description = "It is muted."),
    (status = 400, description = "It is the caller itself."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn mute(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    door.sns.mute(caller.user, named(&caller, &id)?, true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Mutes a user no more; its newest posts come back.
#[utoipa::path(delete, path = "/sns/v1/users/{id}/mute", params(
    ("id" = String, Path, description = "Whom not to mute"),
), responses(
    (status = 204, description = "It is not muted."),
    (status = 400, description = "It is the caller itself."),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn unmute(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    door.sns.mute(caller.user, named(&caller, &id)?, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! Posts.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use edge::{
    Failure, IntoResponse, Json, Known, Path, Query, Response, State, StatusCode, header, read_json,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::users::{batch_of, named};
use super::{Asked, Door};
use crate::error::Error;
use crate::live::ShownPost;
use crate::model::post::Post;
use crate::model::{PostId, UserId};
use crate::ops::Part;
use crate::ops::identity::Caller;
use crate::ops::timeline::Shown;

/// Part of a list of posts.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostPage {
    /// Newest first.
    pub(super) posts: Vec<ShownPost>,
    /// What to send as `cursor` for the next part; nothing at the end.
    pub(super) next: Option<String>,
    /// How many there are, where it is known: always for who asks by `offset`.
    pub(super) total: Option<u64>,
    pub(super) limit: usize,
    pub(super) offset: usize,
}

impl PostPage {
    pub(super) fn new(
        part: &Part,
        posts: Vec<ShownPost>,
        next: Option<String>,
        total: Option<u64>,
    ) -> PostPage {
        PostPage { posts, next, total, limit: part.limit, offset: part.offset }
    }
}

/// The post that a path names.
pub(super) fn post_id(text: &str) -> Result<PostId, Error> {
    text.parse().map_err(|()| Error::NoSuchPost(text.to_owned()))
}

impl Door {
    /// Posts with their authors, as `viewer` sees them.
    pub(super) async fn shown(
        &self,
        viewer: UserId,
        posts: Vec<Post>,
    ) -> Result<Vec<ShownPost>, Error> {
        let shown = self.sns.show(viewer, posts).await?;
        self.with_likes(viewer, &shown).await
    }

    /// Posts with whether `viewer` likes them.
    pub(super) async fn with_likes(
        &self,
        viewer: UserId,
        shown: &[Shown],
    ) -> Result<Vec<ShownPost>, Error> {
        // A like is written together with its count: what has none is liked by nobody.
        let liked = shown.iter().filter(|shown| shown.post.likes > 0);
        let ids: Vec<PostId> = liked.map(|shown| shown.post.id).collect();
        let liked = self.sns.list_liked(viewer, &ids).await?;
        let liked: BTreeSet<PostId> = liked.into_iter().collect();
        let of = |Shown { post, author }: &Shown| {
            ShownPost::of(post, author, Some(liked.contains(&post.id)))
        };
        Ok(shown.iter().map(of).collect())
    }

    async fn shown_one(&self, viewer: UserId, post: Post) -> Result<ShownPost, Error> {
        let id = post.id;
        let shown = self.shown(viewer, vec![post]).await?.pop();
        shown.ok_or_else(|| Error::NoSuchPost(id.to_string()))
    }
}

/// What somebody wants to say.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({ "content": "これはテスト投稿です" }))]
pub(super) struct NewPost {
    /// 1 to 280 characters as people count them, not only white space.
    #[schema(example = "これはテスト投稿です")]
    content: String,
}

/// Says something.
#[utoipa::path(post, path = "/sns/v1/posts", request_body = NewPost, responses(
    (status = 201, description = "The post.", body = ShownPost,
        headers(("location" = String, description = "Where the post is."))),
    (status = 400, description = "The content breaks its bound."),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn create_post(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    bytes: Bytes,
) -> Result<Response, Failure> {
    let NewPost { content } = read_json(&bytes)?;
    let post = door.sns.create_post(caller.user, &content).await?;
    let place = [(header::LOCATION, format!("/sns/v1/posts/{}", post.id))];
    let shown = door.shown_one(caller.user, post).await?;
    Ok((StatusCode::CREATED, place, Json(shown)).into_response())
}

/// Shows a post.
#[utoipa::path(get, path = "/sns/v1/posts/{id}", params(
    ("id" = String, Path, description = "A post's id"),
), responses(
    (status = 200, description = "The post with its author.", body = ShownPost),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such post."),
))]
pub(super) async fn get_post(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<Json<ShownPost>, Failure> {
    let post = door.sns.get_post(post_id(&id)?).await?;
    Ok(Json(door.shown_one(caller.user, post).await?))
}

/// Deletes a post of the caller's own.
#[utoipa::path(delete, path = "/sns/v1/posts/{id}", params(
    ("id" = String, Path, description = "A post's id"),
), responses(
    (status = 204, description = "It is gone."),
    (status = 401, description = "The token is not good."),
    (status = 403, description = "It is somebody else's."),
    (status = 404, description = "No such post."),
))]
pub(super) async fn delete_post(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    door.sns.delete_post(caller.user, post_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What to show.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "postIds": ["01JD0000000000000000000000"] }))]
pub(super) struct PostIds {
    /// 1 to 100 ids.
    #[schema(min_items = 1, max_items = 100)]
    post_ids: Vec<String>,
}

/// Posts, and the ids of those that are not there.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostBatch {
    posts: Vec<ShownPost>,
    not_found: Vec<String>,
}

/// Shows many posts.
#[utoipa::path(post, path = "/sns/v1/posts/batch", operation_id = "batch_posts", request_body = PostIds, responses(
    (status = 200, description = "The posts.", body = PostBatch),
    (status = 400, description = "Too many, or none."),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn batch(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    bytes: Bytes,
) -> Result<Json<PostBatch>, Failure> {
    let PostIds { post_ids } = read_json(&bytes)?;
    let ids: Vec<PostId> = batch_of("postIds", &post_ids)?;
    let found = door.sns.list_posts(&ids).await?;
    let shown = door.sns.show(caller.user, found).await?;
    let is_found = |id: &&String| shown.iter().any(|shown| shown.post.id.to_string() == **id);
    let not_found = post_ids.iter().filter(|id| !is_found(id)).cloned().collect();
    let posts = door.with_likes(caller.user, &shown).await?;
    Ok(Json(PostBatch { posts, not_found }))
}

/// Lists posts of a user, newest first.
#[utoipa::path(get, path = "/sns/v1/users/{id}/posts", params(
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
pub(super) async fn list_posts(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<PostPage>, Failure> {
    let (user, part) = (named(&caller, &id)?, asked.part()?);
    let profile = door.sns.get_profile(caller.user, user).await?;
    if door.sns.is_apart(caller.user, user).await? {
        return Ok(Json(PostPage::new(&part, Vec::new(), None, Some(0))));
    }
    let page = door.sns.list_posts_of(user, &part).await?;
    let posts = door.shown(caller.user, page.items).await?;
    Ok(Json(PostPage::new(&part, posts, page.next, Some(profile.posts))))
}

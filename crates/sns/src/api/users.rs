//! Users.

use std::str::FromStr;
use std::sync::Arc;

use base::{Error as TextError, text};
use bytes::Bytes;
use edge::{Failure, Json, Known, Path, State, StatusCode, read_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Door;
use crate::error::{Error, Flaw};
use crate::limits::{BATCH_MAX, ID_BYTES_MAX};
use crate::model::UserId;
use crate::model::account::{Change, User};
use crate::ops::identity::Caller;
use crate::ops::users::Profile;

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownUser {
    user_id: String,
    username: String,
    display_name: String,
    bio: String,
    created_at: String,
    updated_at: String,
    /// In answers to the user itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    posts_count: Option<u64>,
    /// How many posts it likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    likes_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    followers_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    following_count: Option<u64>,
    /// Whether the caller follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_following: Option<bool>,
    /// Whether the caller blocks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_blocked: Option<bool>,
    /// Whether the caller has muted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_muted: Option<bool>,
}

impl ShownUser {
    /// As the user sees itself.
    pub(super) fn own(user: &User) -> ShownUser {
        ShownUser { email: Some(user.email.clone()), ..ShownUser::of(user) }
    }

    fn of(user: &User) -> ShownUser {
        ShownUser {
            user_id: user.id.to_string(),
            username: user.username.clone(),
            display_name: user.display_name.clone(),
            bio: user.bio.clone(),
            created_at: user.created.to_string(),
            updated_at: user.updated.to_string(),
            email: None,
            posts_count: None,
            likes_count: None,
            followers_count: None,
            following_count: None,
            is_following: None,
            is_blocked: None,
            is_muted: None,
        }
    }

    /// As `viewer` sees it.
    pub(super) fn profile(profile: &Profile, viewer: UserId) -> ShownUser {
        let user = &profile.user;
        let shown = if user.id == viewer { ShownUser::own(user) } else { ShownUser::of(user) };
        ShownUser {
            posts_count: Some(profile.posts),
            likes_count: Some(profile.counts.likes),
            followers_count: Some(profile.counts.followers),
            following_count: Some(profile.counts.following),
            is_following: Some(profile.is_following),
            is_blocked: Some(profile.is_blocked),
            is_muted: Some(profile.is_muted),
            ..shown
        }
    }
}

/// The user that a path names: by id, or as `me`.
pub(super) fn named(caller: &Caller, text: &str) -> Result<UserId, Error> {
    match text {
        "me" => Ok(caller.user),
        _ => text.parse().map_err(|()| Error::NoSuchUser(text.to_owned())),
    }
}

/// The caller, if the path names it.
pub(super) fn own(caller: &Caller, text: &str) -> Result<UserId, Error> {
    let user = named(caller, text)?;
    if user == caller.user { Ok(user) } else { Err(Error::NotYours) }
}

/// Shows a user.
#[utoipa::path(get, path = "/sns/v1/users/{id}", params(
    ("id" = String, Path, description = "A user's id, or `me`"),
), responses(
    (status = 200, description = "The user.", body = ShownUser),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn get_user(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<Json<ShownUser>, Failure> {
    let profile = door.sns.get_profile(caller.user, named(&caller, &id)?).await?;
    Ok(Json(ShownUser::profile(&profile, caller.user)))
}

/// Finds a user by name, whatever its case.
#[utoipa::path(get, path = "/sns/v1/users/by/username/{name}", params(
    ("name" = String, Path, description = "A username"),
), responses(
    (status = 200, description = "The user.", body = ShownUser),
    (status = 401, description = "The token is not good."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn get_by_name(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(name): Path<String>,
) -> Result<Json<ShownUser>, Failure> {
    let user = door.sns.find_by_name(&name).await?.ok_or(Error::NoSuchUser(name))?;
    let profile = door.sns.get_profile(caller.user, user.id).await?;
    Ok(Json(ShownUser::profile(&profile, caller.user)))
}

/// What a user changes about itself; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "displayName": "Ada", "bio": "長屋の住人" }))]
pub(super) struct Changed {
    /// 3 to 50 letters of `A-Z a-z 0-9 _ -`.
    #[schema(min_length = 3, max_length = 50, pattern = "^[A-Za-z0-9_-]+$")]
    username: Option<String>,
    /// Up to 50 characters.
    display_name: Option<String>,
    /// Up to 160 characters.
    bio: Option<String>,
}

/// Changes the caller's profile. The former username is held for 30 days. The e-mail address and the
/// password cannot be changed here: another `email`, or any password, is refused.
#[utoipa::path(put, path = "/sns/v1/users/{id}", request_body = Changed, params(
    ("id" = String, Path, description = "The caller's id, or `me`"),
), responses(
    (status = 200, description = "The user.", body = ShownUser),
    (status = 400, description = "A value breaks its bound."),
    (status = 401, description = "The token is not good."),
    (status = 403, description = "It is somebody else."),
    (status = 404, description = "No such user."),
    (status = 409, description = "The username is taken, looks like one that is, is reserved or held."),
    (status = 429, description = "Too fast, or the username was changed five times in 30 days; `Retry-After` says when to come again."),
))]
pub(super) async fn change_user(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<Json<ShownUser>, Failure> {
    let user = own(&caller, &id)?;
    let Changed { username, display_name, bio } = read_json(&bytes)?;
    let email = fixed_email(&bytes)?;
    door.sns.change_user(user, &Change { username, display_name, bio, email }).await?;
    let profile = door.sns.get_profile(caller.user, user).await?;
    Ok(Json(ShownUser::profile(&profile, caller.user)))
}

/// The e-mail address in a profile that is sent back as it was given; a password is in none.
fn fixed_email(bytes: &[u8]) -> Result<Option<String>, Failure> {
    let members: Map<String, Value> = read_json(bytes)?;
    let is_password = |name: &String| name.to_lowercase().contains("password");
    if members.keys().any(is_password) {
        return Err(Error::from(Flaw::PasswordElsewhere).into());
    }
    match members.get("email") {
        None => Ok(None),
        Some(Value::String(email)) => Ok(Some(email.clone())),
        Some(_) => Err(Error::from(Flaw::EmailFixed).into()),
    }
}

/// Deletes the caller's account: posts, follows and likes follow. Its username is held for 30 days.
#[utoipa::path(delete, path = "/sns/v1/users/{id}", params(
    ("id" = String, Path, description = "The caller's id, or `me`"),
), responses(
    (status = 204, description = "It is gone."),
    (status = 401, description = "The token is not good."),
    (status = 403, description = "It is somebody else."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn delete_user(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    own(&caller, &id)?;
    door.sns.delete_account(&caller).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Whom to show.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "userIds": ["01JD0000000000000000000000"] }))]
pub(super) struct UserIds {
    /// 1 to 100 ids.
    #[schema(min_items = 1, max_items = 100)]
    user_ids: Vec<String>,
}

/// Users, and the ids of those who are not there.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserBatch {
    users: Vec<ShownUser>,
    not_found: Vec<String>,
}

/// Shows many users.
#[utoipa::path(post, path = "/sns/v1/users/batch", operation_id = "batch_users", request_body = UserIds, responses(
    (status = 200, description = "The users.", body = UserBatch),
    (status = 400, description = "Too many, or none."),
    (status = 401, description = "The token is not good."),
))]
pub(super) async fn batch(
    State(door): State<Arc<Door>>,
    Known(caller): Known<Caller>,
    bytes: Bytes,
) -> Result<Json<UserBatch>, Failure> {
    let UserIds { user_ids } = read_json(&bytes)?;
    let ids: Vec<UserId> = batch_of("userIds", &user_ids)?;
    let profiles = door.sns.list_profiles(caller.user, &ids).await?;
    let found = |id: &String| profiles.iter().any(|one| one.user.id.to_string() == *id);
    let not_found = user_ids.iter().filter(|id| !found(id)).cloned().collect();
    let users = profiles.iter().map(|one| ShownUser::profile(one, caller.user)).collect();
    Ok(Json(UserBatch { users, not_found }))
}

/// The ids of a batch, which has some and not too many. What is no id is nobody's.
pub(super) fn batch_of<T: FromStr + PartialEq>(
    name: &'static str,
    given: &[String],
) -> Result<Vec<T>, Error> {
    let count = given.len();
    if !(1..=BATCH_MAX).contains(&count) {
        return Err(Flaw::Batch { name, count }.into());
    }
    let refused = |error| Error::from(Flaw::Text { field: name, error });
    for id in given {
        if id.len() > ID_BYTES_MAX {
            return Err(refused(TextError::TextTooManyBytes {
                bytes: id.len(),
                max: ID_BYTES_MAX,
            }));
        }
        text::check_plain(id).map_err(refused)?;
    }
    let mut ids = Vec::with_capacity(count);
    for id in given.iter().filter_map(|id| id.parse().ok()) {
        // A store reads an item once in a batch.
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

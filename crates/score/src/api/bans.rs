//! The operator's calls about players who may not submit.

use std::sync::Arc;

use edge::{Bounds, Failure, Json, Path, Response, Routes, State, Subject, bounded, get, put};
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::operate::reason;
use super::ranking::fresh;
use crate::Score;
use crate::limits::OPERATION_TIME;
use crate::model::check_id;

#[derive(OpenApi)]
#[openapi(paths(put_ban, delete_ban, get_bans))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    // Rows of every month of every game are looked for.
    let long = Bounds { answer_within: Some(OPERATION_TIME), ..Bounds::default() };
    Routes::new()
        .route("/score/bans/{user}", bounded(put(put_ban).delete(delete_ban), long))
        .route("/score/bans", get(get_bans))
        .with_state(Arc::clone(door))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "reason": "impossible scores" }))]
struct Ban {
    /// For the audit.
    reason: String,
}

/// A ban that was set.
#[derive(Serialize, ToSchema)]
struct Banned {
    /// The user's id.
    banned: String,
    /// How many rows were taken off their boards.
    #[serde(skip_serializing_if = "is_none")]
    rows: usize,
}

/// A ban that was lifted.
#[derive(Serialize, ToSchema)]
struct Unbanned {
    /// The user's id.
    unbanned: String,
    /// How many rows are back on their boards.
    #[serde(skip_serializing_if = "is_none")]
    rows: usize,
}

fn is_none(rows: &usize) -> bool {
    *rows == 0
}

/// Lets a user submit no more, in no game, and takes the user's rows off all boards.
#[utoipa::path(put, path = "/score/bans/{userId}", params(("userId" = String, Path)),
    request_body = Ban, responses(
    (status = 200, description = "The user is banned.", body = Banned),
))]
async fn put_ban(
    State(door): State<Arc<Door>>,
    Path(user): Path<String>,
    subject: Subject,
    Json(ban): Json<Ban>,
) -> Result<Response, Failure> {
    check_id("userId", &user)?;
    let reason = reason(Some(&ban.reason))?;
    let named = user.clone();
    let ban = |score: Arc<Score>| async move { score.ban(&subject.0, &user, &reason).await };
    let rows = door.operate(ban).await?;
    Ok(fresh(&Banned { banned: named, rows }))
}

/// Lets a user submit again. The rows that the ban took come back.
#[utoipa::path(delete, path = "/score/bans/{userId}", params(("userId" = String, Path)),
    responses(
    (status = 200, description = "The user is banned no more.", body = Unbanned),
    (status = 404, description = "The user was not."),
))]
async fn delete_ban(
    State(door): State<Arc<Door>>,
    Path(user): Path<String>,
    subject: Subject,
) -> Result<Response, Failure> {
    check_id("userId", &user)?;
    let named = user.clone();
    let unban = |score: Arc<Score>| async move { score.unban(&subject.0, &user).await };
    let rows = door.operate(unban).await?;
    Ok(fresh(&Unbanned { unbanned: named, rows }))
}

/// Who may not submit, and why.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BanEntry {
    user_id: String,
    reason: String,
}

/// Who may not submit.
#[utoipa::path(get, path = "/score/bans", responses(
    (status = 200, description = "Users and reasons.", body = [BanEntry]),
))]
async fn get_bans(State(door): State<Arc<Door>>) -> Response {
    let now = door.score.games.now();
    let bans = now.bans.iter();
    let entry = |(user_id, reason): (&String, &String)| BanEntry {
        user_id: user_id.clone(),
        reason: reason.clone(),
    };
    fresh(&bans.map(entry).collect::<Vec<_>>())
}

//! The operator's calls, for API keys with the scope `sns:operate`.

use std::sync::Arc;

use edge::{Failure, Json, Path, Routes, State, post};
use serde::Serialize;
use utoipa::ToSchema;

use super::Door;
use crate::error::Error;
use crate::model::UserId;

/// What a key needs.
pub(super) const SCOPE: &str = "sns:operate";

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/sns/operate/invites", post(make_invite))
        .route("/sns/operate/recount", post(recount))
        .route("/sns/operate/rebuild/{user}", post(rebuild))
        .route("/sns/operate/redrive", post(redrive))
        .with_state(Arc::clone(door))
}

/// An invitation.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invite {
    /// Lets one register.
    invite: String,
    /// Until when.
    expires_at: String,
}

/// Makes a code with which one may register.
#[utoipa::path(post, path = "/sns/operate/invites", security(("key" = [])), responses(
    (status = 200, description = "The code.", body = Invite),
    (status = 401, description = "A key is needed."),
    (status = 403, description = "The key has another scope."),
))]
pub(super) async fn make_invite(State(door): State<Arc<Door>>) -> Result<Json<Invite>, Failure> {
    let (invite, until) = door.sns.make_invite().await?;
    Ok(Json(Invite { invite, expires_at: until.to_string() }))
}

/// A count that was wrong and is corrected.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Corrected {
    what: &'static str,
    of: String,
    counted: u64,
    found: u64,
}

/// Counts everything again, and corrects what is wrong.
#[utoipa::path(post, path = "/sns/operate/recount", security(("key" = [])), responses(
    (status = 200, description = "What was wrong: nothing, if all is well.", body = Vec<Corrected>),
    (status = 401, description = "A key is needed."),
    (status = 403, description = "The key has another scope."),
))]
pub(super) async fn recount(
    State(door): State<Arc<Door>>,
) -> Result<Json<Vec<Corrected>>, Failure> {
    let wrong = door.sns.recount_all().await?.into_iter();
    let shown = wrong.map(|one| Corrected {
        what: one.what,
        of: one.of,
        counted: one.counted,
        found: one.found,
    });
    Ok(Json(shown.collect()))
}

/// A timeline that was made again.
#[derive(Serialize, ToSchema)]
pub(super) struct Rebuilt {
    /// How many posts it has.
    entries: usize,
}

/// Makes a user's timeline again from the posts of those whom it follows.
#[utoipa::path(post, path = "/sns/operate/rebuild/{user}", security(("key" = [])), params(
    ("user" = String, Path, description = "A user's id"),
), responses(
    (status = 200, description = "It is made.", body = Rebuilt),
    (status = 401, description = "A key is needed."),
    (status = 403, description = "The key has another scope."),
    (status = 404, description = "No such user."),
))]
pub(super) async fn rebuild(
    State(door): State<Arc<Door>>,
    Path(user): Path<String>,
) -> Result<Json<Rebuilt>, Failure> {
    let id: UserId = user.parse().map_err(|()| Error::NoSuchUser(user))?;
    door.sns.get_user(id).await?;
    Ok(Json(Rebuilt { entries: door.sns.rebuild(id).await? }))
}

/// Facts that are tried again.
#[derive(Serialize, ToSchema)]
pub(super) struct Redriven {
    /// How many there were.
    facts: u64,
}

/// Tries all facts again that were given up.
#[utoipa::path(post, path = "/sns/operate/redrive", security(("key" = [])), responses(
    (status = 200, description = "They are tried again.", body = Redriven),
    (status = 401, description = "A key is needed."),
    (status = 403, description = "The key has another scope."),
))]
pub(super) async fn redrive(State(door): State<Arc<Door>>) -> Result<Json<Redriven>, Failure> {
    let mut facts = 0;
    let queues = door.sns.queues.read().clone();
    for queue in queues {
        facts += queue.replay_all().await.map_err(Error::from)?;
    }
    Ok(Json(Redriven { facts }))
}

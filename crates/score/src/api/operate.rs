//! The operator's calls, for API keys with the scope `score:operate` and for the operator's browser:
//! games, trims and deletions here, `bans.rs`, and what is read, exported and imported in
//! `records.rs`. Each that changes something, or takes rows out, is audited under the key's name or
//! the operator's, and done to its end whoever hangs up meanwhile.

use std::sync::Arc;

use edge::{
    Bounds, Failure, Json, Path, Query, Response, Routes, State, Subject, bounded, delete, post,
    put,
};
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::ranking::fresh;
use crate::Score;
use crate::error::Error;
use crate::items::game::GameForm;
use crate::limits::{OPERATION_TIME, REASON};
use crate::model::board::BoardKey;
use crate::model::check_id;
use crate::model::period::Period;
use crate::ops::trim::Trimmed;

/// What a key must be allowed.
pub(super) const SCOPE: &str = "score:operate";

#[derive(OpenApi)]
#[openapi(paths(put_game, delete_game, post_trim, delete_score, delete_scores))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    let long = Bounds { answer_within: Some(OPERATION_TIME), ..Bounds::default() };
    Routes::new()
        .route("/score/games/{game}", put(put_game).delete(delete_game))
        .route("/score/trim", bounded(post(post_trim), long))
        .route("/score/scores/{game}/{period}/{user}", delete(delete_score))
        .route("/score/scores/{game}/{user}", bounded(delete(delete_scores), long))
        .with_state(Arc::clone(door))
}

impl Door {
    /// Does what the operator wants to its end.
    pub(super) async fn operate<T, F>(&self, work: impl FnOnce(Arc<Score>) -> F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        self.score.to_the_end("score operator", work(Arc::clone(&self.score))).await
    }
}

pub(super) fn reason(given: Option<&str>) -> Result<String, Error> {
    let reason = REASON.apply(given.unwrap_or_default());
    reason.map_err(|error| Error::invalid(format!("reason: {error}")))
}

/// Sets a game, whatever the file says.
#[utoipa::path(put, path = "/score/games/{gameId}", params(("gameId" = String, Path)),
    request_body = GameForm, responses(
    (status = 200, description = "The game as it is now.", body = GameForm),
    (status = 400, description = "It is no game."),
    (status = 401, description = "There is no key."),
))]
async fn put_game(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
    subject: Subject,
    Json(form): Json<GameForm>,
) -> Result<Response, Failure> {
    let game = form.new_game()?;
    if game.name != name {
        let told = format!("gameName must be `{name}`, as in the path, not `{}`", game.name);
        return Err(Error::invalid(told).into());
    }
    let form = GameForm::from(&game);
    let set =
        |score: Arc<Score>| async move { score.set_game(&subject.0, &name, Some(&game)).await };
    door.operate(set).await?;
    Ok(fresh(&form))
}

/// What was deleted.
#[derive(Serialize, ToSchema)]
struct Deleted {
    /// The game's or the user's id.
    deleted: String,
    /// Where a player's scores were deleted, if that was all of a game's periods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    periods: Vec<String>,
}

impl Deleted {
    fn new(deleted: &str, periods: &[Period]) -> Deleted {
        let periods = periods.iter().map(Period::to_string).collect();
        Deleted { deleted: deleted.to_owned(), periods }
    }
}

/// Takes a game away, whatever the file says. Its rows stay.
#[utoipa::path(delete, path = "/score/games/{gameId}", params(("gameId" = String, Path)),
    responses(
    (status = 200, description = "It is gone.", body = Deleted),
    (status = 404, description = "There is no such game."),
))]
async fn delete_game(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
    subject: Subject,
) -> Result<Response, Failure> {
    check_id("gameId", &name)?;
    let told = Deleted::new(&name, &[]);
    let delete = |score: Arc<Score>| async move { score.set_game(&subject.0, &name, None).await };
    door.operate(delete).await?;
    Ok(fresh(&told))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "dryRun": true }))]
struct Trim {
    /// Whether only to say what would be deleted.
    #[serde(default)]
    dry_run: bool,
}

/// What a trim did, or would do.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TrimReport {
    dry_run: bool,
    boards: Vec<TrimmedBoard>,
}

/// What a trim did to one board.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TrimmedBoard {
    game_id: String,
    period: String,
    /// Rows that stay.
    kept: usize,
    deleted: usize,
    /// Whether the month is over, and its board is written no more by plays.
    archived: bool,
    /// Why the board was left alone.
    refused: Option<String>,
}

impl From<Trimmed> for TrimmedBoard {
    fn from(trimmed: Trimmed) -> TrimmedBoard {
        let Trimmed { board, kept, deleted, archived, refused } = trimmed;
        let (game_id, period) = (board.game, board.period.to_string());
        TrimmedBoard { game_id, period, kept, deleted, archived, refused }
    }
}

/// Trims all boards now.
#[utoipa::path(post, path = "/score/trim", request_body = Trim, responses(
    (status = 200, description = "What was deleted, board by board.", body = TrimReport),
))]
async fn post_trim(
    State(door): State<Arc<Door>>,
    subject: Subject,
    Json(trim): Json<Trim>,
) -> Result<Response, Failure> {
    let is_dry = trim.dry_run;
    let work = |score: Arc<Score>| async move { score.trim(&subject.0, is_dry).await };
    let report = door.operate(work).await?;
    let boards = report.into_iter().map(TrimmedBoard::from).collect();
    Ok(fresh(&TrimReport { dry_run: is_dry, boards }))
}

#[derive(Deserialize)]
struct Reasoned {
    reason: Option<String>,
}

/// Deletes a score of one period, also of an archived month.
#[utoipa::path(delete, path = "/score/scores/{gameId}/{period}/{userId}", params(
    ("gameId" = String, Path), ("period" = String, Path), ("userId" = String, Path),
    ("reason" = String, Query, description = "For the audit."),
), responses(
    (status = 200, description = "It is gone.", body = Deleted),
    (status = 404, description = "There is no such score."),
))]
async fn delete_score(
    State(door): State<Arc<Door>>,
    Path((game, period, user)): Path<(String, String, String)>,
    Query(reasoned): Query<Reasoned>,
    subject: Subject,
) -> Result<Response, Failure> {
    check_id("gameId", &game)?;
    check_id("userId", &user)?;
    let key = BoardKey::new(&game, period.parse()?);
    let reason = reason(reasoned.reason.as_deref())?;
    let told = Deleted::new(&user, &[]);
    let delete = |score: Arc<Score>| async move {
        score.delete_score(&subject.0, &key, &user, &reason).await
    };
    door.operate(delete).await?;
    Ok(fresh(&told))
}

/// Deletes a player's scores of a game in all periods, archived months among them.
#[utoipa::path(delete, path = "/score/scores/{gameId}/{userId}", params(
    ("gameId" = String, Path), ("userId" = String, Path),
    ("reason" = String, Query, description = "For the audit."),
), responses(
    (status = 200, description = "They are gone, and where they were.", body = Deleted),
    (status = 404, description = "The player has no score in this game."),
))]
async fn delete_scores(
    State(door): State<Arc<Door>>,
    Path((game, user)): Path<(String, String)>,
    Query(reasoned): Query<Reasoned>,
    subject: Subject,
) -> Result<Response, Failure> {
    check_id("gameId", &game)?;
    check_id("userId", &user)?;
    let reason = reason(reasoned.reason.as_deref())?;
    let named = user.clone();
    let delete = |score: Arc<Score>| async move {
        score.delete_scores(&subject.0, &game, &user, &reason).await
    };
    let periods = door.operate(delete).await?;
    Ok(fresh(&Deleted::new(&named, &periods)))
}

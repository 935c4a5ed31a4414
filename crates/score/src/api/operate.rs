//! The operator's calls, for API keys with the scope `score:operate` and for the operator's browser.
//! Each that changes something, or takes rows out, is audited under the key's name or the operator's,
//! and done to its end whoever hangs up meanwhile.

use std::sync::Arc;

use edge::{
    Bounds, Failure, Json, Path, Query, Response, Routes, State, StatusCode, Subject, bounded,
    delete, get, post, put,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as JsonValue, json};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::ranking::fresh;
use crate::Score;
use crate::error::Error;
use crate::items::game::GameForm;
use crate::items::meta;
use crate::limits::{IMPORT_BYTES_MAX, IMPORT_ROWS_MAX, OPERATION_TIME, PAGE_MAX, REASON};
use crate::model::board::BoardKey;
use crate::model::game::Value;
use crate::model::play::Claim;
use crate::model::{check_id, player_name};
use crate::ops::operate::Imported;

/// What a key must be allowed.
pub(super) const SCOPE: &str = "score:operate";

#[derive(OpenApi)]
#[openapi(paths(
    put_game,
    delete_game,
    post_trim,
    delete_score,
    put_ban,
    delete_ban,
    get_bans,
    get_audit,
    get_export,
    post_import,
    get_suspicions
))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    let long = Bounds { answer_within: Some(OPERATION_TIME), ..Bounds::default() };
    let great = Bounds { body_bytes_max: Some(IMPORT_BYTES_MAX), ..long };
    Routes::new()
        .route("/score/games/{game}", put(put_game).delete(delete_game))
        .route("/score/trim", bounded(post(post_trim), long))
        .route("/score/scores/{game}/{period}/{user}", delete(delete_score))
        .route("/score/bans/{user}", put(put_ban).delete(delete_ban))
        .route("/score/bans", get(get_bans))
        .route("/score/audit", get(get_audit))
        .route("/score/export/{game}/{period}", get(get_export))
        .route("/score/import/{game}/{period}", bounded(post(post_import), great))
        .route("/score/suspicions", get(get_suspicions))
        .with_state(Arc::clone(door))
}

impl Door {
    /// Does what the operator wants to its end.
    async fn operate<T, F>(&self, work: impl FnOnce(Arc<Score>) -> F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        self.score.to_the_end("score operator", work(Arc::clone(&self.score))).await
    }
}

fn reason(given: Option<&str>) -> Result<String, Error> {
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

/// Takes a game away, whatever the file says. Its rows stay.
#[utoipa::path(delete, path = "/score/games/{gameId}", params(("gameId" = String, Path)),
    responses(
    (status = 200, description = "It is gone.", body = serde_json::Value),
    (status = 404, description = "There is no such game."),
))]
async fn delete_game(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
    subject: Subject,
) -> Result<Response, Failure> {
    check_id("gameId", &name)?;
    let told = json!({ "deleted": name });
    let delete = |score: Arc<Score>| async move { score.set_game(&subject.0, &name, None).await };
    door.operate(delete).await?;
    Ok(fresh(&told))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Trim {
    /// Whether only to say what would be deleted.
    #[serde(default)]
    dry_run: bool,
}

/// Trims all boards now.
#[utoipa::path(post, path = "/score/trim", request_body = Trim, responses(
    (status = 200, description = "What was deleted, board by board.", body = serde_json::Value),
))]
async fn post_trim(
    State(door): State<Arc<Door>>,
    subject: Subject,
    Json(trim): Json<Trim>,
) -> Result<Response, Failure> {
    let is_dry = trim.dry_run;
    let work = |score: Arc<Score>| async move { score.trim(&subject.0, is_dry).await };
    let report = door.operate(work).await?;
    let boards: Vec<JsonValue> = report
        .iter()
        .map(|trimmed| {
            json!({
                "gameId": trimmed.board.game,
                "period": trimmed.board.period.as_str(),
                "kept": trimmed.kept,
                "deleted": trimmed.deleted,
                "archived": trimmed.archived,
                "refused": trimmed.refused,
            })
        })
        .collect();
    Ok(fresh(&json!({ "dryRun": trim.dry_run, "boards": boards })))
}

#[derive(Deserialize)]
struct Reasoned {
    reason: Option<String>,
}

/// Deletes a score of one period.
#[utoipa::path(delete, path = "/score/scores/{gameId}/{period}/{userId}", params(
    ("gameId" = String, Path), ("period" = String, Path), ("userId" = String, Path),
    ("reason" = String, Query, description = "For the audit."),
), responses(
    (status = 200, description = "It is gone.", body = serde_json::Value),
    (status = 404, description = "There is no such score."),
    (status = 409, description = "The month is archived."),
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
    let told = json!({ "deleted": user });
    let delete = |score: Arc<Score>| async move {
        score.delete_score(&subject.0, &key, &user, &reason).await
    };
    door.operate(delete).await?;
    Ok(fresh(&told))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Ban {
    /// For the audit.
    reason: String,
}

/// Lets a user submit no more, in no game.
#[utoipa::path(put, path = "/score/bans/{userId}", params(("userId" = String, Path)),
    request_body = Ban, responses(
    (status = 200, description = "The user is banned.", body = serde_json::Value),
))]
async fn put_ban(
    State(door): State<Arc<Door>>,
    Path(user): Path<String>,
    subject: Subject,
    Json(ban): Json<Ban>,
) -> Result<Response, Failure> {
    check_id("userId", &user)?;
    let reason = reason(Some(&ban.reason))?;
    let told = json!({ "banned": user });
    let ban = |score: Arc<Score>| async move { score.ban(&subject.0, &user, &reason).await };
    door.operate(ban).await?;
    Ok(fresh(&told))
}

/// Lets a user submit again.
#[utoipa::path(delete, path = "/score/bans/{userId}", params(("userId" = String, Path)),
    responses(
    (status = 200, description = "The user is banned no more.", body = serde_json::Value),
    (status = 404, description = "The user was not."),
))]
async fn delete_ban(
    State(door): State<Arc<Door>>,
    Path(user): Path<String>,
    subject: Subject,
) -> Result<Response, Failure> {
    check_id("userId", &user)?;
    let told = json!({ "unbanned": user });
    let unban = |score: Arc<Score>| async move { score.unban(&subject.0, &user).await };
    door.operate(unban).await?;
    Ok(fresh(&told))
}

/// Who may not submit.
#[utoipa::path(get, path = "/score/bans", responses(
    (status = 200, description = "Users and reasons.", body = serde_json::Value),
))]
async fn get_bans(State(door): State<Arc<Door>>) -> Response {
    let now = door.score.games.now();
    let bans = now.bans.iter().map(|(user, reason)| json!({ "userId": user, "reason": reason }));
    fresh(&bans.collect::<Vec<_>>())
}

#[derive(Deserialize)]
struct Paged {
    after: Option<String>,
    limit: Option<String>,
}

impl Paged {
    fn limit(&self) -> Result<u32, Error> {
        let Some(text) = self.limit.as_deref() else { return Ok(PAGE_MAX as u32) };
        let limit = text.parse().ok().filter(|limit| (1..=PAGE_MAX as u32).contains(limit));
        limit.ok_or_else(|| {
            Error::invalid(format!("limit must be from 1 to {PAGE_MAX}, not `{text}`"))
        })
    }
}

/// What the operator did, the oldest first, each entry sealed with the one before.
#[utoipa::path(get, path = "/score/audit", params(
    ("after" = Option<u64>, Query, description = "The number of the last entry that is known."),
    ("limit" = Option<u32>, Query),
), responses(
    (status = 200, description = "Entries, whether their chain is whole, and the number of the \
     newest of all.", body = serde_json::Value),
))]
async fn get_audit(
    State(door): State<Arc<Door>>,
    Query(paged): Query<Paged>,
) -> Result<Response, Failure> {
    let limit = paged.limit()?;
    let after = paged.after.as_deref().unwrap_or("0");
    let after = after
        .parse()
        .map_err(|_| Error::invalid(format!("after must be a number, not `{after}`")))?;
    let (entries, is_whole, newest) = door.score.list_audit(after, limit).await?;
    let entries: Vec<JsonValue> = entries
        .iter()
        .map(|entry| {
            let detail: Map<String, JsonValue> =
                entry.detail.iter().map(|(name, it)| (name.clone(), json!(it))).collect();
            json!({
                "number": entry.number,
                "at": entry.at.to_string(),
                "actor": entry.actor,
                "action": entry.action,
                "detail": detail,
                "previous": entry.previous,
                "hash": entry.hash,
            })
        })
        .collect();
    Ok(fresh(&json!({ "whole": is_whole, "newest": newest.number, "entries": entries })))
}

/// A row as it is exported and imported.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RowForm {
    user_id: String,
    user_name: String,
    score: i64,
    time_ms: i64,
    updated_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meta: Option<Map<String, JsonValue>>,
}

/// Rows of a board by user.
#[derive(Serialize, ToSchema)]
struct Exported {
    rows: Vec<RowForm>,
    /// What to send as `after` for the next page; none at the end.
    next: Option<String>,
}

/// All rows of a board, page by page.
#[utoipa::path(get, path = "/score/export/{gameId}/{period}", params(
    ("gameId" = String, Path), ("period" = String, Path),
    ("after" = Option<String>, Query, description = "The user behind whom to go on."),
    ("limit" = Option<u32>, Query, description = "From 1 to 1000, which is usual."),
), responses(
    (status = 200, description = "Rows by user.", body = Exported),
))]
async fn get_export(
    State(door): State<Arc<Door>>,
    Path((game, period)): Path<(String, String)>,
    Query(paged): Query<Paged>,
    subject: Subject,
) -> Result<Response, Failure> {
    check_id("gameId", &game)?;
    let key = BoardKey::new(&game, period.parse()?);
    if let Some(after) = &paged.after {
        check_id("after", after)?;
    }
    let limit = paged.limit()?;
    let export = |score: Arc<Score>| async move {
        score.export(&subject.0, &key, paged.after.as_deref(), limit).await
    };
    let (found, next) = door.operate(export).await?;
    let form = |it: &crate::ops::operate::Exported| RowForm {
        user_id: it.row.user.to_string(),
        user_name: it.row.name.to_string(),
        score: it.row.value.score,
        time_ms: it.row.value.time_ms,
        updated_at: it.row.value.updated_at.to_string(),
        meta: it.meta.as_ref().map(meta::to_json).and_then(|json| match json {
            JsonValue::Object(map) => Some(map),
            _ => None,
        }),
    };
    Ok(fresh(&Exported { rows: found.iter().map(form).collect(), next }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Import {
    rows: Vec<RowForm>,
    /// As an export gives it, and of no use here.
    #[serde(default, rename = "next")]
    _next: Option<String>,
}

/// Takes rows in where they are better than what is there.
#[utoipa::path(post, path = "/score/import/{gameId}/{period}", params(
    ("gameId" = String, Path), ("period" = String, Path),
), request_body = Import, responses(
    (status = 200, description = "How many were better.", body = serde_json::Value),
    (status = 404, description = "There is no such game."),
    (status = 409, description = "The month is archived."),
))]
async fn post_import(
    State(door): State<Arc<Door>>,
    Path((game, period)): Path<(String, String)>,
    subject: Subject,
    Json(import): Json<Import>,
) -> Result<Response, Failure> {
    check_id("gameId", &game)?;
    let (game, period) = (door.score.get_game(&game)?, period.parse()?);
    if import.rows.len() > IMPORT_ROWS_MAX {
        let told = format!("{} rows, at most {IMPORT_ROWS_MAX} allowed", import.rows.len());
        return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "too_many_rows", told));
    }
    let mut rows: Vec<Imported> = Vec::new();
    for (index, form) in import.rows.into_iter().enumerate() {
        let row = form.row();
        let row = row.map_err(|error| Error::invalid(format!("row {index}: {error}")))?;
        if rows.iter().any(|other| other.user == row.user) {
            let told = format!("row {index}: `{}` is there twice", row.user);
            return Err(Error::invalid(told).into());
        }
        rows.push(row);
    }
    let count = rows.len();
    let import =
        |score: Arc<Score>| async move { score.import(&subject.0, &game, &period, &rows).await };
    let written = door.operate(import).await?;
    Ok(fresh(&json!({ "rows": count, "written": written })))
}

impl RowForm {
    fn row(self) -> Result<Imported, Error> {
        check_id("userId", &self.user_id)?;
        let Claim { score, time_ms } = Claim::new(self.score, self.time_ms)?;
        let wrong = |error: base::Error| Error::invalid(error.to_string());
        Ok(Imported {
            name: player_name(&self.user_name).map_err(wrong)?,
            value: Value { score, time_ms, updated_at: self.updated_at.parse().map_err(wrong)? },
            meta: self.meta.as_ref().map(meta::from_json).transpose()?,
            user: self.user_id,
        })
    }
}

/// Plays with good tokens that cannot be true, the newest first. Nobody is named where a play was
/// only ended and its token is nobody's.
#[utoipa::path(get, path = "/score/suspicions", responses(
    (status = 200, description = "Plays and reasons, of this instance.", body = serde_json::Value),
))]
async fn get_suspicions(State(door): State<Arc<Door>>) -> Response {
    let all = door.score.suspicions.list();
    let told = all.iter().map(|it| {
        json!({
            "at": it.at.to_string(),
            "gameId": it.game,
            "userId": it.user,
            "score": it.claim.score,
            "timeMs": it.claim.time_ms,
            "reason": it.why.word(),
            "detail": it.why.to_string(),
        })
    });
    fresh(&told.collect::<Vec<_>>())
}

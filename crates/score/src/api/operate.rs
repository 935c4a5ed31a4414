//! The operator's calls, for API keys with the scope `score:operate`. Each that changes something
//! is audited under the key's name.

use std::sync::Arc;

use edge::{
    Caller, Failure, Json, Path, Query, Response, Routes, State, StatusCode, delete, get, post, put,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as JsonValue, json};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::ranking::fresh;
use crate::error::Error;
use crate::items::game::GameForm;
use crate::items::meta;
use crate::limits::{IMPORT_ROWS_MAX, PAGE_MAX, PLAYER, REASON};
use crate::model::board::BoardKey;
use crate::model::check_id;
use crate::model::game::Value;
use crate::model::play::Claim;
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
    Routes::new()
        .route("/score/games/{game}", put(put_game).delete(delete_game))
        .route("/score/trim", post(post_trim))
        .route("/score/scores/{game}/{period}/{user}", delete(delete_score))
        .route("/score/bans/{user}", put(put_ban).delete(delete_ban))
        .route("/score/bans", get(get_bans))
        .route("/score/audit", get(get_audit))
        .route("/score/export/{game}/{period}", get(get_export))
        .route("/score/import/{game}/{period}", post(post_import))
        .route("/score/suspicions", get(get_suspicions))
        .with_state(Arc::clone(door))
}

fn actor(caller: &Caller) -> String {
    format!("key:{}", caller.name())
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
    caller: Caller,
    Json(form): Json<GameForm>,
) -> Result<Response, Failure> {
    let game = form.game()?;
    if game.name != name {
        let told = format!("gameName must be `{name}`, as in the path, not `{}`", game.name);
        return Err(Error::invalid(told).into());
    }
    door.score.set_game(&actor(&caller), &name, Some(&game)).await?;
    Ok(fresh(&GameForm::from(&game)))
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
    caller: Caller,
) -> Result<Response, Failure> {
    check_id("gameId", &name)?;
    door.score.set_game(&actor(&caller), &name, None).await?;
    Ok(fresh(&json!({ "deleted": name })))
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
    caller: Caller,
    Json(trim): Json<Trim>,
) -> Result<Response, Failure> {
    let report = door.score.trim(&actor(&caller), trim.dry_run).await?;
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
    caller: Caller,
) -> Result<Response, Failure> {
    check_id("gameId", &game)?;
    check_id("userId", &user)?;
    let key = BoardKey::new(&game, period.parse()?);
    let reason = reason(reasoned.reason.as_deref())?;
    door.score.delete_score(&actor(&caller), &key, &user, &reason).await?;
    Ok(fresh(&json!({ "deleted": user })))
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
    caller: Caller,
    Json(ban): Json<Ban>,
) -> Result<Response, Failure> {
    check_id("userId", &user)?;
    let reason = reason(Some(&ban.reason))?;
    door.score.ban(&actor(&caller), &user, &reason).await?;
    Ok(fresh(&json!({ "banned": user })))
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
    caller: Caller,
) -> Result<Response, Failure> {
    check_id("userId", &user)?;
    door.score.unban(&actor(&caller), &user).await?;
    Ok(fresh(&json!({ "unbanned": user })))
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
    let (entries, is_whole) = door.score.list_audit(after, limit).await?;
    let newest = door.score.audit_head().await?.number;
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
    Ok(fresh(&json!({ "whole": is_whole, "newest": newest, "entries": entries })))
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
) -> Result<Response, Failure> {
    check_id("gameId", &game)?;
    let key = BoardKey::new(&game, period.parse()?);
    if let Some(after) = &paged.after {
        check_id("after", after)?;
    }
    let limit = paged.limit()?;
    let found = door.score.export(&key, paged.after.as_deref(), limit).await?;
    let next = found.last().filter(|_| found.len() >= limit as usize);
    let next = next.map(|last| last.row.user.to_string());
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
    caller: Caller,
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
    let written = door.score.import(&actor(&caller), &game, &period, &rows).await?;
    Ok(fresh(&json!({ "rows": rows.len(), "written": written })))
}

impl RowForm {
    fn row(self) -> Result<Imported, Error> {
        check_id("userId", &self.user_id)?;
        let Claim { score, time_ms } = Claim::new(self.score, self.time_ms)?;
        let wrong = |error: base::Error| Error::invalid(error.to_string());
        Ok(Imported {
            name: PLAYER.apply(&self.user_name).map_err(wrong)?,
            value: Value { score, time_ms, updated_at: self.updated_at.parse().map_err(wrong)? },
            meta: self.meta.as_ref().map(meta::from_json).transpose()?,
            user: self.user_id,
        })
    }
}

/// Submissions that were signed and cannot be true, the newest first.
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

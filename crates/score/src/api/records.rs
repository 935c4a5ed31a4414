//! What the operator reads, exports and imports: the audit, rows of boards, suspicious plays.

use std::collections::BTreeMap;
use std::sync::Arc;

use edge::{
    Bounds, Failure, Json, Path, Query, Response, Routes, State, StatusCode, Subject, bounded, get,
    post,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::Door;
use super::ranking::fresh;
use crate::Score;
use crate::error::Error;
use crate::items::meta;
use crate::limits::{IMPORT_BYTES_MAX, IMPORT_ROWS_MAX, OPERATION_TIME, PAGE_MAX};
use crate::model::audit::Entry;
use crate::model::board::BoardKey;
use crate::model::game::Value;
use crate::model::play::Claim;
use crate::model::{check_id, player_name};
use crate::ops::operate::Imported;
use crate::ops::suspicions::Suspected;

#[derive(OpenApi)]
#[openapi(paths(get_audit, get_export, post_import, get_suspicions))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    let great =
        Bounds { answer_within: Some(OPERATION_TIME), body_bytes_max: Some(IMPORT_BYTES_MAX) };
    Routes::new()
        .route("/score/audit", get(get_audit))
        .route("/score/export/{game}/{period}", get(get_export))
        .route("/score/import/{game}/{period}", bounded(post(post_import), great))
        .route("/score/suspicions", get(get_suspicions))
        .with_state(Arc::clone(door))
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

/// A stretch of what the operator did.
#[derive(Serialize, ToSchema)]
struct AuditPage {
    /// Whether these entries are the chain there, up to its end.
    whole: bool,
    /// The number of the newest entry of all.
    newest: u64,
    entries: Vec<AuditEntry>,
}

/// What the operator did once.
#[derive(Serialize, ToSchema)]
struct AuditEntry {
    number: u64,
    at: String,
    /// Who did it.
    actor: String,
    /// What, such as `trim`.
    action: String,
    /// The particulars, by name.
    detail: BTreeMap<String, String>,
    /// The hash of the entry before; of the first, nothing.
    previous: String,
    hash: String,
}

impl From<Entry> for AuditEntry {
    fn from(entry: Entry) -> AuditEntry {
        let Entry { number, at, actor, action, detail, previous, hash } = entry;
        let detail = detail.into_iter().collect();
        AuditEntry { number, at: at.to_string(), actor, action, detail, previous, hash }
    }
}

/// What the operator did, the oldest first, each entry sealed with the one before.
#[utoipa::path(get, path = "/score/audit", params(
    ("after" = Option<u64>, Query, description = "The number of the last entry that is known."),
    ("limit" = Option<u32>, Query),
), responses(
    (status = 200, description = "Entries, whether their chain is whole, and the number of the \
     newest of all.", body = AuditPage),
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
    let entries = entries.into_iter().map(AuditEntry::from).collect();
    Ok(fresh(&AuditPage { whole: is_whole, newest: newest.number, entries }))
}

/// A row as it is exported and imported.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({
    "userId": "u1",
    "userName": "Ada",
    "score": 1200,
    "timeMs": 61_000,
    "updatedAt": "2025-12-02T10:00:00.000Z"
}))]
struct RowForm {
    user_id: String,
    user_name: String,
    score: i64,
    time_ms: i64,
    updated_at: String,
    /// What the player sent along; empty if nothing.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    meta: Option<Box<RawValue>>,
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
        meta: Some(meta::write(it.meta.as_ref())),
    };
    Ok(fresh(&Exported { rows: found.iter().map(form).collect(), next }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "rows": [{
    "userId": "u1",
    "userName": "Ada",
    "score": 1200,
    "timeMs": 61_000,
    "updatedAt": "2025-12-02T10:00:00.000Z"
}] }))]
struct Import {
    rows: Vec<RowForm>,
    /// As an export gives it, and of no use here.
    #[serde(default, rename = "next")]
    _next: Option<String>,
}

/// What became of an import.
#[derive(Serialize, ToSchema)]
struct ImportReport {
    /// Rows that were sent.
    rows: usize,
    /// Rows that were better than what was there.
    written: usize,
}

/// Takes rows in where they are better than what is there.
#[utoipa::path(post, path = "/score/import/{gameId}/{period}", params(
    ("gameId" = String, Path), ("period" = String, Path),
), request_body = Import, responses(
    (status = 200, description = "How many were better.", body = ImportReport),
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
    Ok(fresh(&ImportReport { rows: count, written }))
}

impl RowForm {
    fn row(self) -> Result<Imported, Error> {
        check_id("userId", &self.user_id)?;
        let Claim { score, time_ms } = Claim::new(self.score, self.time_ms)?;
        let wrong = |error: base::Error| Error::invalid(error.to_string());
        Ok(Imported {
            name: player_name(&self.user_name).map_err(wrong)?,
            value: Value { score, time_ms, updated_at: self.updated_at.parse().map_err(wrong)? },
            meta: self.meta.map(|meta| meta::read(meta.get())).transpose()?,
            user: self.user_id,
        })
    }
}

/// A play that cannot be true.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SuspicionEntry {
    at: String,
    game_id: String,
    /// None where a play was only ended and its token is nobody's.
    user_id: Option<String>,
    /// Whether the player proved by a secret that the id is theirs. Anybody can name another one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    claimed: bool,
    score: i64,
    time_ms: i64,
    /// A stable word.
    #[schema(value_type = String)]
    reason: &'static str,
    /// The same in a sentence.
    detail: String,
}

/// Plays with good tokens that cannot be true, the newest first. Nobody is named where a play was
/// only ended and its token is nobody's.
#[utoipa::path(get, path = "/score/suspicions", responses(
    (status = 200, description = "Plays and reasons, of this instance.", body = [SuspicionEntry]),
))]
async fn get_suspicions(State(door): State<Arc<Door>>) -> Response {
    let all = door.score.suspicions.list();
    let entry = |it: Suspected| SuspicionEntry {
        at: it.at.to_string(),
        game_id: it.game,
        user_id: it.user,
        claimed: it.is_proven,
        score: it.claim.score,
        time_ms: it.claim.time_ms,
        reason: it.why.word(),
        detail: it.why.to_string(),
    };
    fresh(&all.into_iter().map(entry).collect::<Vec<_>>())
}

//! The operator's calls, for API keys with the scope `collect:operate`.

use std::sync::Arc;

use edge::{
    Failure, IntoResponse, Json, Path, Query, Response, Routes, State, StatusCode, get, post,
};
use serde::Deserialize;
use serde_json::{Value as JsonValue, json};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::upstream::Preview;
use super::{Door, fresh, limit, moment};
use crate::error::Error;
use crate::items::source::SourceForm;
use crate::limits::BACKFILL_RATE_USUAL;
use crate::live::{backfill_json, slot_json};
use crate::model::backfill::Reprocess;
use crate::model::slot::spell;
use crate::ops::backfill::Order;
use crate::ops::sources::Active;

/// What a key must be allowed.
pub(super) const SCOPE: &str = "collect:operate";

#[derive(OpenApi)]
#[openapi(paths(
    get_sources,
    post_source,
    get_source,
    put_source,
    delete_source,
    post_action,
    post_backfill,
    get_backfills,
    get_backfill,
    get_dead_letters,
    post_replay,
    delete_dead_letters
))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/collect/sources", get(get_sources).post(post_source))
        .route("/collect/sources/{name}", get(get_source).put(put_source).delete(delete_source))
        .route("/collect/sources/{name}/backfill", post(post_backfill))
        .route("/collect/sources/{name}/{action}", post(post_action))
        .route("/collect/backfills", get(get_backfills))
        .route("/collect/backfills/{id}", get(get_backfill))
        .route("/collect/dead-letters", get(get_dead_letters).delete(delete_dead_letters))
        .route("/collect/dead-letters/{id}/replay", post(post_replay))
        .with_state(Arc::clone(door))
}

/// A source with what goes on with it.
fn source_json(active: &Active) -> JsonValue {
    let spans = active.spans.iter().map(|span| {
        json!({
            "from": spell(span.from),
            "to": span.to.map(spell),
            "intervalSeconds": span.interval_s,
        })
    });
    json!({
        "source": SourceForm::from(&active.source),
        "key": active.source.key(),
        "origin": if active.is_fixed { "settings" } else { "api" },
        "paused": active.is_paused(),
        "breaker": if active.pulse.breaker.lock().is_open() { "open" } else { "closed" },
        "spans": spans.collect::<Vec<_>>(),
    })
}

/// All sources.
#[utoipa::path(get, path = "/collect/sources", responses(
    (status = 200, description = "Sources by name.", body = serde_json::Value),
    (status = 401, description = "There is no key."),
))]
async fn get_sources(State(door): State<Arc<Door>>) -> Response {
    let all = door.collect.sources.all();
    let sources: Vec<JsonValue> = all.values().map(|active| source_json(active)).collect();
    fresh(&json!({ "sources": sources }))
}

/// Adds a source. It is asked from the next minute on.
#[utoipa::path(post, path = "/collect/sources", request_body = SourceForm, responses(
    (status = 201, description = "The source.", body = serde_json::Value),
    (status = 400, description = "It is no source."),
    (status = 409, description = "There is one of that name."),
))]
async fn post_source(
    State(door): State<Arc<Door>>,
    Json(form): Json<SourceForm>,
) -> Result<Response, Failure> {
    let source = form.source()?;
    door.collect.set_source(&source, false).await?;
    let active = door.collect.sources.get(&source.name)?;
    Ok((StatusCode::CREATED, fresh(&source_json(&active))).into_response())
}

/// One source.
#[utoipa::path(get, path = "/collect/sources/{name}", params(("name" = String, Path)), responses(
    (status = 200, description = "The source.", body = serde_json::Value),
    (status = 404, description = "There is no such source."),
))]
async fn get_source(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    Ok(fresh(&source_json(&*door.collect.sources.get(&name)?)))
}

/// Replaces a source.
#[utoipa::path(put, path = "/collect/sources/{name}", params(("name" = String, Path)),
    request_body = SourceForm, responses(
    (status = 200, description = "The source as it is now.", body = serde_json::Value),
    (status = 404, description = "There is no such source."),
    (status = 409, description = "It stands in the settings."),
))]
async fn put_source(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
    Json(form): Json<SourceForm>,
) -> Result<Response, Failure> {
    let source = form.source()?;
    if source.name != name {
        let told = format!("name must be `{name}`, as in the path, not `{}`", source.name);
        return Err(Error::invalid(told).into());
    }
    door.collect.set_source(&source, true).await?;
    Ok(fresh(&source_json(&*door.collect.sources.get(&name)?)))
}

/// Takes a source away. Its values stay in the table.
#[utoipa::path(delete, path = "/collect/sources/{name}", params(("name" = String, Path)),
    responses(
    (status = 200, description = "It is gone.", body = serde_json::Value),
    (status = 404, description = "There is no such source."),
    (status = 409, description = "It stands in the settings."),
))]
async fn delete_source(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    door.collect.delete_source(&name).await?;
    Ok(fresh(&json!({ "deleted": name })))
}

/// Pauses a source, resumes it from the next minute on, or asks now for the last slot that is due
/// and answers what came: `trigger` writes it, `preview` writes nothing and shows the answer itself.
#[utoipa::path(post, path = "/collect/sources/{name}/{action}", params(
    ("name" = String, Path),
    ("action" = String, Path, description = "`pause`, `resume`, `trigger` or `preview`."),
), responses(
    (status = 200, description = "The source, or the slot.", body = serde_json::Value),
    (status = 404, description = "There is no such source or action."),
))]
async fn post_action(
    State(door): State<Arc<Door>>,
    Path((name, action)): Path<(String, String)>,
) -> Result<Response, Failure> {
    let collect = &door.collect;
    match action.as_str() {
        "pause" => collect.pause_source(&name).await?,
        "resume" => collect.resume_source(&name).await?,
        "trigger" => return Ok(fresh(&slot_json(&collect.trigger(&name).await?))),
        "preview" => return Ok(fresh(&preview_json(&collect.preview(&name).await?))),
        other => {
            let told =
                format!("a source can pause, resume, trigger, preview and backfill, not `{other}`");
            return Err(Failure::new(StatusCode::NOT_FOUND, "no_such_action", told));
        }
    }
    Ok(fresh(&source_json(&*collect.sources.get(&name)?)))
}

fn preview_json(preview: &Preview) -> JsonValue {
    json!({
        "url": preview.url,
        "status": preview.status,
        "contentType": preview.content_type,
        "latencyMs": preview.latency_ms,
        "body": preview.body,
        "isCut": preview.is_cut,
        "count": preview.verdict.as_ref().ok(),
        "trouble": preview.verdict.as_ref().err().map(ToString::to_string),
    })
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BackfillForm {
    /// The beginning of the first slot.
    #[schema(example = "2025-12-02T10:00:00Z")]
    pub(crate) from: String,
    /// Where no slot begins any more.
    #[schema(example = "2025-12-02T11:00:00Z")]
    pub(crate) to: String,
    /// `newest_first`, which is usual, or `oldest_first`.
    #[serde(default = "newest_first")]
    pub(crate) order: String,
    /// Calls a second.
    #[serde(default = "rate")]
    pub(crate) rate: u64,
    /// What is asked for besides missing slots: `none`, `failed` or `all`.
    #[serde(default = "none")]
    pub(crate) reprocess: String,
    /// Whether only to count.
    #[serde(default)]
    pub(crate) dry_run: bool,
}

fn newest_first() -> String {
    "newest_first".to_owned()
}

fn rate() -> u64 {
    BACKFILL_RATE_USUAL
}

fn none() -> String {
    Reprocess::None.word().to_owned()
}

impl BackfillForm {
    pub(crate) fn order(&self) -> Result<Order, Error> {
        let newest_first = match self.order.as_str() {
            "newest_first" => true,
            "oldest_first" => false,
            other => {
                let told = format!("order must be newest_first or oldest_first, not `{other}`");
                return Err(Error::invalid(told));
            }
        };
        let reprocess = Reprocess::parse(&self.reprocess).ok_or_else(|| {
            Error::invalid(format!(
                "reprocess must be none, failed or all, not `{}`",
                self.reprocess
            ))
        })?;
        Ok(Order {
            from: moment("from", &self.from)?,
            to: moment("to", &self.to)?,
            newest_first,
            rate: self.rate,
            reprocess,
        })
    }
}

/// Asks for slots again, at a pace.
#[utoipa::path(post, path = "/collect/sources/{name}/backfill", params(("name" = String, Path)),
    request_body = BackfillForm, responses(
    (status = 200, description = "What a dry run counts.", body = serde_json::Value),
    (status = 202, description = "The backfill; its `id` leads to its progress.",
     body = serde_json::Value),
    (status = 400, description = "It is no backfill."),
    (status = 404, description = "There is no such source."),
))]
async fn post_backfill(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
    Json(form): Json<BackfillForm>,
) -> Result<Response, Failure> {
    let collect = &door.collect;
    let active = collect.sources.get(&name)?;
    let backfill = collect.order_backfill(&active, form.order()?)?;
    if form.dry_run {
        let wanted = collect.count_wanted(&backfill).await?;
        let total = backfill.windows();
        return Ok(fresh(&json!({ "dryRun": true, "total": total, "wanted": wanted })));
    }
    collect.start_backfill(&backfill).await?;
    Ok((StatusCode::ACCEPTED, fresh(&backfill_json(&backfill))).into_response())
}

#[derive(Deserialize)]
struct Paged {
    cursor: Option<String>,
    limit: Option<String>,
}

impl Paged {
    fn limit(&self) -> Result<u32, Error> {
        Ok(u32::try_from(limit(self.limit.as_deref())?).unwrap_or(u32::MAX))
    }
}

/// The last backfills, those by which the house caught up among them.
#[utoipa::path(get, path = "/collect/backfills", params(
    ("limit" = Option<u64>, Query, description = "From 1 to 1000, which is usual."),
), responses(
    (status = 200, description = "Backfills, the newest first.", body = serde_json::Value),
))]
async fn get_backfills(
    State(door): State<Arc<Door>>,
    Query(paged): Query<Paged>,
) -> Result<Response, Failure> {
    let backfills = door.collect.list_backfills(paged.limit()?).await?;
    let backfills: Vec<JsonValue> = backfills.iter().map(backfill_json).collect();
    Ok(fresh(&json!({ "backfills": backfills })))
}

/// How far a backfill is.
#[utoipa::path(get, path = "/collect/backfills/{id}", params(("id" = String, Path)), responses(
    (status = 200, description = "The backfill.", body = serde_json::Value),
    (status = 404, description = "There is no such backfill."),
))]
async fn get_backfill(
    State(door): State<Arc<Door>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    Ok(fresh(&backfill_json(&door.collect.get_backfill(&id).await?)))
}

/// What was given up, the oldest first.
#[utoipa::path(get, path = "/collect/dead-letters", params(
    ("cursor" = Option<String>, Query, description = "The `next` of the page before."),
    ("limit" = Option<u64>, Query, description = "From 1 to 1000, which is usual."),
), responses(
    (status = 200, description = "Messages and reasons.", body = serde_json::Value),
))]
async fn get_dead_letters(
    State(door): State<Arc<Door>>,
    Query(paged): Query<Paged>,
) -> Result<Response, Failure> {
    let after = paged.cursor.as_ref().map(|cursor| letter_id(cursor));
    let page = door.collect.asks.list_dead(after.as_deref(), paged.limit()?).await;
    let page = page.map_err(Error::from)?;
    let letters: Vec<JsonValue> = page
        .letters
        .iter()
        .map(|letter| {
            let message: Option<JsonValue> = serde_json::from_slice(&letter.body).ok();
            let text = || JsonValue::from(String::from_utf8_lossy(&letter.body));
            json!({
                "id": letter.id.replace('#', "."),
                "message": message.unwrap_or_else(text),
                "sentAt": letter.sent.to_string(),
                "diedAt": letter.died.to_string(),
                "reason": letter.reason,
            })
        })
        .collect();
    let next = page.next.map(|next| next.replace('#', "."));
    Ok(fresh(&json!({ "letters": letters, "next": next })))
}

/// A dead letter's id as the queue knows it: outside it has a point, which can stand in a path.
fn letter_id(told: &str) -> String {
    told.replace('.', "#")
}

/// Sends a dead letter again: its slot is tried once more.
#[utoipa::path(post, path = "/collect/dead-letters/{id}/replay", params(("id" = String, Path)),
    responses(
    (status = 202, description = "It is sent.", body = serde_json::Value),
    (status = 404, description = "There is no such dead letter."),
))]
async fn post_replay(
    State(door): State<Arc<Door>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    if !door.collect.asks.replay(&letter_id(&id)).await.map_err(Error::from)? {
        return Err(Error::NoSuchLetter(id).into());
    }
    Ok((StatusCode::ACCEPTED, fresh(&json!({ "replayed": id }))).into_response())
}

/// Removes all dead letters. What the ledger knows of their slots stays.
#[utoipa::path(delete, path = "/collect/dead-letters", responses(
    (status = 200, description = "How many they were.", body = serde_json::Value),
))]
async fn delete_dead_letters(State(door): State<Arc<Door>>) -> Result<Response, Failure> {
    let purged = door.collect.asks.purge().await.map_err(Error::from)?;
    Ok(fresh(&json!({ "purged": purged })))
}

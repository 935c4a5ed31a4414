//! The operator's calls, for API keys with the scope `collect:operate`. Dead letters are
//! `letters.rs`.

use std::sync::Arc;

use edge::{
    Failure, IntoResponse, Json, Path, Query, Response, Routes, State, StatusCode, get, post,
};
use serde::{Deserialize, Serialize};
use serde_json::Number as JsonNumber;
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::upstream::Preview;
use super::{Door, fresh, limit, moment};
use crate::error::Error;
use crate::items::source::SourceForm;
use crate::limits::BACKFILL_RATE_USUAL;
use crate::live::{BackfillAnswer, SlotAnswer, value_json};
use crate::model::backfill::Reprocess;
use crate::model::kind::Readers;
use crate::model::slot::{Span, spell};
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
    get_backfill
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
        .with_state(Arc::clone(door))
}

/// A source with what goes on with it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SourceAnswer {
    source: SourceForm,
    /// What its rows are found under.
    #[schema(example = "ai_response_count#tokyo")]
    key: String,
    /// `settings` or `api`.
    #[schema(example = "api")]
    origin: &'static str,
    paused: bool,
    /// `open` or `closed`.
    #[schema(example = "closed")]
    breaker: &'static str,
    /// When it was asked.
    spans: Vec<SpanAnswer>,
    /// When it was deleted; null while it lives.
    deleted_at: Option<String>,
}

/// A time in which a source was asked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SpanAnswer {
    from: String,
    /// Null while it goes on.
    to: Option<String>,
    interval_seconds: u64,
}

impl From<&Active> for SourceAnswer {
    fn from(active: &Active) -> SourceAnswer {
        let span = |span: &Span| SpanAnswer {
            from: spell(span.from),
            to: span.to.map(spell),
            interval_seconds: span.interval_s,
        };
        SourceAnswer {
            source: SourceForm::shown(&active.source),
            key: active.source.key(),
            origin: if active.is_fixed { "settings" } else { "api" },
            paused: active.is_paused(),
            breaker: if active.pulse.breaker.lock().is_open() { "open" } else { "closed" },
            spans: active.spans.iter().map(span).collect(),
            deleted_at: active.deleted.map(|at| at.to_string()),
        }
    }
}

/// Sources by name.
#[derive(Serialize, ToSchema)]
struct SourcesAnswer {
    sources: Vec<SourceAnswer>,
}

#[derive(Deserialize)]
struct Which {
    #[serde(default)]
    deleted: bool,
}

/// All sources.
#[utoipa::path(get, path = "/collect/sources", params(
    ("deleted" = Option<bool>, Query, description = "Whether those that are deleted and not purged \
     are listed instead."),
), responses(
    (status = 200, description = "Sources by name.", body = SourcesAnswer),
    (status = 401, description = "There is no key."),
))]
async fn get_sources(State(door): State<Arc<Door>>, Query(which): Query<Which>) -> Response {
    let sources = &door.collect.sources;
    let all = if which.deleted { sources.gone() } else { sources.all() };
    fresh(&SourcesAnswer { sources: all.values().map(|it| SourceAnswer::from(&**it)).collect() })
}

/// Adds a source. It is asked from the next minute on. It is for the operator to read, unless it
/// says otherwise; one that has a name that was deleted has the history of that.
#[utoipa::path(post, path = "/collect/sources", request_body = SourceForm, responses(
    (status = 201, description = "The source.", body = SourceAnswer),
    (status = 400, description = "It is no source."),
    (status = 409, description = "There is one of that name, or it is being purged."),
))]
async fn post_source(
    State(door): State<Arc<Door>>,
    Json(form): Json<SourceForm>,
) -> Result<Response, Failure> {
    let source = form.source(Readers::Operator)?;
    door.collect.set_source(&source, false).await?;
    let active = door.collect.sources.get(&source.name)?;
    Ok((StatusCode::CREATED, fresh(&SourceAnswer::from(&*active))).into_response())
}

/// One source.
#[utoipa::path(get, path = "/collect/sources/{name}", params(("name" = String, Path)), responses(
    (status = 200, description = "The source.", body = SourceAnswer),
    (status = 404, description = "There is no such source."),
))]
async fn get_source(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    Ok(fresh(&SourceAnswer::from(&*door.collect.sources.get(&name)?)))
}

/// Replaces a source. Its history stays readable, also where its metric is another one.
#[utoipa::path(put, path = "/collect/sources/{name}", params(("name" = String, Path)),
    request_body = SourceForm, responses(
    (status = 200, description = "The source as it is now.", body = SourceAnswer),
    (status = 400, description = "It is no source."),
    (status = 404, description = "There is no such source."),
    (status = 409, description = "It stands in the settings."),
))]
async fn put_source(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
    Json(form): Json<SourceForm>,
) -> Result<Response, Failure> {
    let source = form.source(Readers::Operator)?;
    if source.name != name {
        let told = format!("name must be `{name}`, as in the path, not `{}`", source.name);
        return Err(Error::invalid(told).into());
    }
    door.collect.set_source(&source, true).await?;
    Ok(fresh(&SourceAnswer::from(&*door.collect.sources.get(&name)?)))
}

/// A source that was deleted.
#[derive(Serialize, ToSchema)]
struct Deleted {
    #[schema(example = "tokyo")]
    deleted: String,
}

/// Deletes a source: it is asked no more. Its slots can be read until it is purged.
#[utoipa::path(delete, path = "/collect/sources/{name}", params(("name" = String, Path)),
    responses(
    (status = 200, description = "It is asked no more.", body = Deleted),
    (status = 404, description = "There is no such source."),
    (status = 409, description = "It stands in the settings."),
))]
async fn delete_source(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    door.collect.delete_source(&name).await?;
    Ok(fresh(&Deleted { deleted: name }))
}

/// What an action answers.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum ActionAnswer {
    /// To `pause` and `resume`.
    Source(Box<SourceAnswer>),
    /// To `trigger`.
    Slot(SlotAnswer),
    /// To `preview`.
    Preview(PreviewAnswer),
    /// To `purge`.
    Purging(Purging),
}

/// A source whose rows are being removed.
#[derive(Serialize, ToSchema)]
struct Purging {
    #[schema(example = "tokyo")]
    purging: String,
}

/// An answer of an upstream as it came, but for secrets, and what it is worth.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreviewAnswer {
    /// What was asked, without its secrets.
    url: String,
    /// Null if there was no answer.
    status: Option<u16>,
    content_type: Option<String>,
    latency_ms: u64,
    /// The beginning of the body.
    body: String,
    is_cut: bool,
    /// The value; null if it is none.
    #[schema(value_type = Option<f64>)]
    count: Option<JsonNumber>,
    /// Why it is none.
    trouble: Option<String>,
}

impl From<Preview> for PreviewAnswer {
    fn from(preview: Preview) -> PreviewAnswer {
        PreviewAnswer {
            url: preview.url,
            status: preview.status,
            content_type: preview.content_type,
            latency_ms: preview.latency_ms,
            body: preview.body,
            is_cut: preview.is_cut,
            count: preview.verdict.as_ref().ok().copied().map(value_json),
            trouble: preview.verdict.err().map(|trouble| trouble.to_string()),
        }
    }
}

/// Pauses a source, resumes it from the next minute on, or asks now for the last slot that is due
/// and answers what came: `trigger` writes it, `preview` writes nothing and shows the answer itself.
/// `purge` removes the slots of a source that is deleted.
#[utoipa::path(post, path = "/collect/sources/{name}/{action}", params(
    ("name" = String, Path),
    ("action" = String, Path,
     description = "`pause`, `resume`, `trigger`, `preview` or `purge`."),
), responses(
    (status = 200, description = "The source, the slot, or the answer.", body = ActionAnswer),
    (status = 202, description = "The purge has begun.", body = Purging),
    (status = 404, description = "There is no such source or action."),
    (status = 409, description = "Only a deleted source can be purged."),
))]
async fn post_action(
    State(door): State<Arc<Door>>,
    Path((name, action)): Path<(String, String)>,
) -> Result<Response, Failure> {
    let collect = &door.collect;
    let answer = match action.as_str() {
        "pause" => {
            collect.pause_source(&name).await?;
            ActionAnswer::Source(Box::new(SourceAnswer::from(&*collect.sources.get(&name)?)))
        }
        "resume" => {
            collect.resume_source(&name).await?;
            ActionAnswer::Source(Box::new(SourceAnswer::from(&*collect.sources.get(&name)?)))
        }
        "trigger" => ActionAnswer::Slot(SlotAnswer::from(&collect.trigger(&name).await?)),
        "preview" => ActionAnswer::Preview(collect.preview(&name).await?.into()),
        "purge" => {
            collect.purge_source(&name).await?;
            let purging = ActionAnswer::Purging(Purging { purging: name });
            return Ok((StatusCode::ACCEPTED, fresh(&purging)).into_response());
        }
        other => {
            let told = format!(
                "a source can pause, resume, trigger, preview, purge and backfill, not `{other}`"
            );
            return Err(Failure::new(StatusCode::NOT_FOUND, "no_such_action", told));
        }
    };
    Ok(fresh(&answer))
}

/// What is to be asked for again.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({
    "from": "2025-12-02T10:00:00Z",
    "to": "2025-12-02T11:00:00Z",
    "dryRun": true
}))]
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

/// What a dry run counts.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Counted {
    dry_run: bool,
    /// Slots of the time.
    total: u64,
    /// Slots that would be asked for.
    wanted: u64,
}

/// Backfills, the newest first.
#[derive(Serialize, ToSchema)]
struct BackfillsAnswer {
    backfills: Vec<BackfillAnswer>,
}

/// Asks for slots again, at a pace that holds over restarts and instances. An instant source is not
/// asked: its slots get the reason why they have no value.
#[utoipa::path(post, path = "/collect/sources/{name}/backfill", params(("name" = String, Path)),
    request_body = BackfillForm, responses(
    (status = 200, description = "What a dry run counts.", body = Counted),
    (status = 202, description = "The backfill; its `id` leads to its progress.",
     body = BackfillAnswer),
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
        return Ok(fresh(&Counted { dry_run: true, total, wanted }));
    }
    collect.start_backfill(&backfill).await?;
    Ok((StatusCode::ACCEPTED, fresh(&BackfillAnswer::from(&backfill))).into_response())
}

#[derive(Deserialize)]
struct Paged {
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
    (status = 200, description = "Backfills, the newest first.", body = BackfillsAnswer),
    (status = 400, description = "A parameter is wrong."),
))]
async fn get_backfills(
    State(door): State<Arc<Door>>,
    Query(paged): Query<Paged>,
) -> Result<Response, Failure> {
    let backfills = door.collect.list_backfills(paged.limit()?).await?;
    Ok(fresh(&BackfillsAnswer { backfills: backfills.iter().map(Into::into).collect() }))
}

/// How far a backfill is.
#[utoipa::path(get, path = "/collect/backfills/{id}", params(("id" = String, Path)), responses(
    (status = 200, description = "The backfill.", body = BackfillAnswer),
    (status = 404, description = "There is no such backfill."),
))]
async fn get_backfill(
    State(door): State<Arc<Door>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    Ok(fresh(&BackfillAnswer::from(&door.collect.get_backfill(&id).await?)))
}

//! What is read: the summary, the ledger, and what will happen next. Series are `series.rs`.

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use edge::{
    Client, Denied, Failure, IntoResponse, Path, Query, Response, Routes, State, Visitor, get,
};
use serde::{Deserialize, Serialize};
use serde_json::Number as JsonNumber;
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::{Door, check_reader, fresh, limit, moment, reads_up_to};
use crate::error::Error;
use crate::items::Gap;
use crate::live::{SlotAnswer, value_json};
use crate::model::kind::{Kind, Readers};
use crate::model::slot::{HOUR_S, Slot, spell};
use crate::model::source::DEFAULT;
use crate::model::tally::{State as SlotState, Tally};
use crate::ops::sources::Active;

#[derive(OpenApi)]
#[openapi(paths(get_summary, get_slots, get_explain))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/collect/metrics/summary", get(get_summary))
        .route("/collect/slots/{metric}", get(get_slots))
        .route("/collect/explain", get(get_explain))
        .with_state(Arc::clone(door))
}

/// The figures of the values in one span of time.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Figures {
    #[schema(value_type = Option<f64>)]
    pub(super) min: Option<JsonNumber>,
    #[schema(value_type = Option<f64>)]
    pub(super) max: Option<JsonNumber>,
    #[schema(value_type = Option<f64>)]
    pub(super) mean: Option<JsonNumber>,
    /// The value of its last slot that has one; null also where an older version added up.
    #[schema(value_type = Option<f64>)]
    pub(super) last: Option<JsonNumber>,
}

impl From<&Tally> for Figures {
    fn from(tally: &Tally) -> Figures {
        Figures {
            min: tally.min.map(value_json),
            max: tally.max.map(value_json),
            mean: tally.mean().map(value_json),
            last: tally.last.map(value_json),
        }
    }
}

/// A minute of a summary.
#[derive(Serialize, ToSchema)]
struct Minute {
    #[schema(example = "2025-12-02T10:22:00Z")]
    time: String,
    /// The sum of what came, or the mean of a gauge; null if nothing did.
    #[schema(value_type = Option<f64>)]
    count: Option<JsonNumber>,
    /// Which share of its slots came; null if none was expected.
    coverage: Option<f64>,
    /// Of a gauge.
    #[serde(flatten)]
    figures: Option<Figures>,
}

/// The last half hour.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SummaryAnswer {
    timestamp: String,
    #[schema(value_type = Option<f64>)]
    last_minute_count: Option<JsonNumber>,
    minutely_data: Vec<Minute>,
    coverage: Option<f64>,
}

#[derive(Deserialize)]
struct Which {
    source: Option<String>,
}

/// The last thirty minutes that are whole and over, each with the share of its slots that came.
#[utoipa::path(get, path = "/collect/metrics/summary", params(
    ("source" = Option<String>, Query, description = "A source's name; usually the default one."),
), responses(
    (status = 200, description = "Thirty minutes, the oldest first.", body = SummaryAnswer),
    (status = 401, description = "The source is not for everyone."),
    (status = 403, description = "The key may not read the source."),
    (status = 404, description = "There is no such source."),
))]
async fn get_summary(
    State(door): State<Arc<Door>>,
    client: Client,
    visitor: Visitor,
    Query(which): Query<Which>,
) -> Result<Response, Refusal> {
    door.admit_reader(client)?;
    let active = match &which.source {
        Some(name) => door.collect.sources.get(name)?,
        None => door.collect.sources.find(DEFAULT).ok_or(Error::NoDefault)?,
    };
    check_reader(&visitor, &active.source)?;
    let (summary, kind) = (door.collect.summarise(&active).await?, active.source.kind);
    let value = |tally: &Tally| tally.value(kind).map(value_json);
    let minute = |(time, tally): &(Timestamp, Tally)| Minute {
        time: spell(*time),
        count: value(tally),
        coverage: tally.coverage(),
        figures: (kind == Kind::Gauge).then(|| Figures::from(tally)),
    };
    Ok(fresh(&SummaryAnswer {
        timestamp: spell(summary.at),
        last_minute_count: summary.minutes.last().and_then(|(_, tally)| value(tally)),
        minutely_data: summary.minutes.iter().map(minute).collect(),
        coverage: summary.total().coverage(),
    }))
}

#[derive(Deserialize)]
pub(super) struct Range {
    from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) step: Option<String>,
    status: Option<String>,
    cursor: Option<String>,
    pub(super) limit: Option<String>,
}

/// A stretch of time, and how much of it one answer holds.
pub(super) struct Stretch {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// Where the next answer begins.
    pub(super) next: Option<Timestamp>,
}

impl Range {
    /// The part that this answer is about: as many steps as the limit says. Without times it is
    /// the last hour.
    pub(super) fn stretch(&self, step_s: u64, now: Timestamp) -> Result<Stretch, Error> {
        let read = |name, text: &Option<String>| {
            text.as_deref().map(|text| moment(name, text)).transpose()
        };
        let second = Timestamp::from_seconds(now.seconds()).unwrap_or(now);
        let to = read("to", &self.to)?.unwrap_or(second);
        let hour_before = to.checked_sub(Duration::from_secs(HOUR_S)).unwrap_or_default();
        let from = read("from", &self.from)?.unwrap_or(hour_before);
        let from = read("cursor", &self.cursor)?.unwrap_or(from);
        if from > to {
            let (from, to) = (spell(from), spell(to));
            return Err(Error::invalid(format!("from must not be after to ({to}), not {from}")));
        }
        let whole = Slot::holding(from, step_s).from();
        let seconds = limit(self.limit.as_deref())?.saturating_mul(step_s);
        let end = whole.checked_add(Duration::from_secs(seconds)).unwrap_or(to);
        Ok(Stretch { from, to: end.min(to), next: (end < to).then_some(end) })
    }
}

/// Why a reader is not answered.
pub(super) enum Refusal {
    /// The reader may not.
    Denied(Denied),
    /// Something else.
    Failure(Failure),
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Refusal {
        Refusal::Denied(denied)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal::Failure(failure)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Failure(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::Denied(denied) => denied.into_response(),
            Refusal::Failure(failure) => failure.into_response(),
        }
    }
}

/// A part of the ledger.
#[derive(Serialize, ToSchema)]
struct SlotsAnswer {
    #[schema(example = "ai_response_count")]
    metric: String,
    #[schema(example = "default")]
    source: String,
    slots: Vec<SlotAnswer>,
    /// Where the next part begins; null at the end.
    next: Option<String>,
}

/// The ledger of a source: every slot with its state.
#[utoipa::path(get, path = "/collect/slots/{metric}", params(
    ("metric" = String, Path, description = "A source's name, or what its rows are found under."),
    ("from" = Option<String>, Query), ("to" = Option<String>, Query),
    ("status" = Option<String>, Query,
     description = "`ok`, `late`, `retrying`, `failed`, `missing` or `conflict`."),
    ("cursor" = Option<String>, Query, description = "The `next` of the page before."),
    ("limit" = Option<u64>, Query, description = "Slots, from 1 to 1000, which is usual."),
), responses(
    (status = 200, description = "Slots by time.", body = SlotsAnswer),
    (status = 400, description = "A parameter is wrong."),
    (status = 401, description = "The source is not for everyone."),
    (status = 403, description = "The key may not read the source."),
    (status = 404, description = "There is no such source."),
))]
async fn get_slots(
    State(door): State<Arc<Door>>,
    client: Client,
    visitor: Visitor,
    Path(metric): Path<String>,
    Query(range): Query<Range>,
) -> Result<Response, Refusal> {
    door.admit_reader(client)?;
    let active = door.collect.sources.get_by_key(&metric)?;
    check_reader(&visitor, &active.source)?;
    let status = match range.status.as_deref() {
        None => None,
        Some(word) => Some(SlotState::parse(word).ok_or_else(|| {
            let words = SlotState::ALL.map(SlotState::word).join(", ");
            Error::invalid(format!("status must be one of {words}, not `{word}`"))
        })?),
    };
    let stretch = range.stretch(active.source.rhythm.interval_s, door.collect.clock.now())?;
    let entries = door.collect.list_entries(&active, stretch.from, stretch.to).await?;
    let wanted = entries.iter().filter(|entry| status.is_none_or(|status| entry.state == status));
    Ok(fresh(&SlotsAnswer {
        metric: active.source.metric.clone(),
        source: active.source.name.clone(),
        slots: wanted.map(SlotAnswer::from).collect(),
        next: stretch.next.map(spell),
    }))
}

#[derive(Deserialize)]
struct At {
    at: Option<String>,
}

/// What will happen, and what did not.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Explanation {
    at: String,
    /// Up to when slots are planned.
    planned_until: Option<String>,
    /// The sources that the caller may read.
    sources: Vec<NextCall>,
    /// What is wrong with the file of sources; for the operator alone.
    sources_file_problem: Option<String>,
    /// The last times in which nobody planned.
    gaps: Vec<GapAnswer>,
}

/// What a source is asked for next.
#[derive(Serialize, ToSchema)]
struct NextCall {
    #[schema(example = "default")]
    source: String,
    /// Null while it is paused.
    next: Option<NextSlot>,
    why: String,
}

/// The next slot of a source.
#[derive(Serialize, ToSchema)]
struct NextSlot {
    from: String,
    to: String,
    due: String,
    /// Without its secrets.
    url: String,
}

/// A time in which nobody planned.
#[derive(Serialize, ToSchema)]
struct GapAnswer {
    from: String,
    to: String,
    #[schema(example = "nobody planned")]
    cause: &'static str,
}

/// What will be asked next, and why: of the sources that the caller may read.
#[utoipa::path(get, path = "/collect/explain", params(
    ("at" = Option<String>, Query, description = "A time; usually now."),
), responses(
    (status = 200, description = "The next slot of every source, up to when slots are planned, and \
     the last times in which nobody planned.", body = Explanation),
    (status = 400, description = "It is no time."),
))]
async fn get_explain(
    State(door): State<Arc<Door>>,
    client: Client,
    visitor: Visitor,
    Query(at): Query<At>,
) -> Result<Response, Failure> {
    door.admit_reader(client)?;
    let at = at.at.as_deref().map(|text| moment("at", text)).transpose()?;
    let at = at.unwrap_or_else(|| door.collect.clock.now());
    let (planned_until, gaps) = door.collect.explain().await?;
    let (all, reads) = (door.collect.sources.all(), reads_up_to(&visitor));
    let sources = all.values().filter(|active| active.source.readers <= reads);
    let gap =
        |gap: &Gap| GapAnswer { from: spell(gap.from), to: spell(gap.to), cause: gap.cause() };
    Ok(fresh(&Explanation {
        at: at.to_string(),
        planned_until: planned_until.map(spell),
        sources: sources.map(|active| explain(active, at)).collect(),
        // It quotes the file.
        sources_file_problem: match reads {
            Readers::Operator => door.collect.sources.file_problem(),
            Readers::Everyone | Readers::Key => None,
        },
        gaps: gaps.iter().map(gap).collect(),
    }))
}

fn explain(active: &Active, at: Timestamp) -> NextCall {
    let (source, rhythm) = (&active.source, active.source.rhythm);
    let Some(span) = active.open_span() else {
        let why = "it is paused".to_owned();
        return NextCall { source: source.name.clone(), next: None, why };
    };
    let coming = rhythm.last_due(at).map_or(span.from, Slot::to).max(span.from);
    let slot = Slot::holding(coming, rhythm.interval_s);
    let resting = match active.pulse.breaker.lock().is_open() {
        true => "; its breaker is open: calls wait until one succeeds",
        false => "",
    };
    let why = format!(
        "every {} s since 1970, asked {} s after a slot begins, {} ms later than others; planned \
         at the beginning of its minute{resting}",
        rhythm.interval_s, rhythm.lag_s, rhythm.offset_ms,
    );
    let next = NextSlot {
        from: spell(slot.from()),
        to: spell(slot.to()),
        due: rhythm.due(slot).to_string(),
        url: source.shown_url(slot),
    };
    NextCall { source: source.name.clone(), next: Some(next), why }
}

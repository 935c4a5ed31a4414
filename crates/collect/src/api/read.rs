//! What is read: the summary, the ledger, and what will happen next. Series are `series.rs`.

use std::sync::Arc;
use std::time::Duration;

use base::Timestamp;
use edge::{Client, Failure, Path, Query, Response, Routes, State, get};
use serde::{Deserialize, Serialize};
use serde_json::{Value as JsonValue, json};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::{Door, fresh, limit, moment};
use crate::error::Error;
use crate::live::slot_json;
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

/// A minute of a summary.
#[derive(Serialize, ToSchema)]
struct Minute {
    #[schema(example = "2025-12-02T10:22:00Z")]
    time: String,
    /// The sum of what came; null if nothing did.
    count: Option<u64>,
    /// Which share of its slots came; null if none was expected.
    coverage: Option<f64>,
}

/// The last half hour.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SummaryAnswer {
    timestamp: String,
    last_minute_count: Option<u64>,
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
    (status = 404, description = "There is no such source."),
))]
async fn get_summary(
    State(door): State<Arc<Door>>,
    client: Client,
    Query(which): Query<Which>,
) -> Result<Response, Failure> {
    door.admit_reader(client)?;
    let active = match &which.source {
        Some(name) => door.collect.sources.get(name)?,
        None => door.collect.sources.find(DEFAULT).ok_or(Error::NoDefault)?,
    };
    let summary = door.collect.summarise(&active).await?;
    let minute = |(time, tally): &(Timestamp, Tally)| Minute {
        time: spell(*time),
        count: tally.value(),
        coverage: tally.coverage(),
    };
    Ok(fresh(&SummaryAnswer {
        timestamp: spell(summary.at),
        last_minute_count: summary.minutes.last().and_then(|(_, tally)| tally.value()),
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

/// The ledger of a source: every slot with its state.
#[utoipa::path(get, path = "/collect/slots/{metric}", params(
    ("metric" = String, Path, description = "A source's name, or what its rows are found under."),
    ("from" = Option<String>, Query), ("to" = Option<String>, Query),
    ("status" = Option<String>, Query,
     description = "`ok`, `late`, `retrying`, `failed`, `missing` or `conflict`."),
    ("cursor" = Option<String>, Query, description = "The `next` of the page before."),
    ("limit" = Option<u64>, Query, description = "Slots, from 1 to 1000, which is usual."),
), responses(
    (status = 200, description = "Slots by time.", body = serde_json::Value),
    (status = 400, description = "A parameter is wrong."),
    (status = 404, description = "There is no such source."),
))]
async fn get_slots(
    State(door): State<Arc<Door>>,
    client: Client,
    Path(metric): Path<String>,
    Query(range): Query<Range>,
) -> Result<Response, Failure> {
    door.admit_reader(client)?;
    let active = door.collect.sources.get_by_key(&metric)?;
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
    let slots: Vec<JsonValue> = wanted.map(slot_json).collect();
    Ok(fresh(&json!({
        "metric": active.source.metric,
        "source": active.source.name,
        "slots": slots,
        "next": stretch.next.map(spell),
    })))
}

#[derive(Deserialize)]
struct At {
    at: Option<String>,
}

/// What will be asked next, and why.
#[utoipa::path(get, path = "/collect/explain", params(
    ("at" = Option<String>, Query, description = "A time; usually now."),
), responses(
    (status = 200, description = "The next slot of every source, up to when slots are planned, and \
     the last times in which nobody planned.", body = serde_json::Value),
    (status = 400, description = "It is no time."),
))]
async fn get_explain(
    State(door): State<Arc<Door>>,
    client: Client,
    Query(at): Query<At>,
) -> Result<Response, Failure> {
    door.admit_reader(client)?;
    let at = at.at.as_deref().map(|text| moment("at", text)).transpose()?;
    let at = at.unwrap_or_else(|| door.collect.clock.now());
    let (planned_until, gaps) = door.collect.explain().await?;
    let all = door.collect.sources.all();
    let sources: Vec<JsonValue> = all.values().map(|active| explain(active, at)).collect();
    let gaps: Vec<JsonValue> = gaps
        .iter()
        .map(|gap| {
            let cause = if gap.by_clock { "the clock was set" } else { "nobody planned" };
            json!({ "from": spell(gap.from), "to": spell(gap.to), "cause": cause })
        })
        .collect();
    Ok(fresh(&json!({
        "at": at.to_string(),
        "plannedUntil": planned_until.map(spell),
        "sources": sources,
        "sourcesFileProblem": door.collect.sources.file_problem(),
        "gaps": gaps,
    })))
}

fn explain(active: &Active, at: Timestamp) -> JsonValue {
    let (source, rhythm) = (&active.source, active.source.rhythm);
    let Some(span) = active.open_span() else {
        return json!({ "source": source.name, "next": null, "why": "it is paused" });
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
    json!({
        "source": source.name,
        "next": {
            "from": spell(slot.from()),
            "to": spell(slot.to()),
            "due": rhythm.due(slot).to_string(),
            "url": source.url(slot),
        },
        "why": why,
    })
}

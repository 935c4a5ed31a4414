//! A source's series: its slots, or sums of minutes and hours; in three forms.

use std::fmt::Write;
use std::sync::Arc;

use base::Timestamp;
use edge::{
    Client, Failure, HeaderMap, IntoResponse, Path, Query, Response, Routes, State, get, header,
};
use serde_json::{Value as JsonValue, json};
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Described;

use super::read::{Range, Stretch};
use super::{Door, fresh, moment};
use crate::error::Error;
use crate::items::Step;
use crate::model::slot::{HOUR_S, MINUTE_S, Slot, spell};
use crate::model::tally::{Entry, State as SlotState, Tally};
use crate::ops::sources::Active;

#[derive(OpenApi)]
#[openapi(paths(get_series))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

pub(super) fn routes(door: &Arc<Door>) -> Routes {
    Routes::new().route("/collect/series/{metric}", get(get_series)).with_state(Arc::clone(door))
}

/// A point of a series.
struct Point {
    time: Timestamp,
    value: Option<u64>,
    status: &'static str,
    coverage: Option<f64>,
}

impl From<&Entry> for Point {
    fn from(entry: &Entry) -> Point {
        let coverage = Some(if entry.count.is_some() { 1.0 } else { 0.0 });
        let status = entry.state.word();
        Point { time: entry.slot.from(), value: entry.count, status, coverage }
    }
}

impl From<&(Timestamp, Tally)> for Point {
    fn from((time, tally): &(Timestamp, Tally)) -> Point {
        let status = match tally.coverage() {
            Some(1.0) => SlotState::Ok.word(),
            Some(0.0) => SlotState::Missing.word(),
            Some(_) => "partial",
            None => "none",
        };
        Point { time: *time, value: tally.value(), status, coverage: tally.coverage() }
    }
}

/// A source's series: its slots, or sums of minutes and hours. Holes are nulls.
#[utoipa::path(get, path = "/collect/series/{metric}", params(
    ("metric" = String, Path, description = "A source's name, or what its rows are found under."),
    ("from" = Option<String>, Query), ("to" = Option<String>, Query),
    ("step" = Option<u64>, Query, description = "Seconds: the source's interval, 60 or 3600."),
    ("cursor" = Option<String>, Query, description = "The `next` of the page before."),
    ("limit" = Option<u64>, Query, description = "Steps, from 1 to 1000, which is usual."),
), responses(
    (status = 200, description = "Points by time; as `text/csv` and as Prometheus' text too. A \
     `Link` leads to the next page.", body = serde_json::Value),
    (status = 400, description = "A parameter is wrong."),
    (status = 404, description = "There is no such source."),
))]
async fn get_series(
    State(door): State<Arc<Door>>,
    client: Client,
    headers: HeaderMap,
    Path(metric): Path<String>,
    Query(range): Query<Range>,
) -> Result<Response, Failure> {
    door.admit_reader(client)?;
    let collect = &door.collect;
    let active = collect.sources.get_by_key(&metric)?;
    let interval_s = active.source.rhythm.interval_s;
    let step_s = match range.step.as_deref() {
        None => interval_s,
        Some(text) => {
            text.parse().ok().filter(|step| is_step(*step, interval_s)).ok_or_else(|| {
                Error::invalid(format!("step must be {interval_s}, 60 or 3600, not `{text}`"))
            })?
        }
    };
    let stretch = range.stretch(step_s, collect.clock.now())?;
    let (from, to) = (stretch.from, stretch.to);
    let points: Vec<Point> = if step_s == interval_s {
        collect.list_entries(&active, from, to).await?.iter().map(Point::from).collect()
    } else {
        let step = if step_s == MINUTE_S { Step::Minute } else { Step::Hour };
        let from = Slot::holding(from, step_s).from();
        collect.list_tallies(&active, step, from, to).await?.iter().map(Point::from).collect()
    };
    let mut answer = match Form::wanted(&headers) {
        Form::Json => fresh(&series_json(&active, step_s, &stretch, &points)),
        Form::Csv => csv(&points),
        Form::Prometheus => prometheus(&active, &points),
    };
    if let Some(next) = stretch.next {
        let path = metric.replace('#', "%23");
        let (to, next) = (spell_given(range.to.as_deref(), collect.clock.now()), spell(next));
        let limit = range.limit.as_ref().map(|limit| format!("&limit={limit}")).unwrap_or_default();
        let query = format!("to={to}&step={step_s}&cursor={next}{limit}");
        let link = format!("</collect/series/{path}?{query}>; rel=\"next\"");
        if let Ok(link) = link.try_into() {
            answer.headers_mut().insert(header::LINK, link);
        }
    }
    Ok(answer)
}

fn is_step(step_s: u64, interval_s: u64) -> bool {
    step_s == interval_s || (interval_s < step_s && matches!(step_s, MINUTE_S | HOUR_S))
}

/// The end that a caller gave, or now: pages of one question end at one time.
fn spell_given(given: Option<&str>, now: Timestamp) -> String {
    let given = given.and_then(|text| moment("to", text).ok());
    spell(given.unwrap_or(now))
}

/// How a series is written.
enum Form {
    Json,
    Csv,
    Prometheus,
}

impl Form {
    fn wanted(headers: &HeaderMap) -> Form {
        let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        let accept = accept.unwrap_or_default();
        let named = accept.split(',').filter_map(|part| part.split(';').next());
        let form = named.map(str::trim).find_map(|name| match name {
            "text/csv" => Some(Form::Csv),
            "text/plain" => Some(Form::Prometheus),
            "application/json" => Some(Form::Json),
            _ => None,
        });
        form.unwrap_or(Form::Json)
    }
}

fn series_json(active: &Active, step_s: u64, stretch: &Stretch, points: &[Point]) -> JsonValue {
    let points = points.iter().map(|point| {
        json!({
            "time": spell(point.time),
            "value": point.value,
            "status": point.status,
            "coverage": point.coverage,
        })
    });
    json!({
        "metric": active.source.metric,
        "source": active.source.name,
        "step": step_s,
        "from": spell(stretch.from),
        "to": spell(stretch.to),
        "points": points.collect::<Vec<_>>(),
        "next": stretch.next.map(spell),
    })
}

fn csv(points: &[Point]) -> Response {
    let mut text = String::from("time,value,status,coverage\n");
    for Point { time, value, status, coverage } in points {
        let value = value.map(|value| value.to_string()).unwrap_or_default();
        let coverage = coverage.map(|share| share.to_string()).unwrap_or_default();
        let _ = writeln!(text, "{},{value},{status},{coverage}", spell(*time));
    }
    ([(header::CONTENT_TYPE, "text/csv; charset=utf-8"), NO_CACHE], text).into_response()
}

const NO_CACHE: (header::HeaderName, &str) = (header::CACHE_CONTROL, "no-cache");

fn prometheus(active: &Active, points: &[Point]) -> Response {
    let (metric, source) = (&active.source.metric, &active.source.name);
    let mut text = format!("# TYPE {metric} gauge\n");
    for Point { time, value, .. } in points {
        let value = value.map_or_else(|| "NaN".to_owned(), |value| value.to_string());
        let _ = writeln!(text, "{metric}{{source=\"{source}\"}} {value} {}", time.millis());
    }
    let content_type = (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    ([content_type, NO_CACHE], text).into_response()
}

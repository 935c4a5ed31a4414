//! A source's series: its slots, or sums of minutes and hours; in three forms.

use std::fmt::Write;
use std::sync::Arc;

use base::Timestamp;
use edge::{
    Client, HeaderMap, IntoResponse, Path, Query, Response, Routes, State, Visitor, get, header,
};
use serde::Serialize;
use serde_json::Number as JsonNumber;
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use super::read::{Figures, Range, Refusal, Stretch};
use super::{Door, check_reader, fresh, moment};
use crate::error::Error;
use crate::items::Step;
use crate::live::value_json;
use crate::model::kind::Kind;
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
#[derive(Serialize, ToSchema)]
struct Point {
    #[schema(example = "2025-12-02T10:23:00Z")]
    time: String,
    #[serde(skip)]
    millis: u64,
    /// The value of a slot, the sum of counts, or the mean of a gauge; null if nothing came.
    #[schema(value_type = Option<f64>)]
    value: Option<JsonNumber>,
    /// The state of a slot; of a minute or an hour `ok`, `partial`, `missing` or `none`.
    #[schema(example = "ok")]
    status: &'static str,
    /// Which share of its slots came; null if none was expected.
    coverage: Option<f64>,
    #[serde(flatten)]
    figures: Figures,
}

impl From<&Entry> for Point {
    fn from(entry: &Entry) -> Point {
        let coverage = if entry.count.is_some() { 1.0 } else { 0.0 };
        Point {
            time: spell(entry.slot.from()),
            millis: entry.slot.from().millis(),
            value: entry.count.map(value_json),
            status: entry.state.word(),
            coverage: Some(coverage),
            figures: Figures::from(&Tally::new(1, entry.count)),
        }
    }
}

impl Point {
    fn of(kind: Kind, (time, tally): &(Timestamp, Tally)) -> Point {
        let status = match tally.coverage() {
            Some(1.0) => SlotState::Ok.word(),
            Some(0.0) => SlotState::Missing.word(),
            Some(_) => "partial",
            None => "none",
        };
        Point {
            time: spell(*time),
            millis: time.millis(),
            value: tally.value(kind).map(value_json),
            status,
            coverage: tally.coverage(),
            figures: Figures::from(tally),
        }
    }
}

/// A part of a series.
#[derive(Serialize, ToSchema)]
struct SeriesAnswer {
    #[schema(example = "ai_response_count")]
    metric: String,
    #[schema(example = "default")]
    source: String,
    /// `count` or `gauge`.
    #[schema(example = "count")]
    kind: &'static str,
    /// Seconds.
    #[schema(example = 5)]
    step: u64,
    from: String,
    to: String,
    points: Vec<Point>,
    /// Where the next part begins; null at the end.
    next: Option<String>,
}

/// A source's series: its slots, or minutes and hours of it with their least, greatest, mean and
/// last value. Counts are added up, gauges are not. Holes are nulls.
#[utoipa::path(get, path = "/collect/series/{metric}", params(
    ("metric" = String, Path, description = "A source's name, or what its rows are found under."),
    ("from" = Option<String>, Query), ("to" = Option<String>, Query),
    ("step" = Option<u64>, Query, description = "Seconds: the source's interval, 60 or 3600."),
    ("cursor" = Option<String>, Query, description = "The `next` of the page before."),
    ("limit" = Option<u64>, Query, description = "Steps, from 1 to 1000, which is usual."),
), responses(
    (status = 200, description = "Points by time; as `text/csv` and as Prometheus' text too. A \
     `Link` leads to the next page.", body = SeriesAnswer),
    (status = 400, description = "A parameter is wrong."),
    (status = 401, description = "The source is not for everyone."),
    (status = 403, description = "The key may not read the source."),
    (status = 404, description = "There is no such source."),
))]
async fn get_series(
    State(door): State<Arc<Door>>,
    client: Client,
    visitor: Visitor,
    headers: HeaderMap,
    Path(metric): Path<String>,
    Query(range): Query<Range>,
) -> Result<Response, Refusal> {
    door.admit_reader(client)?;
    let collect = &door.collect;
    let active = collect.sources.get_by_key(&metric)?;
    check_reader(&visitor, &active.source)?;
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
        let tallies = collect.list_tallies(&active, step, from, to).await?;
        tallies.iter().map(|tally| Point::of(active.source.kind, tally)).collect()
    };
    let is_coarse = step_s != interval_s;
    let mut answer = match Form::wanted(&headers) {
        Form::Json => fresh(&series(&active, step_s, &stretch, points)),
        Form::Csv => csv(&points, is_coarse),
        Form::Prometheus => prometheus(&active, &points, is_coarse),
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

fn series(active: &Active, step_s: u64, stretch: &Stretch, points: Vec<Point>) -> SeriesAnswer {
    SeriesAnswer {
        metric: active.source.metric.clone(),
        source: active.source.name.clone(),
        kind: active.source.kind.word(),
        step: step_s,
        from: spell(stretch.from),
        to: spell(stretch.to),
        points,
        next: stretch.next.map(spell),
    }
}

/// A value as text; nothing for a hole.
fn text_of(value: Option<&JsonNumber>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

/// Rows of a table. Minutes and hours have more columns than slots, which are their own mean.
fn csv(points: &[Point], is_coarse: bool) -> Response {
    let more = if is_coarse { ",min,max,mean,last" } else { "" };
    let mut text = format!("time,value,status,coverage{more}\n");
    for Point { time, value, status, coverage, figures, .. } in points {
        let coverage = coverage.map(|share| share.to_string()).unwrap_or_default();
        let _ = write!(text, "{time},{},{status},{coverage}", text_of(value.as_ref()));
        let Figures { min, max, mean, last } = figures;
        for figure in [min, max, mean, last].into_iter().filter(|_| is_coarse) {
            let _ = write!(text, ",{}", text_of(figure.as_ref()));
        }
        text.push('\n');
    }
    ([(header::CONTENT_TYPE, "text/csv; charset=utf-8"), NO_CACHE], text).into_response()
}

const NO_CACHE: (header::HeaderName, &str) = (header::CACHE_CONTROL, "no-cache");

/// What a series of a name tells of a point.
type Told = (&'static str, fn(&Point) -> Option<&JsonNumber>);

/// The names of minutes and hours beside the metric's own.
const TOLD: [Told; 5] = [
    ("", |point| point.value.as_ref()),
    ("_min", |point| point.figures.min.as_ref()),
    ("_max", |point| point.figures.max.as_ref()),
    ("_mean", |point| point.figures.mean.as_ref()),
    ("_last", |point| point.figures.last.as_ref()),
];

fn prometheus(active: &Active, points: &[Point], is_coarse: bool) -> Response {
    let (metric, source) = (&active.source.metric, &active.source.name);
    let mut text = String::new();
    for (suffix, value) in TOLD.iter().take(if is_coarse { TOLD.len() } else { 1 }) {
        let _ = writeln!(text, "# TYPE {metric}{suffix} gauge");
        for point in points {
            let value = value(point).map_or_else(|| "NaN".to_owned(), ToString::to_string);
            let millis = point.millis;
            let _ = writeln!(text, "{metric}{suffix}{{source=\"{source}\"}} {value} {millis}");
        }
    }
    let content_type = (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    ([content_type, NO_CACHE], text).into_response()
}

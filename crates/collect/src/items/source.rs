//! A source: as JSON in a file, on the wire and in the table; and its spans.

#[cfg(test)]
mod fuzz;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use table::{Delete, Item, Put, Query, TransactItem, Update, Value, attr};
use utoipa::ToSchema;

use super::{ROOM, key, number, text};
use crate::error::Error;
use crate::limits::{DEADLINE_SECONDS_USUAL, SOURCES_MAX};
use crate::model::policy::Policy;
use crate::model::slot::{Rhythm, Span, USUAL_INTERVAL_S, read_time, spell};
use crate::model::source::{DEFAULT_METRIC, Source, USUAL_PATH, USUAL_POINTER, offset_ms};

/// A source.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SourceForm {
    /// Its name.
    #[schema(example = "tokyo")]
    pub(crate) name: String,
    /// What it measures.
    #[serde(default = "metric")]
    #[schema(example = "ai_response_count")]
    metric: String,
    /// What every URL begins with.
    #[schema(example = "https://api.example.com")]
    base_url: String,
    /// What follows, with the holes {from}, {to}, {fromSeconds} and {toSeconds}.
    #[serde(default = "path")]
    path: String,
    /// Seconds between slots, aligned to 1970.
    #[serde(default = "interval_seconds")]
    #[schema(example = 5)]
    interval_seconds: u64,
    /// Seconds from a slot's beginning to its call; usually its length and one to settle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lag_seconds: Option<u64>,
    /// Where in the answer the value stands, as a JSON pointer.
    #[serde(default = "pointer")]
    pointer: String,
    /// Whether the answer must name the window that was asked for.
    #[serde(default = "echo")]
    echo: bool,
    /// Headers by the names of the files in `collect.secrets_path` that hold their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    header_files: BTreeMap<String, String>,
    /// What becomes of missed slots: `skip`, `buffer_one`, `buffer_all` or `allow_all`.
    #[serde(default = "misfire")]
    misfire: String,
    /// What becomes of a slot that is due while another is asked for: the same words.
    #[serde(default = "overlap")]
    overlap: String,
    /// Seconds behind its time in which a slot is tried again.
    #[serde(default = "deadline_seconds")]
    deadline_seconds: u64,
    /// Days that slots are kept; for ever if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retention_days: Option<u64>,
}

fn metric() -> String {
    DEFAULT_METRIC.to_owned()
}

fn path() -> String {
    USUAL_PATH.to_owned()
}

fn interval_seconds() -> u64 {
    USUAL_INTERVAL_S
}

fn pointer() -> String {
    USUAL_POINTER.to_owned()
}

fn echo() -> bool {
    true
}

fn misfire() -> String {
    Policy::BufferAll.word().to_owned()
}

fn overlap() -> String {
    Policy::AllowAll.word().to_owned()
}

fn deadline_seconds() -> u64 {
    DEADLINE_SECONDS_USUAL
}

impl SourceForm {
    /// The source, if it is one.
    pub(crate) fn source(self) -> Result<Source, Error> {
        let interval_s = self.interval_seconds;
        let rhythm = Rhythm {
            interval_s,
            lag_s: self.lag_seconds.unwrap_or(interval_s.saturating_add(1)),
            offset_ms: offset_ms(&self.name, interval_s),
        };
        let source = Source {
            rhythm,
            misfire: policy("misfire", &self.misfire)?,
            overlap: policy("overlap", &self.overlap)?,
            name: self.name,
            metric: self.metric,
            base_url: self.base_url,
            path: self.path,
            pointer: self.pointer,
            echo: self.echo,
            header_files: self.header_files,
            deadline_s: self.deadline_seconds,
            retention_days: self.retention_days,
        };
        source.checked()
    }
}

impl From<&Source> for SourceForm {
    fn from(source: &Source) -> SourceForm {
        SourceForm {
            name: source.name.clone(),
            metric: source.metric.clone(),
            base_url: source.base_url.clone(),
            path: source.path.clone(),
            interval_seconds: source.rhythm.interval_s,
            lag_seconds: Some(source.rhythm.lag_s),
            pointer: source.pointer.clone(),
            echo: source.echo,
            header_files: source.header_files.clone(),
            misfire: source.misfire.word().to_owned(),
            overlap: source.overlap.word().to_owned(),
            deadline_seconds: source.deadline_s,
            retention_days: source.retention_days,
        }
    }
}

/// A policy by its word.
fn policy(what: &str, word: &str) -> Result<Policy, Error> {
    Policy::parse(word).ok_or_else(|| {
        let words = Policy::ALL.map(Policy::word).join(", ");
        Error::invalid(format!("{what} must be one of {words}, not `{word}`"))
    })
}

/// The sources in the text of a file: a JSON array, each source once.
pub(crate) fn read_sources(text: &str) -> Result<Vec<Source>, Error> {
    let forms: Vec<serde_json::Value> = serde_json::from_str(text)
        .map_err(|error| Error::invalid(format!("not a list of sources: {error}")))?;
    if forms.len() > SOURCES_MAX {
        let told = format!("there are {} sources, at most {SOURCES_MAX} allowed", forms.len());
        return Err(Error::invalid(told));
    }
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    for (index, form) in forms.into_iter().enumerate() {
        let name = form.get("name").and_then(|name| name.as_str()).map(str::to_owned);
        let called = name.unwrap_or_else(|| format!("number {}", index + 1));
        let wrong = |why: String| Error::invalid(format!("source `{called}`: {why}"));
        let form: SourceForm =
            serde_json::from_value(form).map_err(|error| wrong(error.to_string()))?;
        let source = form.source().map_err(|error| wrong(error.to_string()))?;
        if sources.insert(called.clone(), source).is_some() {
            return Err(wrong("it is there twice".to_owned()));
        }
    }
    Ok(sources.into_values().collect())
}

/// What the table knows of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) name: String,
    /// Its form, if it came by the API.
    pub(crate) form: Option<String>,
    /// When it was asked.
    pub(crate) spans: Vec<Span>,
    /// Moved by every change; 0 for one that is not there.
    pub(crate) ver: u64,
}

impl Kept {
    /// Sets the form of one that came by the API.
    pub(crate) fn with_form(mut self, source: &Source) -> Kept {
        let form = serde_json::to_string(&SourceForm::from(source));
        self.form = Some(form.expect("words and numbers are JSON"));
        self
    }

    /// The source, if it came by the API.
    pub(crate) fn source(&self) -> Option<Result<Source, Error>> {
        let form: Result<SourceForm, _> = serde_json::from_str(self.form.as_deref()?);
        Some(form.map_err(|error| Error::invalid(error.to_string())).and_then(SourceForm::source))
    }
}

/// All sources that the table knows.
pub(crate) fn query_sources() -> Query {
    Query::new(ROOM, "pk", "SOURCES").consistent()
}

/// Reads one.
pub(crate) fn get_source(name: &str) -> table::Get {
    table::Get::new(ROOM, key("SOURCES", name))
}

/// Writes a source, if it is as it was read.
pub(crate) fn put_source(kept: &Kept) -> TransactItem {
    let spans = kept.spans.iter().map(|span| {
        let mut item =
            Item::new().with("from", spell(span.from)).with("intervalSeconds", span.interval_s);
        if let Some(to) = span.to {
            item.insert("to", spell(to));
        }
        Value::M(item)
    });
    let mut item = key("SOURCES", &*kept.name)
        .with("spans", Value::L(spans.collect()))
        .with("ver", kept.ver + 1);
    if let Some(form) = &kept.form {
        item.insert("form", form.as_str());
    }
    Put::new(ROOM, item).when(unchanged(kept.ver)).into()
}

/// Removes a source, if it is as it was read. Its values stay.
pub(crate) fn delete_source(kept: &Kept) -> TransactItem {
    Delete::new(ROOM, key("SOURCES", &*kept.name)).when(unchanged(kept.ver)).into()
}

fn unchanged(ver: u64) -> table::Condition {
    match ver {
        0 => attr("pk").not_exists(),
        _ => attr("ver").eq(ver),
    }
}

/// A source in its row.
pub(crate) fn read_source(item: &Item) -> Option<Kept> {
    let span = |value: &Value| {
        let Value::M(item) = value else { return None };
        let moment = |name| text(item, name).and_then(read_time);
        let interval_s = number(item, "intervalSeconds")?;
        Some(Span { from: moment("from")?, to: moment("to"), interval_s })
    };
    let spans = match item.get("spans")? {
        Value::L(spans) => spans.iter().filter_map(span).collect(),
        _ => return None,
    };
    Some(Kept {
        name: text(item, "sk")?.to_owned(),
        form: text(item, "form").map(str::to_owned),
        spans,
        ver: number(item, "ver")?,
    })
}

/// Reads how often sources were changed.
pub(crate) fn get_changes() -> table::Get {
    table::Get::new(ROOM, key("MARKS", "sources"))
}

/// Notes that sources are changed.
pub(crate) fn note_change() -> TransactItem {
    Update::new(ROOM, key("MARKS", "sources")).add("changes", 1).into()
}

/// How often sources were changed.
pub(crate) fn read_changes(item: &Item) -> u64 {
    number(item, "changes").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::read_sources;
    use crate::model::policy::Policy;

    fn refusal(text: &str) -> String {
        read_sources(text).unwrap_err().to_string()
    }

    #[test]
    fn a_source_needs_a_name_and_a_base_and_has_the_seeds_defaults() {
        let sources = read_sources(r#"[{"name": "tokyo", "baseUrl": "https://x.example"}]"#);
        let [source] = &sources.unwrap()[..] else { panic!("one source") };
        assert_eq!(source.key(), "ai_response_count#tokyo");
        assert_eq!((source.rhythm.interval_s, source.rhythm.lag_s), (5, 6));
        assert_eq!((source.misfire, source.overlap), (Policy::BufferAll, Policy::AllowAll));
        assert_eq!(source.retention_days, None);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_by_the_sources_name() {
        assert!(refusal("{}").starts_with("not a list of sources: "));
        let tokyo = |rest: &str| refusal(&format!(r#"[{{"name": "tokyo"{rest}}}]"#));
        assert_eq!(tokyo(""), "source `tokyo`: missing field `baseUrl`");
        let base = r#", "baseUrl": "https://x.example""#;
        let told = tokyo(&format!("{base}, \"intervall\": 5"));
        assert!(told.starts_with("source `tokyo`: unknown field `intervall`"), "{told}");
        let told = tokyo(&format!("{base}, \"intervalSeconds\": 0"));
        assert_eq!(told, "source `tokyo`: intervalSeconds must be from 1 to 86400, not 0");
        let told = tokyo(&format!("{base}, \"misfire\": \"maybe\""));
        let words = "skip, buffer_one, buffer_all, allow_all";
        assert_eq!(told, format!("source `tokyo`: misfire must be one of {words}, not `maybe`"));
        let told = tokyo(r#", "baseUrl": "x""#);
        assert!(told.starts_with("source `tokyo`: baseUrl `x`"), "{told}");
        let twice = r#"{"name": "a", "baseUrl": "https://x.example"}"#;
        assert_eq!(refusal(&format!("[{twice}, {twice}]")), "source `a`: it is there twice");
        assert_eq!(refusal("[7]").split(':').next(), Some("source `number 1`"));
    }
}

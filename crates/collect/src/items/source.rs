//! A source as JSON: in a file, on the wire and in the table. What the table knows besides is
//! `kept.rs`.

#[cfg(test)]
mod fuzz;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::Error;
use crate::limits::{DEADLINE_SECONDS_USUAL, PRACTICE_DAYS, SOURCES_MAX};
use crate::model::kind::{Kind, Mode, Readers, usual_lag_s, usual_mode};
use crate::model::policy::Policy;
use crate::model::practice;
use crate::model::redact::redact;
use crate::model::slot::{Rhythm, USUAL_INTERVAL_S};
use crate::model::source::{DEFAULT_METRIC, Source, USUAL_PATH, USUAL_POINTER, offset_ms};

/// A source.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({
    "name": "tokyo",
    "baseUrl": "https://api.example.com",
    "path": "/response_count?from={from}&to={to}",
    "intervalSeconds": 30,
    "readers": "everyone"
}))]
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
    /// What follows, with the holes {from}, {to}, {fromSeconds}, {toSeconds} and {secret:file}. The
    /// value of a parameter whose name means a secret is answered as `[redacted]`; where that is
    /// sent back, the value stays as it is.
    #[serde(default = "path")]
    path: String,
    /// Seconds between slots, aligned to 1970.
    #[serde(default = "interval_seconds")]
    #[schema(example = 5)]
    interval_seconds: u64,
    /// Seconds from a slot's beginning to its call. Usually its length and one to settle; 0 for an
    /// instant source.
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
    /// `windowed`, if the upstream answers for the window that it is asked for, or `instant`, if it
    /// answers for the moment of the call: then no past slot gets a value. Usually `windowed` if
    /// the answer names its window or the path takes both ends of it, else `instant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "windowed")]
    mode: Option<String>,
    /// `count`, whose values are whole and added up, or `gauge`, whose values are decimals and not.
    #[serde(default = "kind")]
    kind: String,
    /// Who may read it: `everyone`, `key` (an API key with the scope `collect:read`) or `operator`,
    /// which is usual for a source that is added by the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "operator")]
    readers: Option<String>,
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

fn kind() -> String {
    Kind::Count.word().to_owned()
}

impl SourceForm {
    /// The source, if it is one. One that does not say who may read it is for these.
    pub(crate) fn source(self, readers: Readers) -> Result<Source, Error> {
        let interval_s = self.interval_seconds;
        let mode = match &self.mode {
            None => usual_mode(&self.path, self.echo),
            Some(word) => Mode::parse(word).ok_or_else(|| {
                Error::invalid(format!("mode must be windowed or instant, not `{word}`"))
            })?,
        };
        let readers = match &self.readers {
            None => readers,
            Some(word) => Readers::parse(word).ok_or_else(|| {
                Error::invalid(format!("readers must be everyone, key or operator, not `{word}`"))
            })?,
        };
        let kind = Kind::parse(&self.kind).ok_or_else(|| {
            Error::invalid(format!("kind must be count or gauge, not `{}`", self.kind))
        })?;
        let rhythm = Rhythm {
            interval_s,
            lag_s: self.lag_seconds.unwrap_or_else(|| usual_lag_s(mode, interval_s)),
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
            mode,
            kind,
            readers,
        };
        source.checked()
    }

    /// The form of a source as it is shown: without the secrets that are written into it.
    pub(crate) fn shown(source: &Source) -> SourceForm {
        SourceForm { path: redact(&source.path), ..SourceForm::from(source) }
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
            mode: Some(source.mode.word().to_owned()),
            kind: source.kind.word().to_owned(),
            readers: Some(source.readers.word().to_owned()),
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

/// The practice source. Everybody may read it: its values belong to nobody.
pub(crate) fn practice() -> Result<Source, Error> {
    let form = serde_json::json!({
        "name": practice::NAME,
        "metric": practice::METRIC,
        "baseUrl": practice::BASE_URL,
        "retentionDays": PRACTICE_DAYS,
    });
    let form: Result<SourceForm, _> = serde_json::from_value(form);
    form.map_err(|error| Error::invalid(error.to_string()))?.source(Readers::Everyone)
}

/// The sources in the text of a file: a JSON array, each source once. One that does not say who may
/// read it is for everyone, as all were before they could say.
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
        let source = form.source(Readers::Everyone);
        let source = source.map_err(|error| wrong(error.to_string()))?;
        if sources.insert(called.clone(), source).is_some() {
            return Err(wrong("it is there twice".to_owned()));
        }
    }
    Ok(sources.into_values().collect())
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

//! The room's files: the sources that the settings name, and secrets for their headers.

use std::io;
use std::path::Path;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use table::limits::{NAME_CHARS_MAX, NAME_CHARS_MIN};

use super::source::read_sources;
use crate::error::Error;
use crate::limits::{SECRET_BYTES_MAX, SOURCES_FILE_BYTES_MAX};
use crate::model::policy::Policy;
use crate::model::slot::{Rhythm, USUAL_INTERVAL_S};
use crate::model::source::{DEFAULT, DEFAULT_METRIC, Source, USUAL_PATH, USUAL_POINTER};
use crate::options::{Options, TABLE};

/// The sources that the settings name: the default one, and those of the file.
pub(crate) fn read_fixed(options: &Options) -> Result<Vec<Source>, Error> {
    let read = |path| read_bounded(path, SOURCES_FILE_BYTES_MAX);
    let text = options.sources_file.as_deref().map(read).transpose();
    let text = text.map_err(|error| wrong_file(options, &error.to_string()))?;
    fixed_with(options, text.as_deref())
}

fn wrong_file(options: &Options, why: &str) -> Error {
    let path = options.sources_file.as_deref().unwrap_or(Path::new(""));
    Error::Settings(format!("`collect.sources_file` {}: {why}", path.display()))
}

/// The same with the text of the file. Secrets are looked at too, so that a house does not open to
/// fail at its first call.
pub(crate) fn fixed_with(options: &Options, file: Option<&str>) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    let table = &options.table;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !(NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&table.len()) || !table.bytes().all(allowed) {
        let told = format!(
            "`collect.table` must be {NAME_CHARS_MIN} to {NAME_CHARS_MAX} of `a-z A-Z 0-9 . _ -`, \
             not `{table}`"
        );
        return Err(Error::Settings(told));
    }
    match &options.base_url {
        Some(base_url) => sources.push(default_source(options, base_url)?),
        None if options.table != TABLE && options.sources_file.is_none() => {
            let told = "`collect.base_url` (AI_API_BASE_URL) is missing: `collect.table` \
                        (AI_METRICS_TABLE_NAME) is set, and there is nothing to ask";
            return Err(Error::Settings(told.to_owned()));
        }
        None => {}
    }
    if let Some(text) = file {
        let read = read_sources(text).map_err(|error| wrong_file(options, &error.to_string()))?;
        if read.iter().any(|source| source.name == DEFAULT) {
            let told = format!("`{DEFAULT}` is the source of `collect.base_url`");
            return Err(wrong_file(options, &told));
        }
        sources.extend(read);
    }
    for source in &sources {
        read_headers(options, source).map_err(|error| Error::Settings(error.to_string()))?;
    }
    Ok(sources)
}

/// The headers that a source sends.
pub(crate) fn read_headers(options: &Options, source: &Source) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, file) in &source.header_files {
        let path = options.secrets_path.join(file);
        let wrong = |why: String| {
            let told =
                format!("source `{}`, header `{name}`, {}: {why}", source.name, path.display());
            Error::invalid(told)
        };
        let name = HeaderName::try_from(name).map_err(|error| wrong(error.to_string()))?;
        let secret = read_bounded(&path, SECRET_BYTES_MAX);
        let secret = secret.map_err(|error| wrong(error.to_string()))?;
        let value = HeaderValue::try_from(secret.trim());
        let mut value = value.map_err(|_| wrong("it cannot stand in a header".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The seed's source.
fn default_source(options: &Options, base_url: &str) -> Result<Source, Error> {
    let lag_s = options.lag_seconds;
    let source = Source {
        name: DEFAULT.to_owned(),
        metric: DEFAULT_METRIC.to_owned(),
        base_url: base_url.to_owned(),
        path: USUAL_PATH.to_owned(),
        // No offset: its delays are the seed's to the second.
        rhythm: Rhythm { interval_s: USUAL_INTERVAL_S, lag_s, offset_ms: 0 },
        pointer: USUAL_POINTER.to_owned(),
        echo: true,
        header_files: Default::default(),
        misfire: Policy::BufferAll,
        overlap: Policy::AllowAll,
        deadline_s: options.deadline_seconds,
        retention_days: None,
    };
    let checked = source.checked();
    checked.map_err(|error| Error::Settings(format!("`collect.base_url`: {error}")))
}

fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<String> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes > bytes_max {
        let told = format!("the file has {bytes} bytes, at most {bytes_max} allowed");
        return Err(io::Error::other(told));
    }
    std::fs::read_to_string(path)
}

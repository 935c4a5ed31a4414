//! The room's files: the sources that the settings name, and the secrets that are sent.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use table::limits::{NAME_CHARS_MAX, NAME_CHARS_MIN};

use super::source::read_sources;
use crate::error::Error;
use crate::limits::{SECRET_BYTES_MAX, SOURCES_FILE_BYTES_MAX};
use crate::model::kind::{Kind, Mode, Readers};
use crate::model::policy::Policy;
use crate::model::redact::written_secrets;
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
    let mut files = SecretFiles::new(options);
    for source in &sources {
        files.read_for(source).map_err(|error| Error::Settings(error.to_string()))?;
    }
    Ok(sources)
}

/// What a source sends that nobody but its upstream may see.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) headers: HeaderMap,
    /// Secrets by the names of their files.
    files: BTreeMap<String, String>,
    /// Everything that is left out of what is shown, logged and kept.
    pub(crate) hidden: Vec<String>,
}

impl Credentials {
    /// The secret of a file, as it stands in a URL.
    pub(crate) fn in_url(&self, file: &str) -> Option<String> {
        self.files.get(file).map(|secret| escaped(secret))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// The files with secrets, each read once.
pub(crate) struct SecretFiles {
    folder: PathBuf,
    read: BTreeMap<String, Result<String, String>>,
}

impl SecretFiles {
    pub(crate) fn new(options: &Options) -> SecretFiles {
        SecretFiles { folder: options.secrets_path.clone(), read: BTreeMap::new() }
    }

    /// What a source sends.
    pub(crate) fn read_for(&mut self, source: &Source) -> Result<Credentials, Error> {
        let mut credentials = Credentials::default();
        for file in source.secret_files() {
            let path = self.folder.join(file);
            let read = self.read.entry(file.to_owned()).or_insert_with(|| {
                let secret = read_bounded(&path, SECRET_BYTES_MAX);
                secret.map(|secret| secret.trim().to_owned()).map_err(|error| error.to_string())
            });
            let secret = read.clone().map_err(|why| wrong_secret(source, file, &path, &why))?;
            credentials.files.insert(file.to_owned(), secret);
        }
        for (header, file) in &source.header_files {
            let wrong = |why: &str| wrong_secret(source, file, &self.folder.join(file), why);
            let name = HeaderName::try_from(header).map_err(|error| wrong(&error.to_string()))?;
            let secret = credentials.files.get(file).map(String::as_str).unwrap_or_default();
            let value = HeaderValue::try_from(secret);
            let mut value = value.map_err(|_| wrong("it cannot stand in a header"))?;
            value.set_sensitive(true);
            credentials.headers.insert(name, value);
        }
        // An upstream may tell a secret as it stands in the URL, or without the word before it.
        let last_word = |secret: &String| secret.rsplit(' ').next().map(str::to_owned);
        let secrets = credentials.files.values().cloned().chain(written_secrets(&source.path));
        let mut hidden: Vec<String> = secrets
            .flat_map(|secret| [Some(escaped(&secret)), last_word(&secret), Some(secret)])
            .flatten()
            .collect();
        // The longest first: a shorter one may be a part of it.
        hidden.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        hidden.dedup();
        credentials.hidden = hidden;
        Ok(credentials)
    }
}

fn wrong_secret(source: &Source, file: &str, path: &Path, why: &str) -> Error {
    let header = source.header_files.iter().find(|(_, other)| *other == file);
    let place = header.map_or_else(|| "path".to_owned(), |(name, _)| format!("header `{name}`"));
    Error::invalid(format!("source `{}`, {place}, {}: {why}", source.name, path.display()))
}

/// A secret as it stands in a URL.
fn escaped(secret: &str) -> String {
    let mut text = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
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
        mode: Mode::Windowed,
        kind: Kind::Count,
        readers: Readers::Everyone,
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

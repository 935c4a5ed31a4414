//! How settings get their values: flag, else environment, else file, else default.
//!
//! A setting has one name in four spellings, all made from its key: `http.listen` in the file is
//! `NAGAYA_HTTP_LISTEN` in the environment and `--http-listen` on the command line. Every layer is
//! read whole and every value checked, also one that a higher layer overrides; what is wrong is
//! told all at once, before anything is opened.

mod file;
mod invalid;
mod japanese;
pub(crate) mod names;
pub(crate) mod show;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use base::options::{Form, Section, Setting};
pub use invalid::Invalid;
use invalid::Problem;

/// Read from the working directory when no other file is named.
pub(crate) const FILE: &str = "nagaya.toml";

/// The options of every crate.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where the house listens.
    pub http: edge::Options,
    /// What bounds its streams.
    pub stream: edge::StreamOptions,
    /// Who looks after it.
    pub operator: edge::OperatorOptions,
    /// What carries its pushes.
    pub hub: nats::Options,
    /// The mesh room.
    pub mesh: mesh::Options,
    /// The live room.
    pub live: live::Options,
    /// The collect room.
    pub collect: collect::Options,
    /// The score room.
    pub score: score::Options,
    /// The sns room.
    pub sns: sns::Options,
    /// Its DynamoDB endpoint.
    pub dynamodb: dynamodb::door::Options,
    /// Where its data is.
    pub store: table::Options,
    /// Where DynamoDB is, if its data is there.
    pub aws: dynamodb::client::Options,
    /// What it says about its work.
    pub log: crate::log::Options,
    /// Where its traces go.
    pub otlp: edge::TraceOptions,
}

impl Settings {
    /// All sections, in the order in which they are shown.
    pub(crate) fn sections(&mut self) -> Vec<&mut dyn Section> {
        vec![
            &mut self.http,
            &mut self.stream,
            &mut self.operator,
            &mut self.hub,
            &mut self.mesh,
            &mut self.live,
            &mut self.collect,
            &mut self.score,
            &mut self.sns,
            &mut self.dynamodb,
            &mut self.store,
            &mut self.aws,
            &mut self.log,
            &mut self.otlp,
        ]
    }

    /// All settings of all sections.
    pub(crate) fn all(&mut self) -> Vec<Setting<'_>> {
        self.sections().into_iter().flat_map(Section::settings).collect()
    }
}

/// Settings, and where each value comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) settings: Settings,
    /// By key; a setting that is not here has its default.
    origins: BTreeMap<&'static str, Origin>,
}

/// What the layers above the defaults are read from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The file that was named on the command line.
    pub(crate) file: Option<PathBuf>,
    /// The whole environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Keys and texts from the command line, which only takes known ones.
    pub(crate) flags: Vec<(&'static str, String)>,
}

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Environment(String),
    Flag(String),
}

/// One value of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    key: &'static str,
    text: String,
    kind: Kind,
    origin: Origin,
}

/// How a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// As bare text, which may mean anything.
    Bare,
    /// In a file, where quotes matter.
    As(Form),
    /// In a file, as a list or a date.
    Unfit,
}

impl Config {
    /// Reads and checks every layer.
    pub(crate) fn load(sources: &Sources) -> Result<Config, Invalid> {
        let mut config = Config::default();
        let mut problems = Vec::new();
        let keys: Vec<&'static str> =
            config.settings.all().iter().map(|setting| setting.key).collect();
        let mut given = Vec::new();
        if let Some(path) = file_of(sources) {
            given.extend(file::read(&path, &keys, &mut problems));
        }
        given.extend(read_environment(&sources.environment, &keys, &mut problems));
        given.extend(sources.flags.iter().map(|(key, text)| Given {
            key,
            text: text.clone(),
            kind: Kind::Bare,
            origin: Origin::Flag(names::flag(key)),
        }));
        for value in given {
            problems.extend(config.set(value).err());
        }
        if problems.is_empty() { Ok(config) } else { Err(Invalid { problems }) }
    }

    pub(crate) fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }

    /// The same for a demonstration whose data is in `path`: how it is reached and what it logs are
    /// as they were set, and everything by which it could reach real data has its default.
    pub(crate) fn for_demo(&self, path: &Path) -> Config {
        const KEPT: [&str; 5] = ["http.", "stream.", "operator.", "dynamodb.", "log."];
        let Settings { http, stream, operator, dynamodb, log, .. } = self.settings.clone();
        let store = table::Options { path: path.to_owned(), ..table::Options::default() };
        let settings =
            Settings { http, stream, operator, dynamodb, log, store, ..Settings::default() };
        let is_kept = |key: &&str| KEPT.iter().any(|section| key.starts_with(section));
        let origins = self.origins.iter().filter(|(key, _)| is_kept(key));
        let mut origins: BTreeMap<_, _> =
            origins.map(|(key, origin)| (*key, origin.clone())).collect();
        origins.insert("store.path", Origin::Flag("--demo".to_owned()));
        Config { settings, origins }
    }

    fn set(&mut self, given: Given) -> Result<(), Problem> {
        let mut settings = self.settings.all();
        let setting = settings.iter_mut().find(|setting| setting.key == given.key);
        let setting = setting.expect("layers give only known keys");
        let form = setting.value.form();
        let read = match given.kind {
            Kind::Bare => setting.read(&given.text),
            Kind::As(written) if written == form => setting.read(&given.text),
            Kind::As(_) | Kind::Unfit => match form {
                Form::Text => Err(format!("{}, in quotes", setting.expected())),
                Form::Number | Form::Bool => Err(format!("{}, without quotes", setting.expected())),
            },
        };
        match read {
            Ok(()) => {
                self.origins.insert(given.key, given.origin);
                Ok(())
            }
            Err(expected) => Err(Problem::Wrong {
                key: given.key,
                text: given.text,
                origin: given.origin,
                expected,
            }),
        }
    }
}

/// The file that was named, by flag or environment, or the usual one if it is there.
fn file_of(sources: &Sources) -> Option<PathBuf> {
    let named = |(name, _): &&(OsString, OsString)| name == names::CONFIG_VARIABLE;
    let by_environment = || sources.environment.iter().find(named).map(|(_, path)| path.into());
    let usual = || Path::new(FILE).exists().then(|| PathBuf::from(FILE));
    sources.file.clone().or_else(by_environment).or_else(usual)
}

fn read_environment(
    environment: &[(OsString, OsString)],
    keys: &[&'static str],
    problems: &mut Vec<Problem>,
) -> Vec<Given> {
    let mut given = Vec::new();
    let elsewhere = |name: &OsString| names::key_elsewhere(&name.to_string_lossy());
    let (mut theirs, ours): (Vec<_>, Vec<_>) =
        environment.iter().partition(|(name, _)| elsewhere(name).is_some());
    theirs.sort_by_key(|(name, _)| names::rank(&name.to_string_lossy()));
    // Our own names count more than those of others, so they are read last.
    for (name, value) in theirs.into_iter().chain(ours) {
        let key = elsewhere(name);
        let name = name.to_string_lossy();
        if key.is_none() && (!name.starts_with(names::PREFIX) || name == names::CONFIG_VARIABLE) {
            continue;
        }
        let origin = Origin::Environment(name.clone().into_owned());
        let by_name = || keys.iter().copied().find(|key| names::variable(key) == name);
        match (key.or_else(by_name), value.to_str()) {
            (Some(key), Some(text)) => {
                given.push(Given { key, text: text.to_owned(), kind: Kind::Bare, origin });
            }
            (Some(key), None) => problems.push(Problem::Wrong {
                key,
                text: value.to_string_lossy().into_owned(),
                origin,
                expected: "text in UTF-8".to_owned(),
            }),
            (None, _) => {
                let known = keys.iter().map(|key| names::variable(key));
                let known = known.chain([names::CONFIG_VARIABLE.to_owned()]);
                problems.push(Problem::unknown(
                    &name,
                    Origin::Environment("environment".to_owned()),
                    known,
                ));
            }
        }
    }
    given
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => write!(f, "default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment(name) => write!(f, "{name}"),
            Origin::Flag(name) => write!(f, "{name}"),
        }
    }
}

#[cfg(test)]
mod tests;

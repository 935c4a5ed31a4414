//! What the program says about its work, on standard error; on a terminal of people as short lines
//! above the box (`screen.rs`).

use std::fmt;
use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

use base::hide_passwords;
use base::options::{Form, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::fmt::Layer as Written;
use tracing_subscriber::fmt::format::{DefaultFields, Format as LineFormat};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, reload};

use crate::screen::{Request, Screen};

base::options! {
    /// What the house says about its work, on standard error.
    pub struct Options in "log" {
        /// How much: `off`, `error`, `warn`, `info`, `debug` or `trace`, also for single crates, as
        /// in `info,table=debug`.
        pub level: Level = Level::default();
        /// `text` for people, `json` for programs. Where a terminal shows the log, `text` is a
        /// short line for whatever happens, `json` the same as everywhere. Elsewhere lines about
        /// requests are always JSON; the level `info,access=off` leaves them out.
        pub format: Format = Format::Text;
    }
}

const WORDS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// What is worth saying.
#[derive(Clone, Debug)]
pub struct Level {
    /// As it was given, because a filter does not tell.
    text: String,
    targets: Targets,
}

base::choice! {
    /// How a line is written.
    pub enum Format {
        /// For people.
        Text = "text",
        /// For programs: one JSON object a line.
        Json = "json",
    }
}

/// Under this name the wire tells of every request.
const ACCESS: &str = "access";

/// How much the log of this process says. Nothing where another program's log was first.
static LEVEL: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Says more or less from now on. False if the text is no level, or the log is not ours.
pub(crate) fn change_level(text: &str) -> bool {
    let mut level = Level::default();
    level.read(text) && LEVEL.get().is_some_and(|handle| handle.reload(level.targets).is_ok())
}

/// Begins to log, panics too, on the screen if there is one. Only the first call of a process does
/// anything.
pub(crate) fn start(options: &Options, screen: Option<Screen>) {
    let (level, handle) = reload::Layer::new(options.level.targets.clone());
    let started = match screen {
        Some(screen) => {
            let registry = tracing_subscriber::registry().with(level);
            registry.with(OnScreen { screen }).try_init().is_ok()
        }
        None => start_lines(options, level),
    };
    // Losing to an earlier subscriber is what a process with many houses wants.
    if started {
        let _is_first = LEVEL.set(handle);
        std::panic::set_hook(Box::new(log_panic));
    }
}

fn start_lines(options: &Options, level: reload::Layer<Targets, Registry>) -> bool {
    // What is known of a request stands in its line: the spans around it would only repeat it.
    let access = lines().json().flatten_event(true).with_current_span(false).with_span_list(false);
    let registry = tracing_subscriber::registry()
        .with(level)
        .with(access.with_filter(filter_fn(|about| about.target() == ACCESS)));
    let other = filter_fn(|about| about.target() != ACCESS);
    let started = match options.format {
        Format::Text => registry.with(lines().with_filter(other)).try_init(),
        Format::Json => registry.with(lines().json().with_filter(other)).try_init(),
    };
    started.is_ok()
}

/// The log as people read it on a terminal.
struct OnScreen {
    screen: Screen,
}

impl<S: Subscriber> Layer<S> for OnScreen {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let about = event.metadata();
        match about.target() {
            ACCESS => self.screen.request(&fields.request()),
            _ => self.screen.log(*about.level(), &hide_passwords(&fields.sentence())),
        }
    }
}

/// What one event says.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, String)>,
}

impl Fields {
    /// `the message (field: value, another: value)`
    fn sentence(&self) -> String {
        let others = self.others.iter().map(|(name, text)| format!("{name}: {text}"));
        let others: Vec<String> = others.collect();
        match others.is_empty() {
            true => self.message.clone(),
            false => format!("{} ({})", self.message, others.join(", ")),
        }
    }

    /// The request that an event of the wire tells of.
    fn request(&self) -> Request {
        let find = |wanted: &str| {
            let found = self.others.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, text)| text.as_str()).unwrap_or_default()
        };
        Request {
            method: find("method").to_owned(),
            path: find("path").to_owned(),
            status: find("status").parse().ok(),
            ms: find("ms").parse().unwrap_or_default(),
            user_agent: find("user_agent").to_owned(),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            name => self.others.push((name, text)),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        // Without the quotation marks of its debug form.
        self.record_debug(field, &format_args!("{value}"));
    }
}

/// Lines on standard error, for whichever subscriber.
fn lines<S>() -> Written<S, DefaultFields, LineFormat, fn() -> Lines> {
    Written::default().with_writer((|| Lines) as fn() -> Lines).with_ansi(false)
}

/// Standard error, without the passwords of URLs: errors of libraries may name the address that
/// they were given.
struct Lines;

impl Write for Lines {
    /// A line comes in one piece.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut errors = io::stderr().lock();
        match std::str::from_utf8(line) {
            Ok(text) => errors.write_all(hide_passwords(text).as_bytes())?,
            Err(_) => errors.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Tells of a panic once, where it happens, within the request or the work that it ends. Whoever
/// catches it has no need to.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(panic = message, place, "panicked");
}

impl Default for Level {
    fn default() -> Level {
        let targets = Targets::new().with_default(tracing::Level::INFO);
        Level { text: "info".to_owned(), targets }
    }
}

impl Value for Level {
    fn read(&mut self, text: &str) -> bool {
        match text.parse() {
            Ok(targets) if text.split(',').all(is_directive) => {
                *self = Level { text: text.to_owned(), targets };
                true
            }
            Ok(_) | Err(_) => false,
        }
    }

    fn write(&self) -> String {
        self.text.clone()
    }

    fn expected(&self) -> String {
        format!("one of {}, or a list such as `info,table=debug`", WORDS.join(", "))
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

/// Stricter than the filter, which takes an unknown word for a crate whose every word is wanted.
fn is_directive(part: &str) -> bool {
    let in_name = |letter: char| letter.is_ascii_alphanumeric() || "_:".contains(letter);
    match part.split_once('=') {
        None => WORDS.contains(&part),
        Some((name, word)) => {
            !name.is_empty() && name.chars().all(in_name) && WORDS.contains(&word)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use base::options::Value;

    use super::{Level, log_panic};

    #[test]
    fn a_panic_is_one_line_with_its_place_in_the_span_that_it_ends() {
        let mut file = tempfile::tempfile().unwrap();
        let writer = file.try_clone().unwrap();
        let subscriber =
            tracing_subscriber::fmt().json().with_writer(std::sync::Mutex::new(writer)).finish();
        std::panic::set_hook(Box::new(log_panic));
        tracing::subscriber::with_default(subscriber, || {
            let _span = tracing::info_span!("request", trace_id = "7").entered();
            std::panic::catch_unwind(|| panic!("on purpose")).unwrap_err();
        });
        drop(std::panic::take_hook());
        let mut log = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut log).unwrap();
        assert_eq!(log.lines().count(), 1, "{log}");
        for part in ["on purpose", "log.rs:", r#""trace_id":"7""#, r#""level":"ERROR""#] {
            assert!(log.contains(part), "{part}: {log}");
        }
    }

    #[test]
    fn a_level_is_a_word_or_a_list_of_crates_and_words() {
        for good in ["warn", "off", "info,table=debug", "table=trace,edge=off"] {
            assert!(Level::default().read(good), "{good}");
        }
        for bad in [
            "",
            "loud",
            "info,table",
            "table=loud",
            "INFO",
            "info,",
            "=info",
            "info;table=debug",
            "7",
        ] {
            assert!(!Level::default().read(bad), "{bad}");
        }
    }
}

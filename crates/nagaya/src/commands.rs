//! The command line: one file for each command, and the flags that all of them share.

mod backup;
mod bench;
mod completions;
mod config;
mod doctor;
mod dynamodb;
mod examples;
mod healthcheck;
mod help;
mod key;
mod man;
mod migrate;
mod mock_api;
mod openapi;
mod operator;
pub(crate) mod progress;
mod score;
mod serve;
mod table;
mod tables;
mod tail;
mod top;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use base::hide_passwords;
use base::options::{Form, Setting};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::Error;
use crate::config::{Config, Settings, Sources, names};
use crate::error::Exit;
use crate::screen::Screen;
use crate::signals::Signals;

/// The bits of a file's mode that let others in: group and world.
const OTHERS: u32 = 0o077;

/// Runs the program with these arguments, of which the first is its name, and this environment.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> ExitCode {
    // Whatever a command writes is for its owner: data, exports, backups.
    rustix::process::umask(OTHERS.into());
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_held = arguments.iter().any(|word| word.to_str() == Some(HOLD_FLAG));
    let exit = begin(arguments, environment.into_iter().collect());
    // Neither mends itself, so a restart would only repeat it.
    if is_held && matches!(exit, Exit::Usage | Exit::Store) && wait_for_end().is_err() {
        return Exit::Failed.into();
    }
    exit.into()
}

/// The flag of `serve`, found also in a command line that cannot be read.
const HOLD_FLAG: &str = "--hold";

/// The flag for supervisors that start again whatever ends.
fn hold() -> Arg {
    Arg::new("hold")
        .long("hold")
        .action(ArgAction::SetTrue)
        .help("With a wrong setting or a damaged store, wait to be stopped instead of ending")
}

/// Waits for the signal to end, after a failure that a restart does not mend.
fn wait_for_end() -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    runtime.block_on(async {
        let mut signals = Signals::listen().map_err(Error::system("cannot listen for signals"))?;
        eprintln!("nagaya: a restart would not change that ({HOLD_FLAG}): it waits to be stopped");
        signals.next().await;
        Ok(())
    })
}

fn begin(arguments: Vec<OsString>, environment: Vec<(OsString, OsString)>) -> Exit {
    // Known, and shown nowhere.
    let program =
        program(Extent::All).mut_subcommand(serve::NAME, |serve| serve.arg(serve::test_clock()));
    let matches = match program.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(answer) => {
            // Help and version are answers, not failures; both come this way.
            let exit = if answer.use_stderr() { Exit::Usage } else { Exit::Done };
            return if answer.print().is_ok() { exit } else { Exit::Failed };
        }
    };
    match run_command(&matches, environment) {
        Ok(()) => Exit::Done,
        Err(error) => {
            eprintln!("nagaya: {}", hide_passwords(&error.to_string()));
            error.exit()
        }
    }
}

fn run_command(matches: &ArgMatches, environment: Vec<(OsString, OsString)>) -> Result<(), Error> {
    // Global flags are known at every level; the innermost has them all.
    let innermost = std::iter::successors(Some(matches), |matches| {
        matches.subcommand().map(|(_, inner)| inner)
    });
    let innermost = innermost.last().unwrap_or(matches);
    let screen = Screen::find(&environment);
    let load = || Config::load(&sources(innermost, environment));
    match matches.subcommand() {
        None => serve::run(&load()?, &serve::Purpose::default(), screen),
        Some((serve::NAME, matches)) => serve::run(&load()?, &serve::purpose(matches), screen),
        Some((config::NAME, matches)) => config::run(matches, load),
        Some((table::NAME, matches)) => table::run(matches, load),
        Some((tables::NAME, matches)) => tables::run(matches, load),
        Some((migrate::NAME, matches)) => migrate::run(matches, load),
        Some((backup::NAME, matches)) => backup::run(matches, load),
        Some((key::NAME, matches)) => key::run(matches, load),
        Some((operator::NAME, matches)) => operator::run(matches, load),
        Some((score::NAME, matches)) => score::run(matches, load),
        Some((mock_api::NAME, matches)) => mock_api::run(matches, &load()?),
        Some((doctor::NAME, matches)) => doctor::run(matches, load),
        Some((healthcheck::NAME, matches)) => healthcheck::run(matches, &load()?),
        Some((tail::NAME, matches)) => tail::run(matches, load),
        Some((top::NAME, matches)) => top::run(matches, load),
        Some((bench::NAME, matches)) => bench::run(matches, load),
        Some((openapi::NAME, matches)) => openapi::run(matches, load),
        Some((dynamodb::NAME, matches)) => dynamodb::run(matches, &load()?),
        Some((help::NAME, matches)) => help::run(matches),
        Some((completions::NAME, matches)) => completions::run(matches),
        Some((man::NAME, matches)) => man::run(matches),
        Some((name, _)) => unreachable!("the parser knows no command `{name}`"),
    }
}

/// Which settings a command line has as flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Those that people change: what shells complete and the manual explains.
    Common,
    All,
}

impl Extent {
    const ALL_FLAG: &'static str = "all";

    /// The flag by which a command that describes the command line takes all of it.
    fn flag() -> Arg {
        let flag = Arg::new(Extent::ALL_FLAG).long(Extent::ALL_FLAG).action(ArgAction::SetTrue);
        flag.help("With every setting, not only those that people change")
    }

    fn of(matches: &ArgMatches) -> Extent {
        if matches.get_flag(Extent::ALL_FLAG) { Extent::All } else { Extent::Common }
    }

    fn has(self, key: &str) -> bool {
        self == Extent::All || help::find_short(key).is_some()
    }
}

/// The command line.
fn program(extent: Extent) -> Command {
    let mut settings = Settings::default();
    let mut settings = settings.all();
    settings.retain(|setting| extent.has(setting.key));
    let flags: Vec<Arg> = settings.iter().map(flag_of).collect();
    let file = Arg::new(CONFIG)
        .long(CONFIG)
        .global(true)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(format!("The settings' file [env: {}]", names::CONFIG_VARIABLE));
    let program = Command::new("nagaya")
        .version(env!("CARGO_PKG_VERSION"))
        .about("One server with five realtime backends. Without a command it serves.")
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .args(help::flags())
        .arg(file)
        .args(flags.iter().cloned())
        .subcommand(serve::command());
    // Whatever is given is understood everywhere, but a house that serves is where it is explained.
    let quiet = flags.into_iter().map(|flag| flag.hide_short_help(true).hide_long_help(true));
    let quiet: Vec<Arg> = quiet.chain([help::hidden_flag()]).collect();
    let others = [
        config::command(),
        table::command(),
        tables::command(),
        migrate::command(),
        backup::command(),
        key::command(),
        operator::command(),
        score::command(),
        mock_api::command(),
        doctor::command(),
        healthcheck::command(),
        tail::command(),
        top::command(),
        bench::command(),
        openapi::command(),
        dynamodb::command(),
        completions::command(),
        man::command(),
        help::command(),
    ];
    let others = others.into_iter().map(|command| command.args(quiet.iter().cloned()));
    examples::teach(program.subcommands(others), &exit_codes())
}

const CONFIG: &str = "config";

fn flag_of(setting: &Setting<'_>) -> Arg {
    let doc: Vec<&str> = setting.doc.lines().map(str::trim).collect();
    let (doc, short) = (doc.join(" "), help::find_short(setting.key));
    let (default, variable) = (setting.write(), names::variable(setting.key));
    Arg::new(setting.key)
        .long(names::long(setting.key))
        .aliases(names::short(setting.key))
        .global(true)
        .hide_short_help(short.is_none())
        .help_heading("Settings")
        .value_name(match setting.value.form() {
            Form::Text => "TEXT",
            Form::Number => "NUMBER",
            Form::Bool => "BOOL",
        })
        .help(short.map_or_else(|| doc.clone(), str::to_owned))
        .long_help(format!("{doc}\n[default: {default}] [env: {variable}]"))
}

fn sources(matches: &ArgMatches, environment: Vec<(OsString, OsString)>) -> Sources {
    let keys: Vec<&'static str> =
        Settings::default().all().iter().map(|setting| setting.key).collect();
    let flag = |key| Some((key, matches.get_one::<String>(key)?.clone()));
    Sources {
        file: matches.get_one::<PathBuf>(CONFIG).cloned(),
        environment,
        flags: keys.into_iter().filter_map(flag).collect(),
    }
}

fn exit_codes() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {}  {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", lines.join("\n"))
}

const JSON: &str = "json";

/// The flag that makes an answer one for programs.
fn as_json() -> Arg {
    Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help("Print JSON, a line for each thing")
}

/// The same for a command that has no other form.
fn already_json() -> Arg {
    as_json().help("Print JSON, as it always does")
}

fn is_json(matches: &ArgMatches) -> bool {
    matches.get_flag(JSON)
}

/// Writes a command's answer.
fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Error::system("cannot write to standard output"))
}

/// `1 item`, `2 items`.
pub(crate) fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

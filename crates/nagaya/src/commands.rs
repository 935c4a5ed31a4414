//! The command line: one file for each command, and the flags that all of them share.

mod backup;
mod bench;
mod completions;
mod config;
mod doctor;
mod dynamodb;
mod examples;
mod healthcheck;
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

/// The bits of a file's mode that let others in: group and world.
const OTHERS: u32 = 0o077;

/// Runs the program with these arguments, of which the first is its name, and this environment.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> ExitCode {
    // Whatever a command writes is for its owner: data, exports, backups.
    rustix::process::umask(OTHERS.into());
    // Known, and shown nowhere.
    let program = program().mut_subcommand(serve::NAME, |serve| serve.arg(serve::test_clock()));
    let matches = match program.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(answer) => {
            // Help and version are answers, not failures; both come this way.
            let exit = if answer.use_stderr() { Exit::Usage } else { Exit::Done };
            return if answer.print().is_ok() { exit.into() } else { Exit::Failed.into() };
        }
    };
    match run_command(&matches, environment.into_iter().collect()) {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            eprintln!("nagaya: {}", hide_passwords(&error.to_string()));
            error.exit().into()
        }
    }
}

fn run_command(matches: &ArgMatches, environment: Vec<(OsString, OsString)>) -> Result<(), Error> {
    // Global flags are known at every level; the innermost has them all.
    let innermost = std::iter::successors(Some(matches), |matches| {
        matches.subcommand().map(|(_, inner)| inner)
    });
    let innermost = innermost.last().unwrap_or(matches);
    let load = || Config::load(&sources(innermost, environment));
    match matches.subcommand() {
        None => serve::run(&load()?, serve::Purpose::default()),
        Some((serve::NAME, matches)) => serve::run(&load()?, serve::purpose(matches)),
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
        Some((completions::NAME, matches)) => completions::run(matches),
        Some((man::NAME, matches)) => man::run(matches),
        Some((name, _)) => unreachable!("the parser knows no command `{name}`"),
    }
}

/// The whole command line.
fn program() -> Command {
    let mut settings = Settings::default();
    let flags: Vec<Arg> = settings.all().iter().map(flag_of).collect();
    let file = Arg::new(CONFIG)
        .long(CONFIG)
        .global(true)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(format!("The settings' file [env: {}]", names::CONFIG_VARIABLE));
    let program = Command::new("nagaya")
        .version(env!("CARGO_PKG_VERSION"))
        .about("One server with five realtime backends. Without a command it serves.")
        .arg(file)
        .args(flags.iter().cloned())
        .subcommand(serve::command());
    // Whatever is given is understood everywhere, but a house that serves is where it is explained.
    let quiet: Vec<Arg> = flags.into_iter().map(|flag| flag.hide_long_help(true)).collect();
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
    ];
    let others = others.into_iter().map(|command| command.args(quiet.iter().cloned()));
    examples::teach(program.subcommands(others), &exit_codes())
}

const CONFIG: &str = "config";

fn flag_of(setting: &Setting<'_>) -> Arg {
    let doc: Vec<&str> = setting.doc.lines().map(str::trim).collect();
    let (default, variable) = (setting.write(), names::variable(setting.key));
    Arg::new(setting.key)
        .long(names::long(setting.key))
        .visible_aliases(names::short(setting.key))
        .global(true)
        .hide_short_help(true)
        .help_heading("Settings")
        .value_name(match setting.value.form() {
            Form::Text => "TEXT",
            Form::Number => "NUMBER",
            Form::Bool => "BOOL",
        })
        .help(format!("{}\n[default: {default}] [env: {variable}]", doc.join(" ")))
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

//! `nagaya migrate`: a closed house from one backend to the other.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks};
use clap::{Arg, ArgMatches, Command};
use table::{Backend, Embedded, Tables};

use super::{counted, print};
use crate::config::{Config, Invalid};
use crate::house::declared_tables;
use crate::migrate::{AtTarget, Compared, Migration, Progress};
use crate::store::Store;
use crate::{Error, Settings};

pub(super) const NAME: &str = "migrate";

const PLAN: &str = "plan";
const APPLY: &str = "apply";
const VERIFY: &str = "verify";
const TO: &str = "to";

/// The store's tasks only finish a step.
const TASKS_STOP: Duration = Duration::from_secs(10);

pub(super) fn command() -> Command {
    let to = || {
        Arg::new(TO)
            .long(TO)
            .required(true)
            .value_name("BACKEND")
            .value_parser(["dynamodb", "embedded"])
            .help("Where the house goes; it comes from the other")
    };
    Command::new(NAME)
        .about("Copy a closed house between `store.path` and DynamoDB")
        .subcommand_required(true)
        .subcommand(Command::new(PLAN).about("Say what would be copied").arg(to()))
        .subcommand(Command::new(APPLY).about("Copy, or go on with a copy").arg(to()))
        .subcommand(Command::new(VERIFY).about("Compare both by counts and checksums").arg(to()))
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let (verb, matches) = matches.subcommand().expect("the parser requires a command");
    let to = matches.get_one::<String>(TO).expect("the parser requires it");
    let settings = load()?.settings;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    runtime.block_on(migrate(&settings, verb, to == "dynamodb"))
}

async fn migrate(settings: &Settings, verb: &str, to_dynamodb: bool) -> Result<(), Error> {
    let on = |backend| {
        let mut settings = settings.clone();
        settings.store.backend = backend;
        settings
    };
    let path = &settings.store.path;
    if (to_dynamodb || verb != APPLY) && !Embedded::is_at(path) {
        return Err(Error::NoHouse(path.clone()));
    }
    Store::check(&on(Backend::DynamoDb))?;
    let (clock, random, tasks) = (Clock::real(), Random::from_os(), Tasks::new());
    let remote = Store::open(&on(Backend::DynamoDb), &clock, &random, &tasks).await?;
    let local = Store::open(&on(Backend::Embedded), &clock, &random, &tasks).await?;
    let sides: (Arc<dyn Tables>, Arc<dyn Tables>) = match to_dynamodb {
        true => (local.tables(), remote.tables()),
        false => (remote.tables(), local.tables()),
    };
    let declared = declared_tables(settings).await?;
    let migration = Migration { source: sides.0, target: sides.1, declared, clock: clock.clone() };
    let done = match verb {
        PLAN => plan(&migration).await,
        APPLY => apply(&migration).await,
        VERIFY => verify(&migration).await,
        other => unreachable!("the parser knows no command `{other}`"),
    };
    let stopped = tasks.finish(&clock, TASKS_STOP).await.map_err(Error::Tasks);
    let closed = local.engine().map_or(Ok(()), Embedded::close);
    done.and(stopped).and(closed.map_err(Error::Store))
}

async fn plan(migration: &Migration) -> Result<(), Error> {
    let planned = migration.plan().await?;
    let width = planned.iter().map(|planned| planned.table.len()).max().unwrap_or_default();
    for planned in &planned {
        let there = match planned.at_target {
            AtTarget::Nothing => "nothing there yet".to_owned(),
            AtTarget::Begun(items) => format!("begun: {} there", counted(items, "item")),
            AtTarget::Copied(items) => format!("copied: {} there", counted(items, "item")),
            AtTarget::Items => "holds items: `apply` will refuse".to_owned(),
        };
        let (items, bytes) = (counted(planned.items, "item"), counted(planned.bytes, "byte"));
        print(&format!("{:width$}  {items}, {bytes}; {there}\n", planned.table))?;
    }
    let items: u64 = planned.iter().map(|planned| planned.items).sum();
    let (tables, items) = (counted(planned.len(), "table"), counted(items, "item"));
    print(&format!("to copy: {tables} with {items}\n"))
}

async fn apply(migration: &Migration) -> Result<(), Error> {
    let is_terminal = std::io::stderr().is_terminal();
    let (mut tables, mut all) = (0_u64, 0);
    let mut heard = |progress: Progress| {
        let Progress { table, items, is_done, is_resumed } = progress;
        if is_done {
            (tables, all) = (tables + 1, all + items);
            let resumed = if is_resumed { ", some of them earlier" } else { "" };
            let clear = if is_terminal { "\r\x1b[K" } else { "" };
            return note(&format!("{clear}{table}: {}{resumed}\n", counted(items, "item")));
        }
        match is_terminal {
            true => note(&format!("\r\x1b[K{table}: {} so far", counted(items, "item"))),
            false => Ok(()),
        }
    };
    migration.apply(&mut heard).await?;
    let (tables, items) = (counted(tables, "table"), counted(all, "item"));
    print(&format!("copied {tables} with {items}\n"))
}

async fn verify(migration: &Migration) -> Result<(), Error> {
    let compared = migration.verify().await?;
    let width = compared.iter().map(|compared| compared.table.len()).max().unwrap_or_default();
    let mut differing = 0;
    for Compared { table, source, target } in &compared {
        let (items, sum) = (counted(source.items, "item"), source.sum);
        let said = match source == target {
            true => format!("{items}, {sum:032x}"),
            false => {
                differing += 1;
                let there = counted(target.items, "item");
                format!("{items}, {sum:032x}; there {there}, {:032x}: DIFFERENT", target.sum)
            }
        };
        print(&format!("{table:width$}  {said}\n"))?;
    }
    match differing {
        0 => print(&format!("{} the same on both sides\n", counted(compared.len(), "table"))),
        differing => Err(Error::Differs(differing)),
    }
}

/// Tells how far it is, beside the answer.
fn note(text: &str) -> Result<(), Error> {
    let mut out = std::io::stderr().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Error::system("cannot write to standard error"))
}

//! `nagaya migrate`: a closed house from one backend to the other.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks};
use clap::{Arg, ArgMatches, Command};
use serde_json::json;
use table::{Backend, Embedded, Tables};

use super::progress::Progress as Line;
use super::{as_json, counted, is_json, print};
use crate::config::{Config, Invalid};
use crate::house::declared_tables;
use crate::migrate::{AtTarget, Checksum, Compared, Migration, Planned, Progress};
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
        .subcommand(Command::new(PLAN).about("Say what would be copied").arg(to()).arg(as_json()))
        .subcommand(Command::new(APPLY).about("Copy, or go on with a copy").arg(to()))
        .subcommand(
            Command::new(VERIFY)
                .about("Compare both by counts and checksums")
                .arg(to())
                .arg(as_json()),
        )
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
    let as_json = verb != APPLY && is_json(matches);
    runtime.block_on(migrate(&settings, verb, to == "dynamodb", as_json))
}

async fn migrate(
    settings: &Settings,
    verb: &str,
    to_dynamodb: bool,
    as_json: bool,
) -> Result<(), Error> {
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
        PLAN => plan(&migration, as_json).await,
        APPLY => apply(&migration).await,
        VERIFY => verify(&migration, as_json).await,
        other => unreachable!("the parser knows no command `{other}`"),
    };
    let stopped = tasks.finish(&clock, TASKS_STOP).await.map_err(Error::Tasks);
    let closed = local.engine().map_or(Ok(()), Embedded::close);
    done.and(stopped).and(closed.map_err(Error::Store))
}

async fn plan(migration: &Migration, as_json: bool) -> Result<(), Error> {
    let planned = migration.plan().await?;
    if as_json {
        return planned.iter().try_for_each(|planned| {
            let Planned { table, items, bytes, at_target } = planned;
            let (there, already) = match at_target {
                AtTarget::Nothing => ("nothing", None),
                AtTarget::Begun(items) => ("begun", Some(items)),
                AtTarget::Copied(items) => ("copied", Some(items)),
                AtTarget::Items => ("occupied", None),
            };
            let told = json!({
                "table": table, "items": items, "bytes": bytes, "there": there, "copied": already,
            });
            print(&format!("{told}\n"))
        });
    }
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
    let line = Line::begin("copying");
    let (mut tables, mut all) = (0_u64, 0);
    let mut heard = |progress: Progress| {
        let Progress { table, items, is_done, is_resumed } = progress;
        if is_done {
            (tables, all) = (tables + 1, all + items);
            let resumed = if is_resumed { ", some of them earlier" } else { "" };
            return line.note(&format!("{table}: {}{resumed}", counted(items, "item")));
        }
        line.turn_to(format!("copying {table}: {} so far", counted(items, "item")));
        Ok(())
    };
    migration.apply(&mut heard).await?;
    drop(line);
    let (tables, items) = (counted(tables, "table"), counted(all, "item"));
    print(&format!("copied {tables} with {items}\n"))
}

async fn verify(migration: &Migration, as_json: bool) -> Result<(), Error> {
    let line = Line::begin("comparing");
    let compared =
        migration.verify(&mut |table| line.turn_to(format!("comparing {table}"))).await?;
    drop(line);
    let width = compared.iter().map(|compared| compared.table.len()).max().unwrap_or_default();
    let differing = compared.iter().filter(|table| table.source != table.target).count();
    for compared in &compared {
        let told = if as_json { compared_json(compared) } else { compared_line(compared, width) };
        print(&format!("{told}\n"))?;
    }
    match differing {
        0 if as_json => Ok(()),
        0 => print(&format!("{} the same on both sides\n", counted(compared.len(), "table"))),
        differing => Err(Error::Differs(differing)),
    }
}

fn compared_line(Compared { table, source, target }: &Compared, width: usize) -> String {
    let (items, sum) = (counted(source.items, "item"), source.sum);
    if source == target {
        return format!("{table:width$}  {items}, {sum:032x}");
    }
    let there = counted(target.items, "item");
    let target = target.sum;
    format!("{table:width$}  {items}, {sum:032x}; there {there}, {target:032x}: DIFFERENT")
}

fn compared_json(Compared { table, source, target }: &Compared) -> String {
    let side =
        |side: &Checksum| json!({ "items": side.items, "sum": format!("{:032x}", side.sum) });
    let (here, there) = (side(source), side(target));
    json!({ "table": table, "same": source == target, "source": here, "target": there }).to_string()
}

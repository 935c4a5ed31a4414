//! `nagaya backup`: copies of a house, and its past.
//!
//! Only making one needs the store. The others work on files, so they also work on a house that is
//! open, and on one that is too damaged to open.

use std::path::{Path, PathBuf};

use base::{Clock, Timestamp};
use clap::{Arg, ArgMatches, Command, value_parser};
use serde_json::json;
use table::{Backup, Embedded, Restored};

use super::progress::Progress;
use super::{as_json, counted, is_json, print};
use crate::Error;
use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::{Request, listed};

pub(super) const NAME: &str = "backup";

const ID: &str = "id";
const AT: &str = "at";
const TO: &str = "to";
const DAYS: &str = "days";

pub(super) fn command() -> Command {
    let id = || {
        Arg::new(ID)
            .value_name("BACKUP")
            .help("The backup's name, or the path of a copy, with a `/` in it")
    };
    let at =
        Arg::new(AT).long(AT).value_name("TIME").value_parser(instant).help(
            "As it was at this instant, such as 2026-04-01T09:30:00Z [default: as it is now]",
        );
    let to = Arg::new(TO)
        .long(TO)
        .required(true)
        .value_name("DIRECTORY")
        .value_parser(value_parser!(PathBuf))
        .help("Where to; nothing may be there yet");
    let restore = Command::new("restore")
        .about("Restore a backup, or the house's own past, into a new directory")
        .arg(id())
        .arg(at)
        .arg(to);
    let delete = Command::new("delete").about("Delete backups of the house").arg(
        Arg::new(ID)
            .value_name("BACKUP")
            .required(true)
            .num_args(1..)
            .help("The names of the backups; copies elsewhere are yours to delete"),
    );
    let days = Arg::new(DAYS)
        .long(DAYS)
        .value_name("DAYS")
        .value_parser(value_parser!(u64).range(1..=36_500))
        .help("Those older than so many days [default: store.backup_days]");
    let prune = Command::new("prune")
        .about("Delete backups that are older than they are kept, but never the newest")
        .arg(days)
        .arg(as_json());
    Command::new(NAME)
        .about("Make, list, verify, restore and delete backups")
        .subcommand_required(true)
        .subcommand(Command::new("create").about("Make a backup and print its name"))
        .subcommand(Command::new("list").about("List the backups, oldest first").arg(as_json()))
        .subcommand(
            Command::new("verify")
                .about("Read all of a backup, restore it on trial, and check that")
                .arg(id().required(true))
                .arg(as_json()),
        )
        .subcommand(restore)
        .subcommand(delete)
        .subcommand(prune)
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let (name, matches) = matches.subcommand().expect("the parser requires a command");
    let settings = load()?.settings;
    if settings.store.backend == table::Backend::DynamoDb {
        return Err(Error::EmbeddedOnly("a backup"));
    }
    let store = &settings.store;
    match name {
        "create" => {
            let mut terminal = Terminal::standard().working("making a backup");
            control::ask(&settings, Request::CreateBackup, None, &mut terminal)
        }
        "list" => list(&store.path, is_json(matches)),
        "verify" => {
            let id = matches.get_one::<String>(ID).expect("the parser requires it");
            verify(&store.path, id, is_json(matches))
        }
        "restore" => {
            let id = matches.get_one::<String>(ID).map(String::as_str);
            let to = matches.get_one::<PathBuf>(TO).expect("the parser requires it");
            restore(&store.path, id, matches.get_one::<Timestamp>(AT).copied(), to)
        }
        "delete" => {
            let ids = matches.get_many::<String>(ID).expect("the parser requires it");
            delete(&store.path, &ids.map(String::as_str).collect::<Vec<_>>())
        }
        "prune" => {
            let days = matches.get_one::<u64>(DAYS).copied().unwrap_or(store.backup_days);
            prune(&store.path, days, is_json(matches))
        }
        other => unreachable!("the parser knows no command `{other}`"),
    }
}

fn instant(text: &str) -> Result<Timestamp, base::Error> {
    text.parse()
}

fn list(house: &Path, as_json: bool) -> Result<(), Error> {
    let titles = ["backup", "created", "changes", "bytes"].map(str::to_owned);
    let mut rows = vec![titles];
    for backup in backups_of(house)? {
        let created = Timestamp::from_millis(backup.created_ms).to_string();
        let (changes, bytes) = (backup.last_change.to_string(), backup.bytes().to_string());
        rows.push([backup.id, created, changes, bytes]);
    }
    let lines: String = listed(&rows, as_json).iter().map(|line| format!("{line}\n")).collect();
    print(&lines)
}

fn verify(house: &Path, id: &str, as_json: bool) -> Result<(), Error> {
    let backup = find(house, id)?;
    let progress = Progress::begin(format!("verifying {}", backup.id));
    let verified = table::verify(&backup.path);
    drop(progress);
    if let (Err(error), true) = (&verified, as_json) {
        let told = json!({ "backup": backup.id, "whole": false, "reason": error.to_string() });
        print(&format!("{told}\n"))?;
    }
    let restored = verified?;
    if as_json {
        let Restored { last_change, tables, items } = restored;
        let backup = backup.id;
        let told = json!({
            "backup": backup, "whole": true, "tables": tables, "items": items, "changes": last_change,
        });
        return print(&format!("{told}\n"));
    }
    print(&format!("{} is whole: {}\n", backup.id, spoken(&restored)))
}

fn restore(house: &Path, id: Option<&str>, at: Option<Timestamp>, to: &Path) -> Result<(), Error> {
    if let Some(at) = at.filter(|at| *at > Clock::real().now()) {
        return Err(Error::Usage(format!("--at: {at} has not come yet")));
    }
    let source = match id.map(|id| find(house, id)).transpose()? {
        None => house_at(house)?.to_owned(),
        Some(backup) => {
            let created = Timestamp::from_millis(backup.created_ms);
            if let Some(at) = at.filter(|at| *at > created) {
                let id = backup.id;
                return Err(Error::Usage(format!("--at: {at} is after {id} was made, {created}")));
            }
            backup.path
        }
    };
    let progress = Progress::begin(format!("restoring into {}", to.display()));
    let restored = table::restore(&source, at.map(Timestamp::millis), to)?;
    drop(progress);
    let to = to.display();
    print(&format!("restored {} into {to}\n", spoken(&restored)))
}

/// Deletes all of them, or none if one is not there.
fn delete(house: &Path, ids: &[&str]) -> Result<(), Error> {
    let house = house_at(house)?;
    let existing = table::list_backup_names(house);
    if let Some(none) = ids.iter().find(|id| !existing.iter().any(|name| name == *id)) {
        return Err(Error::NoSuchBackup { id: (*none).to_owned(), existing });
    }
    for id in ids {
        table::delete_backup(house, id)?;
        eprintln!("deleted {id}");
    }
    Ok(())
}

fn prune(house: &Path, days: u64, as_json: bool) -> Result<(), Error> {
    let house = house_at(house)?;
    let pruned = match days {
        // Backups that are kept for good.
        0 => Vec::new(),
        days => table::prune_backups(house, days, Clock::real().now())?,
    };
    let line = |backup: &Backup| match as_json {
        true => format!("{}\n", json!({ "backup": backup.id })),
        false => format!("{}\n", backup.id),
    };
    print(&pruned.iter().map(line).collect::<String>())?;
    match days {
        0 => eprintln!("store.backup_days is 0: backups are kept for good"),
        days => {
            let (pruned, days) = (counted(pruned.len(), "backup"), counted(days, "day"));
            eprintln!("deleted {pruned} older than {days}");
        }
    }
    Ok(())
}

fn spoken(restored: &Restored) -> String {
    let Restored { last_change, tables, items } = restored;
    let (tables, items) = (counted(*tables, "table"), counted(*items, "item"));
    format!("{tables}, {items}, up to change {last_change}")
}

/// The backup of that name in the house, or the copy at that path.
fn find(house: &Path, id: &str) -> Result<Backup, Error> {
    if id.contains('/') {
        return Ok(Backup::read(Path::new(id))?);
    }
    let backups = backups_of(house)?;
    let existing = backups.iter().map(|backup| backup.id.clone()).collect();
    let found = backups.into_iter().find(|backup| backup.id == id);
    found.ok_or_else(|| Error::NoSuchBackup { id: id.to_owned(), existing })
}

fn backups_of(house: &Path) -> Result<Vec<Backup>, Error> {
    Ok(table::list_backups(house_at(house)?)?)
}

fn house_at(path: &Path) -> Result<&Path, Error> {
    if Embedded::is_at(path) { Ok(path) } else { Err(Error::NoHouse(path.to_owned())) }
}

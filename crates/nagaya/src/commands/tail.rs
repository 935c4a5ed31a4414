//! `nagaya tail`: what happens in the house that is open, as it happens.

use clap::{Arg, ArgMatches, Command};

use super::already_json;
use crate::Error;
use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::{Followed, Request};

pub(super) const NAME: &str = "tail";

const WHAT: &str = "what";
const TABLE: &str = "table";

pub(super) fn command() -> Command {
    let what = Arg::new(WHAT)
        .value_name("WHAT")
        .value_parser(["changes", "facts", "pushes", "requests"])
        .default_value("changes")
        .help("What is followed");
    let table = Arg::new(TABLE).long(TABLE).value_name("TABLE").help("Only changes of this table");
    Command::new(NAME)
        .about("Follow what happens in an open house, as lines of JSON")
        .long_about(
            "Follow what happens in an open house, as lines of JSON, until the \
             house ends or ^C: changes as they become durable, with table, kind and key; facts, \
             from the transaction that tells one to those of its effects; pushes, with channel, \
             topic and length; requests, when they are over.",
        )
        .arg(what)
        .arg(table)
        .arg(already_json())
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let table = matches.get_one::<String>(TABLE).cloned();
    let followed = match matches.get_one::<String>(WHAT).map(String::as_str) {
        Some("facts") => Followed::Facts,
        Some("pushes") => Followed::Pushes,
        Some("requests") => Followed::Requests,
        Some(_) | None => Followed::Changes(table.clone()),
    };
    if table.is_some() && !matches!(followed, Followed::Changes(_)) {
        return Err(Error::Usage("--table: only changes are of a table".to_owned()));
    }
    control::ask(&load()?.settings, Request::Tail(followed), None, &mut Terminal::standard())
}

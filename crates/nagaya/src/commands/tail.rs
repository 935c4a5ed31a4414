//! `nagaya tail`: every change of the house that is open, as it becomes durable.

use clap::{Arg, ArgMatches, Command};

use crate::Error;
use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::Request;

pub(super) const NAME: &str = "tail";

const TABLE: &str = "table";

pub(super) fn command() -> Command {
    let table = Arg::new(TABLE).long(TABLE).value_name("TABLE").help("Only changes of this table");
    Command::new(NAME)
        .about("Follow what changes in the house that is open, one line of JSON for each change")
        .long_about(
            "Follow what changes in the house that is open, one line of JSON for each change: its \
             number, time, table, kind and key. Facts are messages of the table `dispatch` in the \
             queue `bus.outbox`. It ends with the house, or by ^C.",
        )
        .arg(table)
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let table = matches.get_one::<String>(TABLE).cloned();
    let request = Request::Tail { table };
    control::ask(&load()?.settings.store, request, None, &mut Terminal::standard())
}

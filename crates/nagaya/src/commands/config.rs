//! `nagaya config`: looks at the settings without starting anything.

use clap::{ArgMatches, Command};

use super::print;
use crate::config::{Config, Invalid, show};
use crate::{Error, House};

pub(super) const NAME: &str = "config";

const CHECK: &str = "check";
const PRINT: &str = "print";
const EXAMPLE: &str = "example";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Look at the settings")
        .subcommand_required(true)
        .subcommand(Command::new(CHECK).about("Say whether all settings are good"))
        .subcommand(Command::new(PRINT).about("Print each setting with where it comes from"))
        .subcommand(Command::new(EXAMPLE).about("Print a file of all settings, explained"))
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    match matches.subcommand_name() {
        Some(CHECK) => {
            House::check(&load()?.settings)?;
            print("all settings are good\n")
        }
        Some(PRINT) => print(&show::in_force(&load()?)),
        Some(EXAMPLE) => print(&show::example()),
        other => unreachable!("the parser requires a known command, not {other:?}"),
    }
}

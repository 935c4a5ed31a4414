//! `nagaya config`: looks at the settings without starting anything.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{as_json, is_json, print};
use crate::config::{Config, Invalid, show};
use crate::{Error, House};

pub(super) const NAME: &str = "config";

const CHECK: &str = "check";
const PRINT: &str = "print";
const EXAMPLE: &str = "example";
const ORIGIN: &str = "origin";

pub(super) fn command() -> Command {
    let origin = Arg::new(ORIGIN)
        .long(ORIGIN)
        .action(ArgAction::SetTrue)
        .help("With where each comes from: a file's line, the environment, a flag, or nowhere");
    Command::new(NAME)
        .about("Look at the settings")
        .subcommand_required(true)
        .subcommand(Command::new(CHECK).about("Say whether all settings are good").arg(as_json()))
        .subcommand(
            Command::new(PRINT).about("Print the settings in force").arg(origin).arg(as_json()),
        )
        .subcommand(Command::new(EXAMPLE).about("Print a file of all settings, explained"))
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let (name, matches) = matches.subcommand().expect("the parser requires a command");
    match name {
        CHECK => {
            House::check(&load()?.settings)?;
            print(if is_json(matches) { "{\"good\":true}\n" } else { "all settings are good\n" })
        }
        PRINT if is_json(matches) => print(&show::in_force_as_json(&load()?)),
        PRINT => print(&show::in_force(&load()?, matches.get_flag(ORIGIN))),
        EXAMPLE => print(&show::example()),
        other => unreachable!("the parser knows no command `{other}`"),
    }
}

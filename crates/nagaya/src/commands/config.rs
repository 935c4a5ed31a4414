//! `nagaya config`: looks at the settings without starting anything.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

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
            let checked =
                load().map_err(Error::from).and_then(|config| House::check(&config.settings));
            if is_json(matches) {
                let told = checked.as_ref().err().map(ToString::to_string).unwrap_or_default();
                let problems: Vec<&str> = told.lines().collect();
                let good = checked.is_ok();
                print(&format!("{}\n", json!({ "good": good, "problems": problems })))?;
                return checked;
            }
            checked?;
            print("all settings are good\n")
        }
        PRINT if is_json(matches) => print(&show::in_force_as_json(&load()?)),
        PRINT => print(&show::in_force(&load()?, matches.get_flag(ORIGIN))),
        EXAMPLE => print(&show::example()),
        other => unreachable!("the parser knows no command `{other}`"),
    }
}

//! `nagaya operator`: the way back in for who looks after the house.

use clap::{ArgMatches, Command};

use crate::Error;
use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::Request;

pub(super) const NAME: &str = "operator";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Let the operator in again; the house may be open or not")
        .subcommand_required(true)
        .subcommand(Command::new("link").about("Print a new set-up link, which works once"))
        .subcommand(Command::new("sign-out").about("Sign out every browser"))
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let settings = load()?.settings;
    let request = match matches.subcommand_name() {
        Some("link") => Request::OperatorLink {
            url: settings.operator.url_or(&format!("http://{}", settings.http.listen)),
            link_hours: settings.operator.link_hours,
        },
        Some("sign-out") => Request::SignOutOperator,
        other => unreachable!("the parser requires a known command, not {other:?}"),
    };
    control::ask(&settings, request, None, &mut Terminal::standard())
}

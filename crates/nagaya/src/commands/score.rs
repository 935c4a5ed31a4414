//! `nagaya score`: what is done to the score room without its wire.

use clap::{ArgMatches, Command};

use crate::Error;
use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::Request;

pub(super) const NAME: &str = "score";

pub(super) fn command() -> Command {
    let rotate = Command::new("rotate").about("Sign the tokens of new plays with a new key");
    let keys = Command::new("keys")
        .about("Look after the keys of tokens, which turn by themselves every day")
        .subcommand_required(true)
        .subcommand(rotate);
    Command::new(NAME)
        .about("Look after the score room; the house may be open or not")
        .subcommand_required(true)
        .subcommand(keys)
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let (keys, matches) = matches.subcommand().expect("the parser requires a command");
    let request = match (keys, matches.subcommand_name()) {
        ("keys", Some("rotate")) => Request::RotateScoreKeys,
        other => unreachable!("the parser requires a known command, not {other:?}"),
    };
    control::ask(&load()?.settings, request, None, &mut Terminal::standard())
}

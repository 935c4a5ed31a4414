//! `nagaya score`: what is done to the score room without its wire.

use clap::{Arg, ArgMatches, Command};

use super::print;
use crate::Error;
use crate::config::{Config, Invalid};
use crate::control::{self, Terminal};
use crate::store::Request;

pub(super) const NAME: &str = "score";

const TOKEN: &str = "token";
const CLAIM: &str = "claim";

pub(super) fn command() -> Command {
    let rotate = Command::new("rotate").about("Sign the tokens of new plays with a new key");
    let keys = Command::new("keys")
        .about("Look after the keys of tokens, which turn by themselves every day")
        .subcommand_required(true)
        .subcommand(rotate);
    let word = |id: &'static str, name: &'static str, help: &'static str| {
        Arg::new(id).required(true).value_name(name).help(help)
    };
    let sign = Command::new("sign")
        .about("Print the signature of a play, to compare a client's own with")
        .arg(word(TOKEN, "TOKEN_END", "What `/score/get-end` gave"))
        .arg(word(CLAIM, "CLAIM", "What is signed: 'user|score|timeMs|period'"));
    Command::new(NAME)
        .about("Look after the score room, of an open or a closed house")
        .subcommand_required(true)
        .subcommand(keys)
        .subcommand(sign)
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let (verb, matches) = matches.subcommand().expect("the parser requires a command");
    let request = match (verb, matches.subcommand_name()) {
        ("sign", _) => {
            let text = |id| matches.get_one::<String>(id).expect("the parser requires it");
            return print(&format!("{}\n", score::sign(text(TOKEN), text(CLAIM))));
        }
        ("keys", Some("rotate")) => Request::RotateScoreKeys,
        other => unreachable!("the parser requires a known command, not {other:?}"),
    };
    control::ask(&load()?.settings, request, None, &mut Terminal::standard())
}

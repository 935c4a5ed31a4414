//! `nagaya openapi`: the interfaces of the house that is open, as OpenAPI describes them.

use clap::{Arg, ArgMatches, Command};

use super::{already_json, print};
use crate::Error;
use crate::config::{Config, Invalid};
use crate::visit::Visit;

pub(super) const NAME: &str = "openapi";

const ROOM: &str = "room";

pub(super) fn command() -> Command {
    let room = Arg::new(ROOM)
        .required(true)
        .value_name("ROOM")
        .value_parser(["house", "sns", "live", "collect", "score"])
        .help("Whose interface; the mesh has a GraphQL schema on /mesh/schema.graphql");
    Command::new(NAME)
        .about("Print a room's interface as OpenAPI, from an open house")
        .arg(room)
        .arg(already_json())
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let room = matches.get_one::<String>(ROOM).expect("the parser requires it");
    let answer = Visit::of(&load()?).get(&format!("/{room}/openapi.json"))?;
    match answer.status {
        200 => print(&format!("{}\n", answer.body.trim_end())),
        status => Err(Error::NotReady(format!("the house answered {status} for `{room}`"))),
    }
}

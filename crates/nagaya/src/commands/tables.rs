//! `nagaya tables`: the tables of the house, for those who make them in DynamoDB before it starts.

use clap::{Arg, ArgMatches, Command};
use dynamodb::client::{cloudformation, terraform};

use super::{as_json, is_json, print};
use crate::Error;
use crate::config::{Config, Invalid};
use crate::house::declared_tables;

pub(super) const NAME: &str = "tables";

const CLOUDFORMATION: &str = "cloudformation";
const TERRAFORM: &str = "terraform";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Print the tables that the house keeps in DynamoDB, as templates")
        .subcommand_required(true)
        .subcommand(
            Command::new(CLOUDFORMATION)
                .about("A template of CloudFormation, in JSON")
                .arg(on_one_line()),
        )
        .subcommand(
            Command::new(TERRAFORM)
                .about("A configuration of Terraform (.tf.json)")
                .arg(on_one_line()),
        )
}

/// Both forms are JSON; this one is for programs that read lines.
fn on_one_line() -> Arg {
    as_json().help("Print the JSON on one line")
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let settings = load()?.settings;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    let specs = runtime.block_on(declared_tables(&settings))?;
    let (write, matches): (fn(&_, &_) -> _, _) = match matches.subcommand() {
        Some((CLOUDFORMATION, matches)) => (cloudformation, matches),
        Some((TERRAFORM, matches)) => (terraform, matches),
        other => unreachable!("the parser requires a known command, not {other:?}"),
    };
    let written: serde_json::Value = write(&specs, &settings.aws.prefix);
    print(&match is_json(matches) {
        true => format!("{written}\n"),
        false => format!("{written:#}\n"),
    })
}

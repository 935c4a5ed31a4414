//! `nagaya tables`: the tables of the house, for those who make them in DynamoDB before it starts.

use clap::{ArgMatches, Command};
use dynamodb::client::{cloudformation, terraform};

use super::print;
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
        .subcommand(Command::new(CLOUDFORMATION).about("A template of CloudFormation, in JSON"))
        .subcommand(Command::new(TERRAFORM).about("A configuration of Terraform (.tf.json)"))
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let settings = load()?.settings;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    let specs = runtime.block_on(declared_tables(&settings))?;
    let write = match matches.subcommand_name() {
        Some(CLOUDFORMATION) => cloudformation,
        Some(TERRAFORM) => terraform,
        other => unreachable!("the parser requires a known command, not {other:?}"),
    };
    print(&format!("{:#}\n", write(&specs, &settings.aws.prefix)))
}

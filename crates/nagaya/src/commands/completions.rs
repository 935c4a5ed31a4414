//! `nagaya completions`: teaches a shell the command line.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use super::{Extent, print, program};
use crate::Error;

pub(super) const NAME: &str = "completions";

const SHELL: &str = "shell";

pub(super) fn command() -> Command {
    let shell = Arg::new(SHELL)
        .required(true)
        .value_name("SHELL")
        .value_parser(value_parser!(Shell))
        .help("The shell to teach");
    Command::new(NAME)
        .about("Print what teaches a shell to complete this command line")
        .arg(shell)
        .arg(Extent::flag())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), Error> {
    let shell = matches.get_one::<Shell>(SHELL).expect("the parser requires it");
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut program(Extent::of(matches)), "nagaya", &mut script);
    print(&String::from_utf8_lossy(&script))
}

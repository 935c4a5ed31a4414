//! `nagaya top`: how the house that is open does, once a second, in a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use base::Clock;
use clap::{Arg, ArgAction, ArgMatches, Command};
use console::Top;

use super::print;
use crate::Error;
use crate::config::{Config, Invalid};
use crate::visit::Visit;

pub(super) const NAME: &str = "top";

const ONCE: &str = "once";
const JSON: &str = "json";

/// How often the house is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Clears a terminal and goes to its first place.
const CLEAR: &str = "\x1b[H\x1b[2J";

pub(super) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new(NAME)
        .about("Show how an open house does, every second")
        .arg(flag(ONCE, "Look for one second and end"))
        .arg(flag(JSON, "Print a line of JSON for each look"))
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let visit = Visit::of(&load()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    let (clock, mut top) = (Clock::real(), Top::default());
    top.look(clock.now(), &visit.get("/metrics")?.body);
    loop {
        runtime.block_on(clock.sleep(LOOK));
        top.look(clock.now(), &visit.get("/metrics")?.body);
        let head = match std::io::stdout().is_terminal() {
            true => {
                format!("{CLEAR}Nagaya on {}, {}; ^C ends\n\n", visit.address(), clock.now())
            }
            false => String::new(),
        };
        match matches.get_flag(JSON) {
            true => print(&format!("{}\n", top.json()))?,
            false => print(&format!("{head}{}", top.text()))?,
        }
        if matches.get_flag(ONCE) {
            return Ok(());
        }
    }
}

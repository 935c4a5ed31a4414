//! `nagaya serve`: opens the house and keeps it open until told to close.

mod welcome;

use base::Clock;
use clap::{Arg, ArgAction, ArgMatches, Command};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::print;
use crate::config::{Config, show};
use crate::signals::Signals;
use crate::{Error, House, log};

pub(super) const NAME: &str = "serve";

const DEMO: &str = "demo";

pub(super) fn command() -> Command {
    let demo = Arg::new(DEMO).long(DEMO).action(ArgAction::SetTrue).help(
        "Fill every room with people who do not exist, to look at; best on a store of its own",
    );
    Command::new(NAME)
        .about("Open the house and serve until SIGTERM or SIGINT [the default]")
        .arg(demo)
}

/// Whether the rooms are to be filled.
pub(super) fn is_demo(matches: &ArgMatches) -> bool {
    matches.get_flag(DEMO)
}

pub(super) fn run(config: &Config, is_demo: bool) -> Result<(), Error> {
    log::start(&config.settings.log);
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    let result = runtime.block_on(serve(config, is_demo));
    // What did not finish in its time is not waited for a second time.
    runtime.shutdown_background();
    result
}

/// Every connection is an open file, and the usual bound is for programs that have none.
pub(super) fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(cause) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%cause, now = limit.current, "the bound on open files stays as it is");
    }
}

async fn serve(config: &Config, is_demo: bool) -> Result<(), Error> {
    let settings = &match is_demo {
        true => House::for_demo(&config.settings)?,
        false => config.settings.clone(),
    };
    let mut signals = Signals::listen().map_err(Error::system("cannot listen for signals"))?;
    let house = House::open(settings, show::listed(config), Clock::real()).await?;
    let ways = if is_demo { house.demonstrate().await? } else { Vec::new() };
    print(&welcome::render(&house, settings, &ways).await?)?;
    let signal = signals.next().await;
    tracing::info!(signal, "closing; once more to quit at once");
    tokio::select! {
        biased;
        closed = house.close() => closed?,
        _ = signals.next() => return Err(Error::Interrupted),
    }
    tracing::info!("closed");
    Ok(())
}

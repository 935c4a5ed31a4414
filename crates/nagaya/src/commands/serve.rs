//! `nagaya serve`: opens the house and keeps it open until told to close.

mod welcome;

use std::path::PathBuf;

use base::{Clock, Flow};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{doctor, hold};
use crate::config::{Config, show};
use crate::demo::Ground;
use crate::log::Format;
use crate::screen::Screen;
use crate::signals::Signals;
use crate::{Error, House, Settings, log};

pub(super) const NAME: &str = "serve";

const DEMO: &str = "demo";
const DEMO_KEEP: &str = "demo-keep";
const TEST_CLOCK: &str = "test-clock";

/// What the house is opened for, if not for people.
#[derive(Clone, Debug, Default)]
pub(super) struct Purpose {
    /// Whether the rooms are to be filled.
    is_demo: bool,
    /// Where a demonstration is kept.
    keep: Option<PathBuf>,
    /// Whether a test moves its clock.
    is_test: bool,
}

pub(super) fn command() -> Command {
    let demo = Arg::new(DEMO).long(DEMO).action(ArgAction::SetTrue).help(
        "Fill every room with people who do not exist, to look at; never touches the real store",
    );
    let keep = Arg::new(DEMO_KEEP)
        .long(DEMO_KEEP)
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .requires(DEMO)
        .help("Keep the data of the demonstration in this directory");
    Command::new(NAME)
        .about("Open the house and serve until SIGTERM or SIGINT [the default]")
        .args([demo, keep, hold()])
}

/// The flag that gives a house a clock which tests move (`control/orders.rs`). Nothing tells of it:
/// it is not part of the program that help, manual and shells know.
pub(super) fn test_clock() -> Arg {
    Arg::new(TEST_CLOCK).long(TEST_CLOCK).action(ArgAction::SetTrue).hide(true)
}

pub(super) fn purpose(matches: &ArgMatches) -> Purpose {
    Purpose {
        is_demo: matches.get_flag(DEMO),
        keep: matches.get_one::<PathBuf>(DEMO_KEEP).cloned(),
        is_test: matches.get_flag(TEST_CLOCK),
    }
}

/// Serves. The screen is the terminal, if a person looks at it.
pub(super) fn run(config: &Config, purpose: &Purpose, screen: Option<Screen>) -> Result<(), Error> {
    let is_for_people = config.settings.log.format == Format::Text;
    let screen = screen.filter(|_| is_for_people);
    let quiet = purpose.is_demo.then(|| Ground::quiet(&config.settings.log));
    log::start(quiet.as_ref().unwrap_or(&config.settings.log), screen.clone());
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    let result = runtime.block_on(serve(config, purpose, screen));
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

async fn serve(config: &Config, purpose: &Purpose, screen: Option<Screen>) -> Result<(), Error> {
    // A demonstration's directory is removed when this is dropped, after the house is closed.
    let ground = match purpose.is_demo {
        true => Some(Ground::open(config, purpose.keep.as_deref())?),
        false => None,
    };
    let config = ground.as_ref().map_or(config, Ground::config);
    let settings = &config.settings;
    let mut signals = Signals::listen().map_err(Error::system("cannot listen for signals"))?;
    let (clock, flow) = clock(settings, purpose)?;
    let (files, connections) =
        (getrlimit(Resource::Nofile).current, doctor::connections_max(settings));
    if let Err(shortage) = doctor::compare_files(files, connections) {
        tracing::warn!("{shortage}: clients are refused before the bound on connections is met");
    }
    // The clock flows until the house is closed: this one is the last to go.
    let house = tokio::select! {
        biased;
        house = House::open(settings, show::listed(config), clock, flow.clone()) => house?,
        // A replay may take long. It has changed nothing that the next start does not do again.
        signal = signals.next() => {
            tracing::info!(signal, "closing before the house was open");
            return Ok(());
        }
    };
    let ways = if purpose.is_demo { house.demonstrate().await? } else { Vec::new() };
    welcome::show(&house, settings, &ways, screen.as_ref()).await?;
    let follow = async {
        if let Err(error) = welcome::follow(&house, settings, &ways, screen.as_ref()).await {
            tracing::warn!(%error, "the box is not up to date");
        }
        std::future::pending::<()>().await;
    };
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        () = follow => "no signal",
    };
    if let Some(screen) = &screen {
        screen.unpin();
    }
    tracing::info!(signal, "closing; once more to quit at once");
    tokio::select! {
        biased;
        closed = house.close() => closed?,
        _ = signals.next() => return Err(Error::Interrupted),
    }
    tracing::info!("closed");
    Ok(())
}

/// The system's clock, or one that a test moves, with its mover.
///
/// # Errors
/// A test would move the clock of a house that others reach.
fn clock(settings: &Settings, purpose: &Purpose) -> Result<(Clock, Option<Flow>), Error> {
    if !purpose.is_test {
        return Ok((Clock::real(), None));
    }
    let doors = [
        ("http.listen", Some(settings.http.listen)),
        ("dynamodb.listen", settings.dynamodb.listen.0),
    ];
    for (name, listen) in doors {
        if let Some(listen) = listen.filter(|listen| !listen.ip().is_loopback()) {
            return Err(Error::Usage(format!(
                "`--test-clock` is for tests on this machine: `{name}` is `{listen}`, and must be a \
                 loopback address"
            )));
        }
    }
    let (clock, flow) = Clock::flowing();
    Ok((clock, Some(flow)))
}

//! `nagaya dynamodb`: the store alone as a DynamoDB endpoint, for tools and for tests of others.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use base::options::{LISTEN_EXPECTED, read_listen};
use base::{Clock, Tasks};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use edge::{Bound, Readiness};
use table::Embedded;

use super::{hold, print};
use crate::config::Config;
use crate::signals::Signals;
use crate::{Error, Settings, door, log, port};

pub(super) const NAME: &str = "dynamodb";

const PATH: &str = "path";
const MEMORY: &str = "memory";
const LISTEN: &str = "listen";
const OPEN: &str = "open";

/// Where it listens when nothing else is said: where DynamoDB Local does.
const USUAL: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8000);
/// The store's tasks only finish a step.
const TASKS_STOP: Duration = Duration::from_secs(10);

pub(super) fn command() -> Command {
    let path = Arg::new(PATH)
        .long(PATH)
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("Where the data is [default: the setting `store.path`]");
    let memory = Arg::new(MEMORY)
        .long(MEMORY)
        .action(ArgAction::SetTrue)
        .conflicts_with(PATH)
        .help("Keep nothing: the data ends with the program");
    let listen = Arg::new(LISTEN)
        .long(LISTEN)
        .value_name("ADDRESS")
        .value_parser(|text: &str| read_listen(text).ok_or(LISTEN_EXPECTED))
        .help("Where it listens [default: the setting `dynamodb.listen`, or 127.0.0.1:8000]");
    let open = Arg::new(OPEN)
        .long(OPEN)
        .action(ArgAction::SetTrue)
        .help("Let everybody in without a key; on a loopback address only");
    Command::new(NAME).about("Serve the store alone as a DynamoDB endpoint").args([
        path,
        memory,
        listen,
        open,
        hold(),
    ])
}

pub(super) fn run(matches: &ArgMatches, config: &Config) -> Result<(), Error> {
    let mut settings = config.settings.clone();
    log::start(&settings.log, None);
    if let Some(path) = matches.get_one::<PathBuf>(PATH) {
        settings.store.path.clone_from(path);
    }
    if matches.get_flag(OPEN) {
        settings.dynamodb.open = true;
    }
    let listen = matches.get_one::<SocketAddr>(LISTEN).copied();
    let listen = listen.or(settings.dynamodb.listen.0).unwrap_or(USUAL);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    runtime.block_on(serve(&settings, listen, matches.get_flag(MEMORY)))
}

async fn serve(settings: &Settings, listen: SocketAddr, memory: bool) -> Result<(), Error> {
    let mut signals = Signals::listen().map_err(Error::system("cannot listen for signals"))?;
    door::guard(&settings.dynamodb, listen)?;
    let endpoint = Bound::at(listen).map_err(|error| port::explain("dynamodb.listen", error))?;
    let (clock, tasks) = (Clock::real(), Tasks::new());
    let store = match memory {
        true => Embedded::in_memory(clock.clone(), &tasks).await?,
        false => Embedded::open(settings.store.clone(), clock.clone(), &tasks).await?,
    };
    let ready = Readiness::new();
    let engine = store.clone();
    let server = door::start(engine, settings, endpoint, clock.clone(), ready, &tasks).await?;
    print(&format!("The DynamoDB endpoint is open.\n  address  {}\n", server.url()))?;
    signals.next().await;
    let drained = server.drain().await;
    let stopped = tasks.finish(&clock, TASKS_STOP).await;
    let closed = tokio::task::spawn_blocking(move || store.close()).await;
    drained?;
    stopped.map_err(Error::Tasks)?;
    closed.map_err(|cause| Error::System {
        context: "cannot close the store",
        cause: cause.into(),
    })??;
    Ok(())
}

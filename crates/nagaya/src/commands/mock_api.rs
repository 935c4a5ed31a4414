//! `nagaya mock-api`: the upstream that the collect room can be tried with, on a port of its own.

use std::net::{Ipv4Addr, SocketAddr};

use base::{Clock, Random};
use clap::{Arg, ArgMatches, Command, value_parser};
use edge::{Readiness, Server, Traces};

use super::print;
use crate::config::Config;
use crate::signals::Signals;
use crate::{Error, log};

pub(super) const NAME: &str = "mock-api";

const PORT: &str = "port";

pub(super) fn command() -> Command {
    let port = Arg::new(PORT)
        .long(PORT)
        .value_name("NUMBER")
        .default_value("3000")
        .value_parser(value_parser!(u16))
        .help("Where it listens, on this machine alone; 0 for any that is free");
    Command::new(NAME)
        .about("Answer `/response_count` with counts that everybody can check")
        .arg(port)
}

pub(super) fn run(matches: &ArgMatches, config: &Config) -> Result<(), Error> {
    log::start(&config.settings.log, None);
    let port = *matches.get_one::<u16>(PORT).expect("it has a default");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    runtime.block_on(serve(port))
}

async fn serve(port: u16) -> Result<(), Error> {
    let mut signals = Signals::listen().map_err(Error::system("cannot listen for signals"))?;
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let options = edge::Options { listen, ..edge::Options::default() };
    let (clock, traces) = (Clock::real(), Traces::uncollected(Random::from_os()));
    let rooms = vec![collect::mock_room()];
    let server = Server::start(&options, rooms, clock, Readiness::new(), traces).await?;
    print(&format!("The mock API is open.\n  address  {}\n", server.url()))?;
    signals.next().await;
    Ok(server.drain().await?)
}

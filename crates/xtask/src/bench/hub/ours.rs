//! Our side: the server and the hub of this workspace, with their default settings.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks};
use edge::{
    Close, Message, Options, Origins, Readiness, Response, Room, Routes, Server, StreamOptions,
    Streams, Terms, Traces, Upgrade, Visit,
};
use hub::{Channel, ChannelSpec, Follow, Gap, History, Hub, Standing, Text};

/// The history that a room with an audience would keep.
const HISTORY: History = History { pushes: 1_000, bytes: 1 << 20, age: Duration::from_secs(120) };

struct Guest {
    channel: Channel,
}

impl Visit for Guest {
    async fn on_message(&self, message: Message) -> Result<(), Close> {
        if let Message::Text(text) = message {
            self.channel.publish("t", text);
        }
        Ok(())
    }

    fn on_gap(&self, gap: &Gap) -> Option<Text> {
        eprintln!("a reader missed {} pushes", gap.missed);
        None
    }

    fn on_leave(&self, _: &[Standing]) -> Option<Text> {
        None
    }
}

/// Serves until its parent ends.
pub(super) fn serve() -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let server = runtime.block_on(start())?;
    println!("{}", server.address().port());
    // The parent closes our input, also when it dies.
    let mut end = Vec::new();
    std::io::stdin().read_to_end(&mut end).map_err(|error| error.to_string())?;
    Ok(())
}

async fn start() -> Result<Server, String> {
    let (clock, random, tasks) = (Clock::real(), Random::from_os(), Tasks::new());
    let hub = Hub::in_process(&clock, &random, &tasks);
    let channel = hub.channel(ChannelSpec::new("bench", HISTORY));
    let streams = Streams::new(&StreamOptions::default(), &hub, &clock, &random);
    let shared = Arc::new((streams, channel));
    let socket = |follows: bool| {
        let shared = shared.clone();
        edge::get(move |upgrade: Upgrade| async move {
            accept(&shared.0, shared.1.clone(), upgrade, follows)
        })
    };
    let routes = Routes::new().route("/sub", socket(true)).route("/pub", socket(false));
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = Options { listen, connections_max: 20_000, ..Options::default() };
    let rooms = vec![Room::new("bench", routes)];
    let traces = Traces::uncollected(random);
    let started = Server::start(&options, rooms, clock, Readiness::new(), traces).await;
    started.map_err(|error| error.to_string())
}

fn accept(
    streams: &Streams,
    channel: Channel,
    upgrade: Upgrade,
    follows: bool,
) -> Result<Response, edge::Failure> {
    let terms = Terms { protocols: &[], origins: Origins::Any };
    streams.accept(upgrade, &terms, |opening| {
        if follows {
            let followed = opening.subscriber.follow(&channel, "t", Follow::default(), |_| None);
            followed.expect("a new subscriber may follow one topic");
        }
        Guest { channel }
    })
}

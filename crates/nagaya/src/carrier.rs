//! What carries pushes between instances, and what is said when it does not.

use base::{Clock, Random, Tasks};
use edge::Readiness;
use hub::Hub;
use nats::{Carrier, Nats, Options};

use crate::Error;

/// The part of readiness.
const PART: &str = "hub";

/// The hub of this instance. Without its server the house is amber, not red: it answers, and
/// taking every instance away because one server is would help nobody.
pub(crate) async fn open_hub(
    options: &Options,
    readiness: &Readiness,
    clock: &Clock,
    random: &Random,
    tasks: &Tasks,
) -> Result<Hub, Error> {
    match options.carrier {
        Carrier::Process => Ok(Hub::in_process(clock, random, tasks)),
        Carrier::Nats => {
            let (hub, nats) = Nats::open(options, clock, random, tasks).await?;
            watch(nats, readiness, tasks);
            Ok(hub)
        }
    }
}

fn watch(mut nats: Nats, readiness: &Readiness, tasks: &Tasks) {
    let (readiness, shutdown) = (readiness.clone(), tasks.shutdown().begun());
    tasks.spawn("nats watcher", async move {
        tokio::pin!(shutdown);
        loop {
            match nats.trouble() {
                Some(trouble) => readiness.set_amber(PART, trouble),
                None => readiness.set_green(PART),
            }
            tokio::select! {
                biased;
                () = &mut shutdown => return,
                () = nats.changed() => {}
            }
        }
    });
}

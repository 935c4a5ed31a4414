//! What happens without a call: members are told of groups that lapse, reports are saved, and sockets
//! are kept alive.

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Tasks};
use dispatch::{Failed, NewMessage};
use hub::Subscriber;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::Mesh;
use crate::error::Error;
use crate::limits::GATHERED_FOR;
use crate::model::{Group, GroupKey};

/// The queue of groups that may have lapsed.
pub(crate) const LAPSES: &str = "mesh-lapses";
/// Groups that are told of at the same time.
const LAPSES_AT_ONCE: usize = 8;
/// Between two keep-alives; clients expect one every minute.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Sockets that get theirs before others get a turn.
const KEPT_AT_ONCE: usize = 500;

/// A message: look at this group when its host's lease ends.
#[derive(Debug, Serialize, Deserialize)]
struct Lapse {
    group: String,
    domain: String,
}

impl Mesh {
    /// The message that looks at a group when its host's lease ends.
    pub(crate) fn lapse(&self, group: &Group) -> Result<NewMessage, Error> {
        let lapse = Lapse { group: group.key.id.clone(), domain: group.key.domain.clone() };
        Ok(NewMessage::json(&lapse)?.due(group.host_lease))
    }

    /// Tells the members of groups that lapse.
    pub(crate) fn watch_lapses(self: &Arc<Self>) {
        let mesh = Arc::clone(self);
        self.lapses.work(LAPSES_AT_ONCE, move |message| {
            let mesh = Arc::clone(&mesh);
            async move {
                let lapse: Lapse = message.read_json()?;
                let key = GroupKey { id: lapse.group, domain: lapse.domain };
                let later = mesh.tell_lapse(&key).await;
                match later.map_err(|error| Failed::retry(error.to_string()))? {
                    None => Ok(()),
                    Some(group) => {
                        let again = mesh.lapse(&group);
                        let again = again.map_err(|error| Failed::retry(error.to_string()))?;
                        mesh.lapses.enqueue(again).await?;
                        Ok(())
                    }
                }
            }
        });
    }
}

impl Mesh {
    /// Saves reports, gathered, while there are any; and the last ones at the end.
    pub(crate) fn save_reports(self: &Arc<Self>, tasks: &Tasks) {
        let (mesh, shutdown) = (Arc::clone(self), tasks.shutdown());
        tasks.spawn("mesh-reports", async move {
            let mut has_failed = false;
            loop {
                let gathered = async {
                    mesh.recent.noted().await;
                    mesh.clock.sleep(GATHERED_FOR).await;
                };
                let is_last = tokio::select! {
                    biased;
                    () = shutdown.begun() => true,
                    () = gathered => false,
                };
                let failure = mesh.save_recent().await.err();
                if let Some(error) = failure.as_ref().filter(|_| !has_failed || is_last) {
                    tracing::error!(%error, "reports could not be saved");
                }
                has_failed = failure.is_some();
                if is_last {
                    return;
                }
            }
        });
    }
}

/// Sockets that want to hear that we live.
#[derive(Clone, Default)]
pub(crate) struct Pulse {
    sockets: Arc<Mutex<Vec<Subscriber>>>,
}

impl Pulse {
    /// Keeps a socket alive until it is closed.
    pub(crate) fn keep(&self, socket: Subscriber) {
        self.sockets.lock().push(socket);
    }

    /// Sends `frame` to all of them, again and again.
    pub(crate) fn start(&self, frame: &'static str, clock: &Clock, tasks: &Tasks) {
        let (pulse, mut ticks) = (self.clone(), tasks.ticks(clock, KEEP_ALIVE));
        tasks.spawn("mesh-pulse", async move {
            while ticks.next().await {
                pulse.beat(frame).await;
            }
        });
    }

    async fn beat(&self, frame: &'static str) {
        let mut left = std::mem::take(&mut *self.sockets.lock());
        while !left.is_empty() {
            let mut some = left.split_off(left.len().saturating_sub(KEPT_AT_ONCE));
            some.retain(|socket| socket.send(frame).is_ok());
            self.sockets.lock().append(&mut some);
            tokio::task::yield_now().await;
        }
    }
}

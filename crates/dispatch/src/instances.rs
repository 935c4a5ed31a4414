//! The live instances, and the shards of a queue that each of them reads.
//!
//! Every instance writes a heartbeat with the queues that it consumes into one common row. A
//! heartbeat is one write, and its response contains the entries of all instances. From these,
//! every instance computes the same owner for each shard, without further talk: the instance with
//! the highest hash for that shard. This only keeps instances from competing for the same messages;
//! when they disagree for a while, the conditions on the rows decide.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Clock, Shutdown, Tasks, Uuid};
use parking_lot::Mutex;
use table::{Item, Path, Return, Tables, Update, Value, attr};
use tokio::sync::{Notify, watch};

use crate::error::Error;
use crate::items::{TABLE, key, time};
use crate::limits::{DEAD_AFTER, FORGOTTEN_AFTER, HEARTBEAT_INTERVAL, SHARDS, TROUBLE_PAUSE};

/// The instances as this one sees them.
pub(crate) struct Instances {
    /// The id of this instance.
    pub(crate) id: Uuid,
    tables: Arc<dyn Tables>,
    clock: Clock,
    consumed: Mutex<BTreeSet<String>>,
    /// The other live instances, with the queues they consume.
    peers: watch::Sender<Vec<Peer>>,
    /// Requests a heartbeat now.
    heartbeat: Notify,
}

/// Another instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Peer {
    id: Uuid,
    queues: BTreeSet<String>,
}

impl Instances {
    /// Writes the first heartbeat and starts the task that repeats it.
    pub(crate) async fn start(
        id: Uuid,
        tables: Arc<dyn Tables>,
        clock: Clock,
        tasks: &Tasks,
    ) -> Result<Arc<Instances>, Error> {
        let instances = Arc::new(Instances {
            id,
            tables,
            clock,
            consumed: Mutex::default(),
            peers: watch::Sender::new(Vec::new()),
            heartbeat: Notify::new(),
        });
        instances.heartbeat().await?;
        tasks.spawn("dispatch presence", Arc::clone(&instances).send_heartbeats(tasks.shutdown()));
        Ok(instances)
    }

    /// Announces that this instance consumes `queue`.
    pub(crate) fn consume(&self, queue: &str) {
        if self.consumed.lock().insert(queue.to_owned()) {
            self.heartbeat.notify_one();
        }
    }

    /// Whether another instance is live.
    pub(crate) fn has_peers(&self) -> bool {
        !self.peers.borrow().is_empty()
    }

    /// Notifies when another instance appears, disappears or changes its queues.
    pub(crate) fn watch(&self) -> watch::Receiver<Vec<Peer>> {
        self.peers.subscribe()
    }

    /// The shards of `queue` that this instance reads, as bits.
    pub(crate) fn shards(&self, queue: &str) -> u8 {
        let peers = self.peers.borrow();
        let rivals: Vec<Uuid> = peers
            .iter()
            .filter(|other| other.queues.contains(queue))
            .map(|other| other.id)
            .collect();
        let mine = |shard: &u8| {
            let draw = |id: Uuid| (draw_number(id, queue, *shard), id);
            rivals.iter().all(|rival| draw(*rival) < draw(self.id))
        };
        (0..SHARDS).filter(mine).fold(0, |bits, shard| bits | 1 << shard)
    }

    async fn send_heartbeats(self: Arc<Self>, shutdown: Shutdown) {
        let mut pause = HEARTBEAT_INTERVAL;
        loop {
            tokio::select! {
                biased;
                () = shutdown.begun() => break,
                () = self.heartbeat.notified() => {}
                () = self.clock.sleep(pause) => {}
            }
            pause = HEARTBEAT_INTERVAL;
            if let Err(error) = self.heartbeat().await {
                if !error.is_outage() {
                    tracing::warn!(%error, "cannot write the heartbeat of this instance");
                }
                pause = TROUBLE_PAUSE;
            }
        }
        if let Err(error) = self.tables.update(roster().remove(name(self.id))).await
            && !error.is_outage()
        {
            tracing::warn!(%error, "cannot remove this instance from the list of instances");
        }
    }

    async fn heartbeat(&self) -> Result<(), Error> {
        let now = self.clock.now();
        let mut own = Item::new().with("seen", now.millis());
        let consumed = self.consumed.lock().clone();
        if !consumed.is_empty() {
            own.insert("queues", Value::Ss(consumed));
        }
        let update = roster().set(name(self.id), own).returning(Return::AllNew);
        let everybody = self.tables.update(update).await?.unwrap_or_default();
        let (mut peers, mut gone) = (Vec::new(), None);
        for (name, value) in everybody.iter() {
            let (Ok(id), Value::M(entry)) = (name.parse(), value) else { continue };
            let silence = now.since(time(entry, "seen")?);
            if silence > FORGOTTEN_AFTER {
                gone = Some(gone.unwrap_or_else(roster).remove(attr(name)));
            } else if silence <= DEAD_AFTER && id != self.id {
                peers.push(Peer { id, queues: queues(entry) });
            }
        }
        if let Some(gone) = gone {
            self.tables.update(gone).await?;
        }
        self.peers.send_if_modified(|before| {
            let changed = *before != peers;
            *before = peers;
            changed
        });
        Ok(())
    }
}

/// The row of all instances.
fn roster() -> Update {
    Update::new(TABLE, key("I", "-"))
}

/// The attribute of an instance.
fn name(id: Uuid) -> Path {
    attr(id.to_string())
}

fn queues(entry: &Item) -> BTreeSet<String> {
    match entry.get("queues") {
        Some(Value::Ss(queues)) => queues.clone(),
        Some(_) | None => BTreeSet::new(),
    }
}

/// The same hash on every instance: FNV-1a, finished by the mixing of SplitMix64.
fn draw_number(id: Uuid, queue: &str, shard: u8) -> u64 {
    let bytes = id.as_bytes().iter().chain(queue.as_bytes()).chain(std::iter::once(&shard));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

//! Which instances live, and which part of a queue each of them watches.
//!
//! Every instance says now and then that it lives and which queues it consumes, in one row for
//! all: a beat is one write, which answers what the others said. From that all work out, without
//! talking, who watches which shard: the one that draws the highest number for it. This only
//! spares instances from trying for the same messages; when they disagree for a while, the
//! conditions on the rows decide.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Clock, Shutdown, Tasks, Uuid};
use parking_lot::Mutex;
use table::{Item, Path, Return, Tables, Update, Value, attr};
use tokio::sync::{Notify, watch};

use crate::error::Error;
use crate::items::{TABLE, key, time};
use crate::limits::{BEAT, BURIAL, SHARDS, SILENCE, TROUBLE_PAUSE};

/// The instances as this one sees them.
pub(crate) struct Instances {
    /// This one.
    pub(crate) id: Uuid,
    tables: Arc<dyn Tables>,
    clock: Clock,
    consumed: Mutex<BTreeSet<String>>,
    /// Others that live, with the queues they consume.
    others: watch::Sender<Vec<Other>>,
    /// Asks for a beat now.
    beat: Notify,
}

/// Another instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Other {
    id: Uuid,
    queues: BTreeSet<String>,
}

impl Instances {
    /// Starts to live.
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
            others: watch::Sender::new(Vec::new()),
            beat: Notify::new(),
        });
        instances.beat().await?;
        tasks.spawn("dispatch presence", Arc::clone(&instances).live(tasks.shutdown()));
        Ok(instances)
    }

    /// Says that `queue` is consumed here.
    pub(crate) fn consume(&self, queue: &str) {
        if self.consumed.lock().insert(queue.to_owned()) {
            self.beat.notify_one();
        }
    }

    /// Whether anybody else lives.
    pub(crate) fn has_others(&self) -> bool {
        !self.others.borrow().is_empty()
    }

    /// Tells when others come, go or change.
    pub(crate) fn watch(&self) -> watch::Receiver<Vec<Other>> {
        self.others.subscribe()
    }

    /// The shards of `queue` that this instance watches, as bits.
    pub(crate) fn shards(&self, queue: &str) -> u8 {
        let others = self.others.borrow();
        let rivals: Vec<Uuid> = others
            .iter()
            .filter(|other| other.queues.contains(queue))
            .map(|other| other.id)
            .collect();
        let mine = |shard: &u8| {
            let draw = |id: Uuid| (drawn(id, queue, *shard), id);
            rivals.iter().all(|rival| draw(*rival) < draw(self.id))
        };
        (0..SHARDS).filter(mine).fold(0, |bits, shard| bits | 1 << shard)
    }

    async fn live(self: Arc<Self>, shutdown: Shutdown) {
        let mut pause = BEAT;
        loop {
            tokio::select! {
                biased;
                () = shutdown.begun() => break,
                () = self.beat.notified() => {}
                () = self.clock.sleep(pause) => {}
            }
            pause = BEAT;
            if let Err(error) = self.beat().await {
                if !error.is_outage() {
                    tracing::warn!(%error, "cannot say that this instance lives");
                }
                pause = TROUBLE_PAUSE;
            }
        }
        if let Err(error) = self.tables.update(roster().remove(name(self.id))).await
            && !error.is_outage()
        {
            tracing::warn!(%error, "cannot say goodbye to the other instances");
        }
    }

    async fn beat(&self) -> Result<(), Error> {
        let now = self.clock.now();
        let mut own = Item::new().with("seen", now.millis());
        let consumed = self.consumed.lock().clone();
        if !consumed.is_empty() {
            own.insert("queues", Value::Ss(consumed));
        }
        let update = roster().set(name(self.id), own).returning(Return::AllNew);
        let everybody = self.tables.update(update).await?.unwrap_or_default();
        let (mut others, mut gone) = (Vec::new(), None);
        for (name, value) in everybody.iter() {
            let (Ok(id), Value::M(entry)) = (name.parse(), value) else { continue };
            let silence = now.since(time(entry, "seen")?);
            if silence > BURIAL {
                gone = Some(gone.unwrap_or_else(roster).remove(attr(name)));
            } else if silence <= SILENCE && id != self.id {
                others.push(Other { id, queues: queues(entry) });
            }
        }
        if let Some(gone) = gone {
            self.tables.update(gone).await?;
        }
        self.others.send_if_modified(|before| {
            let changed = *before != others;
            *before = others;
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

/// A number that everybody draws alike: FNV-1a, finished by SplitMix64's mixing.
fn drawn(id: Uuid, queue: &str, shard: u8) -> u64 {
    let bytes = id.as_bytes().iter().chain(queue.as_bytes()).chain(std::iter::once(&shard));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

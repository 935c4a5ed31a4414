//! Which instances live, and which part of a queue each of them watches.
//!
//! Every instance says now and then that it lives and which queues it consumes. From that all
//! work out, without talking, who watches which shard: the one that draws the highest number for
//! it. This only spares instances from trying for the same messages; when they disagree for a
//! while, the conditions on the rows decide.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Clock, Shutdown, Tasks, Uuid};
use parking_lot::Mutex;
use table::{Delete, Item, Put, Query, Tables, Value};
use tokio::sync::{Notify, watch};

use crate::error::Error;
use crate::items::{self, TABLE, misfit, text, time};
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
                tracing::warn!(%error, "cannot say that this instance lives");
                pause = TROUBLE_PAUSE;
            }
        }
        let goodbye = self.tables.delete(Delete::new(TABLE, key(self.id))).await;
        if let Err(error) = goodbye {
            tracing::warn!(%error, "cannot say goodbye to the other instances");
        }
    }

    async fn beat(&self) -> Result<(), Error> {
        let now = self.clock.now();
        let mut item = key(self.id).with("seen", now.millis());
        let consumed = self.consumed.lock().clone();
        if !consumed.is_empty() {
            item.insert("queues", Value::Ss(consumed));
        }
        self.tables.put(Put::new(TABLE, item)).await?;
        let page = self.tables.query(Query::new(TABLE, "pk", "I").consistent()).await?;
        let mut others = Vec::new();
        for item in &page.items {
            let (other, silence) = (Other::read(item)?, now.since(time(item, "seen")?));
            if silence > BURIAL {
                self.tables.delete(Delete::new(TABLE, key(other.id))).await?;
            } else if silence <= SILENCE && other.id != self.id {
                others.push(other);
            }
        }
        self.others.send_if_modified(|before| {
            let changed = *before != others;
            *before = others;
            changed
        });
        Ok(())
    }
}

impl Other {
    fn read(item: &Item) -> Result<Other, Error> {
        let id = text(item, "sk")?.parse().map_err(|_| misfit(item, "sk"))?;
        let queues = match item.get("queues") {
            Some(Value::Ss(queues)) => queues.clone(),
            Some(_) | None => BTreeSet::new(),
        };
        Ok(Other { id, queues })
    }
}

fn key(id: Uuid) -> Item {
    items::key("I", id.to_string())
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

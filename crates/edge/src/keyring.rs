//! Rings of HMAC keys: the next, the current and the former ones, each with an id.
//!
//! A ring turns on schedule: the next key becomes current, a new next one is made, and what was
//! current stays good for verifying as long as the ring's owner says. Every instance knows the next
//! key before anybody signs with it, so no instance refuses what another has just signed.
//!
//! Invariants: a ring is one item, and turns by a conditional write, so that of several instances
//! one turns it and the others follow. Signatures are verified under the key that their id names,
//! in constant time, and under no other. A former key is worth nothing once its time is over. Keys
//! leave this file only as signatures; they are neither logged nor shown.

mod items;
mod sealed;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Ids, Monotonic, Random, Tasks, Timestamp};
use items::RingItem;
use parking_lot::{Mutex, RwLock};
use ring::hmac;
use table::{Get, Put, Tables, attr};

use crate::Error;
use crate::limits::guard::{RING_FORMER_MAX, RING_LOOK_AGAIN, RING_REFRESH, WRITE_TRIES_MAX};
use crate::tables::{CREDENTIALS, credential};

/// When a ring turns, and how long a former key still verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Time between two turns, counted from the beginning of 1970 in UTC.
    pub every: Duration,
    /// How far into that time the turn comes.
    pub at: Duration,
    /// How long a former key is kept: at least the life of what it has signed.
    pub keep: Duration,
}

impl Rotation {
    /// The first turn after `now`.
    fn after(&self, now: Timestamp) -> Timestamp {
        let every = u64::try_from(self.every.as_millis()).unwrap_or(u64::MAX).max(1);
        let at = u64::try_from(self.at.as_millis()).unwrap_or(u64::MAX) % every;
        // Turns stand at `at`, `at + every`, and so on; the period before the first is the zeroth.
        let periods = now.millis().checked_sub(at).map_or(0, |since| since / every + 1);
        Timestamp::from_millis(periods.saturating_mul(every).saturating_add(at))
    }
}

/// A ring of keys. Clones share it.
#[derive(Clone)]
pub struct KeyRing {
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    rotation: Rotation,
    tables: Arc<dyn Tables>,
    clock: Clock,
    random: Random,
    /// The ring as it was last seen.
    seen: RwLock<Arc<RingItem>>,
    looked: Mutex<Option<Monotonic>>,
}

/// One key of a ring.
#[derive(Clone)]
pub struct MacKey {
    kid: Arc<str>,
    key: hmac::Key,
}

impl MacKey {
    /// The key's id, which goes with everything that it signs.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The HMAC-SHA256 of a message.
    pub fn sign(&self, message: &[u8]) -> [u8; 32] {
        let mut mac = [0; 32];
        mac.copy_from_slice(hmac::sign(&self.key, message).as_ref());
        mac
    }

    /// Whether `mac` is that of the message, in constant time.
    pub fn verify(&self, message: &[u8], mac: &[u8]) -> bool {
        hmac::verify(&self.key, message, mac).is_ok()
    }
}

impl KeyRing {
    /// The ring of that name, made if it is not there, and turned on schedule until the tasks
    /// shut down.
    ///
    /// # Errors
    /// The store failed.
    pub async fn open(
        name: &'static str,
        rotation: Rotation,
        tables: Arc<dyn Tables>,
        clock: Clock,
        random: Random,
        tasks: &Tasks,
    ) -> Result<KeyRing, Error> {
        let ids = Ids::new(clock.clone(), random.clone());
        let new = RingItem::new(name, rotation.after(clock.now()), &ids, &random);
        let put = Put::new(CREDENTIALS, table::to_item(&new)?).when(attr("pk").not_exists());
        let ring = match tables.put(put).await {
            Ok(_) => new,
            Err(table::Error::ConditionFailed { .. }) => load(&*tables, name).await?,
            Err(error) => return Err(error.into()),
        };
        let (seen, looked) = (RwLock::new(Arc::new(ring)), Mutex::default());
        let shared = Shared { name, rotation, tables, clock, random, seen, looked };
        let ring = KeyRing { shared: Arc::new(shared) };
        ring.turn_if_due().await?;
        ring.keep_turning(tasks);
        Ok(ring)
    }

    /// The key to sign with.
    pub fn current(&self) -> MacKey {
        self.shared.seen.read().current.key()
    }

    /// All keys that verify now: the current one first, then the next one and the former ones.
    pub fn keys(&self) -> Vec<MacKey> {
        let seen = self.seen();
        let all = seen.all(self.shared.clock.now(), self.shared.rotation.keep);
        all.map(items::KeyItem::key).collect()
    }

    /// The key of that id, if it still verifies.
    ///
    /// # Errors
    /// The store failed.
    pub async fn find(&self, kid: &str) -> Result<Option<MacKey>, Error> {
        let found =
            |ring: &RingItem| ring.find(kid, self.shared.clock.now(), self.shared.rotation.keep);
        if let Some(key) = found(&self.seen()) {
            return Ok(Some(key));
        }
        if self.may_look() {
            self.look().await?;
        }
        Ok(found(&self.seen()))
    }

    /// Turns the ring now.
    ///
    /// # Errors
    /// Former keys that are still good would have to be forgotten, or the store failed.
    pub async fn turn(&self) -> Result<(), Error> {
        for _ in 0..WRITE_TRIES_MAX {
            let ring = self.look().await?;
            if self.try_turn(&ring).await? {
                return Ok(());
            }
        }
        Err(Error::Contended {
            what: format!("ring `{}`", self.shared.name),
            tries: WRITE_TRIES_MAX,
        })
    }

    /// Sees how the ring is, and turns it if its time has come and nobody else did.
    async fn turn_if_due(&self) -> Result<(), Error> {
        let ring = self.look().await?;
        if self.shared.clock.now().millis() >= ring.turns_ms {
            self.try_turn(&ring).await?;
        }
        Ok(())
    }

    /// False if another one turned it meanwhile, which is seen then.
    async fn try_turn(&self, before: &RingItem) -> Result<bool, Error> {
        let Shared { clock, random, rotation, tables, name, .. } = &*self.shared;
        let (now, ids) = (clock.now(), Ids::new(clock.clone(), random.clone()));
        let mut after = before.clone();
        after.turn(now, rotation, &ids, random);
        if after.former.len() > RING_FORMER_MAX {
            return Err(Error::RingFull { name: (*name).to_owned(), max: RING_FORMER_MAX });
        }
        let unchanged = attr("version").eq(before.version);
        let put = Put::new(CREDENTIALS, table::to_item(&after)?).when(unchanged);
        match tables.put(put).await {
            Ok(_) => {
                *self.shared.seen.write() = Arc::new(after);
                tracing::info!(ring = name, "a key ring has turned");
                Ok(true)
            }
            Err(table::Error::ConditionFailed { .. }) => {
                self.look().await?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn keep_turning(&self, tasks: &Tasks) {
        let (ring, shutdown) = (self.clone(), tasks.shutdown().begun());
        tasks.spawn("key ring", async move {
            tokio::pin!(shutdown);
            loop {
                let clock = &ring.shared.clock;
                let due = Timestamp::from_millis(ring.seen().turns_ms);
                let wait = clock.timeout(RING_REFRESH, clock.sleep_until(due));
                tokio::select! {
                    biased;
                    () = &mut shutdown => return,
                    // Either the time has come, or it is time to look.
                    _ = wait => {}
                }
                if let Err(error) = ring.turn_if_due().await {
                    if !error.is_outage() {
                        tracing::error!(%error, ring = ring.shared.name, "cannot turn a key ring");
                    }
                    clock.sleep(RING_LOOK_AGAIN).await;
                }
            }
        });
    }

    fn seen(&self) -> Arc<RingItem> {
        self.shared.seen.read().clone()
    }

    async fn look(&self) -> Result<Arc<RingItem>, Error> {
        let ring = Arc::new(load(&*self.shared.tables, self.shared.name).await?);
        let mut seen = self.shared.seen.write();
        // Another look may have overtaken this one.
        if ring.version >= seen.version {
            *seen = ring;
        }
        Ok(seen.clone())
    }

    fn may_look(&self) -> bool {
        let mut looked = self.shared.looked.lock();
        let now = self.shared.clock.instant();
        let may = looked.is_none_or(|last| now.since(last) >= RING_LOOK_AGAIN);
        if may {
            *looked = Some(now);
        }
        may
    }
}

async fn load(tables: &dyn Tables, name: &str) -> Result<RingItem, Error> {
    let key = credential(items::KIND, name);
    let item = tables.get(Get::new(CREDENTIALS, key)).await?;
    let item = item.ok_or_else(|| Error::NoSuchRing(name.to_owned()))?;
    Ok(table::from_item(item)?)
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MacKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

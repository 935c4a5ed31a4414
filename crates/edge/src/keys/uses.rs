//! When keys were last used. A request only notes it in memory; a task writes what was noted, once
//! a minute and once more at shutdown. So a key costs at most one write a minute on each instance,
//! and no request waits for it. A process that is killed loses the last minute.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Clock, Tasks, Timestamp};
use parking_lot::Mutex;
use table::{Get, Update};

use super::Keys;
use crate::Error;
use crate::limits::guard::{KEY_LAST_USED_STEP, WRITE_TRIES_MAX};
use crate::tables::{CREDENTIALS, credential};

/// The partition of the last uses of shared keys, which are no items of their own kind.
const KIND: &str = "shared-use";
const LAST_USED: &str = "last_used_ms";

/// What was noted and is not written yet. Only verified keys get here, so the keys that exist bound
/// its size.
#[derive(Default)]
pub(super) struct Uses {
    /// By the key's name: its secrets' ids and times.
    noted: Mutex<HashMap<Arc<str>, HashMap<String, Timestamp>>>,
    shared: Mutex<Vec<SharedKey>>,
}

/// A key that many callers have in common and that the operator can read again, such as the key of a
/// class.
#[derive(Clone)]
pub struct SharedKey {
    name: &'static str,
    text: Arc<str>,
    last_used: Arc<LastUsed>,
}

/// Milliseconds since 1970; 0 is never.
struct LastUsed {
    noted: AtomicU64,
    written: AtomicU64,
}

impl SharedKey {
    /// Its name, which is also the scope that it stands for.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What callers present.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// When it was last used.
    pub fn last_used(&self) -> Option<Timestamp> {
        let millis = self.last_used.noted.load(Ordering::Relaxed);
        (millis > 0).then(|| Timestamp::from_millis(millis))
    }

    /// Notes that it is used now. One store to memory: a class calls thousands of times a second.
    pub fn note_use(&self, clock: &Clock) {
        self.last_used.noted.store(clock.now().millis(), Ordering::Relaxed);
    }
}

impl Uses {
    /// Notes that a secret is used now.
    pub(super) fn note(&self, name: &str, id: &str, now: Timestamp) {
        let mut noted = self.noted.lock();
        let ids = match noted.get_mut(name) {
            Some(ids) => ids,
            None => noted.entry(Arc::from(name)).or_default(),
        };
        match ids.get_mut(id) {
            Some(at) => *at = now.max(*at),
            None => drop(ids.insert(id.to_owned(), now)),
        }
    }

    /// The later of what the table has and what was noted since.
    pub(super) fn newest(
        &self,
        name: &str,
        id: &str,
        kept: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let noted = self.noted.lock().get(name).and_then(|ids| ids.get(id)).copied();
        noted.max(kept)
    }
}

impl Keys {
    /// Writes what was noted, once a minute and at shutdown.
    pub fn save_uses(&self, tasks: &Tasks) {
        let (keys, mut ticks) = (self.clone(), tasks.ticks(&self.clock, KEY_LAST_USED_STEP));
        tasks.spawn("key uses", async move {
            while ticks.next().await {
                keys.write_uses().await;
            }
            keys.write_uses().await;
        });
    }

    /// Lists a key that its callers share beside the others, from now on. When it was last used is
    /// remembered under its name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn share(&self, name: &'static str, text: &str) -> Result<SharedKey, table::Error> {
        let get = Get::new(CREDENTIALS, credential(KIND, name));
        let item = self.tables.get(get).await?;
        let kept = item.as_ref().and_then(|item| item.get(LAST_USED)?.as_n());
        let millis = kept.and_then(|kept| kept.to_string().parse().ok()).unwrap_or_default();
        let last_used = LastUsed { noted: AtomicU64::new(millis), written: AtomicU64::new(millis) };
        let shared = SharedKey { name, text: Arc::from(text), last_used: Arc::new(last_used) };
        let mut all = self.uses.shared.lock();
        all.retain(|other| other.name != name);
        all.push(shared.clone());
        Ok(shared)
    }

    /// The keys that callers share.
    pub fn shared(&self) -> Vec<SharedKey> {
        self.uses.shared.lock().clone()
    }

    /// One write for each key that was used since the last time. What cannot be written is noted
    /// again, for the next time.
    pub(super) async fn write_uses(&self) {
        let noted = std::mem::take(&mut *self.uses.noted.lock());
        for (name, ids) in noted {
            if let Err(error) = self.write_key_use(&name, &ids).await {
                ids.iter().for_each(|(id, at)| self.uses.note(&name, id, *at));
                warn(&error, &name);
            }
        }
        for shared in self.shared() {
            let at = shared.last_used.noted.load(Ordering::Relaxed);
            if at <= shared.last_used.written.load(Ordering::Relaxed) {
                continue;
            }
            let update = Update::new(CREDENTIALS, credential(KIND, shared.name)).set(LAST_USED, at);
            match self.tables.update(update).await {
                Ok(_) => shared.last_used.written.store(at, Ordering::Relaxed),
                Err(error) => warn(&error.into(), shared.name),
            }
        }
    }

    /// A key that is gone, or one that others keep changing, goes without: the next use is noted
    /// again.
    async fn write_key_use(
        &self,
        name: &str,
        ids: &HashMap<String, Timestamp>,
    ) -> Result<(), Error> {
        for _ in 0..WRITE_TRIES_MAX {
            let Some(before) = self.find(name).await? else { return Ok(()) };
            let mut after = before.clone();
            let mut is_newer = false;
            for secret in &mut after.secrets {
                let at = ids.get(&secret.id).map(|at| at.millis());
                if at > secret.last_used_ms {
                    secret.last_used_ms = at;
                    is_newer = true;
                }
            }
            if !is_newer || self.write(after, Some(&before)).await? {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn warn(error: &Error, name: &str) {
    if !error.is_outage() {
        tracing::warn!(%error, key = name, "cannot write when a key was last used");
    }
}

impl std::fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedKey").field("name", &self.name).finish_non_exhaustive()
    }
}

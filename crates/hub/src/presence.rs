//! Presence: the connected members of a place, by lease.
//!
//! A member is present exactly until its lease ends, whether or not any task has noticed the end.
//! [`Presence::lapsed`] waits for leases to end and removes them, for the job of a room that
//! announces them. Presence covers this instance only; a room pushes what other instances should
//! know.
//!
//! Invariant: `leases` and `ends` hold the same members.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Monotonic};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The present members of all places. Clones share the state.
#[derive(Clone, Debug)]
pub struct Presence {
    inner: Arc<PresenceInner>,
}

#[derive(Debug)]
struct PresenceInner {
    clock: Clock,
    state: Mutex<PresenceState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct PresenceState {
    /// By place, then by member: the end of the lease and the room's note.
    leases: BTreeMap<String, BTreeMap<String, Lease>>,
    ends: BTreeSet<(Monotonic, String, String)>,
}

#[derive(Clone, Debug)]
struct Lease {
    until: Monotonic,
    note: String,
}

/// A present member of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// The member's name.
    pub member: String,
    /// The note that the room stored with the lease.
    pub note: String,
}

/// A lease that ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lapsed {
    /// The place.
    pub place: String,
    /// The member.
    pub member: String,
}

impl Presence {
    /// An empty presence.
    pub fn new(clock: &Clock) -> Presence {
        let (state, changed) = (Mutex::default(), Notify::new());
        Presence { inner: Arc::new(PresenceInner { clock: clock.clone(), state, changed }) }
    }

    /// Grants or renews a lease; returns whether the member was absent before.
    pub fn renew(&self, place: &str, member: &str, note: &str, lease: Duration) -> bool {
        let now = self.inner.clock.instant();
        let until = now.after(lease);
        let mut state = self.inner.state.lock();
        let before = state.remove(place, member);
        let lease = Lease { until, note: note.to_owned() };
        state.leases.entry(place.to_owned()).or_default().insert(member.to_owned(), lease);
        state.ends.insert((until, place.to_owned(), member.to_owned()));
        drop(state);
        self.inner.changed.notify_waiters();
        before.is_none_or(|lease| lease.until <= now)
    }

    /// Ends a lease; returns whether the member was present.
    pub fn leave(&self, place: &str, member: &str) -> bool {
        let now = self.inner.clock.instant();
        self.inner.state.lock().remove(place, member).is_some_and(|lease| lease.until > now)
    }

    /// The present members, by name.
    pub fn list(&self, place: &str) -> Vec<Present> {
        let now = self.inner.clock.instant();
        let state = self.inner.state.lock();
        let members = state.leases.get(place).into_iter().flatten();
        members
            .filter(|(_, lease)| lease.until > now)
            .map(|(member, lease)| Present { member: member.clone(), note: lease.note.clone() })
            .collect()
    }

    /// The number of present members.
    pub fn count(&self, place: &str) -> usize {
        let now = self.inner.clock.instant();
        let state = self.inner.state.lock();
        let members = state.leases.get(place).into_iter().flatten();
        members.filter(|(_, lease)| lease.until > now).count()
    }

    /// Waits until leases end, and removes them.
    pub async fn lapsed(&self) -> Vec<Lapsed> {
        loop {
            let changed = self.inner.changed.notified();
            let now = self.inner.clock.instant();
            let next = {
                let mut state = self.inner.state.lock();
                let lapsed = state.take_lapsed(now);
                if !lapsed.is_empty() {
                    return lapsed;
                }
                state.ends.first().map(|(until, _, _)| until.since(now))
            };
            // A new lease may end before all others, so it also wakes this loop.
            tokio::select! {
                () = changed => {}
                () = sleep(&self.inner.clock, next) => {}
            }
        }
    }
}

async fn sleep(clock: &Clock, duration: Option<Duration>) {
    match duration {
        Some(duration) => clock.sleep(duration).await,
        None => std::future::pending().await,
    }
}

impl PresenceState {
    fn remove(&mut self, place: &str, member: &str) -> Option<Lease> {
        let members = self.leases.get_mut(place)?;
        let lease = members.remove(member)?;
        if members.is_empty() {
            self.leases.remove(place);
        }
        self.ends.remove(&(lease.until, place.to_owned(), member.to_owned()));
        Some(lease)
    }

    fn take_lapsed(&mut self, now: Monotonic) -> Vec<Lapsed> {
        let mut lapsed = Vec::new();
        while let Some((until, place, member)) = self.ends.first().cloned()
            && until <= now
        {
            self.remove(&place, &member);
            lapsed.push(Lapsed { place, member });
        }
        lapsed
    }
}

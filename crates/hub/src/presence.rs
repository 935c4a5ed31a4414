//! Who is here, by lease.
//!
//! A member is present until its lease ends, to the very moment, whoever looks and whether or not
//! anybody has noticed yet. [`Presence::lapsed`] waits for such ends and takes them away, for the
//! room's job that announces them. Presence is of this instance: what others should know of it, a
//! room pushes.
//!
//! Invariant: `leases` and `ends` hold the same members.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Monotonic};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Who is in which place. Clones share it.
#[derive(Clone, Debug)]
pub struct Presence {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// By place, then by member: the end of the lease and what is known of the member.
    leases: BTreeMap<String, BTreeMap<String, Lease>>,
    ends: BTreeSet<(Monotonic, String, String)>,
}

#[derive(Clone, Debug)]
struct Lease {
    until: Monotonic,
    note: String,
}

/// A member of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// Who.
    pub member: String,
    /// What the room noted with its lease.
    pub note: String,
}

/// A lease that ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lapsed {
    /// Where.
    pub place: String,
    /// Who.
    pub member: String,
}

impl Presence {
    /// Nobody is anywhere.
    pub fn new(clock: &Clock) -> Presence {
        let (state, changed) = (Mutex::default(), Notify::new());
        Presence { shared: Arc::new(Shared { clock: clock.clone(), state, changed }) }
    }

    /// Gives or renews a lease; whether the member was not here before.
    pub fn renew(&self, place: &str, member: &str, note: &str, lease: Duration) -> bool {
        let now = self.shared.clock.instant();
        let until = now.after(lease);
        let mut state = self.shared.state.lock();
        let before = state.remove(place, member);
        let lease = Lease { until, note: note.to_owned() };
        state.leases.entry(place.to_owned()).or_default().insert(member.to_owned(), lease);
        state.ends.insert((until, place.to_owned(), member.to_owned()));
        drop(state);
        self.shared.changed.notify_waiters();
        before.is_none_or(|lease| lease.until <= now)
    }

    /// Ends a lease; whether the member was here.
    pub fn leave(&self, place: &str, member: &str) -> bool {
        let now = self.shared.clock.instant();
        self.shared.state.lock().remove(place, member).is_some_and(|lease| lease.until > now)
    }

    /// Who is here now, by name.
    pub fn list(&self, place: &str) -> Vec<Present> {
        let now = self.shared.clock.instant();
        let state = self.shared.state.lock();
        let members = state.leases.get(place).into_iter().flatten();
        members
            .filter(|(_, lease)| lease.until > now)
            .map(|(member, lease)| Present { member: member.clone(), note: lease.note.clone() })
            .collect()
    }

    /// How many are here now.
    pub fn count(&self, place: &str) -> usize {
        let now = self.shared.clock.instant();
        let state = self.shared.state.lock();
        let members = state.leases.get(place).into_iter().flatten();
        members.filter(|(_, lease)| lease.until > now).count()
    }

    /// Waits until leases end, and takes them away.
    pub async fn lapsed(&self) -> Vec<Lapsed> {
        loop {
            let changed = self.shared.changed.notified();
            let now = self.shared.clock.instant();
            let next = {
                let mut state = self.shared.state.lock();
                let lapsed = state.take_lapsed(now);
                if !lapsed.is_empty() {
                    return lapsed;
                }
                state.ends.first().map(|(until, _, _)| until.since(now))
            };
            // A new lease may end before all others, so it is looked at again.
            tokio::select! {
                () = changed => {}
                () = sleep(&self.shared.clock, next) => {}
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

impl State {
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

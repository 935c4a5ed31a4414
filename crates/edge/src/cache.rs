//! Answers that are dear to make, kept for a while.
//!
//! A value is fresh for a time, then stale for a time. A fresh one is answered from memory. A stale
//! one is answered too, and made anew behind the caller's back. Without one the caller waits.
//!
//! Invariants: of one key at most one load is under way, whoever asked for it; all who miss it
//! share its outcome. A load runs as a task of its own, so that a caller who leaves takes it from
//! nobody. Failures are told to those who waited and never kept. After [`Cache::invalidate`]
//! nothing that was read before it is kept or answered to those who ask after it. Time is the
//! house's clock; the weight of all values is bounded, and the rarely used go first (moka).

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Monotonic, Tasks};
use parking_lot::Mutex;
use tokio::sync::watch;

/// How long values serve, and what all of them may weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// How long a value is as good as new.
    pub fresh: Duration,
    /// How long after that it is answered while a new one is made.
    pub stale: Duration,
    /// The weight of all values together.
    pub weight_max: u64,
}

/// A single-flight cache. Clones share it.
pub struct Cache<K, V, E> {
    shared: Arc<Shared<K, V, E>>,
}

struct Shared<K, V, E> {
    entries: moka::sync::Cache<K, Entry<V>>,
    flights: Mutex<Flights<K, V, E>>,
    keeping: Keeping,
    clock: Clock,
    tasks: Tasks,
}

#[derive(Clone)]
struct Entry<V> {
    value: V,
    /// When its load began: what it tells is no younger.
    read: Monotonic,
}

struct Flights<K, V, E> {
    by_key: HashMap<K, Flight<V, E>>,
    next: u64,
}

/// A load under way.
struct Flight<V, E> {
    number: u64,
    landing: Landing<V, E>,
}

/// Where a load's outcome will be seen.
type Landing<V, E> = watch::Receiver<Option<Result<V, E>>>;

impl<K, V, E> Cache<K, V, E>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Clone + Send + Sync + 'static,
{
    /// An empty cache. `weigh` says what a value weighs, in the unit of the bound.
    pub fn new(
        keeping: Keeping,
        weigh: impl Fn(&K, &V) -> u32 + Send + Sync + 'static,
        clock: &Clock,
        tasks: &Tasks,
    ) -> Cache<K, V, E> {
        let entries = moka::sync::Cache::builder()
            .max_capacity(keeping.weight_max)
            .weigher(move |key, entry: &Entry<V>| weigh(key, &entry.value))
            .build();
        let flights = Mutex::new(Flights { by_key: HashMap::new(), next: 0 });
        let (clock, tasks) = (clock.clone(), tasks.clone());
        Cache { shared: Arc::new(Shared { entries, flights, keeping, clock, tasks }) }
    }

    /// The value under `key`, kept or loaded.
    ///
    /// # Errors
    /// There was none, and the load failed.
    ///
    /// # Panics
    /// There was none, and the load panicked.
    pub async fn get<F>(&self, key: &K, load: impl FnOnce() -> F) -> Result<V, E>
    where
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        let kept = self.shared.find(key);
        if let Some((value, true)) = kept {
            return Ok(value);
        }
        let boarded = self.board(key, load);
        match (kept, boarded) {
            (Some((stale, _)), _) => Ok(stale),
            (None, Boarded::Landed(value)) => Ok(value),
            (None, Boarded::InFlight(mut landing)) => {
                let outcome = landing.wait_for(Option::is_some).await.ok();
                let outcome = outcome.and_then(|outcome| outcome.clone());
                outcome.expect("the load of a cached value ends without a panic")
            }
        }
    }

    /// Forgets the value under `key`, and what a load under way will bring.
    pub fn invalidate(&self, key: &K) {
        let mut flights = self.shared.flights.lock();
        flights.by_key.remove(key);
        self.shared.entries.invalidate(key);
    }

    /// Forgets everything.
    pub fn invalidate_all(&self) {
        let mut flights = self.shared.flights.lock();
        flights.by_key.clear();
        self.shared.entries.invalidate_all();
    }

    /// Joins the load under way, or begins one.
    fn board<F>(&self, key: &K, load: impl FnOnce() -> F) -> Boarded<V, E>
    where
        F: Future<Output = Result<V, E>> + Send + 'static,
    {
        let mut flights = self.shared.flights.lock();
        if let Some(flight) = flights.by_key.get(key) {
            return Boarded::InFlight(flight.landing.clone());
        }
        // A load may have ended between the look and the lock.
        if let Some((value, true)) = self.shared.find(key) {
            return Boarded::Landed(value);
        }
        let (sender, landing) = watch::channel(None);
        flights.next += 1;
        let number = flights.next;
        flights.by_key.insert(key.clone(), Flight { number, landing: landing.clone() });
        let ticket = Ticket { shared: self.shared.clone(), key: key.clone(), number };
        let (read, loading) = (self.shared.clock.instant(), load());
        self.shared.tasks.spawn("cache load", async move {
            let outcome = loading.await;
            ticket.land(outcome.as_ref().ok().map(|value| Entry { value: value.clone(), read }));
            sender.send_replace(Some(outcome));
        });
        Boarded::InFlight(landing)
    }
}

impl<K, V, E> Shared<K, V, E>
where
    K: Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// The kept value, and whether it is fresh; none if it is past its time.
    fn find(&self, key: &K) -> Option<(V, bool)> {
        let entry = self.entries.get(key)?;
        let age = self.clock.instant().since(entry.read);
        let Keeping { fresh, stale, .. } = self.keeping;
        (age < fresh.saturating_add(stale)).then_some((entry.value, age < fresh))
    }
}

enum Boarded<V, E> {
    Landed(V),
    InFlight(Landing<V, E>),
}

/// A load's place among the flights, given up when it ends, also by a panic.
struct Ticket<K: Eq + Hash, V, E> {
    shared: Arc<Shared<K, V, E>>,
    key: K,
    number: u64,
}

impl<K, V, E> Ticket<K, V, E>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Keeps what was loaded, unless it was forgotten meanwhile.
    fn land(self, entry: Option<Entry<V>>) {
        let mut flights = self.shared.flights.lock();
        if let Some(entry) = entry.filter(|_| flights.holds(&self.key, self.number)) {
            self.shared.entries.insert(self.key.clone(), entry);
            flights.by_key.remove(&self.key);
        }
    }
}

impl<K: Eq + Hash, V, E> Drop for Ticket<K, V, E> {
    fn drop(&mut self) {
        let mut flights = self.shared.flights.lock();
        if flights.holds(&self.key, self.number) {
            flights.by_key.remove(&self.key);
        }
    }
}

impl<K: Eq + Hash, V, E> Flights<K, V, E> {
    fn holds(&self, key: &K, number: u64) -> bool {
        self.by_key.get(key).is_some_and(|flight| flight.number == number)
    }
}

impl<K, V, E> Clone for Cache<K, V, E> {
    fn clone(&self) -> Cache<K, V, E> {
        Cache { shared: self.shared.clone() }
    }
}

impl<K, V, E> fmt::Debug for Cache<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("keeping", &self.shared.keeping).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

//! The store of a world: the embedded engine in memory, or a DynamoDB client with a door on one, if
//! `NAGAYA_TEST_STORE` is `dynamodb`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use base::{Clock, Random, Tasks};
use dynamodb::client::Client;
use dynamodb::door::{Door, Guard};
use parking_lot::Mutex;
use table::{Embedded, Secrets, Tables};

/// The doors of clients, by the client's address.
static DOORS: Mutex<BTreeMap<usize, (Weak<Door>, Clock)>> = Mutex::new(BTreeMap::new());

/// The seed of the next client. Two clients must not draw the same transaction tokens.
static CLIENTS: AtomicU64 = AtomicU64::new(2);

/// An empty store.
pub(super) async fn open(clock: &Clock, tasks: &Tasks) -> Arc<dyn Tables> {
    let store = Embedded::in_memory(clock.clone(), tasks).await.expect("memory opens");
    if !is_dynamodb() {
        return Arc::new(store);
    }
    let (clock, random) = (clock.clone(), Random::seeded(1));
    let door =
        Door::open(store, Guard::open(), Secrets::default(), clock.clone(), random, tasks).await;
    client(&door.expect("a door opens on a store that works"), clock)
}

/// The same store for another instance: a client of its own, with an empty cache, on the same door.
pub(super) fn beside(tables: &Arc<dyn Tables>) -> Arc<dyn Tables> {
    let asked = DOORS.lock().get(&address(tables)).cloned();
    match asked.and_then(|(door, clock)| Some((door.upgrade()?, clock))) {
        Some((door, clock)) => client(&door, clock),
        None => Arc::clone(tables),
    }
}

/// Whether this run has its stories on DynamoDB.
///
/// # Panics
/// The variable has another value.
pub fn is_dynamodb() -> bool {
    let word = std::env::var_os("NAGAYA_TEST_STORE");
    let is_known = word.as_ref().is_none_or(|word| word == "dynamodb");
    assert!(is_known, "NAGAYA_TEST_STORE is `dynamodb` or not there");
    word.is_some()
}

fn client(door: &Arc<Door>, clock: Clock) -> Arc<dyn Tables> {
    let mut doors = DOORS.lock();
    let random = Random::seeded(CLIENTS.fetch_add(1, Ordering::Relaxed));
    let client = Client::through(Arc::clone(door), clock.clone(), random);
    let tables: Arc<dyn Tables> = Arc::new(client);
    doors.insert(address(&tables), (Arc::downgrade(door), clock));
    tables
}

fn address(tables: &Arc<dyn Tables>) -> usize {
    Arc::as_ptr(tables).cast::<()>() as usize
}

//! The store on which a room's stories are told: the embedded engine in memory, or the client in
//! front of a door into one, when `NAGAYA_TEST_STORE` is `dynamodb`. Rooms include this file.

use std::sync::Arc;

use base::{Clock, Random, Tasks};
use dynamodb::client::Client;
use dynamodb::door::{Door, Guard};
use table::{Embedded, Tables};

/// An empty store.
pub(crate) async fn open(clock: &Clock, tasks: &Tasks) -> Arc<dyn Tables> {
    let store = Embedded::in_memory(clock.clone(), tasks).await.unwrap();
    match std::env::var_os("NAGAYA_TEST_STORE") {
        None => Arc::new(store),
        Some(word) => {
            assert_eq!(word, "dynamodb", "NAGAYA_TEST_STORE is `dynamodb` or not there");
            let door = Door::open(store, Guard::open(), &[], clock.clone(), Random::seeded(1));
            let door = Arc::new(door.await.unwrap());
            Arc::new(Client::through(door, clock.clone(), Random::seeded(2)))
        }
    }
}

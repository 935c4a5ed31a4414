//! What every backend of the `Tables` port promises, tried on the embedded engine in memory and on
//! disk. The claims themselves (`claims.rs`) know only the port, so that another backend can be
//! held to them; those about time (`timed.rs`) need a clock that can be moved.

#[path = "claims.rs"]
mod claims;
#[path = "timed.rs"]
mod timed;

use base::{Clock, Tasks, Timestamp, VirtualTime};
use table::{Embedded, Options, Tables};

/// When the house opens, in seconds.
const START_S: u64 = 1_700_000_000;

#[tokio::test]
async fn a_house_in_memory_keeps_every_promise() {
    let (clock, time) = clock();
    let house = Embedded::in_memory(clock, &Tasks::new()).await.unwrap();
    try_all(&house, &time).await;
    assert_eq!(house.check().await.unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_house_on_disk_keeps_every_promise() {
    let directory = tempfile::tempdir().unwrap();
    let (clock, time) = clock();
    // A small memory, so that large items are settled while they are read.
    let path = directory.path().to_owned();
    let options = Options { path, memory_mib: 1, ..Options::default() };
    let house = Embedded::open(options, clock, &Tasks::new()).await.unwrap();
    try_all(&house, &time).await;
    assert_eq!(house.check().await.unwrap().problems, Vec::<String>::new());
    house.close().unwrap();
}

fn clock() -> (Clock, VirtualTime) {
    Clock::virtual_at(Timestamp::from_seconds(START_S).expect("the start is a time"))
}

async fn try_all(tables: &dyn Tables, time: &VirtualTime) {
    for (name, claim) in claims::all() {
        println!("{name}");
        claim(tables).await;
    }
    for (name, claim) in timed::all() {
        println!("{name}");
        claim(tables, time).await;
    }
}

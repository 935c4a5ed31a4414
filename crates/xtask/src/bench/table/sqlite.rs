//! SQLite as a peer: the same items with one index and a change log, in WAL mode with
//! `synchronous=FULL`, one transaction per collected batch.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::group::throughput;
use super::house::{PER_PARTITION, Shuffle, partition};

/// Durable puts per second.
pub(super) fn puts(
    path: &Path,
    writers: u64,
    keys: u64,
    time: Duration,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut connection = Connection::open(path.join("peer.sqlite"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA cache_size = -262144;
         CREATE TABLE IF NOT EXISTS items (pk TEXT, sk INTEGER, grp TEXT, at INTEGER, row BLOB,
           PRIMARY KEY (pk, sk)) WITHOUT ROWID;
         CREATE INDEX IF NOT EXISTS by_group ON items (grp, at);
         CREATE TABLE IF NOT EXISTS log (seq INTEGER PRIMARY KEY, pk TEXT, sk INTEGER, row BLOB);",
    )?;
    let row = vec![7_u8; 560];
    let write = move |batch: Vec<u64>| {
        let written = connection.transaction().and_then(|transaction| {
            for number in batch {
                let number = Shuffle(number + 1).next() % keys;
                let (pk, sk) = (partition(number), number % PER_PARTITION);
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)")?
                    .execute(params![pk, sk, format!("group-{:04}", number % 1000), number, row])?;
                transaction
                    .prepare_cached("INSERT INTO log (pk, sk, row) VALUES (?, ?, ?)")?
                    .execute(params![pk, sk, row])?;
            }
            transaction.commit()
        });
        written.expect("the peer can write");
    };
    Ok(throughput(writers, time, |number| number, write)?)
}

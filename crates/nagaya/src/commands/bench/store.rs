//! Writes and reads of the store itself, beside the disk.

use std::path::Path;

use table::{Embedded, Get, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables};

use super::rows::{Row, Unit};
use super::{Bench, Progress};
use crate::Error;

const TABLE: &str = "bench";
/// With an envelope, what a row of a room weighs.
const ITEM_BYTES: usize = 600;
/// Who writes at once: one, whose every write waits for a sync of its own, and many, who share one.
const WRITERS: [u64; 2] = [1, 64];
const READERS: u64 = 64;
/// Items that are read.
const ITEMS: u64 = 10_000;
/// Gets between two looks at the clock.
const GETS: u64 = 100;

pub(super) async fn measure(
    bench: &Bench,
    store: &Embedded,
    folder: &Path,
    progress: &Progress,
    rows: &mut Vec<Row>,
) -> Result<(), Error> {
    progress.turn_to("syncs of the disk");
    let sync = syncs(bench, folder)?;
    let syncs = 1.0 / sync;
    rows.push(Row::new("sync", "a sync of the disk", sync * 1e3, Unit::Millis));
    rows.push(Row::new("syncs", "syncs of the disk, one after another", syncs, Unit::PerSecond));
    let key = KeySpec::simple(KeyAttribute::n("id"));
    store.ensure_table(TableSpec::new(TABLE, key)).await?;
    for writers in WRITERS {
        let what = format!("durable writes, {writers} at once");
        progress.turn_to(&what);
        let rate = bench.pace(writers, |writer, span| {
            let store = store.clone();
            async move {
                let mut done = 0;
                while !span.is_over() {
                    let id = (done * writers + writer) % ITEMS;
                    store.put(Put::new(TABLE, item(id))).await?;
                    done += 1;
                }
                Ok(done)
            }
        });
        let id = if writers == 1 { "writes_alone" } else { "writes_together" };
        rows.push(Row::new(id, &what, rate.await?, Unit::PerSecond).beside("syncs", syncs));
    }
    progress.turn_to("reads");
    fill(bench, store).await?;
    let rate = bench.pace(READERS, |reader, span| {
        let store = store.clone();
        async move {
            let mut done = 0;
            while !span.is_over() {
                for _ in 0..GETS {
                    let id = (done * READERS + reader) % ITEMS;
                    store.get(Get::new(TABLE, Item::new().with("id", id))).await?;
                    done += 1;
                }
            }
            Ok(done)
        }
    });
    rows.push(Row::new("reads", "reads by key", rate.await?, Unit::PerSecond));
    Ok(())
}

/// Writes what the writers had no time for.
async fn fill(bench: &Bench, store: &Embedded) -> Result<(), Error> {
    let fill = |writer, _| {
        let store = store.clone();
        async move {
            for id in (0..ITEMS).skip(writer as usize).step_by(READERS as usize) {
                if store.get(Get::new(TABLE, Item::new().with("id", id))).await?.is_none() {
                    store.put(Put::new(TABLE, item(id))).await?;
                }
            }
            Ok(0)
        }
    };
    bench.pace(READERS, fill).await.map(drop)
}

/// Seconds that a sync takes, tried for as long as everything else.
fn syncs(bench: &Bench, folder: &Path) -> Result<f64, Error> {
    let began = bench.clock.instant();
    let mut times = Vec::new();
    while times.is_empty() || bench.clock.instant().since(began) < bench.span {
        let ground = table::examine(folder, &bench.clock);
        times.push(ground.map_err(Error::system("cannot try the disk"))?.sync.as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}

fn item(id: u64) -> Item {
    Item::new().with("id", id).with("text", "x".repeat(ITEM_BYTES))
}

//! How the house looks after its store: how far a start has come, and whether the store does its
//! work. Readiness tells both, and logs each change of state once.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Tasks, hide_passwords};
use edge::Readiness;
use table::{Embedded, Error, Health, Progress, Tables};

use crate::store::Store;

/// How often the store is asked whether it still writes: a probe that comes every few seconds
/// finds the answer fresh.
const WATCH: Duration = Duration::from_secs(1);

/// A write that has waited longer for the disk than this, or a read for an answer of DynamoDB,
/// makes the house red. Slow disks take a second; callers give up after thirty.
const PATIENCE: Duration = Duration::from_secs(5);

/// Looks at a full disk between two tries to write on it. Each try fills what is left of it.
const LOOKS_PER_PROBE: u32 = 5;

/// How often DynamoDB is asked something small: half a read unit each time.
const REMOTE_WATCH: Duration = Duration::from_secs(5);

/// How often a start that takes long says how far it is.
const TELL: Duration = Duration::from_secs(2);

const STORE: &str = "store";
const START: &str = "start";

const MIB: u64 = 1024 * 1024;

/// Turns readiness red until [`end`], and gives the progress that it tells meanwhile.
pub(super) fn begin(readiness: &Readiness) -> Progress {
    let progress = Progress::new();
    let told = progress.clone();
    readiness.set_red_while(START, move || {
        let (done, total) = (told.done(), told.total());
        match total {
            0 => "the store is being opened".to_owned(),
            _ if done >= total => "the rooms are being opened".to_owned(),
            _ => {
                let (percent, done, total) = (done * 100 / total, done / MIB, total.div_ceil(MIB));
                format!("the log is being replayed, {percent} % done ({done} of {total} MiB)")
            }
        }
    });
    progress
}

/// The house is open.
pub(super) fn end(readiness: &Readiness) {
    readiness.set_green(START);
}

/// Waits for what opens the store, and logs how far it is if that takes long.
pub(super) async fn telling<T>(
    opening: impl Future<Output = T>,
    progress: &Progress,
    clock: &Clock,
) -> T {
    tokio::select! {
        biased;
        opened = opening => opened,
        never = tell(progress, clock) => match never {},
    }
}

async fn tell(progress: &Progress, clock: &Clock) -> Infallible {
    loop {
        clock.sleep(TELL).await;
        let (done, total) = (progress.done(), progress.total());
        let percent = (done * 100).checked_div(total).unwrap_or(0);
        let (done_mib, total_mib) = (done / MIB, total.div_ceil(MIB));
        tracing::info!(percent, done_mib, total_mib, "replaying the log");
    }
}

/// Turns readiness red while the store does not do its work.
pub(super) fn watch(store: &Store, readiness: &Readiness, clock: &Clock, tasks: &Tasks) {
    match store {
        Store::Embedded(engine) => watch_engine(engine, readiness, clock, tasks),
        Store::DynamoDb(_) => watch_remote(store.tables(), readiness, tasks),
    }
}

/// Turns readiness red while the engine cannot write: the disk is full or does not answer, or
/// writing has stopped for good.
fn watch_engine(store: &Embedded, readiness: &Readiness, clock: &Clock, tasks: &Tasks) {
    let (store, readiness) = (store.clone(), readiness.clone());
    let mut ticks = tasks.ticks(clock, WATCH);
    tasks.spawn("store watcher", async move {
        let mut looks = 0;
        while ticks.next().await {
            match store.health(PATIENCE) {
                Health::Well => {
                    looks = 0;
                    readiness.set_green(STORE);
                }
                Health::Full => {
                    readiness.set_red(STORE, "the disk is full: nothing can be written");
                    looks += 1;
                    if looks % LOOKS_PER_PROBE == 0 {
                        // Whether there is room again is known by the next look.
                        let _ = Clock::real().timeout(PATIENCE, store.probe()).await;
                    }
                }
                Health::Waiting(_) => {
                    let seconds = PATIENCE.as_secs();
                    let told =
                        format!("the disk does not answer: a write waits for over {seconds} s");
                    readiness.set_red(STORE, told);
                }
                Health::Stopped(why) => {
                    return readiness.set_red(STORE, format!("writing has stopped: {why}"));
                }
            }
        }
    });
}

/// Turns readiness red while a store elsewhere does not answer.
fn watch_remote(store: Arc<dyn Tables>, readiness: &Readiness, tasks: &Tasks) {
    let readiness = readiness.clone();
    // Whether somebody answers over a network is a matter of real time.
    let clock = Clock::real();
    let mut ticks = tasks.ticks(&clock, REMOTE_WATCH);
    tasks.spawn("store watcher", async move {
        while ticks.next().await {
            match clock.timeout(PATIENCE, edge::probe_store(&*store)).await {
                // One that has much to do answers all the same.
                Ok(Ok(()) | Err(Error::Throttled(_))) => readiness.set_green(STORE),
                Ok(Err(error)) => {
                    let told = format!("it does not answer: {error}");
                    readiness.set_red(STORE, hide_passwords(&told));
                }
                Err(_) => {
                    let seconds = PATIENCE.as_secs();
                    readiness.set_red(STORE, format!("it has not answered within {seconds} s"));
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use base::{Clock, Tasks, Timestamp, VirtualTime};
    use edge::Readiness;
    use table::{
        Embedded, Faults, Item, KeyAttribute, KeySpec, MemoryDisk, Options, Put, TableSpec, Tables,
    };

    use super::{LOOKS_PER_PROBE, MIB, WATCH, begin, end, watch_engine};

    struct Watched {
        disk: MemoryDisk,
        store: Embedded,
        time: VirtualTime,
        readiness: Readiness,
        _tasks: Tasks,
    }

    async fn watched() -> Watched {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let (tasks, readiness, disk) = (Tasks::new(), Readiness::new(), MemoryDisk::breakable());
        let options = Options { segment_mib: 1, ..Options::default() };
        let opened = Embedded::on_memory_disk(disk.clone(), options, clock.clone(), &tasks);
        let store = opened.await.unwrap();
        let key = KeySpec::simple(KeyAttribute::s("pk"));
        store.ensure_table(TableSpec::new("things", key)).await.unwrap();
        watch_engine(&store, &readiness, &clock, &tasks);
        time.advance(WATCH).await;
        assert_eq!(readiness.find_reasons(), None);
        Watched { disk, store, time, readiness, _tasks: tasks }
    }

    #[tokio::test]
    async fn readiness_turns_red_when_the_store_stops_writing() {
        let Watched { disk, store, time, readiness, .. } = &watched().await;
        disk.inject(Faults { syncs_fail: true, ..Faults::default() });
        let put = store.put(Put::new("things", Item::new().with("pk", "a"))).await;
        assert!(put.is_err());
        time.advance(WATCH).await;
        let reasons = readiness.find_reasons().unwrap();
        assert!(reasons.starts_with("store: writing has stopped: "), "{reasons}");
    }

    #[tokio::test]
    async fn readiness_is_red_while_the_disk_is_full_and_green_again_without_a_write() {
        let Watched { disk, store, time, readiness, .. } = &watched().await;
        disk.inject(Faults { full: true, ..Faults::default() });
        let large = |number: u32| {
            let item = Item::new().with("pk", number.to_string()).with("body", "x".repeat(300_000));
            store.put(Put::new("things", item))
        };
        let mut number = 0;
        while large(number).await.is_ok() {
            number += 1;
        }
        time.advance(WATCH * LOOKS_PER_PROBE).await;
        let red = "store: the disk is full: nothing can be written";
        assert_eq!(readiness.find_reasons().as_deref(), Some(red));

        disk.inject(Faults::default());
        time.advance(WATCH * (LOOKS_PER_PROBE + 1)).await;
        assert_eq!(readiness.find_reasons(), None);
        large(number).await.unwrap();
    }

    #[test]
    fn a_start_says_how_far_it_has_come() {
        let readiness = Readiness::new();
        let progress = begin(&readiness);
        let reasons = || readiness.find_reasons();
        assert_eq!(reasons().as_deref(), Some("start: the store is being opened"));
        progress.begin(200 * MIB);
        progress.reach(50 * MIB);
        let told = "start: the log is being replayed, 25 % done (50 of 200 MiB)";
        assert_eq!(reasons().as_deref(), Some(told));
        progress.reach(200 * MIB);
        assert_eq!(reasons().as_deref(), Some("start: the rooms are being opened"));
        end(&readiness);
        assert_eq!(reasons(), None);
    }
}

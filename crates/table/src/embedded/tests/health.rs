//! What a store knows of its own state: full, waiting for the disk, stopped, and well again.

use std::time::Duration;

use tokio::task::JoinSet;

use super::small_store::{assert_sound, open, put};
use crate::embedded::{Faults, Health, MemoryDisk};
use crate::error::Error;

/// Longer than any write of these tests takes.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Three of these fill a segment.
const LARGE: usize = 300_000;

#[tokio::test]
async fn a_full_disk_is_known_until_a_probe_finds_room() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    assert_eq!(store.health(PATIENCE), Health::Well);
    disk.inject(Faults { full: true, ..Faults::default() });
    let mut number = 0;
    while put(&store, number, "x".repeat(LARGE)).await.is_ok() {
        number += 1;
    }
    assert_eq!(store.health(PATIENCE), Health::Full);
    disk.inject(Faults::default());
    assert_eq!(store.health(PATIENCE), Health::Full, "nobody has written since");
    store.probe().await.unwrap();
    put(&store, number, "x".repeat(LARGE)).await.unwrap();
    assert_eq!(store.health(PATIENCE), Health::Well);
    assert_sound(&store);
}

#[tokio::test]
async fn a_probe_changes_nothing_and_outlives_a_restart() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    put(&store, 1, "here").await.unwrap();
    let mut feed = store.changes(store.last_change());
    store.probe().await.unwrap();
    put(&store, 2, "there").await.unwrap();
    let next = feed.next().await.unwrap();
    assert_eq!(next.changes.len(), 1);
    assert_eq!(next.changes[0].kind, crate::ChangeKind::Insert);
    assert_sound(&store);
    drop(store);
    let store = open(&disk).await;
    assert_sound(&store);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_waits_for_the_disk_is_known() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    let mut writes = JoinSet::new();
    {
        let _stalled = disk.stall();
        let tables = store.tables.clone();
        writes.spawn(async move { put(&tables, 1, "x").await });
        testkit::wait::until("a write under way", || match store.health(Duration::ZERO) {
            Health::Waiting(_) => Ok(()),
            other => Err(other),
        });
        assert_eq!(store.health(PATIENCE), Health::Well, "it has not waited for long");
    }
    writes.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(store.health(Duration::ZERO), Health::Well);
}

#[tokio::test]
async fn a_store_that_has_stopped_says_why_and_a_probe_too() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    disk.inject(Faults { syncs_fail: true, ..Faults::default() });
    assert!(matches!(store.probe().await, Err(Error::Stopped(_))));
    let Health::Stopped(why) = store.health(PATIENCE) else { panic!("it has stopped") };
    assert!(why.contains("sync failure"), "{why}");
}

#[test]
fn no_room_is_no_room_whatever_the_system_calls_it() {
    use std::io::ErrorKind::{FileTooLarge, PermissionDenied, QuotaExceeded, StorageFull};
    for kind in [FileTooLarge, QuotaExceeded, StorageFull] {
        assert!(matches!(Error::io("writing", &kind.into()), Error::DiskFull), "{kind:?}");
    }
    assert!(matches!(Error::io("writing", &PermissionDenied.into()), Error::Io { .. }));
}

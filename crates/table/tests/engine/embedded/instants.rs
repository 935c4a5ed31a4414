//! A restore to an instant is the store as it was at that instant.

use std::path::Path;

use base::{Random, Timestamp};
use table::{Error, restore};
use testkit::store::{self, Store, small};
use testkit::{depth, seed};

use super::names;
use super::past::{Model, Past, assert_store_is, seen};

/// Restores `source` to `at` and compares.
async fn assert_restores(source: &Path, at: Option<u64>, seen_at: u64, model: &Model) {
    let target = store::quick_directory();
    let restored = restore(source, at, target.path()).unwrap();
    assert_eq!(restored.tables, model.len(), "at {at:?}");
    let now = Timestamp::from_millis(seen_at);
    let store = Store::open(small(target.path()), now).await.unwrap();
    assert_store_is(&store, model).await;
}

/// So many instants, a multiple of four.
fn pick_instants(random: &Random, past: &Past, count: usize) -> Vec<u64> {
    let (first, last) = (*past.instants.keys().next().unwrap(), past.now().millis());
    let anywhere = (0..count / 2).map(|_| first + random.below(last - first));
    // At the very instant, and one before it.
    let known: Vec<u64> = past.instants.keys().copied().collect();
    let exactly = (0..count / 4).map(|_| *random.pick(&known).unwrap());
    let just_before = (0..count / 4).map(|_| *random.pick(&known).unwrap() - 1);
    anywhere.chain(exactly).chain(just_before).collect()
}

async fn tell_a_history(seed: u64, steps: u32) {
    let directory = store::quick_directory();
    let mut past = Past::begin(directory.path(), seed).await;
    for _ in 0..steps {
        past.step().await;
    }
    past.step_out_of_this_instant().await;
    let random = Random::seeded(seed).fork("instants");
    assert!(!names(&directory.path().join("checkpoints")).is_empty(), "there are checkpoints");
    assert!(!past.backups.is_empty(), "there are backups");
    assert!(names(&directory.path().join("log")).len() > 3, "there are segments");
    let instants = pick_instants(&random, &past, depth::pick(8, 20));
    for at in &instants {
        assert_restores(directory.path(), Some(*at), *at, &past.at(*at)).await;
    }
    // Everything up to now, from the open store.
    let (now, model) = (past.now(), past.model.clone());
    assert_restores(directory.path(), None, now.millis(), &seen(&model, now)).await;
    // Backups: as they are, and as they were at an instant that they reach back to.
    for (backup, made, model) in past.backups.iter().rev().take(4) {
        let then = Timestamp::from_millis(*made);
        assert_restores(backup, None, *made, &seen(model, then)).await;
        table::verify(backup).unwrap();
        let reachable = restore(backup, Some(*made - 1), tempfile::tempdir().unwrap().path());
        match reachable {
            Ok(_) => assert_restores(backup, Some(*made - 1), *made - 1, &past.at(*made - 1)).await,
            Err(Error::Invalid(why)) => assert!(why.contains("begins at"), "{why}"),
            Err(other) => panic!("{other}"),
        }
    }
    // The same from the closed store.
    let closed: Vec<(u64, Model)> = instants.iter().take(3).map(|at| (*at, past.at(*at))).collect();
    past.store.close().unwrap();
    drop(past);
    for (at, model) in closed {
        assert_restores(directory.path(), Some(at), at, &model).await;
    }
}

#[testkit::test]
async fn random_instants_of_a_random_history_come_back() {
    for seed in seed::several(depth::pick(1, 2)) {
        tell_a_history(seed, 700).await;
    }
}

#[testkit::test]
async fn a_restore_leaves_nothing_behind_when_it_fails() {
    let directory = tempfile::tempdir().unwrap();
    let past = Past::begin(directory.path(), 3).await;
    let target = tempfile::tempdir().unwrap();
    let segments = directory.path().join("log");
    past.store.close().unwrap();
    drop(past);
    let first = segments.join(&names(&segments)[0]);
    let mut bytes = std::fs::read(&first).unwrap();
    bytes[60] ^= 1;
    std::fs::write(&first, bytes).unwrap();
    let restored = restore(directory.path(), None, target.path());
    assert!(matches!(restored, Err(Error::Corrupt { .. })), "{restored:?}");
    assert_eq!(names(target.path()), Vec::<String>::new());
    let nowhere = directory.path().join("nowhere");
    assert!(matches!(restore(&nowhere, None, target.path()), Err(Error::Invalid(_))));
    assert!(!nowhere.exists(), "asking for a store does not make one");
    std::fs::write(target.path().join("letter"), "mine").unwrap();
    assert!(matches!(restore(directory.path(), None, target.path()), Err(Error::Invalid(_))));
    assert_eq!(names(target.path()), ["letter"], "what was there before stays");
}

//! The past is kept as long as was promised, and no longer.

use std::path::Path;
use std::time::Duration;

use base::Timestamp;
use table::{Error, Item, KeyAttribute, KeySpec, Options, Put, TableSpec, Tables, restore};
use testkit::store::{self, START, Store, small};

use super::{assert_sound, names, scan};

const HOUR: Duration = Duration::from_secs(3600);

/// Writes more than a segment, settles it, and lets the archivist come.
async fn live_an_hour(store: &Store, hour: u64) {
    for number in 0..4_u64 {
        let item = Item::new().with("id", format!("id-{number}")).with("hour", hour);
        let item = item.with("pad", "p".repeat(300_000));
        store.put(Put::new("things", item)).await.unwrap();
    }
    store.settle().await.unwrap();
    let later = store.clock.now().checked_add(HOUR - Duration::from_secs(61)).unwrap();
    store.time.set_wall(later).await;
    store.time.advance(Duration::from_secs(61)).await;
}

async fn open(options: &Options) -> Store {
    let store = Store::open(options.clone(), START).await.unwrap();
    let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
    store.ensure_table(spec).await.unwrap();
    store
}

/// The hour that all things of the restored store tell.
async fn restored_hour(source: &Path, at: Timestamp) -> Result<u64, Error> {
    let target = store::quick_directory();
    restore(source, Some(at.millis()), target.path())?;
    let store = Store::open(small(target.path()), at).await?;
    assert_sound(&store).await;
    let items = scan(&store, "things").await;
    assert_eq!(items.len(), 4);
    let hours = items.values().map(|item| item.get("hour").unwrap().as_n().unwrap().floor_u64());
    let hours: Vec<u64> = hours.map(Option::unwrap).collect();
    assert!(hours.iter().all(|hour| *hour == hours[0]), "{hours:?}");
    Ok(hours[0])
}

fn hour(number: u64) -> Timestamp {
    START.checked_add(HOUR * u32::try_from(number).unwrap()).unwrap()
}

#[testkit::test]
async fn every_hour_within_the_promised_days_comes_back_and_older_ones_are_gone() {
    let directory = store::quick_directory();
    let options = Options { history_days: 1, checkpoint_hours: 3, ..small(directory.path()) };
    let store = open(&options).await;
    let checkpoints = directory.path().join("checkpoints");
    let log = directory.path().join("log");
    for number in 0..20 {
        live_an_hour(&store, number).await;
    }
    // Younger than the promise: everything is there, though there are many checkpoints.
    for number in [0, 1, 5, 13, 19] {
        let at = hour(number).checked_add(HOUR / 2).unwrap();
        assert_eq!(restored_hour(directory.path(), at).await.unwrap(), number);
    }
    let kept = names(&log).len();
    for number in 20..50 {
        live_an_hour(&store, number).await;
        assert!(names(&checkpoints).len() <= 4, "{:?}", names(&checkpoints));
    }
    for number in [26, 30, 40, 49] {
        let at = hour(number).checked_add(HOUR / 2).unwrap();
        assert_eq!(restored_hour(directory.path(), at).await.unwrap(), number);
    }
    let early = restored_hour(directory.path(), hour(10)).await;
    let Err(Error::Invalid(why)) = early else { panic!("{early:?}") };
    assert!(why.contains("the past that is kept begins at 2027-01-"), "{why}");
    // Old segments are gone: two days take little more room than one.
    assert!(names(&log).len() < kept * 2, "{} segments, {kept} before", names(&log).len());
    assert!(!names(&log).contains(&"0000000001.log".to_owned()));
    assert_sound(&store).await;
    let mut feed = store.changes(1);
    assert!(matches!(feed.try_next(), Err(Error::TooOld { after: 1, .. })));
}

#[testkit::test]
async fn the_log_does_not_outgrow_its_room() {
    let directory = store::quick_directory();
    let options = Options { history_gib: 0, ..small(directory.path()) };
    let store = open(&options).await;
    for number in 0..6 {
        live_an_hour(&store, number).await;
        // What is not in a checkpoint yet, the segment in use, and the one prepared.
        assert!(names(&directory.path().join("log")).len() <= 4);
        assert_eq!(names(&directory.path().join("checkpoints")).len(), 1);
    }
    assert_eq!(restored_hour(directory.path(), store.clock.now()).await.unwrap(), 5);
    assert!(restored_hour(directory.path(), hour(2)).await.is_err());
    store.close().unwrap();
    drop(store);
    let store = Store::open(options, hour(7)).await.unwrap();
    assert_eq!(scan(&store, "things").await.len(), 4);
    assert_sound(&store).await;
}

#[testkit::test]
async fn a_follower_that_is_too_slow_is_told_and_does_not_miss_in_silence() {
    let directory = store::quick_directory();
    let options = Options { history_gib: 0, ..small(directory.path()) };
    let store = open(&options).await;
    live_an_hour(&store, 0).await;
    let mut feed = store.changes(store.last_change());
    store.put(Put::new("things", Item::new().with("id", "read"))).await.unwrap();
    assert!(feed.next().await.is_ok());
    for number in 1..5 {
        live_an_hour(&store, number).await;
    }
    // It may still hold the segment it was reading, but not those between.
    let mut last = 0;
    let told = loop {
        match feed.try_next() {
            Ok(Some(changes)) => {
                assert!(last == 0 || changes.seq == last + 1, "{} after {last}", changes.seq);
                last = changes.seq;
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(matches!(told, Some(Error::TooOld { .. })), "{told:?}");
}

/// Lets so many days pass, and the archivist come.
async fn live_days(store: &Store, days: u64) {
    let later = store.clock.now().checked_add(HOUR * 24 * u32::try_from(days).unwrap()).unwrap();
    store.time.set_wall(later).await;
    store.time.advance(Duration::from_secs(61)).await;
}

async fn make_backup(store: &Store, number: u64) -> String {
    let item = Item::new().with("id", number.to_string());
    store.put(Put::new("things", item)).await.unwrap();
    store.backups().create().await.unwrap().id
}

fn ids(store: &Store) -> Vec<String> {
    store.backups().list().unwrap().into_iter().map(|backup| backup.id).collect()
}

#[testkit::test]
async fn a_backup_is_kept_for_its_days_and_the_newest_for_good() {
    let directory = store::quick_directory();
    let options = Options { backup_days: 90, ..small(directory.path()) };
    let store = open(&options).await;
    let first = make_backup(&store, 1).await;
    live_days(&store, 60).await;
    let second = make_backup(&store, 2).await;
    live_days(&store, 29).await;
    assert_eq!(ids(&store), [first, second.clone()]);
    live_days(&store, 1).await;
    assert_eq!(ids(&store), [second.as_str()], "ninety days and a minute");
    live_days(&store, 400).await;
    assert_eq!(ids(&store), [second.as_str()], "the newest stays");
    // What is damaged is nobody's to judge, and holds up nothing.
    let third = make_backup(&store, 3).await;
    let manifest = directory.path().join("backups").join(&third).join("backup.json");
    std::fs::write(&manifest, "{").unwrap();
    let fourth = make_backup(&store, 4).await;
    live_days(&store, 91).await;
    assert_eq!(names(&directory.path().join("backups")), [third.clone(), fourth]);
    // It can be removed by name, and so can nothing else.
    assert!(store.backups().delete(&third).await.unwrap());
    for none in [third.as_str(), "..", ".", "", "../log", ".unfinished"] {
        assert!(!store.backups().delete(none).await.unwrap(), "{none}");
    }
}

#[testkit::test]
async fn backups_without_an_end_stay() {
    let directory = store::quick_directory();
    let options = Options { backup_days: 0, ..small(directory.path()) };
    let store = open(&options).await;
    let (first, second) = (make_backup(&store, 1).await, make_backup(&store, 2).await);
    live_days(&store, 4_000).await;
    assert_eq!(ids(&store), [first, second]);
}

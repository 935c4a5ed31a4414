//! The past is kept as long as was promised, and no longer.

use std::path::Path;
use std::time::Duration;

use base::Timestamp;
use table::{Error, Item, KeyAttribute, KeySpec, Options, Put, TableSpec, Tables, restore};

use super::support::{House, START, assert_sound, names, scan, small, try_open};

const HOUR: Duration = Duration::from_secs(3600);

/// Writes more than a segment, settles it, and lets the archivist come.
async fn live_an_hour(house: &House, hour: u64) {
    for number in 0..5_u64 {
        let item = Item::new().with("id", format!("id-{number}")).with("hour", hour);
        let item = item.with("pad", "p".repeat(300_000));
        house.put(Put::new("things", item)).await.unwrap();
    }
    house.settle().await.unwrap();
    let later = house.clock.now().checked_add(HOUR - Duration::from_secs(61)).unwrap();
    house.time.set_wall(later).await;
    house.time.advance(Duration::from_secs(61)).await;
}

async fn open(options: &Options) -> House {
    let house = try_open(options.clone(), START).await.unwrap();
    let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
    house.ensure_table(spec).await.unwrap();
    house
}

/// The hour that all things of the restored house tell.
async fn restored_hour(source: &Path, at: Timestamp) -> Result<u64, Error> {
    let target = tempfile::tempdir().unwrap();
    restore(source, Some(at.millis()), target.path())?;
    let house = try_open(small(target.path()), at).await?;
    assert_sound(&house).await;
    let items = scan(&house, "things").await;
    assert_eq!(items.len(), 5);
    let hours = items.values().map(|item| item.get("hour").unwrap().as_n().unwrap().floor_u64());
    let hours: Vec<u64> = hours.map(Option::unwrap).collect();
    assert!(hours.iter().all(|hour| *hour == hours[0]), "{hours:?}");
    Ok(hours[0])
}

fn hour(number: u64) -> Timestamp {
    START.checked_add(HOUR * u32::try_from(number).unwrap()).unwrap()
}

#[tokio::test]
async fn every_hour_within_the_promised_days_comes_back_and_older_ones_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history_days: 1, checkpoint_hours: 3, ..small(directory.path()) };
    let house = open(&options).await;
    let checkpoints = directory.path().join("checkpoints");
    let log = directory.path().join("log");
    for number in 0..20 {
        live_an_hour(&house, number).await;
    }
    // Younger than the promise: everything is there, though there are many checkpoints.
    for number in [0, 1, 5, 13, 19] {
        let at = hour(number).checked_add(HOUR / 2).unwrap();
        assert_eq!(restored_hour(directory.path(), at).await.unwrap(), number);
    }
    let kept = names(&log).len();
    for number in 20..70 {
        live_an_hour(&house, number).await;
        assert!(names(&checkpoints).len() <= 4, "{:?}", names(&checkpoints));
    }
    for number in [46, 50, 60, 69] {
        let at = hour(number).checked_add(HOUR / 2).unwrap();
        assert_eq!(restored_hour(directory.path(), at).await.unwrap(), number);
    }
    let early = restored_hour(directory.path(), hour(10)).await;
    let Err(Error::Invalid(why)) = early else { panic!("{early:?}") };
    assert!(why.contains("the past that is kept begins at 2027-01-"), "{why}");
    // Old segments are gone: three days take little more room than one.
    assert!(names(&log).len() < kept * 2, "{} segments, {kept} before", names(&log).len());
    assert!(!names(&log).contains(&"0000000001.log".to_owned()));
    assert_sound(&house).await;
    let mut feed = house.changes(1);
    assert!(matches!(feed.try_next(), Err(Error::TooOld { after: 1, .. })));
}

#[tokio::test]
async fn the_log_does_not_outgrow_its_room() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history_gib: 0, ..small(directory.path()) };
    let house = open(&options).await;
    for number in 0..6 {
        live_an_hour(&house, number).await;
        // What is not in a checkpoint yet, the segment in use, and the one prepared.
        assert!(names(&directory.path().join("log")).len() <= 4);
        assert_eq!(names(&directory.path().join("checkpoints")).len(), 1);
    }
    assert_eq!(restored_hour(directory.path(), house.clock.now()).await.unwrap(), 5);
    assert!(restored_hour(directory.path(), hour(2)).await.is_err());
    house.close().unwrap();
    drop(house);
    let house = try_open(options, hour(7)).await.unwrap();
    assert_eq!(scan(&house, "things").await.len(), 5);
    assert_sound(&house).await;
}

#[tokio::test]
async fn a_follower_that_is_too_slow_is_told_and_does_not_miss_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history_gib: 0, ..small(directory.path()) };
    let house = open(&options).await;
    live_an_hour(&house, 0).await;
    let mut feed = house.changes(house.last_change());
    house.put(Put::new("things", Item::new().with("id", "read"))).await.unwrap();
    assert!(feed.next().await.is_ok());
    for number in 1..5 {
        live_an_hour(&house, number).await;
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

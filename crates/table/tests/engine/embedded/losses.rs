//! Files and directories that are taken away from a store, open or not: it says so by name, and
//! acknowledges nothing that the next start would not find.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use table::{Error, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables, restore};
use testkit::store::{START, Store, small};
use testkit::wait;

use super::{assert_sound, names, scan};

/// Two or three of these fill a segment of the smallest store.
const LARGE: usize = 300_000;

async fn open(path: &Path) -> Store {
    let store = Store::small(path).await;
    let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
    store.ensure_table(spec).await.unwrap();
    store
}

async fn reopen(path: &Path) -> Result<Store, Error> {
    Store::open(small(path), START).await
}

async fn put(store: &Store, number: u64, length: usize) -> Result<(), Error> {
    let item = Item::new().with("id", format!("id-{number}")).with("pad", "p".repeat(length));
    store.put(Put::new("things", item)).await.map(drop)
}

/// Writes so many large things, from one on.
async fn fill(store: &Store, count: u64) {
    for number in 1..=count {
        put(store, number, LARGE).await.unwrap();
    }
}

/// All segments but one that is being made.
fn segments(path: &Path) -> Vec<PathBuf> {
    let log = path.join("log");
    let names = names(&log).into_iter().filter(|name| name.ends_with(".log"));
    names.map(|name| log.join(name)).collect()
}

/// The directory of an open store as a kill would leave it now.
fn killed(path: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for folder in ["", "log", "settled"] {
        fs::create_dir_all(copy.path().join(folder)).unwrap();
        for name in names(&path.join(folder)) {
            let from = path.join(folder).join(&name);
            if from.is_file() {
                fs::copy(from, copy.path().join(folder).join(name)).unwrap();
            }
        }
    }
    copy
}

/// Asserts that the store does not open or restore, and names that segment as missing.
#[track_caller]
fn assert_missing<T>(opened: Result<T, Error>, segment: &Path) {
    let opened = opened.map(drop);
    let Err(Error::Corrupt { file, what, .. }) = opened else {
        panic!("without {}: {opened:?}", segment.display());
    };
    let name = segment.file_name().unwrap().to_str().unwrap();
    assert_eq!(file, format!("log/{name}"));
    assert!(what.contains("missing"), "{what}");
}

#[testkit::test]
async fn a_missing_segment_is_named_whichever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fill(&store, 10).await;
    drop(store);
    let segments = segments(directory.path());
    assert!(segments.len() >= 4, "{segments:?}");
    for segment in &segments {
        let bytes = fs::read(segment).unwrap();
        fs::remove_file(segment).unwrap();
        assert_missing(reopen(directory.path()).await, segment);
        fs::write(segment, bytes).unwrap();
    }
    // All of them, with the directory that they lie in.
    let log = directory.path().join("log");
    let aside = directory.path().join("aside");
    fs::rename(&log, &aside).unwrap();
    assert_missing(reopen(directory.path()).await, &segments[0]);
    fs::remove_dir_all(&log).unwrap();
    fs::rename(&aside, &log).unwrap();
    let store = reopen(directory.path()).await.unwrap();
    assert_eq!(scan(&store, "things").await.len(), 10);
    assert_sound(&store).await;
}

#[testkit::test]
async fn a_restore_names_a_missing_segment_whichever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fill(&store, 10).await;
    let target = tempfile::tempdir().unwrap();
    let restore = || restore(directory.path(), None, target.path());
    // While the store is open; the last segment may be one that is prepared.
    let first = segments(directory.path()).remove(0);
    let aside = directory.path().join("aside");
    for segment in &segments(directory.path())[..3] {
        fs::rename(segment, &aside).unwrap();
        assert_missing(restore(), segment);
        fs::rename(&aside, segment).unwrap();
    }
    drop(store);
    let segments = segments(directory.path());
    assert!(segments.len() >= 4, "{segments:?}");
    for segment in &segments {
        fs::rename(segment, &aside).unwrap();
        assert_missing(restore(), segment);
        assert_eq!(names(target.path()), Vec::<String>::new());
        fs::rename(&aside, segment).unwrap();
    }
    for segment in &segments {
        fs::rename(segment, segment.with_extension("aside")).unwrap();
    }
    assert_missing(restore(), &first);
    for segment in &segments {
        fs::rename(segment.with_extension("aside"), segment).unwrap();
    }
    let log = directory.path().join("log");
    fs::rename(&log, &aside).unwrap();
    let restored = restore();
    assert!(matches!(&restored, Err(Error::Corrupt { file, .. }) if file == "log"), "{restored:?}");
    fs::rename(&aside, &log).unwrap();
    assert_eq!(restore().unwrap().items, 10);
}

#[testkit::test]
async fn a_restore_goes_on_without_a_segment_of_which_it_needs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fill(&store, 5).await;
    let early = store.clock.now();
    store.time.advance(Duration::from_secs(60)).await;
    fill(&store, 10).await;
    drop(store);
    // Everything of it is later than the instant.
    let newest = segments(directory.path()).pop().unwrap();
    fs::remove_file(&newest).unwrap();
    let target = tempfile::tempdir().unwrap();
    let refused = restore(directory.path(), None, target.path());
    assert!(refused.as_ref().unwrap_err().to_string().contains("2027-01-15T08:00:59.999Z"));
    assert_missing(refused, &newest);
    for instant in [early.millis(), early.millis() + 59_999] {
        let target = tempfile::tempdir().unwrap();
        let restored = restore(directory.path(), Some(instant), target.path()).unwrap();
        assert_eq!(restored.items, 5);
    }
}

#[testkit::test]
async fn a_settled_log_that_is_gone_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fill(&store, 5).await;
    store.close().unwrap();
    drop(store);
    let segments = segments(directory.path());
    fs::remove_dir_all(directory.path().join("log")).unwrap();
    assert_missing(reopen(directory.path()).await, &segments[0]);
}

#[testkit::test]
async fn the_segment_that_a_killed_store_wrote_to_is_named_and_the_one_it_prepared_is_not_missed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fill(&store, 7).await;
    let prepared = wait::until("a prepared segment", || {
        let last = segments(directory.path()).pop().unwrap();
        let is_empty = fs::read(&last).unwrap().iter().all(|byte| *byte == 0);
        if is_empty { Ok(last) } else { Err(last) }
    });
    let name = |path: &Path| path.file_name().unwrap().to_owned();
    let written = segments(directory.path()).into_iter().rev().nth(1).unwrap();

    let without_prepared = killed(directory.path());
    fs::remove_file(without_prepared.path().join("log").join(name(&prepared))).unwrap();
    let found = reopen(without_prepared.path()).await.unwrap();
    assert_eq!(scan(&found, "things").await.len(), 7);
    assert_sound(&found).await;
    drop(found);
    let without_prepared = killed(directory.path());
    fs::remove_file(without_prepared.path().join("log").join(name(&prepared))).unwrap();
    let target = tempfile::tempdir().unwrap();
    assert_eq!(restore(without_prepared.path(), None, target.path()).unwrap().items, 7);

    for also_prepared in [false, true] {
        let without_written = killed(directory.path());
        let log = without_written.path().join("log");
        fs::remove_file(log.join(name(&written))).unwrap();
        if also_prepared {
            fs::remove_file(log.join(name(&prepared))).unwrap();
        }
        let target = tempfile::tempdir().unwrap();
        assert_missing(restore(without_written.path(), None, target.path()), &written);
        assert_missing(reopen(without_written.path()).await, &written);
    }
}

#[testkit::test]
async fn the_newest_segment_cut_anywhere_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    for number in 0..20 {
        put(&store, number, 100).await.unwrap();
    }
    let killed = killed(directory.path());
    drop(store);
    let segment = segments(killed.path()).remove(0);
    let bytes = fs::read(&segment).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let frames = bytes.windows(4).enumerate().filter(|(_, window)| *window == b"NGYF");
    // Between two frames, and within them.
    let cuts = frames.flat_map(|(start, _)| [start, start + 40, start + 60]);
    for length in cuts.chain([written - 1]).filter(|length| *length < written) {
        fs::write(&segment, &bytes[..length]).unwrap();
        let opened = reopen(killed.path()).await.map(drop);
        let Err(Error::Corrupt { file, .. }) = opened else {
            panic!("cut to {length} of {written} written bytes: {opened:?}");
        };
        assert_eq!(file, "log/0000000001.log");
    }
    fs::write(&segment, &bytes).unwrap();
    assert_eq!(scan(&reopen(killed.path()).await.unwrap(), "things").await.len(), 20);
}

#[testkit::test]
async fn a_directory_without_a_list_of_segments_opens_and_gets_one() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fill(&store, 5).await;
    drop(store);
    // As earlier versions left it.
    fs::remove_file(directory.path().join("SEGMENTS")).unwrap();
    let store = reopen(directory.path()).await.unwrap();
    assert_eq!(scan(&store, "things").await.len(), 5);
    drop(store);
    let newest = segments(directory.path()).pop().unwrap();
    fs::remove_file(&newest).unwrap();
    assert_missing(reopen(directory.path()).await, &newest);
}

#[testkit::test]
async fn a_list_that_an_earlier_version_did_not_continue_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("SEGMENTS");
    let store = open(directory.path()).await;
    fill(&store, 5).await;
    drop(store);
    let before = fs::read(&list).unwrap();
    let store = reopen(directory.path()).await.unwrap();
    fill(&store, 8).await;
    store.close().unwrap();
    drop(store);
    // That version wrote on, and dropped the oldest segment, of which all is settled.
    fs::write(&list, before).unwrap();
    let segments = segments(directory.path());
    fs::remove_file(&segments[0]).unwrap();
    let store = reopen(directory.path()).await.unwrap();
    assert_eq!(scan(&store, "things").await.len(), 8);
    drop(store);
    fs::remove_file(&segments[1]).unwrap();
    assert_missing(reopen(directory.path()).await, &segments[1]);
}

#[testkit::test]
async fn a_damaged_list_of_segments_is_named() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).await);
    fs::write(directory.path().join("SEGMENTS"), "1-2\n").unwrap();
    let opened = reopen(directory.path()).await.map(drop);
    assert!(
        matches!(&opened, Err(Error::Corrupt { file, .. }) if file == "SEGMENTS"),
        "{opened:?}"
    );
}

#[testkit::test]
async fn a_check_of_an_open_store_names_a_segment_that_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fill(&store, 7).await;
    assert_sound(&store).await;
    fs::remove_file(&segments(directory.path())[0]).unwrap();
    let problems = store.check().await.unwrap().problems;
    assert!(problems[0].starts_with("`log/0000000001.log` is damaged at byte 0: "), "{problems:?}");
}

#[testkit::test]
async fn a_second_opener_is_refused_though_the_lock_file_was_removed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    fs::remove_file(directory.path().join("LOCK")).unwrap();
    let opened = reopen(directory.path()).await.map(drop);
    assert!(matches!(opened, Err(Error::InUse(_))), "{opened:?}");
    put(&store, 1, 10).await.unwrap();
    drop(store);
    assert!(reopen(directory.path()).await.is_ok());
}

#[testkit::test]
async fn nothing_is_acknowledged_after_the_directory_was_removed() {
    let parent = tempfile::tempdir().unwrap();
    let (path, aside) = (parent.path().join("house"), parent.path().join("aside"));
    let store = open(&path).await;
    put(&store, 1, 10).await.unwrap();
    // Moved first: nobody makes another file in what is being removed.
    fs::rename(&path, &aside).unwrap();
    fs::remove_dir_all(&aside).unwrap();
    let refused = put(&store, 2, 10).await;
    let Err(Error::Stopped(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("removed"), "{why}");
    assert!(store.stopped().is_some());
    assert_eq!(scan(&store, "things").await.len(), 1, "reads go on");
}

#[testkit::test]
async fn the_writer_stops_when_the_directory_is_moved_or_a_part_of_it_is_removed() {
    for part in ["", "log", "settled", "settled/data.mdb"] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("house");
        let store = open(&path).await;
        put(&store, 1, 10).await.unwrap();
        let (place, aside) = (path.join(part), parent.path().join("aside"));
        fs::rename(&place, &aside).unwrap();
        let why = wait::until("a stopped writer", || store.stopped().ok_or("it writes"));
        let named = format!("`{}`", place.components().collect::<PathBuf>().display());
        assert!(why.starts_with(&named) && why.contains("moved"), "{part}: {why}");
        assert!(matches!(put(&store, 2, 10).await, Err(Error::Stopped(_))));
        drop(store);
        // Nothing was lost: it is all there where it was moved from.
        fs::rename(&aside, &place).unwrap();
        assert_eq!(scan(&reopen(&path).await.unwrap(), "things").await.len(), 1);
    }
}

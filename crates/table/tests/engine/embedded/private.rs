//! Who may read the files of a store: its owner, and nobody else.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::{Clock, Tasks};
use rustix::fs::Mode;
use rustix::process::umask;
use table::{
    Embedded, Item, KeyAttribute, KeySpec, Options, Progress, Put, TableSpec, Tables, restore,
};
use testkit::store::{self, START, Store, small};

/// Everything below a path, with its mode.
fn modes(path: &Path, found: &mut Vec<(PathBuf, u32)>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    found.push((path.to_owned(), metadata.permissions().mode() & 0o777));
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            modes(&entry.unwrap().path(), found);
        }
    }
}

/// All that lies there is its owner's alone; answers how much it is.
#[track_caller]
fn assert_private(path: &Path) -> usize {
    let mut found = Vec::new();
    modes(path, &mut found);
    let wrong: Vec<_> = found
        .iter()
        .filter(|(path, mode)| *mode != if path.is_dir() { 0o700 } else { 0o600 })
        .map(|(path, mode)| format!("{} {mode:o}", path.display()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    found.len()
}

async fn fill(store: &Embedded) {
    let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
    store.ensure_table(spec).await.unwrap();
    for number in 0..8 {
        let item = Item::new().with("id", number.to_string()).with("pad", "p".repeat(300_000));
        store.put(Put::new("things", item)).await.unwrap();
    }
    store.settle().await.unwrap();
}

#[testkit::test]
async fn everything_that_a_store_makes_is_private_whatever_the_umask() {
    let parent = store::quick_directory();
    umask(Mode::empty());
    let house = parent.path().join("deep/house");
    let options = Options { checkpoint_hours: 1, ..small(&house) };
    let store = Store::open(options, START).await.unwrap();
    fill(&store).await;
    let backup = store.backups().create().await.unwrap();
    let later = store.clock.now().checked_add(Duration::from_secs(3 * 3600)).unwrap();
    store.time.set_wall(later).await;
    store.time.advance(Duration::from_secs(61)).await;
    assert_eq!(fs::read_dir(house.join("checkpoints")).unwrap().count(), 1);
    assert!(assert_private(&house) >= 14, "there are a log, a tree, a backup and a checkpoint");
    let restored = parent.path().join("restored");
    restore(&backup.path, None, &restored).unwrap();
    assert_private(&restored);
}

#[testkit::test]
async fn a_store_that_others_could_read_is_closed_to_them_and_what_lies_beside_it_is_left() {
    let directory = store::quick_directory();
    let house = directory.path();
    let store = Store::open(small(house), START).await.unwrap();
    fill(&store).await;
    let backup = store.backups().create().await.unwrap();
    drop(store);
    fs::write(house.join("notes.txt"), "not the store's").unwrap();
    let mut found = Vec::new();
    modes(house, &mut found);
    for (path, _) in found {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    // A backup that others may read restores to a house that they may not.
    let restored = directory.path().with_extension("restored");
    restore(&backup.path, None, &restored).unwrap();
    assert_private(&restored);
    fs::remove_dir_all(&restored).unwrap();

    drop(Store::open(small(house), START).await.unwrap());
    let notes = house.join("notes.txt");
    assert_eq!(fs::metadata(&notes).unwrap().permissions().mode() & 0o777, 0o644);
    fs::remove_file(notes).unwrap();
    assert_private(house);
}

#[testkit::test]
async fn a_start_tells_how_much_of_its_log_it_has_read() {
    let directory = store::quick_directory();
    let store = Store::open(small(directory.path()), START).await.unwrap();
    fill(&store).await;
    drop(store);
    let log = fs::read_dir(directory.path().join("log")).unwrap();
    let bytes: u64 = log.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    let (progress, tasks) = (Progress::new(), Tasks::new());
    let (clock, _time) = Clock::virtual_at(START);
    let opened = Embedded::open_telling(small(directory.path()), clock, &tasks, &progress);
    opened.await.unwrap().close().unwrap();
    assert!(bytes > 2_000_000, "{bytes}");
    assert_eq!((progress.done(), progress.total()), (bytes, bytes));
}

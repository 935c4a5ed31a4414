//! Files that are damaged, missing, strange or taken: a clear error, and nothing lost in silence.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use table::{Error, Get, Item, KeyAttribute, KeySpec, Put, TableSpec, Tables, verify};

use testkit::store::{START, Store, small};

use super::{assert_sound, names, scan};

async fn open_with_things(path: &Path) -> Store {
    let store = Store::small(path).await;
    let by_group = KeySpec::simple(KeyAttribute::s("group"));
    let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
    store.ensure_table(spec.index("by-group", by_group)).await.unwrap();
    store
}

async fn put(store: &Store, number: u64, length: usize) {
    let item = Item::new().with("id", format!("id-{number}")).with("group", "all");
    store.put(Put::new("things", item.with("pad", "p".repeat(length)))).await.unwrap();
}

async fn reopen(path: &Path) -> Result<Store, Error> {
    Store::open(small(path), START).await
}

/// Flips one bit of a file, and back.
fn flip(file: &Path, offset: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 4], offset).unwrap();
}

fn segments(path: &Path) -> Vec<PathBuf> {
    let log = path.join("log");
    names(&log).into_iter().map(|name| log.join(name)).collect()
}

#[testkit::test]
async fn a_second_opener_is_refused_and_the_first_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with_things(directory.path()).await;
    let Err(Error::InUse(path)) = reopen(directory.path()).await.map(drop) else {
        panic!("two houses in one directory");
    };
    assert_eq!(path, directory.path().display().to_string());
    put(&store, 1, 10).await;
    drop(store);
    assert!(reopen(directory.path()).await.is_ok());
}

#[testkit::test]
async fn another_format_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    drop(open_with_things(directory.path()).await);
    let format = directory.path().join("FORMAT");
    let known = std::fs::read_to_string(&format).unwrap();
    std::fs::write(&format, "nagaya 999\n").unwrap();
    let before = names(&directory.path().join("log"));
    let Err(Error::UnknownFormat { found, .. }) = reopen(directory.path()).await.map(drop) else {
        panic!("a format of the future was opened");
    };
    assert_eq!(found, "nagaya 999");
    assert_eq!(names(&directory.path().join("log")), before);
    std::fs::write(&format, known).unwrap();
    assert!(reopen(directory.path()).await.is_ok());
}

#[testkit::test]
async fn a_flipped_bit_in_the_log_keeps_the_house_shut_until_it_is_mended() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with_things(directory.path()).await;
    for number in 0..20 {
        put(&store, number, 100).await;
    }
    drop(store);
    let segment = segments(directory.path()).remove(0);
    let length = std::fs::metadata(&segment).unwrap().len();
    // Sealed: every byte of it says something.
    for offset in (0..length).step_by(97).chain([length - 1]) {
        flip(&segment, offset);
        let Err(Error::Corrupt { file, offset: told, .. }) =
            reopen(directory.path()).await.map(drop)
        else {
            panic!("nobody noticed byte {offset} of {length}");
        };
        assert_eq!(file, "log/0000000001.log");
        assert!(told <= offset && offset < told + 500, "{offset} was told as {told}");
        flip(&segment, offset);
    }
    let store = reopen(directory.path()).await.unwrap();
    assert_eq!(scan(&store, "things").await.len(), 20);
    assert_sound(&store).await;
}

#[testkit::test]
async fn a_cut_or_missing_segment_keeps_the_house_shut() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with_things(directory.path()).await;
    for number in 0..15 {
        put(&store, number, 200_000).await;
    }
    drop(store);
    let segments = segments(directory.path());
    assert!(segments.len() >= 3, "{segments:?}");
    let middle = &segments[1];
    let bytes = std::fs::read(middle).unwrap();
    for length in [0, 1, 40, bytes.len() / 2, bytes.len() - 48, bytes.len() - 1] {
        std::fs::write(middle, &bytes[..length]).unwrap();
        let opened = reopen(directory.path()).await.map(drop);
        let Err(Error::Corrupt { file, .. }) = opened else {
            panic!("cut to {length}: {opened:?}")
        };
        assert_eq!(file, "log/0000000002.log");
    }
    std::fs::remove_file(middle).unwrap();
    let opened = reopen(directory.path()).await.map(drop);
    let Err(Error::Corrupt { file, what, .. }) = opened else { panic!("{opened:?}") };
    assert!(file == "log/0000000002.log" && what.contains("missing"), "{file}: {what}");
    std::fs::write(middle, &bytes).unwrap();
    let store = reopen(directory.path()).await.unwrap();
    assert_eq!(scan(&store, "things").await.len(), 15);
}

#[testkit::test]
async fn a_log_that_ends_before_the_tree_keeps_the_house_shut() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with_things(directory.path()).await;
    put(&store, 1, 10).await;
    drop(store);
    let early = std::fs::read(&segments(directory.path())[0]).unwrap();
    let store = reopen(directory.path()).await.unwrap();
    put(&store, 2, 10).await;
    store.close().unwrap();
    drop(store);
    for segment in segments(directory.path()) {
        std::fs::remove_file(segment).unwrap();
    }
    std::fs::write(directory.path().join("log/0000000001.log"), early).unwrap();
    // As it was before there was a list of segments.
    std::fs::remove_file(directory.path().join("SEGMENTS")).unwrap();
    let opened = reopen(directory.path()).await.map(drop);
    let Err(Error::Corrupt { file, what, .. }) = opened else { panic!("{opened:?}") };
    assert!(file == "log" && what.contains("the tree holds change"), "{what}");
}

#[testkit::test]
async fn a_flipped_bit_in_a_row_of_the_tree_is_told_by_whoever_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with_things(directory.path()).await;
    // Few enough for one round: no page is there as it was before another.
    for number in 0..130 {
        put(&store, number, 100).await;
    }
    store.close().unwrap();
    drop(store);
    let tree = directory.path().join("settled/data.mdb");
    let bytes = std::fs::read(&tree).unwrap();
    // In a leaf; what rows left behind when it was split lies before those that stand there.
    let stands = |at: &usize| {
        let page = at / 4096 * 4096;
        let number = |at| usize::from(u16::from_le_bytes([bytes[page + at], bytes[page + at + 1]]));
        number(10) & 2 != 0 && at - page >= number(14)
    };
    let found = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"id-123"));
    let row = found.into_iter().find(stands).unwrap();
    // Wherever the id stands, in the row or in a key, behind it comes more of the same.
    for offset in [row, row + 3, row + 20] {
        flip(&tree, offset as u64);
        let opened = reopen(directory.path()).await;
        let told = match &opened {
            Ok(store) => store.check().await.map(|report| report.problems),
            Err(error) => Err(error.clone()),
        };
        let noticed = match &told {
            Ok(problems) => !problems.is_empty(),
            Err(Error::Corrupt { .. }) => true,
            Err(other) => panic!("{other}"),
        };
        assert!(noticed, "byte {offset}");
        if let Ok(store) = &opened {
            for number in 0..130 {
                let id = format!("id-{number}");
                match store.get(Get::new("things", Item::new().with("id", id.as_str()))).await {
                    Ok(found) => {
                        assert_eq!(found.unwrap().get("pad").unwrap().as_s().unwrap().len(), 100)
                    }
                    Err(Error::Corrupt { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        }
        drop(opened);
        flip(&tree, offset as u64);
    }
}

#[testkit::test]
async fn a_damaged_backup_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with_things(directory.path()).await;
    for number in 0..50 {
        put(&store, number, 100).await;
        if number == 25 {
            store.settle().await.unwrap();
        }
    }
    let backup = store.backups().create().await.unwrap().path;
    assert_eq!(verify(&backup).unwrap().items, 50);
    for file in ["settled/data.mdb", "log/0000000001.log"] {
        let length = std::fs::metadata(backup.join(file)).unwrap().len();
        for offset in [0, length / 2, length - 1] {
            flip(&backup.join(file), offset);
            let Err(Error::Corrupt { file: told, .. }) = verify(&backup) else {
                panic!("byte {offset} of {file}");
            };
            assert!(told.ends_with(file), "{told}");
            flip(&backup.join(file), offset);
        }
    }
    let manifest = backup.join("backup.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.get(..text.len() / 2).unwrap()).unwrap();
    assert!(matches!(verify(&backup), Err(Error::Corrupt { .. })));
    std::fs::write(&manifest, text).unwrap();
    assert_eq!(verify(&backup).unwrap().items, 50);
}

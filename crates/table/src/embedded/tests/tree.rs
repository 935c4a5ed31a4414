//! The tree's file is damaged: what is read is what was written, or an error.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::ops::Bound;
use std::os::unix::fs::FileExt;

use base::Random;
use bytes::Bytes;
use tempfile::TempDir;
use testkit::{depth, seed};

use crate::embedded::disk::gently::Urgency;
use crate::embedded::keys::{KeyRange, row_key};
use crate::embedded::settled::{DATA_FILE, Settled, Tree};
use crate::error::Error;
use crate::spec::{KeyAttribute, KeySpec};
use crate::value::Item;

pub(super) type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A tree of a few pages, written in one round, so that each row stands in the file once; each row
/// is a leaf.
pub(super) fn settled(count: u32) -> (TempDir, Tree, Rows) {
    settled_under(count, |number| format!("key-{:04}-of-some-length", number * 3).into_bytes())
}

/// The same under other keys.
fn settled_under(count: u32, key: impl Fn(u32) -> Vec<u8>) -> (TempDir, Tree, Rows) {
    let directory = tempfile::tempdir().unwrap();
    let tree = Tree::open(directory.path()).unwrap();
    let rows: Rows = (0..count)
        .map(|number| (key(number), format!("value-{number:04}-{}", "v".repeat(40)).into_bytes()))
        .collect();
    let settling = rows
        .iter()
        .map(|(key, value)| (Bytes::from(key.clone()), Some(Bytes::from(value.clone()))));
    tree.settle(settling, &[], &Settled { seq: 1, ..Settled::default() }, || Urgency::Low).unwrap();
    tree.write_back(|| Urgency::Low).unwrap();
    (directory, tree, rows)
}

fn assert_corrupt_or<T: PartialEq + std::fmt::Debug>(
    found: Result<T, Error>,
    right: &T,
    place: &str,
) -> bool {
    match found {
        Ok(found) => {
            assert_eq!(found, *right, "{place}");
            false
        }
        Err(Error::Corrupt { file, .. }) => {
            assert_eq!(file, "settled/data.mdb");
            true
        }
        Err(other) => panic!("{place}: {other}"),
    }
}

fn collect(tree: &Tree, range: &KeyRange, descending: bool) -> Result<Vec<Vec<u8>>, Error> {
    let view = tree.view()?;
    let rows = view.range(range, descending)?;
    rows.map(|row| row.map(|(key, _)| key.to_vec())).collect()
}

fn expected(rows: &Rows, range: &KeyRange, descending: bool) -> Vec<Vec<u8>> {
    // The tree has a row of its own, in front of all others.
    let own = [vec![0, 0, 0, 0, 0xF0]];
    let keys = own.iter().chain(rows.keys()).filter(|key| range.contains(key)).cloned();
    let mut keys: Vec<_> = keys.collect();
    if descending {
        keys.reverse();
    }
    keys
}

/// Ranges that begin, end or hold row `number`.
fn ranges_around(keys: &[&Vec<u8>], number: usize) -> Vec<KeyRange> {
    let key = keys[number];
    let near = |step: usize| keys[(number + step).min(keys.len() - 1)].clone();
    let far = keys[number.saturating_sub(5)].clone();
    let ranges = [
        (Bound::Unbounded, Bound::Unbounded),
        (Bound::Included(key.clone()), Bound::Excluded(near(1))),
        (Bound::Included(key.clone()), Bound::Included(key.clone())),
        (Bound::Included(far.clone()), Bound::Included(key.clone())),
        (Bound::Excluded(far), Bound::Excluded(near(5))),
        (Bound::Included(key.clone()), Bound::Unbounded),
    ];
    let ranges = ranges.map(|(start, end)| KeyRange { start, end });
    ranges.into_iter().filter(|range| !range.is_empty()).collect()
}

/// Reads everything around row `number`: each answer is right or an error. Whether there was one.
fn is_noticed(tree: &Tree, rows: &Rows, keys: &[&Vec<u8>], number: usize) -> bool {
    let key = keys[number];
    let view = tree.view().unwrap();
    let got = view.get(key).map(|found| found.map(<[u8]>::to_vec));
    let mut noticed = assert_corrupt_or(got, &rows.get(key).cloned(), &format!("row {number}"));
    drop(view);
    for range in ranges_around(keys, number) {
        for descending in [false, true] {
            let right = expected(rows, &range, descending);
            let told = format!("row {number} in {range:?}, descending {descending}");
            noticed |= assert_corrupt_or(collect(tree, &range, descending), &right, &told);
        }
    }
    noticed
}

#[test]
fn a_flipped_byte_in_a_row_is_never_a_wrong_answer() {
    let (directory, tree, rows) = settled(400);
    let path = directory.path().join(DATA_FILE);
    let bytes = std::fs::read(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let random = Random::seeded(3);
    let keys: Vec<&Vec<u8>> = rows.keys().collect();
    // Rows at the edges of pages and of the tree as well as in the middle.
    let step = depth::pick(49, 7);
    for number in (0..keys.len()).filter(|number| number % step == 0 || *number == keys.len() - 1) {
        let (key, value) = (keys[number], &rows[keys[number]]);
        let windows = bytes.windows(value.len()).enumerate();
        let places = windows.filter(|(_, window)| window == value).map(|(place, _)| place);
        let noticed = places.map(|place| {
            let start = place - LEAF_HEAD - key.len();
            assert_eq!(&bytes[start..start + key.len()], key.as_slice());
            let written = bytes.iter().enumerate().take(place + value.len()).skip(start);
            let noticed = written.filter(|(offset, byte)| {
                let flipped = **byte ^ (1 << random.below(8));
                file.write_all_at(&[flipped], *offset as u64).unwrap();
                let noticed = is_noticed(&tree, &rows, &keys, number);
                file.write_all_at(&[**byte], *offset as u64).unwrap();
                noticed
            });
            noticed.count()
        });
        // A page that was split holds the rest of what moved away: there a flip does no harm.
        let whole = key.len() + LEAF_HEAD + value.len();
        assert_eq!(noticed.max(), Some(whole), "row {number}");
    }
    let whole = KeyRange::all();
    assert_eq!(collect(&tree, &whole, false).unwrap().len(), 401, "all is well again");
}

/// Between the key of a leaf and the value of its first row.
const LEAF_HEAD: usize = 12;

#[test]
fn a_flipped_byte_in_a_leaf_of_many_rows_is_never_a_wrong_answer() {
    let spec = KeySpec::composite(KeyAttribute::s("PK"), KeyAttribute::n("SK"));
    let key = |number: u32| {
        let item = Item::new().with("PK", format!("partition {}", number % 3)).with("SK", number);
        row_key(7, &spec, &item).unwrap()
    };
    let (directory, tree, rows) = settled_under(400, key);
    let path = directory.path().join(DATA_FILE);
    let bytes = std::fs::read(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let random = Random::seeded(4);
    let keys: Vec<&Vec<u8>> = rows.keys().collect();
    for number in (0..keys.len()).step_by(depth::pick(28, 7)) {
        let value = &rows[keys[number]];
        let place = bytes.windows(value.len()).position(|window| window == value).unwrap();
        // Its lengths, what its key has of its own, and the value.
        let own = bytes.iter().enumerate().take(place + value.len()).skip(place - 10);
        for (offset, byte) in own {
            file.write_all_at(&[byte ^ (1 << random.below(8))], offset as u64).unwrap();
            assert!(is_noticed(&tree, &rows, &keys, number), "row {number}, byte {offset}");
            file.write_all_at(&[*byte], offset as u64).unwrap();
        }
    }
    assert_eq!(collect(&tree, &KeyRange::all(), false).unwrap().len(), 401, "all is well again");
}

#[test]
fn a_tree_that_was_cut_is_named() {
    let (directory, tree, _) = settled(2000);
    drop(tree);
    let path = directory.path().join(DATA_FILE);
    let length = std::fs::metadata(&path).unwrap().len();
    for cut in [0, 100, 4096, 8192, length / 2, length - 4096, length - 1] {
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(&path, copy.path().join(DATA_FILE)).unwrap();
        OpenOptions::new()
            .write(true)
            .open(copy.path().join(DATA_FILE))
            .unwrap()
            .set_len(cut)
            .unwrap();
        let opened = Tree::open(copy.path()).map(|_| ());
        let Err(Error::Corrupt { file, .. }) = opened else {
            // An empty file is what a tree is made of.
            assert!(cut == 0 && opened.is_ok(), "cut to {cut} of {length}: {opened:?}");
            continue;
        };
        assert_eq!(file, "settled/data.mdb");
    }
}

const PAGE: usize = 4096;

fn round(numbers: std::ops::Range<u32>, round: u64) -> Vec<(Bytes, Option<Bytes>)> {
    let row = |number: u32| {
        let key = Bytes::from(format!("key-{number:06}"));
        let gone = u64::from(number) % 5 == round % 5;
        (key, (!gone).then(|| Bytes::from(format!("round {round} {}", "v".repeat(90)))))
    };
    numbers.map(row).collect()
}

fn all(tree: &Tree) -> Rows {
    let whole = KeyRange::all();
    let view = tree.view().unwrap();
    let rows = view.range(&whole, false).unwrap().map(Result::unwrap);
    rows.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// What a disk holds after power loss while a round was written: of each page, the old or the new.
fn torn(old: &[u8], new: &[u8], random: &Random) -> Vec<u8> {
    let mut pages: Vec<u8> = Vec::with_capacity(new.len());
    for (number, page) in new.chunks(PAGE).enumerate() {
        let before = old.get(number * PAGE..).and_then(|old| old.get(..PAGE));
        let zeros = [0; PAGE];
        let arrived = random.below(3) != 0;
        pages.extend_from_slice(if arrived { page } else { before.unwrap_or(&zeros) });
    }
    if random.below(2) == 0 {
        pages.truncate(old.len());
    }
    pages
}

#[test]
fn a_round_that_was_not_remembered_is_not_there_whatever_of_it_reached_the_disk() {
    for seed in seed::several(depth::pick(5, 40)) {
        let random = Random::seeded(seed);
        let directory = tempfile::tempdir().unwrap();
        let mut right = Rows::new();
        for number in 1..=4_u64 {
            let path = directory.path().join(DATA_FILE);
            let tree = Tree::open(directory.path()).unwrap();
            let start = u32::try_from(random.below(800)).unwrap();
            let rows = || round(start..start + 400, number).into_iter();
            let settled = Settled { seq: number, ..Settled::default() };
            let old = std::fs::read(&path).unwrap();
            let mark = std::fs::read(directory.path().join("synced")).unwrap();
            tree.settle(rows(), &[], &settled, || Urgency::Low).unwrap();
            tree.write_back(|| Urgency::Low).unwrap();
            let done = all(&tree);
            drop(tree);
            let new = std::fs::read(&path).unwrap();
            // The power goes before the round is remembered, twice; then the round is made again.
            for _ in 0..2 {
                std::fs::write(&path, torn(&old, &new, &random)).unwrap();
                std::fs::write(directory.path().join("synced"), &mark).unwrap();
                let tree = Tree::open(directory.path()).unwrap();
                let found = all(&tree);
                assert!(number == 1 || found == right, "seed {seed}, round {number}");
                assert_eq!(tree.view().unwrap().settled().unwrap().seq, number - 1);
            }
            let tree = Tree::open(directory.path()).unwrap();
            tree.settle(rows(), &[], &settled, || Urgency::Low).unwrap();
            tree.write_back(|| Urgency::Low).unwrap();
            assert!(all(&tree) == done, "seed {seed}, round {number} made again");
            right = done;
        }
    }
}

#[test]
fn what_the_log_may_forget_moves_only_when_a_round_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let tree = Tree::open(directory.path()).unwrap();
    for seq in 1..4_u64 {
        // While a round is made, the one before it is seen by everybody, and not on disk.
        let before = |_: &(Bytes, Option<Bytes>)| {
            assert_eq!(tree.view().unwrap().settled().unwrap().seq, seq - 1);
            assert_eq!(tree.durable_seq(), seq.saturating_sub(2));
        };
        let rows = round(0..10_000, seq).into_iter().inspect(before);
        // Called where the disk takes its time with the round before.
        let meanwhile = || {
            assert_eq!(tree.durable_seq(), seq - 2);
            Urgency::Low
        };
        tree.settle(rows, &[], &Settled { seq, ..Settled::default() }, meanwhile).unwrap();
        assert_eq!(tree.view().unwrap().settled().unwrap().seq, seq);
        assert_eq!((tree.durable_seq(), tree.is_behind()), (seq - 1, true));
    }
    tree.write_back(|| Urgency::High).unwrap();
    assert_eq!((tree.durable_seq(), tree.is_behind()), (3, false));
    drop(tree);
    assert_eq!(Tree::open(directory.path()).unwrap().durable_seq(), 3);
}

#[test]
fn a_round_that_is_being_made_leaves_the_two_before_it_as_they_are() {
    for seed in seed::several(depth::pick(4, 20)) {
        let random = Random::seeded(seed);
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::open(directory.path()).unwrap();
        let mut rounds = vec![Rows::new()];
        for seq in 1..=6_u64 {
            let start = u32::try_from(random.below(800)).unwrap();
            let rows = round(start..start + 400, seq);
            // The power goes when the last row is made. The round before may not be durable; the
            // one before that is what is found then.
            let look = |(key, _): &(Bytes, Option<Bytes>)| {
                if *key == format!("key-{:06}", start + 399) {
                    let copy = tempfile::tempdir().unwrap();
                    for name in [DATA_FILE, "synced"] {
                        let from = directory.path().join(name);
                        std::fs::copy(from, copy.path().join(name)).unwrap();
                    }
                    let found = Tree::open(copy.path()).unwrap();
                    let seq = tree.durable_seq();
                    assert_eq!(found.view().unwrap().settled().unwrap().seq, seq);
                    let wanted = &rounds[usize::try_from(seq).unwrap()];
                    assert!(seq == 0 || all(&found) == *wanted, "seed {seed}, round {seq}");
                }
            };
            let rows = rows.into_iter().inspect(look);
            tree.settle(rows, &[], &Settled { seq, ..Settled::default() }, || Urgency::Low)
                .unwrap();
            rounds.push(all(&tree));
            if random.below(3) == 0 {
                tree.write_back(|| Urgency::Low).unwrap();
            }
        }
    }
}

#[test]
fn a_tree_that_lost_a_remembered_round_is_named() {
    let (directory, tree, _) = settled(400);
    drop(tree);
    std::fs::write(directory.path().join("synced"), b"9").unwrap();
    let opened = Tree::open(directory.path()).map(|_| ());
    assert!(matches!(&opened, Err(Error::Corrupt { .. })), "{opened:?}");
    std::fs::write(directory.path().join("synced"), b"what").unwrap();
    let opened = Tree::open(directory.path()).map(|_| ());
    assert!(
        matches!(&opened, Err(Error::Corrupt { file, .. }) if file == "settled/synced"),
        "{opened:?}"
    );
}

/// Settles a round whose long values have pages of their own at the end of the file. The same round
/// drops them, so LMDB does not write these pages.
fn settle_and_take_back(tree: &Tree, seq: u64) -> Result<(), Error> {
    let key = |name: &str, number: u32| Bytes::from(format!("{name}-{number:03}"));
    let kept = (0..20).map(|number| (key("kept", number), Some(Bytes::from(vec![1; 100]))));
    let dropped = (0..20).map(|number| (key("long", number), Some(Bytes::from(vec![2; 20_000]))));
    let range = KeyRange {
        start: Bound::Included(b"long".to_vec()),
        end: Bound::Excluded(b"long~".to_vec()),
    };
    let settled = Settled { seq, ..Settled::default() };
    tree.settle(kept.chain(dropped), &[range], &settled, || Urgency::High).map(drop)
}

#[test]
fn a_tree_opens_again_after_a_round_that_took_back_pages_at_the_end_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let tree = Tree::open(directory.path()).unwrap();
    for seq in 1..4_u64 {
        settle_and_take_back(&tree, seq).unwrap();
    }
    tree.write_back(|| Urgency::High).unwrap();
    drop(tree);
    let tree = Tree::open(directory.path()).unwrap();
    assert_eq!(tree.view().unwrap().settled().unwrap().seq, 3);
    assert_eq!(all(&tree).len(), 21, "and what the tree remembers of itself");
}

#[test]
fn a_round_whose_file_has_no_room_for_its_length_is_seen_and_durable_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let tree = Tree::open(directory.path()).unwrap();
    tree.take_room_for_length(true);
    // The first rounds reuse no pages, and LMDB writes all of theirs.
    let is_short = |seq: &u64| {
        settle_and_take_back(&tree, *seq).unwrap();
        match tree.write_back(|| Urgency::High) {
            Ok(()) => false,
            Err(Error::DiskFull) => true,
            Err(other) => panic!("{other}"),
        }
    };
    let seq = (1..10).find(is_short).expect("a round took back pages at the end of the file");
    assert_eq!(tree.view().unwrap().settled().unwrap().seq, seq);
    for _ in 0..2 {
        let written = tree.write_back(|| Urgency::High);
        assert!(matches!(written, Err(Error::DiskFull)), "{written:?}");
        assert_eq!((tree.durable_seq(), tree.is_behind()), (seq - 1, true));
        // It would write beyond the end before the file has its length.
        let next = round(0..10, 2).into_iter().inspect(|_| panic!("the next round began"));
        let settled = Settled { seq: seq + 1, ..Settled::default() };
        let next = tree.settle(next, &[], &settled, || Urgency::High);
        assert!(matches!(next, Err(Error::DiskFull)), "{next:?}");
    }
    // A crash takes the round back.
    let copy = tempfile::tempdir().unwrap();
    for name in [DATA_FILE, "synced"] {
        std::fs::copy(directory.path().join(name), copy.path().join(name)).unwrap();
    }
    let found = Tree::open(copy.path()).unwrap();
    assert_eq!(found.view().unwrap().settled().unwrap().seq, seq - 1);
    tree.take_room_for_length(false);
    tree.write_back(|| Urgency::High).unwrap();
    assert_eq!((tree.durable_seq(), tree.is_behind()), (seq, false));
    settle_and_take_back(&tree, seq + 1).unwrap();
    tree.write_back(|| Urgency::High).unwrap();
    drop(tree);
    let tree = Tree::open(directory.path()).unwrap();
    assert_eq!(tree.durable_seq(), seq + 1);
    assert_eq!(all(&tree).len(), 21, "and what the tree remembers of itself");
}

//! Any bytes as the rows of a leaf; and damage of a good leaf.

use super::{Leaf, fold, seal};

/// The key of the leaf, a key to look for, and the rows, each but the last with its length before.
fn parts(input: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (length, rest) = input.split_first()?;
    let (key, rest) = rest.split_at_checked(usize::from(*length))?;
    let (length, rest) = rest.split_first()?;
    let (other, rows) = rest.split_at_checked(usize::from(*length))?;
    Some((key, other, rows))
}

/// Rows that are in order are folded, unfolded and found; a changed byte is seen.
fn check_sorted(rows: &[(&[u8], &[u8])], other: &[u8]) {
    let mut unfolded: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    fold(rows, true, |key, bytes| {
        let leaf = Leaf::read(key, bytes)?;
        for (row, value) in leaf.unfold()?.iter() {
            assert_eq!(leaf.find(row)?, Some(value));
            unfolded.push((row.to_vec(), value.to_vec()));
        }
        let held = rows.iter().find(|(row, _)| *row == other);
        assert!(leaf.find(other)?.is_none_or(|found| held.is_some_and(|(_, it)| *it == found)));
        let mut damaged = bytes.to_vec();
        let place = other.len() % damaged.len();
        damaged[place] ^= 1;
        assert!(Leaf::read(key, &damaged).is_err(), "byte {place} is wrong and nobody sees it");
        Ok(())
    })
    .unwrap();
    let unfolded: Vec<(&[u8], &[u8])> =
        unfolded.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
    assert_eq!(unfolded, rows);
}

#[test]
fn every_leaf_is_refused_or_folds_again() {
    testkit::fuzz::check("leaves", |input| {
        let Some((key, other, rows)) = parts(input) else { return };
        let sealed = seal(key, [&[0; 4], rows].concat());
        let leaf = Leaf::read(key, &sealed).unwrap();
        let _ = leaf.find(other);
        let Ok(unfolded) = leaf.unfold() else { return };
        let rows: Vec<(&[u8], &[u8])> = unfolded.iter().collect();
        let is_key = |(row, _): &(&[u8], &[u8])| row.len() <= usize::from(u16::MAX);
        if rows.is_sorted_by(|one, two| one.0 < two.0) && rows.iter().all(is_key) {
            check_sorted(&rows, other);
        }
    });
}

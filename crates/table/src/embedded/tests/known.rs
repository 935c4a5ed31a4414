//! What the tree knows of its keys is never less than it holds.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use proptest::prop_assert_eq;

use super::tree::settled;
use crate::embedded::disk::gently::Urgency;
use crate::embedded::settled::{DATA_FILE, Settled, Tree};
use crate::error::Error;

proptest! {
    #![proptest_config(testkit::depth::cases(12))]

    #[test]
    fn what_is_there_is_found_whatever_was_learned_when(
        rounds in vec((vec((0..200_u32, any::<bool>()), 1..60), any::<bool>()), 1..12),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::open(directory.path()).unwrap();
        let key = |number: u32| Bytes::from(format!("key-{number:03}"));
        let mut model: BTreeMap<Bytes, Bytes> = BTreeMap::new();
        for (seq, (changes, learns)) in (1..).zip(rounds) {
            let changes: BTreeMap<Bytes, Option<Bytes>> = changes
                .into_iter()
                .map(|(number, is_put)| (key(number), is_put.then(|| Bytes::from(vec![b'v'; 9]))))
                .collect();
            tree.settle(changes.clone().into_iter(), &[], &Settled { seq, ..Settled::default() }, || Urgency::High)
                .unwrap();
            for (key, value) in changes {
                match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                };
            }
            if learns {
                tree.learn(|| false).unwrap();
            }
            let view = tree.view().unwrap();
            prop_assert_eq!(view.settled().unwrap().seq, seq);
            for number in 0..200 {
                let key = key(number);
                prop_assert_eq!(view.get(&key).unwrap(), model.get(&key).map(|value| &value[..]));
            }
        }
    }
}

#[test]
fn nothing_is_learned_from_a_damaged_tree() {
    let (directory, tree, rows) = settled(50);
    drop(tree);
    let path = directory.path().join(DATA_FILE);
    let (mut bytes, key) = (std::fs::read(&path).unwrap(), rows.keys().nth(20).unwrap());
    let places = bytes.windows(key.len()).enumerate().filter(|(_, window)| window == key);
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    places.into_iter().for_each(|place| bytes[place] = b'X');
    std::fs::write(&path, bytes).unwrap();
    let tree = Tree::open(directory.path()).unwrap();
    assert!(matches!(tree.learn(|| false), Err(Error::Corrupt { .. })));
    assert!(matches!(tree.view().unwrap().get(key), Err(Error::Corrupt { .. })));
}

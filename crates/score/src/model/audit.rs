//! What the operator did, each entry sealed with the one before.
//!
//! Invariant: an entry's hash covers its place, its words and the hash before it. So nothing can
//! be changed, taken out or put in without every later hash being another one; the newest hash
//! stands for all that was done.

use base::{Timestamp, hex};
use sha2::{Digest, Sha256};

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// From 1.
    pub(crate) number: u64,
    pub(crate) at: Timestamp,
    /// Who did it.
    pub(crate) actor: String,
    /// What, such as `trim`.
    pub(crate) action: String,
    /// The particulars, by name.
    pub(crate) detail: Vec<(String, String)>,
    /// The hash of the entry before; of the first, nothing.
    pub(crate) previous: String,
    pub(crate) hash: String,
}

/// What is done, before it has its place.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub(crate) actor: String,
    pub(crate) action: &'static str,
    pub(crate) detail: Vec<(&'static str, String)>,
}

/// The end of the chain: the newest number and hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) hash: String,
}

impl Entry {
    /// The entry of a deed behind the end of the chain.
    pub(crate) fn seal(deed: &Deed, head: &Head, at: Timestamp) -> Entry {
        let detail = deed.detail.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let mut detail: Vec<(String, String)> = detail.collect();
        // As the store keeps them.
        detail.sort();
        let mut entry = Entry {
            number: head.number + 1,
            at,
            actor: deed.actor.clone(),
            action: deed.action.to_owned(),
            detail,
            previous: head.hash.clone(),
            hash: String::new(),
        };
        entry.hash = entry.digest();
        entry
    }

    /// Whether the entry is what was sealed behind `previous`.
    pub(crate) fn follows(&self, previous: &Head) -> bool {
        self.number == previous.number + 1
            && self.previous == previous.hash
            && self.hash == self.digest()
    }

    /// The end of a chain that ends with it.
    pub(crate) fn head(&self) -> Head {
        Head { number: self.number, hash: self.hash.clone() }
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut take = |part: &str| {
            // Each length goes before its part, so that no two lists are the same.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        take(&self.previous);
        take(&self.number.to_string());
        take(&self.at.to_string());
        take(&self.actor);
        take(&self.action);
        for (name, value) in &self.detail {
            take(name);
            take(value);
        }
        hex(&hash.finalize())
    }
}

/// The entries behind a number, of a list that begins with the one of that number if it is not the
/// beginning; and whether they are the chain there. `newest` is the chain's end as it was before they
/// were read, `is_end` whether no more of them are to be had.
pub(crate) fn check_chain(
    mut entries: Vec<Entry>,
    after: u64,
    newest: &Head,
    is_end: bool,
) -> (Vec<Entry>, bool) {
    if entries.is_empty() && after > newest.number {
        // Behind the end there is nothing.
        return (entries, true);
    }
    let (mut is_whole, mut head) = (true, Head::default());
    if after > 0 {
        let is_there = entries.first().is_some_and(|first| first.number == after);
        head = if is_there { entries.remove(0).head() } else { Head::default() };
        is_whole = is_there;
    }
    let is_newest = |head: &Head| head.number != newest.number || head == newest;
    is_whole &= is_newest(&head);
    for entry in &entries {
        is_whole &= entry.follows(&head);
        head = entry.head();
        is_whole &= is_newest(&head);
    }
    // What was cut off at the end is missed too.
    is_whole &= !is_end || head.number >= newest.number;
    (entries, is_whole)
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{Deed, Entry, Head, check_chain};

    fn deed(value: &str) -> Deed {
        let detail = vec![("b", value.to_owned()), ("a", "1".to_owned())];
        Deed { actor: "key:ops".to_owned(), action: "trim", detail }
    }

    #[test]
    fn whatever_is_changed_breaks_the_chain() {
        let start = Head::default();
        let one = Entry::seal(&deed("x"), &start, Timestamp::EPOCH);
        let two = Entry::seal(&deed("y"), &one.head(), Timestamp::EPOCH);
        assert!(one.follows(&start) && two.follows(&one.head()));
        assert!(!two.follows(&start), "one taken out");
        let changes: [fn(&mut Entry); 6] = [
            |entry| entry.number += 1,
            |entry| entry.at = Timestamp::from_millis(1),
            |entry| entry.actor.push('x'),
            |entry| entry.action.push('x'),
            |entry| entry.detail[0].1.push('x'),
            |entry| entry.previous.push('x'),
        ];
        for change in changes {
            let mut forged = two.clone();
            change(&mut forged);
            assert!(!forged.follows(&one.head()), "{forged:?}");
        }
        let other = Entry::seal(&deed("z"), &start, Timestamp::EPOCH);
        assert!(!two.follows(&other.head()), "another history");
    }

    /// A chain of so many.
    fn chain(length: u64) -> Vec<Entry> {
        let mut all: Vec<Entry> = Vec::new();
        for number in 1..=length {
            let head = all.last().map(Entry::head).unwrap_or_default();
            all.push(Entry::seal(&deed(&number.to_string()), &head, Timestamp::EPOCH));
        }
        all
    }

    #[test]
    fn a_chain_that_lacks_an_entry_at_either_end_is_not_whole() {
        let all = chain(5);
        let newest = all.last().unwrap().head();
        let check = |entries: &[Entry], after, is_end| {
            let (entries, is_whole) = check_chain(entries.to_vec(), after, &newest, is_end);
            (entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), is_whole)
        };
        assert_eq!(check(&all, 0, true), (vec![1, 2, 3, 4, 5], true));
        assert_eq!(check(&all[1..], 2, true), (vec![3, 4, 5], true));
        assert_eq!(check(&all[4..], 5, true), (vec![], true));
        assert_eq!(check(&[], 9, true), (vec![], true), "behind the end");
        assert_eq!(check(&all[1..3], 2, false), (vec![3], true), "one page of several");
        assert_eq!(check(&all[1..], 0, true), (vec![2, 3, 4, 5], false), "the first");
        assert_eq!(check(&all[2..], 2, true), (vec![3, 4, 5], false), "the one before");
        assert_eq!(check(&all[..4], 0, true), (vec![1, 2, 3, 4], false), "the last");
        assert_eq!(check(&[], 0, true), (vec![], false), "all");
        let mut other = all.clone();
        let place = other.len() - 2;
        other.truncate(place + 1);
        let forged = Entry::seal(&deed("forged"), &other[place].head(), Timestamp::EPOCH);
        other.push(forged);
        assert!(!check(&other, 0, true).1, "another last one");
    }
}

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

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{Deed, Entry, Head};

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
}

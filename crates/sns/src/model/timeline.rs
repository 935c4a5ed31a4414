//! Timelines: their entries and order, and what a user is notified of.
//!
//! Invariant: posts are ordered by their time and, of one millisecond, by their ids. Every timeline
//! has the newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

use base::Timestamp;

use super::account::later;
use super::{PostId, UserId};
use crate::error::{Error, Flaw};
use crate::limits::ENTRY_LIFE;

/// Where a post stands among all posts. As a text it is a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) created: Timestamp,
    pub(crate) post: PostId,
}

impl Place {
    /// When entries of the post are gone.
    pub(crate) fn expires(&self) -> Timestamp {
        later(self.created, ENTRY_LIFE)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.created.millis(), self.post)
    }
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Place, Error> {
        let parts = text.split_once('~').and_then(|(millis, post)| {
            let created = Timestamp::from_millis(millis.parse().ok()?);
            Some(Place { created, post: post.parse().ok()? })
        });
        parts.ok_or_else(|| Flaw::Cursor(text.to_owned()).into())
    }
}

/// Where a reader of a timeline stands: behind a place, with so many entries looked at before. As a
/// text it is a cursor of timelines. Its number is the reader's own to change: what it bounds is
/// the work of honest readers, and what is cut away is seen by nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bookmark {
    pub(crate) place: Place,
    pub(crate) looked: usize,
}

impl fmt::Display for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.place, self.looked)
    }
}

impl FromStr for Bookmark {
    type Err = Error;

    fn from_str(text: &str) -> Result<Bookmark, Error> {
        let parts = text.rsplit_once('~').and_then(|(place, looked)| {
            Some(Bookmark { place: place.parse().ok()?, looked: looked.parse().ok()? })
        });
        parts.ok_or_else(|| Flaw::Cursor(text.to_owned()).into())
    }
}

/// An entry of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    pub(crate) author: UserId,
}

/// Lists of entries, each newest first, as one: newest first, and each post once.
pub(crate) fn merge(lists: Vec<Vec<Entry>>) -> Vec<Entry> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    if let [only] = lists.as_mut_slice() {
        return only.collect();
    }
    let mut heap: BinaryHeap<(Entry, Reverse<usize>)> = BinaryHeap::new();
    for (number, list) in lists.iter_mut().enumerate() {
        heap.extend(list.next().map(|entry| (entry, Reverse(number))));
    }
    let mut merged: Vec<Entry> = Vec::new();
    while let Some((entry, Reverse(number))) = heap.pop() {
        if merged.last().is_none_or(|last| last.place != entry.place) {
            merged.push(entry);
        }
        let next = lists.get_mut(number).and_then(Iterator::next);
        heap.extend(next.map(|entry| (entry, Reverse(number))));
    }
    merged
}

/// Why somebody is notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// Somebody follows.
    Follow,
    /// Somebody likes this post.
    Like(PostId),
}

/// Something that a user is told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The follow or like.
    pub(crate) id: String,
    /// Who is told.
    pub(crate) user: UserId,
    /// Who did it.
    pub(crate) actor: UserId,
    pub(crate) kind: NoteKind,
    pub(crate) created: Timestamp,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use base::{Timestamp, Uuid};
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{Bookmark, Entry, Place, merge};
    use crate::model::{PostId, UserId};

    fn entry(number: u64) -> Entry {
        let post = PostId(Uuid::from_u128(u128::from(number)));
        let place = Place { created: Timestamp::from_millis(number / 4), post };
        Entry { place, author: UserId(Uuid::nil()) }
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn merged_lists_are_one_sorted_set(lists in vec(vec(0..60_u64, 0..20), 0..6)) {
            let all: BTreeSet<Entry> = lists.iter().flatten().map(|n| entry(*n)).collect();
            let sorted = |list: &Vec<u64>| {
                let set: BTreeSet<Entry> = list.iter().map(|n| entry(*n)).collect();
                set.into_iter().rev().collect::<Vec<_>>()
            };
            let merged = merge(lists.iter().map(sorted).collect());
            prop_assert_eq!(merged, all.into_iter().rev().collect::<Vec<_>>());
        }

        #[test]
        fn a_place_is_read_back(millis in any::<u64>(), id in any::<u128>(), looked in 0..900_usize) {
            let post = PostId(Uuid::from_u128(id));
            let place = Place { created: Timestamp::from_millis(millis), post };
            prop_assert_eq!(place.to_string().parse::<Place>().unwrap(), place);
            let bookmark = Bookmark { place, looked };
            prop_assert_eq!(bookmark.to_string().parse::<Bookmark>().unwrap(), bookmark);
        }
    }

    #[test]
    fn nonsense_is_no_place() {
        for text in ["", "~", "1", "x~00000000-0000-0000-0000-000000000000", "1~x"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
            assert!(format!("{text}~1").parse::<Bookmark>().is_err(), "{text}");
        }
        let place = "1~00000000-0000-0000-0000-000000000000";
        for text in [place, &format!("{place}~"), &format!("{place}~-1"), &format!("{place}~x")] {
            assert!(text.parse::<Bookmark>().is_err(), "{text}");
        }
    }
}

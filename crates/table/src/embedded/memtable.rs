//! Versions that are not settled yet, in key order, newest first under each key.
//!
//! Writers add versions in the order of their sequence numbers; readers walk beside them without
//! a lock and look only at versions up to the sequence number they may see. Nothing is removed
//! before the whole memtable is settled and dropped (but for the rollback of a failed commit).

use std::borrow::Borrow;
use std::cmp::Ordering as Order;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use crossbeam_skiplist::SkipMap;
use crossbeam_skiplist::map::{Entry, Range};
use parking_lot::Mutex;

use super::filter::{self, Filter};
use super::keys::KeyRange;

/// What a version weighs besides its bytes: skip-list node, two handles, allocator rounding.
const VERSION_OVERHEAD_BYTES: usize = 160;
/// What a version weighs at least as rows are: so many fit into a memtable, a few more if they are
/// small.
const VERSION_BYTES: usize = 256;

/// A memtable.
pub(crate) struct Memtable {
    versions: SkipMap<Place, ()>,
    /// Of the keys of `versions`.
    keys: Filter,
    bytes: AtomicUsize,
    last_durable: AtomicU64,
    counts: Mutex<HashMap<u32, Counts>>,
    drops: Mutex<Vec<(u64, KeyRange)>>,
}

/// How many items and bytes a table gained or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Items.
    pub(crate) items: i64,
    /// Bytes as DynamoDB counts.
    pub(crate) bytes: i64,
}

impl Counts {
    /// The change that takes this one back.
    pub(crate) fn negative(self) -> Counts {
        Counts { items: -self.items, bytes: -self.bytes }
    }
}

/// A row as it is from one sequence number on.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// The row, or that it is gone.
    pub(crate) value: Option<Bytes>,
    /// Whether nothing stood under this key before. A row that came and went between two
    /// settlings need not be settled at all.
    pub(crate) fresh: bool,
    /// Whether the log carries the record that this version belongs to.
    pub(crate) logged: bool,
}

/// What a reader may see: versions that the log carries up to one change, others up to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    /// The last change that the log carries and the reader sees.
    pub(crate) logged: u64,
    /// The last change that only memory carries and the reader sees.
    pub(crate) unlogged: u64,
}

impl At {
    fn newest(self) -> u64 {
        self.logged.max(self.unlogged)
    }

    fn shows(self, place: &Place) -> bool {
        place.at.seq <= if place.at.version.logged { self.logged } else { self.unlogged }
    }
}

/// Where a version stands: by key, newest first. Small, with the rest elsewhere: whoever walks down
/// the list meets many of them, most of which are in the processor's cache then.
#[derive(Clone, Debug)]
struct Place {
    lead: Lead,
    at: Box<Written>,
}

#[derive(Clone, Debug)]
struct Written {
    key: Bytes,
    seq: u64,
    version: Version,
}

/// The first sixteen bytes of a key as numbers that sort like them: most comparisons of a walk down
/// the list end here, without a look at the key's own memory. Not one number of sixteen bytes: what
/// must stand at a multiple of sixteen takes more memory, and more time to be given it.
pub(crate) type Lead = (u64, u64);

fn lead(key: &[u8]) -> Lead {
    let lead = match key.first_chunk() {
        Some(bytes) => u128::from_be_bytes(*bytes),
        None => {
            let padded = key.iter().chain(std::iter::repeat(&0)).take(size_of::<u128>());
            padded.fold(0, |lead, byte| (lead << 8) | u128::from(*byte))
        }
    };
    ((lead >> 64) as u64, lead as u64)
}

/// A place by reference, so that a lookup need not copy its key.
trait Locate {
    fn place(&self) -> (Lead, &[u8], u64);
}

impl Locate for Place {
    fn place(&self) -> (Lead, &[u8], u64) {
        (self.lead, &self.at.key, self.at.seq)
    }
}

struct Probe<'a> {
    lead: Lead,
    key: &'a [u8],
    seq: u64,
}

impl Locate for Probe<'_> {
    fn place(&self) -> (Lead, &[u8], u64) {
        (self.lead, self.key, self.seq)
    }
}

fn compare(one: (Lead, &[u8], u64), other: (Lead, &[u8], u64)) -> Order {
    let ((one_lead, one_key, one_seq), (other_lead, other_key, other_seq)) = (one, other);
    one_lead
        .cmp(&other_lead)
        .then_with(|| one_key.cmp(other_key))
        .then_with(|| other_seq.cmp(&one_seq))
}

impl<'a> Borrow<dyn Locate + 'a> for Place {
    fn borrow(&self) -> &(dyn Locate + 'a) {
        self
    }
}

impl PartialEq for dyn Locate + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for dyn Locate + '_ {}

impl PartialOrd for dyn Locate + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Locate + '_ {
    fn cmp(&self, other: &Self) -> Order {
        compare(self.place(), other.place())
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Order {
        compare(self.place(), other.place())
    }
}

impl Memtable {
    /// An empty one, to be frozen at so many bytes.
    pub(crate) fn new(bytes: usize) -> Memtable {
        Memtable {
            versions: SkipMap::new(),
            keys: Filter::new(bytes / VERSION_BYTES),
            bytes: AtomicUsize::new(0),
            last_durable: AtomicU64::new(0),
            counts: Mutex::default(),
            drops: Mutex::default(),
        }
    }

    /// Adds a version whose value has so many bytes of its own. Calls come in the order of `seq`,
    /// one at a time.
    pub(crate) fn add(&self, key: Bytes, seq: u64, version: Version, own_bytes: usize) {
        let weight = key.len() + own_bytes + VERSION_OVERHEAD_BYTES;
        if version.logged {
            self.last_durable.store(seq, Ordering::Release);
        }
        self.keys.add(filter::hash(&key));
        let lead = lead(&key);
        self.versions.insert(Place { lead, at: Box::new(Written { key, seq, version }) }, ());
        self.bytes.fetch_add(weight, Ordering::Relaxed);
    }

    /// Remembers that change `seq` drops everything in `range`: nobody reads or writes there any
    /// more, and the settler removes what the base holds of it.
    pub(crate) fn drop_range(&self, seq: u64, range: KeyRange) {
        self.drops.lock().push((seq, range));
    }

    /// The ranges dropped by changes in this memtable.
    pub(crate) fn drops(&self) -> Vec<KeyRange> {
        self.drops.lock().iter().map(|(_, range)| range.clone()).collect()
    }

    /// Counts what a table gained or lost in versions added here.
    pub(crate) fn count(&self, table: u32, change: Counts) {
        let mut counts = self.counts.lock();
        let held = counts.entry(table).or_default();
        held.items += change.items;
        held.bytes += change.bytes;
    }

    /// What `table` gained or lost here.
    pub(crate) fn counts(&self, table: u32) -> Counts {
        self.counts.lock().get(&table).copied().unwrap_or_default()
    }

    /// What all tables gained or lost here.
    pub(crate) fn all_counts(&self) -> Vec<(u32, Counts)> {
        self.counts.lock().iter().map(|(table, counts)| (*table, *counts)).collect()
    }

    /// The newest version of `key`, whose hash this is, to be seen `at`, with its sequence number.
    pub(crate) fn get(&self, key: &[u8], hash: u64, at: At) -> Option<(u64, Version)> {
        if !self.keys.may_hold(hash) {
            return None;
        }
        let probe: &dyn Locate = &Probe { lead: lead(key), key, seq: at.newest() };
        let mut entry = self.versions.lower_bound(Bound::Included(probe))?;
        while entry.key().at.key == key {
            if at.shows(entry.key()) {
                let Written { seq, version, .. } = &*entry.key().at;
                return Some((*seq, version.clone()));
            }
            entry = entry.next()?;
        }
        None
    }

    /// The newest versions to be seen `at` of all keys in `range`, in either direction.
    pub(crate) fn range(&self, range: &KeyRange, at: At, descending: bool) -> Versions<'_> {
        // Newest first: the greatest sequence number stands before all versions of a key, 0
        // behind them.
        let start = match &range.start {
            Bound::Included(key) => Bound::Included(Place::new(key, u64::MAX)),
            Bound::Excluded(key) => Bound::Excluded(Place::new(key, 0)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let end = match &range.end {
            Bound::Included(key) => Bound::Included(Place::new(key, 0)),
            Bound::Excluded(key) => Bound::Excluded(Place::new(key, u64::MAX)),
            Bound::Unbounded => Bound::Unbounded,
        };
        Versions { range: self.versions.range((start, end)), at, descending, held: None }
    }

    /// All versions, key by key, newest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = Held<'_>> {
        self.versions.iter().map(Held)
    }

    /// Takes back every logged version after `seq`: their commit failed.
    pub(crate) fn roll_back(&self, seq: u64) {
        self.drops.lock().retain(|(dropped, _)| *dropped <= seq);
        for entry in self.versions.iter() {
            let written = &entry.key().at;
            if written.seq > seq && written.version.logged {
                entry.remove();
            }
        }
    }

    /// After a rollback: nothing behind change `seq` waits for the disk any more.
    pub(crate) fn end_at(&self, seq: u64) {
        self.last_durable.fetch_min(seq, Ordering::AcqRel);
    }

    /// About how much memory the versions take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The last sequence number added that the log carries.
    pub(crate) fn last_durable(&self) -> u64 {
        self.last_durable.load(Ordering::Acquire)
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }
}

/// A version where it is held. Sorts as memtables do: by key, newest first.
pub(crate) struct Held<'a>(Entry<'a, Place, ()>);

impl Held<'_> {
    /// Its key.
    pub(crate) fn key(&self) -> &Bytes {
        &self.0.key().at.key
    }

    /// What its key begins with.
    pub(crate) fn lead(&self) -> Lead {
        self.0.key().lead
    }

    /// What stands there from its change on.
    pub(crate) fn version(&self) -> &Version {
        &self.0.key().at.version
    }
}

impl PartialEq for Held<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Eq for Held<'_> {}

impl PartialOrd for Held<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Held<'_> {
    fn cmp(&self, other: &Self) -> Order {
        self.0.key().cmp(other.0.key())
    }
}

impl Place {
    /// To look for.
    fn new(key: &[u8], seq: u64) -> Place {
        let version = Version { value: None, fresh: false, logged: false };
        let written = Written { key: Bytes::copy_from_slice(key), seq, version };
        Place { lead: lead(key), at: Box::new(written) }
    }
}

/// The newest visible version of each key of a range.
pub(crate) struct Versions<'a> {
    range: Range<'a, Place, (Bound<Place>, Bound<Place>), Place, ()>,
    at: At,
    descending: bool,
    /// Ascending: the entry answered last, whose older versions are skipped. Descending: the
    /// newest visible version so far of the key being walked.
    held: Option<Entry<'a, Place, ()>>,
}

impl<'a> Versions<'a> {
    fn next_ascending(&mut self) -> Option<Entry<'a, Place, ()>> {
        loop {
            let entry = self.range.next()?;
            let shadowed =
                self.held.as_ref().is_some_and(|held| held.key().at.key == entry.key().at.key);
            if self.at.shows(entry.key()) && !shadowed {
                self.held = Some(entry.clone());
                return Some(entry);
            }
        }
    }

    fn next_descending(&mut self) -> Option<Entry<'a, Place, ()>> {
        loop {
            let Some(entry) = self.range.next_back() else {
                return self.held.take();
            };
            if !self.at.shows(entry.key()) {
                continue;
            }
            // Oldest first in this direction: a later entry of the same key is a newer version.
            match self.held.replace(entry) {
                Some(done)
                    if self
                        .held
                        .as_ref()
                        .is_some_and(|new| new.key().at.key != done.key().at.key) =>
                {
                    return Some(done);
                }
                _ => {}
            }
        }
    }
}

impl Iterator for Versions<'_> {
    type Item = (Bytes, Version);

    fn next(&mut self) -> Option<(Bytes, Version)> {
        let entry = if self.descending { self.next_descending() } else { self.next_ascending() }?;
        let Written { key, version, .. } = &*entry.key().at;
        Some((key.clone(), version.clone()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::{Bytes, Order, Place};

    proptest! {
        #[test]
        fn places_sort_by_key_then_newest_first(
            one in "[\\x00-\\x02]{0,20}",
            other in "[\\x00-\\x02]{0,20}",
            seqs: (u64, u64),
        ) {
            let (left, right) = (Place::new(one.as_bytes(), seqs.0), Place::new(other.as_bytes(), seqs.1));
            let wanted = one.as_bytes().cmp(other.as_bytes()).then_with(|| seqs.1.cmp(&seqs.0));
            assert_eq!(left.cmp(&right), wanted);
            assert_eq!(left.cmp(&left.clone()), Order::Equal);
            assert_eq!(left.at.key, Bytes::from(one));
        }
    }
}

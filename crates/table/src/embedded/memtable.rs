//! Versions that are not settled yet: partition by partition, and in each in the order of their
//! keys, newest first.
//!
//! Writers add versions in the order of their sequence numbers; readers look beside them, hold a
//! partition for a few rows at a time, and see only versions up to the sequence number they may.
//! Nothing is removed before the whole memtable is settled and dropped (but for the rollback of a
//! failed commit). So a reader that comes back for more finds what it would have found before.
//!
//! A partition is found by its name, and the list of all names in order is for those who walk over
//! many: most writes and reads know their partition, and one that has been written to needs no
//! search among the others.

mod rows;
mod versions;

use std::borrow::Borrow;
use std::cmp::Ordering as Order;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use crossbeam_skiplist::SkipSet;
use parking_lot::{Mutex, RwLock};

pub(crate) use self::rows::Tail;
use self::rows::{Row, Rows};
use self::versions::{Partitions, Versions};
use super::filter::{self, Filter};
use super::keys::{KeyRange, split_partition};

/// What a version weighs besides its bytes: its place in a piece that is not quite full.
const VERSION_OVERHEAD_BYTES: usize = 96;
/// What bytes that a version does not share weigh besides themselves: handle, allocator rounding.
const OWN_OVERHEAD_BYTES: usize = 32;
/// What a partition weighs besides its name: itself, its places in the order and among the names.
const PARTITION_OVERHEAD_BYTES: usize = 224;
/// What a version weighs at least as rows are: so many fit into a memtable, a few more if they are
/// small.
const VERSION_BYTES: usize = 128;
/// Locks over which the names are spread.
const SHARDS: usize = 64;

/// A memtable.
pub(crate) struct Memtable {
    /// All partitions by name.
    names: Box<[RwLock<HashSet<Partition>>]>,
    /// All partitions in order.
    order: SkipSet<Partition>,
    /// Of the keys of all versions.
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
    /// Both changes together.
    pub(crate) fn plus(self, other: Counts) -> Counts {
        Counts { items: self.items + other.items, bytes: self.bytes + other.bytes }
    }

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
    fn shows(self, row: &Row) -> bool {
        row.seq <= if row.version.logged { self.logged } else { self.unlogged }
    }
}

/// A partition. Sorts, and is found, by its name. Small, with the rest elsewhere: whoever walks down
/// the list meets many of them, most of which are in the processor's cache then.
#[derive(Clone)]
pub(crate) struct Partition {
    lead: Lead,
    held: Arc<Contents>,
}

/// What a partition holds.
pub(crate) struct Contents {
    /// What all its keys begin with.
    name: Box<[u8]>,
    rows: RwLock<Rows>,
}

/// The first sixteen bytes of a name as numbers that sort like them: most comparisons of a walk down
/// the list end here, without a look at the name's own memory. Not one number of sixteen bytes: what
/// must stand at a multiple of sixteen takes more memory, and more time to be given it.
type Lead = (u64, u64);

fn lead(name: &[u8]) -> Lead {
    let lead = match name.first_chunk() {
        Some(bytes) => u128::from_be_bytes(*bytes),
        None => {
            let padded = name.iter().chain(std::iter::repeat(&0)).take(size_of::<u128>());
            padded.fold(0, |lead, byte| (lead << 8) | u128::from(*byte))
        }
    };
    ((lead >> 64) as u64, lead as u64)
}

impl Partition {
    fn new(name: &[u8]) -> Partition {
        let held = Contents { name: name.into(), rows: RwLock::default() };
        Partition { lead: lead(name), held: Arc::new(held) }
    }

    /// What follows its name in a key at the edge of a range; whether all of it lies before that
    /// edge, behind it, or on both sides.
    fn tail_of<'k>(&self, edge: &'k [u8]) -> Result<&'k [u8], Order> {
        edge.strip_prefix(&*self.held.name).ok_or_else(|| (*self.held.name).cmp(edge))
    }

    /// The key of a row.
    fn key_of(&self, row: &Row) -> Bytes {
        [&*self.held.name, &*row.tail].concat().into()
    }
}

impl Borrow<[u8]> for Partition {
    fn borrow(&self) -> &[u8] {
        &self.held.name
    }
}

impl Hash for Partition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (*self.held.name).hash(state);
    }
}

impl PartialEq for Partition {
    fn eq(&self, other: &Self) -> bool {
        self.held.name == other.held.name
    }
}

impl Eq for Partition {}

impl PartialOrd for Partition {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Partition {
    fn cmp(&self, other: &Self) -> Order {
        self.lead.cmp(&other.lead).then_with(|| self.held.name.cmp(&other.held.name))
    }
}

/// A key's partition and what follows it. A key without one is a partition of its own.
fn split(key: &[u8]) -> (&[u8], &[u8]) {
    split_partition(key).unwrap_or((key, &[]))
}

impl Memtable {
    /// An empty one, to be frozen at so many bytes.
    pub(crate) fn new(bytes: usize) -> Memtable {
        Memtable {
            names: std::iter::repeat_with(RwLock::default).take(SHARDS).collect(),
            order: SkipSet::new(),
            keys: Filter::new(bytes / VERSION_BYTES),
            bytes: AtomicUsize::new(0),
            last_durable: AtomicU64::new(0),
            counts: Mutex::default(),
            drops: Mutex::default(),
        }
    }

    /// Adds a version whose value has so many bytes of its own. `last` is what the key added before
    /// ended in, and then what this one does. Calls come in the order of `seq`; at a start several
    /// at a time, none of them for a key that another one adds to.
    pub(crate) fn add(
        &self,
        key: &[u8],
        seq: u64,
        version: Version,
        own_bytes: usize,
        last: &mut Tail,
    ) {
        if version.logged {
            self.last_durable.fetch_max(seq, Ordering::AcqRel);
        }
        self.keys.add(filter::hash(key));
        let (name, tail) = split(key);
        let mut weight = VERSION_OVERHEAD_BYTES;
        if own_bytes > 0 {
            weight += own_bytes + OWN_OVERHEAD_BYTES;
        }
        if **last != *tail {
            *last = tail.into();
            weight += tail.len() + OWN_OVERHEAD_BYTES;
        }
        let row = Row { tail: Tail::clone(last), seq, version };
        let shard = self.shard(name);
        let names = shard.read();
        if let Some(partition) = names.get(name) {
            partition.held.rows.write().insert(row);
        } else {
            drop(names);
            let mut names = shard.write();
            if let Some(partition) = names.get(name) {
                partition.held.rows.write().insert(row);
            } else {
                let partition = Partition::new(name);
                partition.held.rows.write().insert(row);
                self.order.insert(partition.clone());
                names.insert(partition);
                weight += name.len() + PARTITION_OVERHEAD_BYTES;
            }
        }
        self.bytes.fetch_add(weight, Ordering::Relaxed);
    }

    fn shard(&self, name: &[u8]) -> &RwLock<HashSet<Partition>> {
        // The spread of the partition, or the end of what has none.
        let byte = name.get(6).or(name.last()).copied().unwrap_or(0);
        let shard = self.names.get(usize::from(byte) % SHARDS);
        shard.expect("the remainder is below the number of shards")
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
        *held = held.plus(change);
    }

    /// What `table` gained or lost here.
    pub(crate) fn counts(&self, table: u32) -> Counts {
        self.counts.lock().get(&table).copied().unwrap_or_default()
    }

    /// What all tables gained or lost here.
    pub(crate) fn all_counts(&self) -> Vec<(u32, Counts)> {
        self.counts.lock().iter().map(|(table, counts)| (*table, *counts)).collect()
    }

    /// Whether there may be a version of a key of this hash.
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        self.keys.may_hold(hash)
    }

    /// The newest version of `key`, whose hash this is, to be seen `at`, with its sequence number.
    pub(crate) fn get(&self, key: &[u8], hash: u64, at: At) -> Option<(u64, Version)> {
        if !self.may_hold(hash) {
            return None;
        }
        let (name, tail) = split(key);
        let names = self.shard(name).read();
        let rows = names.get(name)?.held.rows.read();
        rows.newest(tail, at).map(|row| (row.seq, row.version.clone()))
    }

    /// The newest versions to be seen `at` of all keys in `range`, in either direction.
    pub(crate) fn range<'a>(
        &'a self,
        range: &'a KeyRange,
        at: At,
        descending: bool,
    ) -> Versions<'a> {
        let partitions = match range.partition() {
            Some(name) => Partitions::One(self.shard(name).read().get(name).cloned()),
            None => Partitions::Many(self.order.range(self.around(range))),
        };
        Versions::new(range, at, descending, partitions)
    }

    /// The partitions that some of `range` may lie in.
    fn around(&self, range: &KeyRange) -> (Bound<Partition>, Bound<Partition>) {
        let start = match &range.start {
            Bound::Included(key) | Bound::Excluded(key) => {
                // The range may begin within the one before it.
                let edge = Partition::new(key);
                let before = self.order.upper_bound(Bound::Included(&edge));
                let before = before.map(|entry| entry.value().clone());
                Bound::Included(before.unwrap_or(edge))
            }
            Bound::Unbounded => Bound::Unbounded,
        };
        let end = match &range.end {
            Bound::Included(key) | Bound::Excluded(key) => Bound::Included(Partition::new(key)),
            Bound::Unbounded => Bound::Unbounded,
        };
        (start, end)
    }

    /// All partitions in order.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = Partition> {
        self.order.iter().map(|entry| entry.value().clone())
    }

    /// Takes back every logged version after `seq`: their commit failed.
    pub(crate) fn roll_back(&self, seq: u64) {
        self.drops.lock().retain(|(dropped, _)| *dropped <= seq);
        for entry in self.order.iter() {
            let mut rows = entry.value().held.rows.write();
            rows.retain(|row| row.seq <= seq || !row.version.logged);
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
        self.order.is_empty()
    }
}

/// All versions of some partitions of one name, key by key, newest first.
pub(crate) fn merge(partitions: &[Partition]) -> impl Iterator<Item = Held> + use<> {
    let mut rows = Vec::new();
    for partition in partitions {
        rows.extend(partition.held.rows.read().ascending(Bound::Unbounded).cloned());
    }
    // Each is sorted already, and mostly one stands behind the other.
    rows.sort_by(|one, other| one.place().cmp(&other.place()));
    let held = partitions.first().map(|partition| Arc::clone(&partition.held));
    rows.into_iter().filter_map(move |row| Some(Held { partition: held.clone()?, row }))
}

/// A version where it is held.
pub(crate) struct Held {
    partition: Arc<Contents>,
    row: Row,
}

impl Held {
    /// What its key begins with.
    pub(crate) fn name(&self) -> &[u8] {
        &self.partition.name
    }

    /// What follows in its key.
    pub(crate) fn tail(&self) -> &[u8] {
        &self.row.tail
    }

    /// Whether both are of one key.
    pub(crate) fn is_of_key(&self, other: &Held) -> bool {
        self.row.tail == other.row.tail && self.name() == other.name()
    }

    /// What stands there from its change on.
    pub(crate) fn version(&self) -> &Version {
        &self.row.version
    }
}

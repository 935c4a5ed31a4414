//! Stretches of keys: what a query, a scan or the sweeper walks over.

use std::ops::{Bound, RangeBounds};

use super::{EXPIRY, GROUP, Part, ROWS, head, part, push_partition, push_sort, split_partition};
use crate::expr::SortCondition;
use crate::limits::SORT_KEY_BYTES_MAX;
use crate::value::Value;

/// Values of the spread.
const SPREADS: u64 = 1 << 16;

/// A stretch of keys. Its start is never beyond its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    /// Where it starts.
    pub start: Bound<Vec<u8>>,
    /// Where it ends.
    pub end: Bound<Vec<u8>>,
}

/// The keys of one partition of a space, maybe only those whose sort value meets a condition.
///
/// Values that cannot stand in a key are in no partition: the range is empty.
pub(crate) fn query_range(
    table: u32,
    space: u8,
    partition: &Value,
    sort: Option<&SortCondition>,
) -> KeyRange {
    let mut prefix = head(table, space);
    let Some(partition) = part(partition) else {
        return KeyRange::empty(prefix);
    };
    push_partition(&mut prefix, &partition);
    let Some(sort) = sort else {
        return KeyRange::of_prefix(prefix);
    };
    let (low, high) = match sort {
        SortCondition::Eq(value)
        | SortCondition::Lt(value)
        | SortCondition::Le(value)
        | SortCondition::Gt(value)
        | SortCondition::Ge(value)
        | SortCondition::BeginsWith(value) => (value, value),
        SortCondition::Between(low, high) => (low, high),
    };
    let (Some(low), Some(high)) = (Edge::new(&prefix, low, space), Edge::new(&prefix, high, space))
    else {
        return KeyRange::empty(prefix);
    };
    match sort {
        SortCondition::Eq(_) | SortCondition::Between(_, _) => {
            KeyRange::new(low.before(), high.after_as_end())
        }
        SortCondition::Lt(_) => KeyRange::new(low.first(), Bound::Excluded(high.key)),
        SortCondition::Le(_) => KeyRange::new(low.first(), high.after_as_end()),
        SortCondition::Gt(_) => KeyRange::new(low.after_as_start(), high.last()),
        SortCondition::Ge(_) => KeyRange::new(low.before(), high.last()),
        SortCondition::BeginsWith(_) => KeyRange::new(low.before(), high.after_prefix()),
    }
}

/// The keys of a space, or of one of `total` segments of it.
pub(crate) fn scan_range(table: u32, space: u8, segment: Option<(u32, u32)>) -> KeyRange {
    let head = head(table, space);
    let Some((segment, total)) = segment else {
        return KeyRange::of_prefix(head);
    };
    if segment >= total {
        return KeyRange::empty(head);
    }
    let edge = |segment: u32| {
        let spread = u64::from(segment) * SPREADS / u64::from(total);
        u16::try_from(spread).ok().map(|spread| [head.as_slice(), &spread.to_be_bytes()].concat())
    };
    let start = edge(segment).map_or_else(|| after_all(&head), Bound::Included);
    let end = edge(segment + 1).map_or_else(|| after_all(&head), Bound::Excluded);
    KeyRange::new(start, end)
}

/// Everything of a table.
pub(crate) fn table_range(table: u32) -> KeyRange {
    KeyRange::of_prefix(table.to_be_bytes().to_vec())
}

/// The expiry keys of all seconds from `from` up to and with `until`.
pub(crate) fn expiry_range(table: u32, from: u64, until: u64) -> KeyRange {
    let at = |second: u64| [head(table, EXPIRY).as_slice(), &second.to_be_bytes()].concat();
    let end = until.checked_add(1).map_or_else(|| head(table, EXPIRY + 1), at);
    KeyRange::new(Bound::Included(at(from)), Bound::Excluded(end))
}

impl KeyRange {
    fn new(start: Bound<Vec<u8>>, end: Bound<Vec<u8>>) -> KeyRange {
        let range = KeyRange { start, end };
        // Maps refuse a start beyond the end, as in `BETWEEN 2 AND 1`.
        let empty = range.is_empty();
        match range.start {
            Bound::Included(at) | Bound::Excluded(at) if empty => KeyRange::empty(at),
            start => KeyRange { start, end: range.end },
        }
    }

    /// Whether no key can lie in it.
    pub(crate) fn is_empty(&self) -> bool {
        match (&self.start, &self.end) {
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (
                Bound::Included(start) | Bound::Excluded(start),
                Bound::Included(end) | Bound::Excluded(end),
            ) => start >= end,
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        }
    }

    /// Whether `key` lies in it.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        RangeBounds::<[u8]>::contains(&self.as_bounds(), key)
    }

    /// The range by reference.
    pub(crate) fn as_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.start.as_ref().map(Vec::as_slice), self.end.as_ref().map(Vec::as_slice))
    }

    /// The partition that all of it lies in, if it is one: the beginning of its keys.
    pub(crate) fn partition(&self) -> Option<&[u8]> {
        let (Bound::Included(start) | Bound::Excluded(start)) = &self.start else { return None };
        let (name, _) = split_partition(start)?;
        let ends = match &self.end {
            Bound::Included(end) => end.starts_with(name),
            Bound::Excluded(end) => end.starts_with(name) || self.end == after_all(name),
            Bound::Unbounded => false,
        };
        ends.then_some(name)
    }

    /// Some key at its edge: all keys of a range belong to one table.
    pub(crate) fn edge(&self) -> &[u8] {
        match (&self.start, &self.end) {
            (Bound::Included(key) | Bound::Excluded(key), _)
            | (Bound::Unbounded, Bound::Included(key) | Bound::Excluded(key)) => key,
            (Bound::Unbounded, Bound::Unbounded) => &[],
        }
    }

    /// All keys.
    pub(crate) fn all() -> KeyRange {
        KeyRange { start: Bound::Unbounded, end: Bound::Unbounded }
    }

    fn empty(at: Vec<u8>) -> KeyRange {
        KeyRange { start: Bound::Included(at.clone()), end: Bound::Excluded(at) }
    }

    /// One key.
    pub(crate) fn of_key(key: Vec<u8>) -> KeyRange {
        KeyRange { start: Bound::Included(key.clone()), end: Bound::Included(key) }
    }

    fn of_prefix(prefix: Vec<u8>) -> KeyRange {
        let end = after_all(&prefix);
        KeyRange { start: Bound::Included(prefix), end }
    }
}

/// A sort value as an edge of a range.
struct Edge {
    /// The partition's prefix and the encoded sort value.
    key: Vec<u8>,
    /// How much of the key is the prefix with the type of the sort value.
    typed: usize,
    /// How much of the key all values have that begin with this one.
    begun: usize,
    /// Whether more follows in the keys of this space.
    inner: bool,
}

impl Edge {
    fn new(prefix: &[u8], value: &Value, space: u8) -> Option<Edge> {
        let part = clip(part(value)?);
        let mut key = prefix.to_vec();
        push_sort(&mut key, &part, space);
        let inner = space != ROWS;
        let typed = prefix.len() + 1;
        let begun = match part {
            Part::Number(_) => key.len(),
            Part::Bytes { bytes, .. } if inner => {
                typed + bytes.len() + bytes.len().saturating_sub(1) / GROUP
            }
            Part::Bytes { bytes, .. } => typed + bytes.len(),
        };
        Some(Edge { key, typed, begun, inner })
    }

    fn type_prefix(&self) -> &[u8] {
        self.key.get(..self.typed).expect("the type stands in the key")
    }

    /// Before all sort values of the type.
    fn first(&self) -> Bound<Vec<u8>> {
        Bound::Included(self.type_prefix().to_vec())
    }

    /// After all sort values of the type.
    fn last(&self) -> Bound<Vec<u8>> {
        after_all(self.type_prefix())
    }

    fn before(self) -> Bound<Vec<u8>> {
        Bound::Included(self.key)
    }

    fn after_as_start(&self) -> Bound<Vec<u8>> {
        match after_all(&self.key) {
            Bound::Excluded(after) if self.inner => Bound::Included(after),
            Bound::Excluded(_) | Bound::Included(_) | Bound::Unbounded => {
                Bound::Excluded(self.key.clone())
            }
        }
    }

    fn after_as_end(self) -> Bound<Vec<u8>> {
        if self.inner { after_all(&self.key) } else { Bound::Included(self.key) }
    }

    /// After all values that begin with this one. Smaller values that share the bytes of a padded
    /// group (`a` and `a\0`) stand before the edge itself.
    fn after_prefix(&self) -> Bound<Vec<u8>> {
        after_all(self.key.get(..self.begun).expect("what values share stands in the key"))
    }
}

/// A sort value that no key can hold, cut to the length where that shows: it stands between the
/// same keys, equals none and begins none, and the edge fits the store.
fn clip(part: Part<'_>) -> Part<'_> {
    match part {
        Part::Number(_) => part,
        Part::Bytes { tag, tag_of_hash, bytes } => {
            let bytes = bytes.get(..=SORT_KEY_BYTES_MAX).unwrap_or(bytes);
            Part::Bytes { tag, tag_of_hash, bytes }
        }
    }
}

/// The end of all keys that begin with `prefix`.
fn after_all(prefix: &[u8]) -> Bound<Vec<u8>> {
    let mut after = prefix.to_vec();
    while let Some(last) = after.pop() {
        if let Some(next) = last.checked_add(1) {
            after.push(next);
            return Bound::Excluded(after);
        }
    }
    Bound::Unbounded
}

//! Where rows stand: all tables share one ordered space of byte keys.
//!
//! ```text
//!   row      [table u32][0x00][spread u16][partition][sort, last]
//!   index    [table u32][number + 1][spread u16][partition][sort, inner][row suffix]
//!   expiry   [table u32][0xFE][second u64][row key from its 6th byte]
//!
//!   spread        upper half of the crc32c of the encoded partition
//!   partition     0x01 number | 0x02 text groups | 0x03 bytes groups
//!                 0x04 SHA-256 of a long text | 0x05 SHA-256 of long bytes
//!   sort, last    0x01 number | 0x02 text | 0x03 bytes          (as they are: nothing follows)
//!   sort, inner   0x01 number | 0x02 text groups | 0x03 bytes groups
//!   row suffix    0x00 row key from its 6th byte | 0xFF SHA-256 of that if it is long
//!   groups        8 bytes, padded with zeros, and their count: 1 to 8 at the end, 9 before more
//! ```
//!
//! Integers are big endian. The spread scatters partitions evenly, so that a segment of a parallel
//! scan is one range of keys. Partitions are only ever compared for equality, so long ones may be
//! hashed; sort values never are. Groups and numbers end by themselves, which keeps the order of
//! values when something follows. The value of an index row is the whole row key.
//!
//! Invariant: no key is longer than [`KEY_BYTES_MAX`], whatever the item.

use std::ops::Bound;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::expr::SortCondition;
use crate::spec::{KeyAttribute, KeySpec, KeyType};
use crate::value::{Item, Value};

/// The settled store's longest key.
pub(crate) const KEY_BYTES_MAX: usize = 1982;

/// The space of a table's rows.
pub(crate) const ROWS: u8 = 0;
/// The space of a table's expiry rows.
pub(crate) const EXPIRY: u8 = 0xFE;

/// Table and space.
const HEAD_BYTES: usize = 5;
/// Partitions up to this length are kept as they are. Long ones would not fit beside two sort
/// values.
const PARTITION_PLAIN_BYTES_MAX: usize = 255;
/// Row suffixes up to this length are kept as they are, for the same reason.
const SUFFIX_PLAIN_BYTES_MAX: usize = 480;
/// Values of the spread.
const SPREADS: u64 = 1 << 16;

const TAG_NUMBER: u8 = 1;
const TAG_TEXT: u8 = 2;
const TAG_BYTES: u8 = 3;
const TAG_TEXT_HASH: u8 = 4;
const TAG_BYTES_HASH: u8 = 5;
const SUFFIX_PLAIN: u8 = 0;
const SUFFIX_HASH: u8 = 0xFF;

const GROUP: usize = 8;
const GROUP_MORE: u8 = 9;

/// A stretch of keys. Its start is never beyond its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    /// Where it starts.
    pub start: Bound<Vec<u8>>,
    /// Where it ends.
    pub end: Bound<Vec<u8>>,
}

/// The key of an item's row. The item was checked against the table's rules before.
pub(crate) fn row_key(table: u32, key: &KeySpec, item: &Item) -> Result<Vec<u8>, Error> {
    let mut out = head(table, ROWS);
    push_partition(&mut out, find(&key.partition, item).ok_or_else(|| missing(&key.partition))?);
    if let Some(sort) = &key.sort {
        push_sort(&mut out, find(sort, item).ok_or_else(|| missing(sort))?, ROWS);
    }
    debug_assert!(out.len() <= KEY_BYTES_MAX, "a row key has {} bytes", out.len());
    Ok(out)
}

/// The key of an item's row in the index of that number; none if the item is not in it.
pub(crate) fn index_key(
    table: u32,
    number: usize,
    key: &KeySpec,
    item: &Item,
    row_key: &[u8],
) -> Option<Vec<u8>> {
    let partition = find(&key.partition, item)?;
    let sort = match &key.sort {
        Some(sort) => Some(find(sort, item)?),
        None => None,
    };
    let space = index_space(number);
    let mut out = head(table, space);
    push_partition(&mut out, partition);
    if let Some(sort) = sort {
        push_sort(&mut out, sort, space);
    }
    let suffix = suffix(row_key);
    if suffix.len() <= SUFFIX_PLAIN_BYTES_MAX {
        out.push(SUFFIX_PLAIN);
        out.extend_from_slice(suffix);
    } else {
        out.push(SUFFIX_HASH);
        out.extend_from_slice(&Sha256::digest(suffix));
    }
    debug_assert!(out.len() <= KEY_BYTES_MAX, "an index key has {} bytes", out.len());
    Some(out)
}

/// The space of the index of that number.
pub(crate) fn index_space(number: usize) -> u8 {
    let space = u8::try_from(number + 1).ok().filter(|space| *space < EXPIRY);
    space.expect("the indexes of a table are numbered below 0xFD")
}

/// The key under which the row's expiry at `second` is found.
pub(crate) fn expiry_key(table: u32, second: u64, row_key: &[u8]) -> Vec<u8> {
    let mut out = head(table, EXPIRY);
    out.extend_from_slice(&second.to_be_bytes());
    out.extend_from_slice(suffix(row_key));
    out
}

/// Table, second and row key of an expiry key.
pub(crate) fn parse_expiry_key(key: &[u8]) -> Option<(u32, u64, Vec<u8>)> {
    let (table, rest) = key.split_first_chunk()?;
    let rest = rest.strip_prefix(&[EXPIRY])?;
    let (second, suffix) = rest.split_first_chunk()?;
    let table = u32::from_be_bytes(*table);
    let mut row_key = head(table, ROWS);
    row_key.extend_from_slice(suffix);
    Some((table, u64::from_be_bytes(*second), row_key))
}

/// The expiry keys of all seconds up to `until`: from the first key to before the second.
pub(crate) fn expiry_range(table: u32, until: u64) -> (Vec<u8>, Vec<u8>) {
    let start = head(table, EXPIRY);
    let end = match until.checked_add(1) {
        Some(after) => [head(table, EXPIRY).as_slice(), &after.to_be_bytes()].concat(),
        None => head(table, EXPIRY + 1),
    };
    (start, end)
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
    if !push_partition(&mut prefix, partition) {
        return KeyRange::empty(prefix);
    }
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
        SortCondition::BeginsWith(value) => KeyRange::new(low.before(), high.after_prefix(value)),
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

impl KeyRange {
    fn new(start: Bound<Vec<u8>>, end: Bound<Vec<u8>>) -> KeyRange {
        // Maps refuse a start beyond the end, as in `BETWEEN 2 AND 1`.
        match (&start, &end) {
            (Bound::Included(low), Bound::Included(high)) if low > high => {
                KeyRange::empty(low.clone())
            }
            (Bound::Included(low) | Bound::Excluded(low), Bound::Excluded(high))
            | (Bound::Excluded(low), Bound::Included(high))
                if low >= high =>
            {
                KeyRange::empty(low.clone())
            }
            _ => KeyRange { start, end },
        }
    }

    fn empty(at: Vec<u8>) -> KeyRange {
        KeyRange { start: Bound::Included(at.clone()), end: Bound::Excluded(at) }
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
    /// Whether more follows in the keys of this space.
    inner: bool,
}

impl Edge {
    fn new(prefix: &[u8], value: &Value, space: u8) -> Option<Edge> {
        let mut key = prefix.to_vec();
        let inner = space != ROWS;
        push_sort(&mut key, value, space).then_some(Edge { key, typed: prefix.len() + 1, inner })
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
        match (self.inner, after_all(&self.key)) {
            (true, Bound::Excluded(after)) => Bound::Included(after),
            (_, _) => Bound::Excluded(self.key.clone()),
        }
    }

    fn after_as_end(self) -> Bound<Vec<u8>> {
        if self.inner { after_all(&self.key) } else { Bound::Included(self.key) }
    }

    /// After all values that begin with this one. Smaller values that share the bytes of a padded
    /// group (`a` and `a\0`) stand before the edge itself.
    fn after_prefix(&self, value: &Value) -> Bound<Vec<u8>> {
        let len = match value {
            Value::S(text) => text.len(),
            Value::B(bytes) => bytes.len(),
            _ => return Bound::Included(self.key.clone()),
        };
        let kept = if self.inner { len + len.saturating_sub(1) / GROUP } else { len };
        after_all(self.key.get(..self.typed + kept).expect("groups only add bytes"))
    }
}

fn head(table: u32, space: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    out.extend_from_slice(&table.to_be_bytes());
    out.push(space);
    out
}

/// A row key from its 6th byte.
fn suffix(row_key: &[u8]) -> &[u8] {
    row_key.get(HEAD_BYTES..).expect("a row key starts with table and space")
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

fn find<'a>(attribute: &KeyAttribute, item: &'a Item) -> Option<&'a Value> {
    let value = item.get(&attribute.name)?;
    let fits = match attribute.kind {
        KeyType::S => matches!(value, Value::S(_)),
        KeyType::N => matches!(value, Value::N(_)),
        KeyType::B => matches!(value, Value::B(_)),
    };
    fits.then_some(value)
}

fn missing(attribute: &KeyAttribute) -> Error {
    Error::invalid(format!(
        "One or more parameter values were invalid: Missing the key {} in the item",
        attribute.name
    ))
}

/// Appends spread and partition; says whether the value can be a partition.
fn push_partition(out: &mut Vec<u8>, value: &Value) -> bool {
    let start = out.len();
    out.extend_from_slice(&[0, 0]);
    match value {
        Value::S(text) => push_plain_or_hash(out, text.as_bytes(), TAG_TEXT, TAG_TEXT_HASH),
        Value::B(bytes) => push_plain_or_hash(out, bytes, TAG_BYTES, TAG_BYTES_HASH),
        Value::N(number) => {
            out.push(TAG_NUMBER);
            number.encode_ordered(out);
        }
        _ => return false,
    }
    let (_, tail) = out.split_at_mut(start);
    if let Some((spread, partition)) = tail.split_first_chunk_mut() {
        let [first, second, _, _] = crc32c::crc32c(partition).to_be_bytes();
        *spread = [first, second];
    }
    true
}

fn push_plain_or_hash(out: &mut Vec<u8>, bytes: &[u8], plain: u8, hash: u8) {
    if bytes.len() <= PARTITION_PLAIN_BYTES_MAX {
        out.push(plain);
        push_groups(out, bytes);
    } else {
        out.push(hash);
        out.extend_from_slice(&Sha256::digest(bytes));
    }
}

/// Appends a sort value as the space has it; says whether the value can be one.
fn push_sort(out: &mut Vec<u8>, value: &Value, space: u8) -> bool {
    let (tag, bytes) = match value {
        Value::S(text) => (TAG_TEXT, text.as_bytes()),
        Value::B(bytes) => (TAG_BYTES, bytes.as_ref()),
        Value::N(number) => {
            out.push(TAG_NUMBER);
            number.encode_ordered(out);
            return true;
        }
        _ => return false,
    };
    out.push(tag);
    if space == ROWS {
        out.extend_from_slice(bytes);
    } else {
        push_groups(out, bytes);
    }
    true
}

/// Appends bytes so that they end by themselves and keep their order: 9 for every 8 begun.
fn push_groups(out: &mut Vec<u8>, bytes: &[u8]) {
    let (full, last) = match bytes.len() {
        0 => (bytes, bytes),
        len => bytes.split_at((len - 1) / GROUP * GROUP),
    };
    for group in full.chunks_exact(GROUP) {
        out.extend_from_slice(group);
        out.push(GROUP_MORE);
    }
    let start = out.len();
    out.extend_from_slice(last);
    out.resize(start + GROUP, 0);
    out.push(u8::try_from(last.len()).expect("a group has at most 8 bytes"));
}

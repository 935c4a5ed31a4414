//! Where rows stand: all tables share one ordered space of byte keys.
//!
//! ```text
//!   row      [table u32][0x00][spread u16][partition][sort, last]
//!   index    [table u32][number + 1][spread u16][partition][sort, inner][row suffix]
//!   expiry   [table u32][0xFE][second u64][change u64][number u32]
//!
//!   spread        upper half of the crc32c of the encoded partition
//!   partition     0x01 number | 0x02 length u8, text | 0x03 length u8, bytes
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
//! values when something follows. The value of an index row is the whole row key. An expiry row is one
//! for many rows that one change wrote; which they are, its value tells (`reminder.rs`).
//!
//! Ranges of keys are in `keys/ranges.rs`.
//!
//! Invariant: no key is longer than [`KEY_BYTES_MAX`], whatever the item.

mod ranges;

use std::borrow::Cow;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::number::Number;
use crate::spec::{KeyAttribute, KeySpec, KeyType};
use crate::value::{Item, Value};

pub(crate) use ranges::{KeyRange, expiry_range, query_range, scan_range, table_range};

/// The settled store's longest key.
pub(crate) const KEY_BYTES_MAX: usize = 1982;

/// Room that is made for a key before it is written.
const KEY_BYTES_USUAL: usize = 160;

/// The space of a table's rows.
pub(crate) const ROWS: u8 = 0;
/// The space of a table's expiry rows.
pub(crate) const EXPIRY: u8 = 0xFE;

/// Table and space.
const HEAD_BYTES: usize = 5;
const SPREAD_BYTES: usize = 2;
const HASH_BYTES: usize = 32;
/// Partitions up to this length are kept as they are. Long ones would not fit beside two sort
/// values. The length is one byte.
const PARTITION_PLAIN_BYTES_MAX: usize = u8::MAX as usize;
/// Row suffixes up to this length are kept as they are, for the same reason.
const SUFFIX_PLAIN_BYTES_MAX: usize = 480;

const TAG_NUMBER: u8 = 1;
const TAG_TEXT: u8 = 2;
const TAG_BYTES: u8 = 3;
const TAG_TEXT_HASH: u8 = 4;
const TAG_BYTES_HASH: u8 = 5;
const SUFFIX_PLAIN: u8 = 0;
const SUFFIX_HASH: u8 = 0xFF;

const GROUP: usize = 8;
const GROUP_MORE: u8 = 9;

/// The key of an item's row. The item was checked against the table's rules before.
pub(crate) fn row_key(table: u32, key: &KeySpec, item: &Item) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(KEY_BYTES_USUAL);
    write_row_key(&mut out, table, key, item)?;
    Ok(out)
}

/// Puts the key of an item's row into `out`, in place of what is there.
pub(crate) fn write_row_key(
    out: &mut Vec<u8>,
    table: u32,
    key: &KeySpec,
    item: &Item,
) -> Result<(), Error> {
    out.clear();
    push_head(out, table, ROWS);
    push_partition(out, &find(&key.partition, item).ok_or_else(|| missing(&key.partition))?);
    if let Some(sort) = &key.sort {
        push_sort(out, &find(sort, item).ok_or_else(|| missing(sort))?, ROWS);
    }
    assert!(out.len() <= KEY_BYTES_MAX, "a row key has {} bytes", out.len());
    Ok(())
}

/// The key of an item's row in the index of that number; none if the item is not in it. An item
/// that was there before the index may hold anything in the index's attributes: what is empty, too
/// long or of another type is not in the index either.
pub(crate) fn index_key(
    table: u32,
    number: usize,
    key: &KeySpec,
    item: &Item,
    row_key: &[u8],
) -> Option<Vec<u8>> {
    let partition = find(&key.partition, item)?.within(PARTITION_KEY_BYTES_MAX)?;
    let sort = match &key.sort {
        Some(sort) => Some(find(sort, item)?.within(SORT_KEY_BYTES_MAX)?),
        None => None,
    };
    let space = index_space(number);
    let mut out = head(table, space);
    push_partition(&mut out, &partition);
    if let Some(sort) = sort {
        push_sort(&mut out, &sort, space);
    }
    let suffix = suffix(row_key);
    if suffix.len() <= SUFFIX_PLAIN_BYTES_MAX {
        out.push(SUFFIX_PLAIN);
        out.extend_from_slice(suffix);
    } else {
        out.push(SUFFIX_HASH);
        out.extend_from_slice(&Sha256::digest(suffix));
    }
    assert!(out.len() <= KEY_BYTES_MAX, "an index key has {} bytes", out.len());
    Some(out)
}

/// The space of the index of that number.
pub(crate) fn index_space(number: usize) -> u8 {
    let space = u8::try_from(number + 1).ok().filter(|space| *space < EXPIRY);
    space.expect("the indexes of a table are numbered below 0xFD")
}

/// The key under which a reminder of `second` stands, the change's of that number.
pub(crate) fn expiry_key(table: u32, second: u64, change: u64, number: u32) -> Vec<u8> {
    let mut out = head(table, EXPIRY);
    out.extend_from_slice(&second.to_be_bytes());
    out.extend_from_slice(&change.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
    out
}

/// The second of an expiry key.
pub(crate) fn second_of(expiry_key: &[u8]) -> Option<u64> {
    expiry_key.get(HEAD_BYTES..)?.first_chunk().map(|second| u64::from_be_bytes(*second))
}

/// Adds to `item` those attributes that are wanted of a row key or index key of this form. Answers
/// what they and the others weigh, by `weighed`; none if a part of the key is hashed.
pub(crate) fn read_key(
    key: &[u8],
    form: &KeySpec,
    item: &mut Item,
    wanted: impl Fn(&str) -> bool,
    weighed: impl Fn(&str) -> bool,
) -> Option<usize> {
    let ([.., space], rest) = key.split_first_chunk::<HEAD_BYTES>()?;
    let (_spread, rest) = rest.split_first_chunk::<SPREAD_BYTES>()?;
    let mut weight = 0;
    let mut take = |name: &str, told: Told<'_>| {
        if weighed(name) {
            weight += name.len() + told.weight();
        }
        if wanted(name) {
            item.insert(name, told.value()?);
        }
        Some(())
    };
    let (partition, rest) = read_part(rest, read_measured)?;
    take(&form.partition.name, partition)?;
    if let Some(sort) = &form.sort {
        let form = if *space == ROWS { read_last } else { read_groups };
        take(&sort.name, read_part(rest, form)?.0)?;
    }
    Some(weight)
}

/// A value as a key tells it.
enum Told<'k> {
    Number(Number),
    Text(Cow<'k, [u8]>),
    Bytes(Cow<'k, [u8]>),
}

impl Told<'_> {
    fn weight(&self) -> usize {
        match self {
            Told::Number(number) => Value::N(*number).size(),
            Told::Text(bytes) | Told::Bytes(bytes) => bytes.len(),
        }
    }

    /// The value; none if it is a text that cannot be one.
    fn value(self) -> Option<Value> {
        Some(match self {
            Told::Number(number) => Value::N(number),
            Told::Text(bytes) => Value::from(std::str::from_utf8(&bytes).ok()?),
            Told::Bytes(bytes) => Value::B(Bytes::from(bytes.into_owned())),
        })
    }
}

/// The partition and the sort value of a row key where they are texts as they are; what is not is
/// empty.
pub(crate) fn texts(row_key: &[u8]) -> [&[u8]; 2] {
    let Some((name, rest)) = split_partition(row_key) else { return Default::default() };
    let partition = match name.get(HEAD_BYTES + SPREAD_BYTES..) {
        Some([TAG_TEXT, _, text @ ..]) => text,
        _ => &[],
    };
    [partition, rest.strip_prefix(&[TAG_TEXT]).unwrap_or_default()]
}

/// A key up to the end of its partition, and what follows; none if there is no partition. Of two
/// partitions none begins as the other one does. All expiry keys of a table are one partition.
pub(crate) fn split_partition(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = key.split_at_checked(HEAD_BYTES + SPREAD_BYTES)?;
    if head.get(HEAD_BYTES - 1) == Some(&EXPIRY) {
        return Some((head, rest));
    }
    let (tag, rest) = rest.split_first()?;
    let length = match *tag {
        TAG_NUMBER => Number::decode_ordered(rest)?.1,
        TAG_TEXT | TAG_BYTES => 1 + usize::from(*rest.first()?),
        TAG_TEXT_HASH | TAG_BYTES_HASH => HASH_BYTES,
        _ => return None,
    };
    key.split_at_checked(head.len() + 1 + length)
}

fn head(table: u32, space: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(KEY_BYTES_USUAL);
    push_head(&mut out, table, space);
    out
}

fn push_head(out: &mut Vec<u8>, table: u32, space: u8) {
    out.extend_from_slice(&table.to_be_bytes());
    out.push(space);
}

/// A row key from its 6th byte.
fn suffix(row_key: &[u8]) -> &[u8] {
    row_key.get(HEAD_BYTES..).expect("a row key starts with table and space")
}

/// The attribute as a part of a key, if the item has it in its type.
fn find<'a>(attribute: &KeyAttribute, item: &'a Item) -> Option<Part<'a>> {
    let value = item.get(&attribute.name)?;
    let fits = match attribute.kind {
        KeyType::S => matches!(value, Value::S(_)),
        KeyType::N => matches!(value, Value::N(_)),
        KeyType::B => matches!(value, Value::B(_)),
    };
    if fits { part(value) } else { None }
}

fn missing(attribute: &KeyAttribute) -> Error {
    Error::invalid(format!(
        "One or more parameter values were invalid: Missing the key {} in the item",
        attribute.name
    ))
}

/// A value as keys see it.
enum Part<'a> {
    Number(&'a Number),
    Bytes { tag: u8, tag_of_hash: u8, bytes: &'a [u8] },
}

impl Part<'_> {
    /// The part, unless it is empty or longer than `max`.
    fn within(self, max: usize) -> Option<Self> {
        match self {
            Part::Bytes { bytes, .. } if bytes.is_empty() || bytes.len() > max => None,
            Part::Bytes { .. } | Part::Number(_) => Some(self),
        }
    }
}

/// The value as a part of a key, if it can be one.
fn part(value: &Value) -> Option<Part<'_>> {
    match value {
        Value::N(number) => Some(Part::Number(number)),
        Value::S(text) => {
            let bytes = text.as_bytes();
            Some(Part::Bytes { tag: TAG_TEXT, tag_of_hash: TAG_TEXT_HASH, bytes })
        }
        Value::B(bytes) => Some(Part::Bytes { tag: TAG_BYTES, tag_of_hash: TAG_BYTES_HASH, bytes }),
        Value::Bool(_)
        | Value::Null
        | Value::M(_)
        | Value::L(_)
        | Value::Ss(_)
        | Value::Ns(_)
        | Value::Bs(_) => None,
    }
}

/// Appends spread and partition.
fn push_partition(out: &mut Vec<u8>, part: &Part<'_>) {
    let start = out.len();
    out.extend_from_slice(&[0; SPREAD_BYTES]);
    match part {
        Part::Number(number) => push_number(out, number),
        Part::Bytes { tag, bytes, .. } if bytes.len() <= PARTITION_PLAIN_BYTES_MAX => {
            let length = u8::try_from(bytes.len()).expect("a plain partition has 255 bytes");
            out.extend_from_slice(&[*tag, length]);
            out.extend_from_slice(bytes);
        }
        Part::Bytes { tag_of_hash, bytes, .. } => {
            out.push(*tag_of_hash);
            out.extend_from_slice(&Sha256::digest(bytes));
        }
    }
    let (_, tail) = out.split_at_mut(start);
    if let Some((spread, partition)) = tail.split_first_chunk_mut() {
        let [first, second, _, _] = crc32c::crc32c(partition).to_be_bytes();
        *spread = [first, second];
    }
}

/// Appends a sort value as the space has it.
fn push_sort(out: &mut Vec<u8>, part: &Part<'_>, space: u8) {
    match part {
        Part::Number(number) => push_number(out, number),
        Part::Bytes { tag, bytes, .. } => {
            out.push(*tag);
            if space == ROWS {
                out.extend_from_slice(bytes);
            } else {
                push_groups(out, bytes);
            }
        }
    }
}

fn push_number(out: &mut Vec<u8>, number: &Number) {
    out.push(TAG_NUMBER);
    number.encode_ordered(out);
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

/// What a part of a key says, and what follows it.
type Rest<'k> = Option<(Cow<'k, [u8]>, &'k [u8])>;

/// Reads a value off the front of a key, text or bytes by `read`.
fn read_part<'k>(
    bytes: &'k [u8],
    read: impl Fn(&'k [u8]) -> Rest<'k>,
) -> Option<(Told<'k>, &'k [u8])> {
    let (tag, rest) = bytes.split_first()?;
    if *tag == TAG_NUMBER {
        let (number, length) = Number::decode_ordered(rest)?;
        return Some((Told::Number(number), rest.get(length..)?));
    }
    match *tag {
        TAG_TEXT => read(rest).map(|(bytes, rest)| (Told::Text(bytes), rest)),
        TAG_BYTES => read(rest).map(|(bytes, rest)| (Told::Bytes(bytes), rest)),
        _ => None,
    }
}

fn read_measured(bytes: &[u8]) -> Rest<'_> {
    let (length, rest) = bytes.split_first()?;
    let (bytes, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((Cow::Borrowed(bytes), rest))
}

fn read_last(bytes: &[u8]) -> Rest<'_> {
    Some((Cow::Borrowed(bytes), &[]))
}

fn read_groups(mut rest: &[u8]) -> Rest<'_> {
    let mut bytes = Vec::with_capacity(48);
    loop {
        let (group, after) = rest.split_first_chunk::<GROUP>()?;
        let (count, after) = after.split_first()?;
        rest = after;
        if *count != GROUP_MORE {
            bytes.extend_from_slice(group.get(..usize::from(*count))?);
            return Some((Cow::Owned(bytes), rest));
        }
        bytes.extend_from_slice(group);
    }
}

#[cfg(test)]
mod tests;

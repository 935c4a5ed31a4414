//! What stands under a row key.
//!
//! ```text
//!   row      [version u8][expiry second u64, 0 = none][DynamoDB size u32][item]
//!   item     count, then name and value of each attribute, names ascending
//!   value    [tag u8] and: text or bytes as length + bytes, a set or list as count + elements,
//!            a map as an item, a number as (zigzag exponent × 2 + sign) and mantissa;
//!            texts of the item itself in fewer bytes if they can be (`row/text.rs`)
//! ```
//!
//! A row repeats nothing of its key: not the key attributes, nor ids like that in `USER#…` which
//! stand in attributes of their own. So it can be read only with its key, and rows that differ only
//! there are the same.
//!
//! The head is little endian and of fixed length, so that expiry and size are known without
//! decoding. Counts, lengths and both parts of a number are varints: 7 bits a byte, low bits first,
//! the high bit set while more follow.

mod text;

use std::collections::BTreeSet;

use bytes::{BufMut, Bytes, BytesMut};

use self::text::{TAG_TAIL, TAG_TIME, TAG_UUID, push_text};
use super::arena::Arena;
use super::keys;
use crate::error::Error;
use crate::limits::DEPTH_MAX;
use crate::number::Number;
use crate::spec::expiry;
use crate::value::{Item, Value};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 13;

/// Room made for elements before they are read: enough for most, and little if the count is wrong.
const ROOM_MAX: usize = 64;

const TAG_S: u8 = 0;
const TAG_N: u8 = 1;
const TAG_B: u8 = 2;
const TAG_FALSE: u8 = 3;
const TAG_TRUE: u8 = 4;
const TAG_NULL: u8 = 5;
const TAG_M: u8 = 6;
const TAG_L: u8 = 7;
const TAG_SS: u8 = 8;
const TAG_NS: u8 = 9;
const TAG_BS: u8 = 10;

/// What is known of a row without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowHead {
    /// The second from which the row is gone; 0 for never.
    pub expiry: u64,
    /// What the item weighs as DynamoDB counts.
    pub size: u32,
}

/// The row of an item under its key; it expires if its `ttl` attribute is a number of seconds.
pub(crate) fn encode_row(key: &[u8], item: &Item, ttl: Option<&str>, arena: &mut Arena) -> Bytes {
    let size = item.size();
    let expiry = expiry(ttl, item);
    let out = arena.room(HEAD_BYTES + size + size / 4 + 16);
    out.put_u8(VERSION);
    out.extend_from_slice(&expiry.to_le_bytes());
    let size = u32::try_from(size).expect("an item of at most 400 KB was checked before");
    out.extend_from_slice(&size.to_le_bytes());
    push_len(out, item.len());
    let parts = keys::texts(key);
    for (name, value) in item.iter() {
        push_bytes(out, name.as_bytes());
        match value {
            Value::S(text) => push_text(out, text, parts),
            _ => push_value(out, value),
        }
    }
    arena.seal()
}

/// The part of a row that does not depend on the table's declaration.
pub(crate) fn body(row: &[u8]) -> &[u8] {
    row.get(HEAD_BYTES..).unwrap_or_default()
}

/// Expiry and size of a row.
pub(crate) fn head(row: &[u8]) -> Result<RowHead, Error> {
    split_head(row).map(|(head, _)| head)
}

/// The item of a row under its key.
pub(crate) fn decode_row(key: &[u8], row: &[u8]) -> Result<Item, Error> {
    let (_, body) = split_head(row)?;
    let mut reader = Reader { rest: body, parts: keys::texts(key) };
    let item = reader.item(0).and_then(|item| match reader.rest {
        [] => Ok(item),
        [_, ..] => Err(Fault("bytes are left over")),
    });
    item.map_err(|Fault(what)| corrupt(row.len() - reader.rest.len(), what))
}

fn split_head(row: &[u8]) -> Result<(RowHead, &[u8]), Error> {
    let (version, rest) = row.split_first().ok_or_else(|| corrupt(0, "it is empty"))?;
    if *version != VERSION {
        return Err(corrupt(0, "its version is unknown"));
    }
    let (expiry, rest) = rest.split_first_chunk().ok_or_else(|| corrupt(1, "it ends early"))?;
    let (size, body) = rest.split_first_chunk().ok_or_else(|| corrupt(9, "it ends early"))?;
    let head = RowHead { expiry: u64::from_le_bytes(*expiry), size: u32::from_le_bytes(*size) };
    Ok((head, body))
}

fn push_item(out: &mut BytesMut, item: &Item) {
    push_len(out, item.len());
    for (name, value) in item.iter() {
        push_bytes(out, name.as_bytes());
        push_value(out, value);
    }
}

fn push_value(out: &mut BytesMut, value: &Value) {
    match value {
        Value::S(text) => {
            out.put_u8(TAG_S);
            push_bytes(out, text.as_bytes());
        }
        Value::N(number) => {
            out.put_u8(TAG_N);
            push_number(out, number);
        }
        Value::B(bytes) => {
            out.put_u8(TAG_B);
            push_bytes(out, bytes);
        }
        Value::Bool(false) => out.put_u8(TAG_FALSE),
        Value::Bool(true) => out.put_u8(TAG_TRUE),
        Value::Null => out.put_u8(TAG_NULL),
        Value::M(map) => {
            out.put_u8(TAG_M);
            push_item(out, map);
        }
        Value::L(list) => {
            out.put_u8(TAG_L);
            push_len(out, list.len());
            list.iter().for_each(|value| push_value(out, value));
        }
        Value::Ss(set) => {
            out.put_u8(TAG_SS);
            push_len(out, set.len());
            set.iter().for_each(|text| push_bytes(out, text.as_bytes()));
        }
        Value::Ns(set) => {
            out.put_u8(TAG_NS);
            push_len(out, set.len());
            set.iter().for_each(|number| push_number(out, number));
        }
        Value::Bs(set) => {
            out.put_u8(TAG_BS);
            push_len(out, set.len());
            set.iter().for_each(|bytes| push_bytes(out, bytes));
        }
    }
}

fn push_number(out: &mut BytesMut, number: &Number) {
    let (negative, mantissa, exponent) = number.parts();
    let zigzag = u64::from(((exponent << 1) ^ (exponent >> 15)).cast_unsigned());
    push_varint(out, zigzag << 1 | u64::from(negative));
    let mut rest = mantissa;
    while u64::try_from(rest).is_err() {
        out.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    push_varint(out, rest as u64);
}

fn push_bytes(out: &mut BytesMut, bytes: &[u8]) {
    push_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn push_len(out: &mut BytesMut, len: usize) {
    push_varint(out, len as u64);
}

fn push_varint(out: &mut BytesMut, mut rest: u64) {
    while rest >= 0x80 {
        out.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

/// What is left of a row.
struct Reader<'a> {
    rest: &'a [u8],
    /// The texts of its key.
    parts: [&'a [u8]; 2],
}

/// What is wrong with a row, where reading stopped. Small, because every step answers with it.
struct Fault(&'static str);

const EARLY: Fault = Fault("it ends early");
const NOT_UTF8: Fault = Fault("a text is not UTF-8");

impl<'a> Reader<'a> {
    /// An item whose attributes stand in `depth` maps and lists.
    fn item(&mut self, depth: usize) -> Result<Item, Fault> {
        let count = self.count()?;
        let mut item = Item::with_capacity(count.min(ROOM_MAX));
        for _ in 0..count {
            let name = self.text()?;
            let value = match self.rest.first() {
                Some(&tag @ (TAG_TAIL | TAG_UUID | TAG_TIME)) if depth == 0 => {
                    self.byte()?;
                    match tag {
                        TAG_TAIL => self.tail()?,
                        TAG_UUID => self.uuid()?,
                        _ => self.time()?,
                    }
                }
                _ => self.value(depth)?,
            };
            item.insert(name, value);
        }
        Ok(item)
    }

    /// A value that stands in `depth` maps and lists.
    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth == DEPTH_MAX {
            return Err(Fault("it nests too deep"));
        }
        let tag = self.byte()?;
        Ok(match tag {
            TAG_S => Value::from(self.text()?),
            TAG_N => Value::N(self.number()?),
            TAG_B => Value::B(Bytes::copy_from_slice(self.bytes()?)),
            TAG_FALSE => Value::Bool(false),
            TAG_TRUE => Value::Bool(true),
            TAG_NULL => Value::Null,
            TAG_M => Value::M(self.item(depth + 1)?),
            TAG_L => {
                let count = self.count()?;
                let mut list = Vec::with_capacity(count.min(ROOM_MAX));
                for _ in 0..count {
                    list.push(self.value(depth + 1)?);
                }
                Value::L(list)
            }
            TAG_SS => Value::Ss(self.set(|reader| Ok(reader.text()?.to_owned()))?),
            TAG_NS => Value::Ns(self.set(Reader::number)?),
            TAG_BS => Value::Bs(self.set(|reader| Ok(Bytes::copy_from_slice(reader.bytes()?)))?),
            _ => return Err(Fault("a value has an unknown type")),
        })
    }

    fn set<T: Ord>(
        &mut self,
        read: impl Fn(&mut Reader<'a>) -> Result<T, Fault>,
    ) -> Result<BTreeSet<T>, Fault> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn number(&mut self) -> Result<Number, Fault> {
        let head = self.varint()?;
        let zigzag = u16::try_from(head >> 1).map_err(|_| Fault("an exponent is too large"))?;
        let exponent = (zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed());
        let mantissa = self.wide_varint()?;
        Number::from_parts(head & 1 == 1, mantissa, exponent)
            .map_err(|_| Fault("a number is out of range"))
    }

    fn text(&mut self) -> Result<&'a str, Fault> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| NOT_UTF8)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let len = self.count()?;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(EARLY)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn count(&mut self) -> Result<usize, Fault> {
        usize::try_from(self.varint()?).map_err(|_| EARLY)
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(first.into());
        }
        let mut value = u64::from(first & 0x7F);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Fault("an integer is too long"))
    }

    fn wide_varint(&mut self) -> Result<u128, Fault> {
        let mut value = 0;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            value |= u128::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Fault("an integer is too long"))
    }

    fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], Fault> {
        let (chunk, rest) = self.rest.split_first_chunk().ok_or(EARLY)?;
        self.rest = rest;
        Ok(chunk)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let (byte, rest) = self.rest.split_first().ok_or(EARLY)?;
        self.rest = rest;
        Ok(*byte)
    }
}

#[cold]
fn corrupt(offset: usize, what: &str) -> Error {
    Error::Corrupt { file: "row".to_owned(), offset: offset as u64, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};
    use proptest::{prop_assert, prop_assert_eq};

    use super::{Arena, Bytes, HEAD_BYTES, RowHead, head};
    use crate::embedded::keys::row_key;
    use crate::error::Error;
    use crate::number::Number;
    use crate::samples;
    use crate::spec::{KeyAttribute, KeySpec};
    use crate::value::{Item, Value};

    /// Rows of a table whose key has nothing in common with them.
    fn encode_row(item: &Item, ttl: Option<&str>) -> Bytes {
        super::encode_row(&[], item, ttl, &mut Arena::default())
    }

    fn decode_row(row: &[u8]) -> Result<Item, Error> {
        super::decode_row(&[], row)
    }

    /// A row under its key, and the item that is read of it.
    fn there_and_back(item: &Item) -> (Bytes, Item) {
        let spec = KeySpec::composite(KeyAttribute::s("PK"), KeyAttribute::s("SK"));
        let key = row_key(7, &spec, item).unwrap();
        let row = super::encode_row(&key, item, None, &mut Arena::default());
        let read = super::decode_row(&key, &row).unwrap();
        (row, read)
    }

    /// A list in a list in a list, so many altogether, around nothing or a null.
    fn nested(lists: usize) -> Value {
        (0..lists).fold(Value::Null, |inner, _| Value::L(vec![inner]))
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(2000))]

        #[test]
        fn texts_that_end_as_their_keys_do_come_back(
            key in ("[abé日]{1,20}", "[abé日]{1,20}"),
            times in (1..16_usize, 1..16_usize),
            texts in vec(("[a-c]{1,3}", "[abé日]{0,20}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), 0..10),
        ) {
            let item: Item = texts.into_iter().map(|(name, text)| (name, Value::from(text))).collect();
            let item = item.with("PK", key.0.repeat(times.0)).with("SK", key.1.repeat(times.1));
            prop_assert_eq!(there_and_back(&item).1, item);
        }

        #[test]
        fn an_item_comes_back_as_it_was(item in samples::item()) {
            let row = encode_row(&item, None);
            prop_assert_eq!(decode_row(&row).unwrap(), item.clone());
            let size = u32::try_from(item.size()).unwrap();
            prop_assert_eq!(head(&row).unwrap(), RowHead { expiry: 0, size });
        }

        #[test]
        fn no_bytes_make_it_panic(key in vec(0..8_u8, 0..20), mut row in vec(any::<u8>(), 0..60)) {
            if let Some(version) = row.first_mut() {
                *version = 1;
            }
            if let Err(error) = super::decode_row(&key, &row) {
                let corrupt = matches!(error, Error::Corrupt { .. });
                prop_assert!(corrupt, "{}", error);
            }
        }

        #[test]
        fn a_damaged_row_is_an_error_or_another_item(
            item in samples::item(),
            at in any::<proptest::sample::Index>(),
            flip in 1..=255_u8,
            cut in any::<proptest::sample::Index>(),
        ) {
            let row = encode_row(&item, None);
            let mut damaged = row.to_vec();
            *at.get_mut(&mut damaged) ^= flip;
            let _ = decode_row(&damaged);
            let cut = cut.index(row.len());
            prop_assert!(decode_row(&row[..cut]).is_err(), "cut at {}", cut);
            prop_assert!(decode_row(&[row.as_ref(), &[0]].concat()).is_err());
        }
    }

    #[test]
    fn only_a_number_in_range_is_an_expiry() {
        let expiry = |value: Value| {
            let item = Item::new().with("ttl", value);
            head(&encode_row(&item, Some("ttl"))).unwrap().expiry
        };
        assert_eq!(expiry(Value::from(1_700_000_000)), 1_700_000_000);
        assert_eq!(expiry(Value::N(Number::parse("1700000000.75").unwrap())), 1_700_000_000);
        assert_eq!(expiry(Value::from(-1)), 0);
        assert_eq!(expiry(Value::N(Number::parse("1e30").unwrap())), 0);
        assert_eq!(expiry(Value::from("1700000000")), 0);
        let elsewhere = Item::new().with("other", 1_700_000_000);
        assert_eq!(head(&encode_row(&elsewhere, Some("ttl"))).unwrap().expiry, 0);
        assert_eq!(head(&encode_row(&elsewhere, None)).unwrap().expiry, 0);
    }

    #[test]
    fn the_deepest_item_comes_back_and_a_deeper_one_is_corrupt() {
        let deepest = Item::new().with("a", nested(31));
        assert_eq!(decode_row(&encode_row(&deepest, None)).unwrap(), deepest);
        let deeper = Item::new().with("a", nested(32));
        assert!(decode_row(&encode_row(&deeper, None)).is_err());
        // Far deeper: an error, not the end of the stack.
        let mut bytes = encode_row(&Item::new().with("a", nested(0)), None).to_vec();
        bytes.pop();
        bytes.extend([super::TAG_L, 1].repeat(100_000));
        assert!(decode_row(&bytes).is_err());
    }

    #[test]
    fn an_unknown_version_and_an_early_end_are_told() {
        let mut row = encode_row(&Item::new().with("a", "b"), None).to_vec();
        row[0] = 9;
        assert!(head(&row).unwrap_err().to_string().contains("version"));
        for len in 0..HEAD_BYTES {
            assert!(head(&[&[1], [0; HEAD_BYTES].as_slice()].concat()[..len]).is_err());
        }
    }

    #[test]
    fn what_a_key_ends_with_is_not_written_again() {
        let (user, post) = ("6b0c3e3a-user", "9d1f-post-日本");
        let item = Item::new()
            .with("PK", format!("USER#{user}"))
            .with("SK", format!("POST#2026#{post}"))
            .with("GSI1PK", format!("TIMELINE#{post}"))
            .with("postId", post)
            .with("short", "ser")
            .with("userId", user);
        let (row, read) = there_and_back(&item);
        assert_eq!(read, item);
        let holds = |text: &str| row.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!holds(user) && !holds(post) && holds("TIMELINE") && holds("ser"));
        let other = item.clone().with("map", item);
        assert_eq!(there_and_back(&other).1, other);
    }

    #[test]
    fn ids_and_times_take_few_bytes_and_what_only_looks_like_them_comes_back() {
        let id = "0190163d-8694-739b-aea5-966c26f8ad91";
        let length = |text: &str| {
            let item = Item::new().with("a", text);
            let row = encode_row(&item, None);
            assert_eq!(decode_row(&row).unwrap(), item, "{text}");
            row.len() - HEAD_BYTES - 4
        };
        assert_eq!(length(id), 1 + 16);
        assert_eq!(length(&format!("USER#{id}")), 1 + 5 + 16);
        assert_eq!(length("2026-11-17T06:59:36.123Z"), 9);
        let (upper, braces) = (id.to_uppercase(), format!("{{{id}}}"));
        for text in [
            &upper,
            &braces,
            &id.replace('-', ""),
            &id.replace("0", "g"),
            "2026-11-17T06:59:36.123z",
            "2026-11-17 06:59:36.123Z",
            "2026-11-17T06:59:36.12Z",
            "２026-11-17T06:59:36.1Z",
            "9999-99-99T99:99:99.999Z",
            "",
        ] {
            length(text);
        }
        let mut time =
            encode_row(&Item::new().with("a", "2026-11-17T06:59:36.123Z"), None).to_vec();
        *time.last_mut().unwrap() = 0xA0;
        assert!(matches!(decode_row(&time), Err(Error::Corrupt { .. })));
    }

    #[test]
    fn a_row_under_another_key_is_another_item_or_corrupt() {
        let key = |text: &str| {
            let spec = KeySpec::simple(KeyAttribute::s("id"));
            row_key(7, &spec, &Item::new().with("id", text)).unwrap()
        };
        let item = Item::new().with("id", "some-long-id");
        let row = super::encode_row(&key("some-long-id"), &item, None, &mut Arena::default());
        let read = |key: &[u8]| super::decode_row(key, &row);
        assert_eq!(read(&key("some-long-id")).unwrap(), item);
        assert_eq!(read(&key("SOME-LONG-ID")).unwrap(), Item::new().with("id", "SOME-LONG-ID"));
        for other in [key("short"), Vec::new()] {
            assert!(matches!(read(&other), Err(Error::Corrupt { .. })));
        }
    }

    #[test]
    fn a_row_is_about_as_long_as_its_item_weighs() {
        let item = Item::new()
            .with("id", "0123456789abcdef")
            .with("at", 1_700_000_000_123_i64)
            .with("count", 3)
            .with("live", true);
        assert!(encode_row(&item, None).len() <= item.size() + HEAD_BYTES + 12);
    }
}

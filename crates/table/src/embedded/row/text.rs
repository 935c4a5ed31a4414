//! Texts of a row, in fewer bytes where they can be told by something else. What ids, times and keys
//! are made of, most items hold several times over.
//!
//! ```text
//!   plain    [0][length][bytes]
//!   tail     [11][part u8][common][length][own bytes]   ends as a part of the row key does
//!            (0 partition, 1 sort): so many bytes are the same, its own stand before them
//!   uuid     [12][length][own bytes][16 bytes]          ends with a UUID in lower case
//!   time     [13][9 bytes]                              `2026-11-17T06:59:36.123Z`: its digits
//! ```
//!
//! Lengths are varints. A tail is only looked for in attributes of the item itself, because only they
//! repeat its key; so are the others, because what is nested is looked at as it is.

use base::Uuid;
use bytes::{BufMut, BytesMut};

use super::{Fault, NOT_UTF8, Reader, TAG_S, push_bytes, push_len};
use crate::embedded::alike::common_end;
use crate::value::Value;

pub(super) const TAG_TAIL: u8 = 11;
pub(super) const TAG_UUID: u8 = 12;
pub(super) const TAG_TIME: u8 = 13;

/// A shorter end in common is not worth its description.
const TAIL_BYTES_MIN: usize = 4;
/// Letters of a UUID.
const UUID_BYTES: usize = 36;
/// How a time is written: with digits in place of zeros.
const TIME: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
/// Two digits of a time a byte, one alone at the end.
const TIME_BYTES: usize = 9;

/// Appends a text of an item whose row key has these parts.
pub(super) fn push_text(out: &mut BytesMut, text: &str, parts: [&[u8]; 2]) {
    let bytes = text.as_bytes();
    let [partition, sort] = parts.map(|part| common_end(bytes, part));
    let (number, common) = if partition >= sort { (0, partition) } else { (1, sort) };
    if common >= TAIL_BYTES_MIN {
        out.put_u8(TAG_TAIL);
        out.put_u8(number);
        push_len(out, common);
        let (own, _) = bytes.split_at(bytes.len() - common);
        return push_bytes(out, own);
    }
    if let Some((own, uuid)) = split_uuid(bytes) {
        out.put_u8(TAG_UUID);
        push_bytes(out, own);
        return out.extend_from_slice(uuid.as_bytes());
    }
    if let Some(digits) = time_digits(bytes) {
        out.put_u8(TAG_TIME);
        return out.extend_from_slice(&digits);
    }
    out.put_u8(TAG_S);
    push_bytes(out, bytes);
}

/// The UUID that a text ends with, and what comes before it.
fn split_uuid(text: &[u8]) -> Option<(&[u8], Uuid)> {
    let (own, tail) = text.split_last_chunk::<UUID_BYTES>()?;
    let uuid = Uuid::try_parse_ascii(tail).ok()?;
    let spelled = uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()).as_bytes() == tail;
    spelled.then_some((own, uuid))
}

/// The digits of a time.
fn time_digits(text: &[u8]) -> Option<[u8; TIME_BYTES]> {
    if text.len() != TIME.len() {
        return None;
    }
    let (mut digits, mut count) = ([0_u8; TIME_BYTES], 0);
    for (byte, form) in text.iter().zip(TIME) {
        match form {
            b'0' if byte.is_ascii_digit() => {
                let digit = (byte - b'0') << if count % 2 == 0 { 4 } else { 0 };
                *digits.get_mut(count / 2)? |= digit;
                count += 1;
            }
            _ if byte == form && *form != b'0' => {}
            _ => return None,
        }
    }
    Some(digits)
}

impl<'a> Reader<'a> {
    /// A text that ends as a part of the key does.
    pub(super) fn tail(&mut self) -> Result<Value, Fault> {
        const NONE: Fault = Fault("a text ends as no part of its key does");
        let (number, common, own) = (self.byte()?, self.count()?, self.bytes()?);
        let part = self.parts.get(usize::from(number)).ok_or(NONE)?;
        let skipped = part.len().checked_sub(common).ok_or(NONE)?;
        text(&[own, part.get(skipped..).ok_or(NONE)?])
    }

    /// A text that ends with a UUID.
    pub(super) fn uuid(&mut self) -> Result<Value, Fault> {
        let own = self.bytes()?;
        let uuid = Uuid::from_bytes(*self.chunk()?);
        let mut buffer = Uuid::encode_buffer();
        text(&[own, uuid.hyphenated().encode_lower(&mut buffer).as_bytes()])
    }

    /// A time.
    pub(super) fn time(&mut self) -> Result<Value, Fault> {
        let packed: &'a [u8; TIME_BYTES] = self.chunk()?;
        let mut digits = packed.iter().flat_map(|two| [two >> 4, two & 0xF]);
        let mut bytes = *TIME;
        for byte in bytes.iter_mut().filter(|byte| **byte == b'0') {
            let digit = digits.next().filter(|digit| *digit < 10);
            *byte += digit.ok_or(Fault("a time has digits that are none"))?;
        }
        text(&[&bytes])
    }
}

fn text(parts: &[&[u8]]) -> Result<Value, Fault> {
    String::from_utf8(parts.concat()).map(Value::from).map_err(|_| NOT_UTF8)
}

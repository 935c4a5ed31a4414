//! Keys one after the other, each by what it shares with the one before it: keys of one transaction
//! often differ in little.
//!
//! ```text
//!   key      [front u16][back u16][length u16][own bytes]
//!            it has so many bytes in front and at the back in common with the key before it, and
//!            its own between them
//! ```
//!
//! Integers are big endian. What is before the first key is empty.
//!
//! Invariant: what a key has in front and at the back are different bytes of the key before it, and
//! no key is longer than [`KEY_BYTES_MAX`]. So damaged bytes cannot make keys grow: without this
//! bound each key could be twice as long as the one before it.

use bytes::{Bytes, BytesMut};

use super::keys::KEY_BYTES_MAX;

/// Appends a key behind the one that was `last`.
pub(crate) fn push(last: &[u8], key: &[u8], out: &mut Vec<u8>) {
    let front = common_front(last, key);
    let ((_, last), (_, rest)) = (last.split_at(front), key.split_at(front));
    let back = common_end(last, rest);
    let (own, _) = rest.split_at(rest.len() - back);
    for length in [front, back, own.len()] {
        let length = u16::try_from(length).expect("a key has at most 1982 bytes");
        out.extend_from_slice(&length.to_be_bytes());
    }
    out.extend_from_slice(own);
}

/// Takes the key behind the one that was `last` off the front of `bytes`; none if they are none.
pub(crate) fn take(last: &[u8], bytes: &mut &[u8]) -> Option<Vec<u8>> {
    parts(last, bytes).map(|parts| parts.concat())
}

/// The same into memory that many keys share.
pub(crate) fn take_to(shared: &mut BytesMut, last: &[u8], bytes: &mut &[u8]) -> Option<Bytes> {
    let parts = parts(last, bytes)?;
    shared.reserve(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| shared.extend_from_slice(part));
    Some(shared.split().freeze())
}

/// What the next key consists of.
fn parts<'a, 'b: 'a>(last: &'a [u8], bytes: &mut &'b [u8]) -> Option<[&'a [u8]; 3]> {
    let mut length = || {
        let (length, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(usize::from(u16::from_be_bytes(*length)))
    };
    let (front, back, own) = (length()?, length()?, length()?);
    let (own, rest) = bytes.split_at_checked(own)?;
    *bytes = rest;
    let (front, last) = last.split_at_checked(front)?;
    let (_, back) = last.split_at_checked(last.len().checked_sub(back)?)?;
    let is_key = front.len() + own.len() + back.len() <= KEY_BYTES_MAX;
    is_key.then_some([front, own, back])
}

/// How many bytes are the same from the front.
pub(crate) fn common_front(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// How many bytes are the same from the end.
pub(crate) fn common_end(mut one: &[u8], mut other: &[u8]) -> usize {
    let whole = one.len();
    while let (Some((rest, word)), Some((other_rest, other_word))) =
        (one.split_last_chunk::<8>(), other.split_last_chunk::<8>())
        && word == other_word
    {
        (one, other) = (rest, other_rest);
    }
    let more = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other);
    whole - one.len() + more.count()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};
    use proptest::prop_assert_eq;

    use super::{common_end, push, take};

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn keys_come_back(keys in vec("[ab]{0,20}[cd]{0,3}[ab]{0,20}", 0..20)) {
            let (mut out, mut last) = (Vec::new(), Vec::new());
            for key in &keys {
                push(&last, key.as_bytes(), &mut out);
                last = key.clone().into_bytes();
            }
            let (mut rest, mut last) = (out.as_slice(), Vec::new());
            for key in keys {
                last = take(&last, &mut rest).unwrap();
                prop_assert_eq!(&last, key.as_bytes());
            }
            prop_assert_eq!(take(&last, &mut rest), None);
        }

        #[test]
        fn damaged_lengths_make_no_key_longer_than_its_bytes(
            last in vec(any::<u8>(), 0..20),
            (front, back, own) in (0..20_u16, 0..20_u16, 0..20_u16),
        ) {
            let mut bytes = [front, back, own].map(u16::to_be_bytes).concat();
            bytes.resize(bytes.len() + usize::from(own), 0);
            if let Some(key) = take(&last, &mut bytes.as_slice()) {
                assert!(key.len() <= last.len() + usize::from(own), "{} bytes", key.len());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(last in vec(any::<u8>(), 0..20), bytes in vec(0..9_u8, 0..40)) {
            take(&last, &mut bytes.as_slice());
        }

        #[test]
        fn a_common_end_is_counted(one in "[ab]{0,30}", other in "[ab]{0,30}", end in "[ab]{0,30}") {
            let (one, other) = (one + &end, other + &end);
            let pairs = one.bytes().rev().zip(other.bytes().rev());
            let wanted = pairs.take_while(|(one, other)| one == other).count();
            prop_assert_eq!(common_end(one.as_bytes(), other.as_bytes()), wanted);
        }
    }
}

//! Records: one for each transaction, in the order in which they took effect.
//!
//!   record   seq u64 · count u32 · op…
//!   op       kind u8 (bit 7: an old row follows, bit 6: no row follows, it is that of the op before)
//!            · table u32 · key · [row bytes] · [old bytes]
//!   key      by what it shares with that of the op before (`alike.rs`)
//!   bytes    length u32 · that many bytes
//!
//! The log is logical: it carries rows, not index or expiry rows. Those follow from the rows, and
//! replay derives them as the first application did. Integers are little-endian.

use bytes::{Buf, Bytes, BytesMut};

use crate::embedded::alike;

/// One transaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// Its place in the order of all transactions.
    pub(crate) seq: u64,
    /// What it changes; no row twice.
    pub(crate) ops: Vec<Op>,
}

/// The change of one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Op {
    /// What happens to the row.
    pub(crate) kind: OpKind,
    /// Its table.
    pub(crate) table: u32,
    /// Its row key.
    pub(crate) key: Bytes,
    /// The new row; where the row goes, a row of its key attributes alone.
    pub(crate) row: Bytes,
    /// The row before, in tables that keep old images.
    pub(crate) old: Option<Bytes>,
}

/// What happens to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    /// It comes to be.
    Insert = 1,
    /// It is replaced.
    Modify = 2,
    /// Somebody removes it.
    Remove = 3,
    /// Its time is up.
    Expire = 4,
}

impl OpKind {
    /// Whether the row is there afterwards.
    pub(crate) fn is_put(self) -> bool {
        matches!(self, OpKind::Insert | OpKind::Modify)
    }

    fn from_code(code: u8) -> Option<OpKind> {
        [OpKind::Insert, OpKind::Modify, OpKind::Remove, OpKind::Expire]
            .into_iter()
            .find(|kind| *kind as u8 == code)
    }
}

const HAS_OLD: u8 = 0x80;
const SAME_ROW: u8 = 0x40;
/// What one of many alike takes, about.
const OP_BYTES: usize = 64;
/// Room made for operations before they are read: enough for most, and little if the count is wrong.
const OPS_ROOM_MAX: usize = 128;

impl Record {
    /// A record but for its place in the order, which is known last.
    pub(crate) fn encode(ops: &[Op]) -> Vec<u8> {
        let mut out = Vec::with_capacity(OP_BYTES * ops.len());
        out.extend_from_slice(&length(ops.len()));
        let (mut last_key, mut last_row): (&[u8], &[u8]) = (&[], &[]);
        for op in ops {
            let has_old = if op.old.is_some() { HAS_OLD } else { 0 };
            let same_row = if op.row == last_row { SAME_ROW } else { 0 };
            out.push(op.kind as u8 | has_old | same_row);
            out.extend_from_slice(&op.table.to_le_bytes());
            alike::push(last_key, &op.key, &mut out);
            (last_key, last_row) = (&op.key, &op.row);
            let row = Some(&op.row).filter(|_| same_row == 0);
            for bytes in [row, op.old.as_ref()].into_iter().flatten() {
                out.extend_from_slice(&length(bytes.len()));
                out.extend_from_slice(bytes);
            }
        }
        out
    }

    /// Appends to `out` the record that was encoded, as that of change `seq`.
    pub(crate) fn append(seq: u64, encoded: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&seq.to_le_bytes());
        out.extend_from_slice(encoded);
    }

    /// Takes one record off the front of `bytes`; `None` if they are not a record. Rows share the
    /// memory of `bytes`, keys that of `keys`.
    pub(crate) fn decode(bytes: &mut Bytes, keys: &mut BytesMut) -> Option<Record> {
        let seq = bytes.try_get_u64_le().ok()?;
        let count = bytes.try_get_u32_le().ok()?;
        let mut ops: Vec<Op> = Vec::with_capacity((count as usize).min(OPS_ROOM_MAX));
        for _ in 0..count {
            let code = bytes.try_get_u8().ok()?;
            let kind = OpKind::from_code(code & !(HAS_OLD | SAME_ROW))?;
            let table = bytes.try_get_u32_le().ok()?;
            let last = ops.last();
            let mut rest: &[u8] = bytes;
            let key = alike::take_to(keys, last.map_or(&[], |last| &last.key), &mut rest)?;
            bytes.advance(bytes.len() - rest.len());
            let row = match code & SAME_ROW {
                0 => take(bytes)?,
                _ => last.map_or_else(Bytes::new, |last| last.row.clone()),
            };
            let old = if code & HAS_OLD != 0 { Some(take(bytes)?) } else { None };
            ops.push(Op { kind, table, key, row, old });
        }
        Some(Record { seq, ops })
    }
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("items and keys are bounded far below 4 GiB").to_le_bytes()
}

fn take(bytes: &mut Bytes) -> Option<Bytes> {
    let length = bytes.try_get_u32_le().ok()? as usize;
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, proptest};
    use proptest::{collection, option, sample};

    use super::{Bytes, BytesMut, Op, OpKind, Record, SAME_ROW};
    use crate::embedded::keys::KEY_BYTES_MAX;

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let kinds = vec![OpKind::Insert, OpKind::Modify, OpKind::Remove, OpKind::Expire];
        let bytes = || collection::vec(any::<u8>(), 0..50).prop_map(Bytes::from);
        let op = (sample::select(kinds), any::<u32>(), bytes(), bytes(), option::of(bytes()));
        let op = op.prop_map(|(kind, table, key, row, old)| Op { kind, table, key, row, old });
        collection::vec(op, 0..5)
    }

    /// A record whose ops have keys that share so much with the key before them and have so many
    /// bytes of their own.
    fn record(keys: &[(u16, u16, u16)]) -> Bytes {
        let mut out = 7_u64.to_le_bytes().to_vec();
        out.extend_from_slice(&u32::try_from(keys.len()).unwrap().to_le_bytes());
        for (front, back, own) in keys {
            out.extend_from_slice(&[OpKind::Insert as u8 | SAME_ROW, 1, 0, 0, 0]);
            for length in [front, back, own] {
                out.extend_from_slice(&length.to_be_bytes());
            }
            out.resize(out.len() + usize::from(*own), b'k');
        }
        Bytes::from(out)
    }

    #[test]
    fn a_damaged_record_with_keys_that_grow_is_refused() {
        let decode = |keys: &[(u16, u16, u16)]| {
            let decoded = Record::decode(&mut record(keys), &mut BytesMut::new())?;
            Some(decoded.ops.iter().map(|op| op.key.len()).collect::<Vec<_>>())
        };
        assert_eq!(decode(&[(0, 0, 8), (8, 0, 1), (3, 6, 0)]), Some(vec![8, 9, 9]));
        assert_eq!(decode(&[(0, 0, 8), (8, 8, 0)]), None, "each byte is used twice");
        assert_eq!(decode(&[(0, 0, 8), (5, 4, 0)]), None, "one byte is used twice");
        let longest = u16::try_from(KEY_BYTES_MAX).unwrap();
        assert_eq!(decode(&[(0, 0, longest)]), Some(vec![KEY_BYTES_MAX]));
        assert_eq!(decode(&[(0, 0, longest), (longest, 0, 1)]), None, "longer than any key");
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_record_reads_back_as_written(seq: u64, ops in ops()) {
            let mut out = Vec::new();
            Record::append(seq, &Record::encode(&ops), &mut out);
            let mut bytes = Bytes::from(out);
            let read = Record::decode(&mut bytes, &mut BytesMut::new());
            assert_eq!(read, Some(Record { seq, ops }));
            assert!(bytes.is_empty());
        }

        #[test]
        fn no_bytes_make_decoding_panic(bytes: Vec<u8>) {
            Record::decode(&mut Bytes::from(bytes), &mut BytesMut::new());
        }

        #[test]
        fn a_cut_record_is_refused(ops in ops(), cut in 1usize..12) {
            let mut out = Vec::new();
            Record::append(7, &Record::encode(&ops), &mut out);
            out.truncate(out.len().saturating_sub(cut));
            assert_eq!(Record::decode(&mut Bytes::from(out), &mut BytesMut::new()), None);
        }
    }
}

//! Any bytes as the records of a frame and as its head; and damage of a good frame.

use bytes::Bytes;

use super::frame::{FRAME_HEAD_BYTES, Frame, FrameHead};
use super::record::{Op, Record};
use crate::embedded::arena::Arena;
use crate::embedded::keys::KEY_BYTES_MAX;
use crate::embedded::row::{decode_row, encode_row};

/// Reads a frame from the front of `bytes`, as a segment is read.
fn read_frame(bytes: &[u8]) -> Option<Frame> {
    let (head, behind) = bytes.split_first_chunk::<FRAME_HEAD_BYTES>()?;
    let head = FrameHead::decode(head)?;
    let behind = behind.get(..head.bytes_behind())?;
    head.frame(behind.to_vec()).ok()
}

/// A frame around any bytes is read back; with one byte changed it is refused.
fn check_frame(frame: &Frame, at: u8) {
    let written = frame.encode();
    let read = read_frame(&written).unwrap();
    assert_eq!(read.payload, frame.payload);
    assert_eq!(read.head.records, frame.head.records);
    let mut damaged = written;
    let place = usize::from(at) * damaged.len() / 256;
    damaged[place] ^= at | 1;
    assert!(read_frame(&damaged).is_none(), "byte {place} is wrong and nobody sees it");
}

/// Records that are read are as many as the head says, and are written as they were read.
fn check_records(frame: &Frame) {
    let Some(records) = frame.records() else { return };
    assert_eq!(records.len() as u64, u64::from(frame.head.records));
    let ops = || records.iter().flat_map(|record| &record.ops);
    assert!(ops().all(|op| op.key.len() <= KEY_BYTES_MAX), "a key is too long");
    let mut payload = Vec::new();
    for record in &records {
        Record::append(record.seq, &Record::encode(&record.ops), &mut payload);
    }
    let again = Frame { head: frame.head, payload: Bytes::from(payload) };
    assert_eq!(again.records().as_ref(), Some(&records));
    ops().for_each(check_rows);
}

/// A row that is read is written as it was read, and refused when it is cut.
fn check_rows(op: &Op) {
    for row in [Some(&op.row), op.old.as_ref()].into_iter().flatten() {
        let Ok(item) = decode_row(&op.key, row) else { continue };
        let written = encode_row(&op.key, &item, None, &mut Arena::default());
        assert_eq!(decode_row(&op.key, &written).unwrap(), item);
        let cut = written.slice(..written.len() - 1);
        assert!(decode_row(&op.key, &cut).is_err(), "a cut row is an item");
    }
}

#[test]
fn every_frame_is_refused_or_reads_back_and_damage_is_seen() {
    testkit::fuzz::check("log", |input| {
        if let Some(frame) = read_frame(input) {
            check_records(&frame);
        }
        let [count, at, payload @ ..] = input else { return };
        let head = FrameHead::new(3, 7, 11, u32::from(*count));
        let frame = Frame { head, payload: Bytes::copy_from_slice(payload) };
        check_frame(&frame, *at);
        check_records(&frame);
    });
}

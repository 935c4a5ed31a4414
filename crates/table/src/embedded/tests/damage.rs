//! Bits that flip and files that end early: every acknowledged frame is either read as it was
//! written or named as damaged. Power loss, which is no damage, is in `power.rs`.

use std::ops::Range;

use base::Random;
use bytes::Bytes;
use testkit::depth;

use super::small_store::{open, put};
use crate::embedded::MemoryDisk;
use crate::embedded::disk::Disk;
use crate::embedded::log::{Next, SegmentReader, segment_name};
use crate::embedded::recover::recover;
use crate::error::Error;
use crate::value::Value;

/// What is replayed here fits easily.
const MEMTABLE_BYTES: usize = 1 << 20;

/// Where each frame of segment `ordinal` lies, and where the last of them ends.
fn frames(disk: &MemoryDisk, ordinal: u64) -> Vec<Range<usize>> {
    let place = |reader: &SegmentReader| match reader.damaged("") {
        Error::Corrupt { offset, .. } => usize::try_from(offset).unwrap(),
        other => panic!("{other}"),
    };
    let mut reader = SegmentReader::open(disk, ordinal).unwrap();
    let mut frames = Vec::new();
    loop {
        let start = place(&reader);
        let Next::Frame(_) = reader.next().unwrap() else { return frames };
        frames.push(start..place(&reader));
    }
}

/// A disk with frames of all kinds, as a killed house left it: the last segment has no seal.
async fn written() -> MemoryDisk {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    // Zeros look like what was never written, the magic like a frame, the rest like itself.
    let bodies = [
        Value::from("short"),
        Value::B(Bytes::from(vec![0; 1500])),
        Value::from("NGYF".repeat(300)),
        Value::B(Bytes::from(Random::seeded(1).bytes::<600>().to_vec())),
    ];
    for (number, body) in (0..).zip(bodies.iter().chain(&bodies)) {
        put(&store, number, body.clone()).await.unwrap();
    }
    let killed = disk.copy();
    let end = frames(&killed, 1).last().unwrap().end;
    // Most of a segment is zeros; a few of them are enough here.
    killed.cut(&segment_name(1), end + 2048);
    killed
}

/// Every offset of a range in a deep run. Else those at its begin, where a frame has its head, and
/// some of the others.
fn some(range: Range<usize>) -> impl Iterator<Item = usize> {
    let border = range.end.min(range.start + FRAME_HEAD);
    (range.start..border).chain((border..range.end).step_by(depth::pick(31, 1)))
}

/// At least as long as the head of a frame.
const FRAME_HEAD: usize = 64;

#[tokio::test]
async fn a_flipped_bit_in_any_acknowledged_frame_is_named() {
    let disk = written().await;
    let random = Random::seeded(7);
    for frame in frames(&disk, 1) {
        for offset in some(frame.clone()) {
            let bit = u8::try_from(random.below(8)).unwrap();
            let damaged = disk.copy();
            assert!(damaged.flip(&segment_name(1), offset, bit));
            let found = recover(None, &damaged, MEMTABLE_BYTES).err();
            let Some(Error::Corrupt { file, offset: told, .. }) = found else {
                panic!("bit {bit} of byte {offset} in the frame {frame:?}: {found:?}");
            };
            assert_eq!((file.as_str(), told), ("log/0000000001.log", frame.start as u64));
        }
    }
}

#[tokio::test]
async fn a_flipped_bit_behind_the_last_frame_loses_nothing() {
    let disk = written().await;
    let frames = frames(&disk, 1);
    let end = frames.last().unwrap().end;
    for offset in some(end..end + 2048) {
        let damaged = disk.copy();
        assert!(damaged.flip(&segment_name(1), offset, 3));
        match recover(None, &damaged, MEMTABLE_BYTES) {
            Ok(found) => assert_eq!(found.last, frames.len() as u64, "byte {offset}"),
            Err(Error::Corrupt { .. }) => {}
            Err(other) => panic!("byte {offset}: {other}"),
        }
    }
}

#[tokio::test]
async fn zeros_in_place_of_an_acknowledged_frame_are_named_if_another_follows() {
    let disk = written().await;
    let frames = frames(&disk, 1);
    for frame in frames.iter().take(frames.len() - 1) {
        for wiped in [frame.clone(), frame.start..frame.start + 48] {
            let damaged = disk.copy();
            let segment = damaged.open(&segment_name(1)).unwrap();
            segment.write_at(&vec![0; wiped.len()], wiped.start as u64).unwrap();
            let found = recover(None, &damaged, MEMTABLE_BYTES).err();
            assert!(matches!(found, Some(Error::Corrupt { .. })), "{wiped:?}: {found:?}");
        }
    }
}

#[tokio::test]
async fn a_log_that_was_cut_is_named() {
    let disk = written().await;
    let frames = frames(&disk, 1);
    let lengths = frames.iter().flat_map(|frame| some(frame.clone()));
    for length in (0..frames[0].start).chain(lengths) {
        let damaged = disk.copy();
        damaged.cut(&segment_name(1), length);
        let found = recover(None, &damaged, MEMTABLE_BYTES).err();
        assert!(matches!(found, Some(Error::Corrupt { .. })), "cut to {length}: {found:?}");
    }
}

#[tokio::test]
async fn a_missing_segment_is_named() {
    let disk = MemoryDisk::breakable();
    let store = open(&disk).await;
    for number in 0..30 {
        put(&store, number, "x".repeat(200_000)).await.unwrap();
    }
    drop(store);
    let segments = disk.segments();
    assert!(segments.len() > 4, "{segments:?}");
    for missing in &segments {
        let damaged = disk.copy();
        damaged.remove(missing).unwrap();
        let Some(Error::Corrupt { file, what, .. }) = recover(None, &damaged, MEMTABLE_BYTES).err()
        else {
            panic!("segment {missing} is missing and nobody noticed");
        };
        assert_eq!(file, format!("log/{missing}"));
        assert!(what.contains("missing"), "{what}");
    }
}

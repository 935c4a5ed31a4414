//! Frames: what one group commit writes.
//!
//!   bytes  0..4   `NGYF`
//!          4..8   length of the records
//!          8..16  last sequence number of the frame before
//!         16..24  last sequence number in this frame
//!         24..32  when, in milliseconds of Unix time; never less than the frame before
//!         32..36  number of records; none makes this frame a seal, the end of a segment
//!         36..40  crc32c of everything behind the head
//!         40..44  crc32c of bytes 0..40
//!         44..48  zeros
//!         48..    the records, masked, filled up to a multiple of 16 bytes
//!
//! Segments are born as zeros. So a frame of which a piece is zeros was not written to its end
//! before the power went, and any other wrong byte is damage. That this is exact rests on three
//! rules: records are masked, so that no data looks like zeros; frames begin and end at multiples
//! of 16 bytes, so that a disk's 512 cut no piece too short to tell; and the head has a checksum
//! of its own, so that a wrong length is not believed.

use bytes::{Bytes, BytesMut};

use super::record::Record;

/// Bytes of a frame before its records.
pub(crate) const FRAME_HEAD_BYTES: usize = 48;
/// Frames begin and end at multiples of this.
pub(super) const FRAME_ALIGN: usize = 16;
/// Memory got at once for the keys of its records; they rarely take more than the records.
const KEYS_BYTES_MAX: usize = 64 * 1024;
/// How a frame begins.
pub(super) const MAGIC: &[u8; 4] = b"NGYF";

/// What a frame says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    /// Bytes of the records.
    length: u32,
    /// Last sequence number of the frame before.
    pub(crate) previous: u64,
    /// Last sequence number in this frame.
    pub(crate) last: u64,
    /// When it was written, in milliseconds of Unix time.
    pub(crate) time_ms: u64,
    /// Number of records; none marks the end of a segment.
    pub(crate) records: u32,
    crc: u32,
}

/// A frame with its records still encoded.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// What it says of itself.
    pub(crate) head: FrameHead,
    /// Its records.
    pub(crate) payload: Bytes,
}

impl FrameHead {
    /// The head of a frame that is about to be written.
    pub(crate) fn new(previous: u64, last: u64, time_ms: u64, records: u32) -> Self {
        FrameHead { length: 0, previous, last, time_ms, records, crc: 0 }
    }

    /// The head of a seal: nothing follows in this segment.
    pub(crate) fn seal(previous: u64, time_ms: u64) -> Self {
        FrameHead::new(previous, previous, time_ms, 0)
    }

    /// Makes a frame of `frame`, which holds room for the head and then the records.
    pub(crate) fn complete(mut self, frame: &mut Vec<u8>) {
        let length = frame.len() - FRAME_HEAD_BYTES;
        self.length = u32::try_from(length).expect("a frame is bounded far below 4 GiB");
        frame.resize(aligned(frame.len()), 0);
        let (head, behind) = frame.split_at_mut(FRAME_HEAD_BYTES);
        mask(self.last, behind);
        self.crc = crc32c::crc32c(behind);
        head.copy_from_slice(&self.encode());
    }

    /// Reads a head; `None` if these bytes are none.
    pub(crate) fn decode(bytes: &[u8; FRAME_HEAD_BYTES]) -> Option<FrameHead> {
        let u32_at = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let head = FrameHead {
            length: u32_at(4)?,
            previous: u64_at(8)?,
            last: u64_at(16)?,
            time_ms: u64_at(24)?,
            records: u32_at(32)?,
            crc: u32_at(36)?,
        };
        (head.encode() == *bytes).then_some(head)
    }

    /// Whether this marks the end of its segment.
    pub(crate) fn is_seal(&self) -> bool {
        self.records == 0
    }

    /// Bytes of the frame behind its head.
    pub(crate) fn bytes_behind(&self) -> usize {
        aligned(self.length as usize)
    }

    /// The frame of this head and the bytes behind it; those back if they are not what was
    /// written.
    pub(crate) fn frame(self, mut behind: Vec<u8>) -> Result<Frame, Vec<u8>> {
        if crc32c::crc32c(&behind) != self.crc {
            return Err(behind);
        }
        mask(self.last, &mut behind);
        behind.truncate(self.length as usize);
        Ok(Frame { head: self, payload: Bytes::from(behind) })
    }

    fn encode(&self) -> [u8; FRAME_HEAD_BYTES] {
        let mut bytes = [0; FRAME_HEAD_BYTES];
        let mut at = 0;
        let mut write = |part: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at + part.len()) {
                place.copy_from_slice(part);
            }
            at += part.len();
        };
        write(MAGIC);
        write(&self.length.to_le_bytes());
        for number in [self.previous, self.last, self.time_ms] {
            write(&number.to_le_bytes());
        }
        write(&self.records.to_le_bytes());
        write(&self.crc.to_le_bytes());
        let (summed, rest) = bytes.split_at_mut(40);
        if let Some(place) = rest.first_chunk_mut() {
            *place = crc32c::crc32c(summed).to_le_bytes();
        }
        bytes
    }
}

impl Frame {
    /// The records in order; `None` if the payload is not what its head says.
    pub(crate) fn records(&self) -> Option<Vec<Record>> {
        let mut payload = self.payload.clone();
        let mut keys = BytesMut::with_capacity(payload.len().min(KEYS_BYTES_MAX));
        let records: Option<Vec<Record>> =
            (0..self.head.records).map(|_| Record::decode(&mut payload, &mut keys)).collect();
        records.filter(|_| payload.is_empty())
    }

    /// The frame as it is written.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; FRAME_HEAD_BYTES];
        bytes.extend_from_slice(&self.payload);
        self.head.complete(&mut bytes);
        bytes
    }
}

fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(FRAME_ALIGN)
}

/// Masks and unmasks: each eight bytes with another number (SplitMix64, counted on from `seed`).
fn mask(seed: u64, bytes: &mut [u8]) {
    let mut count = seed;
    for place in bytes.chunks_exact_mut(8) {
        count = count.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = (count ^ (count >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^= number >> 31;
        for (byte, over) in place.iter_mut().zip(number.to_le_bytes()) {
            *byte ^= over;
        }
    }
}

//! Frames: what one group commit writes.
//!
//!   bytes  0..4   length of the payload
//!          4..8   crc32c of everything behind it, payload included
//!          8..16  last sequence number of the frame before
//!         16..24  first sequence number in this frame
//!         24..32  last sequence number in this frame
//!         32..40  when, in milliseconds of Unix time; never less than the frame before
//!         40..44  number of records; none makes this frame a seal, the end of a segment
//!         44..48  `NGYF`
//!         48..    the records
//!
//! Segments are born as zeros, so four zero bytes where a length should be end the log.

use bytes::Bytes;

use super::record::Record;

/// Bytes of a frame before its payload.
pub(crate) const FRAME_HEAD_BYTES: usize = 48;
const MAGIC: &[u8; 4] = b"NGYF";

/// What a frame says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    /// Bytes of the payload.
    pub(crate) length: u32,
    crc: u32,
    /// Last sequence number of the frame before.
    pub(crate) previous: u64,
    /// First sequence number in this frame.
    pub(crate) first: u64,
    /// Last sequence number in this frame.
    pub(crate) last: u64,
    /// When it was written, in milliseconds of Unix time.
    pub(crate) time_ms: u64,
    /// Number of records; none marks the end of a segment.
    pub(crate) records: u32,
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
    pub(crate) fn new(previous: u64, first: u64, last: u64, time_ms: u64, records: u32) -> Self {
        FrameHead { length: 0, crc: 0, previous, first, last, time_ms, records }
    }

    /// The head of a seal: nothing follows in this segment.
    pub(crate) fn seal(previous: u64, time_ms: u64) -> Self {
        FrameHead::new(previous, previous, previous, time_ms, 0)
    }

    /// Completes the head in the first 48 bytes of `frame`, whose payload stands behind them.
    pub(crate) fn write_into(mut self, frame: &mut [u8]) {
        let payload = frame.len() - FRAME_HEAD_BYTES;
        self.length = u32::try_from(payload).expect("a frame is bounded far below 4 GiB");
        let mut head = self.encode();
        put(frame, &head);
        self.crc = crc32c::crc32c(frame.get(8..).unwrap_or_default());
        head = self.encode();
        put(frame, &head);
    }

    /// Reads a head; `None` if these bytes are none.
    pub(crate) fn decode(bytes: &[u8; FRAME_HEAD_BYTES]) -> Option<FrameHead> {
        let (numbers, magic) = bytes.split_at(44);
        if magic != MAGIC {
            return None;
        }
        let u32_at = |at: usize| Some(u32::from_le_bytes(*numbers.get(at..)?.first_chunk()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(*numbers.get(at..)?.first_chunk()?));
        Some(FrameHead {
            length: u32_at(0)?,
            crc: u32_at(4)?,
            previous: u64_at(8)?,
            first: u64_at(16)?,
            last: u64_at(24)?,
            time_ms: u64_at(32)?,
            records: u32_at(40)?,
        })
    }

    /// Whether this marks the end of its segment.
    pub(crate) fn is_seal(&self) -> bool {
        self.records == 0
    }

    /// Whether the checksum is right for head and payload.
    pub(crate) fn matches(&self, payload: &[u8]) -> bool {
        let head = self.encode();
        let crc = crc32c::crc32c(head.get(8..).unwrap_or_default());
        crc32c::crc32c_append(crc, payload) == self.crc
    }

    fn encode(&self) -> [u8; FRAME_HEAD_BYTES] {
        let mut bytes = [0; FRAME_HEAD_BYTES];
        let mut at = 0;
        let mut write = |part: &[u8]| {
            put(bytes.get_mut(at..).unwrap_or_default(), part);
            at += part.len();
        };
        write(&self.length.to_le_bytes());
        write(&self.crc.to_le_bytes());
        for number in [self.previous, self.first, self.last, self.time_ms] {
            write(&number.to_le_bytes());
        }
        write(&self.records.to_le_bytes());
        write(MAGIC);
        bytes
    }
}

impl Frame {
    /// The records in order; `None` if the payload is not what its head says.
    pub(crate) fn records(&self) -> Option<Vec<Record>> {
        let mut payload = self.payload.clone();
        let records: Option<Vec<Record>> =
            (0..self.head.records).map(|_| Record::decode(&mut payload)).collect();
        records.filter(|_| payload.is_empty())
    }
}

fn put(target: &mut [u8], source: &[u8]) {
    if let Some(place) = target.get_mut(..source.len()) {
        place.copy_from_slice(source);
    }
}

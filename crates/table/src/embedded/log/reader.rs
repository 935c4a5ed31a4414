//! Reading segments: one frame after the other, and telling a torn end from damage.

use std::sync::Arc;

use bytes::Bytes;

use super::frame::{FRAME_HEAD_BYTES, Frame, FrameHead};
use super::{segment_name, segment_ordinals};
use crate::embedded::disk::{Disk, Segment};
use crate::error::Error;

/// The smallest piece a disk writes whole. What a crash leaves of an unsynced frame lacks at
/// least one such piece, and what is lacking is zero, as the segment was born.
const SECTOR_BYTES: u64 = 512;
/// A piece of a frame shorter than this may be zero by chance.
const SECTOR_EVIDENCE_BYTES: usize = 16;

/// Reads the frames of one segment in order.
pub(crate) struct SegmentReader {
    segment: Arc<dyn Segment>,
    name: String,
    length: u64,
    offset: u64,
}

/// What stands at the reader's place.
pub(crate) enum Next {
    /// A whole frame.
    Frame(Frame),
    /// The end, marked by a seal.
    Sealed,
    /// Zeros: nothing has been written here yet.
    Unwritten,
    /// A frame that was being written when the power went.
    Torn,
}

impl SegmentReader {
    /// Reads segment `ordinal` from its beginning.
    pub(crate) fn open(disk: &dyn Disk, ordinal: u64) -> Result<SegmentReader, Error> {
        let name = segment_name(ordinal);
        let segment =
            disk.open(&name).map_err(|cause| Error::io(format!("opening log/{name}"), &cause))?;
        let length =
            segment.len().map_err(|cause| Error::io(format!("reading log/{name}"), &cause))?;
        Ok(SegmentReader { segment, name, length, offset: 0 })
    }

    /// The next frame, or what stands in its place. Damage is an error that names the byte.
    pub(crate) fn next(&mut self) -> Result<Next, Error> {
        let mut head = [0; FRAME_HEAD_BYTES];
        if self.offset + FRAME_HEAD_BYTES as u64 > self.length {
            return Err(self.damaged("the segment ends without a seal"));
        }
        self.read(&mut head, self.offset)?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok(Next::Unwritten);
        }
        let Some(decoded) = FrameHead::decode(&head) else {
            return self.torn_or_damaged(FRAME_HEAD_BYTES as u64, "no frame begins here");
        };
        let bytes = FRAME_HEAD_BYTES as u64 + u64::from(decoded.length);
        if self.offset + bytes > self.length {
            return Err(self.damaged("a frame reaches beyond the end of the segment"));
        }
        let mut payload = vec![0; decoded.length as usize];
        self.read(&mut payload, self.offset + FRAME_HEAD_BYTES as u64)?;
        if !decoded.matches(&payload) {
            return self.torn_or_damaged(bytes, "the checksum of a frame is wrong");
        }
        if decoded.is_seal() {
            return Ok(Next::Sealed);
        }
        self.offset += bytes;
        Ok(Next::Frame(Frame { head: decoded, payload: Bytes::from(payload) }))
    }

    /// A bad frame is torn if a sector of it never arrived and nothing was written behind it.
    fn torn_or_damaged(&self, bytes: u64, what: &str) -> Result<Next, Error> {
        let rest = usize::try_from(self.length - self.offset).unwrap_or(usize::MAX);
        let mut held = vec![0; rest];
        self.read(&mut held, self.offset)?;
        let frame = held.get(..usize::try_from(bytes).unwrap_or(rest).min(rest)).unwrap_or(&held);
        let behind = held.get(frame.len()..).unwrap_or_default();
        let followed = behind.windows(4).any(|window| window == b"NGYF");
        let first = usize::try_from(SECTOR_BYTES - self.offset % SECTOR_BYTES).unwrap_or(0);
        let (head, tail) = frame.split_at(first.min(frame.len()));
        let mut sectors = std::iter::once(head).chain(tail.chunks(SECTOR_BYTES as usize));
        let missing = sectors.any(|sector| {
            sector.len() >= SECTOR_EVIDENCE_BYTES && sector.iter().all(|byte| *byte == 0)
        });
        if missing && !followed { Ok(Next::Torn) } else { Err(self.damaged(what)) }
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
        let read = self.segment.read_at(buffer, offset);
        read.map_err(|cause| {
            Error::io(format!("reading log/{} at byte {offset}", self.name), &cause)
        })
    }

    pub(crate) fn damaged(&self, what: &str) -> Error {
        Error::Corrupt {
            file: format!("log/{}", self.name),
            offset: self.offset,
            what: what.to_owned(),
        }
    }
}

/// What a walk over the whole log found.
pub(crate) struct Recovered {
    /// Each segment that holds frames, oldest first.
    pub(crate) segments: Vec<SegmentSummary>,
    /// The highest ordinal in use.
    pub(crate) last_ordinal: u64,
}

/// What one segment holds.
#[derive(Clone, Debug)]
pub(crate) struct SegmentSummary {
    /// Its ordinal.
    pub(crate) ordinal: u64,
    /// The last sequence number before it.
    pub(crate) previous: u64,
    /// Its last sequence number.
    pub(crate) last: u64,
    /// The time of its first frame.
    pub(crate) first_ms: u64,
    /// The time of its last frame.
    pub(crate) last_ms: u64,
}

/// Walks all segments, hands each frame behind `settled` to `apply`, seals the last one, and
/// removes those that were only prepared. Fails on damage and on a gap.
pub(crate) fn recover(
    disk: &dyn Disk,
    settled: u64,
    mut apply: impl FnMut(&Frame) -> Result<(), Error>,
) -> Result<Recovered, Error> {
    let ordinals = segment_ordinals(disk)?;
    let mut walk = Walk { disk, settled, segments: Vec::new(), unsealed: None };
    for ordinal in &ordinals {
        walk.segment(*ordinal, &mut apply)?;
    }
    let reached = walk.segments.last().map_or(settled, |segment| segment.last);
    if reached < settled {
        return Err(Error::Corrupt {
            file: "log".to_owned(),
            offset: 0,
            what: format!("the log ends at change {reached}, the tree holds change {settled}"),
        });
    }
    let last_ordinal = ordinals.last().copied().unwrap_or(0);
    Ok(Recovered { segments: walk.segments, last_ordinal })
}

struct Walk<'a> {
    disk: &'a dyn Disk,
    settled: u64,
    segments: Vec<SegmentSummary>,
    unsealed: Option<String>,
}

impl Walk<'_> {
    fn segment(
        &mut self,
        ordinal: u64,
        apply: &mut impl FnMut(&Frame) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut reader = SegmentReader::open(self.disk, ordinal)?;
        let mut summary: Option<SegmentSummary> = None;
        let end = loop {
            match reader.next()? {
                Next::Frame(frame) => {
                    self.check_follows(&reader, summary.as_ref(), &frame)?;
                    if frame.head.last > self.settled {
                        apply(&frame)?;
                    }
                    summary = Some(SegmentSummary {
                        ordinal,
                        previous: summary
                            .as_ref()
                            .map_or(frame.head.previous, |held| held.previous),
                        last: frame.head.last,
                        first_ms: summary.as_ref().map_or(frame.head.time_ms, |held| held.first_ms),
                        last_ms: frame.head.time_ms,
                    });
                }
                end => break end,
            }
        };
        let Some(summary) = summary else {
            // Prepared ahead, or torn at its very first frame: nothing in it was acknowledged.
            let removed = self.disk.remove(&segment_name(ordinal));
            return removed.map_err(|cause| Error::io("removing an unused segment", &cause));
        };
        if !matches!(end, Next::Sealed) {
            seal(&*reader.segment, reader.offset, summary.last, summary.last_ms)
                .map_err(|cause| Error::io(format!("sealing log/{}", reader.name), &cause))?;
            self.unsealed = Some(reader.name);
        }
        self.segments.push(summary);
        Ok(())
    }

    fn check_follows(
        &self,
        reader: &SegmentReader,
        here: Option<&SegmentSummary>,
        frame: &Frame,
    ) -> Result<(), Error> {
        if let Some(unsealed) = &self.unsealed {
            return Err(reader.damaged(&format!("it follows log/{unsealed}, which has no seal")));
        }
        match here.or(self.segments.last()) {
            Some(before) if before.last != frame.head.previous => {
                let (wanted, found) = (frame.head.previous, before.last);
                Err(reader.damaged(&format!("changes {found} to {wanted} are missing before it")))
            }
            None if frame.head.previous > self.settled => {
                let (wanted, found) = (frame.head.previous, self.settled);
                Err(reader.damaged(&format!("changes {found} to {wanted} are missing before it")))
            }
            _ => Ok(()),
        }
    }
}

/// Ends a segment at `offset` and cuts off what lies behind.
pub(crate) fn seal(
    segment: &dyn Segment,
    offset: u64,
    last: u64,
    time_ms: u64,
) -> std::io::Result<()> {
    let mut bytes = [0; FRAME_HEAD_BYTES];
    FrameHead::seal(last, time_ms).write_into(&mut bytes);
    segment.write_at(&bytes, offset)?;
    segment.sync()?;
    segment.truncate(offset + FRAME_HEAD_BYTES as u64)
}

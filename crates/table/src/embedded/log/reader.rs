//! Reading segments: one frame after the other, and telling a torn end from damage.

use std::sync::Arc;

use super::frame::{FRAME_ALIGN, FRAME_HEAD_BYTES, Frame, FrameHead, MAGIC};
use super::segment_name;
use crate::embedded::disk::{Disk, Segment};
use crate::error::Error;

/// The smallest piece a disk writes whole. What a power loss leaves of an unsynced frame lacks
/// at least one such piece, and what is lacking is zero, as the segment was born.
const SECTOR_BYTES: u64 = 512;
/// How much is read at a time when only the rest of a segment is looked over.
const CHUNK_BYTES: usize = 1024 * 1024;
/// What an unwritten stretch is compared with, quickly.
const ZEROS: &[u8] = &[0; 4096];

/// Reads the frames of one segment in order.
pub(crate) struct SegmentReader {
    segment: Arc<dyn Segment>,
    name: String,
    length: u64,
    offset: u64,
    ahead: Option<Ahead>,
}

/// A stretch of a segment that was read at once: most frames are small, and each would be two
/// calls to the system.
#[derive(Default)]
struct Ahead {
    start: u64,
    bytes: Vec<u8>,
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
        Ok(SegmentReader { segment, name, length, offset: 0, ahead: None })
    }

    /// The same for a segment that nobody writes to meanwhile.
    pub(super) fn reading_ahead(mut self) -> SegmentReader {
        self.ahead = Some(Ahead::default());
        self
    }

    /// The next frame, or what stands in its place. Damage is an error that names the byte.
    pub(crate) fn next(&mut self) -> Result<Next, Error> {
        let mut head = [0; FRAME_HEAD_BYTES];
        if self.offset + FRAME_HEAD_BYTES as u64 > self.length {
            return Err(self.damaged("the segment ends without a seal"));
        }
        self.read_on(&mut head, self.offset)?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok(Next::Unwritten);
        }
        let Some(decoded) = FrameHead::decode(&head) else {
            return self.torn_or_damaged(&head, "no frame begins here");
        };
        let bytes = (FRAME_HEAD_BYTES + decoded.bytes_behind()) as u64;
        if self.offset + bytes > self.length {
            return Err(self.damaged("a frame reaches beyond the end of the segment"));
        }
        let mut behind = vec![0; decoded.bytes_behind()];
        self.read_on(&mut behind, self.offset + FRAME_HEAD_BYTES as u64)?;
        match decoded.frame(behind) {
            Err(behind) => {
                let whole = [head.as_slice(), &behind].concat();
                self.torn_or_damaged(&whole, "the checksum of a frame is wrong")
            }
            Ok(_) if decoded.is_seal() => Ok(Next::Sealed),
            Ok(frame) => {
                self.offset += bytes;
                Ok(Next::Frame(frame))
            }
        }
    }

    /// A bad frame is torn if a piece of it never arrived and nothing was written behind it.
    fn torn_or_damaged(&self, frame: &[u8], what: &str) -> Result<Next, Error> {
        let first = usize::try_from(SECTOR_BYTES - self.offset % SECTOR_BYTES).unwrap_or(0);
        let (head, tail) = frame.split_at(first.min(frame.len()));
        let mut pieces = std::iter::once(head).chain(tail.chunks(SECTOR_BYTES as usize));
        let missing = pieces.any(|piece| piece.iter().all(|byte| *byte == 0));
        if missing && !self.rest()?.holds_frame { Ok(Next::Torn) } else { Err(self.damaged(what)) }
    }

    /// Whether anything was written where the segment begins.
    pub(super) fn is_used(&self) -> Result<bool, Error> {
        let mut head = [0; FRAME_HEAD_BYTES];
        if self.length < FRAME_HEAD_BYTES as u64 {
            return Ok(false);
        }
        self.read(&mut head, 0)?;
        Ok(head.iter().any(|byte| *byte != 0))
    }

    /// Whether the segment ends with a seal and is cut off behind it.
    pub(super) fn is_sealed(&self) -> Result<bool, Error> {
        let mut head = [0; FRAME_HEAD_BYTES];
        let Some(last) = self.length.checked_sub(FRAME_HEAD_BYTES as u64) else { return Ok(false) };
        self.read(&mut head, last)?;
        Ok(FrameHead::decode(&head).is_some_and(|head| head.is_seal()))
    }

    /// Whether a frame stands somewhere behind this place.
    pub(crate) fn is_followed(&self) -> Result<bool, Error> {
        Ok(self.rest()?.holds_frame)
    }

    /// What lies between here and the end of the segment.
    fn rest(&self) -> Result<Rest, Error> {
        let mut rest = Rest { holds_frame: false, end: self.offset };
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut start = self.offset;
        while start < self.length {
            let left = usize::try_from(self.length - start).unwrap_or(usize::MAX);
            chunk.resize(left.min(CHUNK_BYTES), 0);
            self.read(&mut chunk, start)?;
            let blocks = chunk.chunks(ZEROS.len()).enumerate();
            let written = blocks.filter(|(_, block)| !ZEROS.starts_with(block));
            let pieces = written.flat_map(|(number, block)| {
                let places = (number * ZEROS.len()..).step_by(FRAME_ALIGN);
                places.zip(block.chunks(FRAME_ALIGN))
            });
            for (place, piece) in pieces {
                let place = start + place as u64;
                rest.end = place + piece.len() as u64;
                rest.holds_frame |= place > self.offset && self.is_frame(piece, place)?;
            }
            start += chunk.len() as u64;
        }
        Ok(rest)
    }

    fn is_frame(&self, piece: &[u8], place: u64) -> Result<bool, Error> {
        let mut head = [0; FRAME_HEAD_BYTES];
        if !piece.starts_with(MAGIC) || place + FRAME_HEAD_BYTES as u64 > self.length {
            return Ok(false);
        }
        self.read(&mut head, place)?;
        Ok(FrameHead::decode(&head).is_some())
    }

    /// Makes this place the end of the segment. What a torn frame left here goes first: a seal
    /// written over it could be torn as well, and then nobody could tell the two apart.
    pub(super) fn seal(&self, last: u64, time_ms: u64) -> Result<(), Error> {
        let rest = self.rest()?;
        if rest.holds_frame {
            return Err(self.damaged("nothing was written here, but there is a frame behind it"));
        }
        let sealed = wipe(&*self.segment, self.offset, rest.end)
            .and_then(|()| seal(&*self.segment, self.offset, last, time_ms));
        sealed.map_err(|cause| Error::io(format!("sealing log/{}", self.name), &cause))
    }

    /// Reads what follows what was read last.
    fn read_on(&mut self, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
        if self.ahead.is_none() || buffer.len() > CHUNK_BYTES {
            return self.read(buffer, offset);
        }
        let mut ahead = self.ahead.take().unwrap_or_default();
        if ahead.find(offset, buffer.len()).is_none() {
            let left = usize::try_from(self.length - offset).unwrap_or(usize::MAX);
            ahead.bytes.resize(left.min(CHUNK_BYTES), 0);
            ahead.start = offset;
            self.read(&mut ahead.bytes, offset)?;
        }
        let found = ahead.find(offset, buffer.len());
        buffer.copy_from_slice(found.ok_or_else(|| self.damaged("the segment ends early"))?);
        self.ahead = Some(ahead);
        Ok(())
    }

    /// The name of the segment's file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How many bytes the segment has.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// How many of them were read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
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

impl Ahead {
    fn find(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..)?.get(..length)
    }
}

/// What lies behind a reader's place.
struct Rest {
    /// Whether a frame begins somewhere behind it.
    holds_frame: bool,
    /// Where the last bytes that are not zero end.
    end: u64,
}

/// Ends a segment at `offset` and cuts off what lies behind.
pub(crate) fn seal(
    segment: &dyn Segment,
    offset: u64,
    last: u64,
    time_ms: u64,
) -> std::io::Result<()> {
    let mut bytes = vec![0; FRAME_HEAD_BYTES];
    FrameHead::seal(last, time_ms).complete(&mut bytes);
    segment.write_at(&bytes, offset)?;
    segment.sync()?;
    segment.truncate(offset + FRAME_HEAD_BYTES as u64)
}

/// Writes zeros from `start` to `end`.
fn wipe(segment: &dyn Segment, start: u64, end: u64) -> std::io::Result<()> {
    if start == end {
        return Ok(());
    }
    let zeros = vec![0; CHUNK_BYTES];
    let mut offset = start;
    while offset < end {
        let left = usize::try_from(end - offset).unwrap_or(usize::MAX).min(CHUNK_BYTES);
        segment.write_at(zeros.get(..left).unwrap_or(&zeros), offset)?;
        offset += left as u64;
    }
    segment.sync()
}

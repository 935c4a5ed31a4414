//! Walking over the whole log when a house opens: which segments there are, what each of them
//! holds, and that none is missing or damaged.

use std::collections::BTreeSet;

use super::frame::Frame;
use super::reader::{Next, SegmentReader};
use super::{manifest, segment_name, segment_ordinals};
use crate::embedded::disk::Disk;
use crate::error::Error;

/// What a walk over the whole log found.
pub(crate) struct Recovered {
    /// Each segment that holds frames, oldest first.
    pub(crate) segments: Vec<SegmentSummary>,
    /// The highest ordinal in use.
    pub(crate) last_ordinal: u64,
    /// The segments that are listed from now on (`manifest.rs`).
    pub(crate) listed: BTreeSet<u64>,
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

/// Walks all segments and hands each frame behind `settled` to `apply`. Fails on damage, on a gap
/// and on a missing segment. Changes nothing on the disk: that is left to `Walk::finish`.
pub(crate) fn walk<'d>(
    disk: &'d dyn Disk,
    settled: u64,
    mut apply: impl FnMut(Frame) -> Result<(), Error>,
) -> Result<Walk<'d>, Error> {
    let listed = manifest::read(disk)?;
    let found: BTreeSet<u64> = segment_ordinals(disk)?.into_iter().collect();
    if let Some(listed) = &listed {
        manifest::check(disk, listed, &found)?;
    }
    let last_ordinal = listed.iter().flatten().chain(&found).max().copied().unwrap_or(0);
    let (segments, unused) = (Vec::new(), Vec::new());
    let mut walk =
        Walk { disk, settled, listed, last_ordinal, segments, unused, unsealed: None, done: 0 };
    walk.begin(&found)?;
    for ordinal in found {
        walk.segment(ordinal, &mut apply)?;
    }
    let reached = walk.segments.last().map_or(settled, |segment| segment.last);
    if reached < settled {
        return Err(Error::Corrupt {
            file: "log".to_owned(),
            offset: 0,
            what: format!("the log ends at change {reached}, the tree holds change {settled}"),
        });
    }
    Ok(walk)
}

/// The log as it was found.
pub(crate) struct Walk<'a> {
    disk: &'a dyn Disk,
    settled: u64,
    listed: Option<BTreeSet<u64>>,
    last_ordinal: u64,
    segments: Vec<SegmentSummary>,
    /// Segments without a frame.
    unused: Vec<u64>,
    /// The last segment that holds frames, if it has no seal.
    unsealed: Option<SegmentReader>,
    /// Bytes of the segments that are done.
    done: u64,
}

impl Walk<'_> {
    /// Reports how much there is to read.
    fn begin(&self, ordinals: &BTreeSet<u64>) -> Result<(), Error> {
        let Some(progress) = self.disk.progress() else { return Ok(()) };
        let lengths =
            ordinals.iter().map(|ordinal| Ok(SegmentReader::open(self.disk, *ordinal)?.length()));
        progress.begin(lengths.sum::<Result<u64, Error>>()?);
        Ok(())
    }

    /// Reports how much is read: everything before this segment, and so much of it.
    fn reach(&self, offset: u64) {
        if let Some(progress) = self.disk.progress() {
            progress.reach(self.done + offset);
        }
    }

    fn segment(
        &mut self,
        ordinal: u64,
        apply: &mut impl FnMut(Frame) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut reader = SegmentReader::open(self.disk, ordinal)?.reading_ahead();
        let mut summary: Option<SegmentSummary> = None;
        let end = loop {
            match reader.next()? {
                Next::Frame(frame) => {
                    self.check_follows(&reader, summary.as_ref(), &frame)?;
                    let head = frame.head;
                    if head.last > self.settled {
                        apply(frame)?;
                    }
                    self.reach(reader.offset());
                    summary = Some(SegmentSummary {
                        ordinal,
                        previous: summary.as_ref().map_or(head.previous, |held| held.previous),
                        last: head.last,
                        first_ms: summary.as_ref().map_or(head.time_ms, |held| held.first_ms),
                        last_ms: head.time_ms,
                    });
                }
                end => break end,
            }
        };
        self.reach(reader.length());
        self.done += reader.length();
        let Some(summary) = summary else {
            if reader.is_followed()? {
                return Err(reader.damaged("its first frame is gone"));
            }
            // Prepared ahead, or torn at its very first frame: nothing in it was acknowledged.
            self.unused.push(ordinal);
            return Ok(());
        };
        if !matches!(end, Next::Sealed) {
            self.unsealed = Some(reader);
        }
        self.segments.push(summary);
        Ok(())
    }

    /// Lists the segments that hold frames, removes the others, and seals the last one. The order
    /// is that of `manifest.rs`: a segment that is listed and not there is known to be unused only
    /// as long as the last one has no seal.
    pub(crate) fn finish(mut self) -> Result<Recovered, Error> {
        let used: BTreeSet<u64> = self.segments.iter().map(|segment| segment.ordinal).collect();
        if self.unsealed.is_some() {
            self.remove_unused()?;
        }
        let written = match self.listed.as_ref() == Some(&used) {
            true => Ok(()),
            false => manifest::write(self.disk, &used),
        };
        let listed = match (written, self.listed.take()) {
            (Ok(()), _) => {
                self.remove_unused()?;
                used
            }
            // A full disk can be read: the list stays as it is, and so do the files on it.
            (Err(cause), None) if is_full(&cause) => used,
            (Err(cause), Some(listed)) if is_full(&cause) && self.unsealed.is_none() => listed,
            (Err(cause), _) => return Err(Error::io("listing the segments of the log", &cause)),
        };
        if let (Some(reader), Some(last)) = (&self.unsealed, self.segments.last()) {
            reader.seal(last.last, last.last_ms)?;
        }
        Ok(Recovered { segments: self.segments, last_ordinal: self.last_ordinal, listed })
    }

    fn remove_unused(&self) -> Result<(), Error> {
        for ordinal in &self.unused {
            match self.disk.remove(&segment_name(*ordinal)) {
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("removing an unused segment", &cause));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_follows(
        &self,
        reader: &SegmentReader,
        here: Option<&SegmentSummary>,
        frame: &Frame,
    ) -> Result<(), Error> {
        if let Some(unsealed) = &self.unsealed {
            let unsealed = unsealed.name();
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

fn is_full(cause: &std::io::Error) -> bool {
    cause.kind() == std::io::ErrorKind::StorageFull
}

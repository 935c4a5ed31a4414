//! The list of segments that make up the log: without it, a log whose newest segments are gone
//! looks like a shorter log.
//!
//!   SEGMENTS   1-17
//!              19-21
//!              crc32c 8ab3f01c     of the lines before
//!
//! The file lies beside `log/`, so that it is still there when that directory is not. It is
//! written when a segment is made or dropped, never by a commit.
//!
//! Invariants:
//! - A segment is listed durably before its first frame is written.
//! - A segment is taken off the list before its file is removed.
//!
//! The last segment on the list may be prepared and unused. Its first frame is written after the
//! segment before it is sealed: while that one has no seal, nothing is lost without the last one.
//!
//! A directory of an earlier version has no such file. A log that such a version continued has
//! frames in segments after the last listed one; then the list is out of date and is not used.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::reader::SegmentReader;
use super::segment_name;
use crate::embedded::disk::Disk;
use crate::error::Error;

/// What the file is called, beside the log's directory.
pub(crate) const MANIFEST_FILE: &str = "SEGMENTS";

const CHECKSUM: &str = "crc32c ";

/// The list of a log that is open.
pub(crate) struct Manifest {
    disk: Arc<dyn Disk>,
    listed: Mutex<BTreeSet<u64>>,
}

impl Manifest {
    /// The list as recovery left it on `disk`.
    pub(crate) fn new(disk: Arc<dyn Disk>, listed: BTreeSet<u64>) -> Manifest {
        Manifest { disk, listed: Mutex::new(listed) }
    }

    /// Lists a segment; on return its absence would be noticed.
    pub(crate) fn add(&self, ordinal: u64) -> io::Result<()> {
        self.change(|listed| {
            listed.insert(ordinal);
        })
    }

    /// Takes segments off the list; on return they may be removed.
    pub(crate) fn remove(&self, ordinals: &[u64]) -> io::Result<()> {
        self.change(|listed| listed.retain(|listed| !ordinals.contains(listed)))
    }

    /// The segments on the list up to `current`. Later ones are prepared.
    pub(crate) fn listed_until(&self, current: u64) -> Vec<u64> {
        self.listed.lock().range(..=current).copied().collect()
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<u64>)) -> io::Result<()> {
        let mut listed = self.listed.lock();
        let mut next = listed.clone();
        change(&mut next);
        if next != *listed {
            write(&*self.disk, &next)?;
            *listed = next;
        }
        Ok(())
    }
}

/// Writes the list so that it outlives power loss.
pub(super) fn write(disk: &dyn Disk, listed: &BTreeSet<u64>) -> io::Result<()> {
    disk.write_manifest(encode(listed).as_bytes())
}

/// Reads the list; `None` if there is none.
pub(super) fn read(disk: &dyn Disk) -> Result<Option<BTreeSet<u64>>, Error> {
    let read = disk.read_manifest();
    let Some(bytes) =
        read.map_err(|cause| Error::io(format!("reading {MANIFEST_FILE}"), &cause))?
    else {
        return Ok(None);
    };
    let decoded = str::from_utf8(&bytes).ok().and_then(decode);
    decoded.map(Some).ok_or_else(|| Error::Corrupt {
        file: MANIFEST_FILE.to_owned(),
        offset: 0,
        what: "it is not a list of segments with its checksum".to_owned(),
    })
}

/// The segments on the list; none if there is no list.
pub(crate) fn listed_segments(disk: &dyn Disk) -> Result<BTreeSet<u64>, Error> {
    Ok(read(disk)?.unwrap_or_default())
}

/// Fails if a listed segment is not among those that were `found` and frames may have been written
/// to it.
pub(super) fn check(
    disk: &dyn Disk,
    listed: &BTreeSet<u64>,
    found: &BTreeSet<u64>,
) -> Result<(), Error> {
    let Some(missing) = listed.difference(found).next().copied() else { return Ok(()) };
    let newest = listed.last().copied().unwrap_or(0);
    for later in found.range(newest + 1..) {
        if SegmentReader::open(disk, *later)?.is_used()? {
            // Written by a version that keeps no list; it may have dropped segments too.
            return Ok(());
        }
    }
    let last_found = listed.intersection(found).last().copied();
    if let Some(last_found) = last_found.filter(|last_found| *last_found < missing)
        && !SegmentReader::open(disk, last_found)?.is_sealed()?
    {
        return Ok(());
    }
    Err(missing_segment(missing))
}

/// Says that a listed segment is not there.
pub(crate) fn missing_segment(ordinal: u64) -> Error {
    Error::Corrupt {
        file: format!("log/{}", segment_name(ordinal)),
        offset: 0,
        what: format!("the file is missing; `{MANIFEST_FILE}` lists it as part of the log"),
    }
}

fn encode(listed: &BTreeSet<u64>) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for ordinal in listed {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *ordinal => *last = *ordinal,
            _ => ranges.push((*ordinal, *ordinal)),
        }
    }
    let mut text: String = ranges.iter().map(|(first, last)| format!("{first}-{last}\n")).collect();
    let checksum = crc32c::crc32c(text.as_bytes());
    writeln!(text, "{CHECKSUM}{checksum:08x}").expect("a string takes every text");
    text
}

fn decode(text: &str) -> Option<BTreeSet<u64>> {
    let (ranges, checksum) = text.split_at_checked(text.rfind(CHECKSUM)?)?;
    let checksum = checksum.strip_prefix(CHECKSUM)?.trim_end();
    if u32::from_str_radix(checksum, 16).ok()? != crc32c::crc32c(ranges.as_bytes()) {
        return None;
    }
    let mut listed = BTreeSet::new();
    for range in ranges.lines() {
        let (first, last) = range.split_once('-')?;
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        listed.extend(first..=last);
    }
    Some(listed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::btree_set;
    use proptest::prelude::proptest;
    use proptest::prop_assert_eq;

    use super::{decode, encode};

    #[test]
    fn a_list_is_written_as_ranges() {
        let text = encode(&BTreeSet::from([1, 2, 3, 5, 9, 10]));
        assert!(text.starts_with("1-3\n5-5\n9-10\ncrc32c "), "{text}");
        assert_eq!(decode(&encode(&BTreeSet::new())), Some(BTreeSet::new()));
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_list_reads_back_and_no_other_byte_is_taken_for_it(
            listed in btree_set(1..60_u64, 0..30),
            place: proptest::sample::Index,
            flipped in 0..7_u8,
        ) {
            let text = encode(&listed);
            prop_assert_eq!(decode(&text), Some(listed.clone()));
            let mut bytes = text.into_bytes();
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << flipped;
            let read = String::from_utf8(bytes).ok().and_then(|text| decode(&text));
            assert!(read.is_none() || read == Some(listed));
        }
    }
}

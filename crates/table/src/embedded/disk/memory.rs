//! Segments in memory, for houses that keep nothing and for tests that break things.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Disk, Segment};

/// What a disk writes whole.
const SECTOR_BYTES: usize = 512;

/// A disk that lives and ends with the process. Clones share their contents, so that a house can
/// be opened again on the disk that an earlier one left.
#[derive(Clone, Default)]
pub struct MemoryDisk {
    contents: Arc<Mutex<Contents>>,
    breakable: bool,
}

#[derive(Default)]
struct Contents {
    segments: BTreeMap<String, Arc<Mutex<Vec<u8>>>>,
    /// What has been written since the last sync, oldest first: power loss forgets it.
    unsynced: Vec<Unsynced>,
    manifest: Option<Vec<u8>>,
    faults: Faults,
}

struct Unsynced {
    segment: Arc<Mutex<Vec<u8>>>,
    offset: usize,
    before: Vec<u8>,
}

/// What goes wrong from now on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Every write fails.
    pub writes_fail: bool,
    /// Every sync fails.
    pub syncs_fail: bool,
    /// There is no room for another segment.
    pub full: bool,
    /// The process has no file descriptor left.
    pub no_descriptors: bool,
}

impl Faults {
    /// Nothing.
    pub const NONE: Faults =
        Faults { writes_fail: false, syncs_fail: false, full: false, no_descriptors: false };

    /// Whether a file can be made.
    fn check_creation(self) -> io::Result<()> {
        match self {
            Faults { full: true, .. } => Err(io::ErrorKind::StorageFull.into()),
            Faults { no_descriptors: true, .. } => Err(io::Error::from_raw_os_error(libc::EMFILE)),
            _ => Ok(()),
        }
    }
}

impl MemoryDisk {
    /// A disk that remembers what was synced, and so can lose power and fail.
    pub fn breakable() -> MemoryDisk {
        MemoryDisk { breakable: true, ..MemoryDisk::default() }
    }

    /// From now on, this goes wrong.
    pub fn inject(&self, faults: Faults) {
        self.contents.lock().faults = faults;
    }

    /// A disk that does not answer: nothing is read, written or synced while the answer lives.
    #[must_use]
    pub fn stall(&self) -> impl Sized + '_ {
        self.contents.lock()
    }

    /// Power loss: of the writes since the last sync, `keep` says for each piece of 512 bytes
    /// whether it had reached the platter.
    pub fn lose_power(&self, mut keep: impl FnMut() -> bool) {
        let mut contents = self.contents.lock();
        let mut kept: HashMap<(usize, usize), bool> = HashMap::new();
        for lost in std::mem::take(&mut contents.unsynced).into_iter().rev() {
            let segment = Arc::as_ptr(&lost.segment).addr();
            let mut held = lost.segment.lock();
            let (mut start, mut before) = (lost.offset, lost.before.as_slice());
            while !before.is_empty() {
                let sector = start / SECTOR_BYTES;
                let length = ((sector + 1) * SECTOR_BYTES - start).min(before.len());
                let (piece, behind) = before.split_at(length);
                let arrived = *kept.entry((segment, sector)).or_insert_with(&mut keep);
                if let Some(place) = held.get_mut(start..start + length)
                    && !arrived
                {
                    place.copy_from_slice(piece);
                }
                (start, before) = (start + length, behind);
            }
        }
        contents.faults = Faults::default();
    }

    /// The disk of a house that was killed now: the same bytes, and nothing in common with this
    /// one from here on. What was written without a sync is there; power was not lost.
    #[must_use]
    pub fn copy(&self) -> MemoryDisk {
        let contents = self.contents.lock();
        let copied = contents.segments.iter().map(|(name, bytes)| {
            let bytes = bytes.lock().clone();
            (name.clone(), Arc::new(Mutex::new(bytes)))
        });
        let manifest = contents.manifest.clone();
        let copied = Contents { segments: copied.collect(), manifest, ..Contents::default() };
        MemoryDisk { contents: Arc::new(Mutex::new(copied)), breakable: self.breakable }
    }

    /// Flips one bit (0 to 7) of one byte of a segment; says whether there is such a byte.
    pub fn flip(&self, segment: &str, offset: usize, bit: u8) -> bool {
        let contents = self.contents.lock();
        let Some(bytes) = contents.segments.get(segment) else { return false };
        bytes.lock().get_mut(offset).map(|byte| *byte ^= 1 << (bit % 8)).is_some()
    }

    /// Cuts a segment to `bytes`.
    pub fn cut(&self, segment: &str, bytes: usize) {
        if let Some(held) = self.contents.lock().segments.get(segment) {
            held.lock().truncate(bytes);
        }
    }

    /// The names of all segments, sorted.
    pub fn segments(&self) -> Vec<String> {
        self.contents.lock().segments.keys().cloned().collect()
    }
}

impl Disk for MemoryDisk {
    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn Segment>> {
        let mut contents = self.contents.lock();
        contents.faults.check_creation()?;
        if contents.segments.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let length = usize::try_from(bytes).map_err(io::Error::other)?;
        let bytes = Arc::new(Mutex::new(vec![0; length]));
        contents.segments.insert(name.to_owned(), Arc::clone(&bytes));
        Ok(Arc::new(MemorySegment { disk: self.clone(), bytes }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Segment>> {
        let contents = self.contents.lock();
        let bytes = contents.segments.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(MemorySegment { disk: self.clone(), bytes: Arc::clone(bytes) }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.segments())
    }

    fn is_all_there_is(&self) -> bool {
        self.breakable
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let removed = self.contents.lock().segments.remove(name);
        removed.map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn read_manifest(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.contents.lock().manifest.clone())
    }

    fn write_manifest(&self, bytes: &[u8]) -> io::Result<()> {
        let mut contents = self.contents.lock();
        contents.faults.check_creation()?;
        contents.manifest = Some(bytes.to_vec());
        Ok(())
    }
}

struct MemorySegment {
    disk: MemoryDisk,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Segment for MemorySegment {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut contents = self.disk.contents.lock();
        if contents.faults.writes_fail {
            return Err(io::Error::other("injected write failure"));
        }
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let mut held = self.bytes.lock();
        let end = offset + bytes.len();
        if held.len() < end {
            held.resize(end, 0);
        }
        let target = held.get_mut(offset..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        if self.disk.breakable {
            let before = target.to_vec();
            contents.unsynced.push(Unsynced { segment: Arc::clone(&self.bytes), offset, before });
        }
        target.copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut contents = self.disk.contents.lock();
        if contents.faults.syncs_fail {
            return Err(io::Error::other("injected sync failure"));
        }
        contents.unsynced.clear();
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let held = self.bytes.lock();
        let source = held.get(offset..offset + buffer.len());
        buffer.copy_from_slice(source.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().len() as u64)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.bytes.lock().truncate(usize::try_from(bytes).map_err(io::Error::other)?);
        Ok(())
    }
}

//! Segments as files of one directory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Disk, Segment};

/// Zeros are written and synced in pieces of this size, so that preparing a segment never holds
/// up the sync of the one in use for long.
const ZERO_CHUNK_BYTES: usize = 1024 * 1024;

/// A directory of segments.
pub(crate) struct Files {
    directory: PathBuf,
}

impl Files {
    /// The segments in `directory`, which is made if missing.
    pub(crate) fn open(directory: &Path) -> io::Result<Files> {
        fs::create_dir_all(directory)?;
        Ok(Files { directory: directory.to_owned() })
    }
}

impl Disk for Files {
    /// Blocks are written, not only reserved: an overwrite of written blocks changes no metadata,
    /// so that each later sync is one trip to the device instead of a journal commit.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn Segment>> {
        let path = self.directory.join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let filled = fill_with_zeros(&file, bytes).and_then(|()| sync_directory(&self.directory));
        if let Err(error) = filled {
            // Half a segment must not look like a segment at the next start.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(Arc::new(SegmentFile { file }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Segment>> {
        let file = OpenOptions::new().read(true).write(true).open(self.directory.join(name))?;
        Ok(Arc::new(SegmentFile { file }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn is_all_there_is(&self) -> bool {
        false
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))?;
        sync_directory(&self.directory)
    }
}

/// Makes new and removed names of a directory outlive power loss.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn fill_with_zeros(file: &File, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; ZERO_CHUNK_BYTES];
    let mut offset = 0;
    while offset < bytes {
        let chunk = usize::try_from(bytes - offset).unwrap_or(usize::MAX).min(ZERO_CHUNK_BYTES);
        file.write_all_at(zeros.get(..chunk).unwrap_or(&zeros), offset)?;
        file.sync_data()?;
        offset += chunk as u64;
    }
    file.sync_all()
}

struct SegmentFile {
    file: File,
}

impl Segment for SegmentFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }
}

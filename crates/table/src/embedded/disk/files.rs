//! Segments as files of one directory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::gently::{self, Urgency};
use super::reserve::Reserve;
use super::{Disk, Segment};
use crate::embedded::directory::write_whole;
use crate::embedded::log::MANIFEST_FILE;
use crate::embedded::private;
use crate::embedded::progress::Progress;

/// A directory of segments, and the list of them beside it.
pub(crate) struct Files {
    directory: PathBuf,
    manifest: PathBuf,
    /// The directory, opened ahead: making a segment must not fail for want of descriptors.
    reserve: Reserve,
    progress: Progress,
}

impl Files {
    /// The segments in `directory`, which is made if missing.
    pub(crate) fn open(directory: &Path) -> io::Result<Files> {
        private::create_directory(directory)?;
        let reserve = Reserve::of(directory)?;
        let manifest = directory.with_file_name(MANIFEST_FILE);
        Ok(Files { directory: directory.to_owned(), manifest, reserve, progress: Progress::new() })
    }

    /// The same, for somebody who wants to know how far reading them has come.
    pub(crate) fn followed_by(self, progress: &Progress) -> Files {
        Files { progress: progress.clone(), ..self }
    }
}

impl Disk for Files {
    /// Blocks are written, not only reserved: an overwrite of written blocks changes no metadata,
    /// so that each later sync is one trip to the device instead of a journal commit.
    ///
    /// The segment gets its name when it is whole: half of one, left by a killed process, must not
    /// look like a segment that has lost its end.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn Segment>> {
        let (path, half) = (self.directory.join(name), self.directory.join(format!("{name}.new")));
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = self.reserve.spend(|| private::create(&half))?;
        let made = fill_with_zeros(&file, bytes)
            .and_then(|()| fs::rename(&half, &path))
            .and_then(|()| self.reserve.sync_directory());
        if let Err(error) = made {
            // Gives the space back. What cannot be removed is overwritten by the next try.
            let _ = fs::remove_file(&half);
            return Err(error);
        }
        Ok(Arc::new(SegmentFile { file }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Segment>> {
        let file = private::read_write().open(self.directory.join(name))?;
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

    fn progress(&self) -> Option<&Progress> {
        Some(&self.progress)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))?;
        self.reserve.sync_directory()
    }

    fn read_manifest(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(&self.manifest) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    fn write_manifest(&self, bytes: &[u8]) -> io::Result<()> {
        self.reserve.spend(|| write_whole(&self.manifest, bytes))
    }
}

/// Makes new and removed names of a directory outlive power loss.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn fill_with_zeros(file: &File, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; gently::SLICE_BYTES as usize];
    let mut offset = 0;
    while offset < bytes {
        let slice = gently::SLICE_BYTES.min(bytes - offset);
        file.write_all_at(zeros.get(..slice as usize).unwrap_or(&zeros), offset)?;
        gently::write_back(file, offset, offset + slice, || Urgency::Low)?;
        offset += slice;
    }
    file.sync_all()
}

/// Names that a file has. Nothing else is asked for: a file system that was asked for the time of the
/// last change makes the next write change the inode, and a sync of that takes half as long again.
#[cfg(target_os = "linux")]
fn links(file: &File) -> io::Result<u64> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let found = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::NLINK)?;
    Ok(found.stx_nlink.into())
}

#[cfg(not(target_os = "linux"))]
fn links(file: &File) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink())
}

struct SegmentFile {
    file: File,
}

impl Segment for SegmentFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// A file that has no name any more is gone with the process, synced or not.
    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        match links(&self.file)? {
            0 => Err(io::Error::other("the file was removed while it was written")),
            _ => Ok(()),
        }
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

#[cfg(test)]
mod tests {
    use super::{Disk, Files};
    use crate::embedded::log::segment_ordinals;

    #[test]
    fn what_an_interrupted_creation_left_is_no_segment_and_does_not_disturb_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::open(directory.path()).unwrap();
        std::fs::write(directory.path().join("0000000001.log.new"), b"half").unwrap();
        assert_eq!(segment_ordinals(&files).unwrap(), [0_u64; 0]);
        let segment = files.create("0000000001.log", 8192).unwrap();
        let mut bytes = vec![1; 8192];
        segment.read_at(&mut bytes, 0).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0));
        assert_eq!(files.list().unwrap(), ["0000000001.log"]);
        assert!(files.create("0000000001.log", 8192).is_err());
    }
}

//! File descriptors kept in reserve: connections may take all that the process has, and the store
//! must be able to open its next file all the same.
//!
//! Another thread may take the descriptor that was just given up, so there are several. When all
//! are gone, opening fails with an error that passes (`Error::Throttled`), and the next write tries
//! again.

use std::fs::File;
use std::io;
use std::path::Path;

use parking_lot::Mutex;

use crate::error::is_out_of_descriptors;

/// Spare descriptors: one for a segment, one for the list of segments, and as many again for what
/// others take meanwhile.
const SPARES: usize = 4;

/// An open directory, with spare descriptors.
pub(crate) struct Reserve {
    directory: File,
    spares: Mutex<Vec<File>>,
}

impl Reserve {
    /// Opens a directory and takes spare descriptors.
    pub(crate) fn of(directory: &Path) -> io::Result<Reserve> {
        let directory = File::open(directory)?;
        let spares = (0..SPARES).map(|_| directory.try_clone()).collect::<io::Result<_>>()?;
        Ok(Reserve { directory, spares: Mutex::new(spares) })
    }

    /// Makes new and removed names of the directory outlive power loss.
    pub(crate) fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    /// Does something that opens one file at a time. As long as there is no descriptor for it, gives
    /// up a spare one and does it again; then takes spare ones again, as far as there are any.
    pub(crate) fn spend<T>(&self, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let mut spares = self.spares.lock();
        let mut opened = open();
        while opened.as_ref().is_err_and(is_out_of_descriptors) && spares.pop().is_some() {
            opened = open();
        }
        while spares.len() < SPARES
            && let Ok(spare) = self.directory.try_clone()
        {
            spares.push(spare);
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;

    use super::{Reserve, SPARES};

    #[test]
    fn spare_descriptors_are_given_up_as_needed_and_taken_again() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::of(directory.path()).unwrap();
        for failures in 0..SPARES + 3 {
            let tries = Cell::new(0);
            let spent = reserve.spend(|| {
                tries.set(tries.get() + 1);
                match tries.get() > failures {
                    true => Ok(()),
                    false => Err(io::Error::from_raw_os_error(libc::EMFILE)),
                }
            });
            let expected = (failures <= SPARES, (failures + 1).min(SPARES + 1));
            assert_eq!((spent.is_ok(), tries.get()), expected);
            assert_eq!(reserve.spares.lock().len(), SPARES);
        }
        let other = reserve.spend(|| Err::<(), _>(io::Error::from_raw_os_error(libc::EIO)));
        assert_eq!(other.unwrap_err().raw_os_error(), Some(libc::EIO));
    }
}

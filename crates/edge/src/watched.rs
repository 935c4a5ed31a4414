//! A file that the settings name and that may change while the house is open: games, sources.
//!
//! It is compared by what it holds, not by its time: a file that is written twice within a moment,
//! or put in place by a rename, is seen all the same.

use std::path::PathBuf;

/// A file that is read again when it has changed.
#[derive(Debug)]
pub struct WatchedFile {
    path: PathBuf,
    bytes_max: u64,
    /// What it held when it was looked at, or why it could not be read.
    seen: Option<Result<String, String>>,
}

impl WatchedFile {
    /// The file at this path, of at most so many bytes. It is not read yet.
    pub fn new(path: PathBuf, bytes_max: u64) -> WatchedFile {
        WatchedFile { path, bytes_max, seen: None }
    }

    /// What it holds, or why it cannot be read, if that is not what it was when this was last
    /// called. The first call always answers.
    pub fn look(&mut self) -> Option<&Result<String, String>> {
        let found = self.read();
        if self.seen.as_ref() == Some(&found) {
            return None;
        }
        Some(self.seen.insert(found))
    }

    fn read(&self) -> Result<String, String> {
        let bytes = std::fs::metadata(&self.path).map_err(|error| error.to_string())?.len();
        if bytes > self.bytes_max {
            let max = self.bytes_max;
            return Err(format!("the file has {bytes} bytes, at most {max} allowed"));
        }
        std::fs::read_to_string(&self.path).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::WatchedFile;

    #[test]
    fn a_file_tells_what_it_holds_once_for_each_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.json");
        let mut file = WatchedFile::new(path.clone(), 4);
        assert!(file.look().unwrap().is_err(), "it is not there");
        assert_eq!(file.look(), None);
        for text in ["[]", "[1]", "[2]"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(file.look(), Some(&Ok(text.to_owned())));
            assert_eq!(file.look(), None);
        }
        std::fs::write(&path, "[100]").unwrap();
        let told = "the file has 5 bytes, at most 4 allowed".to_owned();
        assert_eq!(file.look(), Some(&Err(told)));
        assert_eq!(file.look(), None);
    }
}

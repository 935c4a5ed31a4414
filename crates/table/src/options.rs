//! Where and how the embedded engine keeps its data.

use std::path::PathBuf;

base::options! {
    /// Where and how the house keeps its data.
    pub struct Options in "store" {
        /// The directory that holds everything. Made if it is not there.
        pub path: PathBuf = PathBuf::from("nagaya-data");
    }
}

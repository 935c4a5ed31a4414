//! What keeps the data, and where and how the embedded engine does.

use std::path::PathBuf;

const MIB: u64 = 1024 * 1024;

base::choice! {
    /// What keeps the house's data.
    pub enum Backend {
        /// The engine of its own, in a directory.
        Embedded = "embedded",
        /// DynamoDB, for several instances of the house.
        DynamoDb = "dynamodb",
    }
}

base::options! {
    /// Where and how the house keeps its data. What follows `backend` is about the embedded store;
    /// DynamoDB has its settings under `aws`.
    pub struct Options in "store" {
        /// What keeps the data: `embedded` for a directory of its own, `dynamodb` for DynamoDB.
        pub backend: Backend = Backend::Embedded;
        /// The directory that holds everything. Made if it is not there.
        pub path: PathBuf = PathBuf::from("nagaya-data");
        /// Memory for changes that are not settled into the tree yet, in MiB. More memory means
        /// fewer and larger settling rounds; when it is full, writers wait.
        pub memory_mib: u64 = 256, 1..=65_536;
        /// How many days the change log is kept: how far back a restore can go.
        pub history_days: u64 = 35, 1..=3650;
        /// How much disk the kept change log may take, in GiB. When it is more, the oldest goes.
        pub history_gib: u64 = 32, 1..=65_536;
        /// How many days a backup is kept. The house removes older ones by itself, but never the
        /// newest. 0 keeps all of them.
        pub backup_days: u64 = 90, 0..=36_500;
        /// Hours between two checkpoints. A restore replays the log from the checkpoint before.
        pub checkpoint_hours: u64 = 24, 1..=8760;
        /// Size of one segment of the log in MiB.
        pub segment_mib: u64 = 16, 1..=1024;
    }
}

impl Options {
    /// Segments that a house in memory keeps for those who follow its log.
    pub(crate) const MEMORY_SEGMENTS_KEPT: usize = 16;

    /// For a house in memory: little history, small segments.
    pub(crate) fn in_memory() -> Options {
        Options { memory_mib: 64, history_days: 1, segment_mib: 1, ..Options::default() }
    }

    /// Memtables that make up the memory: one takes changes, the others are full. Some of them are
    /// settled in one round while the rest fills up.
    pub(crate) const MEMTABLES: usize = 8;

    /// Bytes of one memtable.
    pub(crate) fn memtable_bytes(&self) -> usize {
        usize::try_from(self.memory_mib * MIB).unwrap_or(usize::MAX) / Options::MEMTABLES
    }

    /// Bytes that the kept log may take.
    pub(crate) fn history_bytes(&self) -> u64 {
        self.history_gib * 1024 * MIB
    }

    /// Bytes of one log segment.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_mib * MIB
    }
}

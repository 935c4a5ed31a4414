//! What an operator may set.

/// Settings of the embedded engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Memory for changes that are not settled yet, in MiB. More memory, fewer and larger
    /// settling rounds; when it is full, writers wait.
    pub memory_mib: u64,
    /// How many days the change log is kept: how far back a restore can go.
    pub history_days: u64,
    /// How much disk the kept log may take, in GiB; when it is more, the oldest goes first.
    pub history_gib: u64,
    /// Hours between two checkpoints. A restore replays the log from the checkpoint before.
    pub checkpoint_hours: u64,
    /// Size of one log segment in MiB.
    pub segment_mib: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_mib: 256,
            history_days: 35,
            history_gib: 32,
            checkpoint_hours: 24,
            segment_mib: 16,
        }
    }
}

impl Options {
    /// For a house in memory: little history, small segments.
    pub(crate) fn in_memory() -> Options {
        Options {
            memory_mib: 64,
            history_days: 1,
            history_gib: 0,
            checkpoint_hours: 24,
            segment_mib: 1,
        }
    }

    /// Segments that a house in memory keeps for those who follow its log.
    pub(crate) const MEMORY_SEGMENTS_KEPT: usize = 16;

    /// One active and three frozen memtables make up the memory.
    pub(crate) fn memtable_bytes(&self) -> usize {
        usize::try_from(self.memory_mib * 1024 * 1024 / 4).unwrap_or(usize::MAX)
    }

    /// Bytes that the kept log may take.
    pub(crate) fn history_bytes(&self) -> u64 {
        self.history_gib * 1024 * 1024 * 1024
    }

    /// Bytes of one log segment.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_mib * 1024 * 1024
    }
}

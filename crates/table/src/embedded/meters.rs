//! What the store tells about itself. Names begin with `nagaya_store_`.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};

/// Handles to the store's metrics, looked up once.
#[derive(Clone)]
pub(crate) struct Meters {
    commit_seconds: Histogram,
    batch_records: Histogram,
    committed: Counter,
    /// Writers that had to wait for the settler.
    pub(crate) writers_held: Counter,
    /// Rows moved into the tree.
    pub(crate) settled_rows: Counter,
    /// How long a settling round took.
    pub(crate) settle_seconds: Histogram,
    /// Rows that came and went before they were settled.
    pub(crate) never_settled_rows: Counter,
    /// Items removed because their time was up.
    pub(crate) expired: Counter,
    /// Reads answered from memory.
    pub(crate) memory_hits: Counter,
    /// Reads answered from the tree.
    pub(crate) tree_hits: Counter,
    /// Bytes in memtables.
    pub(crate) memory_bytes: Gauge,
    /// Memtables that wait for the settler.
    pub(crate) frozen: Gauge,
    /// Bytes of the tree's file.
    pub(crate) tree_bytes: Gauge,
    /// Bytes of it that hold something.
    pub(crate) tree_used_bytes: Gauge,
    /// Bytes of the log, archive included.
    pub(crate) log_bytes: Gauge,
    /// 1 while writes are taken, 0 after a failed sync.
    pub(crate) writable: Gauge,
}

impl Meters {
    /// Registers the metrics with the process's recorder.
    pub(crate) fn register() -> Meters {
        describe();
        Meters {
            commit_seconds: metrics::histogram!("nagaya_store_commit_seconds"),
            batch_records: metrics::histogram!("nagaya_store_batch_records"),
            committed: metrics::counter!("nagaya_store_committed_total"),
            writers_held: metrics::counter!("nagaya_store_writers_held_total"),
            settled_rows: metrics::counter!("nagaya_store_settled_rows_total"),
            settle_seconds: metrics::histogram!("nagaya_store_settle_seconds"),
            never_settled_rows: metrics::counter!("nagaya_store_never_settled_rows_total"),
            expired: metrics::counter!("nagaya_store_expired_total"),
            memory_hits: metrics::counter!("nagaya_store_reads_total", "from" => "memory"),
            tree_hits: metrics::counter!("nagaya_store_reads_total", "from" => "tree"),
            memory_bytes: metrics::gauge!("nagaya_store_memory_bytes"),
            frozen: metrics::gauge!("nagaya_store_frozen_memtables"),
            tree_bytes: metrics::gauge!("nagaya_store_tree_bytes"),
            tree_used_bytes: metrics::gauge!("nagaya_store_tree_used_bytes"),
            log_bytes: metrics::gauge!("nagaya_store_log_bytes"),
            writable: metrics::gauge!("nagaya_store_writable"),
        }
    }

    /// One group commit of `records` took `time`.
    pub(crate) fn committed(&self, records: u32, time: Duration) {
        self.commit_seconds.record(time.as_secs_f64());
        self.batch_records.record(f64::from(records));
        self.committed.increment(u64::from(records));
    }
}

fn describe() {
    metrics::describe_histogram!("nagaya_store_commit_seconds", "time to write and sync one batch");
    metrics::describe_histogram!("nagaya_store_batch_records", "transactions in one batch");
    metrics::describe_counter!("nagaya_store_committed_total", "durable transactions");
    metrics::describe_counter!(
        "nagaya_store_writers_held_total",
        "writers held back by a full memory"
    );
    metrics::describe_counter!("nagaya_store_settled_rows_total", "rows moved into the tree");
    metrics::describe_histogram!("nagaya_store_settle_seconds", "time of one settling round");
    metrics::describe_counter!(
        "nagaya_store_never_settled_rows_total",
        "rows gone before they were settled"
    );
    metrics::describe_counter!("nagaya_store_expired_total", "items removed at their expiry");
    metrics::describe_counter!(
        "nagaya_store_reads_total",
        "single reads, by where the row was found"
    );
    metrics::describe_gauge!("nagaya_store_memory_bytes", "bytes of versions not settled yet");
    metrics::describe_gauge!(
        "nagaya_store_frozen_memtables",
        "memtables that wait for the settler"
    );
    metrics::describe_gauge!("nagaya_store_tree_bytes", "bytes of the settled store");
    metrics::describe_gauge!("nagaya_store_tree_used_bytes", "bytes of the settled store in use");
    metrics::describe_gauge!("nagaya_store_log_bytes", "bytes of the log with its archive");
    metrics::describe_gauge!("nagaya_store_writable", "1 while writes are taken");
}

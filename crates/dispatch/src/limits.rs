//! The limits of dispatch, each with its reason.

use std::time::Duration;

/// Parts of a queue, each a partition of the table. A partition of DynamoDB accepts about a
/// thousand writes a second; instances divide a queue by its shards. Fixed, because a change of
/// this number would hide the messages of other shards.
pub const SHARDS: u8 = 8;
/// The body of a message. Larger content belongs into a table, with its key in the message. Ten
/// bodies of this size must fit into one transaction.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// The name of a queue, consumer, job or lease: it is part of keys and of metrics.
pub const NAME_BYTES_MAX: usize = 64;
/// The last possible due time: fifteen digits, so that keys sort as times.
pub const DUE_MS_MAX: u64 = 999_999_999_999_999;
/// Messages per receive call: as many as one transaction can lease.
pub const RECEIVE_MAX: usize = table::limits::TRANSACT_MAX;
/// Consumers of the bus. One transaction copies a fact to all of them and deletes it from the
/// outbox, and should have room for a few more facts.
pub const CONSUMERS_MAX: usize = 48;
/// Writes of one effect: one transaction less our own writes, which are a mark and a message, or a
/// lease, a job and a run.
pub const EFFECT_WRITES_MAX: usize = table::limits::TRANSACT_MAX - 3;
/// How long a consumer remembers a handled fact. A fact sent again after this time is handled
/// again.
pub const MARK_DAYS: u64 = 35;
/// Recorded runs of a job: one hour of a job that runs every minute.
pub const RUNS_KEPT: u64 = 60;

/// Messages of one queue in the ready list of an instance. The rest stays in the table and is
/// loaded when half of these are gone.
pub(crate) const READY_LIST_MAX: usize = 50_000;
/// The total size of their bodies.
pub(crate) const READY_LIST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How far ahead messages are loaded: twice the time to the next load.
pub(crate) const HORIZON: Duration = Duration::from_secs(120);
/// How often an instance reads its shards of a queue as a whole, and counts the messages.
pub(crate) const REFRESH: Duration = Duration::from_secs(60);
/// How often an instance looks for messages of other instances: the delay of a message between
/// instances.
pub(crate) const POLL: Duration = Duration::from_secs(1);
/// Messages counted per shard; a deeper queue is reported as "at least".
pub(crate) const COUNTED_MAX: usize = 10_000;
/// Rows per page of a query.
pub(crate) const PAGE_ROWS: u32 = 1_000;

/// The interval of an instance's heartbeat.
pub(crate) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);
/// An instance without a heartbeat for this time counts as dead. Three intervals, so that a slow
/// one survives; less than a usual visibility timeout, so that messages in its shards wait no
/// longer than messages it held.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(15);
/// Peer instances remove the entry of a dead instance after this time: longer than any clock
/// error.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// Concurrent transactions of one instance while few groups wait: some wait for the disk while
/// others are decided.
pub(crate) const TRANSACTIONS_FEW: usize = 4;
/// Concurrent transactions while whole transactions wait: on a slow disk, one sync then covers all
/// of them.
pub(crate) const TRANSACTIONS_MAX: usize = 16;
/// The size of the writes in one batched transaction. The store allows 4 MiB, and rows are larger
/// than their bodies.
pub(crate) const TRANSACTION_BYTES_MAX: usize = 3 * 1024 * 1024;

/// The lease of a run. The death of an instance during a run is noticed after this time.
pub(crate) const RUN_LEASE: Duration = Duration::from_secs(30);
/// How often a job looks for commands from other instances: pause, resume, run now.
pub(crate) const JOB_POLL: Duration = Duration::from_secs(5);
/// A tick that is late by more counts as missed: the server was down or busy.
pub(crate) const MISFIRE_GRACE: Duration = Duration::from_secs(10);
/// The shortest interval of a job: a tick costs two durable writes.
pub const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// The pause after a failure of the store.
pub(crate) const TROUBLE_PAUSE: Duration = Duration::from_secs(1);

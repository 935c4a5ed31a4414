//! Every number that bounds what is dispatched, each with its reason.

use std::time::Duration;

/// Parts of a queue, each a partition of the table. A partition of DynamoDB takes about a
/// thousand writes a second; instances share a queue by sharing its parts. Fixed, because a
/// message would not be found under another number.
pub const SHARDS: u8 = 8;
/// A message's body. What is larger belongs into a table, with its key in the message; also, ten
/// of these must fit into one transaction.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// Name of a queue, consumer, job or lease: it stands in keys and in metrics.
pub const NAME_BYTES_MAX: usize = 64;
/// The last millisecond for which a message can wait: fifteen digits, so that keys sort as times.
pub const DUE_MS_MAX: u64 = 999_999_999_999_999;
/// Messages that one call receives: as many as one transaction leases.
pub const RECEIVE_MAX: usize = table::limits::TRANSACT_MAX;
/// Consumers of the bus. A fact goes to all of them in one transaction with its leaving the
/// outbox, and some more facts should fit beside it.
pub const CONSUMERS_MAX: usize = 48;
/// Writes that an effect may have: one transaction, less what goes with it: a mark and a message,
/// or a lease, a job and a run.
pub const EFFECT_WRITES_MAX: usize = table::limits::TRANSACT_MAX - 3;
/// How long a consumer remembers what it has done. A fact that is told again later than this is
/// done again.
pub const MARK_DAYS: u64 = 35;
/// Runs of a job that are remembered: an hour of a job that runs every minute.
pub const RUNS_KEPT: u64 = 60;

/// Messages of one queue that an instance keeps ready in memory. The rest waits in the table and
/// is loaded when half of these are gone.
pub(crate) const KNOWN_MAX: usize = 50_000;
/// What their bodies may weigh.
pub(crate) const KNOWN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How far ahead messages are loaded: twice the time to the next loading.
pub(crate) const HORIZON: Duration = Duration::from_secs(120);
/// How often an instance reads its parts of a queue as a whole, and counts what is in them.
pub(crate) const REFRESH: Duration = Duration::from_secs(60);
/// How often it looks for what others put there: the lateness of a message between instances.
pub(crate) const POLL: Duration = Duration::from_secs(1);
/// Messages that are counted in one part of a queue; beyond it the depth says "at least".
pub(crate) const COUNTED_MAX: usize = 10_000;
/// Rows in one page of a reading.
pub(crate) const PAGE_ROWS: u32 = 1_000;

/// How often an instance says that it lives.
pub(crate) const BEAT: Duration = Duration::from_secs(5);
/// After how long it is taken for dead: three beats, so that a slow one is not, and less than a
/// usual visibility timeout, so that what it watched waits no longer than what it held.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);
/// After how long others remove what it left: long enough that nobody's clock is that wrong.
pub(crate) const BURIAL: Duration = Duration::from_secs(3600);

/// Transactions that are under way at once from one instance, however little waits: some wait for
/// the disk while others are decided.
pub(crate) const FLIGHTS_FEW: usize = 4;
/// Transactions that are under way at once when whole ones wait: a slow disk is to be told of all
/// of them in one sync.
pub(crate) const FLIGHTS_MAX: usize = 16;
/// What the writes of one gathered transaction may weigh; the store takes 4 MiB, and rows weigh
/// more than their bodies.
pub(crate) const FLIGHT_BYTES_MAX: usize = 3 * 1024 * 1024;

/// The lease of a run. A house that dies in a run is noticed after this.
pub(crate) const RUN_LEASE: Duration = Duration::from_secs(30);
/// How often a job is looked at for what other instances did to it: pause, resume, run now.
pub(crate) const JOB_POLL: Duration = Duration::from_secs(5);
/// A tick that is late by more was missed: the house was down or busy.
pub(crate) const MISFIRE_GRACE: Duration = Duration::from_secs(10);
/// The shortest interval of a job: a tick costs two durable writes.
pub const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// The pause after the store refused something, before it is asked again.
pub(crate) const TROUBLE_PAUSE: Duration = Duration::from_secs(1);

//! The limits of the hub. A room sets the limits of a channel's history when it opens the channel;
//! the code that runs a connection sets the limits of its reader's queue.

use std::time::Duration;

use crate::queue::QueueLimits;

/// Topics are spread over this many maps, each with its own lock, so that lookups rarely wait for
/// each other.
pub(crate) const SHARDS: usize = 64;

/// Members in one slice of a delivery. The publisher itself delivers to a topic up to this size; a
/// task delivers to a larger one and yields after each slice, which is about 20 µs of work.
pub const SLICE: usize = 128;

/// How often a publisher delivers pushes that others published to its topic meanwhile, before it
/// leaves the rest to a task. Without a limit, busy topics could hold up one publisher without end.
pub(crate) const ROUNDS_MAX: usize = 4;

/// Pushes of one topic that wait for delivery. Past this number the oldest are dropped from the
/// wait list: history still has them, and every member notices by their serials.
pub const PENDING_MAX: usize = 4_096;

/// How long history waits for a reader that drains, which means that it has looked at its queue
/// within this time. Such a reader misses pushes only because its task had no turn to run, and
/// those delays are far shorter. Older pushes follow the room's history settings.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// Bytes of one topic that history keeps for such readers in addition to the room's settings. A
/// flood of 200-byte pushes on one core makes some 20 MiB a second; a reader that lags this far
/// shares its thread with a hundred publishers or does not drain.
pub(crate) const HELD_BYTES: usize = 8 * 1024 * 1024;

/// Pushes of one topic that history keeps for them: short pushes cost more than their bytes.
pub(crate) const HELD_PUSHES: usize = 65_536;

/// Topics of one subscriber. AppSync allows 100 per connection, the highest number that a room
/// needs.
pub const SUBSCRIPTIONS_MAX: usize = 128;

/// The length of a topic's name in bytes.
pub const TOPIC_BYTES_MAX: usize = 1_024;

/// How often expired history and unused topics are removed.
pub(crate) const SWEEP: Duration = Duration::from_secs(5);

/// Pushes per refill of a lagging subscription, so that one reader's long gap does not hold the
/// topic's lock for long.
pub(crate) const REFILL_PUSHES: usize = 256;

/// News of one room that wait for a listener. Past this number the oldest are dropped and the
/// listener reloads, which costs more than a few thousand news items.
pub(crate) const NEWS_QUEUE: QueueLimits = QueueLimits { pushes: 10_000, bytes: 16 * 1024 * 1024 };

/// The size of news that is taken at once.
pub(crate) const NEWS_BYTES: usize = 64 * 1024;

/// Events kept for a slow listener: a moment of a busy server.
pub(crate) const LISTENER_EVENTS_MAX: usize = 1_024;

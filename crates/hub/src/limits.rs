//! Every number that bounds the hub. What bounds one channel's history is said by the room that
//! opens the channel; what bounds one reader's queue by whoever runs its connection.

use std::time::Duration;

use crate::queue::QueueLimits;

/// Topics are spread over this many maps, each with a lock of its own, so that looking one up
/// rarely meets another lookup.
pub(crate) const SHARDS: usize = 64;

/// Members that are served in one go. A topic up to this size is served by its publisher, at
/// once; a larger one by a task that lets others run after each slice: about 20 µs of work.
pub const SLICE: usize = 128;

/// How often a publisher serves what others published to its topic meanwhile, before it leaves
/// the rest to a task: nobody may be kept serving for ever.
pub(crate) const ROUNDS_MAX: usize = 4;

/// Pushes of one topic that wait for members to be served. Past it the oldest are let go: history
/// has them, and every member finds out by their numbers.
pub const PENDING_MAX: usize = 4_096;

/// How long history waits for a reader that drains: one that has looked at its queue within this
/// time. Such a reader misses pushes only because it had no turn, on a thread or on a processor,
/// and those delays are far shorter. What is older is kept as the room says, whoever needs it.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// Bytes of one topic that history keeps for such readers, beyond what the room says. A flood of
/// 200 bytes a push on one core brings some 20 MiB in a second; a reader that is this far behind
/// shares its thread with a hundred publishers or does not drain.
pub(crate) const HELD_BYTES: usize = 8 * 1024 * 1024;

/// Pushes of one topic that history keeps for them: short ones cost more than their bytes.
pub(crate) const HELD_PUSHES: usize = 65_536;

/// Topics that one subscriber follows. AppSync's bound is 100 for one connection, the highest
/// that a room asks for.
pub const SUBSCRIPTIONS_MAX: usize = 128;

/// Bytes of one topic's name.
pub const TOPIC_BYTES_MAX: usize = 1_024;

/// How often history past its age, and topics that nobody needs, are looked for.
pub(crate) const SWEEP: Duration = Duration::from_secs(5);

/// Subscriptions that catch up are refilled with at most this much at a time, so that one
/// reader's long gap does not hold its topic's lock.
pub(crate) const REFILL_PUSHES: usize = 256;

/// News of one room that wait for a listener who does something about each. Past it the oldest are
/// left out and the listener looks for itself, which costs more than a few thousand words do.
pub(crate) const NEWS_WAITING: QueueLimits =
    QueueLimits { pushes: 10_000, bytes: 16 * 1024 * 1024 };

/// News that are taken at once.
pub(crate) const NEWS_BYTES: usize = 64 * 1024;

/// What is kept for somebody who listens along and is slow: a moment of a busy house.
pub(crate) const OVERHEARD_MAX: usize = 1_024;

//! The limits of the client.

use std::time::Duration;

/// Attempts of one call, including the first. With the pauses below they take about four seconds:
/// longer than a hot partition needs to split its load, shorter than a caller waits for a response.
pub(super) const ATTEMPTS_MAX: u32 = 8;
/// The longest first pause. Each later one may be twice as long.
pub(super) const PAUSE_FIRST: Duration = Duration::from_millis(25);
/// The longest pause of all.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The longest time for a connection: the SDK's own value.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_millis(3100);
/// The longest time for one attempt. A transaction of a hundred items takes tenths of a second; a
/// page of a megabyte over a slow line takes some seconds.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// How often a write deletes expired items in its way before it gives up. Each round needs another
/// item that expires between two calls.
pub(super) const EXPIRED_ROUNDS_MAX: u32 = 4;
/// How long a table may take to match its declaration. A new index is filled from existing items,
/// which takes minutes for gigabytes.
pub(super) const READY_WITHIN: Duration = Duration::from_secs(60 * 60);
/// The first pause between two looks at a table that is not ready; doubled up to
/// [`READY_LOOK_MAX`].
pub(super) const READY_LOOK: Duration = Duration::from_millis(100);
/// The longest pause between two looks.
pub(super) const READY_LOOK_MAX: Duration = Duration::from_secs(5);
/// Global secondary indexes of one table.
pub(super) const GLOBAL_INDEXES_MAX: usize = 20;
/// Local secondary indexes of one table.
pub(super) const LOCAL_INDEXES_MAX: usize = 5;
/// Idle connections kept for the next burst. DynamoDB speaks HTTP/1.1, so this is also the number
/// of calls of a burst that find a connection ready.
pub(super) const IDLE_CONNECTIONS_MAX: usize = 64;

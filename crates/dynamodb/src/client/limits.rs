//! Every number that bounds the client.

use std::time::Duration;

/// How often a call is sent, the first time included. With the pauses below this is about four
/// seconds of patience: longer than a hot partition needs to split its load, shorter than a caller
/// waits for an answer.
pub(super) const ATTEMPTS_MAX: u32 = 8;
/// The longest first pause. Each one after may be twice as long.
pub(super) const PAUSE_FIRST: Duration = Duration::from_millis(25);
/// No pause is longer.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(1);
/// A connection that is not there by then will not come: the SDK's own figure.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_millis(3100);
/// One attempt. A transaction of a hundred items takes tenths of a second; a page of a megabyte
/// over a slow line some seconds.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// How often a write clears expired items out of its way before it gives up. Each round needs
/// another item to expire between two calls.
pub(super) const BURIALS_MAX: u32 = 4;
/// How long a table may take to become what it was declared as. A new index is filled from what is
/// there, which takes minutes for gigabytes.
pub(super) const READY_WITHIN: Duration = Duration::from_secs(60 * 60);
/// Between two looks at a table that is not ready: the first pause, doubled up to [`READY_LOOK_MAX`].
pub(super) const READY_LOOK: Duration = Duration::from_millis(100);
/// The longest pause between two looks.
pub(super) const READY_LOOK_MAX: Duration = Duration::from_secs(5);
/// Global secondary indexes of one table.
pub(super) const GLOBAL_INDEXES_MAX: usize = 20;
/// Local secondary indexes of one table.
pub(super) const LOCAL_INDEXES_MAX: usize = 5;
/// Idle connections that are kept for the next burst. DynamoDB speaks HTTP/1.1, so this is also how
/// many calls of a burst find a connection ready.
pub(super) const IDLE_CONNECTIONS_MAX: usize = 64;

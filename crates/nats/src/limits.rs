//! Every number that bounds the carrier.

use std::time::Duration;

/// Pushes that may wait for the server: more than a busy house pushes in a second, so that a server
/// may start again without a loss.
pub(crate) const WAITING_MAX: usize = 16_384;
/// Their bytes.
pub(crate) const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Pushes that are sent before their acknowledgements are waited for.
pub(crate) const BATCH_MAX: usize = 256;
/// How long the server may take to acknowledge a batch, or to answer anything else.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// A connection that is not there by then is tried again.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// The longest wait between two tries to connect.
pub(crate) const CONNECT_AGAIN_MAX: Duration = Duration::from_secs(2);
/// How long a start waits for the server before it goes on without.
pub(crate) const START_WITHIN: Duration = Duration::from_secs(3);
/// Between two tries to read the stream, or to say that something was lost. Tests do not wait so long.
pub(crate) const TRY_AGAIN: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 500 });
/// How long the stream keeps a push: an instance that is cut off for less misses nothing.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(10 * 60);
/// What the stream keeps, in bytes. Past it the oldest go first.
pub(crate) const KEPT_BYTES: i64 = 256 * 1024 * 1024;
/// Messages that are asked for at once: what waits in memory for the hub.
pub(crate) const READ_AHEAD: usize = 500;
/// How often a server with nothing to say shows that it is there. Twice as long without a sign and
/// reading begins again.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long one request for messages stands.
pub(crate) const REQUEST_FOR: Duration = Duration::from_secs(30);
/// When the server forgets a reader that is gone.
pub(crate) const READER_GONE: Duration = Duration::from_secs(60);
/// Bytes of the prefix: NATS has no bound, its file names do.
pub(crate) const PREFIX_BYTES_MAX: usize = 32;
/// Bytes of a server's greeting; a usual one has some hundred.
pub(crate) const GREETING_BYTES_MAX: u64 = 64 * 1024;

//! The limits of the carrier.

use std::time::Duration;

/// Pushes that wait for the server: more than a busy server pushes in a second, so that a restart
/// of NATS loses nothing.
pub(crate) const WAITING_MAX: usize = 16_384;
/// The size of these pushes in bytes.
pub(crate) const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Pushes that are sent before the first acknowledgement is awaited.
pub(crate) const BATCH_MAX: usize = 256;
/// How long NATS may take to acknowledge a batch, or to answer any other request.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long one attempt to connect may take.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// The longest wait between two attempts to connect.
pub(crate) const CONNECT_AGAIN_MAX: Duration = Duration::from_secs(2);
/// How long the start waits for NATS before it continues without it.
pub(crate) const START_WITHIN: Duration = Duration::from_secs(3);
/// The pause between two attempts to read the stream, or to report a loss. Tests wait less.
pub(crate) const TRY_AGAIN: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 500 });
/// How long the stream keeps a push: an instance that is disconnected for less misses nothing.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(10 * 60);
/// The size of the stream in bytes. Past it the oldest messages are removed first.
pub(crate) const KEPT_BYTES: i64 = 256 * 1024 * 1024;
/// Messages per request: they wait in memory for the hub.
pub(crate) const READ_AHEAD: usize = 500;
/// How often an idle server sends a heartbeat. Reading starts again after twice this time without
/// one.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long one request for messages stays open.
pub(crate) const REQUEST_FOR: Duration = Duration::from_secs(30);
/// When NATS removes a consumer whose instance is gone.
pub(crate) const READER_GONE: Duration = Duration::from_secs(60);
/// The length of the prefix. NATS has no limit, but its file names do.
pub(crate) const PREFIX_BYTES_MAX: usize = 32;
/// The size of a server's greeting; a usual one has some hundred bytes.
pub(crate) const GREETING_BYTES_MAX: u64 = 64 * 1024;

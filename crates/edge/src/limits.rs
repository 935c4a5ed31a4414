//! Every number that bounds the wire and is no setting, each with its reason.

pub(crate) mod guard;

use std::time::Duration;

/// Connections that the system completes before we accept them. A class or an audience that comes
/// back at once fits; systems cut it down to their own limit.
pub(crate) const BACKLOG: u32 = 4_096;

/// When who met a busy store shall ask again. The store has tried for a few seconds by then;
/// longer would leave it idle.
pub(crate) const STORE_BUSY_WAIT: Duration = Duration::from_secs(1);

/// When a caller who met a full disk shall ask again: somebody has to make room first.
pub(crate) const STORE_FULL_WAIT: Duration = Duration::from_secs(30);

/// When a caller who came during a start shall ask again: most starts take less.
pub(crate) const STARTING_WAIT: Duration = Duration::from_secs(1);

/// After a failed accept, mostly for want of file descriptors: long enough for some to be closed.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections beyond `http.connections_max` and beyond the bound of an address, on which only
/// health checks and the operator are answered. A supervisor needs one and a browser six.
pub(crate) const RESERVE_CONNECTIONS_MAX: usize = 64;

/// Of these, connections of one address: two browsers of the operator, and supervisors beside them.
pub(crate) const RESERVE_PER_ADDRESS_MAX: usize = 16;

/// In which a head must arrive there. Its callers send it at once.
pub(crate) const RESERVE_HEAD_TIME: Duration = Duration::from_secs(5);

/// In which a head that was begun must be whole once the drain begins. A client that is there sends
/// it at once; the drain would wait for the others until its end.
pub(crate) const DRAIN_HEAD_TIME: Duration = Duration::from_secs(5);

/// When a caller shall try again who was refused because others hold too much: most requests are
/// over by then.
pub(crate) const SCARCE_WAIT: Duration = Duration::from_secs(1);

/// Bytes of a stranger's body that are counted apart from the rest. A comment, a score or a sign-in
/// has no more, so large bodies never hold them back.
pub(crate) const FIRST_BYTES_MAX: usize = 4 * 1024;

/// Bytes that a frame of a body is counted for at least: what remembering it costs. Else a body of
/// frames of one byte would take many times the memory that it is counted for.
pub(crate) const FRAME_BYTES_MIN: usize = 64;

/// Bytes that an HTTP/2 peer may send before they are read, on one connection and on each of its
/// streams: the least that the protocol knows. They wait in memory before any handler asks for
/// them.
pub(crate) const HTTP2_UNREAD_BYTES_MAX: u32 = 65_535;

/// Requests at once on one HTTP/2 connection. A browser's page has fewer; with more, one
/// connection could occupy the house that its place among the connections was meant to bound.
pub(crate) const HTTP2_STREAMS_MAX: u32 = 128;

/// Bytes that wait for a slow reader of one HTTP/2 stream before its handler waits too.
pub(crate) const HTTP2_SEND_BYTES_MAX: usize = 64 * 1024;

/// Bytes of one HTTP/2 answer that are out at once: as many as the largest frame that every peer
/// takes. A peer that takes one byte at a time has the write time for each part.
pub(crate) const HTTP2_PART_BYTES_MAX: usize = 16 * 1024;

/// How often an HTTP/2 peer is asked whether it is there: well within the idle time of usual
/// proxies and address translators.
pub(crate) const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(20);

/// How long it has for the answer: a bad mobile network delays for seconds, not for this long.
pub(crate) const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(20);

/// How often the certificate's files are looked at. Renewals come weeks before they must, so this
/// is for the person who waits beside the server.
pub(crate) const TLS_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Below this many bytes an answer fits one packet anyway, and compressing only costs.
pub(crate) const COMPRESS_BYTES_MIN: u64 = 1_024;

/// Characters of a request id from outside: more than any usual form, and no room for a story.
pub(crate) const REQUEST_ID_CHARS_MAX: usize = 64;

/// Characters of a user agent in the access log: the longest real ones fit.
pub(crate) const USER_AGENT_CHARS_MAX: usize = 256;

/// How long a browser may remember a preflight's answer: browsers cut it to this or less.
pub(crate) const PREFLIGHT_AGE: Duration = Duration::from_secs(7_200);

/// Spans that wait for the collector. At a thousand requests a second it may be away for a few
/// seconds before spans are dropped, and counted.
pub(crate) const SPANS_QUEUED_MAX: usize = 4_096;

/// Spans in one message to the collector, some hundred kilobytes.
pub(crate) const SPANS_SENT_MAX: usize = 512;

/// How long spans gather before they are sent.
pub(crate) const SPANS_INTERVAL: Duration = Duration::from_secs(2);

/// How long the collector may take. Spans are not worth waiting for when the house closes.
pub(crate) const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(5);

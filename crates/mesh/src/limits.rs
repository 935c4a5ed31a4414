//! Every number that bounds the mesh.

use std::time::Duration;

/// Characters of a group, node or host id. Ids are part of keys, and a sort key holds 1 024 bytes:
/// 200 characters of any script fit with their prefix.
pub(crate) const ID_CHARACTERS_MAX: usize = 200;

/// Characters of a domain, by the seed.
pub(crate) const DOMAIN_CHARACTERS_MAX: usize = 256;

/// Characters of a group's name. It is part of an index key, with the group's id behind it.
pub(crate) const NAME_CHARACTERS_MAX: usize = 200;

/// Characters of the secret of a host: a node has thirty tries a second for the life of a group, and
/// of any sixteen letters nobody guesses one in that time.
pub(crate) const HOST_SECRET_CHARACTERS_MIN: usize = 16;

/// And at most so many, so that a digest costs little.
pub(crate) const HOST_SECRET_CHARACTERS_MAX: usize = 256;

/// Sensor variables of one node. A Scratch project has a few dozen; all of them are one item.
pub(crate) const SENSOR_KEYS_MAX: usize = 256;

/// Characters of a sensor variable's name.
pub(crate) const SENSOR_KEY_CHARACTERS_MAX: usize = 256;

/// Characters of a sensor variable's value.
pub(crate) const SENSOR_VALUE_CHARACTERS_MAX: usize = 4096;

/// Bytes of one node's merged status: below the 400 KB that an item may weigh, with room for the
/// times of its variables and its other attributes.
pub(crate) const STATUS_BYTES_MAX: usize = 380_000;

/// How long reports are gathered before they are saved. A value that was acknowledged is on the disk
/// within a second: this, and the time of the writes.
pub(crate) const GATHERED_FOR: Duration = Duration::from_millis(600);

/// How long this instance keeps reports in memory after they were saved here, or heard of from
/// another instance: longer than that one gathers, and than an index of DynamoDB lags behind.
pub(crate) const REPORTS_KEPT_FOR: Duration = Duration::from_secs(5);

/// Bytes of reports in memory. A class of forty has some dozen kilobytes; when many report a lot at
/// once, the next one waits until the others are saved.
pub(crate) const REPORTS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Statuses that are saved in one transaction, unless they weigh too much together.
pub(crate) const STATUSES_PER_WRITE: usize = 50;

/// Bytes of the statuses in one transaction: below the 4 MB that it may weigh, with room for the
/// other attributes.
pub(crate) const STATUS_BYTES_PER_WRITE: usize = 3_000_000;

/// Transactions of statuses that are under way at once: a thousand groups report within a second,
/// and writers that wait together share a sync.
pub(crate) const STATUS_WRITES_AT_ONCE: usize = 8;

/// Events in one call. Clients gather events for 50 ms; a thousand is far beyond what a project
/// fires in that time, and one push stays below [`PUSH_BYTES_MAX`].
pub(crate) const EVENTS_PER_CALL_MAX: usize = 1000;

/// Events written in one transaction: the batch size of the store that the seed was written for.
pub(crate) const EVENTS_PER_WRITE: usize = 25;

/// Characters of an event's name.
pub(crate) const EVENT_NAME_CHARACTERS_MAX: usize = 1000;

/// Bytes of one pushed message, which is what AppSync carries.
pub(crate) const PUSH_BYTES_MAX: usize = 240 * 1024;

/// Events that one read answers.
pub(crate) const EVENTS_PER_READ: usize = 100;

/// How far a read goes back whose `since` is still to come: the reader's clock is ahead. It asks every
/// two seconds with the same instant until it gets an event, and goes on from that event then; five
/// polls miss nothing, and bring back nothing that is long gone.
pub(crate) const FUTURE_SINCE_SECONDS: u64 = 10;

/// Characters of the prefix in a search by name.
pub(crate) const PREFIX_CHARACTERS_MAX: usize = 6;

/// Groups that a search answers.
pub(crate) const SEARCH_RESULTS_MAX: usize = 10;

/// A lease lasts this many heartbeat intervals, so that a few lost heartbeats do no harm.
pub(crate) const LEASE_INTERVALS: u64 = 5;

/// Seconds that items stay after their expiry, so that a late call is told what happened, and a
/// group just past its end can be dissolved. Nobody sees them as living.
pub(crate) const AFTERLIFE_SECONDS: u64 = 600;

/// Seconds between two polls of a member without WebSocket.
pub(crate) const POLLING_INTERVAL_SECONDS: i32 = 2;

/// How often a commit that lost a race is decided again. Races are between members of one group;
/// more than a few in a row mean that the store does not answer as it should.
pub(crate) const RACES_MAX: u32 = 20;

/// Locks that keep the messages of a group in order; groups share them by chance.
pub(crate) const ORDER_STRIPES: usize = 256;

/// Pushes of a group that a member may have missed and still get: a minute of a lively lesson.
pub(crate) const PUSHES_KEPT: hub::History =
    hub::History { pushes: 2000, bytes: 1024 * 1024, age: Duration::from_secs(60) };

/// Time in which a socket must say `connection_init`. Clients say it at once, and probes hang up after
/// three seconds; a slow line of a school gets some more. Without it a socket costs a place and can be
/// had without a key.
pub(crate) const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// Between two looks at the keys of open subscriptions: a key that is revoked or expires ends them
/// within a second. Each look reads one item for each key, not for each subscription.
pub(crate) const KEYS_CHECKED_EVERY: Duration = Duration::from_millis(500);

/// Bytes of an answer, which is what AppSync gives. It counts while fields are resolved, so that a
/// document that asks for the same list again and again is stopped before the answer is built.
pub(crate) const ANSWER_BYTES_MAX: usize = 5_000_000;

/// Subscriptions of one connection, by AppSync.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 100;

/// What AppSync tells clients: without a keep-alive for so long, the connection is dead.
pub(crate) const CONNECTION_TIMEOUT_MS: u64 = 300_000;

/// Seconds that a long-poll waits if it does not say.
pub(crate) const POLL_WAIT_MAX_SECONDS: u64 = 25;

/// When who met a busy store shall ask again: as long as the other rooms say.
pub(crate) const STORE_BUSY_WAIT_SECONDS: u64 = 1;

/// How many seconds of its calls a node may send at once: what a client has kept while its
/// connection was away.
pub(crate) const NODE_CALLS_KEPT_SECONDS: u32 = 10;

/// Groups that one site makes in a second. A group lives for fifty minutes, so a site has at most
/// three thousand of these, and those below.
pub(crate) const GROUPS_OF_SITE_PER_SECOND: u32 = 1;

/// And so many at once: a school of a thousand in pairs.
pub(crate) const GROUPS_OF_SITE_AT_ONCE: u32 = 500;

/// Groups that are made at once over one connection, of these: some teachers with all their classes
/// behind one device. One that makes groups all the time leaves the others of its site theirs.
pub(crate) const GROUPS_OF_CONNECTION_AT_ONCE: u32 = 50;

/// And one more in this time.
pub(crate) const GROUPS_OF_CONNECTION_EVERY: Duration = Duration::from_secs(10);

/// Groups on one page of a class: more than fit a projector, and each is a topic of the page's one
/// stream, which follows at most 128.
pub(crate) const CLASS_GROUPS_MAX: usize = 40;

/// Characters of a name that a teacher gives to a node: a full name with its class and number, on one
/// tile of the page.
pub(crate) const LABEL_CHARACTERS_MAX: usize = 40;

/// Names in one class: every node of every group on its page, and some that have gone. All of them are
/// read with each look at the class.
pub(crate) const LABELS_MAX: usize = 2_000;

/// How long a name is kept: over all lessons of a school day. Clients make a new id for every lesson,
/// and the name of a child is kept no longer than it is needed.
pub(crate) const LABELS_KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

/// Groups that are ended at the same time when a teacher ends all of them: writers that wait together
/// share a sync.
pub(crate) const GROUPS_ENDED_AT_ONCE: usize = 8;

// Documents. What a library does with a document must not cost more than its text is worth, so
// these bounds hold before it sees one. `api/documents/` checks them.

/// Tokens of a document. A call that writes a thousand events into its document, instead of into
/// variables, has 14 000. The parser takes about 300 bytes of memory for each.
pub(crate) const TOKENS_MAX: usize = 20_000;

/// Brackets of any kind that are open at once in a document's text. The introspection that tools send
/// has 13. The parser calls itself for each, so this also bounds its stack.
pub(crate) const NESTING_MAX: usize = 32;

/// Bytes of one name. The schema's longest has 28. Error messages repeat names: with long ones, a
/// small document would make a large answer.
pub(crate) const NAME_BYTES_MAX: usize = 128;

/// Selections and fragments inside each other. The introspection that tools send has 13 levels, and
/// fragments may lie between any two. Every walk over a document is recursive.
pub(crate) const LEVELS_MAX: usize = 32;

/// Fields inside each other, after fragments are expanded. The deepest answer is three levels; the
/// introspection that tools send goes to thirteen.
pub(crate) const DEPTH_MAX: usize = 16;

/// Fields that the operations of a document ask for, after fragments are expanded. All of the
/// contract are about a hundred; introspection as tools send it asks for several hundred.
pub(crate) const FIELDS_MAX: usize = 1000;

/// Fields, fragments, directives, arguments and values of a document, after fragments are expanded
/// in each operation and in each fragment. Validation visits each of these a few times. A thousand
/// events in a document are 5 000.
pub(crate) const PARTS_MAX: usize = 20_000;

/// Fields that stand in the same selection as an earlier one of the same name, under another alias
/// or not, after fragments are expanded. Each is resolved for itself, so a document that repeats one
/// field n times gets up to n times its answer. Only root fields have arguments, so only a call that
/// does several things at once needs this.
pub(crate) const REPEATED_FIELDS_MAX: usize = 32;

/// Variables that a document declares. The contract's calls have at most eight. Validation looks
/// through all of them for each place that uses one.
pub(crate) const VARIABLES_MAX: usize = 100;

/// Bytes of all variables of a request in memory, each counted as often as the document uses it,
/// because each use is a copy. A request is at most 1 MiB.
pub(crate) const VARIABLE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Memory of one value besides its text, in that sum: what the library's types take.
pub(crate) const VALUE_BYTES: usize = 64;

/// Errors of one document that are answered. A document can break a rule at each of its tokens.
pub(crate) const ERRORS_MAX: usize = 50;

/// Time in which a document is parsed and validated, including the wait for others. One at the bounds
/// above takes 40 ms in an unoptimised program on a busy machine.
pub(crate) const VALIDATION_WITHIN: Duration = Duration::from_secs(5);

/// Documents that are parsed and validated at the same time. A thread cannot be stopped: should a
/// document ever take forever, it takes one of these places, and no more than these.
pub(crate) const VALIDATIONS_MAX: usize = 2;

/// Valid documents that are kept. Three generations of clients have about thirty; a client that sends
/// others every time makes everyone parse now and then.
pub(crate) const DOCUMENTS_KEPT_MAX: usize = 500;

/// Bytes of all texts whose documents are kept. A parsed document takes up to 150 times the memory
/// of its text.
pub(crate) const DOCUMENT_BYTES_KEPT_MAX: usize = 256 * 1024;

/// Bytes of one document that is kept.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 16 * 1024;

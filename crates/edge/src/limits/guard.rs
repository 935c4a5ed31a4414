//! What bounds the house's guards, each with its reason: who asks, keys, rings, rates, requests
//! that come twice, tokens, passwords and sessions.

use std::time::Duration;

use crate::Policy;

/// Proxies in a row that are believed. Real ones are two or three; a longer list is an attempt to
/// make us walk.
pub(crate) const PROXY_HOPS_MAX: usize = 16;

/// Letters and digits of a secret, at 5.95 bits each.
pub(crate) const SECRET_LETTERS: usize = 40;

/// Secrets of one key at a time: the one in use and the one that will replace it.
pub(crate) const KEY_SECRETS_MAX: usize = 2;

/// Letters of a key's name. It stands in every request.
pub(crate) const KEY_NAME_LETTERS_MAX: usize = 40;

/// Scopes of one key. The house has five rooms with a few rights each.
pub(crate) const KEY_SCOPES_MAX: usize = 32;

/// Letters of a scope: a room, and what may be done there.
pub(crate) const KEY_SCOPE_LETTERS_MAX: usize = 64;

/// How often the times of last use are written: one write for each key that was used since. People
/// look whether a key is still needed, in days; a minute also shows whether a new one works.
pub(crate) const KEY_LAST_USED_STEP: Duration = Duration::from_secs(60);

/// How often a change is tried again when others change the same thing. They are people, or the few
/// instances of a house.
pub(crate) const WRITE_TRIES_MAX: u32 = 5;

/// Former keys of one ring. Rings turn daily and forget within days; turning by hand comes on top.
pub(crate) const RING_FORMER_MAX: usize = 16;

/// How often an instance looks whether another one has turned the ring by hand.
pub(crate) const RING_REFRESH: Duration = Duration::from_secs(60);

/// An unknown id makes us look at the table, but not more often than this: ids come from callers.
pub(crate) const RING_LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Letters of a sealed text; more than this fits badly into an address.
pub(crate) const SEALED_LETTERS_MAX: usize = 4_096;

/// How long the answer to a request with an idempotency key is kept: a day, as callers expect.
pub(crate) const ANSWER_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the mark of a running request holds. So long a request of a process that died waits.
pub(crate) const REQUEST_LEASE: Duration = Duration::from_secs(120);

/// How long a handler may run. Enough less than the lease that clocks may differ and the last write
/// of one that is given up has ended before another attempt begins.
pub(crate) const HANDLER_TIME: Duration = Duration::from_secs(100);

/// When to ask again for what is still running.
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Letters of an idempotency key: room for any id with a prefix.
pub(crate) const IDEMPOTENCY_KEY_LETTERS_MAX: usize = 128;

/// Bytes of a request that can be compared with its repetition. They are held in memory.
pub(crate) const COMPARED_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of an answer that are held in memory on their way to the caller.
pub(crate) const ANSWER_READ_MAX: usize = 8 * 1024 * 1024;

/// Bytes of an answer that can be kept: with its headers it must fit into one item.
pub(crate) const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Shares of what an address has: a connection has one of them. A browser opens six connections, so
/// one that asks all the time leaves two thirds to all others of its address.
pub(crate) const CONNECTION_SHARES: u32 = 20;

/// Requests that a connection may send at once, also where its share is smaller: a page and what it
/// loads.
pub(crate) const CONNECTION_BURST_MIN: u32 = 20;

/// Locks around buckets. Checks hold one for well under a microsecond, so a few are enough for many threads.
pub(crate) const BUCKET_SHARDS: usize = 16;

/// Buckets in a shard; in all 131 072, with their names some tens of megabytes at worst.
pub(crate) const SHARD_BUCKETS_MAX: usize = 8_192;

/// How often idle buckets are removed. Removing looks at every bucket, so not all the time; the
/// bound on their number holds in between.
pub(crate) const BUCKET_SWEEP: Duration = Duration::from_secs(60);

/// Letters of a token. Those of sign-in services have one or two thousand.
pub(crate) const TOKEN_LETTERS_MAX: usize = 8_192;

/// Keys of one set. Services publish two or three.
pub(crate) const TOKEN_KEYS_MAX: usize = 64;

/// Memory of one hash, in KiB: with the passes over it the least that OWASP advises for argon2id.
pub(crate) const HASH_MEMORY_KIB: u32 = 19 * 1024;

/// Passes over the memory of one hash.
pub(crate) const HASH_PASSES: u32 = 2;

/// Hashes at once: 38 MiB, and no more than two cores.
pub(crate) const HASHES_RUNNING_MAX: usize = 2;

/// Hashes that wait for those: at some tens of milliseconds each, nobody waits for long.
pub(crate) const HASHES_WAITING_MAX: usize = 32;

/// When to come again while too many hashes wait.
pub(crate) const HASHES_BUSY: Duration = Duration::from_secs(2);

/// Tries of one address: a few slips at once, then one every half minute.
pub(crate) const SIGN_IN_TRIES: Policy = Policy::new("sign-in", 10, Duration::from_secs(300));

/// Failed sign-ins and set-ups that the audit takes in an hour, of all addresses together. Strangers
/// cause them, and an entry is kept for a year; the log has them all.
pub(crate) const STRANGERS_AUDITED: Policy =
    Policy::new("audited-strangers", 100, Duration::from_secs(3_600));

/// Letters of a password. Twelve are hard to guess when every guess is slow and few are let in.
pub(crate) const PASSWORD_LETTERS_MIN: usize = 12;

/// Bytes of a password: room for any sentence, and nothing that is dear to hash.
pub(crate) const PASSWORD_BYTES_MAX: usize = 1_024;

/// Bytes of the forms by which the operator comes in: two passwords in escapes, which are three times
/// as long as what they stand for, and a link. Anybody may send these forms.
pub(crate) const SIGN_IN_BYTES_MAX: usize = 16 * 1024;

/// How coarse the time of a session's last use is. Finer would make every look a write.
pub(crate) const SESSION_SEEN_STEP: Duration = Duration::from_secs(60);

/// How long the audit knows what the operator did: a year and a month to look at it.
pub(crate) const AUDIT_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Entries of the audit that are shown, and looked through for it.
pub(crate) const AUDIT_SHOWN: u32 = 200;

/// How often a stream looks whether the session that opened it is still there: as long as somebody
/// may go on listening after being signed out.
pub(crate) const SESSION_LOOK: Duration = Duration::from_secs(5);

/// Letters of a session's id: enough to tell apart all that are listed.
pub(crate) const SESSION_ID_CHARS: usize = 10;

/// Sessions that are listed: one person has a few browsers, and a page bounds what it shows.
pub(crate) const SESSIONS_SHOWN: u32 = 100;

/// Instances of one store that start within this time have started together: one of them prints the
/// set-up link. Longer than a rolling start of a few, and short enough for a person who lost the
/// link and starts again.
pub(crate) const STARTED_TOGETHER: Duration = Duration::from_secs(60);

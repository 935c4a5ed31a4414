//! Every number that bounds the sns room.

use std::time::Duration;

use base::text::{self, Rule};

/// What a post says, as the contract bounds it. A family of four is one character of 25 bytes, the
/// longest usual ones (couples in two colours) have 35: with 58 for each all of them fit, and a
/// cluster of endless accents does not.
pub(crate) const CONTENT: Rule = text::block(1..=280, 16 * 1024);

/// Bytes of a post with the white space around it, which is kept and not counted.
pub(crate) const CONTENT_BYTES_MAX: usize = 17_000;

/// What a user calls itself, beside its username.
pub(crate) const DISPLAY_NAME: Rule = text::line(0..=50, 512);

/// What a user says of itself.
pub(crate) const BIO: Rule = text::block(0..=160, 1024);

/// Letters of a username, fewest and most.
pub(crate) const USERNAME_LETTERS: std::ops::RangeInclusive<usize> = 3..=50;

/// Letters of a password, fewest and most. The longest is cheap to hash.
pub(crate) const PASSWORD_LETTERS: std::ops::RangeInclusive<usize> = 8..=128;

/// Bytes of an e-mail address.
pub(crate) const EMAIL_BYTES_MAX: usize = 255;

/// Bytes of an issuer and a subject of somebody else's token: together they are part of a key.
pub(crate) const IDENTITY_BYTES_MAX: usize = 1024;

/// Bytes of the body of a request: a batch of a hundred ids, or a post in escapes, which are three
/// times as long as what they stand for.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// How long an access token is good, by the contract.
pub(crate) const ACCESS_LIFE: Duration = Duration::from_secs(3600);

/// How long a session lasts without a refresh.
pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(24 * 3600);

/// How long a session lasts at all.
pub(crate) const SESSION_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Sessions of one user; the longest unused makes room. All of them end in one transaction.
pub(crate) const SESSIONS_MAX: usize = 40;

/// Letters of a session's id and of a secret, at 5.95 bits each.
pub(crate) const SECRET_LETTERS: usize = 40;

/// How long a ticket opens a stream: a page asks for one in the moment in which it connects.
pub(crate) const TICKET_LIFE: Duration = Duration::from_secs(30);

/// How long the answer to a request with an idempotency key is kept if it holds tokens: long
/// enough for a client whose connection broke, short enough that a refresh token which comes again
/// later ends its session, and that tokens do not lie in a table for a day.
pub(crate) const TOKENS_KEPT: Duration = Duration::from_secs(30);

/// How long an invitation is good.
pub(crate) const INVITE_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The delay after the first failed guess too many. Each further failure doubles it.
pub(crate) const GUESS_DELAY: Duration = Duration::from_secs(5);

/// The longest delay of one account from one address or device: some hundred guesses a day.
pub(crate) const GUESS_DELAY_MAX: Duration = Duration::from_secs(15 * 60);

/// How many times more guesses may fail at one account from all addresses together before they are
/// delayed. One address counts for no more than its share: nobody delays an account from one address
/// for everybody else.
pub(crate) const ACCOUNT_FAILURES: u64 = 4;

/// The longest delay of one account where it is not known, from all addresses together: an owner at
/// a new device waits no longer, and many addresses guess no faster than this.
pub(crate) const ACCOUNT_DELAY_MAX: Duration = Duration::from_secs(60);

/// How long failed guesses at one account are remembered after the last one: longer than the
/// longest delay, so that delays grow.
pub(crate) const GUESSES_KEPT: Duration = Duration::from_secs(24 * 3600);

/// How many times more log-ins may fail from one address to all accounts together: of a thousand
/// people, some mistype.
pub(crate) const ADDRESS_FAILURES: u64 = 100;

/// How long an address or a device is remembered as one from which an account has logged in: as long
/// as a session may last.
pub(crate) const PLACE_KNOWN: Duration = SESSION_LIFE;

/// Devices of one account that are remembered; the longest unused makes room.
pub(crate) const DEVICES_MAX: usize = SESSIONS_MAX;

/// Registrations of one e-mail address, from one address, in an hour and at once: somebody who
/// looks for a free name.
pub(crate) const REGISTRATIONS_PER_HOUR: u32 = 60;

/// Requests to register from one address in a second, and how many at once: a school of a thousand
/// that looks for free names. They are apart from all other requests, so that they keep nobody from
/// logging in.
pub(crate) const REGISTERING_PER_SECOND: u32 = 100;
pub(crate) const REGISTERING_AT_ONCE: u32 = 2_000;

/// The span in which failed log-ins of one address to all accounts are counted, and at whose end
/// they are forgotten.
pub(crate) const FAILURES_SPAN: Duration = Duration::from_secs(600);

/// How long a username is held after its owner gave it up: nobody else can have it, because links and
/// readers still take it for its former owner.
pub(crate) const NAME_HELD: Duration = Duration::from_secs(30 * 24 * 3600);

/// How often a user changes its name in that time: each change holds a name.
pub(crate) const RENAMES_MAX: usize = 5;

/// How often the keys of tokens turn, and how long a former one verifies: longer than a token.
pub(crate) const KEYS_TURN: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long a former key is kept: twice the life of what it signed.
pub(crate) const KEYS_KEPT: Duration = Duration::from_secs(2 * 3600);

/// How often the file of other issuers is looked at.
pub(crate) const ISSUERS_REFRESH: Duration = Duration::from_secs(60);

/// Bytes of that file: some tens of issuers with their keys.
pub(crate) const ISSUERS_FILE_BYTES_MAX: u64 = 256 * 1024;

/// Items of a page, usually.
pub(crate) const LIMIT: usize = 20;

/// Items of a page, most.
pub(crate) const LIMIT_MAX: usize = 100;

/// How far an offset reaches: what is skipped is read.
pub(crate) const OFFSET_MAX: usize = 1000;

/// Ids of one batch.
pub(crate) const BATCH_MAX: usize = 100;

/// Bytes of an id in a batch: a UUID as text.
pub(crate) const ID_BYTES_MAX: usize = 36;

/// Users that one user follows. They are read and remembered as a whole.
pub(crate) const FOLLOWING_MAX: u64 = 5000;

/// Entries of one timeline that are ever shown, by the contract.
pub(crate) const TIMELINE_MAX: usize = 800;

/// How long an entry of a timeline lives, counted from its post.
pub(crate) const ENTRY_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Posts of an author that a new follower finds on the timeline.
pub(crate) const BACKFILL: usize = 20;

/// Entries that one transaction of a fan-out writes: all that fit beside the check that the post
/// is still there.
pub(crate) const FANOUT_CHUNK: usize = table::limits::TRANSACT_MAX - 1;
/// Entries that are written with the mark that a fan-out is done: all that fit beside the same check.
pub(crate) const FANOUT_LAST: usize = dispatch::limits::EFFECT_WRITES_MAX - 1;

/// Followers that one reading of a fan-out takes.
pub(crate) const FOLLOWERS_PAGE: u32 = 990;

/// How often a fan-out looks at an index that shows fewer followers than are counted, and how long
/// it rests in between: an index follows its table within a moment. A count that is wrong costs a
/// second.
pub(crate) const INDEX_LOOKS: u32 = 6;
pub(crate) const INDEX_PAUSE: Duration = Duration::from_millis(200);

/// Facts of one consumer that are worked on at once: enough that the disk syncs many of their
/// transactions together.
pub(crate) const CONSUMER_CONCURRENCY: usize = 64;

/// How often a commit that lost a race is decided again.
pub(crate) const RACES_MAX: u32 = 20;

/// How long an author's name is believed where the store does not tell of changes. Other instances
/// tell sooner.
pub(crate) const CARD_FRESH: Duration = Duration::from_secs(30);

/// Tokens that are remembered as verified: some megabytes.
pub(crate) const VERIFIED_MAX: u64 = 20_000;

/// Authors that are remembered: some tens of megabytes.
pub(crate) const CARDS_MAX: u64 = 100_000;

/// Follows of all users that are remembered together, at 17 bytes each.
pub(crate) const CIRCLES_FOLLOWS_MAX: u64 = 4_000_000;

/// Followers of all authors that are remembered together, at 16 bytes each.
pub(crate) const AUDIENCES_FOLLOWS_MAX: u64 = 4_000_000;

/// Bytes of first pages of timelines that are remembered: more than ten thousand of them.
pub(crate) const GLANCES_BYTES_MAX: u64 = 96 * 1024 * 1024;

/// How often it is read which authors are merged in when a timeline is read. Usually it is told.
pub(crate) const PULLED_REFRESH: Duration = Duration::from_secs(5);

/// Pushes of a user that somebody who was away for a moment still gets.
pub(crate) const PUSHES_KEPT: hub::History =
    hub::History { pushes: 200, bytes: 256 * 1024, age: Duration::from_secs(120) };

/// How often a stream shows a sign of life, by the contract.
pub(crate) const PING: Duration = Duration::from_secs(30);

/// After how much silence a socket is closed, by the contract.
pub(crate) const IDLE: Duration = Duration::from_secs(600);

/// What may wait for a task that hears that a session has ended.
pub(crate) const ENDS_WAITING: hub::QueueLimits =
    hub::QueueLimits { pushes: 1_000, bytes: 1024 * 1024 };

/// Items of users that the console's search reads, a few for each person: one read of a page. More
/// people are found by their whole names.
pub(crate) const PEOPLE_PER_SEARCH: u32 = 1_000;

//! Every number that bounds the collect room.

use std::ops::RangeInclusive;
use std::time::Duration;

use base::text::{self, Rule};

/// Seconds between two slots of a source: from what a trigger per minute can plan to a day.
pub(crate) const INTERVAL_SECONDS: RangeInclusive<u64> = 1..=86_400;

/// Seconds from a slot's beginning to its call, at most: a day's window, and a day to settle.
pub(crate) const LAG_SECONDS_MAX: u64 = 172_800;

/// Seconds in which a slot is tried again, and the usual ones. A dead upstream costs a message for
/// each slot of this time.
pub(crate) const DEADLINE_SECONDS: RangeInclusive<u64> = 1..=86_400;
/// See [`DEADLINE_SECONDS`].
pub(crate) const DEADLINE_SECONDS_USUAL: u64 = 300;

/// Days that slots may be kept; beyond a century nobody asks.
pub(crate) const RETENTION_DAYS: RangeInclusive<u64> = 1..=36_500;

/// A source whose slots are kept longer than this, and come more than once a minute, has a
/// partition for each day: a week of 5 s slots is 120 960 rows.
pub(crate) const ONE_PARTITION_DAYS: u64 = 7;

/// Minutes are kept so many times as long as slots; hours stay.
pub(crate) const MINUTES_KEPT_TIMES: u64 = 10;

/// Sources do not fire in lockstep: their offsets are whole multiples of this, so that those who
/// share one share a message, and no batch is later than a tenth of a second.
pub(crate) const OFFSET_STEP_MS: u64 = 100;
/// The largest offset: beyond a minute nothing is gained.
pub(crate) const OFFSET_MS_MAX: u64 = 60_000;

/// Sources that one message asks: their names must fit into it, and a message that is lost and
/// comes again should not ask too many twice.
pub(crate) const SOURCES_PER_MESSAGE: usize = 250;

/// Sources of one house: twice what it is built for; all are held in memory.
pub(crate) const SOURCES_MAX: usize = 20_000;

/// Letters of a source's name: it stands in keys, paths and messages.
pub(crate) const NAME_LETTERS_MAX: usize = 64;
/// Letters of a metric's name.
pub(crate) const METRIC_LETTERS_MAX: usize = 100;
/// Bytes of a URL, its template or a JSON pointer.
pub(crate) const URL_BYTES_MAX: usize = 2048;
/// Headers that a source may send.
pub(crate) const HEADERS_MAX: usize = 16;
/// Bytes of a secret in a file: what servers take as one header.
pub(crate) const SECRET_BYTES_MAX: u64 = 8 * 1024;
/// Bytes of the file of sources.
pub(crate) const SOURCES_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Spells of asking and resting that are remembered of a source; older ones are joined.
pub(crate) const SPANS_MAX: usize = 100;

/// Places that the rows of a source have been in: each is asked when its time is read.
pub(crate) const LAYOUTS_MAX: usize = 100;

/// One try of a call, from the connection to the last byte: less than a slot, so that a hanging
/// upstream does not pile up calls.
pub(crate) const TRY_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a message is held: more than six tries, so that it is not handed out again while its
/// slow sources are asked.
pub(crate) const VISIBILITY: Duration = Duration::from_secs(30);
const _: () = assert!(VISIBILITY.as_secs() >= 6 * TRY_TIMEOUT.as_secs());

/// Pauses between tries of a slot: doubled each time, up to this.
pub(crate) const RETRY_FIRST: Duration = Duration::from_secs(1);
/// See [`RETRY_FIRST`].
pub(crate) const RETRY_LONGEST: Duration = Duration::from_secs(60);

/// How often a message is handed out before it is given up: of one that a handler cannot end, as
/// its retries are messages of their own.
pub(crate) const RECEIVES_MAX: u32 = 20;

/// Messages that are worked on at once. A message takes as long as its slowest source, at most a
/// try; with fifty offsets in five seconds eighty are under way.
pub(crate) const MESSAGES_AT_ONCE: usize = 256;

/// Backfills that run at once.
pub(crate) const BACKFILLS_AT_ONCE: usize = 64;

/// Calls under way at once: each is an open connection.
pub(crate) const CALLS_MAX: usize = 4096;

/// How many of them may be backfills', so that live slots always find room.
pub(crate) const BACKFILL_CALLS_MAX: usize = 1024;

/// Connections that wait for the next call, by upstream.
pub(crate) const IDLE_CONNECTIONS_MAX: usize = 1024;

/// Bytes of an answer.
pub(crate) const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of an answer that an operator is shown: a screen or two.
pub(crate) const PREVIEW_BYTES_MAX: usize = 4096;

/// Redirects that one call follows, all on its own host.
pub(crate) const REDIRECTS_MAX: usize = 5;

/// The greatest count: what every client's numbers hold exactly.
pub(crate) const COUNT_MAX: u64 = 1 << 53;

/// A call that began so long after its time is late: a whole slot of the usual length.
pub(crate) const LATE_AFTER: Duration = Duration::from_secs(5);

/// A slot of which nothing is known so long after its time is missing: two tries and some.
pub(crate) const MISSING_AFTER: Duration = Duration::from_secs(10);

/// Failures in a row that open a breaker.
pub(crate) const BREAKER_FAILURES: u32 = 5;
/// How long an upstream is left alone then, before one call looks whether it is well.
pub(crate) const BREAKER_REST: Duration = Duration::from_secs(15);

/// How long a slot waits for the one before it, at most, before it looks again.
pub(crate) const OVERLAP_PAUSE: Duration = Duration::from_secs(1);

/// Tries of a trigger whose messages were all refused, and the pause between them.
pub(crate) const TRIGGER_TRIES: u32 = 3;
/// See [`TRIGGER_TRIES`].
pub(crate) const TRIGGER_PAUSE: Duration = Duration::from_secs(1);

/// A change of a source that comes so short before a minute counts from the next one on: the write
/// must be over before the trigger looks.
pub(crate) const CHANGE_SEEN: Duration = Duration::from_secs(2);

/// How often another instance's changes of sources are looked for.
pub(crate) const SOURCES_REFRESH: Duration = Duration::from_secs(5);

/// A minute is rolled up so long after its end; what comes later rolls it up again.
pub(crate) const ROLL_AFTER: Duration = Duration::from_secs(120);
/// What is written so long after a minute's end rolls it up itself. Less than [`ROLL_AFTER`], so
/// that nothing falls between the two.
pub(crate) const ROLL_LATE_AFTER: Duration = Duration::from_secs(60);
/// How far back the roll-up looks after a stop; older minutes are rolled up by what fills them.
pub(crate) const ROLL_BACK_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Sources that are rolled up at once: some wait for the disk while others are read.
pub(crate) const ROLLS_AT_ONCE: usize = 16;

/// Days that slots of the practice source are kept: people forget to remove it.
pub(crate) const PRACTICE_DAYS: u64 = 7;

/// Slots of one backfill: almost six days of 5 s, and more than an hour of a message's sources.
pub(crate) const BACKFILL_SLOTS_MAX: u64 = 200_000;
/// Slots that a backfill asks for before it notes how far it is, at most: what is read before and
/// added up behind a part costs less for each slot of a larger one.
pub(crate) const BACKFILL_PART_MAX: usize = 2000;
/// Calls a second of one backfill, at most.
pub(crate) const BACKFILL_RATE_MAX: u64 = 10_000;
/// How often turns are taken again that others took first. A turn is lost only where the pace was
/// idle, so twice is rare.
pub(crate) const PACE_RACES_MAX: u32 = 10;
/// Calls a second of one backfill if it does not say.
pub(crate) const BACKFILL_RATE_USUAL: u64 = 10;
/// Calls a second of the backfill with which the practice source begins: its half hour is there in
/// some seconds, and its upstream is the house itself.
pub(crate) const PRACTICE_RATE: u64 = 200;
/// Rows of a purged source that are looked for at once.
pub(crate) const PURGE_ROWS: u32 = 500;
/// Days that a finished backfill is remembered.
pub(crate) const BACKFILL_KEPT_DAYS: u64 = 30;
/// Holes of the whole collector that are remembered, newest first.
pub(crate) const GAPS_SHOWN: u32 = 20;
/// Days that such a hole is remembered.
pub(crate) const GAP_KEPT_DAYS: u64 = 365;

/// Dead letters that one call looks at, if it wants only some: a call ends, and tells where the
/// next one goes on.
pub(crate) const LETTERS_SOUGHT_MAX: u64 = 10_000;
/// How many of them at a time.
pub(crate) const LETTERS_LOOKED_AT: u32 = 500;

/// Points, slots or dead letters that one call answers, and the usual number.
pub(crate) const PAGE_MAX: u64 = 1000;

/// Minutes of a summary, by the contract.
pub(crate) const SUMMARY_MINUTES: u64 = 30;

/// Sources on one page: each has a chart, and is followed by a subscription of its own.
pub(crate) const SOURCES_PER_PAGE: usize = 12;
/// Slots in the strip of a source: five minutes of 5 s.
pub(crate) const STRIP_SLOTS: u64 = 60;
/// Slots that its chart and histogram show: fifteen minutes of 5 s.
pub(crate) const CHART_SLOTS: u64 = 180;
/// Upper ends of the bars of the histogram of lateness, in milliseconds; one more bar is open. The
/// first two are what the house promises, the last what it calls late.
pub(crate) const LATENESS_MS: [u64; 6] = [10, 100, 250, 500, 1000, 5000];
/// Dead letters and backfills on a page.
pub(crate) const LISTED_MAX: u32 = 10;
/// Bytes of a form: a source with all its fields.
pub(crate) const FORM_BYTES_MAX: usize = 64 * 1024;

/// Letters of what went wrong that the ledger keeps.
pub(crate) const REASON: Rule = text::line(1..=REASON_LETTERS_MAX, 2000);
/// See [`REASON`].
pub(crate) const REASON_LETTERS_MAX: usize = 500;

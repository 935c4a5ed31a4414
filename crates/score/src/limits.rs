//! Every number that bounds the score room.

use std::time::Duration;

use base::text::{self, Rule};

/// Letters of a game's or a user's id. Ids are part of keys, paths and signatures.
pub(crate) const ID_LETTERS_MAX: usize = 64;

/// The greatest score on either side of zero: what every client's numbers hold exactly.
pub(crate) const SCORE_MAX: i64 = 1 << 53;

/// A player's name: as long as a row of a ranking shows it. A family with its skin tones is 41 bytes
/// and one character, and a name may be 24 of them.
pub(crate) const PLAYER: Rule = text::line(1..=24, 1024);

/// Bytes of a play's `meta`. A row should stay small: a million of them are read at the start.
pub(crate) const META_BYTES_MAX: usize = 2048;

/// Maps and lists inside each other in a play's `meta`.
pub(crate) const META_DEPTH_MAX: usize = 5;

/// Bytes of the body of a submission: `meta` and what stands around it.
pub(crate) const SUBMIT_BYTES_MAX: usize = 4096;

/// Seconds that a play may last.
pub(crate) const PLAY_SECONDS_MAX: u64 = 1800;

/// How long after its end a play may be submitted.
pub(crate) const SUBMIT_GRACE: Duration = Duration::from_secs(300);

/// How much longer than we measured a play may say that it was, if its game says nothing: what a
/// request to the house takes on a bad line.
pub(crate) const TIME_TOLERANCE_MS: i64 = 1500;

/// How much shorter than we measured a play may say that it was, if its game says nothing: a
/// countdown, a name that is typed, a connection that comes back.
pub(crate) const TIME_SHORTFALL_MS: i64 = 30_000;

/// The same for a game that ranks by the shortest time: there a shorter time is what a cheat wants.
pub(crate) const TIME_SHORTFALL_RANKED_MS: i64 = 10_000;

/// Letters of a session's id, at 5.95 bits each.
pub(crate) const SID_LETTERS: usize = 24;

/// Letters of a token: its fields at their longest, twice over.
pub(crate) const TOKEN_LETTERS_MAX: usize = 1024;

/// How long a session that was used is remembered behind the time in which its token is worth
/// anything, so that clocks of instances may differ.
pub(crate) const SPENT_KEPT: Duration = Duration::from_secs(3600);

/// How long the answer to a submission with an idempotency key is kept, by the contract.
pub(crate) const ANSWER_KEPT: Duration = Duration::from_secs(180);

/// How long a former key verifies: a day, which is more than a play with its grace. Both tokens of a
/// play are made with the key of its beginning.
pub(crate) const KEY_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const _: () = assert!(KEY_KEPT.as_secs() > PLAY_SECONDS_MAX + SUBMIT_GRACE.as_secs());

/// Letters of a player's secret that the house makes, at 5.95 bits each.
pub(crate) const SECRET_LETTERS: usize = 40;

/// Letters of a player's secret that a client makes itself, fewest: 190 bits in base64url.
pub(crate) const SECRET_LETTERS_MIN: usize = 32;

/// And most: it is hashed for every call.
pub(crate) const SECRET_LETTERS_MAX: usize = 128;

/// How long a claim lasts under which nothing was stored: as long as a play that was begun with it
/// can be submitted, and an hour. So strangers fill the store with claims for that long only.
pub(crate) const CLAIM_TRIED: Duration =
    Duration::from_secs(PLAY_SECONDS_MAX + SUBMIT_GRACE.as_secs() + SPENT_KEPT.as_secs());

/// How long a claim lasts after the last play that was stored under it: somebody who plays once a
/// year keeps the id.
pub(crate) const CLAIM_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// New claims from one address, in a second. Players claim once, so this is few.
pub(crate) const CLAIMS_PER_SECOND: u32 = 2;

/// And so many at once: a school whose pupils all open a game for the first time.
pub(crate) const CLAIMS_BURST: u32 = 2_000;

/// Games of one house. All of them are held in memory and told in one answer.
pub(crate) const GAMES_MAX: usize = 1000;

/// Keys of a game's sort: there are three fields.
pub(crate) const SORT_KEYS_MAX: usize = 3;

/// Rows of a board that stay when it is trimmed. They are one answer, held in memory.
pub(crate) const TOP_N_MAX: usize = 1000;

/// Rows of a board if its game does not say.
pub(crate) const TOP_N: usize = 100;

/// Origins that one game is played from.
pub(crate) const ORIGINS_MAX: usize = 32;

/// Rows that a ranking answers, fewest.
pub(crate) const LIMIT_MIN: usize = 10;

/// Rows that a ranking answers, most and usually.
pub(crate) const LIMIT_MAX: usize = 100;

/// Neighbours on either side, usually.
pub(crate) const NEIGHBOURS: usize = 5;

/// Neighbours on either side, most.
pub(crate) const NEIGHBOURS_MAX: usize = 50;

/// Buckets of what was trimmed off a board: exact enough for a percentile, and one small item.
pub(crate) const BUCKETS_MAX: usize = 64;

/// How often a commit that lost a race is decided again. Submissions of one player wait for each
/// other here, so races are with other instances and with trimming.
pub(crate) const RACES_MAX: u32 = 20;

/// Locks that keep the submissions of one player behind each other; players share them by chance.
pub(crate) const PLAYER_STRIPES: usize = 1024;

/// Rows that one transaction of a trim deletes, with the histogram beside them.
pub(crate) const TRIMMED_AT_ONCE: usize = 90;

/// How long after a month's end its boards may still be written: a play's grace and to spare.
pub(crate) const MONTH_GRACE: Duration = Duration::from_secs(3600);

/// How often file and table are looked at for changed games; the contract says 30 s.
pub(crate) const GAMES_REFRESH: Duration = Duration::from_secs(10);

/// Bytes of the file of games.
pub(crate) const GAMES_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Beginnings and ends of plays of one user, from one address, in a second.
pub(crate) const PLAYS_PER_SECOND: u32 = 5;

/// And so many at once: somebody who starts a short game over and over.
pub(crate) const PLAYS_BURST: u32 = 20;

/// Suspicious submissions that are remembered for the operator, newest first.
pub(crate) const SUSPICIONS_MAX: usize = 200;

/// Entries of the audit, or rows of an export, that one call answers.
pub(crate) const PAGE_MAX: usize = 1000;

/// Rows that one import takes: as many calls as there are thousands of rows.
pub(crate) const IMPORT_ROWS_MAX: usize = 1000;

/// Bytes of the body of an import: so many rows with the longest names and `meta`, and what stands
/// around them. What an export gives is taken back.
pub(crate) const IMPORT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How long an import and a trim may take, which write many times.
pub(crate) const OPERATION_TIME: Duration = Duration::from_secs(600);

/// Bytes of a game's config in the audit; of a longer one its digest stands there.
pub(crate) const AUDITED_BYTES_MAX: usize = 4096;

/// Letters of a reason that the operator gives.
pub(crate) const REASON: Rule = text::line(1..=200, 1000);

/// How long a rendered ranking serves unless a change takes it away sooner; less where boards are
/// compared with the store more often.
pub(crate) const RANKING_FRESH: Duration = Duration::from_secs(600);

/// How long after that it is answered while a new one is made.
pub(crate) const RANKING_STALE: Duration = Duration::from_secs(120);

/// Bytes of all rendered rankings together.
pub(crate) const RANKING_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes that a rendered ranking takes besides its rows: an empty one is not for nothing.
pub(crate) const RANKING_BYTES_LEAST: usize = 512;

/// Boards that somebody asked for and nobody has played on: so many are remembered as empty, at
/// about a kilobyte each, before the store is asked again.
pub(crate) const UNPLAYED_MAX: usize = 1000;

/// Changes of a board that a reader of its stream may have missed and still get.
pub(crate) const PUSHES_KEPT: hub::History =
    hub::History { pushes: 500, bytes: 256 * 1024, age: Duration::from_secs(60) };

/// Steps of the distribution of a board: bars that are still seen apart on a phone.
pub(crate) const STEPS_MAX: u32 = 24;

/// Months that a board's page offers, the newest first. Older ones are found by their address.
pub(crate) const MONTHS_SHOWN: u32 = 24;

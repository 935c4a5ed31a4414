//! Every number that bounds the live room.

use std::time::Duration;

/// Characters of a room's name: a talk's title.
pub(crate) const NAME_GRAPHEMES_MAX: usize = 100;

/// Bytes of a room's name: four bytes a character, and some accents.
pub(crate) const NAME_BYTES_MAX: usize = 500;

/// Characters of a nickname, by the contract.
pub(crate) const NICKNAME_GRAPHEMES_MAX: usize = 20;

/// Bytes of a nickname: family emoji have 25 bytes each.
pub(crate) const NICKNAME_BYTES_MAX: usize = 500;

/// Characters of a host's credential. It is a key of an index and fits a header.
pub(crate) const HOST_ID_BYTES_MAX: usize = 128;

/// Characters of the credential of a new room, at least: less can be guessed. Random letters and
/// digits of this length have 95 bits.
pub(crate) const HOST_ID_BYTES_MIN: usize = 16;

/// Bytes of the id of a room or a comment: a UUID with room to spare.
pub(crate) const ID_BYTES_MAX: usize = 64;

/// Characters of an id that a client gives to a comment: a UUID with room to spare.
pub(crate) const CLIENT_ID_BYTES_MAX: usize = 64;

/// Characters of a participant: a signed one has 87 for the next centuries.
pub(crate) const PARTICIPANT_BYTES_MAX: usize = 128;

/// How long a signed participant is good. A page renews it after half of this, so a browser that
/// comes every second week stays the same participant.
pub(crate) const PARTICIPANT_LIFE: Duration = Duration::from_secs(30 * 24 * 3_600);

/// How often the keys that sign participants turn. A former key verifies for as long as what it has
/// signed, so a ring has at most six of them.
pub(crate) const KEYS_TURN: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Bytes of a body: the longest comment written in escapes, with its other fields, and a room's
/// block lists.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// How long a retry with the same `clientId` is answered with the first comment, by the contract.
pub(crate) const CLIENT_ID_KEPT: Duration = Duration::from_secs(600);

/// Letters of a join code, without those that look or sound alike.
pub(crate) const CODE_LETTERS: &str = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";

/// Letters in a join code: 887 million codes, short enough to be read from the back row.
pub(crate) const CODE_LENGTH: usize = 6;

/// Words, and users, that one room blocks. They are part of the room's item.
pub(crate) const BLOCKED_MAX: usize = 200;

/// Characters of a blocked word.
pub(crate) const BLOCKED_WORD_GRAPHEMES_MAX: usize = 50;

/// Pinned comments that the walls of a room know of. They show one at a time; a host who pins more
/// has a list.
pub(crate) const WALL_PINS_MAX: usize = 8;

/// Letters on a wall, in hundredths of the screen's height: smaller ones cannot be read from the
/// back row.
pub(crate) const WALL_LETTERS_MIN: u64 = 4;

/// And larger ones leave room for a few words only.
pub(crate) const WALL_LETTERS_MAX: u64 = 12;

/// Seconds of slow mode: an hour between two comments is as good as closed.
pub(crate) const SLOW_MODE_SECONDS_MAX: u64 = 3_600;

/// Comments in one page, by the contract.
pub(crate) const COMMENTS_PER_PAGE_MAX: u32 = 200;

/// Comments in a page that does not say, by the contract.
pub(crate) const COMMENTS_PER_PAGE: u32 = 100;

/// Rooms in one page.
pub(crate) const ROOMS_PER_PAGE_MAX: u32 = 100;

/// Rooms in a page that does not say.
pub(crate) const ROOMS_PER_PAGE: u32 = 50;

/// Items that one read of the store looks at where a verb reads to the end.
pub(crate) const ITEMS_PER_READ: u32 = 200;

/// Reads for one page of comments, at most. Among hidden comments a page ends after so many, with
/// the place to go on, so that no call reads a whole room.
pub(crate) const READS_PER_PAGE_MAX: u32 = 10;

/// Numbers of the room between which a search for one ends. The read of the page passes over them.
pub(crate) const NUMBERS_LEFT_MAX: u32 = 50;

/// Looks at the store that find a number of the room. A steady talk needs six, one with pauses of
/// years between bursts some dozens. A search that needs more goes on by reading.
pub(crate) const PROBES_MAX: u32 = 80;

/// Items removed in one write: the batch size of the store that the seed was written for.
pub(crate) const REMOVED_AT_ONCE: usize = 25;

/// How often a commit that lost a race is decided again.
pub(crate) const RACES_MAX: u32 = 50;

/// Rows that a comment may write: itself, the mark of its `clientId`, and when its author spoke.
pub(crate) const WRITES_PER_COMMENT_MAX: usize = 3;

/// Locks that keep a room's messages in order; rooms share them by chance.
pub(crate) const ORDER_STRIPES: usize = 256;

/// Comments of one participant, by the contract: so many in [`COMMENT_SPAN`].
pub(crate) const COMMENTS_PER_SPAN: u32 = 3;

/// In which time.
pub(crate) const COMMENT_SPAN: Duration = Duration::from_secs(2);

/// And so many at once.
pub(crate) const COMMENT_BURST: u32 = 5;

/// How many seconds of its allowance a host may use at once: a desk that answers all questions of a
/// talk.
pub(crate) const HOST_AT_ONCE_SECONDS: u32 = 10;

/// How many times more all hosts of one address may do. Anybody can be the host of a room of its
/// own, so the contract's exemption of hosts ends somewhere.
pub(crate) const HOSTS_OF_ADDRESS: u32 = 10;

/// Rooms that one host opens in an hour, and at once: a conference with all its talks.
pub(crate) const ROOMS_OF_HOST_PER_HOUR: u32 = 100;

/// Rooms that one connection joins in a second. Each join may replay hundreds of comments.
pub(crate) const JOINS_PER_SECOND: u32 = 1;

/// And so many at once: somebody who leafs through the rooms of a conference.
pub(crate) const JOIN_BURST: u32 = 10;

/// How many times more all callers of one address may join at once: an audience of a thousand behind
/// one address comes back after a cut, each with several pages and tries.
pub(crate) const JOINS_AT_ONCE_SECONDS: u32 = 40;

/// Likes of all participants of one address in a second, and five times as many at once: each of
/// a thousand at its own pace.
pub(crate) const LIKES_OF_ADDRESS_PER_SECOND: u32 = 1_000 * LIKES_PER_SECOND;

/// Reactions of all participants of one address in a second, and twice as many at once: each of a
/// thousand at its own pace.
pub(crate) const REACTIONS_OF_ADDRESS_PER_SECOND: u32 = 1_000 * REACTIONS_PER_SECOND;

/// Likes of one comment. Each is a row, and whoever invents names can add them.
pub(crate) const LIKES_PER_COMMENT_MAX: u64 = 100_000;

/// Changes that a full room still takes, so that its host can hide what is in it and close it.
pub(crate) const CHANGES_BEHIND_FULL: u64 = 10_000;

/// Likes of one participant in a second, and five times as many at once: who reads a list and
/// likes what is good in it is heard, a program that likes everything is not.
pub(crate) const LIKES_PER_SECOND: u32 = 2;

/// Reactions of one participant in a second, and twice as many at once: who taps as fast as a
/// thumb can is heard.
pub(crate) const REACTIONS_PER_SECOND: u32 = 10;

/// What one can react with.
pub(crate) const REACTIONS: [&str; 8] = ["👏", "❤️", "😂", "😮", "🎉", "👍", "🔥", "🤔"];

/// How long reactions are counted before the count is told.
pub(crate) const REACTION_FRAME: Duration = Duration::from_millis(200);

/// How long comings and goings are gathered before the number of viewers is told.
pub(crate) const VIEWERS_FRAME: Duration = Duration::from_millis(500);

/// How long the first to listen to a room waits for a broker to bring back where it begins.
pub(crate) const MARKED_WITHIN: Duration = Duration::from_secs(2);

/// Between two looks for it: less than a person notices.
pub(crate) const MARKED_LOOK: Duration = Duration::from_millis(5);

/// How often an instance tells the others again how many viewers it has.
pub(crate) const VIEWERS_AGAIN: Duration = Duration::from_secs(5);

/// How long that is believed: two words may be lost before an instance counts for nothing.
pub(crate) const VIEWERS_LEASE: Duration = Duration::from_secs(16);

/// Comments a second above which pushes are gathered, by the contract.
pub(crate) const SINGLE_PUSHES_PER_SECOND: u32 = 50;

/// How long they are gathered, by the contract.
pub(crate) const FRAME: Duration = Duration::from_millis(100);

/// Entries in one frame; more become several.
pub(crate) const FRAME_ENTRIES_MAX: usize = 100;

/// Pushes of a room that one may have missed and still get from memory: some minutes of a lively
/// talk, and always more than the queue of a slow reader holds.
pub(crate) const PUSHES_KEPT: hub::History =
    hub::History { pushes: 4_000, bytes: 4 * 1024 * 1024, age: Duration::from_secs(600) };

/// Entries that a join replays from the store. Who missed more reads the history in pages. All of
/// them fit the queue of one reader.
pub(crate) const REPLAY_MAX: usize = 500;

/// Bytes of such a replay: half of what may wait for one reader.
pub(crate) const REPLAY_BYTES_MAX: usize = 512 * 1024;

/// How long a connection counts without a sign of life: by the contract it is dropped then.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// How often a living connection renews its lease: well before it ends, and not with every byte.
pub(crate) const RENEWAL: Duration = Duration::from_secs(20);

/// How often what memory holds about quiet rooms is let go.
pub(crate) const SWEEP: Duration = Duration::from_secs(60);

/// How often all rooms are counted, and those whose time is over are removed.
pub(crate) const CENSUS_TICK: Duration = Duration::from_secs(3_600);

/// Rooms whose remains are removed at the same time.
pub(crate) const REMOVALS_AT_ONCE: usize = 2;

//! Where scores live.
//!
//! ```text
//!   table ScoreTable (the seed's)
//!   PK                     SK          item
//!   G#<game>#P#<period>    U#<user>    userName, meta, score, timeMs, updatedAt, ver
//!
//!   table score (what the room knows besides)
//!   pk         sk                      item
//!   BOARDS     <game>#<period>         a board that is: what was trimmed and by which rule it is
//!                                      counted, when it was archived
//!   S#<sid>    SPENT                   a session that was used, and for which play
//!   GAMES      <game>                  a game as the operator set it, or that it is gone
//!   BANS       <user>                  who may not submit, and why
//!   SHELF#<user>  <game>#<period>      a row that a ban took off its board, as it was
//!   AUDIT      HEAD                    the end of the chain
//!   AUDIT      <number>                what the operator did
//!
//!   table score_players (apart, because it holds secrets)
//!   userId                             a player's id: the digest of the secret that it was claimed
//!                                      by, until when, and since when it is banned
//! ```
//!
//! One partition is one board, so a board is filled by one query. Invariants: one item for each
//! user and board; `ver` grows with every write of an item, also over its deletion, because it is
//! at least the time of the write. `ttl` is when the store may forget an item: the tokens of a
//! session are worth nothing long before, and a claim ends then. Answers to submissions with an
//! idempotency key lie where those of all rooms do, in `edge_answers`.

pub(crate) mod audit;
pub(crate) mod game;
pub(crate) mod meta;
pub(crate) mod player;

use std::sync::Arc;

use base::Timestamp;
use table::{
    Condition, Delete, Get, Item, KeyAttribute, KeySpec, Put, Query, Scan, Secret, SortCondition,
    TableSpec, TransactItem, Update, Value as Stored, attr,
};

use crate::model::board::{BoardKey, Row};
use crate::model::game::{Direction, Field, Rule, Value};
use crate::model::histogram::{Bucket, Histogram};
use crate::model::play::Claim;

const SCORES: &str = "ScoreTable";
const ROOM: &str = "score";

/// What nobody is shown.
pub const SECRETS: &[Secret] = &[Secret::attributes(player::PLAYERS, &[player::DIGEST])];

/// One row of a board, if there is any.
pub(crate) fn scan_first() -> Scan {
    Scan::new(SCORES).limit(1)
}

/// The tables, for the store to make.
pub(crate) fn tables() -> [TableSpec; 3] {
    let room = TableSpec::new(ROOM, key("pk", "sk")).expiring_by("ttl");
    [scores(), room, player::table()]
}

fn scores() -> TableSpec {
    TableSpec::new(SCORES, key("PK", "SK"))
}

fn key(pk: &str, sk: &str) -> KeySpec {
    KeySpec::composite(KeyAttribute::s(pk), KeyAttribute::s(sk))
}

// Rows

/// Reads a player's row.
pub(crate) fn get_row(board: &BoardKey, user: &str) -> Get {
    Get::new(SCORES, row_key(board, user))
}

/// The rows of a board by user, without what only an export shows.
pub(crate) fn query_rows(board: &BoardKey) -> Query {
    let shown = ["SK", "userName", "score", "timeMs", "updatedAt", "ver"];
    query_whole_rows(board).project(shown.map(attr))
}

/// The rows of a board by user.
pub(crate) fn query_whole_rows(board: &BoardKey) -> Query {
    Query::new(SCORES, "PK", board_pk(board)).consistent()
}

/// Where a page of rows goes on behind a user.
pub(crate) fn behind_row(board: &BoardKey, user: &str) -> Item {
    row_key(board, user)
}

/// Whose row a key is.
pub(crate) fn read_row_key(key: &Item) -> Option<&str> {
    key.get("SK")?.as_s()?.strip_prefix("U#")
}

/// Writes a row, if nobody else did since `before`, its version then. A play without `meta` has an
/// empty one.
pub(crate) fn put_row(
    board: &BoardKey,
    row: &Row,
    meta: Option<&Stored>,
    before: Option<u64>,
) -> TransactItem {
    let item = with_row(row_key(board, &row.user), row, meta);
    Put::new(SCORES, item).when(unchanged(before)).into()
}

fn with_row(key: Item, row: &Row, meta: Option<&Stored>) -> Item {
    key.with("userName", &*row.name)
        .with("meta", meta.cloned().unwrap_or_else(meta::empty))
        .with("score", row.value.score)
        .with("timeMs", row.value.time_ms)
        .with("updatedAt", row.value.updated_at.to_string())
        .with("ver", row.ver)
}

/// Removes a row, if it is still of this version.
pub(crate) fn delete_row(board: &BoardKey, user: &str, ver: u64) -> TransactItem {
    Delete::new(SCORES, row_key(board, user)).when(unchanged(Some(ver))).into()
}

/// The row in an item.
pub(crate) fn read_row(item: &Item) -> Option<Row> {
    let value = Value {
        score: integer(item, "score")?,
        time_ms: integer(item, "timeMs")?,
        updated_at: time(item, "updatedAt")?,
    };
    let user = read_row_key(item)?;
    let name = item.get("userName")?.as_s()?;
    Some(Row { user: Arc::from(user), name: Arc::from(name), value, ver: number(item, "ver")? })
}

/// What a player sent along with a row.
pub(crate) fn read_meta(item: &Item) -> Option<&Stored> {
    item.get("meta")
}

fn unchanged(before: Option<u64>) -> Condition {
    match before {
        Some(ver) => attr("ver").eq(ver),
        None => attr("PK").not_exists(),
    }
}

fn row_key(board: &BoardKey, user: &str) -> Item {
    Item::new().with("PK", board_pk(board)).with("SK", format!("U#{user}"))
}

fn board_pk(board: &BoardKey) -> String {
    format!("G#{}#P#{}", board.game, board.period)
}

// Boards

/// What is known of a board besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) archived_at: Option<Timestamp>,
    pub(crate) trimmed: Histogram,
    /// Moved by every trim.
    pub(crate) trims: u64,
}

/// Reads what is known of a board.
pub(crate) fn get_note(board: &BoardKey) -> Get {
    Get::new(ROOM, note_key(board))
}

/// All boards.
pub(crate) fn query_notes() -> Query {
    Query::new(ROOM, "pk", "BOARDS").consistent()
}

/// The newest boards of one game, that of all time first.
pub(crate) fn query_notes_of(game: &str, limit: u32) -> Query {
    let own = SortCondition::begins_with(format!("{game}#"));
    Query::new(ROOM, "pk", "BOARDS").sort("sk", own).descending().limit(limit)
}

/// Notes that there is a board, unless it is archived.
pub(crate) fn note_board(board: &BoardKey) -> TransactItem {
    let note = Update::new(ROOM, note_key(board))
        .set("game", board.game.as_str())
        .set("period", board.period.as_str());
    note.when(attr("archivedAt").not_exists()).into()
}

/// Notes what was trimmed, if nobody else trimmed meanwhile.
pub(crate) fn put_trimmed(board: &BoardKey, trims: u64, trimmed: &Histogram) -> TransactItem {
    let buckets = trimmed.buckets().iter().map(|bucket| {
        let numbers = [Stored::from(bucket.low), bucket.high.into(), bucket.count.into()];
        Stored::L(numbers.to_vec())
    });
    let before = match trims {
        0 => attr("trims").not_exists(),
        _ => attr("trims").eq(trims),
    };
    let mut note = Update::new(ROOM, note_key(board))
        .set("trimmed", Stored::L(buckets.collect()))
        .set("unplaced", trimmed.unplaced())
        .set("trims", trims + 1);
    if let Some(Rule { by, direction }) = trimmed.rule() {
        note = note.set("trimmedBy", format!("{} {}", by.word(), direction.word()));
    }
    note.when(before).into()
}

/// Notes that a board stays as it is.
pub(crate) fn archive_board(board: &BoardKey, now: Timestamp) -> Update {
    let note = Update::new(ROOM, note_key(board)).set("archivedAt", now.to_string());
    note.when(attr("archivedAt").not_exists())
}

/// What is known of a board, in its item.
pub(crate) fn read_note(item: &Item) -> Note {
    let bucket = |value: &Stored| match value {
        Stored::L(numbers) => match numbers.as_slice() {
            [Stored::N(low), Stored::N(high), Stored::N(count)] => {
                Some(Bucket { low: low.to_i64()?, high: high.to_i64()?, count: count.floor_u64()? })
            }
            [..] => None,
        },
        _ => None,
    };
    let buckets = match item.get("trimmed") {
        Some(Stored::L(buckets)) => buckets.iter().filter_map(bucket).collect(),
        Some(_) | None => Vec::new(),
    };
    let rule = item.get("trimmedBy").and_then(Stored::as_s).and_then(|words| {
        let (by, direction) = words.split_once(' ')?;
        Some(Rule { by: Field::parse(by)?, direction: Direction::parse(direction)? })
    });
    let unplaced = number(item, "unplaced").unwrap_or(0);
    Note {
        archived_at: time(item, "archivedAt"),
        trimmed: Histogram::from_parts(rule, buckets, unplaced),
        trims: number(item, "trims").unwrap_or(0),
    }
}

/// Which board an item is about.
pub(crate) fn read_note_key(item: &Item) -> Option<BoardKey> {
    let period = item.get("period")?.as_s()?.parse().ok()?;
    Some(BoardKey::new(item.get("game")?.as_s()?, period))
}

fn note_key(board: &BoardKey) -> Item {
    let name = format!("{}#{}", board.game, board.period);
    Item::new().with("pk", "BOARDS").with("sk", name)
}

// Sessions

/// A session that was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) game: String,
    pub(crate) user: String,
    pub(crate) claim: Claim,
    /// The period that the path named.
    pub(crate) period: String,
}

/// Reads whether a session was used.
pub(crate) fn get_spent(sid: &str) -> Get {
    Get::new(ROOM, spent_key(sid))
}

/// Uses a session, if it was not.
pub(crate) fn put_spent(sid: &str, spent: &Spent, forget_at: Timestamp) -> TransactItem {
    let item = spent_key(sid)
        .with("game", spent.game.as_str())
        .with("user", spent.user.as_str())
        .with("score", spent.claim.score)
        .with("timeMs", spent.claim.time_ms)
        .with("period", spent.period.as_str())
        .with("ttl", forget_at.seconds());
    Put::new(ROOM, item).when(attr("pk").not_exists()).into()
}

/// The session in an item.
pub(crate) fn read_spent(item: &Item) -> Option<Spent> {
    let claim = Claim { score: integer(item, "score")?, time_ms: integer(item, "timeMs")? };
    Some(Spent {
        game: text(item, "game")?,
        user: text(item, "user")?,
        claim,
        period: text(item, "period")?,
    })
}

fn spent_key(sid: &str) -> Item {
    Item::new().with("pk", format!("S#{sid}")).with("sk", "SPENT")
}

fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name)?.as_s().map(str::to_owned)
}

fn number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n()?.floor_u64()
}

fn integer(item: &Item, name: &str) -> Option<i64> {
    item.get(name)?.as_n()?.to_i64()
}

fn time(item: &Item, name: &str) -> Option<Timestamp> {
    item.get(name)?.as_s()?.parse().ok()
}

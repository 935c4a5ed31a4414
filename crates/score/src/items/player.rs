//! Players: who owns an id, who may not submit, and rows that a ban took off their boards.

use base::Timestamp;
use table::{
    Check, Condition, Delete, Get, Item, KeyAttribute, KeySpec, Put, Query, TableSpec,
    TransactItem, Update, Value as Stored, attr,
};

use super::{ROOM, integer, number, read_meta, read_note_key, text, time, with_row};
use crate::model::board::{BoardKey, Row};
use crate::model::game::Value;
use crate::model::player::Player;

/// The table of ids.
pub(super) const PLAYERS: &str = "score_players";

/// The digest of a player's secret.
pub(super) const DIGEST: &str = "digest";
const TTL: &str = "ttl";
const BANNED: &str = "bannedAt";

/// The table of ids, for the store to make.
pub(super) fn table() -> TableSpec {
    let key = KeySpec::simple(KeyAttribute::s("userId"));
    TableSpec::new(PLAYERS, key).expiring_by(TTL)
}

/// Reads what is known of an id.
pub(crate) fn get_player(user: &str) -> Get {
    Get::new(PLAYERS, player_key(user))
}

/// What is known of an id, in its item. Of most ids nothing is.
pub(crate) fn read_player(item: Option<&Item>) -> Player {
    let Some(item) = item else { return Player::default() };
    let expires = number(item, TTL).map(|seconds| Timestamp::from_millis(seconds * 1000));
    Player { owner: text(item, DIGEST), expires, is_banned: item.contains(BANNED) }
}

/// Claims an id, if nobody owns it.
pub(crate) fn claim(user: &str, owner: &str, now: Timestamp, until: Timestamp) -> Update {
    let claim = Update::new(PLAYERS, player_key(user))
        .set(DIGEST, owner)
        .set("claimedAt", now.to_string())
        .set(TTL, until.seconds());
    claim.when(is_nobodys(now))
}

/// Lets a claim last longer, if it is still this owner's.
pub(crate) fn prolong(user: &str, owner: &str, until: Timestamp) -> Update {
    let prolonged = Update::new(PLAYERS, player_key(user)).set(TTL, until.seconds());
    prolonged.when(attr(DIGEST).eq(owner).and(attr(TTL).exists()))
}

/// A play may be stored that was begun by this owner, or by nobody in particular. The claim of an
/// owner lasts from now on until `until`.
pub(crate) fn may_play(
    user: &str,
    owner: Option<&str>,
    now: Timestamp,
    until: Timestamp,
) -> TransactItem {
    let is_free = attr(BANNED).not_exists();
    match owner {
        None => Check::new(PLAYERS, player_key(user), is_nobodys(now).and(is_free)).into(),
        Some(owner) => {
            let kept = Update::new(PLAYERS, player_key(user)).set(TTL, until.seconds());
            kept.when(attr(DIGEST).eq(owner).and(is_free)).into()
        }
    }
}

fn is_nobodys(now: Timestamp) -> Condition {
    attr(DIGEST).not_exists().or(attr(TTL).le(now.seconds()))
}

fn player_key(user: &str) -> Item {
    Item::new().with("userId", user)
}

// Bans

/// Everybody who may not submit.
pub(crate) fn query_bans() -> Query {
    Query::new(ROOM, "pk", "BANS").consistent()
}

/// Reads whether a player may not submit.
pub(crate) fn get_ban(user: &str) -> Get {
    Get::new(ROOM, ban_key(user))
}

/// Lets a player submit no more. The claim of the id does not end meanwhile.
pub(crate) fn put_ban(user: &str, reason: &str, now: Timestamp) -> [TransactItem; 2] {
    let item = ban_key(user).with("reason", reason).with("at", now.to_string());
    let player = Update::new(PLAYERS, player_key(user)).set(BANNED, now.to_string()).remove(TTL);
    [Put::new(ROOM, item).into(), player.into()]
}

/// Lets a player submit again, if that was forbidden.
pub(crate) fn delete_ban(user: &str, claimed_until: Timestamp) -> [TransactItem; 2] {
    let ban = Delete::new(ROOM, ban_key(user)).when(attr("pk").exists());
    let player = Update::new(PLAYERS, player_key(user)).remove(BANNED);
    [ban.into(), player.set(TTL, claimed_until.seconds()).into()]
}

/// Who may not submit, and why.
pub(crate) fn read_ban(item: &Item) -> Option<(String, String)> {
    Some((text(item, "sk")?, text(item, "reason")?))
}

fn ban_key(user: &str) -> Item {
    Item::new().with("pk", "BANS").with("sk", user)
}

// Rows that a ban took away

/// A row that was taken off its board.
#[derive(Clone, Debug)]
pub(crate) struct Shelved {
    pub(crate) board: BoardKey,
    pub(crate) row: Row,
    pub(crate) meta: Option<Stored>,
}

/// All rows of a player that were taken off their boards.
pub(crate) fn query_shelved(user: &str) -> Query {
    Query::new(ROOM, "pk", shelf_pk(user)).consistent()
}

/// Reads a row that was taken off its board.
pub(crate) fn get_shelved(board: &BoardKey, user: &str) -> Get {
    Get::new(ROOM, shelf_key(board, user))
}

/// Keeps a row that is taken off its board.
pub(crate) fn put_shelved(shelved: &Shelved) -> TransactItem {
    let Shelved { board, row, meta } = shelved;
    let key = shelf_key(board, &row.user)
        .with("game", board.game.as_str())
        .with("period", board.period.as_str());
    Put::new(ROOM, with_row(key, row, meta.as_ref())).into()
}

/// Forgets a row that is back on its board.
pub(crate) fn delete_shelved(board: &BoardKey, user: &str) -> TransactItem {
    Delete::new(ROOM, shelf_key(board, user)).into()
}

/// The row in an item.
pub(crate) fn read_shelved(user: &str, item: &Item) -> Option<Shelved> {
    let value = Value {
        score: integer(item, "score")?,
        time_ms: integer(item, "timeMs")?,
        updated_at: time(item, "updatedAt")?,
    };
    let (name, ver) = (text(item, "userName")?, number(item, "ver")?);
    let row = Row { user: user.into(), name: name.into(), value, ver };
    Some(Shelved { board: read_note_key(item)?, row, meta: read_meta(item).cloned() })
}

fn shelf_pk(user: &str) -> String {
    format!("SHELF#{user}")
}

fn shelf_key(board: &BoardKey, user: &str) -> Item {
    let place = format!("{}#{}", board.game, board.period);
    Item::new().with("pk", shelf_pk(user)).with("sk", place)
}

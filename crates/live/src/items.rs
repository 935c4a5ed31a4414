//! Where the live room lives. Every name ends with the environment's.
//!
//! ```text
//!   table LiveComment-Rooms        key roomId
//!     index hostId-index           hostId, createdAt              rooms of a host
//!   table LiveComment-Comments     key roomId, commentId          in reading order
//!   table LiveComment-Connections  key connectionId (ephemeral)   who is here, until `ttl`
//!     index roomId-index           roomId                         connections of a room
//!   table LiveComment-Marks
//!   pk           sk                   item
//!   CODE#<code>  CODE                 the room of a join code
//!   TOTAL        TOTAL                what the whole house holds (`items/totals.rs`)
//!   ROOM#<room>  CHANGE#<seq>         what happened to the room besides comments
//!   ROOM#<room>  CLIENT#<key>         the comment that a clientId made, for ten minutes
//!   ROOM#<room>  LIKE#<comment>#<who> that it was liked
//!   ROOM#<room>  SPOKE#<who>          when a participant spoke, in slow mode
//! ```
//!
//! The first three are the seed's; what it has no place for lies in the fourth. A room's item also
//! holds the state of its walls (`items/wall.rs`). Times that people
//! read are ISO 8601, `ttl` is seconds.
//!
//! Invariant: a room's item is only written with the condition that its `seq` is the one that was
//! looked at, and with the next one in it.

pub(crate) mod totals;
mod wall;

use base::{Timestamp, Uuid};
use table::{
    BatchWrite, Check, Condition, Delete, Get, Item, KeyAttribute, KeySpec, Put, Query, Scan,
    Secret, SortCondition, TableSpec, TransactItem, Update, Value, attr,
};

use crate::error::Error;
use crate::limits::{CLIENT_ID_KEPT, ITEMS_PER_READ, LEASE, LIKES_PER_COMMENT_MAX};
use crate::model::{Blocks, Change, ChangeKind, Comment, Moderation, Room, State, Status};

/// A connection's place in a room. A connection that joins again has another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) connection: String,
    pub(crate) room_id: String,
    pub(crate) since: Timestamp,
    /// Which of the connection's seats it is: what is said of an earlier one comes late.
    pub(crate) number: u64,
}

const BY_HOST: &str = "hostId-index";
const BY_ROOM: &str = "roomId-index";

/// What nobody is shown, in every environment: a host is known by `hostId`, and participants by
/// digests that `salt` keeps from being guessed.
pub const SECRETS: &[Secret] = &[Secret::attributes("LiveComment-Rooms-*", &["hostId", "salt"])];

/// The tables of one environment.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    rooms: String,
    comments: String,
    connections: String,
    marks: String,
}

impl Layout {
    /// The tables of this environment.
    pub(crate) fn new(environment: &str) -> Result<Layout, Error> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !(1..=20).contains(&environment.len()) || !environment.bytes().all(fits) {
            let told = format!(
                "live.environment must be 1 to 20 lower-case letters, digits and hyphens, \
                 not `{environment}`"
            );
            return Err(Error::invalid(told));
        }
        let name = |what: &str| format!("LiveComment-{what}-{environment}");
        Ok(Layout {
            rooms: name("Rooms"),
            comments: name("Comments"),
            connections: name("Connections"),
            marks: name("Marks"),
        })
    }

    /// The tables, for the store to make.
    pub(crate) fn tables(&self) -> [TableSpec; 4] {
        let s = KeyAttribute::s;
        [
            TableSpec::new(&self.rooms, KeySpec::simple(s("roomId")))
                .index(BY_HOST, KeySpec::composite(s("hostId"), s("createdAt"))),
            TableSpec::new(&self.comments, KeySpec::composite(s("roomId"), s("commentId"))),
            TableSpec::new(&self.connections, KeySpec::simple(s("connectionId")))
                .index(BY_ROOM, KeySpec::simple(s("roomId")))
                .expiring_by("ttl")
                .ephemeral(),
            TableSpec::new(&self.marks, KeySpec::composite(s("pk"), s("sk"))).expiring_by("ttl"),
        ]
    }

    // Rooms

    /// Reads a room.
    pub(crate) fn get_room(&self, id: &str) -> Get {
        Get::new(&self.rooms, room_key(id))
    }

    /// Reads which room has a code.
    pub(crate) fn get_code(&self, code: &str) -> Get {
        Get::new(&self.marks, code_key(code))
    }

    /// Makes a room under its code, if nobody has the code and the house holds fewer than `max`:
    /// the room, the code, the count.
    pub(crate) fn put_room(&self, room: &Room, max: u64) -> Vec<TransactItem> {
        let code = code_key(&room.code).with("roomId", room.id.as_str());
        vec![
            Put::new(&self.rooms, room_item(room)).when(attr("roomId").not_exists()).into(),
            Put::new(&self.marks, code).when(attr("pk").not_exists()).into(),
            self.count_room(max),
        ]
    }

    /// Changes a room, and notes that it did, if it is still at `seq`.
    pub(crate) fn change_room(&self, room: &Room, seq: u64) -> Vec<TransactItem> {
        let change = Change { seq: room.seq, kind: ChangeKind::Room, comment_id: String::new() };
        vec![
            Put::new(&self.rooms, room_item(room)).when(at(seq)).into(),
            self.put_change(&room.id, &change),
        ]
    }

    /// Removes a room and its code; the rest is removed by whoever hears of it.
    pub(crate) fn delete_room(&self, room: &Room) -> Vec<TransactItem> {
        vec![
            Delete::new(&self.rooms, room_key(&room.id)).when(at(room.seq)).into(),
            Delete::new(&self.marks, code_key(&room.code)).into(),
            self.discount_room(),
        ]
    }

    /// The rooms of a host, newest first, behind a place that [`room_place`] gave.
    pub(crate) fn query_rooms(&self, host_id: &str, after: Option<&str>, limit: u32) -> Query {
        let query = Query::new(&self.rooms, "hostId", host_id);
        let query = query.index(BY_HOST).descending().limit(limit);
        match after.and_then(|place| place.split_once('~')) {
            None => query,
            Some((created_at, id)) => {
                let key = room_key(id).with("hostId", host_id).with("createdAt", created_at);
                query.start_after(key)
            }
        }
    }

    /// All rooms, page by page.
    pub(crate) fn scan_rooms(&self) -> Scan {
        Scan::new(&self.rooms).limit(ITEMS_PER_READ)
    }

    /// The keys of everything of a room that is gone, page by page.
    pub(crate) fn query_remains(&self, room_id: &str) -> [Query; 2] {
        let comments = Query::new(&self.comments, "roomId", room_id)
            .project([attr("roomId"), attr("commentId")]);
        let marks =
            Query::new(&self.marks, "pk", room_pk(room_id)).project([attr("pk"), attr("sk")]);
        [comments.consistent(), marks.consistent()]
    }

    // Comments

    /// Reads a comment.
    pub(crate) fn get_comment(&self, room_id: &str, id: &str) -> Get {
        Get::new(&self.comments, comment_key(room_id, id))
    }

    /// Writes a comment and what is to be remembered of it; together with the room's turn.
    pub(crate) fn put_comment(
        &self,
        room: &Room,
        comment: &Comment,
        retry: Option<&str>,
    ) -> Vec<TransactItem> {
        let mut writes = vec![Put::new(&self.comments, comment_item(comment)).into()];
        if let Some(key) = retry {
            let mark = mark_key(&room.id, &format!("CLIENT#{key}"))
                .with("commentId", comment.id.as_str())
                .with("at", comment.created_at.millis())
                .with("ttl", comment.created_at.seconds() + CLIENT_ID_KEPT.as_secs() + 1);
            writes.push(Put::new(&self.marks, mark).into());
        }
        if room.slow_mode_seconds > 0 && !comment.is_host {
            let mark = mark_key(&room.id, &format!("SPOKE#{}", comment.author))
                .with("at", comment.created_at.millis())
                .with("ttl", comment.created_at.seconds() + room.slow_mode_seconds + 1);
            writes.push(Put::new(&self.marks, mark).into());
        }
        writes
    }

    /// Moves an open room on to its newest comment, if its number is still this one.
    pub(crate) fn turn(&self, room: &Room, seq: u64, now: Timestamp) -> TransactItem {
        Update::new(&self.rooms, room_key(&room.id))
            .set("seq", room.seq)
            .set("lastCommentId", room.last_comment.as_str())
            .set("activeMs", now.millis())
            .when(at(seq).and(attr("status").eq(Status::Open.word())))
            .into()
    }

    /// Reads which comment a `clientId` made.
    pub(crate) fn get_retry(&self, room_id: &str, key: &str) -> Get {
        Get::new(&self.marks, mark_key(room_id, &format!("CLIENT#{key}")))
    }

    /// Reads when a participant spoke.
    pub(crate) fn get_spoke(&self, room_id: &str, author: &str) -> Get {
        Get::new(&self.marks, mark_key(room_id, &format!("SPOKE#{author}")))
    }

    /// Changes a comment, if neither it nor its room changed meanwhile.
    pub(crate) fn change_comment(
        &self,
        room: &Room,
        comment: &Comment,
        change: &Change,
        now: Timestamp,
    ) -> Vec<TransactItem> {
        let turn = Update::new(&self.rooms, room_key(&room.id))
            .set("seq", change.seq)
            .set("activeMs", now.millis());
        let turn = wall::set_pins(turn, &room.wall.pins_after(comment)).when(at(room.seq));
        // Likes grow without a turn of the room, so they are left alone.
        let edit = Update::new(&self.comments, comment_key(&room.id, &comment.id))
            .set("state", comment.state.word())
            .set("pinned", comment.pinned)
            .set("answered", comment.answered)
            .when(attr("commentId").exists());
        vec![turn.into(), edit.into(), self.put_change(&room.id, change)]
    }

    /// Counts a like of a participant who has not liked the comment, if it is shown and the room
    /// open.
    pub(crate) fn put_like(&self, comment: &Comment, author: &str) -> Vec<TransactItem> {
        let open = attr("status").eq(Status::Open.word());
        let count = Update::new(&self.comments, comment_key(&comment.room_id, &comment.id))
            .add("likes", 1_u64)
            .when(
                attr("state").eq(State::Shown.word()).and(attr("likes").lt(LIKES_PER_COMMENT_MAX)),
            );
        let mark = like_key(comment, author);
        vec![
            Check::new(&self.rooms, room_key(&comment.room_id), open).into(),
            count.into(),
            Put::new(&self.marks, mark).when(attr("pk").not_exists()).into(),
        ]
    }

    /// Reads whether a participant has liked a comment.
    pub(crate) fn get_like(&self, comment: &Comment, author: &str) -> Get {
        Get::new(&self.marks, like_key(comment, author))
    }

    /// All comments of a room in reading order.
    pub(crate) fn query_comments(&self, room_id: &str) -> Query {
        Query::new(&self.comments, "roomId", room_id).consistent()
    }

    /// Those between two ids, both left out; nothing if there can be none. Ids as texts are in the
    /// order of their numbers.
    pub(crate) fn query_between(
        &self,
        room_id: &str,
        after: Option<Uuid>,
        before: Option<Uuid>,
    ) -> Option<Query> {
        let first = after.map_or(Some(0), |id| id.as_u128().checked_add(1))?;
        let last = before.map_or(Some(u128::MAX), |id| id.as_u128().checked_sub(1))?;
        let id = |number| Uuid::from_u128(number).to_string();
        let stretch = SortCondition::between(id(first), id(last));
        (first <= last).then(|| self.query_comments(room_id).sort("commentId", stretch))
    }

    /// What happened to a room besides comments behind a number, oldest first.
    pub(crate) fn query_changes(&self, room_id: &str, after: u64, until: u64) -> Query {
        let stretch = SortCondition::between(change_sk(after.saturating_add(1)), change_sk(until));
        Query::new(&self.marks, "pk", room_pk(room_id)).sort("sk", stretch).consistent()
    }

    fn put_change(&self, room_id: &str, change: &Change) -> TransactItem {
        let item = mark_key(room_id, &change_sk(change.seq))
            .with("kind", change.kind.word())
            .with("seq", change.seq)
            .with("commentId", change.comment_id.as_str());
        Put::new(&self.marks, item).into()
    }

    // Connections

    /// Notes that a connection is in a room until its lease ends.
    pub(crate) fn put_connection(&self, seat: &Seat, now: Timestamp) -> Put {
        let item = connection_key(&seat.connection)
            .with("roomId", seat.room_id.as_str())
            .with("timestamp", seat.since.to_string())
            .with("seat", seat.number)
            .with("ttl", now.seconds() + LEASE.as_secs());
        Put::new(&self.connections, item)
    }

    /// Renews the lease of a seat that was not left for another one meanwhile.
    pub(crate) fn renew_connection(&self, seat: &Seat, now: Timestamp) -> Put {
        let is_same = attr("connectionId").not_exists().or(attr("seat").eq(seat.number));
        self.put_connection(seat, now).when(is_same)
    }

    /// Removes the connection of a seat that was not left for another one meanwhile.
    pub(crate) fn delete_connection(&self, seat: &Seat) -> Delete {
        let delete = Delete::new(&self.connections, connection_key(&seat.connection));
        delete.when(attr("seat").eq(seat.number))
    }

    /// Removes a connection whose lease has ended.
    pub(crate) fn delete_lapsed(&self, connection: &str, now: Timestamp) -> Delete {
        let delete = Delete::new(&self.connections, connection_key(connection));
        delete.when(attr("ttl").le(now.seconds()))
    }
}

/// Removes an item by its key.
pub(crate) fn remove(table: &str, key: &Item) -> BatchWrite {
    BatchWrite::Delete { table: table.to_owned(), key: key.clone() }
}

/// The room in an item.
pub(crate) fn read_room(item: &Item) -> Option<Room> {
    Some(Room {
        id: text(item, "roomId")?,
        code: text(item, "code")?,
        name: text(item, "name")?,
        host_id: text(item, "hostId")?,
        salt: text(item, "salt")?,
        status: Status::named(item.get("status")?.as_s()?)?,
        created_at: time(item, "createdAt")?,
        updated_at: time(item, "updatedAt")?,
        active_at: Timestamp::from_millis(number(item, "activeMs")?),
        slow_mode_seconds: number(item, "slowModeSeconds")?,
        moderation: Moderation::named(item.get("moderation")?.as_s()?)?,
        reactions: flag(item, "reactions"),
        paused: flag(item, "paused"),
        blocks: Blocks {
            words: words(item, "blockedWords"),
            users: words(item, "blockedUsers"),
            // Rooms of earlier versions have none.
            version: number(item, "blockedVersion").unwrap_or_default(),
        },
        wall: wall::read_wall(item),
        seq: number(item, "seq")?,
        last_comment: text(item, "lastCommentId")?,
    })
}

/// A room's place in the list of its host.
pub(crate) fn room_place(room: &Room) -> String {
    format!("{}~{}", room.created_at, room.id)
}

/// The room's id in a code's item.
pub(crate) fn read_code(item: &Item) -> Option<String> {
    text(item, "roomId")
}

/// The comment in an item.
pub(crate) fn read_comment(item: &Item) -> Option<Comment> {
    Some(Comment {
        room_id: text(item, "roomId")?,
        id: text(item, "commentId")?,
        content: text(item, "content")?,
        nickname: text(item, "nickname")?,
        created_at: time(item, "createdAt")?,
        seq: number(item, "seq")?,
        state: State::named(item.get("state")?.as_s()?)?,
        answered: flag(item, "answered"),
        pinned: flag(item, "pinned"),
        likes: number(item, "likes")?,
        is_host: flag(item, "isHost"),
        author: text(item, "author")?,
    })
}

/// The id and the number of the comment in an item.
pub(crate) fn read_numbered(item: &Item) -> Option<(Uuid, u64)> {
    Some((Uuid::parse_str(item.get("commentId")?.as_s()?).ok()?, number(item, "seq")?))
}

/// The comment's id in a key of the comments.
pub(crate) fn read_comment_key(key: &Item) -> Option<String> {
    text(key, "commentId")
}

/// The comment's id in a retry's item, if the retry comes in time.
pub(crate) fn read_retry(item: &Item, now: Timestamp) -> Option<String> {
    let at = Timestamp::from_millis(number(item, "at")?);
    text(item, "commentId").filter(|_| now.since(at) < CLIENT_ID_KEPT)
}

/// When a participant spoke.
pub(crate) fn read_spoke(item: &Item) -> Option<Timestamp> {
    number(item, "at").map(Timestamp::from_millis)
}

/// The change in an item.
pub(crate) fn read_change(item: &Item) -> Option<Change> {
    Some(Change {
        seq: number(item, "seq")?,
        kind: ChangeKind::named(item.get("kind")?.as_s()?)?,
        comment_id: text(item, "commentId")?,
    })
}

fn at(seq: u64) -> Condition {
    attr("seq").eq(seq)
}

fn room_item(room: &Room) -> Item {
    let item = room_key(&room.id)
        .with("name", room.name.as_str())
        .with("hostId", room.host_id.as_str())
        .with("status", room.status.word())
        .with("createdAt", room.created_at.to_string())
        .with("updatedAt", room.updated_at.to_string())
        .with("code", room.code.as_str())
        .with("salt", room.salt.as_str())
        .with("activeMs", room.active_at.millis())
        .with("slowModeSeconds", room.slow_mode_seconds)
        .with("moderation", room.moderation.word())
        .with("reactions", room.reactions)
        .with("paused", room.paused)
        .with("blockedWords", list(&room.blocks.words))
        .with("blockedUsers", list(&room.blocks.users))
        .with("blockedVersion", room.blocks.version)
        .with("seq", room.seq)
        .with("lastCommentId", room.last_comment.as_str());
    wall::with_wall(item, &room.wall)
}

fn comment_item(comment: &Comment) -> Item {
    comment_key(&comment.room_id, &comment.id)
        .with("content", comment.content.as_str())
        .with("nickname", comment.nickname.as_str())
        .with("createdAt", comment.created_at.to_string())
        .with("seq", comment.seq)
        .with("state", comment.state.word())
        .with("answered", comment.answered)
        .with("pinned", comment.pinned)
        .with("likes", comment.likes)
        .with("isHost", comment.is_host)
        .with("author", comment.author.as_str())
}

fn room_key(id: &str) -> Item {
    Item::new().with("roomId", id)
}

fn comment_key(room_id: &str, id: &str) -> Item {
    Item::new().with("roomId", room_id).with("commentId", id)
}

fn code_key(code: &str) -> Item {
    Item::new().with("pk", format!("CODE#{code}")).with("sk", "CODE")
}

fn connection_key(id: &str) -> Item {
    Item::new().with("connectionId", id)
}

fn like_key(comment: &Comment, author: &str) -> Item {
    mark_key(&comment.room_id, &format!("LIKE#{}#{author}", comment.id))
}

fn mark_key(room_id: &str, sk: &str) -> Item {
    Item::new().with("pk", room_pk(room_id)).with("sk", sk)
}

fn room_pk(room_id: &str) -> String {
    format!("ROOM#{room_id}")
}

/// Sorted as the numbers are.
fn change_sk(seq: u64) -> String {
    format!("CHANGE#{seq:020}")
}

fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name)?.as_s().map(str::to_owned)
}

fn number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n()?.floor_u64()
}

fn list(texts: &[String]) -> Value {
    Value::L(texts.iter().map(|text| text.as_str().into()).collect())
}

fn words(item: &Item, name: &str) -> Vec<String> {
    match item.get(name) {
        Some(Value::L(list)) => list.iter().filter_map(Value::as_s).map(str::to_owned).collect(),
        Some(_) | None => Vec::new(),
    }
}

fn flag(item: &Item, name: &str) -> bool {
    matches!(item.get(name), Some(Value::Bool(true)))
}

fn time(item: &Item, name: &str) -> Option<Timestamp> {
    item.get(name)?.as_s()?.parse().ok()
}

//! What is pushed to a room, and in which forms.
//!
//! Everything that takes a number of the room is an [`Entry`]. Entries are published as one text
//! with a small head (which numbers, and whether something is taken back), the same on every
//! instance, and rendered once for each form that somebody listens in:
//!
//! ```text
//!   channel      form         who
//!   live.room    V1           {"v":1,"type":…}, or an array of those when there are many
//!   live.room    HOST         the same, with what only the host sees
//!   live.room    EVENTS       V1 with its number before it, for server-sent events
//!   live.room    HOST_EVENTS  HOST with its number before it
//!   live.single  BARE         the seed's: a bare comment object, one by one
//!   live.moment               reactions, likes, viewers: what counts only now, and has no number
//! ```
//!
//! Invariants:
//! - the pushes of a channel have growing numbers, without overlap; so "behind number n" is a
//!   place in its history, and following from there has neither gap nor double;
//! - what has been hidden is not replayed from memory (see [`Head::takes_back`]).

pub(crate) mod stage;

use hub::{ChannelSpec, Hub, Text, View};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::limits::PUSHES_KEPT;
use crate::model::{ChangeKind, Comment, Room, State, Wall};

/// The seed's form.
pub(crate) const BARE: View = View(1);
/// Envelopes.
pub(crate) const V1: View = View(2);
/// Envelopes for the host.
pub(crate) const HOST: View = View(3);
/// Envelopes behind their numbers.
pub(crate) const EVENTS: View = View(4);
/// Envelopes for the host behind their numbers.
pub(crate) const HOST_EVENTS: View = View(5);

/// A comment as others see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownComment {
    /// In which room.
    room_id: String,
    /// Its id, a UUID that grows.
    pub(crate) comment_id: String,
    /// Its text, as text.
    content: String,
    /// Who says it.
    nickname: String,
    /// When.
    created_at: String,
    /// Its number in the room.
    pub(crate) seq: u64,
    /// Whether the host wrote it.
    is_host: bool,
    /// Whether the host has pinned it.
    pinned: bool,
    /// Whether the host has answered it.
    answered: bool,
    /// How many like it.
    likes: u64,
    /// For the host: `SHOWN`, `PENDING` or `HIDDEN`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// For the host: who wrote it, to be blocked by.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
}

impl ShownComment {
    /// As everybody sees it.
    pub(crate) fn of(comment: &Comment) -> ShownComment {
        ShownComment {
            room_id: comment.room_id.clone(),
            comment_id: comment.id.clone(),
            content: comment.content.clone(),
            nickname: comment.nickname.clone(),
            created_at: comment.created_at.to_string(),
            seq: comment.seq,
            is_host: comment.is_host,
            pinned: comment.pinned,
            answered: comment.answered,
            likes: comment.likes,
            state: None,
            author: None,
        }
    }

    /// As the host sees it.
    pub(crate) fn for_host(comment: &Comment) -> ShownComment {
        ShownComment {
            state: Some(comment.state.word().to_owned()),
            author: Some(comment.author.clone()),
            ..ShownComment::of(comment)
        }
    }

    fn is_shown(&self) -> bool {
        self.state.as_deref() == Some(State::Shown.word())
    }

    fn for_all(&self) -> ShownComment {
        ShownComment { state: None, author: None, ..self.clone() }
    }
}

/// A room as everybody sees it: without its host's credential.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownRoom {
    /// Its id.
    pub(crate) room_id: String,
    /// Its name.
    name: String,
    /// `OPEN` or `CLOSED`; pushed also `DELETED`.
    status: String,
    /// When it was opened.
    created_at: String,
    /// When it was last changed.
    updated_at: String,
    /// What participants type in.
    code: String,
    /// Seconds between two comments of a participant.
    slow_mode_seconds: u64,
    /// `off`, or `pre` if comments wait for the host.
    moderation: String,
    /// Whether it takes reactions.
    reactions: bool,
    /// Whether it takes no comments for the moment.
    paused: bool,
    /// What its walls show. Instances of earlier versions do not push it.
    #[serde(default)]
    wall: ShownWall,
    /// The newest number.
    seq: u64,
}

/// What the walls of a room show, as its host has set it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownWall {
    /// Whether they show nothing at all.
    hidden: bool,
    /// Whether comments stand still.
    paused: bool,
    /// How they show the QR code: `auto` (on the full screen until the first comment), `full`,
    /// `corner` or `off`.
    join: String,
    /// The part of the screen in which comments fly: `full`, `top`, `bottom`, `left` or `right`.
    area: String,
    /// The height of letters in hundredths of the screen's height; 0 leaves it to the wall.
    letters: u64,
    /// Ids of pinned comments that are not answered, the newest pin last. The last one is shown.
    pins: Vec<String>,
}

impl ShownWall {
    fn of(wall: &Wall) -> ShownWall {
        ShownWall {
            hidden: wall.hidden,
            paused: wall.paused,
            join: wall.join.word().to_owned(),
            area: wall.area.word().to_owned(),
            letters: wall.letters,
            pins: wall.pins.clone(),
        }
    }
}

impl ShownRoom {
    /// As everybody sees it.
    pub(crate) fn of(room: &Room) -> ShownRoom {
        ShownRoom {
            room_id: room.id.clone(),
            name: room.name.clone(),
            status: room.status.word().to_owned(),
            created_at: room.created_at.to_string(),
            updated_at: room.updated_at.to_string(),
            code: room.code.clone(),
            slow_mode_seconds: room.slow_mode_seconds,
            moderation: room.moderation.word().to_owned(),
            reactions: room.reactions,
            paused: room.paused,
            wall: ShownWall::of(&room.wall),
            seq: room.seq,
        }
    }

    /// What is told when it is no more.
    pub(crate) fn deleted(room: &Room) -> ShownRoom {
        ShownRoom { status: "DELETED".to_owned(), ..ShownRoom::of(room) }
    }
}

/// Something that happened in a room, under its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    body: Body,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Body {
    /// A comment, new or let through. Whether it is shown stands in it.
    Comment(ShownComment),
    /// A comment was hidden.
    Hidden(String),
    /// A hidden comment is shown again.
    Restored(ShownComment),
    Pinned(String, bool),
    Answered(String, bool),
    Room(ShownRoom),
    /// Nothing; says which number is the newest.
    Mark,
}

impl Entry {
    /// A new comment.
    pub(crate) fn comment(comment: &Comment) -> Entry {
        Entry { seq: comment.seq, body: Body::Comment(ShownComment::for_host(comment)) }
    }

    /// A change of a comment, which is as it is now.
    pub(crate) fn change(seq: u64, kind: ChangeKind, comment: &Comment, room: &Room) -> Entry {
        let (shown, id) = (ShownComment::for_host(comment), comment.id.clone());
        let body = match kind {
            ChangeKind::Room => Body::Room(ShownRoom::of(room)),
            ChangeKind::Approved => Body::Comment(shown),
            ChangeKind::Hidden => Body::Hidden(id),
            ChangeKind::Restored => Body::Restored(shown),
            ChangeKind::Pinned => Body::Pinned(id, true),
            ChangeKind::Unpinned => Body::Pinned(id, false),
            ChangeKind::Answered => Body::Answered(id, true),
            ChangeKind::Unanswered => Body::Answered(id, false),
        };
        Entry { seq, body }
    }

    /// A change of the room.
    pub(crate) fn room(seq: u64, room: ShownRoom) -> Entry {
        Entry { seq, body: Body::Room(room) }
    }

    /// Nothing happened, and `seq` is the newest number.
    pub(crate) fn mark(seq: u64) -> Entry {
        Entry { seq, body: Body::Mark }
    }

    /// Whether it is a comment that counts for the pace of a room.
    pub(crate) fn is_comment(&self) -> bool {
        matches!(self.body, Body::Comment(_))
    }

    /// The envelope, or nothing for who must not see it.
    fn envelope(&self, is_host: bool) -> Option<String> {
        let comment = |shown: &ShownComment| {
            let shown = if is_host { shown.clone() } else { shown.for_all() };
            json(&shown)
        };
        let told = match &self.body {
            Body::Comment(shown) if is_host || shown.is_shown() => {
                format!("\"type\":\"comment\",\"comment\":{}", comment(shown))
            }
            Body::Comment(_) | Body::Mark => return None,
            Body::Hidden(id) => {
                format!("\"type\":\"hidden\",\"commentId\":{},\"hidden\":true", json(id))
            }
            Body::Restored(shown) if is_host || shown.is_shown() => {
                let (id, shown) = (json(&shown.comment_id), comment(shown));
                format!(
                    "\"type\":\"hidden\",\"commentId\":{id},\"hidden\":false,\"comment\":{shown}"
                )
            }
            Body::Restored(_) => return None,
            Body::Pinned(id, pinned) => {
                format!("\"type\":\"pinned\",\"commentId\":{},\"pinned\":{pinned}", json(id))
            }
            Body::Answered(id, answered) => {
                format!("\"type\":\"answered\",\"commentId\":{},\"answered\":{answered}", json(id))
            }
            Body::Room(room) => format!("\"type\":\"room\",\"room\":{}", json(room)),
        };
        Some(format!("{{\"v\":1,\"seq\":{},{told}}}", self.seq))
    }

    /// The bare comment, or nothing if it is none that everybody sees. Who listens in this form
    /// hears nothing of hiding, so a comment that is shown again is not told again.
    fn bare(&self) -> Option<String> {
        match &self.body {
            Body::Comment(shown) if shown.is_shown() => Some(json(&shown.for_all())),
            Body::Comment(_)
            | Body::Restored(_)
            | Body::Hidden(_)
            | Body::Pinned(..)
            | Body::Answered(..)
            | Body::Room(_)
            | Body::Mark => None,
        }
    }
}

/// What stands before the entries of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the first entry.
    pub(crate) first: u64,
    /// The number of the last one.
    pub(crate) last: u64,
    /// Whether a comment that was pushed before is hidden by this: who was not here then must not
    /// be told of it from memory, but from the store, where it is known to be hidden.
    pub(crate) takes_back: bool,
}

const HEAD_BYTES: usize = 33;

/// The text of a push.
pub(crate) fn encode(entries: &[Entry]) -> Text {
    let number = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.seq);
    let takes_back = entries.iter().any(|entry| matches!(entry.body, Body::Hidden(_)));
    let (first, last) = (number(entries.first()), number(entries.last()));
    let flag = if takes_back { '-' } else { '+' };
    Text::from(format!("{first:016x}{last:016x}{flag}{}", json(&entries)))
}

/// The head of a push.
pub(crate) fn head(text: &Text) -> Option<Head> {
    let number = |range| u64::from_str_radix(text.as_str().get(range)?, 16).ok();
    let takes_back = text.as_str().get(32..HEAD_BYTES)? == "-";
    Some(Head { first: number(0..16)?, last: number(16..32)?, takes_back })
}

fn decode(text: &Text) -> Option<Vec<Entry>> {
    serde_json::from_str(text.as_str().get(HEAD_BYTES..)?).ok()
}

/// Entries in a form; nothing if there is nothing to tell.
pub(crate) fn render(entries: &[Entry], view: View) -> Option<Text> {
    let envelopes = |is_host| -> Option<String> {
        let told: Vec<String> =
            entries.iter().filter_map(|entry| entry.envelope(is_host)).collect();
        match told.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(format!("[{}]", many.join(","))),
        }
    };
    match view {
        BARE => entries.first().and_then(Entry::bare).map(Text::from),
        HOST => envelopes(true).map(Text::from),
        EVENTS | HOST_EVENTS => {
            let last = entries.last().map_or(0, |entry| entry.seq);
            envelopes(view == HOST_EVENTS).map(|told| Text::from(format!("{last} {told}")))
        }
        _ => envelopes(false).map(Text::from),
    }
}

/// The channel of what is gathered, and that of what comes one by one.
pub(crate) fn channels(hub: &Hub) -> [hub::Channel; 2] {
    ["live.room", "live.single"].map(|name| {
        let spec = ChannelSpec::new(name, PUSHES_KEPT);
        hub.channel(spec.rendered(|text, view| render(&decode(text)?, view)))
    })
}

/// The channel of what counts only now.
pub(crate) fn moments(hub: &Hub) -> hub::Channel {
    hub.channel(ChannelSpec::new("live.moment", hub::History::NONE))
}

/// A value of ours as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts, numbers and lists always have a JSON form")
}

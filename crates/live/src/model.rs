//! Rooms and comments, and what is decided about them.
//!
//! Invariants:
//! - **One number for everything.** Every comment and every change of a room takes the room's next
//!   sequence number, by one commit with the condition that the number is still the one that was
//!   looked at. So closing and posting are decided one after the other, whoever asks.
//! - Comments have growing ids and growing numbers, and both orders are the same one.
//! - Who is the host is decided by the credential alone, compared in constant time.

mod blocks;
#[cfg(test)]
mod fuzz;
mod text;
mod wall;

use std::ops::RangeInclusive;
use std::time::Duration;

use base::{Timestamp, Uuid, hex};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

pub(crate) use self::blocks::{Blocks, ChangeBlocks, ListChange};
pub(crate) use self::text::{ANONYMOUS, Rules};
pub(crate) use self::wall::{ChangeWall, Wall, WallArea, WallJoin};
use crate::error::Error;
use crate::limits::{
    CHANGES_BEHIND_FULL, CLIENT_ID_BYTES_MAX, HOST_ID_BYTES_MAX, HOST_ID_BYTES_MIN, ID_BYTES_MAX,
    PARTICIPANT_BYTES_MAX, REACTIONS, SLOW_MODE_SECONDS_MAX,
};

/// Whether a room takes comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Open,
    Closed,
}

impl Status {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Status::Open => "OPEN",
            Status::Closed => "CLOSED",
        }
    }

    pub(crate) fn named(word: &str) -> Option<Status> {
        [Status::Open, Status::Closed].into_iter().find(|status| status.word() == word)
    }
}

/// When a comment is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moderation {
    /// At once.
    Off,
    /// When the host has let it through.
    Pre,
}

impl Moderation {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Moderation::Off => "off",
            Moderation::Pre => "pre",
        }
    }

    pub(crate) fn named(word: &str) -> Option<Moderation> {
        [Moderation::Off, Moderation::Pre].into_iter().find(|kind| kind.word() == word)
    }
}

/// A room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) id: String,
    /// What participants type in.
    pub(crate) code: String,
    pub(crate) name: String,
    /// The host's credential.
    pub(crate) host_id: String,
    /// Goes into what participants are known by, so that nobody can tell an address from it.
    pub(crate) salt: String,
    pub(crate) status: Status,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    /// When something was last said or changed.
    pub(crate) active_at: Timestamp,
    pub(crate) slow_mode_seconds: u64,
    pub(crate) moderation: Moderation,
    pub(crate) reactions: bool,
    pub(crate) paused: bool,
    pub(crate) blocks: Blocks,
    pub(crate) wall: Wall,
    /// The newest number.
    pub(crate) seq: u64,
    /// The newest comment's id, or nothing.
    pub(crate) last_comment: String,
}

/// What becomes of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Everybody sees it.
    Shown,
    /// It waits for the host.
    Pending,
    /// Only the host sees it.
    Hidden,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            State::Shown => "SHOWN",
            State::Pending => "PENDING",
            State::Hidden => "HIDDEN",
        }
    }

    pub(crate) fn named(word: &str) -> Option<State> {
        [State::Shown, State::Pending, State::Hidden].into_iter().find(|state| state.word() == word)
    }
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) room_id: String,
    pub(crate) id: String,
    pub(crate) content: String,
    pub(crate) nickname: String,
    pub(crate) created_at: Timestamp,
    pub(crate) seq: u64,
    pub(crate) state: State,
    pub(crate) answered: bool,
    pub(crate) pinned: bool,
    pub(crate) likes: u64,
    pub(crate) is_host: bool,
    /// Who wrote it, in a form that says nothing to others and lets the host block them.
    pub(crate) author: String,
}

/// What happened to a room besides its comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) seq: u64,
    pub(crate) kind: ChangeKind,
    /// Of which comment; nothing for the room itself.
    pub(crate) comment_id: String,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The room's settings or status.
    Room,
    /// A comment that waited was let through.
    Approved,
    Hidden,
    Restored,
    Pinned,
    Unpinned,
    Answered,
    Unanswered,
}

impl ChangeKind {
    const ALL: [ChangeKind; 8] = [
        ChangeKind::Room,
        ChangeKind::Approved,
        ChangeKind::Hidden,
        ChangeKind::Restored,
        ChangeKind::Pinned,
        ChangeKind::Unpinned,
        ChangeKind::Answered,
        ChangeKind::Unanswered,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            ChangeKind::Room => "room",
            ChangeKind::Approved => "approved",
            ChangeKind::Hidden => "hidden",
            ChangeKind::Restored => "restored",
            ChangeKind::Pinned => "pinned",
            ChangeKind::Unpinned => "unpinned",
            ChangeKind::Answered => "answered",
            ChangeKind::Unanswered => "unanswered",
        }
    }

    pub(crate) fn named(word: &str) -> Option<ChangeKind> {
        ChangeKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// What it takes to open a room.
#[derive(Clone, Debug)]
pub(crate) struct CreateRoom {
    pub(crate) name: String,
    pub(crate) host_id: String,
}

impl CreateRoom {
    /// The new room.
    pub(crate) fn decide(
        &self,
        id: String,
        code: String,
        salt: String,
        now: Timestamp,
    ) -> Result<Room, Error> {
        check_new_host_id(&self.host_id)?;
        Ok(Room {
            id,
            code,
            name: text::room_name(&self.name)?,
            host_id: self.host_id.clone(),
            salt,
            status: Status::Open,
            created_at: now,
            updated_at: now,
            active_at: now,
            slow_mode_seconds: 0,
            moderation: Moderation::Off,
            reactions: true,
            paused: false,
            blocks: Blocks::default(),
            wall: Wall::default(),
            seq: 0,
            last_comment: String::new(),
        })
    }
}

/// What a host changes. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangeRoom {
    pub(crate) status: Option<Status>,
    pub(crate) slow_mode_seconds: Option<u64>,
    pub(crate) moderation: Option<Moderation>,
    pub(crate) reactions: Option<bool>,
    pub(crate) paused: Option<bool>,
    pub(crate) blocks: ChangeBlocks,
    pub(crate) wall: ChangeWall,
}

/// A comment that somebody wants to say.
#[derive(Clone, Debug)]
pub(crate) struct PostComment {
    pub(crate) content: String,
    pub(crate) nickname: Option<String>,
    /// Makes a retry harmless.
    pub(crate) client_id: Option<String>,
    /// By what the caller is told apart from others.
    pub(crate) participant: String,
    /// The host's credential, if the caller says that it is the host.
    pub(crate) host_id: Option<String>,
}

/// What a host does with a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Hide,
    /// Shows it again, or lets it through.
    Restore,
    Pin(bool),
    Answer(bool),
}

impl Room {
    /// Whether this is the host's credential. How long it takes does not tell where it differs.
    pub(crate) fn is_host(&self, presented: Option<&str>) -> bool {
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        presented.is_some_and(|presented| digest(presented).ct_eq(&digest(&self.host_id)).into())
    }

    /// An error for everybody but the host.
    pub(crate) fn check_host(&self, presented: Option<&str>) -> Result<(), Error> {
        if self.is_host(presented) { Ok(()) } else { Err(Error::NotTheHost) }
    }

    /// What a participant is known by in this room.
    pub(crate) fn author(&self, participant: &str) -> String {
        hashed(&[self.salt.as_bytes(), participant.as_bytes()])
    }

    /// The comment, if the room takes it. `fresh_id` is used if it follows the last one's.
    pub(crate) fn admit(
        &self,
        post: &PostComment,
        rules: &Rules,
        spoke_at: Option<Timestamp>,
        fresh_id: Uuid,
        now: Timestamp,
    ) -> Result<Comment, Error> {
        let content = rules.content(&post.content)?;
        let nickname = text::nickname(post.nickname.as_deref())?;
        let is_host = self.is_host(post.host_id.as_deref());
        if self.status == Status::Closed {
            return Err(Error::Closed);
        }
        if self.seq >= rules.comments_max {
            return Err(Error::RoomFull(rules.comments_max));
        }
        let author = self.author(&post.participant);
        if !is_host {
            if self.paused {
                return Err(Error::Paused);
            }
            self.check_pace(spoke_at, now)?;
        }
        let state = if is_host {
            State::Shown
        } else if self.blocks.users.contains(&author) {
            State::Hidden
        } else if self.moderation == Moderation::Pre || self.blocks.hold([&content, &nickname]) {
            State::Pending
        } else {
            State::Shown
        };
        Ok(Comment {
            room_id: self.id.clone(),
            id: id_behind(&self.last_comment, fresh_id),
            content,
            nickname,
            created_at: now,
            seq: self.seq + 1,
            state,
            answered: false,
            pinned: false,
            likes: 0,
            is_host,
            author,
        })
    }

    /// Slow mode: whether enough time has passed since the participant spoke.
    fn check_pace(&self, spoke_at: Option<Timestamp>, now: Timestamp) -> Result<(), Error> {
        let pause = Duration::from_secs(self.slow_mode_seconds);
        let passed = spoke_at.map_or(pause, |spoke_at| now.since(spoke_at));
        match pause.checked_sub(passed) {
            Some(wait) if !wait.is_zero() => Err(Error::SlowMode { wait }),
            Some(_) | None => Ok(()),
        }
    }

    /// The room as its host wants it.
    pub(crate) fn change(&self, change: &ChangeRoom, now: Timestamp) -> Result<Room, Error> {
        let slow_mode_seconds = change.slow_mode_seconds.unwrap_or(self.slow_mode_seconds);
        if slow_mode_seconds > SLOW_MODE_SECONDS_MAX {
            let told = format!(
                "slowModeSeconds must be between 0 and {SLOW_MODE_SECONDS_MAX}, not {slow_mode_seconds}"
            );
            return Err(Error::invalid(told));
        }
        Ok(Room {
            status: change.status.unwrap_or(self.status),
            slow_mode_seconds,
            moderation: change.moderation.unwrap_or(self.moderation),
            reactions: change.reactions.unwrap_or(self.reactions),
            paused: change.paused.unwrap_or(self.paused),
            blocks: self.blocks.change(&change.blocks)?,
            wall: self.wall.change(&change.wall)?,
            updated_at: now,
            active_at: now,
            seq: self.seq + 1,
            ..self.clone()
        })
    }

    /// An error if the room takes no more changes. A full room still takes some, so that its host
    /// can tidy and close it.
    pub(crate) fn check_change(&self, rules: &Rules) -> Result<(), Error> {
        let max = rules.comments_max.saturating_add(CHANGES_BEHIND_FULL);
        if self.seq >= max { Err(Error::RoomFull(rules.comments_max)) } else { Ok(()) }
    }

    /// An error if the room does not take this reaction.
    pub(crate) fn check_reaction(&self, reaction: &str) -> Result<&'static str, Error> {
        let known = REACTIONS.into_iter().find(|known| *known == reaction);
        let known = known.ok_or_else(|| {
            Error::invalid(format!("reaction must be one of {}", REACTIONS.join(" ")))
        })?;
        match self.status {
            Status::Closed => Err(Error::Closed),
            Status::Open if self.paused => Err(Error::Paused),
            Status::Open if !self.reactions => Err(Error::ReactionsOff),
            Status::Open => Ok(known),
        }
    }
}

impl Comment {
    /// Whether only the host sees it: it waits, or it was hidden. Its author is told this and not
    /// the reason.
    pub(crate) fn is_held(&self) -> bool {
        self.state != State::Shown
    }

    /// The comment after an action, and what kind of change that is; nothing if it is none.
    pub(crate) fn act(&self, action: Action) -> Result<Option<(Comment, ChangeKind)>, Error> {
        let changed = |comment: Comment, kind| Ok(Some((comment, kind)));
        match action {
            Action::Hide if self.state == State::Hidden => Ok(None),
            Action::Hide => {
                changed(Comment { state: State::Hidden, ..self.clone() }, ChangeKind::Hidden)
            }
            Action::Restore => {
                let kind = match self.state {
                    State::Shown => return Ok(None),
                    State::Pending => ChangeKind::Approved,
                    State::Hidden => ChangeKind::Restored,
                };
                changed(Comment { state: State::Shown, ..self.clone() }, kind)
            }
            Action::Pin(pinned) if self.pinned == pinned => Ok(None),
            Action::Answer(answered) if self.answered == answered => Ok(None),
            Action::Pin(true) | Action::Answer(true) if self.state != State::Shown => {
                Err(Error::NotShown)
            }
            Action::Pin(pinned) => {
                let kind = if pinned { ChangeKind::Pinned } else { ChangeKind::Unpinned };
                changed(Comment { pinned, ..self.clone() }, kind)
            }
            Action::Answer(answered) => {
                let kind = if answered { ChangeKind::Answered } else { ChangeKind::Unanswered };
                changed(Comment { answered, ..self.clone() }, kind)
            }
        }
    }
}

/// What a comment with this `clientId` is known by for a while. The participant is part of it: two
/// that number their comments alike do not swallow each other's. So is the text: a client that
/// begins to count again says something new.
pub(crate) fn retry_key(client_id: &str, post: &PostComment) -> Result<String, Error> {
    check_client_id("clientId", client_id)?;
    let nickname = post.nickname.as_deref().unwrap_or_default();
    let parts = [client_id, &post.participant, &post.content, nickname];
    Ok(hashed(&parts.map(str::as_bytes)))
}

/// Whether a text can be a host's credential.
pub(crate) fn check_host_id(host_id: &str) -> Result<(), Error> {
    check_word("hostId", host_id, 1..=HOST_ID_BYTES_MAX)
}

/// Whether a text can be the credential of a new room. Rooms of earlier versions may have shorter
/// ones.
pub(crate) fn check_new_host_id(host_id: &str) -> Result<(), Error> {
    check_word("hostId", host_id, HOST_ID_BYTES_MIN..=HOST_ID_BYTES_MAX)
}

/// Whether a text can be a client's name for a comment.
pub(crate) fn check_client_id(what: &str, text: &str) -> Result<(), Error> {
    check_word(what, text, 1..=CLIENT_ID_BYTES_MAX)
}

/// Whether a text can be a participant, signed or not.
pub(crate) fn check_participant(text: &str) -> Result<(), Error> {
    check_word("the participant", text, 1..=PARTICIPANT_BYTES_MAX)
}

/// Whether a text can be the id of a room or a comment. Longer ones are no keys of a table.
pub(crate) fn check_id(what: &str, id: &str) -> Result<(), Error> {
    if (1..=ID_BYTES_MAX).contains(&id.len()) {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} has {} bytes, 1 to {ID_BYTES_MAX} allowed", id.len())))
}

fn check_word(what: &str, text: &str, bytes: RangeInclusive<usize>) -> Result<(), Error> {
    let is_printed = text.bytes().all(|byte| byte.is_ascii_graphic());
    if !bytes.contains(&text.len()) || !is_printed {
        let (least, most) = (bytes.start(), bytes.end());
        let told =
            format!("{what} must be {least} to {most} printed ASCII characters without spaces");
        return Err(Error::invalid(told));
    }
    Ok(())
}

/// The fresh id, or, if another instance's clock is ahead, the first behind the last one.
fn id_behind(last: &str, fresh: Uuid) -> String {
    match Uuid::parse_str(last) {
        Ok(last) if last >= fresh => Uuid::from_u128(last.as_u128() + 1).to_string(),
        Ok(_) | Err(_) => fresh.to_string(),
    }
}

/// Twenty-four digits that stand for these texts.
pub(crate) fn hashed(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        // Lengths keep the borders: `a` and `bc` are not `ab` and `c`.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    hex(digest.finalize().iter().take(12))
}

#[cfg(test)]
mod tests;

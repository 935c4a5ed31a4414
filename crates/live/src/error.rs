//! What can go wrong in the live room.

use std::time::Duration;

use crate::limits::LIKES_PER_COMMENT_MAX;

/// Why the room did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// There is no such room.
    #[error("there is no room `{0}`")]
    RoomNotFound(String),
    /// There is no such comment in the room.
    #[error("there is no comment `{0}` in the room")]
    CommentNotFound(String),
    /// The room is closed.
    #[error("the room is closed")]
    Closed,
    /// The host has paused the room.
    #[error("the room is paused")]
    Paused,
    /// The caller did not present the credential of the room's host.
    #[error("only the host of the room can do this")]
    NotTheHost,
    /// The participant has liked the comment before.
    #[error("the comment is already liked")]
    AlreadyLiked,
    /// The comment is hidden or waits for the host.
    #[error("the comment is not shown")]
    NotShown,
    /// The room takes no reactions.
    #[error("the room takes no reactions")]
    ReactionsOff,
    /// The room is in slow mode, and the participant has just spoken.
    #[error("the room is in slow mode; the next comment may come in {} s", seconds(*.wait))]
    SlowMode {
        /// How long to wait.
        wait: Duration,
    },
    /// The house holds as many rooms as it may.
    #[error("the house holds {0} rooms and takes no more (`live.rooms_max`)")]
    RoomsFull(u64),
    /// The house holds as many comments as it may.
    #[error("the house holds {0} comments and takes no more (`live.comments_max`)")]
    CommentsFull(u64),
    /// The room holds as many comments as it may.
    #[error("the room holds {0} comments and takes no more (`live.comments_per_room_max`)")]
    RoomFull(u64),
    /// The comment has as many likes as it may.
    #[error("the comment has {LIKES_PER_COMMENT_MAX} likes and takes no more")]
    LikesFull,
    /// Another desk has changed the block lists since they were read.
    #[error("the block lists are at version {newest}, not {version}: read them again")]
    VersionChanged {
        /// The version that was read.
        version: u64,
        /// The version that there is.
        newest: u64,
    },
    /// The keys that sign participants could not be had.
    #[error("the keys that sign participants: {0}")]
    Keys(String),
    /// A value breaks a bound.
    #[error("{0}")]
    Invalid(String),
    /// Too many others changed the room at the same time.
    #[error("the room changes too fast, try again")]
    Contended,
    /// What should happen later could not be noted.
    #[error(transparent)]
    Later(#[from] dispatch::Error),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] table::Error),
}

impl Error {
    /// A value breaks a bound, told in the message.
    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::Invalid(message.into())
    }

    /// The stable word that clients match.
    pub fn code(&self) -> &'static str {
        match self {
            Error::RoomNotFound(_) => "room_not_found",
            Error::CommentNotFound(_) => "comment_not_found",
            Error::Closed => "closed",
            Error::Paused => "paused",
            Error::NotTheHost => "not_the_host",
            Error::AlreadyLiked => "already_liked",
            Error::NotShown => "not_shown",
            Error::ReactionsOff => "reactions_off",
            Error::SlowMode { .. } => "slow_mode",
            Error::RoomsFull(_) => "rooms_full",
            Error::CommentsFull(_) => "comments_full",
            Error::RoomFull(_) => "room_full",
            Error::LikesFull => "likes_full",
            Error::VersionChanged { .. } => "version_changed",
            Error::Invalid(_) => "invalid",
            Error::Contended => "contended",
            Error::Keys(_) | Error::Later(_) | Error::Store(_) => "internal",
        }
    }
}

/// Whole seconds, rounded up: who waits that long has waited long enough.
fn seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

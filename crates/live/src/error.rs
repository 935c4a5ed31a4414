//! What can go wrong in the live room.

use std::time::Duration;

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
            Error::Invalid(_) => "invalid",
            Error::Contended => "contended",
            Error::Later(_) | Error::Store(_) => "internal",
        }
    }
}

/// Whole seconds, rounded up: who waits that long has waited long enough.
fn seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

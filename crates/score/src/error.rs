//! What can go wrong in the score room.

use std::path::PathBuf;

use crate::model::play::Suspicion;

/// Why the room did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value breaks a bound.
    #[error("{0}")]
    Invalid(String),
    /// The room's settings cannot be used.
    #[error("`score.time_zone`: there is no time zone `{0}`")]
    NoSuchZone(String),
    /// The file of games cannot be used at the start.
    #[error("`score.games_file` `{}`: {why}", .path.display())]
    GamesFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The cookie is of another session.
    #[error("the cookie `game_sid` is not that of the tokens")]
    OtherSession,
    /// A token was not made by this house, or is not what it should be.
    #[error("{which} is not valid: {why}")]
    BadToken {
        /// The header that it came in.
        which: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// The play was not signed by who played it.
    #[error("X-Sig does not fit the play")]
    BadSignature,
    /// The play cannot have been as it was told.
    #[error("{0}")]
    Implausible(Suspicion),
    /// Pages of this origin may not submit to the game.
    #[error("the game `{game}` is not played from `{origin}`")]
    OtherOrigin {
        /// The game.
        game: String,
        /// Where the request came from.
        origin: String,
    },
    /// The request did not come through the proxy in front of the house.
    #[error("X-Edge-Auth is missing or not valid")]
    NotThroughTheEdge,
    /// The player may not submit.
    #[error("`{0}` may not submit")]
    Banned(String),
    /// The id is claimed, and the caller has not shown its secret.
    #[error("`{0}` is claimed: X-Player-Secret is missing or not valid")]
    NotOwner(String),
    /// The id has plays of a client that claims nothing.
    #[error("`{0}` was played without a claim and cannot be claimed")]
    PlayerTaken(String),
    /// The game is played with claimed ids only.
    #[error("the game `{0}` is played with claimed ids only")]
    ClaimNeeded(String),
    /// There is no such game.
    #[error("there is no game `{0}`")]
    NoSuchGame(String),
    /// The player is not on the board.
    #[error("`{user}` is not on the board of `{game}` for {period}")]
    NoSuchPlayer {
        /// The game.
        game: String,
        /// The period.
        period: String,
        /// The player.
        user: String,
    },
    /// Nothing stands in the way of the player.
    #[error("`{0}` is not banned")]
    NotBanned(String),
    /// The session was used for another play.
    #[error("the session was already used")]
    Spent,
    /// The month is over and its board is kept as it is.
    #[error("the board of `{game}` for {period} is archived")]
    Archived {
        /// The game.
        game: String,
        /// The period.
        period: String,
    },
    /// Too many others changed the same rows at the same time.
    #[error("the board changes too fast, try again")]
    Contended,
    /// The keys of tokens could not be had.
    #[error("{0}")]
    Keys(String),
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
}

//! What can go wrong in the mesh. The words are the contract's: clients read them.

use base::Timestamp;

/// The word for callers who shall slow down: they were too many, or the store is busy.
pub(crate) const THROTTLED: &str = "ThrottlingException";
/// The word for callers whose write has no room on the disk.
pub(crate) const FULL: &str = "InsufficientStorageException";
/// The word for callers of a store that has stopped writing.
pub(crate) const STOPPED: &str = "ServiceUnavailableException";

/// The word for a failure of the server.
pub(crate) const INTERNAL: &str = "InternalFailure";

/// Why the mesh did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such group.
    #[error("Group not found: {0}")]
    GroupNotFound(String),
    /// The group's time is up.
    #[error("Group expired: {group} (expiresAt: {expires_at})")]
    GroupExpired {
        /// `id@domain`
        group: String,
        /// When it ended.
        expires_at: Timestamp,
    },
    /// The host has not been heard of for too long.
    #[error("Group not found: {0} (heartbeat expired)")]
    HeartbeatExpired(String),
    /// The node has not joined, or was not heard of for too long.
    #[error("Node not found")]
    NodeNotFound,
    /// The caller is not a member of the group.
    #[error("Only members of the group can {0}")]
    NotAMember(&'static str),
    /// The caller is not the host.
    #[error("Only the host can {0}")]
    NotTheHost(&'static str),
    /// A value breaks a bound.
    #[error("{0}")]
    Invalid(String),
    /// The answer would be larger than this many bytes.
    #[error("the answer is larger than {0} bytes; ask for less at once")]
    AnswerTooLarge(usize),
    /// The node calls too often, or the site makes too many groups.
    #[error("Rate exceeded")]
    TooFast,
    /// Too many others changed the same group at the same time.
    #[error("the group changes too fast, try again")]
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

    /// The word that clients match.
    pub fn error_type(&self) -> &'static str {
        match self {
            Error::GroupNotFound(_) | Error::GroupExpired { .. } | Error::HeartbeatExpired(_) => {
                "GroupNotFound"
            }
            Error::NodeNotFound => "NodeNotFound",
            Error::NotAMember(_) | Error::NotTheHost(_) => "Unauthorized",
            Error::Invalid(_) | Error::AnswerTooLarge(_) => "ValidationError",
            Error::Contended => "Contended",
            Error::TooFast => THROTTLED,
            Error::Store(error) | Error::Later(dispatch::Error::Table(error)) => match error {
                table::Error::Throttled(_) => THROTTLED,
                table::Error::DiskFull => FULL,
                table::Error::Stopped(_) => STOPPED,
                _ => INTERNAL,
            },
            Error::Later(_) => INTERNAL,
        }
    }
}

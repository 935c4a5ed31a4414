//! What can go wrong in the collect room.

/// Why the room did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value breaks a bound.
    #[error("{0}")]
    Invalid(String),
    /// The room's settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// There is no such source.
    #[error("there is no source `{0}`")]
    NoSuchSource(String),
    /// A source of that name exists.
    #[error("there is a source `{0}` already")]
    SourceExists(String),
    /// The rows of a deleted source are being removed.
    #[error("source `{0}` is being purged; try again when it is gone")]
    SourcePurged(String),
    /// The source stands in the settings or in the file, where it is changed.
    #[error("source `{0}` stands in the settings or in their file of sources; change it there")]
    SourceFixed(String),
    /// Nothing is asked by default.
    #[error("there is no default source: `collect.base_url` (AI_API_BASE_URL) is not set")]
    NoDefault,
    /// There is no such backfill.
    #[error("there is no backfill `{0}`")]
    NoSuchBackfill(String),
    /// There is no such dead letter.
    #[error("there is no dead letter `{0}`")]
    NoSuchLetter(String),
    /// Too many others changed the same thing at the same time.
    #[error("source `{0}` changes too fast, try again")]
    Contended(String),
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

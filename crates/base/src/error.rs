//! What can go wrong down here. Messages name the value and the bound, never the room that asked:
//! the caller knows which field it was.

use std::time::Duration;

/// A refused value or an elapsed wait.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is shorter than its rule asks.
    #[error("text has {graphemes} characters, at least {min} needed")]
    TextTooShort {
        /// What it has after normalising.
        graphemes: usize,
        /// What it needs.
        min: usize,
    },
    /// The text is longer than its rule allows.
    #[error("text has {graphemes} characters, at most {max} allowed")]
    TextTooLong {
        /// What it has after normalising.
        graphemes: usize,
        /// What it may have.
        max: usize,
    },
    /// The text is within its characters but not within its bytes.
    #[error("text has {bytes} bytes, at most {max} allowed")]
    TextTooManyBytes {
        /// What it has after normalising.
        bytes: usize,
        /// What it may have.
        max: usize,
    },
    /// The text holds a character that its rule refuses.
    #[error("text holds U+{:04X} at byte {at}, a character that is not allowed", u32::from(*.character))]
    TextForbidden {
        /// The character.
        character: char,
        /// Where it stands in the input.
        at: usize,
    },
    /// Not a time that RFC 3339 can say.
    #[error("`{0}` is not a time such as `2026-04-01T09:30:00Z`")]
    NotATime(String),
    /// The wait was longer than allowed.
    #[error("not done within {0:?}")]
    Elapsed(Duration),
}

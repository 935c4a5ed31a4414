//! Errors of base. A message names the value and the limit but not the field: the caller knows the
//! field.

use std::time::Duration;

/// A refused value or a timeout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is shorter than its rule requires.
    #[error("text has {graphemes} characters, at least {min} needed")]
    TextTooShort {
        /// Its length after normalization.
        graphemes: usize,
        /// The required length.
        min: usize,
    },
    /// The text is longer than its rule allows.
    #[error("text has {graphemes} characters, at most {max} allowed")]
    TextTooLong {
        /// Its length after normalization.
        graphemes: usize,
        /// The allowed length.
        max: usize,
    },
    /// The text has few enough characters but too many bytes.
    #[error("text has {bytes} bytes, at most {max} allowed")]
    TextTooManyBytes {
        /// Its size after normalization.
        bytes: usize,
        /// The allowed size.
        max: usize,
    },
    /// The text contains a character that its rule refuses.
    #[error("text holds U+{:04X} at byte {at}, a character that is not allowed", u32::from(*.character))]
    TextForbidden {
        /// The character.
        character: char,
        /// Its byte offset in the input.
        at: usize,
    },
    /// The text is not a time in RFC 3339.
    #[error("`{0}` is not a time such as `2026-04-01T09:30:00Z`")]
    NotATime(String),
    /// The wait took longer than allowed.
    #[error("not done within {0:?}")]
    Elapsed(Duration),
}

//! Errors of dispatch. They know no wire format.

use base::Timestamp;

use crate::limits::{BODY_BYTES_MAX, CONSUMERS_MAX, DUE_MS_MAX, EFFECT_WRITES_MAX, NAME_BYTES_MAX};

/// A failed call.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Table(#[from] table::Error),
    /// The lease ended, or another holder has it, or its message is gone.
    #[error("the lease on `{0}` is over")]
    Lost(String),
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Closing,
    /// The name breaks the rules of names.
    #[error("`{0}` is not a name: 1 to {NAME_BYTES_MAX} of `a-z 0-9 . _ -`")]
    BadName(String),
    /// The name is reserved for the bus.
    #[error("`{0}` is reserved: queue names that begin with `bus.` belong to the fact bus")]
    ReservedName(String),
    /// The queue is already open with other options.
    #[error("queue `{0}` is open with other options")]
    QueueDiffers(String),
    /// The message body is too large.
    #[error("the message body has {0} bytes, at most {BODY_BYTES_MAX} are allowed")]
    BodyTooLarge(usize),
    /// The due time is too far in the future.
    #[error("{0:?} is too far in the future: the last possible time is {DUE_MS_MAX} ms")]
    DueTooFar(Timestamp),
    /// The text is not the id of a message.
    #[error("`{0}` is not the id of a message")]
    BadId(String),
    /// The effect has too many writes.
    #[error("the effect has {0} writes, at most {EFFECT_WRITES_MAX} are allowed")]
    EffectTooLarge(usize),
    /// There are too many consumers.
    #[error("the bus has {CONSUMERS_MAX} consumers already, which is the limit")]
    TooManyConsumers,
    /// A stored or received value cannot be read.
    #[error("cannot read the content: {0}")]
    Misfit(String),
    /// The text is not a schedule.
    #[error("`{text}` is not a schedule: {why}")]
    BadSchedule {
        /// The text.
        text: String,
        /// The reason.
        why: String,
    },
    /// There is no job of this name.
    #[error("no job named `{0}`")]
    NoSuchJob(String),
}

impl Error {
    /// Whether the whole store refuses writes at the moment. The store's own monitor logs such an
    /// outage once, so callers that retry every second need not log it.
    pub fn is_outage(&self) -> bool {
        matches!(self, Error::Table(error) if error.is_outage())
    }
}

/// The failure of a handler, and what happens to its message.
#[derive(Debug)]
pub struct Failed {
    /// For the log and the dead letter.
    pub(crate) reason: String,
    pub(crate) verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Retry,
    RetryAfter(std::time::Duration),
    Bury,
}

impl Failed {
    /// Retries the message, with a longer pause each time. `?` turns an error into this.
    pub fn retry(reason: impl Into<String>) -> Failed {
        Failed { reason: reason.into(), verdict: Verdict::Retry }
    }

    /// Retries the message after `pause`.
    pub fn retry_after(pause: std::time::Duration, reason: impl Into<String>) -> Failed {
        Failed { reason: reason.into(), verdict: Verdict::RetryAfter(pause) }
    }

    /// A retry would not help: the message becomes a dead letter.
    pub fn for_good(reason: impl Into<String>) -> Failed {
        Failed { reason: reason.into(), verdict: Verdict::Bury }
    }
}

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::retry(error.to_string())
    }
}

/// Refuses a name that cannot be part of a key.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
    };
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(Error::BadName(name.to_owned()))
}

//! What can go wrong when something is sent on. Wire-agnostic.

use base::Timestamp;

use crate::limits::{BODY_BYTES_MAX, CONSUMERS_MAX, DUE_MS_MAX, EFFECT_WRITES_MAX, NAME_BYTES_MAX};

/// A failed call.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The store refused.
    #[error(transparent)]
    Table(#[from] table::Error),
    /// The lease ended and somebody else may have it, or what it was for is gone.
    #[error("the lease on `{0}` is over")]
    Lost(String),
    /// The house is closing.
    #[error("the house is closing")]
    Closing,
    /// Not a name.
    #[error("`{0}` is not a name: 1 to {NAME_BYTES_MAX} of `a-z 0-9 . _ -`")]
    BadName(String),
    /// The name is the bus's own.
    #[error("queues named `bus.…` are the bus's own, `{0}` is one")]
    ReservedName(String),
    /// The queue is open with other options.
    #[error("queue `{0}` is open with other options")]
    QueueDiffers(String),
    /// The body is too large.
    #[error("the body has {0} bytes, at most {BODY_BYTES_MAX} allowed")]
    BodyTooLarge(usize),
    /// The time is too far away.
    #[error("{0:?} is too far away: at most {DUE_MS_MAX} ms")]
    DueTooFar(Timestamp),
    /// Not an id of a message.
    #[error("`{0}` is not the id of a message")]
    BadId(String),
    /// The effect has too many writes.
    #[error("the effect has {0} writes, at most {EFFECT_WRITES_MAX} allowed")]
    EffectTooLarge(usize),
    /// There are too many consumers.
    #[error("there are {CONSUMERS_MAX} consumers already")]
    TooManyConsumers,
    /// Not what the reader expected.
    #[error("the content does not fit: {0}")]
    Misfit(String),
    /// Not a schedule.
    #[error("`{text}` is not a schedule: {why}")]
    BadSchedule {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such job.
    #[error("there is no job `{0}`")]
    NoSuchJob(String),
}

impl Error {
    /// Whether no write succeeds at the moment, whoever asks. Whoever watches the store logs that
    /// once; those who try again every second need not.
    pub fn is_outage(&self) -> bool {
        matches!(self, Error::Table(error) if error.is_outage())
    }
}

/// What went wrong in a handler, and what shall become of its message.
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
    /// Try again, later each time; what `?` does with an error.
    pub fn retry(reason: impl Into<String>) -> Failed {
        Failed { reason: reason.into(), verdict: Verdict::Retry }
    }

    /// Try again after `pause`.
    pub fn retry_after(pause: std::time::Duration, reason: impl Into<String>) -> Failed {
        Failed { reason: reason.into(), verdict: Verdict::RetryAfter(pause) }
    }

    /// Trying again would not help: to the dead letters.
    pub fn for_good(reason: impl Into<String>) -> Failed {
        Failed { reason: reason.into(), verdict: Verdict::Bury }
    }
}

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::retry(error.to_string())
    }
}

/// Refuses what cannot stand in a key.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
    };
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(Error::BadName(name.to_owned()))
}

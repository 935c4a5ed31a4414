//! How large an answer may be.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;
use crate::limits::ANSWER_BYTES_MAX;

/// What one answer may still take. All fields of a request share it, and stop when it is used up.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// Bytes that verbs have read for the answer.
    read: AtomicUsize,
    /// Bytes of the answer.
    written: AtomicUsize,
}

impl Budget {
    /// Takes bytes that were read for the answer.
    pub(crate) fn read(&self, bytes: usize) -> Result<(), Error> {
        take(&self.read, bytes)
    }

    /// Takes bytes of the answer itself.
    pub(crate) fn write(&self, bytes: usize) -> Result<(), Error> {
        take(&self.written, bytes)
    }

    /// Whether something was refused.
    pub(crate) fn check(&self) -> Result<(), Error> {
        take(&self.read, 0)?;
        take(&self.written, 0)
    }
}

fn take(taken: &AtomicUsize, bytes: usize) -> Result<(), Error> {
    let before = taken.fetch_add(bytes, Ordering::Relaxed);
    if before.saturating_add(bytes) > ANSWER_BYTES_MAX {
        return Err(Error::AnswerTooLarge(ANSWER_BYTES_MAX));
    }
    Ok(())
}

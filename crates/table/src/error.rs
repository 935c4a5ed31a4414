//! What can go wrong with a table. Wire-agnostic: the edge and the door map these facts.

use crate::value::Item;

/// A failed call.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The request breaks a rule of the data model.
    #[error("{0}")]
    Invalid(String),
    /// The condition did not hold. The item is there when the call asked for it.
    #[error("the condition did not hold")]
    ConditionFailed {
        /// The item as it was, if asked for and present.
        item: Option<Box<Item>>,
    },
    /// A transaction did nothing; one reason for each of its items, in order.
    #[error("the transaction was cancelled: {}", list_reasons(.reasons))]
    TransactionCanceled {
        /// Why, item by item; `CancelReason::None` where that item was not at fault.
        reasons: Vec<CancelReason>,
    },
    /// The idempotency token was used with another request.
    #[error("the idempotency token was already used with another request")]
    TokenMismatch,
    /// There is no such table.
    #[error("there is no table `{0}`")]
    NoSuchTable(String),
    /// There is no such index.
    #[error("table `{table}` has no index `{index}`")]
    NoSuchIndex {
        /// The table.
        table: String,
        /// The index asked for.
        index: String,
    },
    /// A table of that name exists, declared otherwise.
    #[error("table `{0}` exists with another declaration")]
    TableDiffers(String),
    /// The backend cannot keep up; the caller may try again.
    #[error("the store is busy: {0}")]
    Throttled(String),
    /// The disk is full; nothing was written.
    #[error("the disk is full: nothing was written")]
    DiskFull,
    /// The writer has stopped for good after a failed write or sync; reads go on.
    #[error("the store has stopped writing: {0}")]
    Stopped(String),
    /// A file is damaged.
    #[error("`{file}` is damaged at byte {offset}: {what}")]
    Corrupt {
        /// The file's name inside the data directory.
        file: String,
        /// Where.
        offset: u64,
        /// How it shows.
        what: String,
    },
    /// The log no longer reaches back so far.
    #[error("changes behind {after} are no longer kept; the log begins behind change {oldest}")]
    TooOld {
        /// Where the reader wanted to go on.
        after: u64,
        /// Where the log begins.
        oldest: u64,
    },
    /// Another process has the data directory open.
    #[error("`{0}` is in use by another process")]
    InUse(String),
    /// The data directory was written by another version.
    #[error("`{path}` has format `{found}`, this version knows `{known}`")]
    UnknownFormat {
        /// The data directory.
        path: String,
        /// What it says.
        found: String,
        /// What this version writes.
        known: String,
    },
    /// Input or output failed.
    #[error("{context}: {cause}")]
    Io {
        /// What was tried.
        context: String,
        /// What the system said.
        cause: String,
    },
}

/// Why one item of a transaction stood in its way.
#[derive(Debug, Clone, PartialEq)]
pub enum CancelReason {
    /// It did not.
    None,
    /// Its condition did not hold. The item is there when the call asked for it.
    ConditionFailed {
        /// The item as it was, if asked for and present.
        item: Option<Box<Item>>,
    },
    /// It breaks a rule of the data model.
    Invalid(String),
}

impl CancelReason {
    /// DynamoDB's word for the reason.
    pub fn code(&self) -> &'static str {
        match self {
            CancelReason::None => "None",
            CancelReason::ConditionFailed { .. } => "ConditionalCheckFailed",
            CancelReason::Invalid(_) => "ValidationError",
        }
    }
}

impl Error {
    /// Whether a condition failed, and nothing worse: what was decided on has changed meanwhile.
    pub fn is_lost_race(&self) -> bool {
        match self {
            Error::ConditionFailed { .. } => true,
            Error::TransactionCanceled { reasons } => reasons.iter().all(|reason| match reason {
                CancelReason::None | CancelReason::ConditionFailed { .. } => true,
                CancelReason::Invalid(_) => false,
            }),
            _ => false,
        }
    }

    /// Whether no write succeeds at the moment, whoever asks. Whoever watches the store logs that
    /// once; callers need not.
    pub fn is_outage(&self) -> bool {
        matches!(self, Error::DiskFull | Error::Stopped(_))
    }

    /// A broken rule, in words.
    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::Invalid(message.into())
    }

    /// A failed system call with what was tried. A full disk and a want of file descriptors are told
    /// apart, because both pass. A quota that is used up and a limit on the size of files are the
    /// same to a caller: there is no room.
    pub(crate) fn io(context: impl Into<String>, cause: &std::io::Error) -> Error {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match cause.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Error::DiskFull,
            _ if is_out_of_descriptors(cause) => {
                Error::Throttled(format!("{}: {cause}", context.into()))
            }
            _ => Error::Io { context: context.into(), cause: cause.to_string() },
        }
    }
}

fn list_reasons(reasons: &[CancelReason]) -> String {
    reasons.iter().map(CancelReason::code).collect::<Vec<_>>().join(", ")
}

/// Whether something failed because the process or the system has no file descriptor left.
pub(crate) fn is_out_of_descriptors(cause: &std::io::Error) -> bool {
    matches!(cause.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

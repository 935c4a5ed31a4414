//! The things that a test must not leave behind, in a world or in a server process.

/// A thing that a test may leave behind if it allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// Messages that are due and not handled.
    Jobs,
    /// Messages that became dead letters.
    DeadLetters,
    /// Subscriptions that nobody reads.
    Subscribers,
    /// Tasks that panicked or do not end.
    Tasks,
    /// Lines of level ERROR in the log of a process.
    Errors,
}

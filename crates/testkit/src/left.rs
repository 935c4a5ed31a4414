//! What a test must not leave behind, in a world and in a house that is a process.

/// What a test may leave behind if it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// Messages that are due and that nobody has handled.
    Jobs,
    /// Messages that were given up.
    DeadLetters,
    /// Subscriptions that nobody reads.
    Subscribers,
    /// Tasks that panicked or do not end.
    Tasks,
    /// Lines of level ERROR in the log of a process.
    Errors,
}

//! What the hub refuses.

/// A refused subscription or a position that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The subscriber follows as many topics as it may.
    #[error("a subscriber follows at most {max} topics")]
    TooManySubscriptions {
        /// The bound.
        max: usize,
    },
    /// The name of a topic is too long.
    #[error("the topic's name has {bytes} bytes, at most {max} allowed")]
    TopicTooLong {
        /// What it has.
        bytes: usize,
        /// What it may have.
        max: usize,
    },
    /// Nobody reads this subscriber's queue any more.
    #[error("the subscriber is closed")]
    Closed,
    /// Not a position, or not a list of them.
    #[error("`{0}` is not a position such as `5f3a-17`")]
    NotAPosition(String),
}

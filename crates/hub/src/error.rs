//! Errors of the hub.

/// A refused subscription or an invalid position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The subscriber has as many subscriptions as it may have.
    #[error("a subscriber follows at most {max} topics")]
    TooManySubscriptions {
        /// The limit.
        max: usize,
    },
    /// The name of a topic is too long.
    #[error("the topic's name has {bytes} bytes, at most {max} allowed")]
    TopicTooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The reading end of the subscriber is closed.
    #[error("the subscriber is closed")]
    Closed,
    /// The text is not a position or a list of positions.
    #[error("`{0}` is not a position such as `5f3a-17`")]
    NotAPosition(String),
}

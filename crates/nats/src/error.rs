//! Why there can be no carrier, whatever the server does.

/// Settings that no server can satisfy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not an address.
    #[error("`{url}` is not a NATS server such as `nats://127.0.0.1:4222`: {cause}")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The address has a name or a password in it, which would be shown wherever it is.
    #[error(
        "the address of NATS must not hold a name or a password; set hub.nats_user and hub.nats_password"
    )]
    SecretInAddress,
    /// A name without a password, or the other way round.
    #[error("hub.nats_user and hub.nats_password belong together")]
    HalfSignIn,
    /// Not a name for a stream.
    #[error("`{0}` cannot begin a subject: 1 to {max} letters, digits, `-` and `_`", max = crate::limits::PREFIX_BYTES_MAX)]
    Prefix(String),
    /// The certificates cannot be used.
    #[error("cannot prepare the connection to NATS: {0}")]
    Connection(String),
}

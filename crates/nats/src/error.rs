//! Settings that no server can satisfy.

/// Settings that cannot be used with any server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL is not the address of a NATS server.
    #[error("`{url}` is not a NATS server such as `nats://127.0.0.1:4222`: {cause}")]
    Address {
        /// The URL.
        url: String,
        /// The reason.
        cause: String,
    },
    /// The address contains a name or a password, which would then be shown together with it.
    #[error(
        "the address of NATS must not hold a name or a password; set hub.nats_user and hub.nats_password"
    )]
    SecretInAddress,
    /// There is a name without a password, or a password without a name.
    #[error("hub.nats_user and hub.nats_password belong together")]
    HalfSignIn,
    /// The prefix cannot be the name of a stream.
    #[error("`{0}` cannot begin a subject: 1 to {max} letters, digits, `-` and `_`", max = crate::limits::PREFIX_BYTES_MAX)]
    Prefix(String),
    /// The certificates cannot be used.
    #[error("cannot prepare the connection to NATS: {0}")]
    Connection(String),
}

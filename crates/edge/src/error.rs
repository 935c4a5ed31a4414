//! What can go wrong behind the door. What a caller is told is `failure.rs`.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What can go wrong with a server, and with what it guards itself by.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// A house that should be open does not answer.
    #[error("no house answers on {address}: {cause}")]
    NoAnswer {
        /// Where it should be.
        address: SocketAddr,
        /// What happened instead.
        cause: io::Error,
    },
    /// A certificate without its key, or a key without its certificate.
    #[error("`{missing}` is missing: TLS needs a certificate and its key")]
    TlsHalf {
        /// The setting that is not there.
        missing: &'static str,
    },
    /// A file for TLS cannot be used.
    #[error("cannot use `{}` for TLS: {what}", .path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file with the operator's first password cannot be used.
    #[error("`operator.password_file`: `{}`: {what}", .path.display())]
    PasswordFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Time was over before all was done.
    #[error("requests still under way after {within:?}: {}", .left.join(", "))]
    Drain {
        /// How long they had.
        within: Duration,
        /// What is still running.
        left: Vec<String>,
    },
    /// The tables behind it failed.
    #[error(transparent)]
    Store(#[from] table::Error),
    /// A key cannot have that name.
    #[error("`{0}` cannot name a key: 1 to 40 of `a-z 0-9 -`, a letter or digit first")]
    KeyName(String),
    /// A key cannot have that scope.
    #[error("`{0}` is no scope: 1 to 64 of `a-z 0-9 - :`, such as `mesh` or `collect:write`")]
    KeyScope(String),
    /// No room asks for that scope.
    #[error("no room knows the scope `{scope}`; there are {}", crate::keys::SCOPES.join(", "))]
    UnknownScope {
        /// The scope.
        scope: String,
    },
    /// A key that may do nothing, or too many things.
    #[error("a new key needs 1 to {max} scopes, not {count}")]
    KeyScopes {
        /// How many were given.
        count: usize,
        /// How many may be.
        max: usize,
    },
    /// A key's second secret was to have other scopes.
    #[error("key `{name}` exists with the scopes {}; leave them out, or take another name", .scopes.join(", "))]
    KeyDiffers {
        /// The key.
        name: String,
        /// What it may do.
        scopes: Vec<String>,
    },
    /// A key has as many secrets as it may.
    #[error("key `{name}` has {max} valid secrets; revoke one of them first")]
    KeyFull {
        /// The key.
        name: String,
        /// How many it may have.
        max: usize,
    },
    /// A key was to end before it begins.
    #[error("a key cannot expire at {0}, which has come")]
    KeyExpired(base::Timestamp),
    /// There is no such key, or no such secret of it.
    #[error("there is no key `{0}`")]
    NoSuchKey(String),
    /// Others changed the same thing again and again.
    #[error("{what} was changed by others {tries} times in a row; try again")]
    Contended {
        /// What it is.
        what: String,
        /// How often it was tried.
        tries: u32,
    },
    /// A ring of keys is gone while it is in use.
    #[error("there is no key ring `{0}` any more")]
    NoSuchRing(String),
    /// A ring of keys was turned more often than its old keys may be forgotten.
    #[error("ring `{name}` keeps {max} old keys that may still be in use; turn it later")]
    RingFull {
        /// The ring.
        name: String,
        /// How many old keys it keeps.
        max: usize,
    },
}

impl Error {
    /// Whether no write succeeds at the moment, whoever asks. Readiness logs that once.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self, Error::Store(error) if error.is_outage())
    }
}

//! What can go wrong in the sns room.

use std::time::Duration;

/// Why the room did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value breaks a bound.
    #[error("{0}")]
    Invalid(String),
    /// The room's settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The e-mail address has an account.
    #[error("the e-mail address has an account already")]
    EmailTaken,
    /// Somebody is called so.
    #[error("the username `{0}` is taken")]
    UsernameTaken(String),
    /// The identity of another issuer has an account.
    #[error("the identity has an account already")]
    IdentityTaken,
    /// Nobody may register.
    #[error("registration is closed")]
    RegistrationClosed,
    /// The code is none, or was used.
    #[error("the invitation is not valid")]
    InviteInvalid,
    /// Address and password do not fit, whichever of them is wrong.
    #[error("the e-mail address or the password is wrong")]
    LoginFailed,
    /// There were too many failed log-ins.
    #[error("too many failed log-ins; try again in {} s", .wait.as_secs())]
    TooManyFailures {
        /// When to try again.
        wait: Duration,
    },
    /// Too many passwords are being checked.
    #[error("too many passwords are being checked; try again in {} s", .wait.as_secs())]
    Busy {
        /// When to try again.
        wait: Duration,
    },
    /// The token is not to be believed, or its session is over.
    #[error("the token is not valid")]
    TokenInvalid,
    /// The present password was not given rightly.
    #[error("the present password is wrong")]
    PasswordWrong,
    /// It is somebody else's.
    #[error("this belongs to somebody else")]
    NotYours,
    /// One of the two has blocked the other.
    #[error("this user cannot be reached")]
    Blocked,
    /// There is no such user.
    #[error("there is no user `{0}`")]
    NoSuchUser(String),
    /// There is no such post.
    #[error("there is no post `{0}`")]
    NoSuchPost(String),
    /// Nobody follows oneself.
    #[error("you cannot follow yourself")]
    Oneself,
    /// The user is followed.
    #[error("you follow this user already")]
    AlreadyFollowing,
    /// The user is not followed.
    #[error("you do not follow this user")]
    NotFollowing,
    /// The post is liked.
    #[error("you like this post already")]
    AlreadyLiked,
    /// The post is not liked.
    #[error("you do not like this post")]
    NotLiked,
    /// Too many others changed the same things at the same time.
    #[error("too much happens here at once, try again")]
    Contended,
    /// The keys of tokens could not be had.
    #[error("{0}")]
    Keys(String),
    /// A fact could not be told or read.
    #[error(transparent)]
    Facts(#[from] dispatch::Error),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] table::Error),
}

impl Error {
    /// A value breaks a bound, told in the message.
    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::Invalid(message.into())
    }
}

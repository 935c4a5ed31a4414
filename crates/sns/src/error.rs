//! What can go wrong in the sns room.

use std::time::Duration;

use crate::limits::{
    BATCH_MAX, CONTENT_BYTES_MAX, EMAIL_BYTES_MAX, FOLLOWING_MAX, NAME_HELD, PASSWORD_LETTERS,
    RENAMES_MAX, USERNAME_LETTERS,
};

/// Units of a wait: seconds, minutes, hours, days.
const UNITS: [&str; 4] = [" s", " min", " h", " days"];

/// A wait in the largest unit of which it has two or more, rounded up: a caller that comes a moment
/// early would only be refused again.
pub(crate) fn spelled(wait: Duration, [seconds, minutes, hours, days]: [&str; 4]) -> String {
    let larger = [(86_400, days), (3_600, hours), (60, minutes)];
    let mut fits = larger.into_iter().filter(|(length, _)| wait.as_secs() >= 2 * length);
    let (length, unit) = fits.next().unwrap_or((1, seconds));
    format!("{}{unit}", wait.as_millis().div_ceil(u128::from(length) * 1_000))
}

/// Why the room did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value breaks a bound.
    #[error(transparent)]
    Invalid(#[from] Flaw),
    /// The room's settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The e-mail address has an account.
    #[error("the e-mail address has an account already")]
    EmailTaken,
    /// Somebody is called so.
    #[error("the username `{0}` is taken, or looks like one that is")]
    UsernameTaken(String),
    /// The name speaks for the house.
    #[error("the username `{0}` is reserved")]
    UsernameReserved(String),
    /// Its former owner gave the name up lately.
    #[error("the username `{0}` was given up lately, and is held for its former owner")]
    UsernameHeld(String),
    /// The user changed its name too often.
    #[error(
        "you changed your username {RENAMES_MAX} times in {} days; try again in {}",
        NAME_HELD.as_secs() / 86_400, spelled(*.wait, UNITS)
    )]
    RenamedTooOften {
        /// When to try again.
        wait: Duration,
    },
    /// The identity of another issuer has an account.
    #[error("the identity has an account already")]
    IdentityTaken,
    /// Nobody may register.
    #[error("registration is closed")]
    RegistrationClosed,
    /// The house holds as many accounts as it may.
    #[error("the house holds {0} accounts and takes no more (`sns.accounts_max`)")]
    AccountsFull(u64),
    /// The code is none, or was used.
    #[error("the invitation is not valid")]
    InviteInvalid,
    /// Address and password do not fit, whichever of them is wrong.
    #[error("the e-mail address or the password is wrong")]
    LoginFailed,
    /// There were too many wrong passwords.
    #[error("too many wrong passwords; try again in {}", spelled(*.wait, UNITS))]
    TooManyFailures {
        /// When to try again.
        wait: Duration,
    },
    /// Too many passwords are being checked.
    #[error("too many passwords are being checked; try again in {}", spelled(*.wait, UNITS))]
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
    /// The hub did not take a listener.
    #[error(transparent)]
    Hub(#[from] hub::Error),
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

/// Which bound a value breaks. The room says it in every language.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    /// A text is too long or too short.
    #[error("{field}: {error}")]
    Text {
        /// What it is the text of.
        field: &'static str,
        /// What is wrong with it.
        error: base::Error,
    },
    /// A post has too many bytes, though few of them can be seen.
    #[error("content has {0} bytes, at most {CONTENT_BYTES_MAX} allowed")]
    ContentTooLarge(usize),
    /// It is no username.
    #[error(
        "username must be {least} to {most} letters of `A-Z a-z 0-9 _ -`, not `{0}`",
        least = USERNAME_LETTERS.start(), most = USERNAME_LETTERS.end()
    )]
    Username(String),
    /// It is no e-mail address.
    #[error(
        "email must be an address such as `ada@example.org` of at most {EMAIL_BYTES_MAX} bytes"
    )]
    Email,
    /// The password is too short or too long.
    #[error(
        "password has {0} letters, {least} to {most} are allowed",
        least = PASSWORD_LETTERS.start(), most = PASSWORD_LETTERS.end()
    )]
    Password(usize),
    /// The e-mail address stays.
    #[error("email cannot be changed")]
    EmailFixed,
    /// A password is not part of a profile.
    #[error("a password is changed by `PUT /sns/v1/auth/password`")]
    PasswordElsewhere,
    /// A new account needs names.
    #[error("email and username are needed the first time")]
    NamesMissing,
    /// It is no place in the list.
    #[error("`{0}` is no cursor of this list")]
    Cursor(String),
    /// Two ways to say where a list begins.
    #[error("either cursor or offset, not both")]
    TwoBeginnings,
    /// A number is out of its range.
    #[error("{name} must be from {least} to {most}, not `{text}`")]
    Range {
        /// What is counted.
        name: &'static str,
        /// The least that is allowed.
        least: usize,
        /// The most that is allowed.
        most: usize,
        /// What was said.
        text: String,
    },
    /// A batch is empty or too large.
    #[error("{name} has {count} ids, 1 to {BATCH_MAX} are allowed")]
    Batch {
        /// What the ids are of.
        name: &'static str,
        /// How many there are.
        count: usize,
    },
    /// The user follows as many as one may.
    #[error("you follow {FOLLOWING_MAX} users, which is the most")]
    FollowsTooMany,
    /// It was asked for about oneself.
    #[error("this can only be done to somebody else")]
    OnlyOthers,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{UNITS, spelled};

    #[test]
    fn a_wait_is_rounded_up_and_never_a_long_row_of_seconds() {
        let said = |ms| spelled(Duration::from_millis(ms), UNITS);
        assert_eq!((said(300), said(59_001)), ("1 s".to_owned(), "60 s".to_owned()));
        assert_eq!((said(119_000), said(121_000)), ("119 s".to_owned(), "3 min".to_owned()));
        assert_eq!(
            (said(7_200_000), said(2_591_999_000)),
            ("2 h".to_owned(), "30 days".to_owned())
        );
    }
}

//! Users, what may be typed about them, and their sessions.
//!
//! Invariants: a username and an e-mail address name one user whatever their case. A session ends
//! when nobody has refreshed it for a day, or after a month, whichever comes first.

#[cfg(test)]
mod fuzz;

use std::time::Duration;

use base::Timestamp;

use super::UserId;
use super::names::check_new_username;
use crate::error::{Error, Flaw};
use crate::limits::{
    BIO, DISPLAY_NAME, EMAIL_BYTES_MAX, FAILURES_SPAN, GUESS_DELAY, GUESSES_KEPT, PASSWORD_LETTERS,
    SESSION_IDLE, SESSION_LIFE, USERNAME_LETTERS,
};

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) id: UserId,
    /// As it was typed; shown to the user alone.
    pub(crate) email: String,
    /// As it was typed.
    pub(crate) username: String,
    pub(crate) display_name: String,
    pub(crate) bio: String,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
}

/// What stands beside a user's posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) id: UserId,
    pub(crate) username: String,
    pub(crate) display_name: String,
}

impl User {
    /// What stands beside its posts.
    pub(crate) fn card(&self) -> Card {
        let User { id, username, display_name, .. } = self.clone();
        Card { id, username, display_name }
    }

    /// The user with what it wants to be called, and how it describes itself.
    pub(crate) fn changed(&self, change: &Change, now: Timestamp) -> Result<User, Error> {
        let mut user = self.clone();
        if change.email.as_ref().is_some_and(|email| fold(email) != fold(&self.email)) {
            return Err(Flaw::EmailFixed.into());
        }
        if let Some(username) = change.username.as_ref().filter(|name| **name != self.username) {
            user.username = check_new_username(username)?;
        }
        if let Some(name) = &change.display_name {
            user.display_name = applied("displayName", DISPLAY_NAME.apply(name))?;
        }
        if let Some(bio) = &change.bio {
            user.bio = applied("bio", BIO.apply(bio))?;
        }
        // Later than before also when both are of one millisecond, or the clock went back.
        user.updated = now.max(Timestamp::from_millis(self.updated.millis() + 1));
        Ok(user)
    }
}

/// What a user changes about itself; what is not said stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) username: Option<String>,
    pub(crate) display_name: Option<String>,
    pub(crate) bio: Option<String>,
    /// It cannot be changed; the one that the user has is taken for no change.
    pub(crate) email: Option<String>,
}

fn applied(field: &'static str, text: Result<String, base::Error>) -> Result<String, Error> {
    text.map_err(|error| Flaw::Text { field, error }.into())
}

/// The form under which names are one.
pub(crate) fn fold(text: &str) -> String {
    text.to_lowercase()
}

/// A username: it stands in addresses and is read aloud.
pub(crate) fn check_username(text: &str) -> Result<String, Error> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if USERNAME_LETTERS.contains(&text.len()) && text.bytes().all(fits) {
        return Ok(text.to_owned());
    }
    Err(Flaw::Username(text.to_owned()).into())
}

/// An e-mail address, as far as its form tells: something before and behind one `@`.
pub(crate) fn check_email(text: &str) -> Result<String, Error> {
    let text = text.trim();
    let has_form = text
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
    let is_plain = !text.chars().any(|letter| letter.is_whitespace() || letter.is_control());
    if has_form && is_plain && text.len() <= EMAIL_BYTES_MAX {
        return Ok(text.to_owned());
    }
    Err(Flaw::Email.into())
}

/// A password of a length that is neither guessed nor dear.
pub(crate) fn check_password(text: &str) -> Result<(), Error> {
    let letters = text.chars().count();
    if PASSWORD_LETTERS.contains(&letters) {
        return Ok(());
    }
    Err(Flaw::Password(letters).into())
}

/// A log-in that lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) user: UserId,
    pub(crate) id: String,
    /// The digest of the one refresh token that is good.
    pub(crate) refresh: String,
    pub(crate) created: Timestamp,
    /// When it was last refreshed.
    pub(crate) used: Timestamp,
}

impl Session {
    /// When it is over unless it is refreshed.
    pub(crate) fn ends(&self) -> Timestamp {
        later(self.used, SESSION_IDLE).min(later(self.created, SESSION_LIFE))
    }

    /// Whether it is good.
    pub(crate) fn is_good(&self, now: Timestamp) -> bool {
        now < self.ends()
    }
}

/// Failed guesses at passwords. A guess counts as failed before it is looked at, so that many at
/// once are no more than one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failures {
    pub(crate) count: u64,
    /// When the last one was.
    pub(crate) last: Timestamp,
    /// Until when they count.
    pub(crate) until: Timestamp,
}

impl Failures {
    /// No failures.
    pub(crate) const NONE: Failures =
        Failures { count: 0, last: Timestamp::EPOCH, until: Timestamp::EPOCH };

    /// Those that still count.
    pub(crate) fn counting(self, now: Timestamp) -> Failures {
        if now < self.until { self } else { Failures::NONE }
    }

    /// How long the next guess at one account is refused, if it is: from `max` failures on each
    /// doubles the delay, up to the longest.
    pub(crate) fn delay(&self, max: u64, longest: Duration, now: Timestamp) -> Option<Duration> {
        let Failures { count, last, .. } = self.counting(now);
        let doubled = u32::try_from(count.checked_sub(max)?).unwrap_or(u32::MAX);
        let factor = 2_u32.checked_pow(doubled).unwrap_or(u32::MAX);
        let delay = GUESS_DELAY.saturating_mul(factor).min(longest);
        Some(later(last, delay).since(now)).filter(|wait| !wait.is_zero())
    }

    /// With one more guess at an account. One that is not counted moves only the time of the last.
    #[must_use]
    pub(crate) fn and_guess(&self, is_counted: bool, now: Timestamp) -> Failures {
        let before = self.counting(now);
        let count = before.count + u64::from(is_counted);
        Failures { count, last: now.max(before.last), until: later(now, GUESSES_KEPT) }
    }

    /// How long log-ins of a crowd are refused, if they are.
    pub(crate) fn refusal(&self, max: u64, now: Timestamp) -> Option<Duration> {
        (self.count >= max).then(|| self.until.since(now)).filter(|wait| !wait.is_zero())
    }

    /// With one more of a crowd, in which somebody fails all the time: those of each span count.
    #[must_use]
    pub(crate) fn and_one_of_many(&self, now: Timestamp) -> Failures {
        let before = self.counting(now);
        let until = if before.count == 0 { later(now, FAILURES_SPAN) } else { before.until };
        Failures { count: before.count + 1, last: now, until }
    }
}

/// So much later; the end of time is late enough.
pub(crate) fn later(time: Timestamp, duration: Duration) -> Timestamp {
    time.checked_add(duration).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::Timestamp;

    use super::{Failures, Session, check_email, check_password, check_username};
    use crate::model::UserId;

    const HOUR: u64 = 3_600_000;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn names_and_passwords_keep_their_bounds() {
        for good in ["abc", "a-_9", "Z".repeat(50).as_str()] {
            assert_eq!(check_username(good).unwrap(), good);
        }
        for bad in ["ab", "a b", "名前です", "a.b", "z".repeat(51).as_str(), ""] {
            assert!(check_username(bad).is_err(), "{bad}");
        }
        for good in ["a@b", " ada@example.org ", "ä@ö"] {
            assert_eq!(check_email(good).unwrap(), good.trim());
        }
        let long = format!("{}@x", "a".repeat(254));
        for bad in ["", "a", "@b", "a@", "a@b@c", "a b@c", "a@b\u{0}", &long] {
            assert!(check_email(bad).is_err(), "{bad}");
        }
        assert!(check_password("pässwörd").is_ok() && check_password(&"x".repeat(128)).is_ok());
        assert!(check_password("1234567").is_err() && check_password(&"x".repeat(129)).is_err());
    }

    #[test]
    fn a_session_ends_after_an_idle_day_or_a_month() {
        let mut session = Session {
            user: UserId(base::Uuid::nil()),
            id: String::new(),
            refresh: String::new(),
            created: at(0),
            used: at(0),
        };
        assert!(session.is_good(at(24 * HOUR - 1)) && !session.is_good(at(24 * HOUR)));
        session.used = at(30 * 24 * HOUR - 1);
        assert!(session.is_good(at(30 * 24 * HOUR - 1)) && !session.is_good(at(30 * 24 * HOUR)));
    }

    #[test]
    fn delays_grow_from_the_fifth_failure_and_are_forgotten_after_a_day() {
        let longest = Duration::from_secs(900);
        let mut failures = Failures::NONE;
        for second in 0..5 {
            assert_eq!(failures.delay(5, longest, at(second * 1000)), None);
            failures = failures.and_guess(true, at(second * 1000));
        }
        assert_eq!(failures.delay(5, longest, at(4000)), Some(Duration::from_secs(5)));
        assert_eq!(failures.delay(5, longest, at(8_999)), Some(Duration::from_millis(1)));
        assert_eq!(failures.delay(5, longest, at(9_000)), None);
        assert_eq!(failures.delay(6, longest, at(4000)), None);
        let many = Failures { count: 10_000, ..failures };
        assert_eq!(many.delay(5, longest, at(4000)), Some(longest));
        let next = failures.and_guess(false, at(9_000));
        assert_eq!((next.count, next.last), (5, at(9_000)));
        let later = at(9_000 + 24 * HOUR);
        assert_eq!(next.and_guess(true, later).count, 1);
        assert_eq!(many.delay(5, longest, at(4_000 + 24 * HOUR)), None);
    }

    #[test]
    fn failures_of_a_crowd_are_forgotten_though_somebody_fails_all_the_time() {
        let mut failures = Failures::NONE;
        for minute in 0..10 {
            failures = failures.and_one_of_many(at(minute * 60_000));
        }
        assert_eq!(failures.count, 10);
        assert_eq!(failures.refusal(10, at(599_999)), Some(Duration::from_millis(1)));
        assert_eq!(failures.refusal(10, at(600_000)), None);
        assert_eq!(failures.and_one_of_many(at(600_000)).count, 1);
    }
}

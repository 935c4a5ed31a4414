//! Users, what may be typed about them, and their sessions.
//!
//! Invariants: a username and an e-mail address name one user whatever their case. A session ends
//! when nobody has refreshed it for a day, or after a month, whichever comes first.

#[cfg(test)]
mod fuzz;

use std::time::Duration;

use base::Timestamp;

use super::UserId;
use crate::error::{Error, Flaw};
use crate::limits::{
    BIO, DISPLAY_NAME, EMAIL_BYTES_MAX, FAILURES_KEPT, PASSWORD_LETTERS, SESSION_IDLE,
    SESSION_LIFE, USERNAME_LETTERS,
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
        if let Some(username) = &change.username {
            user.username = check_username(username)?;
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

/// Failed log-ins of an address or an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failures {
    pub(crate) count: u64,
    /// Until when they count.
    pub(crate) until: Timestamp,
}

impl Failures {
    /// How long log-ins are refused, if they are.
    pub(crate) fn refusal(&self, max: u64, now: Timestamp) -> Option<Duration> {
        (self.count >= max).then(|| self.until.since(now)).filter(|wait| !wait.is_zero())
    }

    /// With one more. Those of somebody count until nobody has failed for a while.
    pub(crate) fn and_one(before: Option<Failures>, now: Timestamp) -> Failures {
        let count = before.filter(|before| now < before.until).map_or(0, |before| before.count);
        Failures { count: count + 1, until: later(now, FAILURES_KEPT) }
    }

    /// With one more of a crowd, in which somebody fails all the time: those of each span count.
    pub(crate) fn and_one_of_many(before: Option<Failures>, now: Timestamp) -> Failures {
        match before.filter(|before| now < before.until) {
            Some(before) => Failures { count: before.count + 1, ..before },
            None => Failures { count: 1, until: later(now, FAILURES_KEPT) },
        }
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
    fn five_failures_refuse_for_ten_minutes_from_the_last() {
        let mut failures = None;
        for second in 0..5 {
            let next = Failures::and_one(failures, at(second * 1000));
            assert_eq!(next.count, second + 1);
            failures = Some(next);
        }
        let failures = failures.unwrap();
        assert_eq!(failures.refusal(5, at(5000)), Some(Duration::from_secs(599)));
        assert_eq!(failures.refusal(5, at(603_999)), Some(Duration::from_millis(1)));
        assert_eq!(failures.refusal(5, at(604_000)), None);
        assert_eq!(failures.refusal(6, at(5000)), None);
        assert_eq!(Failures::and_one(Some(failures), at(604_000)).count, 1);
    }

    #[test]
    fn failures_of_a_crowd_are_forgotten_though_somebody_fails_all_the_time() {
        let mut failures = None;
        for minute in 0..10 {
            failures = Some(Failures::and_one_of_many(failures, at(minute * 60_000)));
        }
        assert_eq!(failures.unwrap().count, 10);
        assert_eq!(Failures::and_one_of_many(failures, at(600_000)).count, 1);
    }
}

//! A player's id: who may play under it.
//!
//! An id stands on every board, so naming it proves nothing. A client may claim an id by a secret,
//! of which the house keeps the digest; from then on a play of this id needs the secret. Ids that
//! nobody has claimed are anybody's.
//!
//! Invariant: a claim is kept for long only when a play was stored under it. What strangers claim
//! and never play is forgotten soon.

use std::time::Duration;

use base::Timestamp;

use crate::error::Error;
use crate::limits::{CLAIM_KEPT, CLAIM_TRIED, SECRET_LETTERS_MAX, SECRET_LETTERS_MIN};

/// What the house knows of an id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Player {
    /// The digest of the secret that it was claimed by.
    pub(crate) owner: Option<String>,
    /// When the claim ends. None if it does not.
    pub(crate) expires: Option<Timestamp>,
    pub(crate) is_banned: bool,
}

impl Player {
    /// Who owns the id now.
    pub(crate) fn owner_at(&self, now: Timestamp) -> Option<&str> {
        let is_over = self.expires.is_some_and(|expires| expires <= now);
        self.owner.as_deref().filter(|_| !is_over)
    }

    /// Whether a play may be stored that was begun by this owner, or by nobody in particular.
    pub(crate) fn check_play(
        &self,
        user: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<(), Error> {
        if self.is_banned {
            return Err(Error::Banned(user.to_owned()));
        }
        if self.owner_at(now) != owner {
            return Err(Error::NotOwner(user.to_owned()));
        }
        Ok(())
    }

    /// When the claim ends, now that its owner begins a play; none if it stays as it is.
    pub(crate) fn prolonged(&self, now: Timestamp) -> Option<Timestamp> {
        let left = self.expires?.since(now);
        if left <= CLAIM_TRIED {
            return Some(later(now, CLAIM_TRIED));
        }
        (left < CLAIM_KEPT / 2).then(|| later(now, CLAIM_KEPT))
    }
}

/// When a claim ends that is made now.
pub(crate) fn tried_until(now: Timestamp) -> Timestamp {
    later(now, CLAIM_TRIED)
}

/// When a claim ends under which a play is stored now.
pub(crate) fn kept_until(now: Timestamp) -> Timestamp {
    later(now, CLAIM_KEPT)
}

/// Whether a text can be a player's secret: long enough that nobody guesses it.
pub(crate) fn check_secret(secret: &str) -> Result<(), Error> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_secret = (SECRET_LETTERS_MIN..=SECRET_LETTERS_MAX).contains(&secret.len());
    if is_secret && secret.bytes().all(is_letter) {
        return Ok(());
    }
    let told = format!(
        "X-Player-Secret must be {SECRET_LETTERS_MIN} to {SECRET_LETTERS_MAX} of A-Z a-z 0-9 _ -"
    );
    Err(Error::invalid(told))
}

fn later(now: Timestamp, duration: Duration) -> Timestamp {
    now.checked_add(duration).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::Timestamp;

    use super::{Player, check_secret, kept_until, tried_until};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn owned(expires: Option<Timestamp>) -> Player {
        Player { owner: Some("d".to_owned()), expires, is_banned: false }
    }

    #[test]
    fn a_play_is_its_owners_and_of_an_unclaimed_id_anybodys() {
        let check = |player: &Player, owner| {
            player.check_play("ada", owner, NOW).map_err(|error| error.to_string())
        };
        let (nobody, ada) = (Player::default(), owned(Some(kept_until(NOW))));
        assert_eq!(check(&nobody, None), Ok(()));
        assert_eq!(check(&ada, Some("d")), Ok(()));
        let words = "`ada` is claimed: X-Player-Secret is missing or not valid".to_owned();
        assert_eq!(check(&ada, None), Err(words.clone()));
        assert_eq!(check(&ada, Some("e")), Err(words.clone()));
        assert_eq!(check(&nobody, Some("d")), Err(words), "the claim is gone");
        let over = owned(Some(NOW));
        assert_eq!(check(&over, None), Ok(()), "a claim ends");
        let banned = Player { is_banned: true, ..ada };
        assert_eq!(check(&banned, Some("d")), Err("`ada` may not submit".to_owned()));
    }

    #[test]
    fn a_claim_lasts_while_its_owner_plays() {
        let later = |seconds| NOW.checked_add(Duration::from_secs(seconds)).unwrap();
        assert_eq!(owned(Some(later(60))).prolonged(NOW), Some(tried_until(NOW)));
        let (day, kept) = (24 * 3600, kept_until(NOW));
        assert_eq!(owned(Some(later(2 * day))).prolonged(NOW), Some(kept));
        assert_eq!(owned(Some(later(300 * day))).prolonged(NOW), None, "long enough");
        assert_eq!(owned(None).prolonged(NOW), None, "for good");
    }

    #[test]
    fn a_secret_is_long() {
        for secret in ["a-Z_09".repeat(6), "x".repeat(32), "x".repeat(128)] {
            assert!(check_secret(&secret).is_ok(), "{secret}");
        }
        for wrong in ["", &"x".repeat(31), &"x".repeat(129), &" ".repeat(32)] {
            let told = check_secret(wrong).unwrap_err().to_string();
            assert_eq!(told, "X-Player-Secret must be 32 to 128 of A-Z a-z 0-9 _ -");
        }
    }
}

//! Which usernames can be had: not those that speak for the house, nor those that look like another.
//!
//! Usernames are ASCII, so their NFKC form is themselves, and letters of other scripts that look like
//! Latin ones are refused with all other letters. What is left are the few pairs within ASCII that
//! Unicode's list of confusables names (UTS #39): `I`, `l` and `1`; `O` and `0`; `m` and `rn`; `w`
//! and `vv`.

use base::Timestamp;

use super::UserId;
use super::account::{check_username, fold, later};
use crate::error::Error;
use crate::limits::NAME_HELD;

/// Names by which readers would take somebody for the house, its people or its machinery, in English
/// and Japanese. Without `-` and `_`, which a name may have anywhere.
const RESERVED: [&str; 57] = [
    "abuse",
    "account",
    "accounts",
    "admin",
    "administrator",
    "admins",
    "all",
    "anonymous",
    "api",
    "billing",
    "bot",
    "console",
    "contact",
    "deleted",
    "everyone",
    "help",
    "helpdesk",
    "host",
    "hostmaster",
    "info",
    "jimukyoku",
    "kanri",
    "kanrinin",
    "kanrisha",
    "login",
    "logout",
    "mail",
    "mailerdaemon",
    "minisns",
    "moderation",
    "moderator",
    "moderators",
    "mods",
    "nagaya",
    "nobody",
    "noreply",
    "notifications",
    "null",
    "official",
    "operator",
    "owner",
    "postmaster",
    "privacy",
    "register",
    "root",
    "security",
    "settings",
    "signin",
    "sns",
    "staff",
    "support",
    "sysadmin",
    "system",
    "undefined",
    "unei",
    "unknown",
    "webmaster",
];

/// A username that somebody wants to have.
pub(crate) fn check_new_username(text: &str) -> Result<String, Error> {
    let name = check_username(text)?;
    let bare: String = name.chars().filter(|letter| !matches!(letter, '-' | '_')).collect();
    // Whatever its case, and stricter than between users: `adm1n` is read as `admin`.
    let read = |name: &str| skeleton(&fold(name)).replace('i', "l");
    match RESERVED.iter().any(|reserved| read(reserved) == read(&bare)) {
        true => Err(Error::UsernameReserved(name)),
        false => Ok(name),
    }
}

/// The form under which names look alike as they are typed.
pub(crate) fn skeleton(name: &str) -> String {
    let mut skeleton = String::with_capacity(name.len() * 2);
    for letter in name.chars() {
        match letter {
            'I' | '1' => skeleton.push('l'),
            '0' => skeleton.push('o'),
            'm' => skeleton.push_str("rn"),
            'w' | 'W' => skeleton.push_str("vv"),
            other => skeleton.extend(other.to_lowercase()),
        }
    }
    skeleton
}

/// A name that its owner gave up, and that only the owner can have for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) by: UserId,
    pub(crate) until: Timestamp,
}

impl Hold {
    /// A hold that begins now.
    pub(crate) fn new(by: UserId, now: Timestamp) -> Hold {
        Hold { by, until: later(now, NAME_HELD) }
    }

    /// Whether it keeps a user from having the name; nobody knows yet who registers.
    pub(crate) fn keeps(&self, user: Option<UserId>, now: Timestamp) -> bool {
        user != Some(self.by) && now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::{RESERVED, check_new_username, skeleton};
    use crate::error::Error;

    #[test]
    fn names_that_look_alike_have_one_skeleton() {
        for (one, other) in
            [("alice", "aIice"), ("Ian", "lan"), ("mona", "rnona"), ("w0w", "vvovv"), ("A", "a")]
        {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
        }
        for (one, other) in [("kai", "kal"), ("ada", "ada_"), ("a-b", "a_b"), ("bob", "b0d")] {
            assert_ne!(skeleton(one), skeleton(other), "{one} {other}");
        }
    }

    #[test]
    fn reserved_names_are_refused_however_they_are_spelt() {
        assert!(RESERVED.is_sorted(), "a list that is looked through by people");
        for name in ["admin", "ADMIN", "adm1n", "AdmIn", "r00t", "_ad-min_", "no-reply", "mini-sns"]
        {
            assert!(matches!(check_new_username(name), Err(Error::UsernameReserved(_))), "{name}");
        }
        for name in ["ada", "administrative", "sns-fan", "rooted"] {
            assert_eq!(check_new_username(name).unwrap(), name);
        }
        assert!(matches!(check_new_username("ａｄａ"), Err(Error::Invalid(_))));
    }
}

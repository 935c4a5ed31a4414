//! Games, plays and boards, and what is decided about them.
//!
//! `game.rs` is what a game is and how its plays compare, `play.rs` what makes a play believable,
//! `player.rs` who may play under an id,
//! `board.rs` the ranking of one game in one period on the order of `ranks.rs`, `period.rs` its
//! months, `histogram.rs` what is remembered of rows that were trimmed.
//!
//! Invariants of the order:
//! - Plays compare by the keys of the game's sort, in their order; the last word have the bytes of
//!   the user's id. So the order is total, and there are no two rows in one place.
//! - Whether a play replaces another is decided by `score` and `timeMs` alone: equal is not better,
//!   and time passing makes nothing better.

pub(crate) mod audit;
pub(crate) mod board;
pub(crate) mod game;
pub(crate) mod histogram;
pub(crate) mod period;
pub(crate) mod play;
pub(crate) mod player;
pub(crate) mod ranks;

use crate::error::Error;
use crate::limits::{ID_LETTERS_MAX, PLAYER};

/// Whether a text can be the id of a game or a user. It is refused otherwise, never rewritten.
pub(crate) fn check_id(what: &'static str, id: &str) -> Result<(), Error> {
    let in_id = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if (1..=ID_LETTERS_MAX).contains(&id.len()) && id.bytes().all(in_id) {
        return Ok(());
    }
    let told = format!("{what} must be 1 to {ID_LETTERS_MAX} of A-Z a-z 0-9 _ . -, not `{id}`");
    Err(Error::invalid(told))
}

/// A player's name as it is stored. Beyond what no line of text may hold, the marks that only say in
/// which direction text runs are removed: a name is shown by itself, and they show nothing.
pub(crate) fn player_name(text: &str) -> Result<String, base::Error> {
    let is_mark = |letter: char| matches!(letter, '\u{200e}' | '\u{200f}' | '\u{61c}');
    PLAYER.apply(&text.replace(is_mark, ""))
}

#[cfg(test)]
mod tests {
    use super::{check_id, player_name};

    #[test]
    fn a_name_is_24_characters_of_any_size_without_marks_of_direction() {
        let marked = "\u{200f}a\u{200e}b\u{61c}\u{202e}\u{2066}c";
        assert_eq!(player_name(marked).unwrap(), "abc");
        let told = player_name("\u{200e}\u{200f}").unwrap_err().to_string();
        assert_eq!(told, "text has 0 characters, at least 1 needed");
        let family = "👩🏽\u{200d}👩🏽\u{200d}👧🏽\u{200d}👦🏽";
        let name = family.repeat(24);
        assert_eq!(player_name(&name).unwrap(), name);
        let told = player_name(&family.repeat(25)).unwrap_err().to_string();
        assert_eq!(told, "text has 25 characters, at most 24 allowed");
    }

    #[test]
    fn ids_are_refused_and_never_rewritten() {
        for id in ["a", "A-Z_0.9", &"x".repeat(64)] {
            assert!(check_id("userId", id).is_ok(), "{id}");
        }
        for id in ["", &"x".repeat(65), "a b", "a/b", "名", "a#b", "a|b", "a\n"] {
            let told = check_id("userId", id).unwrap_err().to_string();
            assert!(told.starts_with("userId must be 1 to 64 of "), "{told}");
        }
    }
}

//! What people call a node: a name that the teacher gave, the six hiragana that Smalruby shows for
//! its id, or the id itself.

use super::check_text;
use crate::error::Error;
use crate::limits::LABEL_CHARACTERS_MAX;

/// The hiragana of the digits 0 to f, as Smalruby shows them.
const HIRAGANA: [char; 16] = [
    'い', 'し', 'か', 'た', 'う', 'ん', 'て', 'と', 'の', 'つ', 'は', 'こ', 'に', 'な', 'く', 'き',
];

/// Digits of an id that Smalruby makes.
const ID_DIGITS: usize = 32;

/// Digits of it that Smalruby shows.
const SHOWN_DIGITS: usize = 6;

/// The name that Smalruby shows for a node with this id, if the id has the form of its ids.
pub(crate) fn hiragana(id: &str) -> Option<String> {
    let is_smalruby = id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_smalruby {
        return None;
    }
    let letter = |digit: char| HIRAGANA.get(usize::try_from(digit.to_digit(16)?).ok()?).copied();
    id.chars().take(SHOWN_DIGITS).map(letter).collect()
}

/// The name that a teacher gave to a node; `None` removes the name that it had.
pub(crate) fn read_label(written: &str) -> Result<Option<String>, Error> {
    let label = written.trim();
    check_text("name", label, LABEL_CHARACTERS_MAX)?;
    Ok((!label.is_empty()).then(|| label.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{HIRAGANA, hiragana, read_label};

    #[test]
    fn every_digit_has_the_hiragana_that_smalruby_shows() {
        let table = "い し か た う ん て と の つ は こ に な く き";
        let letters: String = HIRAGANA.iter().map(char::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(letters, table);
        for (first, shown) in [
            ("012345", "いしかたうん"),
            ("6789ab", "てとのつはこ"),
            ("cdef00", "になくきいい"),
            ("CDEF00", "になくきいい"),
        ] {
            let id = format!("{first}{}", "7".repeat(26));
            assert_eq!(hiragana(&id).as_deref(), Some(shown), "{id}");
        }
    }

    #[test]
    fn an_id_of_another_form_has_no_hiragana() {
        let id = "0123456789abcdef0123456789abcdef";
        let dashed = "01234567-89ab-cdef-0123-456789abcdef";
        for other in ["", "はなこ", "012345", &id[1..], &format!("{id}0"), dashed] {
            assert_eq!(hiragana(other), None, "{other}");
        }
        // Eleven characters of three bytes: as long as no id, and nothing to cut in two.
        assert_eq!(hiragana(&"い".repeat(11)), None);
        assert_eq!(hiragana(&format!("{}xx", "い".repeat(10))), None, "32 bytes, but no digits");
    }

    #[test]
    fn a_label_is_trimmed_bounded_and_without_characters_that_hide() {
        assert_eq!(read_label("  佐藤 花子 ").unwrap().as_deref(), Some("佐藤 花子"));
        assert_eq!(read_label(" \u{3000} ").unwrap(), None);
        assert!(read_label(&"花".repeat(40)).is_ok());
        for refused in ["花".repeat(41), "a\u{202e}b".to_owned(), "a\nb".to_owned()] {
            assert!(read_label(&refused).is_err(), "{refused:?}");
        }
    }
}

//! Text that people typed: normalized, cleaned and bounded before it is used.
//!
//! A room declares its rule among its limits and applies it where it reads a command:
//!
//! ```
//! use base::text::{self, Rule};
//! const TITLE: Rule = text::line(1..=200, 2048);
//! assert_eq!(TITLE.apply("  cafe\u{301}\r\nnoir ")?, "café noir");
//! assert!(TITLE.apply(" \t ").is_err());
//! # Ok::<(), base::Error>(())
//! ```
//!
//! The result is NFC, so that equal words are equal bytes, and trimmed. Control characters and
//! marks that change the direction of the surrounding text are dropped, or refused where dropping
//! would change the meaning. The length is counted as people count it, in grapheme clusters; the
//! byte limit covers the cost for the store and clusters with endless accents. Case, width and
//! confusable letters stay as they are.

use std::ops::RangeInclusive;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use crate::Error;

/// A rule for one line of text: a name, a title. `graphemes` are characters as people count them.
/// Line breaks and tabs become spaces.
pub const fn line(graphemes: RangeInclusive<usize>, bytes_max: usize) -> Rule {
    Rule::new(graphemes, bytes_max, false)
}

/// A rule for text of several lines: a comment, a description. Line breaks of all kinds become
/// `\n`, tabs stay.
pub const fn block(graphemes: RangeInclusive<usize>, bytes_max: usize) -> Rule {
    Rule::new(graphemes, bytes_max, true)
}

/// The requirements on a text. From [`line()`] or [`block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    graphemes_min: usize,
    graphemes_max: usize,
    bytes_max: usize,
    keeps_lines: bool,
    refuses: bool,
}

impl Rule {
    const fn new(graphemes: RangeInclusive<usize>, bytes_max: usize, keeps_lines: bool) -> Rule {
        let (graphemes_min, graphemes_max) = (*graphemes.start(), *graphemes.end());
        assert!(graphemes_min <= graphemes_max, "a text needs at least one possible length");
        Rule { graphemes_min, graphemes_max, bytes_max, keeps_lines, refuses: false }
    }

    /// The same rule, but a character that would be dropped is an error. For names that others
    /// refer to.
    #[must_use]
    pub const fn refusing(self) -> Rule {
        Rule { refuses: true, ..self }
    }

    /// The text in its normal form. Applying the rule again changes nothing.
    ///
    /// # Errors
    /// The text is too short, too long, or contains a refused character.
    pub fn apply(&self, input: &str) -> Result<String, Error> {
        let clean = self.clean(input)?;
        let composed: String = clean.nfc().collect();
        let trimmed = composed.trim();
        let text = if trimmed.chars().all(is_blank) { "" } else { trimmed };
        let graphemes = text.graphemes(true).count();
        if graphemes < self.graphemes_min {
            return Err(Error::TextTooShort { graphemes, min: self.graphemes_min });
        }
        if graphemes > self.graphemes_max {
            return Err(Error::TextTooLong { graphemes, max: self.graphemes_max });
        }
        if text.len() > self.bytes_max {
            return Err(Error::TextTooManyBytes { bytes: text.len(), max: self.bytes_max });
        }
        Ok(text.to_owned())
    }

    /// Runs before composition, because a dropped character may stand between a letter and its
    /// accent.
    fn clean(&self, input: &str) -> Result<String, Error> {
        let mut clean = String::with_capacity(input.len());
        let mut characters = input.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            match character {
                '\r' if matches!(characters.peek(), Some((_, '\n'))) => {}
                '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                    clean.push(if self.keeps_lines { '\n' } else { ' ' });
                }
                '\t' => clean.push(if self.keeps_lines { '\t' } else { ' ' }),
                _ if !is_forbidden(character) => clean.push(character),
                _ if self.refuses => return Err(Error::TextForbidden { character, at }),
                _ => {}
            }
        }
        Ok(clean)
    }
}

/// Checks that `text` contains nothing that a rule drops. For ids, which must not change.
///
/// # Errors
/// The text contains a control character or a mark that changes the direction of the text around
/// it.
pub fn check_plain(text: &str) -> Result<(), Error> {
    let forbidden = text.char_indices().find(|(_, character)| is_forbidden(*character));
    forbidden.map_or(Ok(()), |(at, character)| Err(Error::TextForbidden { character, at }))
}

/// Control characters; embeddings, overrides and isolates of direction, which affect the text
/// around them; the byte order mark, annotations, and code points that Unicode calls noncharacters.
fn is_forbidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{fdd0}'..='\u{fdef}')
        || u32::from(character) & 0xfffe == 0xfffe
}

/// Characters that show nothing by themselves: a text of only these is empty. Inside other text
/// they stay: joiners build emoji, and marks make Arabic and Hebrew read correctly.
fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_oneof, proptest};
    use proptest::strategy::Strategy;
    use unicode_segmentation::UnicodeSegmentation;

    use super::{Rule, block, is_forbidden, line};
    use crate::Error;

    const NAME: Rule = line(1..=5, 40);

    /// Characters that matter here, among any others.
    fn texts() -> impl Strategy<Value = String> {
        let nasty = [
            ' ', '\n', '\r', '\t', '\u{b}', '\u{85}', '\u{2028}', '\u{301}', '\u{302}', '\u{327}',
            'e', 'é', 'が', '\u{3099}', 'か', '\u{1100}', '\u{1161}', '\u{200d}', '👩', '🇯', '🇵',
            '\u{202e}', '\u{2066}', '\u{0}', '\u{feff}', '\u{2126}', '\u{fb1d}', '\u{2001}',
        ];
        let character = prop_oneof![proptest::sample::select(nasty.to_vec()), any::<char>()];
        proptest::collection::vec(character, 0..30).prop_map(|all| all.into_iter().collect())
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_rule_applied_twice_is_a_rule_applied_once(input in texts(), lines in any::<bool>()) {
            let rule = if lines { block(0..=30, 400) } else { line(0..=30, 400) };
            let once = rule.apply(&input).unwrap();
            prop_assert_eq!(rule.apply(&once).unwrap(), once.clone());
            prop_assert_eq!(rule.refusing().apply(&once).unwrap(), once);
        }

        #[test]
        fn an_accepted_text_keeps_every_limit(input in texts()) {
            if let Ok(text) = NAME.apply(&input) {
                prop_assert!((1..=5).contains(&text.graphemes(true).count()) && text.len() <= 40);
                prop_assert!(!text.chars().any(is_forbidden));
                prop_assert_eq!(text.trim(), text.as_str());
            }
        }

        #[test]
        fn a_refusing_rule_refuses_exactly_the_characters_that_the_other_drops(input in texts()) {
            let drops = input.chars().any(|c| is_forbidden(c) && !"\n\r\t\u{b}\u{c}\u{85}".contains(c));
            let refused = matches!(
                line(0..=30, 400).refusing().apply(&input),
                Err(Error::TextForbidden { .. })
            );
            prop_assert_eq!(refused, drops);
        }
    }

    #[test]
    fn a_family_and_a_flag_are_one_character_each() {
        assert_eq!(line(2..=2, 100).apply("👩‍👩‍👧‍👦🇯🇵").unwrap(), "👩‍👩‍👧‍👦🇯🇵");
    }

    #[test]
    fn each_error_names_its_limit() {
        let message = |rule: Rule, input: &str| rule.apply(input).unwrap_err().to_string();
        assert_eq!(message(NAME, " \u{200b} "), "text has 0 characters, at least 1 needed");
        assert_eq!(message(NAME, "長屋長屋長屋"), "text has 6 characters, at most 5 allowed");
        let accents = "\u{301}".repeat(40);
        assert_eq!(message(NAME, &format!("x{accents}")), "text has 81 bytes, at most 40 allowed");
        assert_eq!(
            message(NAME.refusing(), "a\u{202e}b"),
            "text holds U+202E at byte 1, a character that is not allowed"
        );
    }

    #[test]
    fn a_dropped_character_does_not_separate_a_letter_from_its_accent() {
        assert_eq!(NAME.apply("e\u{0}\u{301}").unwrap(), "é");
    }

    #[test]
    fn a_block_keeps_its_lines() {
        assert_eq!(
            block(0..=20, 100).apply("\r\n a\r\nb\rc\u{2028}\td\n").unwrap(),
            "a\nb\nc\n\td"
        );
        assert_eq!(line(0..=20, 100).apply("a\r\nb\tc").unwrap(), "a b c");
    }
}

//! What texts of the room must be. They are stored as they are meant and always output as text.

use base::text::{block, line};
use unicode_normalization::UnicodeNormalization;

use crate::error::Error;
use crate::limits::{
    BLOCKED_WORD_GRAPHEMES_MAX, NAME_BYTES_MAX, NAME_GRAPHEMES_MAX, NICKNAME_BYTES_MAX,
    NICKNAME_GRAPHEMES_MAX,
};

/// Who does not say a name.
pub(crate) const ANONYMOUS: &str = "Anonymous";

/// The bounds of a room and its comments, which can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) graphemes_max: usize,
    pub(crate) bytes_max: usize,
    /// Comments of one room, its changes counted in.
    pub(crate) comments_max: u64,
}

impl Rules {
    /// A comment's text. Empty lines go: a comment must not push others off the screen.
    pub(crate) fn content(&self, input: &str) -> Result<String, Error> {
        let clean = named("content", block(0..=usize::MAX, usize::MAX).apply(input))?;
        let lines = clean.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
        let text = lines.collect::<Vec<_>>().join("\n");
        named("content", block(1..=self.graphemes_max, self.bytes_max).apply(&text))
    }
}

/// A room's name.
pub(super) fn room_name(input: &str) -> Result<String, Error> {
    named("name", line(1..=NAME_GRAPHEMES_MAX, NAME_BYTES_MAX).apply(input))
}

/// What a participant is called.
pub(super) fn nickname(input: Option<&str>) -> Result<String, Error> {
    let rule = line(0..=NICKNAME_GRAPHEMES_MAX, NICKNAME_BYTES_MAX);
    let name = named("nickname", rule.apply(input.unwrap_or_default()))?;
    Ok(if name.is_empty() { ANONYMOUS.to_owned() } else { name })
}

/// A word that a room holds back, as it was typed. One that shows nothing would be in every text.
pub(super) fn blocked_word(input: &str) -> Result<String, Error> {
    let rule = line(1..=BLOCKED_WORD_GRAPHEMES_MAX, NICKNAME_BYTES_MAX);
    let word = named("blockedWords", rule.apply(input))?;
    if folded(&word).is_empty() {
        return Err(Error::invalid("blockedWords holds a word that shows nothing"));
    }
    Ok(word)
}

/// The text in which words are looked for, so that the way of writing does not hide them:
/// compatible forms (NFKC: width, circled and mathematical letters), case, katakana and hiragana
/// are one, characters that show nothing are gone, and any white space is one space.
///
/// Upper case before lower case makes `ß` and `SS` one. A sigma at the end of a word is another
/// letter in lower case, so a word would not be found inside a longer one.
pub(super) fn folded(text: &str) -> String {
    let composed: String = text.chars().filter(|it| !is_invisible(*it)).nfkc().collect();
    let lower = composed.to_uppercase().to_lowercase().replace('ς', "σ");
    // Case takes some letters apart.
    let letters = lower.chars().nfkc().filter(|it| !is_invisible(*it));
    let mut folded = String::with_capacity(text.len());
    for letter in letters {
        match letter {
            'ァ'..='ヶ' | 'ヽ' | 'ヾ' => {
                folded.extend(char::from_u32(u32::from(letter) - 0x60))
            }
            // These have no hiragana of their own.
            'ヷ' => folded.push_str("わ\u{3099}"),
            'ヸ' => folded.push_str("ゐ\u{3099}"),
            'ヹ' => folded.push_str("ゑ\u{3099}"),
            'ヺ' => folded.push_str("を\u{3099}"),
            letter if letter.is_whitespace() => {
                if !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            letter => folded.push(letter),
        }
    }
    folded
}

/// What Unicode calls ignorable by default, control characters but for white space, and the blank of
/// Braille: none of them is seen.
pub(super) fn is_invisible(letter: char) -> bool {
    (letter.is_control() && !letter.is_whitespace())
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn named(what: &str, applied: Result<String, base::Error>) -> Result<String, Error> {
    applied.map_err(|error| Error::invalid(format!("{what}: {error}")))
}

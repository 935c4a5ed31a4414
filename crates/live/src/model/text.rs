//! What texts of the room must be. They are stored as they are meant and always output as text.

use base::text::{block, line};

use crate::error::Error;
use crate::limits::{
    BLOCKED_WORD_GRAPHEMES_MAX, NAME_BYTES_MAX, NAME_GRAPHEMES_MAX, NICKNAME_BYTES_MAX,
    NICKNAME_GRAPHEMES_MAX,
};

/// Who does not say a name.
const ANONYMOUS: &str = "Anonymous";

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

/// A word that a room holds back, in the form in which it is looked for.
pub(super) fn blocked_word(input: &str) -> Result<String, Error> {
    let rule = line(1..=BLOCKED_WORD_GRAPHEMES_MAX, NICKNAME_BYTES_MAX);
    named("blockedWords", rule.apply(input)).map(|word| folded(&word))
}

/// The text in which words are looked for: case does not hide them, nor does a tab or a line break
/// between two of them. A sigma at the end of a word is another letter in lower case, so a word would
/// not be found inside a longer one.
pub(super) fn folded(text: &str) -> String {
    text.to_lowercase().replace('ς', "σ").replace(['\t', '\n'], " ")
}

fn named(what: &str, applied: Result<String, base::Error>) -> Result<String, Error> {
    applied.map_err(|error| Error::invalid(format!("{what}: {error}")))
}

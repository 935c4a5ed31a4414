//! The bounds of a document's text, before it is parsed.
//!
//! The parser calls itself for every bracket, scans the rest of the text for every block string that
//! is not closed, and takes memory for every token. So a text is read here first, in one pass: each
//! byte once.

use crate::limits::{NAME_BYTES_MAX, NESTING_MAX, TOKENS_MAX};

/// Why a text is not parsed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    /// It is too long.
    #[error("the document has more than {TOKENS_MAX} tokens")]
    TooManyTokens,
    /// Too many brackets are open.
    #[error("the document has more than {NESTING_MAX} brackets inside each other")]
    TooDeep,
    /// A name is too long.
    #[error("the document has a name of {0} bytes, more than {NAME_BYTES_MAX}")]
    LongName(usize),
    /// A string has no end.
    #[error("the document has a string that is not closed")]
    OpenString,
}

/// Checks the bounds of a text.
///
/// Brackets are counted whatever their kinds: the parser stops at the first closing one that does not
/// fit, so it never has more of them open than are counted here.
pub(super) fn check(text: &str) -> Result<(), Flaw> {
    let (mut rest, mut tokens, mut open) = (text.as_bytes(), 0_usize, 0_usize);
    while let Some((first, behind)) = rest.split_first() {
        rest = match first {
            b' ' | b',' | b'\t' | b'\n' | b'\r' => {
                rest = behind;
                continue;
            }
            b'#' => {
                rest = after(behind, |byte| byte == b'\n' || byte == b'\r');
                continue;
            }
            b'"' => after_string(rest).ok_or(Flaw::OpenString)?,
            b'{' | b'(' | b'[' => {
                open += 1;
                behind
            }
            b'}' | b')' | b']' => {
                open = open.saturating_sub(1);
                behind
            }
            byte if is_word(*byte) => {
                let behind = after(behind, |byte| !is_word(byte));
                let bytes = rest.len() - behind.len();
                if bytes > NAME_BYTES_MAX {
                    return Err(Flaw::LongName(bytes));
                }
                behind
            }
            _ => behind,
        };
        tokens += 1;
        if tokens > TOKENS_MAX {
            return Err(Flaw::TooManyTokens);
        }
        if open > NESTING_MAX {
            return Err(Flaw::TooDeep);
        }
    }
    Ok(())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What begins with the first byte at which something ends.
fn after(text: &[u8], ends: impl Fn(u8) -> bool) -> &[u8] {
    let end = text.iter().position(|byte| ends(*byte)).unwrap_or(text.len());
    text.get(end..).unwrap_or_default()
}

/// What follows the string that a text begins with, if it has an end.
fn after_string(text: &[u8]) -> Option<&[u8]> {
    const BLOCK: &[u8] = b"\"\"\"";
    let Some(mut rest) = text.strip_prefix(BLOCK) else {
        let mut rest = text.get(1..)?;
        return loop {
            rest = match rest {
                [b'"', behind @ ..] => break Some(behind),
                [b'\\', _, behind @ ..] => behind,
                [b'\n' | b'\r', ..] | [] => break None,
                [_, behind @ ..] => behind,
            };
        };
    };
    loop {
        if let Some(behind) = rest.strip_prefix(BLOCK) {
            return Some(behind);
        }
        rest = rest.strip_prefix(b"\\\"\"\"").or_else(|| rest.get(1..))?;
    }
}

#[cfg(test)]
mod tests {
    use super::{Flaw, check};
    use crate::limits::{NAME_BYTES_MAX, NESTING_MAX, TOKENS_MAX};

    #[test]
    fn a_text_within_the_bounds_passes_whatever_it_says() {
        let name = "n".repeat(NAME_BYTES_MAX);
        let deep = "[".repeat(NESTING_MAX) + &"]".repeat(NESTING_MAX);
        for text in [
            "",
            "{ a }",
            "}}}}",
            "# { ( [ \" only a comment",
            "{ a(b: \"[[[ \\\" \\\\\") }",
            "\"\"\" [ \" \\\"\"\" { \"\"\" { a }",
            "\"\" \"\"\"\"\"\" \"日本語\"",
            &name,
            &deep,
            &"a ".repeat(TOKENS_MAX),
            &format!("\"{}\"", "[".repeat(1_000_000)),
        ] {
            assert_eq!(check(text), Ok(()), "{}", text.get(..40).unwrap_or(text));
        }
    }

    #[test]
    fn a_text_beyond_a_bound_is_refused() {
        assert_eq!(check(&"a ".repeat(TOKENS_MAX + 1)), Err(Flaw::TooManyTokens));
        assert_eq!(check(&"{}".repeat(TOKENS_MAX)), Err(Flaw::TooManyTokens));
        for bracket in ["{", "(", "[", "{a ", "(a:[{b:"] {
            assert_eq!(check(&bracket.repeat(100_000)), Err(Flaw::TooDeep), "{bracket}");
        }
        assert_eq!(check(&"n".repeat(200)), Err(Flaw::LongName(200)));
        for text in ["\"", "\"a", "\"a\n\"", "\"\\\"", "\"\"\"", "\"\"\" \\\"\"\"", "\"\"\"\""] {
            assert_eq!(check(text), Err(Flaw::OpenString), "{text}");
        }
    }
}

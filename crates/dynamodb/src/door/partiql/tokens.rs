//! The tokens of PartiQL: words, names, texts, numbers and signs.

use super::super::fault::Fault;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A word without quotes.
    Word(String),
    /// A name in double quotes.
    Name(String),
    Text(String),
    Number(String),
    Sign(&'static str),
}

const SIGNS: [&str; 22] = [
    "<<", ">>", "<>", "<=", ">=", "!=", "=", "<", ">", "(", ")", "[", "]", "{", "}", ",", ".", ":",
    "?", "*", "+", "-",
];

/// Splits a statement into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '\'' | '"' => quoted(rest, first)?,
            '0'..='9' => {
                let length = number_length(rest);
                (Token::Number(rest.get(..length).unwrap_or_default().to_owned()), length)
            }
            ';' if rest.trim_end() == ";" => break,
            first if first.is_alphabetic() || first == '_' => {
                let end = |c: char| !c.is_alphanumeric() && c != '_';
                let length = rest.find(end).unwrap_or(rest.len());
                (Token::Word(rest.get(..length).unwrap_or_default().to_owned()), length)
            }
            _ => match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => return Err(unexpected(&first.to_string())),
            },
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

/// The length of digits with a point and an exponent. Whether it is a number is checked later.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut length = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    if let Some(exponent) = text.get(length..).and_then(|rest| rest.strip_prefix(['e', 'E'])) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits(unsigned) > 0 {
            length += 1 + exponent.len() - unsigned.len() + digits(unsigned);
        }
    }
    length
}

/// A text or a name in quotes; a quote inside is written twice.
fn quoted(text: &str, quote: char) -> Result<(Token, usize), Fault> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        if char != quote {
            content.push(char);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            let token = if quote == '"' { Token::Name(content) } else { Token::Text(content) };
            return Ok((token, at + 1));
        }
    }
    Err(unexpected("the end of the statement"))
}

/// A malformed statement.
pub(super) fn unexpected(what: &str) -> Fault {
    Fault::invalid(format!("Statement wasn't well formed, can't be processed: unexpected {what}"))
}

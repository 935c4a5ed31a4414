//! The words and signs of an expression.

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// What it is.
    pub(super) kind: TokenKind,
    /// How it is written; `<EOF>` at the end, as DynamoDB calls it.
    pub(super) text: &'a str,
    /// Where it starts.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A keyword, a function or an attribute name.
    Word,
    /// `#name`
    NamePlaceholder,
    /// `:value`
    ValuePlaceholder,
    /// Digits.
    Digits,
    /// An operator or bracket, or any character that has no business here.
    Sign,
    /// Behind the last token.
    End,
}

/// Splits `text`; the last token is always `End`.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    loop {
        let rest = text.get(start..).unwrap_or("");
        let trimmed = rest.trim_ascii_start();
        start += rest.len() - trimmed.len();
        let Some(first) = trimmed.chars().next() else {
            break;
        };
        let (kind, length) = measure(first, trimmed);
        let text = trimmed.get(..length).unwrap_or(trimmed);
        tokens.push(Token { kind, text, start, end: start + text.len() });
        start += text.len();
    }
    tokens.push(Token { kind: TokenKind::End, text: "<EOF>", start, end: start });
    tokens
}

fn measure(first: char, text: &str) -> (TokenKind, usize) {
    let run = |allowed: fn(char) -> bool, from: usize| {
        let rest = text.get(from..).unwrap_or("");
        rest.find(|c| !allowed(c)).map_or(text.len(), |length| from + length)
    };
    match first {
        'a'..='z' | 'A'..='Z' => (TokenKind::Word, run(in_name, 0)),
        '0'..='9' => (TokenKind::Digits, run(|c| c.is_ascii_digit(), 0)),
        '#' if run(in_name, 1) > 1 => (TokenKind::NamePlaceholder, run(in_name, 1)),
        ':' if run(in_name, 1) > 1 => (TokenKind::ValuePlaceholder, run(in_name, 1)),
        '<' if text.starts_with("<>") || text.starts_with("<=") => (TokenKind::Sign, 2),
        '>' if text.starts_with(">=") => (TokenKind::Sign, 2),
        other => (TokenKind::Sign, other.len_utf8()),
    }
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

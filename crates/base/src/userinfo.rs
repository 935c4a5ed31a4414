//! Hides the passwords inside URLs.

use std::borrow::Cow;

/// The replacement of a user and password.
const HIDDEN: &str = "***";

/// The text with the user and password of every URL hidden: `nats://me:secret@host` becomes
/// `nats://***@host`. The user is hidden too: some services take a token in its place.
///
/// ```
/// let shown = base::hide_passwords("cannot reach `nats://me:p@ss@a:4222,nats://token@b`");
/// assert_eq!(shown, "cannot reach `nats://***@a:4222,nats://***@b`");
/// assert_eq!(base::hide_passwords("https://a.example/@me"), "https://a.example/@me");
/// ```
pub fn hide_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains("://") || !text.contains('@') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        // In a list, this part also has the scheme of the next URL, after the host. The last `@`
        // before that scheme ends the password of this URL.
        let end = after.find(ends_authority).unwrap_or(after.len());
        let (authority, _) = after.split_at(end);
        rest = match authority.rfind('@') {
            Some(at) => {
                shown.push_str(HIDDEN);
                after.get(at..).unwrap_or_default()
            }
            None => after,
        };
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Whether a character ends the part of a URL that contains user and password.
fn ends_authority(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '/' | '?' | '#' | '"' | '\'' | '`' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use super::hide_passwords;

    #[test]
    fn users_and_passwords_are_hidden_and_nothing_else_changes() {
        for (text, shown) in [
            ("nats://me:secret@host:4222", "nats://***@host:4222"),
            ("http://me:se%40cret@host/path?a=b@c", "http://***@host/path?a=b@c"),
            ("a,b://u:p,q@h", "a,b://***@h"),
            ("nats://a:b@h1,nats://c:d@h2", "nats://***@h1,nats://***@h2"),
            ("nats://h1,nats://c:d@h2", "nats://h1,nats://***@h2"),
            (
                "{\"url\":\"http://u:p@h\",\"to\":\"a@b\"}",
                "{\"url\":\"http://***@h\",\"to\":\"a@b\"}",
            ),
            ("ws://token@h ws://h/x@y me@h", "ws://***@h ws://h/x@y me@h"),
            ("no url, me@host", "no url, me@host"),
            ("://", "://"),
            ("日://本:語@h", "日://***@h"),
        ] {
            assert_eq!(hide_passwords(text), shown);
        }
    }
}

//! What the log may not show.
//!
//! Headers never reach the log, but for the caller's program, so that keys, cookies and
//! authorisation cannot. Of a request's target, values under names that mean a secret are left
//! out.

use std::borrow::Cow;

use axum::http::Uri;

/// Stands for a value that was left out.
const LEFT_OUT: &str = "[redacted]";

/// Parts of names whose values are secrets. Too many is better than one too few.
const SECRET_PARTS: [&str; 13] = [
    "token",
    "ticket",
    "key",
    "secret",
    "password",
    "passwd",
    "auth",
    "signature",
    "credential",
    "session",
    "jwt",
    "cookie",
    "code",
];

/// Whole names whose values are secrets: AppSync's sockets bring their authorisation this way, and
/// a host of the live room is known by its id.
const SECRET_NAMES: [&str; 5] = ["header", "payload", "sig", "pin", "hostid"];

/// Path and query, with the secrets of the query left out.
pub(crate) fn target(uri: &Uri) -> String {
    let Some(query) = uri.query() else { return uri.path().to_owned() };
    let parameters: Vec<Cow<'_, str>> = query.split('&').map(parameter).collect();
    format!("{}?{}", uri.path(), parameters.join("&"))
}

fn parameter(text: &str) -> Cow<'_, str> {
    match text.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={LEFT_OUT}").into(),
        Some(_) => text.into(),
        // A query that is one word may be the secret itself, as in a one-time link.
        None if text.is_empty() => text.into(),
        None => LEFT_OUT.into(),
    }
}

fn is_secret(name: &str) -> bool {
    let name = decoded(name).to_ascii_lowercase();
    SECRET_NAMES.contains(&name.as_str()) || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// A name may be written with escapes, and mean the same.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = (ahead.next(), ahead.next());
        match (byte, digits) {
            (b'%', (Some(high), Some(low))) => {
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
                match (digit(high), digit(low)) {
                    (Some(high), Some(low)) => {
                        bytes.push(high << 4 | low);
                        rest = ahead;
                    }
                    (_, None) | (None, Some(_)) => bytes.push(byte),
                }
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use axum::http::Uri;
    use proptest::prelude::{prop_assert, proptest};

    use super::target;

    fn shown(uri: &str) -> String {
        target(&uri.parse::<Uri>().unwrap())
    }

    #[test]
    fn secrets_of_a_query_are_left_out_however_their_names_are_written() {
        for name in [
            "token",
            "access_token",
            "api_key",
            "apiKey",
            "X-API-KEY",
            "key",
            "header",
            "payload",
            "Authorization",
            "%74oken",
            "tok%65n",
            "password",
            "code",
            "sig",
            "sessionId",
            "hostId",
            "ticket",
        ] {
            let shown = shown(&format!("/mesh?a=1&{name}=hunter2&b=2"));
            assert_eq!(shown, format!("/mesh?a=1&{name}=[redacted]&b=2"));
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        assert_eq!(shown("/a/b"), "/a/b");
        assert_eq!(shown("/a?limit=20&from=%E3%81%82"), "/a?limit=20&from=%E3%81%82");
        assert_eq!(shown("/a?"), "/a?");
        assert_eq!(shown("/setup?hunter2"), "/setup?[redacted]");
        assert_eq!(shown("/a?100%=x&%zz=y"), "/a?100%=x&%zz=y");
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_token_never_shows(before in "[a-z%&=]{0,20}", secret in "[A-Z]{12}") {
            let shown = shown(&format!("/x?{before}&token={secret}"));
            prop_assert!(!shown.contains(&secret), "{}", shown);
        }
    }
}

//! What the log may not show.
//!
//! Headers never reach the log, but for the caller's program, so that keys, cookies and
//! authorisation cannot. Of a request's target, values under names that mean a secret are left
//! out.

use std::borrow::Cow;

use axum::http::Uri;

/// Stands for a value that was left out.
const LEFT_OUT: &str = "[redacted]";

/// Path and query, with the secrets of the query left out.
pub(crate) fn target(uri: &Uri) -> String {
    let Some(query) = uri.query() else { return uri.path().to_owned() };
    let parameters: Vec<Cow<'_, str>> = query.split('&').map(parameter).collect();
    format!("{}?{}", uri.path(), parameters.join("&"))
}

fn parameter(text: &str) -> Cow<'_, str> {
    match text.split_once('=') {
        Some((name, _)) if base::is_secret_name(name) => format!("{name}={LEFT_OUT}").into(),
        Some(_) => text.into(),
        // A query that is one word may be the secret itself, as in a one-time link.
        None if text.is_empty() => text.into(),
        None => LEFT_OUT.into(),
    }
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

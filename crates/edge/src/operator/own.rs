//! Whether a request comes from a page of this house.
//!
//! A browser says so itself: `Sec-Fetch-Site`, or on plain HTTP in a local network, where it does
//! not, `Origin`, which must be the host that was asked. A request that changes something and says
//! neither is refused: every browser of this decade says one of them.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Uri, header};

/// Whether a request may change something, as far as its origin goes.
pub(super) fn is_from_here(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    if method.is_safe() {
        return true;
    }
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        // `none` is the person itself: an address typed, a page reloaded.
        Some(b"same-origin" | b"none") => true,
        Some(_) => false,
        None => has_own_origin(uri, headers).unwrap_or(false),
    }
}

fn has_own_origin(uri: &Uri, headers: &HeaderMap) -> Option<bool> {
    let origin: Uri = headers.get(header::ORIGIN)?.to_str().ok()?.parse().ok()?;
    let host = headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    let asked: Authority = host.or_else(|| uri.authority().map(Authority::as_str))?.parse().ok()?;
    let port = |authority: &Authority| {
        let usual = if origin.scheme_str() == Some("https") { 443 } else { 80 };
        authority.port_u16().unwrap_or(usual)
    };
    let from = origin.authority()?;
    Some(from.host().eq_ignore_ascii_case(asked.host()) && port(from) == port(&asked))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

    use super::is_from_here;

    fn post(lines: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let value = HeaderValue::from_str(value).unwrap();
            headers.insert(HeaderName::from_static(name), value);
        }
        is_from_here(&Method::POST, &Uri::from_static("/x"), &headers)
    }

    #[test]
    fn the_browsers_own_word_decides() {
        assert!(post(&[("sec-fetch-site", "same-origin")]));
        assert!(post(&[("sec-fetch-site", "none")]));
        for site in ["cross-site", "same-site", "", "SAME-ORIGIN"] {
            let lines = [("sec-fetch-site", site), ("origin", "http://a"), ("host", "a")];
            assert!(!post(&lines), "{site}");
        }
    }

    #[test]
    fn without_it_the_origin_must_be_the_host() {
        for (origin, host, own) in [
            ("http://192.168.1.5:8080", "192.168.1.5:8080", true),
            ("http://Nagaya.local", "nagaya.local", true),
            ("http://nagaya.local", "nagaya.local:80", true),
            ("https://nagaya.local", "nagaya.local", true),
            ("https://nagaya.local", "nagaya.local:443", true),
            ("http://[::1]:8080", "[::1]:8080", true),
            ("http://192.168.1.5:8081", "192.168.1.5:8080", false),
            ("http://evil.example", "nagaya.local", false),
            ("http://nagaya.local.evil.example", "nagaya.local", false),
            ("null", "nagaya.local", false),
            ("", "nagaya.local", false),
            ("http://", "nagaya.local", false),
            ("http://nagaya.local", "", false),
            ("http://nagaya.local@evil.example", "nagaya.local", false),
        ] {
            assert_eq!(post(&[("origin", origin), ("host", host)]), own, "{origin} {host}");
        }
        assert!(!post(&[("origin", "http://a")]));
        assert!(!post(&[("host", "a")]));
        assert!(!post(&[]));
    }

    #[test]
    fn reading_is_free() {
        let uri = Uri::from_static("/x");
        assert!(is_from_here(&Method::GET, &uri, &HeaderMap::new()));
    }
}

//! What proxies write about those they speak for, read from the right.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};

use super::ProxyHeader;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The addresses from the nearest to the farthest; none for a word that is no address.
pub(super) fn addresses(
    written_by: ProxyHeader,
    headers: &HeaderMap,
) -> impl Iterator<Item = Option<IpAddr>> {
    let (name, read): (_, fn(&str) -> Option<IpAddr>) = match written_by {
        ProxyHeader::XForwardedFor => (X_FORWARDED_FOR, address),
        ProxyHeader::Forwarded => (header::FORWARDED, |word| address(&parameter(word, "for")?)),
    };
    elements(headers, &name).into_iter().rev().map(move |word| read(word?))
}

/// Whether the nearest proxy was spoken to with TLS.
pub(super) fn says_https(written_by: ProxyHeader, headers: &HeaderMap) -> bool {
    let last = |name| elements(headers, name).pop().flatten();
    let word = match written_by {
        ProxyHeader::XForwardedFor => last(&X_FORWARDED_PROTO).map(str::to_owned),
        ProxyHeader::Forwarded => {
            last(&header::FORWARDED).and_then(|word| parameter(word, "proto"))
        }
    };
    word.is_some_and(|word| word.trim().eq_ignore_ascii_case("https"))
}

/// The parts of a header that may stand on several lines; none for a line that is not text.
fn elements<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Vec<Option<&'h str>> {
    let lines = headers.get_all(name).into_iter();
    let parts = lines.flat_map(|line| match line.to_str() {
        Ok(text) => split(text, ',').into_iter().map(Some).collect(),
        Err(_) => vec![None],
    });
    parts.collect()
}

/// Splits at `separator` where it does not stand in quotes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(|letter: char| {
        let separates = letter == separator && !quoted;
        quoted ^= letter == '"' && !escaped;
        escaped = quoted && letter == '\\' && !escaped;
        separates
    })
    .collect()
}

/// The value of `name` in one element of `Forwarded`, without its quotes.
fn parameter(element: &str, name: &str) -> Option<String> {
    let pairs = split(element, ';').into_iter().filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(found, _)| found.trim().eq_ignore_ascii_case(name));
    let (_, value) = named.next()?;
    let value = value.trim();
    let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    // No address needs an escape, so one that is left in makes the value none.
    Some(bare.unwrap_or(value).to_owned())
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    bare.unwrap_or(text).parse().ok().or_else(with_port)
}

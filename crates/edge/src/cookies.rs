//! What a browser holds for us.

use axum::http::{HeaderMap, header};

/// The value of a cookie.
pub fn find<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(key, _)| key.trim() == name);
    named.next().map(|(_, value)| value.trim())
}

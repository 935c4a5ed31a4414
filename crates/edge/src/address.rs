//! The address at which the caller has found the house.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;

use crate::Client;

/// Scheme and host, as in `https://example.org`. An extractor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(pub String);

impl<S: Sync> FromRequestParts<S> for Address {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Address, Infallible> {
        let scheme = if Client::of(&parts.extensions).is_secure() { "https" } else { "http" };
        let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        // HTTP/2 names the host in the target.
        let host = named.or_else(|| parts.uri.authority().map(|host| host.as_str()));
        let host = host.filter(|host| is_host(host)).unwrap_or("localhost");
        Ok(Address(format!("{scheme}://{host}")))
    }
}

/// Letters that need no care on a command line, nor anywhere else.
fn is_host(text: &str) -> bool {
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    !text.is_empty() && text.bytes().all(in_host)
}

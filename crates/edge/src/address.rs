//! The address that pages show to people.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;

use crate::{Client, Reach};

/// Scheme and host to show to people, as in `http://192.168.1.7:8080`: for join cards, QR codes and
/// links that are opened on other machines. It is `http.public_url`; else the address that the caller
/// has used; else, where the caller has used a name of this machine, an address of the local network.
/// An extractor.
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
        let used = format!("{scheme}://{host}");
        Ok(Address(match parts.extensions.get::<Arc<Reach>>() {
            Some(reach) => reach.url_for(&used),
            // A room without a server, in a test.
            None => used,
        }))
    }
}

/// Letters that need no care on a command line, nor anywhere else.
pub(crate) fn is_host(text: &str) -> bool {
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    !text.is_empty() && text.bytes().all(in_host)
}

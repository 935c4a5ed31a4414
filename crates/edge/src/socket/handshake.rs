//! The handshake of RFC 6455: what a request must say, whom it may come from, what is answered.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::OnUpgrade;
use tungstenite::handshake::derive_accept_key;

use super::Terms;
use crate::{Draining, Failure};

/// The length of a key: 16 bytes in base64.
const KEY_CHARS: usize = 24;

/// Which pages may open a connection. Programs that are no browsers send no origin and are let in:
/// the policy protects a visitor of a foreign page, not the house.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// Pages of the house itself.
    #[default]
    Same,
    /// Pages of the house and of these origins, such as `https://example.org`.
    Listed(Vec<String>),
    /// All.
    Any,
}

/// A request that may become a WebSocket, as an extractor.
#[derive(Debug)]
pub struct Upgrade {
    headers: HeaderMap,
    is_get: bool,
    on_upgrade: Option<OnUpgrade>,
    draining: Draining,
}

impl<S: Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Upgrade, Failure> {
        Ok(Upgrade {
            headers: parts.headers.clone(),
            is_get: parts.method == Method::GET && parts.version == Version::HTTP_11,
            on_upgrade: parts.extensions.remove(),
            draining: Draining::from_request_parts(parts, state).await?,
        })
    }
}

/// A handshake that was agreed on.
pub(super) struct Agreed {
    accept: HeaderValue,
    pub(super) protocol: Option<String>,
    pub(super) offered: Vec<String>,
    pub(super) on_upgrade: OnUpgrade,
    pub(super) draining: Draining,
}

impl Upgrade {
    /// The request's headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Whether the client offers this subprotocol.
    pub fn offers(&self, protocol: &str) -> bool {
        list(&self.headers, header::SEC_WEBSOCKET_PROTOCOL).iter().any(|offer| offer == protocol)
    }

    pub(super) fn agree(self, terms: &Terms<'_>) -> Result<Agreed, Failure> {
        let asks = self.is_get
            && lists(&self.headers, header::CONNECTION, "upgrade")
            && lists(&self.headers, header::UPGRADE, "websocket");
        let Some(on_upgrade) = self.on_upgrade.filter(|_| asks) else {
            return Err(needs_upgrade("this path speaks WebSocket"));
        };
        if find(&self.headers, header::SEC_WEBSOCKET_VERSION) != Some("13") {
            return Err(needs_upgrade("only version 13 of WebSocket is spoken"));
        }
        let key = find(&self.headers, header::SEC_WEBSOCKET_KEY).filter(|key| is_key(key));
        let Some(key) = key else {
            let message = "`Sec-WebSocket-Key` is not 16 bytes in base64";
            return Err(Failure::new(StatusCode::BAD_REQUEST, "bad_handshake", message)
                .in_japanese("`Sec-WebSocket-Key` が正しくありません"));
        };
        terms.origins.check(&self.headers)?;
        let offered = list(&self.headers, header::SEC_WEBSOCKET_PROTOCOL);
        let protocol = choose(terms.protocols, &offered)?;
        let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()))
            .expect("base64 is fit for a header");
        Ok(Agreed { accept, protocol, offered, on_upgrade, draining: self.draining })
    }
}

impl Agreed {
    pub(super) fn response(&self) -> Response {
        let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept.clone());
        if let Some(protocol) = &self.protocol {
            let protocol = HeaderValue::from_str(protocol).expect("it came in a header");
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response
    }
}

impl Origins {
    fn check(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or_default();
        let allowed = match self {
            Origins::Any => true,
            Origins::Same => is_same(origin, headers),
            Origins::Listed(list) => {
                is_same(origin, headers) || list.iter().any(|listed| listed == origin)
            }
        };
        if allowed {
            return Ok(());
        }
        let message = format!("pages of `{origin}` may not connect here");
        Err(Failure::new(StatusCode::FORBIDDEN, "origin_refused", message)
            .in_japanese(format!("「{origin}」のページからは接続できません")))
    }
}

/// Whether the page came from where the request goes. The scheme may differ behind a proxy.
fn is_same(origin: &str, headers: &HeaderMap) -> bool {
    let host = find(headers, header::HOST);
    let named = origin.split_once("://").map(|(_, host)| host);
    named.is_some_and(|named| host.is_some_and(|host| host.eq_ignore_ascii_case(named)))
}

fn choose(spoken: &[&str], offered: &[String]) -> Result<Option<String>, Failure> {
    if spoken.is_empty() || offered.is_empty() {
        return Ok(None);
    }
    let chosen = spoken.iter().find(|protocol| offered.iter().any(|offer| offer == *protocol));
    let chosen = chosen.ok_or_else(|| {
        let message = format!("none of the subprotocols is spoken here: {}", spoken.join(", "));
        Failure::new(StatusCode::BAD_REQUEST, "no_common_protocol", message).in_japanese(format!(
            "使えるサブプロトコルがありません。ここで使えるのは {} です",
            spoken.join("、")
        ))
    })?;
    Ok(Some((*chosen).to_owned()))
}

fn needs_upgrade(message: &str) -> Failure {
    Failure::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", message)
        .in_japanese("このパスでは WebSocket（バージョン13）だけが使えます")
}

fn is_key(key: &str) -> bool {
    let (text, end) = key.split_at_checked(KEY_CHARS - 2).unwrap_or_default();
    let in_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    end == "==" && text.bytes().all(in_alphabet)
}

fn find(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The words of a header that lists some, over all its lines.
fn list(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    let words = lines.flat_map(|line| line.split(',')).map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn lists(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    list(headers, name).iter().any(|listed| listed.eq_ignore_ascii_case(word))
}

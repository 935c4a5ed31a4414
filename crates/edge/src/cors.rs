//! Which pages of other origins may call a room.

use axum::http::{HeaderName, HeaderValue, Method, Uri, header};
use base::options::{Form, Value};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::limits::PREFLIGHT_AGE;
use crate::traces::TRACEPARENT;
use crate::watch::REQUEST_ID;

/// A room's policy for pages of other origins. Pages of the house itself need none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Cors {
    /// Those that `http.cors_origins` names, without cookies.
    #[default]
    Listed,
    /// Those that `http.cors_origins` names, with their cookies.
    ListedWithCookies,
    /// Any, without cookies: for what is public, or guarded by keys alone.
    Anyone,
    /// None, whatever the options say.
    Nobody,
}

/// Origins, as a list with commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginList {
    list: Vec<HeaderValue>,
}

impl Cors {
    /// The layer that keeps the policy. None is needed where no other origin may call.
    pub(crate) fn layer(self, origins: &OriginList) -> Option<CorsLayer> {
        let listed = || AllowOrigin::list(origins.list.clone());
        match self {
            Cors::Nobody => None,
            Cors::Listed | Cors::ListedWithCookies if origins.list.is_empty() => None,
            Cors::Listed => Some(layer().allow_origin(listed())),
            Cors::ListedWithCookies => Some(layer().allow_origin(listed()).allow_credentials(true)),
            Cors::Anyone => Some(layer().allow_origin(AllowOrigin::any())),
        }
    }
}

fn layer() -> CorsLayer {
    const METHODS: [Method; 6] =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    const EXPOSED: [HeaderName; 7] = [
        header::ETAG,
        header::LOCATION,
        header::RETRY_AFTER,
        TRACEPARENT,
        HeaderName::from_static(REQUEST_ID),
        HeaderName::from_static("ratelimit"),
        HeaderName::from_static("ratelimit-policy"),
    ];
    CorsLayer::new()
        .allow_methods(METHODS)
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED)
        .max_age(PREFLIGHT_AGE)
}

impl Value for OriginList {
    fn read(&mut self, text: &str) -> bool {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let origin = |text: &str| HeaderValue::from_str(text).ok().filter(|_| is_origin(text));
        let list: Option<Vec<HeaderValue>> = parts.map(origin).collect();
        list.map(|list| self.list = list).is_some()
    }

    fn write(&self) -> String {
        let list: Vec<&str> = self.list.iter().filter_map(|origin| origin.to_str().ok()).collect();
        list.join(", ")
    }

    fn expected(&self) -> String {
        "origins such as `https://example.org, http://localhost:3000`, or nothing".to_owned()
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

/// Whether a text is an origin as a browser sends it: scheme, host and maybe a port, in lower case,
/// nothing behind.
pub fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return false };
    let authority = authority.as_str();
    matches!(scheme, "http" | "https")
        && !authority.is_empty()
        && text == format!("{scheme}://{authority}")
        && !authority.contains('@')
        && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use base::options::Value;

    use super::OriginList;

    #[test]
    fn origins_are_what_browsers_send_and_nothing_more() {
        let read = |text: &str| {
            let mut origins = OriginList::default();
            origins.read(text).then(|| origins.write())
        };
        assert_eq!(read("").as_deref(), Some(""));
        assert_eq!(
            read(" https://example.org,http://localhost:3000 ,").as_deref(),
            Some("https://example.org, http://localhost:3000")
        );
        for wrong in [
            "*",
            "null",
            "example.org",
            "https://example.org/",
            "https://a@b",
            "ftp://x",
            "https://X",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

//! A page for people, under a policy that runs no script but the house's own files.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::Markup;

use crate::Reader;

/// The house's sign in a browser's tab, as SVG.
pub const ICON: &str = include_str!("icon.svg");

/// Nothing is allowed but what is listed: files of the house, and no text that turns into script.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'",
);

/// What every page says about itself, beside the policy.
const HEADERS: [(HeaderName, HeaderValue); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    // A page shows the moment, and maybe what only its reader may see.
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    // Addresses inside the house are nobody else's business.
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    ),
];

/// A page. The only way in which the house answers HTML.
#[derive(Debug)]
pub struct Page {
    status: StatusCode,
    markup: Markup,
    /// What its reader's browser is to remember.
    cookie: Option<HeaderValue>,
}

impl Page {
    /// A page with this document.
    pub fn new(markup: Markup) -> Page {
        Page { status: StatusCode::OK, markup, cookie: None }
    }

    /// With another status than 200, for a page that says what went wrong.
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Page {
        Page { status, ..self }
    }

    /// For a reader, whose browser remembers the language that it has chosen.
    #[must_use]
    pub fn with_reader(self, reader: Reader) -> Page {
        Page { cookie: reader.cookie(), ..self }
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let cookie = self.cookie.map(|cookie| [(header::SET_COOKIE, cookie)]);
        (self.status, HEADERS, cookie, Html(self.markup.into_string())).into_response()
    }
}

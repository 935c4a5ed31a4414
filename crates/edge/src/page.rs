//! A page for people, under a policy that runs no script but the house's own files.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::Markup;

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'",
);

const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
];

/// A page. The only way in which the house answers HTML.
#[derive(Debug)]
pub struct Page {
    status: StatusCode,
    markup: Markup,
}

impl Page {
    /// A page with this document.
    pub fn new(markup: Markup) -> Page {
        Page { status: StatusCode::OK, markup }
    }

    /// With another status than 200, for a page that says what went wrong.
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Page {
        Page { status, ..self }
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        (self.status, HEADERS, Html(self.markup.into_string())).into_response()
    }
}

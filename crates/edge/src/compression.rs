//! Smaller answers for who asks for them: text by gzip, and nothing else.
//!
//! Brotli would save a little more and cost a large dependency and more time for each answer.

use std::sync::Arc;

use axum::http::{Extensions, HeaderMap, HeaderValue, Response, StatusCode, Version, header};
use tower_http::compression::predicate::SizeAbove;
use tower_http::compression::{CompressionLayer, Predicate};

use crate::failure::Told;
use crate::limits::COMPRESS_BYTES_MIN;

/// Compresses answers; [`weaken`] stands around it.
pub(crate) fn layer() -> CompressionLayer<impl Predicate + Send + Sync> {
    CompressionLayer::new().compress_when(SizeAbove::new(COMPRESS_BYTES_MIN).and(is_text))
}

/// Whether compressing helps, and harms no stream: events must leave when they happen. The body of
/// a failure is not compressed, because the watch around this layer writes another one in its
/// place.
fn is_text(_: StatusCode, _: Version, headers: &HeaderMap, extensions: &Extensions) -> bool {
    if extensions.get::<Arc<Told>>().is_some() {
        return false;
    }
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    let is_text = essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(essence, "application/json" | "application/javascript");
    is_text && essence != "text/event-stream"
}

/// A strong tag promises the same bytes, which compressing changes.
pub(crate) fn weaken<B>(mut response: Response<B>) -> Response<B> {
    if response.headers().contains_key(header::CONTENT_ENCODING) {
        let tag = response.headers().get(header::ETAG).map(HeaderValue::as_bytes);
        let strong = tag.filter(|tag| tag.starts_with(b"\""));
        let weak = strong.and_then(|tag| HeaderValue::from_bytes(&[b"W/", tag].concat()).ok());
        if let Some(weak) = weak {
            response.headers_mut().insert(header::ETAG, weak);
        }
    }
    response
}

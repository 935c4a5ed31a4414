//! Answers that a caller may keep, and need not be sent again: ETag and 304, as in RFC 9110.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base::hex;
use bytes::Bytes;
use sha2::{Digest, Sha256};

const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Bytes with their type and their strong tag, which is decided by the bytes alone.
#[derive(Clone, Debug)]
pub struct Tagged {
    content_type: HeaderValue,
    cache_control: HeaderValue,
    tag: HeaderValue,
    body: Bytes,
}

impl Tagged {
    /// Bytes that a caller may keep if it asks each time whether they are still right.
    pub fn new(content_type: HeaderValue, body: impl Into<Bytes>) -> Tagged {
        let body = body.into();
        let tag = HeaderValue::try_from(format!("\"{}\"", fingerprint(&body)));
        let tag = tag.expect("hexadecimal digits fit a header");
        Tagged { content_type, cache_control: REVALIDATE, tag, body }
    }

    /// Bytes that never change at their address, such as an asset with its hash in its name.
    #[must_use]
    pub fn for_ever(self) -> Tagged {
        Tagged { cache_control: FOR_EVER, ..self }
    }

    /// Bytes that caches may keep as this says.
    #[must_use]
    pub fn with_cache_control(self, cache_control: HeaderValue) -> Tagged {
        Tagged { cache_control, ..self }
    }

    /// The whole, or only that the caller has it already.
    pub fn answer(&self, request: &HeaderMap) -> Response {
        let headers =
            [(header::ETAG, self.tag.clone()), (header::CACHE_CONTROL, self.cache_control.clone())];
        if is_known(&self.tag, request) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let content_type = [(header::CONTENT_TYPE, self.content_type.clone())];
        (headers, content_type, self.body.clone()).into_response()
    }
}

/// Whether `If-None-Match` names the tag. Weak tags count, as the standard says here.
pub(crate) fn is_known(tag: &HeaderValue, request: &HeaderMap) -> bool {
    let lists = request.get_all(header::IF_NONE_MATCH).iter();
    let mut tags = lists.filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(','));
    tags.any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known).as_bytes() == tag.as_bytes()
    })
}

/// 32 hexadecimal digits that stand for the bytes.
pub fn fingerprint(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).iter().take(16))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

    use super::Tagged;

    fn text(body: &'static str) -> Tagged {
        Tagged::new(HeaderValue::from_static("text/plain"), body)
    }

    fn status(tagged: &Tagged, lists: &[&str]) -> StatusCode {
        let mut headers = HeaderMap::new();
        for list in lists {
            headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(list).unwrap());
        }
        tagged.answer(&headers).status()
    }

    #[test]
    fn who_has_the_bytes_is_not_sent_them_again() {
        let tagged = text("hello");
        let tag = tagged.tag.to_str().unwrap().to_owned();
        for known in [
            &[tag.as_str()][..],
            &["*"],
            &[&format!("W/{tag}")],
            &[&format!("\"other\" , {tag}")],
            &["\"other\"", &tag],
        ] {
            assert_eq!(status(&tagged, known), StatusCode::NOT_MODIFIED, "{known:?}");
        }
        for unknown in [&[][..], &["\"other\""], &[&tag[1..]], &[""], &[&format!("w/{tag}")]] {
            assert_eq!(status(&tagged, unknown), StatusCode::OK, "{unknown:?}");
        }
    }

    #[test]
    fn caches_are_told_what_they_may_do_with_the_whole_and_without() {
        let tagged = text("hello").with_cache_control(HeaderValue::from_static("s-maxage=600"));
        let mut known = HeaderMap::new();
        known.insert(header::IF_NONE_MATCH, HeaderValue::from_static("*"));
        for request in [HeaderMap::new(), known] {
            let answer = tagged.answer(&request);
            assert_eq!(answer.headers()[header::CACHE_CONTROL], "s-maxage=600");
        }
    }

    #[test]
    fn the_tag_is_the_bytes() {
        assert_eq!(text("hello").tag, text("hello").for_ever().tag);
        assert_ne!(text("hello").tag, text("hellp").tag);
    }
}

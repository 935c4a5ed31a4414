//! An answer that is kept: its status, the headers that matter, its body.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, Collected, Limited};

use super::REPLAYED;
use crate::Failure;
use crate::limits::guard::{ANSWER_BYTES_MAX, ANSWER_READ_MAX};

/// Headers that are part of an answer. Others belong to the moment (rates, traces, dates), or are
/// secrets that must not lie in a table (cookies).
const KEPT_HEADERS: [HeaderName; 7] = [
    header::CONTENT_TYPE,
    header::CONTENT_LANGUAGE,
    header::LOCATION,
    header::ETAG,
    header::LAST_MODIFIED,
    header::LINK,
    header::CACHE_CONTROL,
];

#[derive(Debug)]
pub(super) struct Answer {
    response: Response<()>,
    /// None if it did not come to its end, or not within bounds.
    body: Option<Bytes>,
}

/// An answer as the table holds it.
#[derive(Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// None if it was too large, or broke off.
    pub(super) body: Option<Bytes>,
}

impl Answer {
    /// The whole answer, also of a body that comes bit by bit.
    pub(super) async fn read(response: Response) -> Answer {
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_READ_MAX).collect().await;
        let body = body.map(Collected::to_bytes);
        if let Err(cause) = &body {
            tracing::error!(%cause, "an answer broke off");
        }
        Answer { response: Response::from_parts(parts, ()), body: body.ok() }
    }

    /// Whether the caller was told to come again, so that there is nothing to keep.
    pub(super) fn says_later(&self) -> bool {
        let status = self.response.status();
        status.is_server_error()
            || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
    }

    pub(super) fn kept(&self) -> Kept {
        let headers = self.response.headers();
        let lines = KEPT_HEADERS.iter().flat_map(|name| {
            let texts = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
            texts.map(|text| (name.to_string(), text.to_owned()))
        });
        let body = self.body.as_ref().filter(|body| body.len() <= ANSWER_BYTES_MAX);
        Kept {
            status: self.response.status().as_u16(),
            headers: lines.collect(),
            body: body.cloned(),
        }
    }

    pub(super) fn into_response(self) -> Response {
        match self.body {
            Some(body) => self.response.map(|()| Body::from(body)),
            None => not_kept(StatusCode::INTERNAL_SERVER_ERROR).into_response(),
        }
    }
}

impl Kept {
    pub(super) fn replayed(self) -> Response {
        let Some(body) = self.body else {
            return not_kept(StatusCode::CONFLICT).into_response();
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or_default();
        for (name, value) in self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), value.try_into()) {
                response.headers_mut().append(name, value);
            }
        }
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        response
    }
}

/// It was done and will not be done again, but nobody knows any more what was said.
fn not_kept(status: StatusCode) -> Failure {
    let message = format!(
        "the request was done, but its answer was too large to be kept (more than \
         {ANSWER_BYTES_MAX} bytes), or broke off"
    );
    Failure::new(status, "idempotency_answer_not_kept", message)
        .in_japanese("リクエストは処理されましたが、その応答は残っていません")
}

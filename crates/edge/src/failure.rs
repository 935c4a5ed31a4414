//! What a caller is told when a request fails: problem+json as in RFC 9457. Who asked for a page
//! gets one instead (`notice.rs`).
//!
//! - **Invariant:** a failure that leaves the house names the trace under which the log knows it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Language;
use crate::limits::{SCARCE_WAIT, STORE_BUSY_WAIT, STORE_FULL_WAIT};

pub(crate) const PROBLEM: &str = "application/problem+json";
pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static(PROBLEM);

/// A failed request. The caller sees status, code and message; the source goes to the log only.
#[derive(Debug)]
pub struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
    japanese: Option<String>,
    is_retryable: bool,
    headers: Vec<(HeaderName, HeaderValue)>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure with a stable word for programs and a message for people. Whether trying again
    /// may help is what the status says by itself.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Failure {
        let is_retryable = matches!(
            status,
            StatusCode::REQUEST_TIMEOUT
                | StatusCode::TOO_EARLY
                | StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        let message = message.into();
        let (japanese, headers, source) = (None, Vec::new(), None);
        Failure { status, code, message, japanese, is_retryable, headers, source }
    }

    /// Something that is our doing. The caller learns nothing but that.
    pub fn internal(source: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
        Failure::ours("something went wrong on our side").because(source)
    }

    /// The same, with what the caller may know of it.
    pub(crate) fn ours(message: &str) -> Failure {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
            .in_japanese("サーバー側で問題が起きました")
    }

    /// The body of a request is larger than `bytes_max`.
    pub(crate) fn body_too_large(message: impl Into<String>, bytes_max: usize) -> Failure {
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
            .in_japanese(format!("リクエストの本文は{bytes_max}バイトまでです"))
    }

    /// The body of a request did not arrive in time.
    pub(crate) fn body_timeout(within: Duration) -> Failure {
        let message = format!("the body did not arrive within {within:?}");
        Failure::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", message)
            .in_japanese(format!("リクエストの本文が{}秒以内に届きませんでした", within.as_secs()))
    }

    /// The bodies of other requests fill the memory that there is for them.
    pub(crate) fn bodies_full(message: impl Into<String>) -> Failure {
        Failure::scarce("bodies_full", message)
    }

    /// Others hold all that there is of something. The same request may succeed in a moment.
    pub(crate) fn scarce(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
            .in_japanese("ただいま混み合っています。少し待ってからもう一度お試しください")
            .retry_after(SCARCE_WAIT)
    }

    /// The store has more to do than it can: whoever asks is told to slow down.
    pub fn store_busy(source: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
        let message = "the store is busy, try again in a moment";
        Failure::new(StatusCode::TOO_MANY_REQUESTS, "store_busy", message)
            .in_japanese("ただいま混み合っています。少し待ってからもう一度お試しください")
            .retry_after(STORE_BUSY_WAIT)
            .because(source)
    }

    /// What the store could not do. A store that is busy, full or stopped is no fault of the request
    /// and has its own status and code; everything else is our doing.
    pub fn of_store(error: &table::Error) -> Failure {
        Failure::find_of_store(error).unwrap_or_else(|| Failure::internal(error.clone()))
    }

    /// The state of the store that made it fail, if one did. Readiness logs that state once; here
    /// it would be a line for each request.
    fn find_of_store(error: &table::Error) -> Option<Failure> {
        match error {
            table::Error::Throttled(_) => Some(Failure::store_busy(error.clone())),
            table::Error::DiskFull => Some(
                Failure::new(
                    StatusCode::INSUFFICIENT_STORAGE,
                    "disk_full",
                    "the server has no room left: nothing was changed, try again later",
                )
                .in_japanese("サーバーの空き容量がありません。何も変更していません")
                .retry_after(STORE_FULL_WAIT),
            ),
            table::Error::Stopped(_) => Some(
                Failure::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "store_stopped",
                    "the server cannot change anything at the moment",
                )
                .in_japanese("ただいま変更を受け付けていません"),
            ),
            _ => None,
        }
    }

    /// What was asked cannot be checked, because the store failed.
    pub(crate) fn unavailable(message: impl Into<String>, error: crate::Error) -> Failure {
        if let crate::Error::Store(error) = &error
            && let Some(failure) = Failure::find_of_store(error)
        {
            return failure;
        }
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            .in_japanese("ただいま確認できません。少し待ってからもう一度お試しください")
            .because(error)
    }

    /// With what lies behind it, for the log.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
        Failure { source: Some(source.into()), ..self }
    }

    /// With the message for callers who wish for Japanese.
    #[must_use]
    pub fn in_japanese(self, message: impl Into<String>) -> Failure {
        Failure { japanese: Some(message.into()), ..self }
    }

    /// Says whether trying the same again may help, where the status alone does not tell.
    #[must_use]
    pub fn retryable(self, is_retryable: bool) -> Failure {
        Failure { is_retryable, ..self }
    }

    /// With the time after which trying again may help, in whole seconds.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Failure {
        // A caller that comes a moment early would only be refused again.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.retryable(true).with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Failure {
        self.headers.push((name, value));
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The stable word.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What the caller is told.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The body, for who has no response to give it to.
    pub(crate) fn problem(&self, trace_id: Option<&str>) -> Vec<u8> {
        self.told().render(&Asked { trace_id, ..Asked::default() })
    }

    fn told(&self) -> Told {
        Told {
            status: self.status,
            code: self.code,
            message: self.message.clone(),
            japanese: self.japanese.clone(),
            is_retryable: self.is_retryable,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status.as_u16(), self.code, self.message)
    }
}

impl Error for Failure {}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        if let Some(source) = &self.source {
            tracing::error!(code = self.code, %source, "{}", self.message);
        }
        let told = self.told();
        let mut response =
            (self.status, Body::from(told.render(&Asked::default()))).into_response();
        response.headers_mut().extend(self.headers);
        response.headers_mut().insert(header::CONTENT_TYPE, PROBLEM_JSON);
        response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
        response.extensions_mut().insert(Arc::new(told));
        response
    }
}

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// What a response says about its failure, for who knows the trace and for the log.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    message: String,
    japanese: Option<String>,
    is_retryable: bool,
}

/// What a failure's body tells of the request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) trace_id: Option<&'a str>,
    pub(crate) path: Option<&'a str>,
    pub(crate) language: Option<Language>,
}

impl Told {
    /// What went wrong, for who wishes for this language.
    pub(crate) fn message(&self, language: Option<Language>) -> &str {
        match (language, &self.japanese) {
            (Some(Language::Ja), Some(japanese)) => japanese,
            (Some(Language::Ja | Language::En) | None, _) => &self.message,
        }
    }

    pub(crate) fn render(&self, asked: &Asked<'_>) -> Vec<u8> {
        let message = self.message(asked.language);
        let problem = Problem {
            kind: ABOUT_BLANK,
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            code: self.code,
            detail: message,
            instance: asked.path,
            message,
            retryable: self.is_retryable,
            trace_id: asked.trace_id,
        };
        serde_json::to_vec(&problem).expect("words, a number and a switch are JSON")
    }
}

/// The type of problems that their status and code tell apart: the default of RFC 9457, written out
/// for readers who look for it.
const ABOUT_BLANK: &str = "about:blank";

/// A failed request, as in RFC 9457.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problem<'a> {
    /// Always `about:blank`: what went wrong is told by `code`.
    #[serde(rename = "type")]
    #[schema(example = "about:blank")]
    kind: &'a str,
    /// The status in words.
    title: &'a str,
    /// The status.
    #[schema(example = 404)]
    status: u16,
    /// A stable word for programs.
    #[schema(example = "not_found")]
    code: &'a str,
    /// What went wrong, for people.
    detail: &'a str,
    /// The path that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    /// The same, under the name that clients of API Gateway read.
    message: &'a str,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// The trace under which the house's log knows the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<&'a str>,
}

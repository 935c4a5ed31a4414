//! What a caller is told when a request fails: problem+json as in RFC 9457.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A failed request. The caller sees status, code and message; the source goes to the log only.
#[derive(Debug)]
pub struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    retry_after: Option<HeaderValue>,
}

impl Failure {
    /// A failure with a stable word for programs and a message for people.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Failure {
        Failure { status, code, message: message.into(), source: None, retry_after: None }
    }

    /// With the time after which trying again may help, in whole seconds.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Failure {
        // A caller that comes a moment early would only be refused again.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Failure { retry_after: Some(HeaderValue::from(seconds)), ..self }
    }

    /// With what lies behind it, for the log.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
        Failure { source: Some(source.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status.as_u16(), self.code, self.message)
    }
}

/// The members of RFC 9457, and `code`. The type is the default one and left out.
#[derive(Serialize)]
struct Problem<'a> {
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        if let Some(source) = &self.source {
            tracing::error!(code = self.code, %source, "{}", self.message);
        }
        let problem = Problem {
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.message,
        };
        let body = serde_json::to_vec(&problem).expect("words and a number are JSON");
        let headers = [(header::CONTENT_TYPE, PROBLEM_JSON)];
        let mut response = (self.status, headers, Body::from(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

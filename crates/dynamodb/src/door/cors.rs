//! Calls of browsers: which pages of other origins may make them, and the headers by which a
//! browser lets a page read the answer.

use super::{Call, Guard, Origins, Reply};

/// For how long a browser may remember what a page is allowed to do, in seconds; as DynamoDB has
/// it.
const PREFLIGHT_SECONDS: u32 = 172_800;
/// The headers of an answer that a page may read.
const EXPOSED: &str = "x-amz-crc32, x-amzn-requestid";

impl Guard {
    /// The same, and pages of these origins may call it from a browser. Their calls need keys as
    /// all others do.
    #[must_use]
    pub fn allowing(mut self, origins: Origins) -> Guard {
        self.origins = origins;
        self
    }

    /// The answer to a browser that asks what a page may do, if it may do anything.
    pub(super) fn preflight(&self, call: &Call<'_>) -> Option<Reply> {
        let method = call.header("access-control-request-method")?;
        self.origin(call).filter(|_| call.method == "OPTIONS" && method == "POST")?;
        let mut headers = vec![
            ("access-control-allow-methods", "POST".to_owned()),
            ("access-control-max-age", PREFLIGHT_SECONDS.to_string()),
        ];
        if let Some(wanted) = call.header("access-control-request-headers") {
            headers.push(("access-control-allow-headers", wanted.to_owned()));
        }
        let (content_type, body) = ("text/plain; charset=utf-8", String::new());
        Some(Reply { status: 200, content_type, headers, body })
    }

    /// Lets the page that made a call read the answer, if it is one of those that may call.
    pub(super) fn let_read(&self, call: &Call<'_>, reply: &mut Reply) {
        if self.origins.is_empty() {
            return;
        }
        reply.headers.push(("vary", "origin".to_owned()));
        if let Some(origin) = self.origin(call) {
            reply.headers.push(("access-control-allow-origin", origin.to_owned()));
            reply.headers.push(("access-control-expose-headers", EXPOSED.to_owned()));
        }
    }

    fn origin<'c>(&self, call: &Call<'c>) -> Option<&'c str> {
        call.header("origin").filter(|origin| self.origins.contains(origin))
    }
}

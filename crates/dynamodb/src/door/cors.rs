//! CORS: which pages of other origins may call the door from a browser, and the headers that let
//! such a page read the response.

use super::{Call, Guard, Origins, Reply};

/// How long a browser may cache the response to a preflight, in seconds; as in DynamoDB.
const PREFLIGHT_SECONDS: u32 = 172_800;
/// The response headers that a page may read.
const EXPOSED: &str = "x-amz-crc32, x-amzn-requestid";

impl Guard {
    /// The same guard, which also admits pages of these origins. Their calls need keys like all
    /// others.
    #[must_use]
    pub fn allowing(mut self, origins: Origins) -> Guard {
        self.origins = origins;
        self
    }

    /// The response to a preflight request, if the page may call at all.
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

    /// Lets the page read the response, if its origin is admitted.
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

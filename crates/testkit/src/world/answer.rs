//! Requests to a server over a connection of their own, and their responses.

use std::net::SocketAddr;

use serde_json::Value as Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::wait;

/// A parsed response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status; zero if it has none.
    pub status: u16,
    /// Everything before the body.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends a request with these headers and reads the complete response.
pub async fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    send(address, request(method, path, headers, body).as_bytes()).await
}

/// A request after whose response the server closes.
pub(super) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let lines: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: house\r\nconnection: close\r\n\
         content-length: {}\r\n{lines}\r\n{body}",
        body.len()
    )
}

/// Sends these bytes and reads until the server closes.
///
/// # Panics
/// Nothing listens there, or the limit is reached before the end of the response.
pub async fn send(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    // A server that refuses early may close before it has read everything.
    let _written = stream.write_all(request).await;
    let mut bytes = Vec::new();
    let read = wait::patiently(stream.read_to_end(&mut bytes)).await;
    let text = || String::from_utf8_lossy(&bytes);
    assert!(read.is_some(), "waited for the end of an answer, read {}", text());
    Answer::parse(&bytes)
}

impl Answer {
    /// Parses a response. A body in chunks is joined; it stays unchanged if its end is missing.
    ///
    /// # Panics
    /// Its head is no text.
    pub fn parse(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(bytes.len());
        let (head, rest) = bytes.split_at(end);
        let head = String::from_utf8(head.to_vec()).expect("a head is text");
        let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = rest.get(4..).unwrap_or_default();
        let is_chunked = head.to_ascii_lowercase().contains("\r\ntransfer-encoding: chunked");
        let whole = if is_chunked { joined(body) } else { None };
        Answer { status, head, body: whole.unwrap_or_else(|| body.to_vec()) }
    }

    /// The body as text.
    ///
    /// # Panics
    /// It is not text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_else(|_| panic!("the body is no text: {self:?}"))
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// It is not JSON.
    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("the body is no JSON: {} {}", self.head, self.text()))
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The body as JSON of a response with this status; null if there is none.
    ///
    /// # Panics
    /// It has another status.
    #[track_caller]
    pub fn is(&self, status: u16) -> Json {
        assert_eq!(self.status, status, "{} {}", self.head, self.text());
        if self.body.is_empty() { Json::Null } else { self.json() }
    }

    /// A problem with this status and code.
    ///
    /// # Panics
    /// It is another, or none.
    #[track_caller]
    pub fn is_problem(&self, status: u16, code: &str) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let (seen, word, _) = self.refusal();
        assert_eq!((seen, &*word), (status, code), "{}", self.text());
    }

    /// The same with this detail.
    ///
    /// # Panics
    /// It is another, or none.
    #[track_caller]
    pub fn is_problem_of(&self, status: u16, code: &str, detail: &str) {
        self.is_problem(status, code);
        assert_eq!(self.refusal().2, detail);
    }

    /// Status, code and detail of a problem.
    #[track_caller]
    pub fn refusal(&self) -> (u16, String, String) {
        let problem = self.json();
        let word = |name| problem.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        assert_eq!(problem.get("status"), Some(&self.status.into()), "{problem}");
        (self.status, word("code"), word("detail"))
    }
}

/// The chunks of a body in one piece; `None` unless the last chunk is there.
fn joined(mut chunks: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = chunks.windows(2).position(|window| window == b"\r\n")?;
        let length = std::str::from_utf8(chunks.get(..line)?).ok()?;
        let length = usize::from_str_radix(length, 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        let rest = chunks.get(line + 2..)?;
        body.extend(rest.get(..length)?);
        chunks = rest.get(length + 2..)?;
    }
}

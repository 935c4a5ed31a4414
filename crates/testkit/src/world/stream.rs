//! A response that continues, such as a stream of events.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answer::request;
use crate::wait;

/// The end of a head, and of an event.
const BLANK_LINES: [&str; 2] = ["\r\n\r\n", "\n\n"];

/// A connection with a sent request. Drop it to disconnect.
pub struct Stream {
    socket: TcpStream,
    /// Bytes that arrived and were not read yet.
    unread: Vec<u8>,
}

impl Stream {
    /// Sends a request with these headers.
    ///
    /// # Panics
    /// Nothing listens there.
    pub async fn open(
        address: SocketAddr,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Stream {
        let mut socket = TcpStream::connect(address).await.expect("the server listens");
        let request = request(method, path, headers, body);
        socket.write_all(request.as_bytes()).await.expect("the server reads the request");
        Stream { socket, unread: Vec::new() }
    }

    /// Reads until this text has arrived, and on to the end of its head or event. Returns all text
    /// since the last read; the next read continues there.
    ///
    /// # Panics
    /// The stream ends or the limit is reached before.
    pub async fn read_until(&mut self, end: &str) -> String {
        let mut space = [0; 4096];
        let mut searched = 0;
        loop {
            let unseen = self.unread.get(searched..).unwrap_or_default();
            if let Some(length) = length_with(unseen, end) {
                let rest = self.unread.split_off(searched + length);
                let read = std::mem::replace(&mut self.unread, rest);
                return String::from_utf8_lossy(&read).into_owned();
            }
            if find(unseen, end).is_none() {
                searched = self.unread.len().saturating_sub(end.len());
            }
            let count = wait::patiently(self.socket.read(&mut space)).await;
            let count = count.unwrap_or_else(|| panic!("waited for `{end}`, read {}", self.text()));
            let count = count.unwrap_or(0);
            assert!(count > 0, "ended without `{end}`: {}", self.text());
            self.unread.extend(space.iter().take(count));
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.unread).into_owned()
    }
}

/// The start of this text.
fn find(bytes: &[u8], text: &str) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text.as_bytes())
}

/// The number of bytes up to the blank line after this text.
fn length_with(bytes: &[u8], text: &str) -> Option<usize> {
    let after = find(bytes, text)? + text.len();
    if BLANK_LINES.iter().any(|blank| text.ends_with(blank)) {
        return Some(after);
    }
    let rest = bytes.get(after..)?;
    let ends = BLANK_LINES.iter().filter_map(|blank| Some(find(rest, blank)? + blank.len()));
    Some(after + ends.min()?)
}

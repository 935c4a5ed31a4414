//! Answers and pushes over loopback, beside bare bytes over loopback.
//!
//! A push is a comment of the live room on its way to a listener: the comment is durable first. In
//! each there is one mark, and nothing else in a stream has it, so listeners count marks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::rows::{Row, Unit};
use super::{Bench, Progress};
use crate::Error;

/// No bound that a bench would meet.
pub(super) const COMMENTS_PER_SECOND_MAX: u32 = 1_000_000;

/// Connections that ask one after another.
const CLIENTS: u64 = 32;
/// Who listens to one room.
const LISTENERS: u64 = 200;
/// Who comments in it, one after another each.
const SPEAKERS: u64 = 16;
const MARK: u8 = b'~';
/// What is read, or barely written, at once.
const CHUNK_BYTES: usize = 32 * 1024;
/// Who hosts the room, and may comment as fast as the house takes it.
const HOST: &str = "nagaya-bench-host-nagaya-bench-host";

pub(super) async fn measure(
    bench: &Bench,
    house: SocketAddr,
    progress: &Progress,
    rows: &mut Vec<Row>,
) -> Result<(), Error> {
    progress.turn_to("answers over loopback");
    let request = Arc::new(request("GET", "/healthz", None));
    let answer = ask(&mut connect(house).await?, &request).await?.len();
    let bare = answer_barely(bench, request.len(), answer).await?;
    let rate = exchanges(bench, house, &request, answer).await?;
    progress.turn_to("bare exchanges over loopback");
    let limit = exchanges(bench, bare, &request, answer).await?;
    let what = format!("answers, {CLIENTS} clients");
    rows.push(Row::new("answers", &what, rate, Unit::PerSecond).beside("bare exchanges", limit));

    progress.turn_to("pushes over loopback");
    let (pushes, push_bytes) = pushes(bench, house).await?;
    progress.turn_to("bare bytes over loopback");
    let bytes = bytes(bench).await?;
    let what = format!("pushes, {LISTENERS} listeners in one room");
    let row = Row::new("pushes", &what, pushes, Unit::PerSecond);
    rows.push(row.beside("bare pushes", bytes / push_bytes));
    Ok(())
}

/// Requests that are answered a second.
async fn exchanges(
    bench: &Bench,
    address: SocketAddr,
    request: &Arc<Vec<u8>>,
    answer: usize,
) -> Result<f64, Error> {
    let client = |_, span: super::Span| {
        let request = Arc::clone(request);
        async move {
            let (mut stream, mut done) = (connect(address).await?, 0);
            let mut space = vec![0; answer];
            while !span.is_over() {
                stream.write_all(&request).await.map_err(lost)?;
                stream.read_exact(&mut space).await.map_err(lost)?;
                done += 1;
            }
            Ok(done)
        }
    };
    bench.pace(CLIENTS, client).await
}

/// A server that answers so many bytes for so many, and knows nothing else.
async fn answer_barely(bench: &Bench, asked: usize, answered: usize) -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(lost)?;
    let address = listener.local_addr().map_err(lost)?;
    let tasks = bench.tasks.clone();
    bench.tasks.spawn("bare server", async move {
        for _ in 0..CLIENTS {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            tasks.spawn("bare answers", async move {
                let (mut space, answer) = (vec![0; asked], vec![b'x'; answered]);
                while stream.read_exact(&mut space).await.is_ok()
                    && stream.write_all(&answer).await.is_ok()
                {}
            });
        }
    });
    Ok(address)
}

/// What all listeners of a room hear a second, and how many bytes one of these is.
async fn pushes(bench: &Bench, house: SocketAddr) -> Result<(f64, f64), Error> {
    let room = json!({ "name": "bench", "hostId": HOST });
    let made = request("POST", "/live/rooms", Some(&room));
    let made: Json =
        serde_json::from_slice(body(&ask(&mut connect(house).await?, &made).await?))
            .map_err(|cause| Error::NotReady(format!("the house made no room: {cause}")))?;
    let id = made.get("roomId").and_then(Json::as_str);
    let id = id.ok_or_else(|| Error::NotReady(format!("the house made no room: {made}")))?;
    let follow = request("GET", &format!("/live/rooms/{id}/stream"), None);
    let (heard, bytes) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    for _ in 0..LISTENERS {
        let mut stream = connect(house).await?;
        stream.write_all(&follow).await.map_err(lost)?;
        let mut space = vec![0; CHUNK_BYTES];
        // Whoever has the head of the answer hears what comes from then on.
        stream.read(&mut space).await.map_err(lost)?;
        let (heard, bytes) = (Arc::clone(&heard), Arc::clone(&bytes));
        bench.tasks.spawn("bench listener", async move {
            while let Ok(read @ 1..) = stream.read(&mut space).await {
                let came = space.get(..read).unwrap_or_default();
                let marks = came.iter().filter(|byte| **byte == MARK).count();
                heard.fetch_add(marks as u64, Ordering::Relaxed);
                bytes.fetch_add(read as u64, Ordering::Relaxed);
            }
        });
    }
    let comment = json!({ "content": format!("{}{}", char::from(MARK), "x".repeat(80)) });
    let comment = Arc::new(request("POST", &format!("/live/rooms/{id}/comments"), Some(&comment)));
    let speaker = |_, span: super::Span| {
        let comment = Arc::clone(&comment);
        async move {
            let (mut stream, mut done) = (connect(house).await?, 0);
            while !span.is_over() {
                let answer = ask(&mut stream, &comment).await?;
                if !answer.starts_with(b"HTTP/1.1 201") {
                    let said = String::from_utf8_lossy(body(&answer)).into_owned();
                    return Err(Error::NotReady(format!("the house took no comment: {said}")));
                }
                done += 1;
            }
            Ok(done)
        }
    };
    let began = bench.clock.instant();
    bench.pace(SPEAKERS, speaker).await?;
    let seconds = bench.clock.instant().since(began).as_secs_f64();
    let (heard, bytes) = (heard.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
    Ok((heard as f64 / seconds, bytes as f64 / heard.max(1) as f64))
}

/// Bytes that as many listeners are sent a second by somebody who does nothing else.
async fn bytes(bench: &Bench) -> Result<f64, Error> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(lost)?;
    let address = listener.local_addr().map_err(lost)?;
    let mut speakers = Vec::new();
    for _ in 0..LISTENERS {
        let mut hears = connect(address).await?;
        speakers.push(listener.accept().await.map_err(lost)?.0);
        bench.tasks.spawn("bare listener", async move {
            let mut space = vec![0; CHUNK_BYTES];
            while let Ok(1..) = hears.read(&mut space).await {}
        });
    }
    let speakers = std::cell::RefCell::new(speakers);
    let speaker = |_, span: super::Span| {
        let speaks = speakers.borrow_mut().pop();
        async move {
            let chunk = vec![b'x'; CHUNK_BYTES];
            let (Some(mut speaks), mut sent) = (speaks, 0) else { return Ok(0) };
            while !span.is_over() {
                speaks.write_all(&chunk).await.map_err(lost)?;
                sent += chunk.len() as u64;
            }
            Ok(sent)
        }
    };
    bench.pace(LISTENERS, speaker).await
}

async fn connect(address: SocketAddr) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect(address).await.map_err(lost)?;
    stream.set_nodelay(true).map_err(lost)?;
    Ok(stream)
}

fn request(method: &str, path: &str, body: Option<&Json>) -> Vec<u8> {
    let body = body.map(Json::to_string).unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {HOST}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The whole answer to a request, on a connection that stays.
async fn ask(stream: &mut TcpStream, request: &[u8]) -> Result<Vec<u8>, Error> {
    stream.write_all(request).await.map_err(lost)?;
    let mut answer = Vec::new();
    while length(&answer).is_none_or(|length| answer.len() < length) {
        if stream.read_buf(&mut answer).await.map_err(lost)? == 0 {
            return Err(lost(std::io::ErrorKind::UnexpectedEof.into()));
        }
    }
    Ok(answer)
}

/// How long an answer will be, once its head is there.
fn length(answer: &[u8]) -> Option<usize> {
    let head = answer.len() - body(answer).len();
    let text = std::str::from_utf8(answer.get(..head)?).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    Some(head + line.parse::<usize>().ok()?)
}

/// What follows the head of an answer; all of it while the head is not whole.
fn body(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    end.and_then(|end| answer.get(end + 4..)).unwrap_or(answer)
}

fn lost(cause: std::io::Error) -> Error {
    Error::System { context: "the bench lost its connection", cause }
}

#[cfg(test)]
mod tests {
    use super::{body, length};

    #[test]
    fn an_answer_is_whole_when_its_body_has_come() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
        assert_eq!(length(head.get(..20).unwrap()), None);
        assert_eq!(length(head), Some(head.len() + 2));
        assert_eq!(body(b"HTTP/1.1 200 OK\r\n\r\nok"), b"ok");
    }
}

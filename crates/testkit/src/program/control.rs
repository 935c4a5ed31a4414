//! The control socket of a server, as tests use it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Timestamp;
use serde_json::{Value as Json, json};

/// A server that does not respond within this real time hangs. The slowest response is that of a
/// clock that is moved far.
const PATIENCE: Duration = Duration::from_secs(120);

/// The system's limit for the path of a socket.
const PATH_BYTES_MAX: usize = 107;

/// The socket of a server that printed this welcome and was started in this directory.
pub(super) fn socket(welcome: &str, directory: Option<&Path>) -> PathBuf {
    let data = welcome.lines().find_map(|line| line.trim().strip_prefix("data ")).map(str::trim);
    let data = data.map(Path::new).filter(|data| data.is_dir()).map(Path::to_owned);
    let data = data.unwrap_or_else(|| directory.unwrap_or(Path::new(".")).join("nagaya-data"));
    data.join("control.sock")
}

/// Moves the clock ahead; returns its new time.
#[track_caller]
pub(super) fn advance(socket: &Path, duration: Duration) -> Timestamp {
    let now = find_advance(socket, duration);
    let now = now.unwrap_or_else(|why| panic!("the clock does not move: {why}"));
    now.parse().unwrap_or_else(|_| panic!("`{now}` is no time"))
}

/// The same for a server that may have ended.
///
/// # Errors
/// It accepts no requests, or runs on the system's clock.
pub(super) fn find_advance(socket: &Path, duration: Duration) -> Result<String, String> {
    let ms = u64::try_from(duration.as_millis()).expect("a test moves by less than an age");
    ask(socket, &json!({ "Advance": { "ms": ms } }))
}

/// The pending work of the server.
///
/// # Errors
/// It accepts no requests, or does not know this one.
pub(super) fn pending(socket: &Path) -> Result<Json, String> {
    let response = ask(socket, &json!("Pending"))?;
    serde_json::from_str(&response).map_err(|_| response)
}

/// The number of open subscriptions; zero if the server accepts no requests.
pub(super) fn subscriptions(socket: &Path) -> u64 {
    pending(socket).map_or(0, |pending| count_subscriptions(&pending))
}

/// The subscriptions in the pending work.
pub(super) fn count_subscriptions(pending: &Json) -> u64 {
    pending.get("subscriptions").and_then(Json::as_u64).unwrap_or_default()
}

/// The first line of the response to a request, or the reason for its absence.
fn ask(socket: &Path, request: &Json) -> Result<String, String> {
    let describe = |error: io::Error| format!("{}: {error}", socket.display());
    let mut stream = connect(socket).map_err(describe)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(describe)?;
    writeln!(stream, "{request}").map_err(describe)?;
    stream.shutdown(Shutdown::Write).map_err(describe)?;
    let mut response = String::new();
    stream.read_to_string(&mut response).map_err(describe)?;
    let line = |sign| response.lines().find_map(|line| line.strip_prefix(sign));
    let is_done = line("= ").is_some_and(|end| end.starts_with(r#"{"code":0,"#));
    line("> ").filter(|_| is_done).map(str::to_owned).ok_or(response.clone())
}

/// Connects through the directory if the path is too long for a socket.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    if socket.as_os_str().len() <= PATH_BYTES_MAX {
        return UnixStream::connect(socket);
    }
    let directory = File::open(socket.parent().unwrap_or(Path::new("/")))?;
    let path = format!("/proc/self/fd/{}/control.sock", directory.as_raw_fd());
    UnixStream::connect(path)
}

//! The control socket of a house, as a test uses it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Timestamp;
use serde_json::{Value as Json, json};

/// A house that does not answer within this real time hangs. The longest answer is that of a clock
/// which is moved far.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the system takes as a socket's path.
const PATH_BYTES_MAX: usize = 107;

/// Where the socket of a house is that printed this welcome and was started in this directory.
pub(super) fn socket(welcome: &str, directory: Option<&Path>) -> PathBuf {
    let data = welcome.lines().find_map(|line| line.trim().strip_prefix("data ")).map(str::trim);
    let data = data.map(Path::new).filter(|data| data.is_dir()).map(Path::to_owned);
    let data = data.unwrap_or_else(|| directory.unwrap_or(Path::new(".")).join("nagaya-data"));
    data.join("control.sock")
}

/// Moves the clock ahead; gives the time that it shows then.
#[track_caller]
pub(super) fn advance(socket: &Path, duration: Duration) -> Timestamp {
    let now = find_advance(socket, duration);
    let now = now.unwrap_or_else(|why| panic!("the clock does not move: {why}"));
    now.parse().unwrap_or_else(|_| panic!("`{now}` is no time"))
}

/// The same for a house that may have gone.
///
/// # Errors
/// It takes no requests, or runs on the system's clock.
pub(super) fn find_advance(socket: &Path, duration: Duration) -> Result<String, String> {
    let ms = u64::try_from(duration.as_millis()).expect("a test moves by less than an age");
    ask(socket, &json!({ "Advance": { "ms": ms } }))
}

/// What is left to do in the house.
///
/// # Errors
/// It takes no requests, or does not know this one.
pub(super) fn pending(socket: &Path) -> Result<Json, String> {
    let said = ask(socket, &json!("Pending"))?;
    serde_json::from_str(&said).map_err(|_| said)
}

/// Subscriptions that are open in the house; none if it takes no requests.
pub(super) fn subscriptions(socket: &Path) -> u64 {
    pending(socket).map_or(0, |pending| count_subscriptions(&pending))
}

/// The subscriptions among what is left to do.
pub(super) fn count_subscriptions(pending: &Json) -> u64 {
    pending.get("subscriptions").and_then(Json::as_u64).unwrap_or_default()
}

/// The first line of the answer to a request; or why there is none.
fn ask(socket: &Path, request: &Json) -> Result<String, String> {
    let told = |error: io::Error| format!("{}: {error}", socket.display());
    let mut stream = connect(socket).map_err(told)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    writeln!(stream, "{request}").map_err(told)?;
    stream.shutdown(Shutdown::Write).map_err(told)?;
    let mut said = String::new();
    stream.read_to_string(&mut said).map_err(told)?;
    let line = |sign| said.lines().find_map(|line| line.strip_prefix(sign));
    let is_done = line("= ").is_some_and(|end| end.starts_with(r#"{"code":0,"#));
    line("> ").filter(|_| is_done).map(str::to_owned).ok_or(said.clone())
}

/// Through the directory, if the path is too long for a socket.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    if socket.as_os_str().len() <= PATH_BYTES_MAX {
        return UnixStream::connect(socket);
    }
    let directory = File::open(socket.parent().unwrap_or(Path::new("/")))?;
    let path = format!("/proc/self/fd/{}/control.sock", directory.as_raw_fd());
    UnixStream::connect(path)
}

//! The program under load on an empty store, and the functions to talk to it. An older build can be
//! started in the same way.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Pid, Signal, kill_process};

use super::report::Server;
use super::{Options, child_output, data_folder, usage};
use crate::run;

/// Connections from one local address: the system has some 28 000 ports for each, and once half of
/// them are taken, it searches for milliseconds for the next one.
const PER_ADDRESS: u32 = 10_000;

/// A server that has not responded within this time counts as failed.
const ANSWER: Duration = Duration::from_secs(60);

/// A build of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Build {
    /// The build of this workspace.
    Ours,
    /// The build that the command names.
    Older(&'static Path),
}

impl Build {
    /// Ours, and the older one if there is one.
    pub(super) fn all(options: Options) -> Vec<Build> {
        let older = options.older.map(Build::Older);
        [Build::Ours].into_iter().chain(older).collect()
    }

    /// The name in reports.
    pub(super) fn server(self) -> Server<'static> {
        match self {
            Build::Ours => Server::Ours,
            Build::Older(_) => Server::Peer(OLDER),
        }
    }

    /// The path of the program. Builds ours if necessary.
    pub(super) fn program(self) -> Result<PathBuf, String> {
        match self {
            Build::Ours => {
                let build = &mut run::cargo(&["build", "--release", "--quiet", "-p", "nagaya"]);
                if !run::status(build)? {
                    return Err("nagaya cannot be built".to_owned());
                }
                Ok(run::target_folder().join("release/nagaya"))
            }
            Build::Older(path) => Ok(path.to_owned()),
        }
    }

    /// Whether it has a setting, by its name on the command line: an older build may not have it
    /// yet.
    pub(super) fn has_setting(self, name: &str) -> Result<bool, String> {
        let mut command = run::program(self.program()?);
        let output = command.args(["serve", "--help"]).output();
        let output = output.map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&output.stdout).contains(name))
    }

    /// The figures of the program's own bench, with this number of seconds each, by name.
    pub(super) fn own_figures(self, seconds: u64) -> Result<BTreeMap<String, f64>, String> {
        let place = data_folder().map_err(|error| error.to_string())?;
        let mut command = run::program(self.program()?);
        command.args(["bench", "--json", "--seconds", &seconds.to_string(), "--path"]);
        let output = command.arg(place.path()).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("its bench ended with {}: {}", output.status, text.trim()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(read_figure).collect())
    }
}

/// The name and the value of a line such as `{"limit":…,"unit":"1/s","value":1.5,"what":"reads"}`.
fn read_figure(line: &str) -> Option<(String, f64)> {
    let (_, end) = line.rsplit_once("\"value\":")?;
    let (value, name) = end.split_once(",\"what\":\"")?;
    Some((name.trim_end_matches("\"}").to_owned(), value.parse().ok()?))
}

/// The name of an older build in reports.
pub(super) const OLDER: &str = "the older build";

/// A running server; ended when dropped.
pub(super) struct House {
    program: PathBuf,
    child: Child,
    port: u16,
    opened: Cell<u32>,
    /// None after it was closed.
    data: Option<tempfile::TempDir>,
}

impl House {
    /// Starts ours with these arguments on an empty store.
    pub(super) fn start(words: &[&str]) -> Result<House, String> {
        House::start_build(Build::Ours, words)
    }

    /// Starts a build with these arguments on an empty store.
    pub(super) fn start_build(build: Build, words: &[&str]) -> Result<House, String> {
        let data = data_folder().map_err(|error| error.to_string())?;
        House::open_on(&build.program()?, data, words)
    }

    /// Starts ours on an existing store.
    pub(super) fn start_on(data: tempfile::TempDir, words: &[&str]) -> Result<House, String> {
        House::open_on(&Build::Ours.program()?, data, words)
    }

    /// Starts a program.
    pub(super) fn open_on(
        program: &Path,
        data: tempfile::TempDir,
        words: &[&str],
    ) -> Result<House, String> {
        let mut command = run::program(program);
        command.args(["serve", "--http-listen", "127.0.0.1:0"]).args(words);
        command.args(["--http-connections-max", "100000"]);
        command.args(["--log-level", "warn", "--store-path"]).arg(data.path());
        let mut child =
            command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let output = child.stdout.take().ok_or("no output")?;
        let (program, opened) = (program.to_owned(), Cell::new(0));
        let mut house = House { program, child, port: 0, opened, data: Some(data) };
        let (port, _) = child_output::wait_for(output, |line| {
            let url = line.strip_prefix("address")?.trim();
            url.rsplit(':').next()?.trim_end_matches('/').parse().ok()
        })?;
        house.port = port;
        Ok(house)
    }

    /// Its memory in bytes.
    pub(super) fn memory(&self) -> Result<u64, String> {
        usage::resident_bytes_of(self.child.id()).ok_or_else(|| "the server is gone".to_owned())
    }

    /// Shuts it down; returns its store.
    pub(super) fn close(mut self) -> Result<tempfile::TempDir, String> {
        let asked = kill_process(Pid::from_child(&self.child), Signal::TERM);
        asked.map_err(|error| error.to_string())?;
        let ended = self.child.wait().map_err(|error| error.to_string())?;
        if !ended.success() {
            return Err(format!("the server ended with {ended}"));
        }
        self.data.take().ok_or_else(|| "the server was closed before".to_owned())
    }

    /// Kills it; returns its store.
    pub(super) fn kill(mut self) -> Result<tempfile::TempDir, String> {
        end(&mut self.child);
        self.data.take().ok_or_else(|| "the server was closed before".to_owned())
    }

    /// Runs a command of the program on its store; `last` is passed unchanged.
    pub(super) fn command(&self, words: &str, last: &[&OsStr]) -> Result<(), String> {
        let data = self.data.as_ref().ok_or("the server is closed")?;
        let mut command = run::program(&self.program);
        command.args(words.split(' ')).args(last).arg("--store-path").arg(data.path());
        let output = command.output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{words}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Its process id.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// A connection to it.
    pub(super) fn connect(&self) -> Result<TcpStream, String> {
        let opened = self.opened.get();
        self.opened.set(opened + 1);
        let from = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + 1 + opened / PER_ADDRESS);
        let connected = (|| {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            bind(&socket, &SocketAddrV4::new(from, 0))?;
            connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port))?;
            let stream = TcpStream::from(socket);
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(ANSWER))?;
            Ok(stream)
        })();
        connected.map_err(|error: std::io::Error| format!("cannot connect: {error}"))
    }

    /// A key of the server with this scope.
    pub(super) fn key(&self, scope: &str) -> Result<String, String> {
        let mut command = run::program(&self.program);
        command.args(["key", "create", "bench", "--scope", scope, "--store-path"]);
        let data = self.data.as_ref().ok_or("the server is closed")?;
        let output = command.arg(data.path()).output().map_err(|error| error.to_string())?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let key = printed.split_whitespace().find(|word| word.starts_with("nk_"));
        key.map(str::to_owned).ok_or_else(|| format!("no key: {printed}"))
    }

    /// The response body of a request with this method, path, headers and body.
    pub(super) fn ask(&self, head: &str, body: &str) -> Result<String, String> {
        let mut stream = self.connect()?;
        let request = request(head, body);
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        let mut space = [0; 16 * 1024];
        loop {
            if answer_length(&bytes).is_some() {
                let answer = String::from_utf8_lossy(&bytes);
                let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
                return Ok(body.to_owned());
            }
            match stream.read(&mut space).map_err(|error| error.to_string())? {
                0 => return Err("the server closed the connection".to_owned()),
                read => bytes.extend_from_slice(space.get(..read).unwrap_or_default()),
            }
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A complete request.
pub(super) fn request(head: &str, body: &str) -> String {
    format!(
        "{head}host: bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A WebSocket handshake for a path.
pub(super) fn handshake(path: &str, protocol: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: bench\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{protocol}\r\n"
    )
}

/// Reads all available bytes of a connection; `space` is the size of one read.
pub(super) fn take_what_came(
    stream: &mut TcpStream,
    rest: &mut Vec<u8>,
    space: &mut [u8],
) -> Result<(), String> {
    loop {
        match stream.read(space) {
            Ok(0) => return Err("a connection was closed".to_owned()),
            Ok(read) => rest.extend_from_slice(space.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Ends a process that was started here.
pub(super) fn end(child: &mut Child) {
    // If it has ended by itself, there is nothing to kill.
    let _killed = child.kill();
    let _waited = child.wait();
}

/// The length of the first response, if it is complete.
pub(super) fn answer_length(bytes: &[u8]) -> Option<usize> {
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    // Other servers spell it like this.
    const OTHERWISE: &[u8] = b"\r\nContent-Length: ";
    let head = memchr::memmem::find(bytes, b"\r\n\r\n")? + 4;
    let find = |name| memchr::memmem::find(bytes.get(..head)?, name);
    let at = find(LENGTH).or_else(|| find(OTHERWISE))? + LENGTH.len();
    let digits = bytes.get(at..)?.split(|byte| *byte == b'\r').next()?;
    let length = head + std::str::from_utf8(digits).ok()?.parse::<usize>().ok()?;
    (bytes.len() >= length).then_some(length)
}

/// Reads a response up to its end, byte by byte so that no later byte is lost.
pub(super) fn read_past(stream: &mut TcpStream, end: &[u8]) -> std::io::Result<()> {
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(end) {
        stream.read_exact(&mut byte)?;
        answer.extend_from_slice(&byte);
    }
    Ok(())
}

/// A client's frame, with a mask that changes nothing.
pub(super) fn masked(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u8::try_from(text.len()) {
        Ok(length @ ..126) => frame.push(0x80 | length),
        Ok(_) | Err(_) => {
            frame.push(0xfe);
            frame.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text);
    frame
}

/// A text as JSON. Only quotes and backslashes need escaping here.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_read_by_its_own_name_and_not_by_its_limits() {
        let line = r#"{"limit":{"value":4.0,"what":"syncs"},"ratio":2.0,"unit":"1/s","value":8.5,"what":"writes"}"#;
        assert_eq!(read_figure(line), Some(("writes".to_owned(), 8.5)));
        assert_eq!(read_figure("no figure"), None);
    }
}

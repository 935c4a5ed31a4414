//! The program under load, its HTTP as a reporter speaks it, and nats-server doing the same work.

use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use super::BUSY_GROUPS;
use crate::bench::{data_folder, usage};
use crate::run;

const KEY: &str = "bench-key";
pub(super) const STAMP_DIGITS: usize = 20;
/// Connections from one address: the system has some 28 000 ports for each.
const PER_ADDRESS: u32 = 20_000;
/// How long a server has to listen.
const START: Duration = Duration::from_secs(20);

/// What a push of the mesh weighs with its frame, for the peer to carry as much.
const PUSH_BYTES: usize = 300;
/// A message of the peer as it arrives: `MSG g07 1 300`, the bytes, and line ends.
pub(super) const NATS_FRAME_BYTES: usize = "MSG g07 1 300\r\n".len() + PUSH_BYTES + 2;

/// The program, on an empty store; ended when dropped.
pub(super) struct House {
    child: Child,
    port: u16,
    opened: Cell<u32>,
    _data: tempfile::TempDir,
}

impl House {
    pub(super) fn start() -> Result<House, String> {
        let built =
            run::status(&mut run::cargo(&["build", "--release", "--quiet", "-p", "nagaya"]))?;
        if !built {
            return Err("nagaya cannot be built".to_owned());
        }
        let data = data_folder().map_err(|error| error.to_string())?;
        let mut command = run::program(run::target_folder().join("release/nagaya"));
        command.args(["serve", "--http-listen", "127.0.0.1:0", "--mesh-api-key", KEY]);
        command.args(["--mesh-requests-per-second", "1000000"]);
        command.args(["--http-connections-max", "100000"]);
        command.args(["--log-level", "warn", "--store-path"]).arg(data.path());
        let mut child =
            command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let url = line.trim().strip_prefix("address")?.trim().to_owned();
            url.rsplit(':').next()?.trim_end_matches('/').parse().ok()
        });
        let port = port.ok_or("the house did not open")?;
        Ok(House { child, port, opened: Cell::new(0), _data: data })
    }

    pub(super) fn memory(&self) -> Result<u64, String> {
        usage::resident_bytes_of(self.child.id()).ok_or_else(|| "the house is gone".to_owned())
    }

    /// A group with this many members, named by their numbers.
    pub(super) fn create_group(&self, host: &str, members: usize) -> Result<String, String> {
        let mut reporter =
            Reporter { stream: self.connect()?, group: String::new(), node: 0, rest: Vec::new() };
        let query = format!(
            "mutation {{ createGroup(name: \"bench\", hostId: \"{host}\", domain: \"local\") {{ id }} }}"
        );
        let answer = reporter.ask(&query)?;
        let id = answer.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let id = id.ok_or_else(|| format!("no group: {answer}"))?.to_owned();
        for member in 0..members {
            let query = format!(
                "mutation {{ joinGroup(groupId: \"{id}\", domain: \"local\", nodeId: \"{member}\") {{ id }} }}"
            );
            let answer = reporter.ask(&query)?;
            if answer.contains("errors") {
                return Err(answer);
            }
        }
        Ok(id)
    }

    /// A node's own connection for its reports.
    pub(super) fn reporter(&self, group: &str, node: usize) -> Result<Reporter, String> {
        let stream = self.connect()?;
        stream.set_nonblocking(true).map_err(|error| error.to_string())?;
        Ok(Reporter { stream, group: group.to_owned(), node, rest: Vec::new() })
    }

    /// A socket that follows a group; what is told after this will come.
    pub(super) fn subscribe(&self, group: &str) -> Result<TcpStream, String> {
        let told = |error: std::io::Error| format!("cannot subscribe: {error}");
        let mut stream = self.connect()?;
        const HANDSHAKE: &str = "GET /mesh/graphql/realtime HTTP/1.1\r\nhost: bench\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: graphql-ws\r\n\r\n";
        stream.write_all(HANDSHAKE.as_bytes()).map_err(told)?;
        read_past(&mut stream, b"\r\n\r\n").map_err(told)?;
        let query = "subscription($g: ID!) { onMessageInGroup(groupId: $g, domain: \\\"local\\\") { \
            groupId domain nodeStatus { nodeId data { key value } timestamp } \
            batchEvent { firedByNodeId events { name timestamp } } } }";
        let data = format!("{{\"query\":\"{query}\",\"variables\":{{\"g\":\"{group}\"}}}}");
        let start = format!(
            "{{\"id\":\"1\",\"type\":\"start\",\"payload\":{{\"data\":{},\"extensions\":\
             {{\"authorization\":{{\"x-api-key\":\"{KEY}\"}}}}}}}}",
            quoted(&data)
        );
        stream.write_all(&masked(start.as_bytes())).map_err(told)?;
        read_past(&mut stream, b"start_ack\"}").map_err(told)?;
        Ok(stream)
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let opened = self.opened.get();
        self.opened.set(opened + 1);
        let from = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + 1 + opened / PER_ADDRESS);
        let connected = (|| {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            bind(&socket, &SocketAddrV4::new(from, 0))?;
            connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port))?;
            let stream = TcpStream::from(socket);
            stream.set_nodelay(true)?;
            Ok(stream)
        })();
        connected.map_err(|error: std::io::Error| format!("cannot connect: {error}"))
    }
}

impl Drop for House {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A node's connection for HTTP.
pub(super) struct Reporter {
    stream: TcpStream,
    group: String,
    node: usize,
    rest: Vec<u8>,
}

/// A node that tells its group something, and is told that it was taken.
pub(super) trait Teller {
    fn stream(&self) -> &TcpStream;
    /// Tells the stamp.
    fn tell(&mut self, stamp: u64) -> Result<(), String>;
    /// How many answers came; each must be a good one.
    fn take_answers(&mut self) -> Result<usize, String>;
}

impl Teller for Reporter {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Reports one variable, whose value is the stamp.
    fn tell(&mut self, stamp: u64) -> Result<(), String> {
        const QUERY: &str = "mutation R($g: ID!, $n: ID!, $v: String!) { reportDataByNode(groupId: $g, \
            domain: \\\"local\\\", nodeId: $n, data: [{key: \\\"k\\\", value: $v}]) { groupId domain \
            nodeStatus { nodeId data { key value } timestamp } } }";
        self.post(&self.body(QUERY, stamp))
    }

    fn take_answers(&mut self) -> Result<usize, String> {
        take_what_came(&mut self.stream, &mut self.rest)?;
        let mut count = 0;
        while let Some((answer, length)) = split_answer(&self.rest) {
            if answer.contains("\"errors\"") || !answer.starts_with("HTTP/1.1 200") {
                return Err(answer);
            }
            self.rest.drain(..length);
            count += 1;
        }
        Ok(count)
    }
}

impl Reporter {
    /// Fires one event, whose name is the stamp.
    pub(super) fn fire(&mut self, stamp: u64) -> Result<(), String> {
        const QUERY: &str = "mutation F($g: ID!, $n: ID!, $v: String!) { fireEventsByNode(groupId: $g, \
            domain: \\\"local\\\", nodeId: $n, events: [{eventName: $v, \
            firedAt: \\\"2027-01-15T08:00:00Z\\\"}]) { groupId } }";
        self.post(&self.body(QUERY, stamp))
    }

    fn body(&self, query: &str, stamp: u64) -> String {
        let Reporter { group, node, .. } = self;
        format!(
            "{{\"query\":\"{query}\",\"variables\":{{\"g\":\"{group}\",\"n\":\"{node}\",\
             \"v\":\"{stamp:0STAMP_DIGITS$}\"}}}}"
        )
    }

    fn post(&mut self, body: &str) -> Result<(), String> {
        let request = format!(
            "POST /mesh/graphql HTTP/1.1\r\nhost: bench\r\nx-api-key: {KEY}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).map_err(|error| format!("cannot report: {error}"))
    }

    fn ask(&mut self, query: &str) -> Result<String, String> {
        self.post(&format!("{{\"query\":{}}}", quoted(query)))?;
        let mut space = [0; 16 * 1024];
        loop {
            if let Some((answer, length)) = split_answer(&self.rest) {
                self.rest.drain(..length);
                return Ok(answer);
            }
            match self.stream.read(&mut space).map_err(|error| error.to_string())? {
                0 => return Err("the house closed the connection".to_owned()),
                read => self.rest.extend_from_slice(space.get(..read).unwrap_or_default()),
            }
        }
    }
}

/// nats-server; ended when dropped.
pub(super) struct Nats {
    child: Child,
    port: u16,
}

impl Nats {
    pub(super) fn start() -> Result<Nats, String> {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let mut command: Command = run::program("nats-server");
        command.args(["-a", "127.0.0.1", "-p", &port.to_string()]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let nats = Nats { child: command.spawn().map_err(|error| error.to_string())?, port };
        let start = run::now();
        while TcpStream::connect(nats.address()).is_err() {
            if start.elapsed() > START {
                return Err("nats-server does not listen".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(nats)
    }

    pub(super) fn subscribe(&self, group: usize) -> Result<TcpStream, String> {
        self.connect(&format!("SUB g{group:02} 1\r\n"))
    }

    /// A node's own connection for what it publishes.
    pub(super) fn publisher(&self, group: usize) -> Result<Publisher, String> {
        const { assert!(BUSY_GROUPS <= 100, "subjects have two digits") };
        let mut message = format!("PUB g{group:02} {PUSH_BYTES}\r\n").into_bytes();
        message.extend_from_slice(&[b'x'; PUSH_BYTES]);
        message.extend_from_slice(b"\r\nPING\r\n");
        let stream = self.connect("")?;
        stream.set_nonblocking(true).map_err(|error| error.to_string())?;
        Ok(Publisher { stream, message, rest: Vec::new() })
    }

    fn connect(&self, then: &str) -> Result<TcpStream, String> {
        let connected = (|| {
            let mut stream = TcpStream::connect(self.address())?;
            stream.set_nodelay(true)?;
            let hello =
                format!("CONNECT {{\"verbose\":false,\"pedantic\":false}}\r\n{then}PING\r\n");
            stream.write_all(hello.as_bytes())?;
            read_past(&mut stream, b"PONG\r\n")?;
            Ok(stream)
        })();
        connected.map_err(|error: std::io::Error| format!("cannot connect to NATS: {error}"))
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A node that publishes, and asks each time whether it was taken.
pub(super) struct Publisher {
    stream: TcpStream,
    message: Vec<u8>,
    rest: Vec<u8>,
}

impl Teller for Publisher {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn tell(&mut self, _: u64) -> Result<(), String> {
        self.stream.write_all(&self.message).map_err(|error| format!("cannot publish: {error}"))
    }

    fn take_answers(&mut self) -> Result<usize, String> {
        take_what_came(&mut self.stream, &mut self.rest)?;
        let mut count = 0;
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            match line.as_slice() {
                b"PONG\r\n" => count += 1,
                b"PING\r\n" => {
                    self.stream.write_all(b"PONG\r\n").map_err(|error| error.to_string())?
                }
                other => return Err(String::from_utf8_lossy(other).into_owned()),
            }
        }
        Ok(count)
    }
}

/// Adds what has come on a connection.
fn take_what_came(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Result<(), String> {
    let mut space = [0; 4 * 1024];
    loop {
        match stream.read(&mut space) {
            Ok(0) => return Err("a node was cut off".to_owned()),
            Ok(read) => rest.extend_from_slice(space.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn end(child: &mut Child) {
    // It may have ended by itself: then there is nothing to kill, and that is fine.
    let _killed = child.kill();
    let _waited = child.wait();
}

/// The first whole answer and its length.
fn split_answer(bytes: &[u8]) -> Option<(String, usize)> {
    let head = bytes.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(bytes.get(..head)?).ok()?;
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let length = head + length.parse::<usize>().ok()?;
    let whole = bytes.get(..length)?;
    Some((String::from_utf8_lossy(whole).into_owned(), length))
}

/// Reads an answer up to its end, byte by byte so that nothing behind it is lost.
fn read_past(stream: &mut TcpStream, end: &[u8]) -> std::io::Result<()> {
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(end) {
        stream.read_exact(&mut byte)?;
        answer.extend_from_slice(&byte);
    }
    Ok(())
}

/// A frame as a client sends it, with a mask that changes nothing.
fn masked(text: &[u8]) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut frame = vec![0x81, 0xfe, length[0], length[1], 0, 0, 0, 0];
    frame.extend_from_slice(text);
    frame
}

/// A text as JSON. Nothing here has anything to escape but quotes and what escapes them.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

//! Nodes of groups, in the protocols of our server and of nats-server.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::BUSY_GROUPS;
use crate::bench::crowd::STAMP_DIGITS;
use crate::bench::house::{
    House, answer_length, end, handshake, masked, quoted, read_past, request, take_what_came,
};
use crate::run;

/// The key of the room.
pub(super) const KEY: &str = "bench-key";
/// `{"x-api-key":"bench-key"}` in Base64, as in the handshake of a socket.
const KEY_HEADER: &str = "eyJ4LWFwaS1rZXkiOiJiZW5jaC1rZXkifQ==";
/// The size of one read: every response fits.
const SPACE: usize = 4 * 1024;
/// How long a server has to listen.
const START: Duration = Duration::from_secs(20);

/// The size of a mesh push with its frame; the peer sends as much.
const PUSH_BYTES: usize = 300;
/// An arriving message of the peer: `MSG g07 1 300`, the bytes, and line ends.
pub(super) const NATS_FRAME_BYTES: usize = "MSG g07 1 300\r\n".len() + PUSH_BYTES + 2;

impl House {
    /// Creates a group with this number of members, named by number.
    pub(super) fn create_group(&self, host: &str, members: usize) -> Result<String, String> {
        let ask = |query: &str| {
            let head = format!("POST /mesh/graphql HTTP/1.1\r\nx-api-key: {KEY}\r\n");
            self.ask(&head, &format!("{{\"query\":{}}}", quoted(query)))
        };
        let answer = ask(&format!(
            "mutation {{ createGroup(name: \"bench\", hostId: \"{host}\", domain: \"local\") {{ id }} }}"
        ))?;
        let id = answer.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let id = id.ok_or_else(|| format!("no group: {answer}"))?.to_owned();
        for member in 0..members {
            let answer = ask(&format!(
                "mutation {{ joinGroup(groupId: \"{id}\", domain: \"local\", nodeId: \"{member}\") {{ id }} }}"
            ))?;
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

    /// A socket that follows a group; it gets all later reports.
    pub(super) fn subscribe(&self, group: &str) -> Result<TcpStream, String> {
        let describe = |error: std::io::Error| format!("cannot subscribe: {error}");
        let mut stream = self.connect()?;
        let path = format!("/mesh/graphql/realtime?header={KEY_HEADER}");
        let open = handshake(&path, "sec-websocket-protocol: graphql-ws\r\n");
        stream.write_all(open.as_bytes()).map_err(describe)?;
        read_past(&mut stream, b"\r\n\r\n").map_err(describe)?;
        let query = "subscription($g: ID!) { onMessageInGroup(groupId: $g, domain: \\\"local\\\") { \
            groupId domain nodeStatus { nodeId data { key value } timestamp } \
            batchEvent { firedByNodeId events { name timestamp } } } }";
        let data = format!("{{\"query\":\"{query}\",\"variables\":{{\"g\":\"{group}\"}}}}");
        let start = format!(
            "{{\"id\":\"1\",\"type\":\"start\",\"payload\":{{\"data\":{},\"extensions\":\
             {{\"authorization\":{{\"x-api-key\":\"{KEY}\"}}}}}}}}",
            quoted(&data)
        );
        let begin = [masked(br#"{"type":"connection_init"}"#), masked(start.as_bytes())].concat();
        stream.write_all(&begin).map_err(describe)?;
        read_past(&mut stream, b"start_ack\"}").map_err(describe)?;
        Ok(stream)
    }
}

/// A node's connection for HTTP.
pub(super) struct Reporter {
    stream: TcpStream,
    group: String,
    node: usize,
    rest: Vec<u8>,
}

/// A node that sends to its group and gets acknowledgements.
pub(super) trait GroupSender {
    fn stream(&self) -> &TcpStream;
    /// Sends the stamp.
    fn send_stamp(&mut self, stamp: u64) -> Result<(), String>;
    /// The number of new responses; each must be a success.
    fn take_answers(&mut self) -> Result<usize, String>;
}

impl GroupSender for Reporter {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Reports one variable; its value is the stamp.
    fn send_stamp(&mut self, stamp: u64) -> Result<(), String> {
        const QUERY: &str = "mutation R($g: ID!, $n: ID!, $v: String!) { reportDataByNode(groupId: $g, \
            domain: \\\"local\\\", nodeId: $n, data: [{key: \\\"k\\\", value: $v}]) { groupId domain \
            nodeStatus { nodeId data { key value } timestamp } } }";
        self.post(&self.body(QUERY, stamp))
    }

    fn take_answers(&mut self) -> Result<usize, String> {
        take_what_came(&mut self.stream, &mut self.rest, &mut [0; SPACE])?;
        let mut count = 0;
        while let Some(length) = answer_length(&self.rest) {
            let answer: Vec<u8> = self.rest.drain(..length).collect();
            let is_good = answer.starts_with(b"HTTP/1.1 200")
                && memchr::memmem::find(&answer, b"\"errors\"").is_none();
            if !is_good {
                return Err(String::from_utf8_lossy(&answer).into_owned());
            }
            count += 1;
        }
        Ok(count)
    }
}

impl Reporter {
    /// Fires one event; its name is the stamp.
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
        let head = format!("POST /mesh/graphql HTTP/1.1\r\nx-api-key: {KEY}\r\n");
        let request = request(&head, body);
        self.stream.write_all(request.as_bytes()).map_err(|error| format!("cannot report: {error}"))
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

    /// A node's own connection for publishing.
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

/// A node that publishes, and asks for an acknowledgement each time.
pub(super) struct Publisher {
    stream: TcpStream,
    message: Vec<u8>,
    rest: Vec<u8>,
}

impl GroupSender for Publisher {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn send_stamp(&mut self, _: u64) -> Result<(), String> {
        self.stream.write_all(&self.message).map_err(|error| format!("cannot publish: {error}"))
    }

    fn take_answers(&mut self) -> Result<usize, String> {
        take_what_came(&mut self.stream, &mut self.rest, &mut [0; SPACE])?;
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

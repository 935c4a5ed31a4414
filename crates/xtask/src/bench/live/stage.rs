//! Servers with a speaker and a hall: ours, socket.io, and the minimal reference.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::bench::child_output;
use crate::bench::crowd::{Crowd, STAMP_DIGITS, SocketProtocol};
use crate::bench::house::{self, end, handshake, masked, read_past};
use crate::bench::hub::peers::bare_reference;
use crate::run;

/// The host's credential.
const HOST: &str = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10";
/// Connections of the host.
const HOSTS: usize = 16;
/// Bytes of a comment in addition to its stamp.
const PADDING: usize = 60;
/// The size of a comment as our server pushes it; the others send as much.
const COMMENT_BYTES: usize = 420;

/// socket.io's server for the same work.
const SOCKET_IO: &str = r#"
const { Server } = require("socket.io");
const http = require("node:http").createServer();
const io = new Server(http, { transports: ["websocket"], perMessageDeflate: false, pingTimeout: 60000 });
io.on("connection", (socket) => {
  socket.on("join", () => { socket.join("room"); socket.emit("joined"); });
  socket.on("comment", (comment) => io.to("room").emit("comment", comment));
});
http.listen(0, "127.0.0.1", 4096, () => console.log(http.address().port));
"#;

/// A server with a speaker and a hall.
pub(super) trait Stage {
    /// The protocol of its listeners.
    fn speech(&self) -> SocketProtocol;
    /// Adds a listener, which gets all later comments.
    fn listener(&self) -> Result<TcpStream, String>;
    /// Sends a comment with the stamp.
    fn say(&mut self, stamp: u64) -> Result<(), String>;
    /// Reads the responses to the speaker, so that nothing waits for them.
    fn rest(&mut self) -> Result<(), String>;
}

/// Our server with one room.
pub(super) struct OurStage {
    house: house::House,
    room: String,
    /// A connection has one unacknowledged comment at a time: it is durable when the next is
    /// accepted.
    hosts: Vec<TcpStream>,
    sent: usize,
}

impl OurStage {
    pub(super) fn open() -> Result<OurStage, String> {
        let house = house::House::start(&["--live-host-requests-per-second", "1000000"])?;
        let body = format!("{{\"name\":\"bench\",\"hostId\":\"{HOST}\"}}");
        let answer = house.ask("POST /live/rooms HTTP/1.1\r\n", &body)?;
        let room = answer.split("\"roomId\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let room = room.ok_or_else(|| format!("no room: {answer}"))?.to_owned();
        let join = join(&room, &format!(",\"hostId\":\"{HOST}\""));
        let mut hosts = Vec::new();
        for _ in 0..HOSTS {
            let host = opened(house.connect()?, "/live/ws", &join, b"\"type\":\"joined\"")?;
            host.set_nonblocking(true).map_err(|error| error.to_string())?;
            hosts.push(host);
        }
        Ok(OurStage { house, room, hosts, sent: 0 })
    }

    /// The whole hall connects at once; each socket joins when it is open, from the beginning.
    pub(super) fn come_back(&self, hall: usize) -> Result<Crowd, String> {
        let mut crowd = Crowd::new()?;
        let open = handshake("/live/ws", "");
        let join = masked(join(&self.room, ",\"after\":0").as_bytes());
        for _ in 0..hall {
            let mut stream = self.house.connect()?;
            stream.write_all(open.as_bytes()).map_err(|error| error.to_string())?;
            crowd.enter_opening(&stream, self.speech(), join.clone())?;
        }
        Ok(crowd)
    }
}

impl Stage for OurStage {
    fn speech(&self) -> SocketProtocol {
        SocketProtocol::Comments
    }

    fn listener(&self) -> Result<TcpStream, String> {
        let join = join(&self.room, "");
        opened(self.house.connect()?, "/live/ws", &join, b"\"type\":\"joined\"")
    }

    fn say(&mut self, stamp: u64) -> Result<(), String> {
        let content = format!("{stamp:0STAMP_DIGITS$}{}", "x".repeat(PADDING));
        let text = format!("{{\"action\":\"postComment\",\"content\":\"{content}\"}}");
        self.sent += 1;
        let turn = self.sent % HOSTS;
        let host = self.hosts.get_mut(turn).ok_or("there is no host")?;
        send(host, &masked(text.as_bytes()))
    }

    fn rest(&mut self) -> Result<(), String> {
        self.hosts.iter_mut().try_for_each(take)
    }
}

/// A server that prints its port; ended when dropped.
struct PeerServer {
    child: Child,
    port: u16,
}

impl PeerServer {
    fn start(mut command: Command) -> Result<PeerServer, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut server = PeerServer { child, port: 0 };
        (server.port, _) = child_output::wait_for_port(output)?;
        Ok(server)
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let connected = TcpStream::connect(("127.0.0.1", self.port));
        let stream = connected.map_err(|error| format!("cannot connect: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(stream)
    }
}

impl Drop for PeerServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A socket.io server with one room.
pub(super) struct SocketIo {
    server: PeerServer,
    host: TcpStream,
}

impl SocketIo {
    const PATH: &str = "/socket.io/?EIO=4&transport=websocket";

    pub(super) fn open() -> Result<SocketIo, String> {
        let mut command = run::program("node");
        command.args(["-e", SOCKET_IO]);
        command.env("NODE_PATH", run::tools_folder().join("npm/node_modules"));
        let server = PeerServer::start(command)?;
        let host = opened(server.connect()?, SocketIo::PATH, "40", b"40{\"sid\":")?;
        host.set_nonblocking(true).map_err(|error| error.to_string())?;
        Ok(SocketIo { server, host })
    }
}

impl Stage for SocketIo {
    fn speech(&self) -> SocketProtocol {
        SocketProtocol::SocketIo
    }

    fn listener(&self) -> Result<TcpStream, String> {
        let mut stream = opened(self.server.connect()?, SocketIo::PATH, "40", b"40{\"sid\":")?;
        let describe = |error: std::io::Error| format!("cannot join: {error}");
        stream.write_all(&masked(b"42[\"join\"]")).map_err(describe)?;
        await_frame(&mut stream, b"42[\"joined\"]").map_err(describe)?;
        Ok(stream)
    }

    fn say(&mut self, stamp: u64) -> Result<(), String> {
        let text = format!("42[\"comment\",{}]", comment(stamp, COMMENT_BYTES));
        send(&mut self.host, &masked(text.as_bytes()))
    }

    fn rest(&mut self) -> Result<(), String> {
        take(&mut self.host)
    }
}

/// The minimal reference.
pub(super) struct Reference {
    server: PeerServer,
    host: TcpStream,
}

impl Reference {
    pub(super) fn open() -> Result<Reference, String> {
        let server = PeerServer::start(bare_reference(COMMENT_BYTES)?)?;
        let host = greeted(server.connect()?, "/pub")?;
        host.set_nonblocking(true).map_err(|error| error.to_string())?;
        Ok(Reference { server, host })
    }
}

impl Stage for Reference {
    fn speech(&self) -> SocketProtocol {
        SocketProtocol::Frames
    }

    fn listener(&self) -> Result<TcpStream, String> {
        greeted(self.server.connect()?, "/sub")
    }

    fn say(&mut self, stamp: u64) -> Result<(), String> {
        send(&mut self.host, &masked(comment(stamp, COMMENT_BYTES).as_bytes()))
    }

    fn rest(&mut self) -> Result<(), String> {
        Ok(())
    }
}

fn join(room: &str, more: &str) -> String {
    format!("{{\"action\":\"joinRoom\",\"roomId\":\"{room}\",\"v\":1{more}}}")
}

/// A comment of this size.
fn comment(stamp: u64, bytes: usize) -> String {
    let head = format!("{{\"content\":\"{stamp:0STAMP_DIGITS$}");
    let padding = "x".repeat(bytes.saturating_sub(head.len() + 2));
    format!("{head}{padding}\"}}")
}

/// Opens a WebSocket.
fn greeted(mut stream: TcpStream, path: &str) -> Result<TcpStream, String> {
    let describe = |error: std::io::Error| format!("cannot open {path}: {error}");
    stream.write_all(handshake(path, "").as_bytes()).map_err(describe)?;
    read_past(&mut stream, b"\r\n\r\n").map_err(describe)?;
    Ok(stream)
}

/// Opens a WebSocket, sends a text and waits for this response.
fn opened(stream: TcpStream, path: &str, sent: &str, answer: &[u8]) -> Result<TcpStream, String> {
    let describe = |error: std::io::Error| format!("cannot join by {path}: {error}");
    let mut stream = greeted(stream, path)?;
    stream.write_all(&masked(sent.as_bytes())).map_err(describe)?;
    await_frame(&mut stream, answer).map_err(describe)?;
    Ok(stream)
}

/// Reads frames up to the one that contains this text.
fn await_frame(stream: &mut TcpStream, text: &[u8]) -> std::io::Result<()> {
    loop {
        let mut head = [0; 2];
        stream.read_exact(&mut head)?;
        let length = match head[1] {
            126 => {
                let mut long = [0; 2];
                stream.read_exact(&mut long)?;
                usize::from(u16::from_be_bytes(long))
            }
            short => usize::from(short),
        };
        let mut frame = vec![0; length];
        stream.read_exact(&mut frame)?;
        if memchr::memmem::find(&frame, text).is_some() {
            return Ok(());
        }
    }
}

/// Sends all bytes; the other side reads.
fn send(stream: &mut TcpStream, mut bytes: &[u8]) -> Result<(), String> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => take(stream)?,
            Err(error) => return Err(format!("cannot speak: {error}")),
        }
    }
    Ok(())
}

/// Reads the available bytes and drops them.
fn take(stream: &mut TcpStream) -> Result<(), String> {
    let mut space = [0; 16 * 1024];
    loop {
        match stream.read(&mut space) {
            Ok(0) => return Err("the speaker was disconnected".to_owned()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

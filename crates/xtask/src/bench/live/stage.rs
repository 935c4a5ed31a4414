//! Where somebody speaks to a hall: our house, socket.io, and the bare reference.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::bench::crowd::{Crowd, STAMP_DIGITS, Speech};
use crate::bench::house::{self, end, handshake, masked, read_past};
use crate::bench::hub::peers::bare_reference;
use crate::bench::spoken;
use crate::run;

/// The host's credential.
const HOST: &str = "5f1d7a84c9b04b1f8f0f7d2b3a6c9e10";
/// Connections of the host.
const HOSTS: usize = 16;
/// Bytes of a comment besides its stamp.
const PADDING: usize = 60;
/// What a comment weighs as the house pushes it, for the others to carry as much.
const COMMENT_BYTES: usize = 420;

/// socket.io's server, doing the same work.
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

/// Where somebody speaks to a hall.
pub(super) trait Stage {
    /// What its listeners hear.
    fn speech(&self) -> Speech;
    /// One more listener: what is said after this will come.
    fn listener(&self) -> Result<TcpStream, String>;
    /// Says a comment that holds the stamp.
    fn say(&mut self, stamp: u64) -> Result<(), String>;
    /// Takes what the speaker is told, so that nobody waits for it.
    fn rest(&mut self) -> Result<(), String>;
}

/// Our house with one room.
pub(super) struct House {
    house: house::House,
    room: String,
    /// A connection has one comment under way at a time: it is durable when the next is taken.
    hosts: Vec<TcpStream>,
    said: usize,
}

impl House {
    pub(super) fn open() -> Result<House, String> {
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
        Ok(House { house, room, hosts, said: 0 })
    }

    /// The hall comes at once; each of them joins when its socket is open, from the beginning.
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

impl Stage for House {
    fn speech(&self) -> Speech {
        Speech::Comments
    }

    fn listener(&self) -> Result<TcpStream, String> {
        let join = join(&self.room, "");
        opened(self.house.connect()?, "/live/ws", &join, b"\"type\":\"joined\"")
    }

    fn say(&mut self, stamp: u64) -> Result<(), String> {
        let content = format!("{stamp:0STAMP_DIGITS$}{}", "x".repeat(PADDING));
        let text = format!("{{\"action\":\"postComment\",\"content\":\"{content}\"}}");
        self.said += 1;
        let turn = self.said % HOSTS;
        let host = self.hosts.get_mut(turn).ok_or("there is no host")?;
        send(host, &masked(text.as_bytes()))
    }

    fn rest(&mut self) -> Result<(), String> {
        self.hosts.iter_mut().try_for_each(take)
    }
}

/// A server that prints its port; ended when dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(mut command: Command) -> Result<Server, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut server = Server { child, port: 0 };
        (server.port, _) = spoken::wait_for_port(output)?;
        Ok(server)
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let connected = TcpStream::connect(("127.0.0.1", self.port));
        let stream = connected.map_err(|error| format!("cannot connect: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(stream)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A server of socket.io with one room.
pub(super) struct SocketIo {
    server: Server,
    host: TcpStream,
}

impl SocketIo {
    const PATH: &str = "/socket.io/?EIO=4&transport=websocket";

    pub(super) fn open() -> Result<SocketIo, String> {
        let mut command = run::program("node");
        command.args(["-e", SOCKET_IO]);
        command.env("NODE_PATH", run::tools_folder().join("npm/node_modules"));
        let server = Server::start(command)?;
        let host = opened(server.connect()?, SocketIo::PATH, "40", b"40{\"sid\":")?;
        host.set_nonblocking(true).map_err(|error| error.to_string())?;
        Ok(SocketIo { server, host })
    }
}

impl Stage for SocketIo {
    fn speech(&self) -> Speech {
        Speech::SocketIo
    }

    fn listener(&self) -> Result<TcpStream, String> {
        let mut stream = opened(self.server.connect()?, SocketIo::PATH, "40", b"40{\"sid\":")?;
        let told = |error: std::io::Error| format!("cannot join: {error}");
        stream.write_all(&masked(b"42[\"join\"]")).map_err(told)?;
        await_frame(&mut stream, b"42[\"joined\"]").map_err(told)?;
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

/// The bare reference.
pub(super) struct Reference {
    server: Server,
    host: TcpStream,
}

impl Reference {
    pub(super) fn open() -> Result<Reference, String> {
        let server = Server::start(bare_reference(COMMENT_BYTES)?)?;
        let host = greeted(server.connect()?, "/pub")?;
        host.set_nonblocking(true).map_err(|error| error.to_string())?;
        Ok(Reference { server, host })
    }
}

impl Stage for Reference {
    fn speech(&self) -> Speech {
        Speech::Frames
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

/// A comment of so many bytes.
fn comment(stamp: u64, bytes: usize) -> String {
    let head = format!("{{\"content\":\"{stamp:0STAMP_DIGITS$}");
    let padding = "x".repeat(bytes.saturating_sub(head.len() + 2));
    format!("{head}{padding}\"}}")
}

/// A WebSocket that is open.
fn greeted(mut stream: TcpStream, path: &str) -> Result<TcpStream, String> {
    let told = |error: std::io::Error| format!("cannot open {path}: {error}");
    stream.write_all(handshake(path, "").as_bytes()).map_err(told)?;
    read_past(&mut stream, b"\r\n\r\n").map_err(told)?;
    Ok(stream)
}

/// A WebSocket that is open and has heard this answer to what it said.
fn opened(stream: TcpStream, path: &str, said: &str, answer: &[u8]) -> Result<TcpStream, String> {
    let told = |error: std::io::Error| format!("cannot join by {path}: {error}");
    let mut stream = greeted(stream, path)?;
    stream.write_all(&masked(said.as_bytes())).map_err(told)?;
    await_frame(&mut stream, answer).map_err(told)?;
    Ok(stream)
}

/// Reads frames up to the one that holds this.
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

/// Sends it all; the other side reads.
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

/// Takes what came, and forgets it.
fn take(stream: &mut TcpStream) -> Result<(), String> {
    let mut space = [0; 16 * 1024];
    loop {
        match stream.read(&mut space) {
            Ok(0) => return Err("the speaker was cut off".to_owned()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

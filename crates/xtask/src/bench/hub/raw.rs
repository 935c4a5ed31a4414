//! The reference: the least that a WebSocket server can do for this work, on one thread. Messages
//! that arrive together become one run of frames, encoded once, and leave with one write per
//! subscriber; bytes that the system does not accept wait. No limits, no pings, no history. All
//! messages have the given length.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::bench::poller::Poller;

const LISTENER: usize = usize::MAX;
/// Header and mask of a client's frame of more than 125 bytes.
const CLIENT_HEAD: usize = 8;
/// The response to the sample key of RFC 6455, which the load uses.
const ANSWER: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n\
    upgrade: websocket\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

struct Connection {
    stream: TcpStream,
    is_open: bool,
    is_subscriber: bool,
    read: Vec<u8>,
    left: Vec<u8>,
}

/// Serves messages of this length until its parent ends.
pub(super) fn serve(bytes: &str) -> Result<(), String> {
    let bytes: u16 = bytes.parse().map_err(|_| format!("`{bytes}` is not a length"))?;
    let describe = |error: std::io::Error| error.to_string();
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(describe)?;
    rustix::net::listen(&listener, 4_096).map_err(|error| error.to_string())?;
    listener.set_nonblocking(true).map_err(describe)?;
    println!("{}", listener.local_addr().map_err(describe)?.port());
    let mut poller = Poller::new()?;
    poller.add(&listener, LISTENER)?;
    let mut connections: Vec<Connection> = Vec::new();
    let mut space = vec![0; 65_536];
    loop {
        let mut batch = Vec::new();
        for (key, can_write) in poller.wait(Duration::from_secs(1))? {
            if key == LISTENER {
                accept(&listener, &poller, &mut connections)?;
                continue;
            }
            let Some(connection) = connections.get_mut(key) else { continue };
            if can_write && !connection.left.is_empty() {
                let left = std::mem::take(&mut connection.left);
                connection.write(&left);
                if connection.left.is_empty() {
                    poller.set_writing(&connection.stream, key, false)?;
                }
            }
            connection.hear(&mut space, bytes, &mut batch);
        }
        if batch.is_empty() {
            continue;
        }
        for (key, connection) in connections.iter_mut().enumerate() {
            if connection.is_subscriber && connection.is_open {
                let was_clear = connection.left.is_empty();
                connection.write(&batch);
                if was_clear && !connection.left.is_empty() {
                    poller.set_writing(&connection.stream, key, true)?;
                }
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    poller: &Poller,
    connections: &mut Vec<Connection>,
) -> Result<(), String> {
    while let Ok((stream, _)) = listener.accept() {
        let made = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        made.map_err(|error| error.to_string())?;
        poller.add(&stream, connections.len())?;
        connections.push(Connection {
            stream,
            is_open: false,
            is_subscriber: false,
            read: Vec::new(),
            left: Vec::new(),
        });
    }
    Ok(())
}

impl Connection {
    /// Reads the available bytes; a publisher's messages become frames of the batch.
    fn hear(&mut self, space: &mut [u8], bytes: u16, batch: &mut Vec<u8>) {
        while let Ok(count @ 1..) = self.stream.read(space) {
            self.read.extend_from_slice(space.get(..count).unwrap_or_default());
        }
        if !self.is_open && self.read.ends_with(b"\r\n\r\n") {
            self.is_open = true;
            self.is_subscriber = self.read.starts_with(b"GET /sub");
            self.read = Vec::new();
            self.write(ANSWER);
        }
        if self.is_open && !self.is_subscriber {
            let [high, low] = bytes.to_be_bytes();
            let message = CLIENT_HEAD + usize::from(bytes);
            let whole = self.read.len() / message * message;
            for frame in self.read.drain(..whole).as_slice().chunks(message) {
                // The load masks with zeros.
                batch.extend_from_slice(&[0x81, 0x7e, high, low]);
                batch.extend_from_slice(frame.get(CLIENT_HEAD..).unwrap_or_default());
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if !self.left.is_empty() {
            self.left.extend_from_slice(bytes);
            return;
        }
        let count = match self.stream.write(bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(_) => bytes.len(),
        };
        self.left.extend_from_slice(bytes.get(count..).unwrap_or_default());
    }
}

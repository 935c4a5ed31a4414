//! The cheapest upstream that both pollers understand: one thread, one list of ready sockets. It
//! returns `from`, `to` and a count to requests with a window, and one metric to others.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::bench::poller::Poller;

/// The size of one read: a request fits.
const SPACE: usize = 16 * 1024;
/// The key of the listener; connections have the keys after it.
const DOOR: usize = 0;

/// An upstream. It serves until the process ends.
pub(super) struct Upstream {
    address: SocketAddr,
    answered: Arc<AtomicU64>,
}

impl Upstream {
    pub(super) fn start() -> Result<Upstream, String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let answered = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&answered);
        std::thread::spawn(move || {
            let served =
                UpstreamServer::new(listener, counted).and_then(|mut server| server.serve());
            let Err(error) = served;
            eprintln!("the upstream has ended: {error}");
        });
        Ok(Upstream { address, answered })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of responses so far.
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

struct UpstreamServer {
    poller: Poller,
    listener: TcpListener,
    connections: HashMap<usize, (TcpStream, Vec<u8>)>,
    next: usize,
    space: Vec<u8>,
    answered: Arc<AtomicU64>,
}

impl UpstreamServer {
    fn new(listener: TcpListener, answered: Arc<AtomicU64>) -> Result<UpstreamServer, String> {
        let poller = Poller::new()?;
        poller.add(&listener, DOOR)?;
        let (connections, space) = (HashMap::new(), vec![0; SPACE]);
        Ok(UpstreamServer { poller, listener, connections, next: DOOR + 1, space, answered })
    }

    fn serve(&mut self) -> Result<Infallible, String> {
        loop {
            for (key, _) in self.poller.wait(Duration::from_secs(1))? {
                if key == DOOR {
                    self.accept()?;
                } else if self.answer(key).is_none() {
                    self.connections.remove(&key);
                }
            }
        }
    }

    fn accept(&mut self) -> Result<(), String> {
        while let Ok((stream, _)) = self.listener.accept() {
            let ready = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
            ready.map_err(|error| error.to_string())?;
            self.poller.add(&stream, self.next)?;
            self.connections.insert(self.next, (stream, Vec::new()));
            self.next += 1;
        }
        Ok(())
    }

    /// Responds to the requests of a connection; `None` when it is closed.
    fn answer(&mut self, key: usize) -> Option<()> {
        let (stream, rest) = self.connections.get_mut(&key)?;
        loop {
            match stream.read(&mut self.space) {
                Ok(0) => return None,
                Ok(read) => rest.extend_from_slice(self.space.get(..read)?),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return None,
            }
        }
        while let Some(end) = memchr::memmem::find(rest, b"\r\n\r\n") {
            let answer = answer_to(std::str::from_utf8(rest.get(..end)?).ok()?);
            stream.write_all(answer.as_bytes()).ok()?;
            rest.drain(..end + 4);
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        Some(())
    }
}

fn answer_to(head: &str) -> String {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let parameter = |name: &str| {
        let value = path.split(['?', '&']).find_map(|pair| pair.strip_prefix(name));
        value.unwrap_or_default().replace("%3A", ":")
    };
    let (kind, body) = match path.starts_with("/metrics/") {
        true => ("text/plain; version=0.0.4", "responses 7\n".to_owned()),
        false => {
            let (from, to) = (parameter("from="), parameter("to="));
            let body = format!("{{\"from\":\"{from}\",\"to\":\"{to}\",\"count\":7}}");
            ("application/json", body)
        }
    };
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
}

//! An upstream on the loopback that does what a trial tells it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::Tasks;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::model::answer::{mock_count, read_iso};

/// What it does with a request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// Answers what the mock answers.
    Right,
    /// Answers this count for the window.
    Count(String),
    /// Answers this body.
    Body(String),
    /// Answers this head, with an empty body.
    Head(String),
    /// Never answers.
    Hang,
}

type Script = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// What stands before `/response_count`: the source, for sources of the API.
    pub(super) who: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) head: String,
}

struct Shared {
    script: Mutex<Script>,
    asked: Mutex<Vec<Asked>>,
    hanging: AtomicUsize,
}

pub(super) struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// No part of the house, so its tasks end with the test.
    _tasks: Tasks,
}

impl Upstream {
    pub(super) async fn start() -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            script: Mutex::new(Arc::new(|_| Reply::Right)),
            asked: Mutex::default(),
            hanging: AtomicUsize::new(0),
        });
        let (address, tasks) = (listener.local_addr().unwrap(), Tasks::new());
        let upstream = Upstream { address, shared: Arc::clone(&shared), _tasks: tasks.clone() };
        let spawner = tasks.clone();
        tasks.spawn("upstream", async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawner.spawn("upstream connection", serve(stream, Arc::clone(&shared)));
            }
        });
        upstream
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn answer(&self, script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        *self.shared.script.lock() = Arc::new(script);
    }

    /// Requests that will not be answered and whose askers still wait.
    pub(super) fn hanging(&self) -> usize {
        self.shared.hanging.load(Ordering::Acquire)
    }

    /// All requests, in the order in which they came.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().clone()
    }

    /// The windows that were asked for, by their beginnings, in the order of the asking.
    pub(super) fn windows(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.from).collect()
    }

    pub(super) fn forget(&self) {
        self.shared.asked.lock().clear();
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
                break end;
            }
            match stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let head = String::from_utf8(buffer.drain(..end + 4).collect()).unwrap();
        let asked = read(&head);
        let script = Arc::clone(&*shared.script.lock());
        let reply = script(&asked);
        shared.asked.lock().push(asked.clone());
        let answer = match reply {
            Reply::Right => {
                let counted = mock_count(read_iso(&asked.to).unwrap()).to_string();
                json(&window(&asked, &counted))
            }
            Reply::Count(counted) => json(&window(&asked, &counted)),
            Reply::Body(body) => json(&body),
            Reply::Head(head) => format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\n\r\n"),
            Reply::Hang => {
                shared.hanging.fetch_add(1, Ordering::AcqRel);
                let gone = stream.read_buf(&mut buffer).await;
                shared.hanging.fetch_sub(1, Ordering::AcqRel);
                assert!(matches!(gone, Ok(0) | Err(_)), "who waits asks nothing else");
                return;
            }
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn read(head: &str) -> Asked {
    let target = head.split(' ').nth(1).unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parameter = |name: &str| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
        value.unwrap_or_default().to_owned()
    };
    let who = path.trim_start_matches('/').split('/').next().unwrap().to_owned();
    Asked { who, from: parameter("from"), to: parameter("to"), head: head.to_lowercase() }
}

fn window(asked: &Asked, counted: &str) -> String {
    format!(r#"{{"from": "{}", "to": "{}", "count": {counted}}}"#, asked.from, asked.to)
}

fn json(body: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

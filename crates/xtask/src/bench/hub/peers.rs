//! The servers as processes: started on free ports, used by the load, ended by their id.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::load::{FAILED, LoadParameters, PAYLOAD_BYTES};
use crate::bench::house::OLDER;
use crate::bench::report::Server;
use crate::bench::{Options, child_output, usage};
use crate::run;

/// How long a server has to listen.
const START: Duration = Duration::from_secs(10);

/// bun's server for the same work.
const BUN: &str = r#"
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request, server) {
    const data = { follows: new URL(request.url).pathname === "/sub" };
    if (server.upgrade(request, { data })) return;
    return new Response("not a handshake", { status: 426 });
  },
  websocket: {
    perMessageDeflate: false,
    open(socket) { if (socket.data.follows) socket.subscribe("t"); },
    message(socket, message) { server.publish("t", message); },
  },
});
console.log(server.port);
"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Ours,
    Raw,
    Bun,
    Redis,
    Nats,
    /// Our older build: the `xtask` next to the program at this path.
    Older(&'static Path),
}

impl Peer {
    /// Ours first.
    pub(super) fn all(options: Options) -> Vec<Peer> {
        let older = options.older.map(Peer::Older);
        let others = [Peer::Raw, Peer::Bun, Peer::Redis, Peer::Nats];
        [Peer::Ours].into_iter().chain(older).chain(others).collect()
    }

    /// The name in reports.
    pub(super) fn server(self) -> Server<'static> {
        match self {
            Peer::Ours => Server::Ours,
            Peer::Raw | Peer::Bun | Peer::Redis | Peer::Nats | Peer::Older(_) => {
                Server::Peer(self.name())
            }
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Peer::Ours => "ours",
            Peer::Older(_) => OLDER,
            Peer::Raw => "the bare reference",
            Peer::Bun => "bun",
            Peer::Redis => "Redis",
            Peer::Nats => "NATS",
        }
    }

    /// The protocol of its subscribers, for the load.
    fn speaks(self) -> &'static str {
        match self {
            Peer::Ours | Peer::Older(_) | Peer::Raw | Peer::Bun => "websocket",
            Peer::Redis => "redis",
            Peer::Nats => "nats",
        }
    }
}

/// A running server; ended when dropped.
pub(super) struct PeerProcess {
    peer: Peer,
    port: u16,
    child: Child,
    /// Kept open: our own parts end when it closes.
    _output: Option<BufReader<ChildStdout>>,
}

impl PeerProcess {
    pub(super) fn start(peer: Peer) -> Result<PeerProcess, String> {
        match peer {
            Peer::Ours => PeerProcess::telling_port(peer, own_part(&["ours"])?),
            Peer::Older(program) => {
                let xtask = program.with_file_name("xtask");
                if !xtask.is_file() {
                    return Err(format!("no `xtask` with benches beside {}", program.display()));
                }
                PeerProcess::telling_port(peer, part_of(xtask, &["ours"]))
            }
            Peer::Raw => PeerProcess::telling_port(peer, bare_reference(PAYLOAD_BYTES)?),
            Peer::Bun => {
                let mut command = run::program("bun");
                command.args(["-e", BUN]);
                PeerProcess::telling_port(peer, command)
            }
            Peer::Redis => PeerProcess::on_port(peer, "redis-server", |port| {
                let fixed = "--save  --appendonly no --bind 127.0.0.1 --maxclients 15000";
                let mut words: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
                words.extend(["--client-output-buffer-limit", "pubsub 0 0 0"].map(str::to_owned));
                words.extend(["--port".to_owned(), port.to_string()]);
                words
            }),
            Peer::Nats => PeerProcess::on_port(peer, "nats-server", |port| {
                vec!["-a".to_owned(), "127.0.0.1".to_owned(), "-p".to_owned(), port.to_string()]
            }),
        }
    }

    /// A server that chooses a port and prints it.
    fn telling_port(peer: Peer, mut command: Command) -> Result<PeerProcess, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start: {error}"))?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut running = PeerProcess { peer, port: 0, child, _output: None };
        let (port, output) = child_output::wait_for_port(output)?;
        (running.port, running._output) = (port, Some(output));
        Ok(running)
    }

    /// A server that gets its port as an argument.
    fn on_port(
        peer: Peer,
        program: &str,
        words: impl FnOnce(u16) -> Vec<String>,
    ) -> Result<PeerProcess, String> {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let mut command = run::program(program);
        command.args(words(port)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("cannot start: {error}"))?;
        let running = PeerProcess { peer, port, child, _output: None };
        let start = run::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if start.elapsed() > START {
                return Err("it does not listen".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// Starts the load for it.
    pub(super) fn load(&self, asked: &LoadParameters) -> Result<LoadProcess, String> {
        let words = asked.words(self.peer.speaks(), self.port);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let memory_before = self.memory()?;
        let mut command = own_part(&[&["load"], words.as_slice()].concat())?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(LoadProcess { child, input, output, memory_before })
    }

    fn memory(&self) -> Result<u64, String> {
        usage::resident_bytes_of(self.child.id()).ok_or_else(|| "it is gone".to_owned())
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The load's process; ended when dropped.
pub(super) struct LoadProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The server's memory before any connection.
    pub(super) memory_before: u64,
}

impl LoadProcess {
    /// The server's memory once all subscribers are connected and idle.
    pub(super) fn wait_connected(&mut self, server: &PeerProcess) -> Result<u64, String> {
        self.answer()?;
        std::thread::sleep(Duration::from_millis(500));
        server.memory()
    }

    /// Deliveries per second.
    pub(super) fn flood(&mut self) -> Result<f64, String> {
        let answer = self.ask("flood")?;
        answer.first().copied().ok_or_else(|| "the load printed nothing".to_owned())
    }

    /// Median and 99th percentile in microseconds.
    pub(super) fn pace(&mut self) -> Result<(f64, f64), String> {
        match self.ask("pace")?.as_slice() {
            [p50, p99] => Ok((*p50, *p99)),
            other => Err(format!("the load printed {other:?}")),
        }
    }

    fn ask(&mut self, word: &str) -> Result<Vec<f64>, String> {
        writeln!(self.input, "{word}").map_err(|error| error.to_string())?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Vec<f64>, String> {
        let mut line = String::new();
        let count = self.output.read_line(&mut line).map_err(|error| error.to_string())?;
        if count == 0 {
            return Err("the load ended early".to_owned());
        }
        if let Some(why) = line.trim().strip_prefix(FAILED) {
            return Err(why.to_owned());
        }
        Ok(line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // If it has ended by itself, there is nothing to kill.
    let _killed = child.kill();
    let _waited = child.wait();
}

fn own_part(words: &[&str]) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(part_of(program, words))
}

fn part_of(xtask: PathBuf, words: &[&str]) -> Command {
    let mut command = run::program(xtask);
    command.args(["bench", "hub-part"]).args(words);
    command
}

/// The minimal reference, for messages of this length; it prints its port.
pub(in crate::bench) fn bare_reference(bytes: usize) -> Result<Command, String> {
    own_part(&["raw", &bytes.to_string()])
}

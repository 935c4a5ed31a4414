//! A process of the program under test, in a directory and an environment of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The tables that the house makes for itself and its rooms.
pub(crate) const OWN_TABLES: [&str; 18] = [
    "AiResponseMetrics",
    "LiveComment-Comments-prod",
    "LiveComment-Connections-prod",
    "LiveComment-Marks-prod",
    "LiveComment-Rooms-prod",
    "ScoreTable",
    "collect",
    "dispatch",
    "edge_answers",
    "edge_credentials",
    "mesh",
    "mesh-status",
    "mini-sns-prod-post-ddb",
    "mini-sns-prod-session-ddb",
    "mini-sns-prod-social-ddb",
    "mini-sns-prod-timeline-ddb",
    "mini-sns-prod-user-ddb",
    "score",
];

/// What `table ls` prints of a house in which nobody has done anything, for visitors.
pub(crate) const EMPTY_HOUSE: &str = "table                         items  bytes\n";

/// What a command printed, without the house's own tables and without counts that its own work
/// changes.
pub(crate) fn for_visitors(text: &str) -> String {
    let is_own = |name: &str| OWN_TABLES.contains(&name.trim());
    let line = |line: &str| {
        if line.starts_with("looked at ") {
            let masked = line.replace(|letter: char| letter.is_ascii_digit(), "n");
            return masked.replace("nn", "n");
        }
        match line.split_once("; there are ") {
            None => line.to_owned(),
            Some((said, tables)) => {
                let others: Vec<&str> = tables.split(", ").filter(|name| !is_own(name)).collect();
                format!("{said}; there are {}", others.join(", "))
            }
        }
    };
    let lines = text.lines().filter(|line| !line.split(' ').next().is_some_and(is_own));
    lines.map(|text| line(text) + "\n").collect()
}

/// The program with nothing inherited, in `directory`.
pub(crate) fn nagaya(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nagaya"));
    command.env_clear().current_dir(directory).stdin(Stdio::null());
    command
}

/// Runs the program to its end; gives its exit code, and what it wrote on both streams.
pub(crate) fn run(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// Runs the program with these arguments, separated by spaces, and `last` as it is.
pub(crate) fn ask(directory: &Path, arguments: &str, last: &[&str]) -> (i32, String, String) {
    run(nagaya(directory).args(arguments.split(' ')).args(last))
}

/// What [`ask`] prints, if all goes well.
#[track_caller]
pub(crate) fn answer(directory: &Path, arguments: &str, last: &[&str]) -> String {
    let (code, out, error) = ask(directory, arguments, last);
    assert_eq!(code, 0, "{arguments}: {error}");
    out
}

/// A directory with a house in it, which is not open.
pub(crate) fn closed_house() -> TempDir {
    let directory = TempDir::new().unwrap();
    let house = House::open(&mut nagaya(directory.path()));
    house.signal(Signal::TERM);
    assert_eq!(house.wait().0.code(), Some(0));
    directory
}

/// A serving process. Killed when dropped.
pub(crate) struct House {
    child: Child,
    pub(crate) welcome: String,
    pub(crate) address: String,
}

impl House {
    /// Starts to serve on a free port and waits for the welcome.
    pub(crate) fn open(command: &mut Command) -> House {
        House::open_at("127.0.0.1:0", command)
    }

    /// The same at an address, for a house that opens again where it was.
    pub(crate) fn open_at(address: &str, command: &mut Command) -> House {
        let command = command.env("NAGAYA_HTTP_LISTEN", address);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut welcome = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        while !welcome.contains("  holds  ") {
            assert_ne!(out.read_line(&mut welcome).unwrap(), 0, "no welcome: {welcome}");
        }
        let address = welcome.split("://").nth(1).unwrap().lines().next().unwrap().to_owned();
        House { child, welcome, address }
    }

    pub(crate) fn connect(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(&self.address)
    }

    /// The whole answer to a GET, head and body.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = self.connect().unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        read(stream)
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until nobody listens any more.
    pub(crate) fn wait_for_closed_door(&self) {
        while self.connect().is_ok() {
            std::thread::yield_now();
        }
    }

    /// Waits for the end; gives the exit status and the log.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap(), log)
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // Fails for one that has ended, which is as good.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Everything until the other side closes.
pub(crate) fn read(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

//! A server process: requests, moves of its clock, its end, and the check at its end.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use base::Timestamp;
use rustix::process::{Pid, Signal, kill_process};

use super::output::Output;
use super::{check, control, read};
use crate::{Left, wait};

/// Longer than a server takes to finish its work on a busy machine.
const REST_PATIENCE: Duration = Duration::from_secs(30);

/// Longer than a server takes to close: it finishes its requests in 30 s and its tasks in 10 s.
const CLOSE_PATIENCE: Duration = Duration::from_secs(60);

/// The moves of the clock through the five seconds in which a closing server ends its streams, even
/// if it begins a little later. They stay within the time for requests.
const CLOSE_MOVES: u32 = 60;
const CLOSE_MOVE: Duration = Duration::from_millis(200);

/// A server that does not respond within this real time hangs.
const ANSWER_PATIENCE: Duration = Duration::from_secs(60);

/// A serving process. Checked when dropped, unless the test has ended it.
pub struct Served {
    pub(super) child: Child,
    /// Whether the test has ended it, or is about to.
    is_ended: bool,
    /// The box that it printed when it was open.
    pub welcome: String,
    /// The address that it listens on.
    pub address: String,
    pub(super) control: PathBuf,
    /// Subscriptions of the server itself, which exist before its first client.
    pub(super) own_subscriptions: u64,
    pub(super) log: Output,
    pub(super) rest_patience: Duration,
    pub(super) allowed: BTreeSet<Left>,
    pub(super) expected_errors: Vec<String>,
}

impl Served {
    /// Starts to serve on a free port and waits for the welcome.
    #[track_caller]
    pub fn open(command: &mut Command) -> Served {
        Served::open_at("127.0.0.1:0", command)
    }

    /// The same at a given address, for a server that opens again at the same place.
    ///
    /// # Panics
    /// It ends instead, or does not open; the message contains its log.
    #[track_caller]
    pub fn open_at(address: &str, command: &mut Command) -> Served {
        let command = command.env("NAGAYA_HTTP_LISTEN", address);
        let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = started.expect("the program starts");
        let log = Output::keep(child.stderr.take().expect("it is piped"));
        let out = Output::keep(child.stdout.take().expect("it is piped"));
        let welcome = wait::until("a welcome", || {
            let text = out.text();
            match (text.contains("  holds  "), child.try_wait()) {
                (true, _) => Ok(text),
                (false, Ok(None)) => Err((text, log.text())),
                (false, ended) => panic!("no welcome, {ended:?}: {text}{}", log.whole()),
            }
        });
        let address = welcome.split("://").nth(1).and_then(|rest| rest.lines().next());
        let address = address.expect("the welcome names the address").to_owned();
        let control = control::socket(&welcome, command.get_current_dir());
        Served {
            child,
            is_ended: false,
            welcome,
            address,
            own_subscriptions: control::subscriptions(&control),
            control,
            log,
            rest_patience: REST_PATIENCE,
            allowed: BTreeSet::new(),
            expected_errors: Vec::new(),
        }
    }

    /// The value of this name in the welcome.
    ///
    /// # Panics
    /// The welcome has no such name.
    #[track_caller]
    pub fn named(&self, name: &str) -> &str {
        self.find_named(name).unwrap_or_else(|| panic!("no {name} in\n{}", self.welcome))
    }

    /// The value of this name in the welcome, if any.
    pub fn find_named(&self, name: &str) -> Option<&str> {
        let lines = self.welcome.lines();
        let mut values =
            lines.filter_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(' '));
        values.next().map(str::trim)
    }

    /// Its URL for a browser.
    pub fn url(&self) -> &str {
        self.named("address")
    }

    /// The link under which the operator chooses a password.
    #[track_caller]
    pub fn set_up_link(&self) -> &str {
        self.named("set up")
    }

    /// The key for classes that it prints.
    #[track_caller]
    pub fn mesh_key(&self) -> &str {
        self.named("mesh key")
    }

    /// The path of its control socket, for a script that moves its clock.
    pub fn control(&self) -> &Path {
        &self.control
    }

    /// Moves its clock ahead; returns its new time.
    ///
    /// # Panics
    /// It runs on the system's clock, or the move fails.
    #[track_caller]
    pub fn advance(&self, duration: Duration) -> Timestamp {
        control::advance(&self.control, duration)
    }

    /// The time of its clock.
    ///
    /// # Panics
    /// It runs on the system's clock.
    #[track_caller]
    pub fn now(&self) -> Timestamp {
        self.advance(Duration::ZERO)
    }

    /// A connection to it.
    ///
    /// # Errors
    /// It does not listen any more.
    pub fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(ANSWER_PATIENCE))?;
        Ok(stream)
    }

    /// The complete response to a GET, head and body.
    #[track_caller]
    pub fn get(&self, path: &str) -> String {
        self.ask("GET", path, "", "")
    }

    /// The complete response to a request with these header lines, each with its line end.
    ///
    /// # Panics
    /// It does not respond.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, head: &str, body: &str) -> String {
        let mut stream = self.connect().expect("the house listens");
        let length = match (method, body.len()) {
            ("GET", 0) => String::new(),
            (_, length) => format!("content-length: {length}\r\n"),
        };
        let written = write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{length}{head}\r\n{body}",
            self.address
        );
        written.expect("the house reads");
        read(stream)
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal. If it ends by the signal, wait for it with [`Served::wait`].
    ///
    /// # Panics
    /// It has ended.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process runs");
    }

    /// Waits until it does not listen any more.
    #[track_caller]
    pub fn wait_for_closed_door(&self) {
        wait::until("a closed door", || wait::holds(self.connect().is_err(), "an open one"));
    }

    /// Waits for the end that the test has caused; returns the exit status and the log. Nothing
    /// else is checked.
    ///
    /// # Panics
    /// It does not end.
    #[track_caller]
    pub fn wait(mut self) -> (ExitStatus, String) {
        self.is_ended = true;
        let status = self.find_end().expect("it ends; its log tells what it does instead");
        (status, self.log.whole())
    }

    /// Shuts it down, and waits for the end like [`Served::wait`]. On a movable clock, this skips
    /// the real time over which it ends its streams.
    ///
    /// # Panics
    /// It does not end.
    #[track_caller]
    pub fn close(mut self) -> (ExitStatus, String) {
        self.is_ended = true;
        let status = self.find_close().expect("it ends; its log tells what it does instead");
        (status, self.log.whole())
    }

    /// Kills it, like a power failure. Nothing is checked.
    pub fn kill(mut self) {
        self.is_ended = true;
    }

    /// Allows this test to leave something behind.
    pub fn allow(&mut self, left: Left) {
        self.allowed.insert(left);
    }

    /// Allows lines of level ERROR that contain this text.
    pub fn expect_error(&mut self, text: &str) {
        self.expected_errors.push(text.to_owned());
    }

    /// Limits the wait at its end for jobs to be done and subscriptions to end.
    pub fn rest_within(&mut self, patience: Duration) {
        self.rest_patience = patience;
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Shuts it down; returns how it ended, if it ends in time.
    pub(super) fn find_close(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        // Streams end one by one. A server on the system's clock refuses to be moved.
        let mut moves = (0..CLOSE_MOVES).map(|_| control::find_advance(&self.control, CLOSE_MOVE));
        let _refused_or_gone = moves.find(Result::is_err);
        self.find_end()
    }

    /// How it ended, if it ends in time.
    fn find_end(&mut self) -> Option<ExitStatus> {
        let look = || self.child.try_wait().expect("it was started here").ok_or(());
        wait::find_within(CLOSE_PATIENCE, look).ok()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let is_failed = std::thread::panicking();
        let left = if is_failed || self.is_ended { Vec::new() } else { check::look(self) };
        // Fails if the process has ended, which is fine.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
        if is_failed || !left.is_empty() {
            eprintln!("the log of the house at {}:\n{}", self.address, self.log.whole());
        }
        assert!(left.is_empty(), "the test has passed, and its house left: {}", left.join("; "));
    }
}

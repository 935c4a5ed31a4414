//! A house that is a process of its own: asked, moved in time, ended, and checked at its end.

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

/// Longer than a house takes to finish what is under way, on a machine with other things to do.
const REST_PATIENCE: Duration = Duration::from_secs(30);

/// Longer than a house takes to close: it finishes its requests in 30 s and its tasks in 10 s.
const CLOSE_PATIENCE: Duration = Duration::from_secs(60);

/// How a closing house is moved through the five seconds over which it ends its streams, also if it
/// begins a little later. It stays within the time that it gives requests.
const CLOSE_MOVES: u32 = 60;
const CLOSE_MOVE: Duration = Duration::from_millis(200);

/// A house that does not answer within this real time hangs.
const ANSWER_PATIENCE: Duration = Duration::from_secs(60);

/// A serving process. Checked when dropped, unless the test has ended it.
pub struct Served {
    pub(super) child: Child,
    /// Whether the test has ended it, or is about to.
    is_ended: bool,
    /// The box that it printed when it was open.
    pub welcome: String,
    /// Where it listens.
    pub address: String,
    pub(super) control: PathBuf,
    /// Subscriptions of the house itself, which are there before its first client.
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

    /// The same at an address, for a house that opens again where it was.
    ///
    /// # Panics
    /// It ends instead, or does not open; the message has its log.
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

    /// What the welcome names so.
    ///
    /// # Panics
    /// It names nothing so.
    #[track_caller]
    pub fn named(&self, name: &str) -> &str {
        self.find_named(name).unwrap_or_else(|| panic!("no {name} in\n{}", self.welcome))
    }

    /// What the welcome names so, if anything.
    pub fn find_named(&self, name: &str) -> Option<&str> {
        let lines = self.welcome.lines();
        let mut values =
            lines.filter_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(' '));
        values.next().map(str::trim)
    }

    /// Where a browser finds it.
    pub fn url(&self) -> &str {
        self.named("address")
    }

    /// The link under which the operator chooses a password.
    #[track_caller]
    pub fn set_up_link(&self) -> &str {
        self.named("set up")
    }

    /// The key that it prints for its classes.
    #[track_caller]
    pub fn mesh_key(&self) -> &str {
        self.named("mesh key")
    }

    /// The path of its control socket, for a script that moves its clock.
    pub fn control(&self) -> &Path {
        &self.control
    }

    /// Moves its clock ahead; gives the time that it shows then.
    ///
    /// # Panics
    /// It runs on the system's clock, or does not get there.
    #[track_caller]
    pub fn advance(&self, duration: Duration) -> Timestamp {
        control::advance(&self.control, duration)
    }

    /// What its clock shows.
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
    /// Nobody listens any more.
    pub fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(ANSWER_PATIENCE))?;
        Ok(stream)
    }

    /// The whole answer to a GET, head and body.
    #[track_caller]
    pub fn get(&self, path: &str) -> String {
        self.ask("GET", path, "", "")
    }

    /// The whole answer to a request with these lines in its head, each with its end.
    ///
    /// # Panics
    /// It does not answer.
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

    /// What the system calls it.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal. A house that ends of it is waited for with [`Served::wait`].
    ///
    /// # Panics
    /// It has ended.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process runs");
    }

    /// Waits until nobody listens any more.
    #[track_caller]
    pub fn wait_for_closed_door(&self) {
        wait::until("a closed door", || wait::holds(self.connect().is_err(), "an open one"));
    }

    /// Waits for the end that the test has brought about; gives the exit status and the log. Nothing
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

    /// Tells it to close, and waits for the end as [`Served::wait`] does. On a clock that the test
    /// moves, it does not take the real time that it spreads the end of its streams over.
    ///
    /// # Panics
    /// It does not end.
    #[track_caller]
    pub fn close(mut self) -> (ExitStatus, String) {
        self.is_ended = true;
        let status = self.find_close().expect("it ends; its log tells what it does instead");
        (status, self.log.whole())
    }

    /// Ends it at once, as a failure of power does. Nothing is checked.
    pub fn kill(mut self) {
        self.is_ended = true;
    }

    /// Says that this test leaves something behind on purpose.
    pub fn allow(&mut self, left: Left) {
        self.allowed.insert(left);
    }

    /// Says that lines of level ERROR which contain this text are what the test is about.
    pub fn expect_error(&mut self, text: &str) {
        self.expected_errors.push(text.to_owned());
    }

    /// Waits at its end not longer than this for jobs to be done and subscriptions to end.
    pub fn rest_within(&mut self, patience: Duration) {
        self.rest_patience = patience;
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Tells it to close; how it ended, if it does in its time.
    pub(super) fn find_close(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        // Streams are told to go one by one. A house on the system's clock refuses to be moved.
        let mut moves = (0..CLOSE_MOVES).map(|_| control::find_advance(&self.control, CLOSE_MOVE));
        let _refused_or_gone = moves.find(Result::is_err);
        self.find_end()
    }

    /// How it ended, if it does in its time.
    fn find_end(&mut self) -> Option<ExitStatus> {
        let look = || self.child.try_wait().expect("it was started here").ok_or(());
        wait::find_within(CLOSE_PATIENCE, look).ok()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let is_failed = std::thread::panicking();
        let left = if is_failed || self.is_ended { Vec::new() } else { check::look(self) };
        // Fails for one that has ended, which is as good.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
        if is_failed || !left.is_empty() {
            eprintln!("the log of the house at {}:\n{}", self.address, self.log.whole());
        }
        assert!(left.is_empty(), "the test has passed, and its house left: {}", left.join("; "));
    }
}

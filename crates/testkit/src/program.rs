//! The real program, in a directory and an environment of its own.
//!
//! [`Program`] is the binary with an empty directory: `testkit::program!()` in a test of the crate
//! `nagaya`. Its commands inherit nothing. [`Program::open`] serves on a free port and returns a
//! [`Served`], on a clock that the test moves:
//!
//! ```ignore
//! let program = testkit::program!();
//! let house = program.open();
//! house.advance(Duration::from_secs(120)); // two minutes of the house, about two seconds of ours
//! assert!(house.get("/readyz").starts_with("HTTP/1.1 200 "));
//! ```
//!
//! `Served::open(&mut command)` takes a command that the test has prepared: [`Program::serve`] uses
//! the movable clock, [`Program::command`] the system's.
//!
//! **When a [`Served`] is dropped** and its test has not failed, the server is checked like a world
//! (`program/check.rs`): no due job, no dead letter, and no open subscription may be left after its
//! clients have gone; then it gets a SIGTERM and must end with code 0, without a panic and without
//! a line of level ERROR in its log. A test allows exceptions with [`Served::allow`] and
//! [`Served::expect_error`]. If the server is to end in another way, the test ends it with
//! [`Served::kill`] or [`Served::wait`]. The log of a server is printed when its test fails.
//!
//! **Scripts move the clock too.** [`Served::control`] is the path of the control socket; pass it
//! to a script as NAGAYA_CONTROL. The script connects to that Unix socket, sends one line and reads
//! until the server closes the connection:
//!
//! ```text
//! script   {"Advance":{"ms":120000}}
//! house    > 2027-01-15T08:02:00.000Z       the house's time now
//!          = {"code":0,"message":""}        done; any other code is a failure with its message
//! ```
//!
//! `crates/nagaya/tests/control.mjs` does this for our scripts.
//!
//! The move ends when all sleepers have run and the program is idle. It lets a millisecond of real
//! time pass in every tenth of a second, so that browsers and upstreams can respond on the way.
//! Between moves the clock runs along with real time. Browsers keep their own time. Durations that
//! the server measures during a move are zero: if a duration is the claim, let real time pass.
//!
//! Moves of up to 150 seconds are exact for each sleeper, at a hundredth of their time. In a longer
//! move, sleepers that are due within a second are woken together: an hour takes some seconds, a
//! day half a minute.

mod check;
mod control;
mod output;
mod served;

use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;
use tempfile::TempDir;

use self::output::Output;
pub use self::served::Served;
use crate::wait;

/// The program of the calling test, in a new directory.
#[macro_export]
macro_rules! program {
    () => {
        $crate::Program::new(env!("CARGO_BIN_EXE_nagaya"))
    };
}

/// Longer than any command takes on a busy machine.
const COMMAND_PATIENCE: Duration = Duration::from_secs(240);

/// The program with an empty directory.
pub struct Program {
    binary: &'static str,
    directory: TempDir,
}

impl Program {
    /// The program of the calling test: `testkit::program!()`.
    ///
    /// # Panics
    /// The directory cannot be created.
    pub fn new(binary: &'static str) -> Program {
        Program { binary, directory: tempfile::tempdir().expect("there is room for a directory") }
    }

    /// The same with a closed store in its directory.
    ///
    /// # Panics
    /// The server does not close in order.
    pub fn closed(self) -> Program {
        drop(self.open());
        self
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A command that inherits nothing.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.binary);
        command.env_clear().current_dir(self.directory()).stdin(Stdio::null());
        command
    }

    /// `nagaya serve` on a clock that the test moves.
    pub fn serve(&self) -> Command {
        let mut command = self.command();
        command.args(["serve", "--test-clock"]);
        command
    }

    /// Serves on a free port, on a clock that the test moves.
    pub fn open(&self) -> Served {
        Served::open(&mut self.serve())
    }

    /// Runs it with these arguments, separated by spaces, and `last` unchanged; returns its exit
    /// code and both outputs.
    #[track_caller]
    pub fn run(&self, arguments: &str, last: &[&str]) -> (i32, String, String) {
        run(self.command().args(arguments.split(' ')).args(last))
    }

    /// The output of [`Program::run`], which must succeed.
    ///
    /// # Panics
    /// It fails.
    #[track_caller]
    pub fn answer(&self, arguments: &str, last: &[&str]) -> String {
        let (code, out, error) = self.run(arguments, last);
        assert_eq!(code, 0, "{arguments}: {error}");
        out
    }
}

/// Runs a program to its end; returns its exit code and both outputs.
///
/// # Panics
/// It does not start, does not end, is killed, or writes something that is not text.
#[track_caller]
pub fn run(command: &mut Command) -> (i32, String, String) {
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let out = Output::keep(child.stdout.take().expect("it is piped"));
    let errors = Output::keep(child.stderr.take().expect("it is piped"));
    let status = wait::until_within(COMMAND_PATIENCE, "the end of a command", || {
        let ended = child.try_wait().expect("it was started here");
        ended.ok_or_else(|| format!("{command:?}: {}{}", out.text(), errors.text()))
    });
    (status.code().expect("it ends by itself"), out.whole(), errors.whole())
}

/// Reads everything until the other side closes.
///
/// # Panics
/// It is not text, or does not arrive.
#[track_caller]
pub fn read(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer is text, and comes");
    answer
}

/// The body of a response as JSON.
///
/// # Panics
/// It is not JSON.
#[track_caller]
pub fn json(answer: &str) -> Json {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no body: {answer}"));
    serde_json::from_str(body).unwrap_or_else(|_| panic!("the body is no JSON: {answer}"))
}

//! Programs with which a test talks line by line, and the packages of foreign ones.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::wait;

/// Longer than a script's own timeouts, so that its own message comes first.
const PATIENCE: Duration = Duration::from_secs(90);

/// The folder of the packages `names`, which `cargo xtask test tools` has filled.
///
/// # Panics
/// One of them is missing.
#[track_caller]
pub fn packages(folder: &str, names: &[&str]) -> PathBuf {
    let folder = target().join("tools").join(folder);
    for name in names {
        let package = folder.join("node_modules").join(name);
        let is_there = package.join("package.json").is_file();
        assert!(is_there, "{} is missing: run `cargo xtask test tools`", package.display());
    }
    folder
}

/// A program from the Python packages, which `cargo xtask test tools` has installed.
///
/// # Panics
/// It is missing.
#[track_caller]
pub fn python_program(name: &str) -> PathBuf {
    let program = target().join("tools/pypi/bin").join(name);
    assert!(program.is_file(), "{} is missing: run `cargo xtask test tools`", program.display());
    program
}

/// Cargo's target folder: a test runs from `debug/deps` below it.
///
/// # Panics
/// The test runs from elsewhere.
pub fn target() -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a file");
    test.ancestors().nth(3).expect("cargo builds tests three folders down").to_owned()
}

/// Node with a script to run.
pub fn node(script: &Path) -> Command {
    let mut command = Command::new("node");
    command.arg(script);
    command
}

/// A running program. Killed when dropped.
pub struct Node {
    child: Child,
    /// The name of its output in failures.
    name: String,
    output: Receiver<String>,
    input: Option<ChildStdin>,
    patience: Duration,
}

impl Node {
    /// Starts it.
    ///
    /// # Panics
    /// It cannot be started.
    #[track_caller]
    pub fn start(command: &mut Command) -> Node {
        let (mut child, name) = spawn(command.stdout(Stdio::piped()));
        let output = lines(child.stdout.take().expect("it is piped"));
        let input = child.stdin.take();
        Node { child, name, output, input, patience: PATIENCE }
    }

    /// Starts it, and reads its standard error.
    ///
    /// # Panics
    /// It cannot be started.
    #[track_caller]
    pub fn heard_by_errors(command: &mut Command) -> Node {
        let (mut child, name) = spawn(command.stderr(Stdio::piped()));
        let output = lines(child.stderr.take().expect("it is piped"));
        let input = child.stdin.take();
        Node { child, name, output, input, patience: PATIENCE }
    }

    /// The same with longer patience, for a program that may be silent for longer.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Node {
        self.patience = patience;
        self
    }

    /// The next line of its output; none at its end.
    ///
    /// # Panics
    /// No line comes.
    #[track_caller]
    pub fn line(&mut self) -> Option<String> {
        match self.output.recv_timeout(self.patience) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{} printed nothing for {:?}", self.name, self.patience)
            }
        }
    }

    /// The next line of its output, if there is one within this time.
    pub fn find_line(&mut self, within: Duration) -> Option<String> {
        self.output.recv_timeout(within).ok()
    }

    /// Reads until it prints `wanted`; returns the lines before.
    ///
    /// # Panics
    /// It never does.
    #[track_caller]
    pub fn until(&mut self, wanted: &str) -> Vec<String> {
        let mut before = Vec::new();
        while let Some(line) = self.line() {
            if line == wanted {
                return before;
            }
            before.push(line);
        }
        panic!("{} never printed `{wanted}`, but {before:#?}", self.name);
    }

    /// Writes a line to its input.
    ///
    /// # Panics
    /// It has ended.
    #[track_caller]
    pub fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input was not taken yet");
        writeln!(input, "{line}").expect("the program reads");
    }

    /// Its input, for a caller that writes all of it.
    ///
    /// # Panics
    /// It was taken before.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().expect("the input was not taken yet")
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// It has ended.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the program runs");
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// It does not come.
    #[track_caller]
    pub fn wait(mut self) -> ExitStatus {
        let Node { child, name, patience, .. } = &mut self;
        wait::until_within(*patience, "the end of a program", || {
            child.try_wait().expect("it was started here").ok_or(&*name)
        })
    }
}

#[track_caller]
fn spawn(command: &mut Command) -> (Child, String) {
    let name = format!("{command:?}");
    let started = command.stdin(Stdio::piped()).spawn();
    let started = started.unwrap_or_else(|error| {
        panic!("{name} does not start ({error}): run `cargo xtask test tools`");
    });
    (started, name)
}

/// Lines as they arrive, until the stream ends or the receiver is gone.
fn lines(source: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, output) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(source).lines().map_while(Result::ok);
        for line in lines {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    output
}

impl Drop for Node {
    fn drop(&mut self) {
        // Fails if the program has ended, which is fine.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}
